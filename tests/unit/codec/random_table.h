// Random tables and rows for properties that every table must have.
#pragma once

#include <string>

#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {

// A table with random columns (1 to 8), primary or hidden key, 1 to 3 secondary indexes, prefixes,
// format versions and TTL stamps.
TestTable RandomTable(Random* random);

// A row of `table`.
Row RandomRow(const TestTable& table, Random* random);

// A value of `column`, never NULL.
Cell RandomValue(const ColumnLayout& column, Random* random);

// Columns and indexes in a few lines, for failures.
std::string Describe(const TestTable& table);

}  // namespace cairn::testing
