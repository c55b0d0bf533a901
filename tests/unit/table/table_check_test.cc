#include "engine/table/table_check.h"

#include <gmock/gmock.h>

#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TableCheckTest : public TableFixture {
 protected:
  explicit TableCheckTest(Key key = Key::kPrimary) : TableFixture("default", key) {
    InsertCommitted({1, "a", 10, "x"});
    InsertCommitted({2, "b", nullptr, "y"});
  }

  TableCheckReport Check() {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    Record record(description_);
    auto report = CheckTable(table(), &transaction, record.data());
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return std::move(report).value();
  }

  std::string KeyOf(uint32_t index, const cairn::testing::Row& row) {
    const Record record(description_, row);
    std::string key;
    std::string unpack_info;
    table().index(index).codec->EncodeKey(record.data(), 0, &key, &unpack_info);
    return key;
  }

  rocksdb::TransactionDB* db() { return database_->rocksdb(); }
  rocksdb::ColumnFamilyHandle* family() { return table().primary().family().handle; }
};

TEST_F(TableCheckTest, SoundTableHasNoProblems) {
  const TableCheckReport report = Check();
  EXPECT_EQ(report.row_count, 2u);
  EXPECT_THAT(report.problems, IsEmpty());
}

TEST_F(TableCheckTest, MissingEntryIsFound) {
  ASSERT_TRUE(
      db()->SingleDelete(rocksdb::WriteOptions(), family(), KeyOf(kByA, {1, "a", 10, "x"})).ok());
  EXPECT_THAT(Check().problems,
              ElementsAre(HasSubstr("missing"), HasSubstr("1 entries for 2 rows")));
}

TEST_F(TableCheckTest, EntryWithoutRowIsFound) {
  ASSERT_TRUE(
      db()->Delete(rocksdb::WriteOptions(), family(), KeyOf(kById, {2, "b", nullptr, "y"})).ok());
  const auto names = [this](const cairn::testing::Row& row, uint32_t index) {
    return AllOf(HasSubstr(ToHex(KeyOf(index, row))), HasSubstr("no row belongs to the entry"));
  };
  EXPECT_THAT(Check().problems,
              ElementsAre(HasSubstr("2 entries for 1 rows"), names({2, "b", nullptr, "y"}, kByB),
                          HasSubstr("2 entries for 1 rows"), names({2, "b", nullptr, "y"}, kByA)));
}

TEST_F(TableCheckTest, SurplusEntryOfARowIsFoundAmongAsManyMissingOnes) {
  const std::string surplus = KeyOf(kByA, {1, "other", 10, "x"});
  const std::string missing = KeyOf(kByA, {2, "b", nullptr, "y"});
  std::string value;
  ASSERT_TRUE(db()->Get(rocksdb::ReadOptions(), family(), missing, &value).ok());
  ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family(), surplus, value).ok());
  ASSERT_TRUE(db()->SingleDelete(rocksdb::WriteOptions(), family(), missing).ok());
  EXPECT_THAT(Check().problems,
              ElementsAre(AllOf(HasSubstr(ToHex(missing)), HasSubstr("missing")),
                          AllOf(HasSubstr(ToHex(surplus)), HasSubstr("another value"))));
}

TEST_F(TableCheckTest, RowsThatShareAUniqueValueGiveAWarning) {
  EXPECT_THAT(Check().warnings, IsEmpty());
  InsertCommitted({3, "c", nullptr, "z"});  // As many NULLs as one likes.
  InsertCommitted({4, "d", 11, "z"});
  EXPECT_THAT(Check().warnings, IsEmpty());
  const Record new_row(description_, {4, "d", 10, "z"});
  // A row written past the checks, as the stock plug-in lets some in.
  std::string key;
  std::string unpack_info;
  std::string value;
  table().primary().codec->EncodeKey(new_row.data(), 0, &key, &unpack_info);
  table().primary().codec->EncodeRow(new_row.data(), unpack_info, 0, &value);
  ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family(), key, value).ok());
  ASSERT_TRUE(
      db()->SingleDelete(rocksdb::WriteOptions(), family(), KeyOf(kByB, {4, "d", 11, "z"})).ok());
  const std::string entry = KeyOf(kByB, {4, "d", 10, "z"});
  ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family(), entry, "").ok());
  const TableCheckReport report = Check();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.warnings,
              ElementsAre(AllOf(HasSubstr(ToHex(entry)), HasSubstr("not unique"))));
}

TEST_F(TableCheckTest, DamagedRowIsFoundAndNamed) {
  ASSERT_TRUE(
      db()->Put(rocksdb::WriteOptions(), family(), KeyOf(kById, {1, "a", 10, "x"}), "\x01").ok());
  EXPECT_THAT(Check().problems, ElementsAre(HasSubstr("corruption")));
}

TEST_F(TableCheckTest, BytesBehindAnEntrysOwnAreFound) {
  const std::string key = KeyOf(kByA, {1, "a", 10, "x"});
  std::string value;
  ASSERT_TRUE(db()->Get(rocksdb::ReadOptions(), family(), key, &value).ok());
  ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family(), key, value + "more").ok());
  EXPECT_THAT(Check().problems, ElementsAre(HasSubstr("bytes follow the last column")));
}

class TextKeyCheckTest : public TableCheckTest {
 protected:
  TextKeyCheckTest() : TableCheckTest(Key::kText) {}
};

TEST_F(TextKeyCheckTest, RowUnderAnotherKeyThanItsColumnsIsFound) {
  EXPECT_THAT(Check().problems, IsEmpty());
  const std::string key = KeyOf(kById, {1, "a", 10, "x"});
  std::string row;
  ASSERT_TRUE(db()->Get(rocksdb::ReadOptions(), family(), key, &row).ok());
  ASSERT_TRUE(db()->Delete(rocksdb::WriteOptions(), family(), key).ok());
  const std::string other = KeyOf(kById, {1, "a", 10, "z"});
  ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family(), other, row).ok());
  EXPECT_THAT(Check().problems, ElementsAre(HasSubstr("another key")));
}

}  // namespace
}  // namespace cairn
