#include "tests/unit/codec/entry_vectors.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"

namespace cairn::testing {

void ExpectEntries(const TestTable& table, const Row& row, const std::vector<std::string>& lines,
                   const EntryOptions& options) {
  const Record record(table, row);
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    const size_t arrow = line.find(" => ");
    const std::string key = Hex(line.substr(0, arrow));
    const std::string value = line.substr(arrow + 4) == "-" ? "" : Hex(line.substr(arrow + 4));
    const auto codec = table.Codec(LoadBigEndian<uint32_t>(key.data()));
    ASSERT_NE(codec, nullptr);
    const Entry entry = Encode(*codec, record, options);
    EXPECT_EQ(ToHex(entry.key), ToHex(key));
    EXPECT_EQ(ToHex(entry.value), ToHex(value));
    ExpectEntryDecodes(table, *codec, {.key = key, .value = value}, record, options);
  }
}

}  // namespace cairn::testing
