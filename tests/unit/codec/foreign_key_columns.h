// Columns of foreign keys for tests: pairs of types that fit each other, values that are often
// equal, and which are.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {

// The type of a column, of which only the length may differ between the two sides.
struct ForeignKeyType {
  ColumnType type = ColumnType::kSignedInteger;  // kVarchar: any string.
  uint32_t image_bytes = 4;
  const Collation* collation = nullptr;
};

ForeignKeyType RandomForeignKeyType(Random* random);

// Adds a column of the type; of strings CHAR or VARCHAR of some length.
void AddForeignKeyColumn(const ForeignKeyType& type, const std::string& name, TestTable* table,
                         Random* random);

// A value of the column, from so small a set that two are often equal.
Cell RandomForeignKeyValue(const ColumnLayout& column, Random* random);

// Whether the two are equal in SQL, told by the weights that the collation writes.
bool EqualInSql(const ColumnLayout& column, const std::string& value,
                const ColumnLayout& other_column, const std::string& other_value);

}  // namespace cairn::testing
