// The test vectors of the format page (docs/stock-format.md, 18): what a stock server wrote.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/codec/entry_check.h"

namespace cairn::testing {

// That the row's entries are `lines`, byte by byte, and read back: "key => value" each, "-" for an
// empty value; the key's first four bytes say which index it belongs to.
void ExpectEntries(const TestTable& table, const Row& row, const std::vector<std::string>& lines,
                   const EntryOptions& options = {});

}  // namespace cairn::testing
