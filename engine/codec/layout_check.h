// Whether the descriptions that a codec is compiled from make sense, so that nothing compiled from
// them reads or writes outside a record.
#pragma once

#include <cstdint>

#include "engine/base/status.h"
#include "engine/codec/table_layout.h"

namespace cairn {

// Whether an integer column can be so wide.
inline bool IsIntegerWidth(uint32_t bytes) { return (bytes >= 1 && bytes <= 4) || bytes == 8; }

// Errors: kInvalidArgument, with the column named.
Status CheckTableLayout(const TableLayout& table);

// `primary`: the table's primary or hidden primary key. Errors: kInvalidArgument, kNotSupported
// (format version), without the index's name.
Status CheckIndexLayout(const TableLayout& table, const IndexLayout& primary,
                        const IndexLayout& index);

}  // namespace cairn
