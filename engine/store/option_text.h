// Options of a column family as users write them: RocksDB's own reading, with errors that help.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "rocksdb/options.h"

namespace cairn {

// Applies a list such as "write_buffer_size=64m;block_based_table_factory={block_size=16k}" to
// `base`. Errors: kInvalidArgument. An unknown option is named together with the nearest one that
// exists; a negative number where RocksDB has none, which it would take for a huge one, is refused
// too.
Result<rocksdb::ColumnFamilyOptions> ApplyOptionText(const rocksdb::ColumnFamilyOptions& base,
                                                     std::string_view text);

// A text of a user for an error message: in quotation marks, its beginning when it is long.
std::string Quote(std::string_view text);

}  // namespace cairn
