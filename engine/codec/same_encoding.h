// Whether a change of a column leaves the entries of its indexes as they are.
#pragma once

#include <cstdint>

#include "engine/codec/key_part.h"
#include "engine/codec/table_layout.h"

namespace cairn {

// Whether every value that fits `before` has the same bytes, in key and unpack_info, as a part
// `after`. The two are of the same column (or of what it became), of one kv format. Not so, for
// one, where a VARCHAR grows past what one byte counts, or where a collation of the stock format
// has its weights cut at the declared length.
bool SameEncoding(const KeyPart& before, const KeyPart& after);

// The same of parts that are yet to be compiled in a kv format; one that cannot be has no encoding.
bool SameEncoding(const TableLayout& table_before, const KeyPartLayout& before,
                  const TableLayout& table_after, const KeyPartLayout& after,
                  uint16_t format_version);

}  // namespace cairn
