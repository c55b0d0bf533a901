// What one input of the fuzzer is taken for. A property that does not hold ends the process.
#pragma once

#include <string_view>

namespace cairn::testing {

// Values and keys of the data dictionary, and statistics of indexes.
void CheckDictionaryBytes(std::string_view input);

// The layout of a table, then key and value of one of its indexes.
void CheckEntryBytes(std::string_view input);

// The layout of a table, then a row and what is altered in its entries.
void CheckAlteredRow(std::string_view input);

// A history of row layouts; a table, changes of its layout, rows of all versions and damage to
// them.
void CheckLayouts(std::string_view input);

}  // namespace cairn::testing
