// Rows that expire, with a clock that the tests set.
#include "engine/sst/expiry.h"

#include <gmock/gmock.h>

#include "engine/base/bytes.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kStart = 0x6b01ee15;  // As in the format page's vectors.
constexpr uint64_t kDuration = 100;

enum class Stamp { kInsertTime, kColumn };

// `t (id INT PRIMARY KEY, a INT, ts BIGINT UNSIGNED, KEY (a))`.
class ExpiryTest : public ::testing::Test {
 protected:
  explicit ExpiryTest(Stamp stamp = Stamp::kInsertTime) {
    disk_.UseClock(clock_);
    database_ = disk_.Open();
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
    description_.Int("id").Int("a").Unsigned("ts", 8);
    description_.PrimaryKey(256, {"id"}).Key(257, {"a"});
    if (stamp == Stamp::kColumn) description_.mutable_layout().ttl_column = 2;
    NewIndex primary;
    primary.ttl_seconds = kDuration;
    NewIndex secondary = primary;
    secondary.kind = IndexKind::kSecondary;
    const auto definition = dictionary_->CreateTable("db.t", {primary, secondary}, std::nullopt);
    table_ = *Table::Open(*definition, description_.layout(), description_.indexes());
    writer_ = std::make_unique<TableWriter>(database_.get(), table_.get());
  }

  template <typename Change>
  Status InTransaction(Change change) {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    CAIRN_RETURN_IF_ERROR(change(transaction));
    return transaction.Commit(Durability::kSync);
  }
  Status Insert(const Row& row) {
    const Record record(description_, row);
    return InTransaction(
        [&](Transaction& transaction) { return writer_->Insert(&transaction, record.data()); });
  }
  Status Update(const Row& old_row, const Row& new_row) {
    const Record old_record(description_, old_row);
    const Record new_record(description_, new_row);
    return InTransaction([&](Transaction& transaction) {
      return writer_->Update(&transaction, old_record.data(), new_record.data(), 0);
    });
  }

  // Key without index number => stamp, of all entries that are stored.
  std::vector<std::string> Stamps(uint32_t position) {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    OrderedIterator iterator(table_->index(position).definition, &transaction,
                             Transaction::View::kLatest);
    std::vector<std::string> entries;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
      entries.push_back(ToHex(iterator.key().substr(4)) + " => +" +
                        std::to_string(LoadBigEndian<uint64_t>(iterator.value().data()) - kStart));
    }
    return entries;
  }

  // Damages one byte of the value of an index's first entry.
  void Flip(uint32_t position, size_t byte) {
    std::string key;
    std::string value;
    {
      Transaction transaction(database_.get());
      transaction.Start(TransactionSettings());
      OrderedIterator iterator(table_->index(position).definition, &transaction,
                               Transaction::View::kLatest);
      iterator.SeekToFirst();
      ASSERT_TRUE(iterator.Valid());
      key = iterator.key();
      value = iterator.value();
    }
    value[byte] ^= 1;
    ASSERT_TRUE(
        database_->rocksdb()
            ->Put(rocksdb::WriteOptions(), table_->index(position).family().handle, key, value)
            .ok());
  }

  // Ids of the rows that a transaction sees through an index.
  std::vector<int> Ids(Transaction& transaction, uint32_t index,
                       std::optional<LockMode> lock = std::nullopt) {
    Cursor cursor(table_.get());
    const ColumnSet columns(3, true);
    CursorAccess access;
    access.index = index;
    access.columns = &columns;
    access.lock = lock;
    EXPECT_TRUE(cursor.Open(&transaction, access).ok());
    Record record(description_);
    std::vector<int> ids;
    Status read = cursor.ReadFirst(record.data());
    for (; read.ok(); read = cursor.ReadNext(record.data())) {
      int32_t id = 0;
      std::memcpy(&id, record.Data(0).data(), sizeof id);
      ids.push_back(id);
    }
    EXPECT_EQ(read.code(), StatusCode::kEndOfRange) << read.ToString();
    return ids;
  }
  std::vector<int> Ids(uint32_t index) {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    return Ids(transaction, index);
  }

  std::vector<std::string> Problems() { return ProblemsOf(*table_, database_.get(), description_); }

  void Compact() {
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    ASSERT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
  }

  std::shared_ptr<TestClock> clock_ = std::make_shared<TestClock>(kStart);
  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  cairn::testing::TestTable description_;
  std::shared_ptr<const Table> table_;
  std::unique_ptr<TableWriter> writer_;
};

class ExpiryByColumnTest : public ExpiryTest {
 protected:
  ExpiryByColumnTest() : ExpiryTest(Stamp::kColumn) {}
};

TEST(IsExpired, CountsFromTheStampAndNeverBeyond64Bits) {
  EXPECT_FALSE(IsExpired(10, 5, 14));
  EXPECT_TRUE(IsExpired(10, 5, 15));
  EXPECT_FALSE(IsExpired(10, 0, 100)) << "no duration: never";
  EXPECT_FALSE(IsExpired(UINT64_MAX, 5, 100));
  EXPECT_FALSE(IsExpired(10, UINT64_MAX - 3, 100));
}

TEST_F(ExpiryTest, UpdateKeepsTheTimeOfTheInsert) {
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  clock_->Advance(7);
  ASSERT_TRUE(Update({1, 10, 0}, {1, 11, 0}).ok());
  ASSERT_TRUE(Update({1, 11, 0}, {2, 11, 0}).ok());
  EXPECT_THAT(Stamps(0), ElementsAre("80000002 => +0"));
  EXPECT_THAT(Stamps(1), ElementsAre("8000000b80000002 => +0"));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ExpiryTest, AnUpdateThatReplacesTheRowTakesANewTime) {
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  clock_->Advance(7);
  writer_->SetUpdatesReplaceRows(true);
  ASSERT_TRUE(Update({1, 10, 0}, {1, 10, 0}).ok());
  EXPECT_THAT(Stamps(0), ElementsAre("80000001 => +7"));
  EXPECT_THAT(Stamps(1), ElementsAre("8000000a80000001 => +7"));
}

TEST_F(ExpiryByColumnTest, EveryEntryFollowsTheColumn) {
  ASSERT_TRUE(Insert({1, 10, kStart + 20}).ok());
  ASSERT_TRUE(Update({1, 10, kStart + 20}, {1, 10, kStart + 30}).ok());
  EXPECT_THAT(Stamps(0), ElementsAre("80000001 => +30"));
  EXPECT_THAT(Stamps(1), ElementsAre("8000000a80000001 => +30"));
  Compact();
  // One SingleDelete a Put: nothing older comes back.
  ASSERT_TRUE(Update({1, 10, kStart + 30}, {1, 11, kStart + 30}).ok());
  EXPECT_THAT(Stamps(1), ElementsAre("8000000b80000001 => +30"));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ExpiryTest, ChecksumsCoverTheStamp) {
  writer_->AppendChecksums(true);
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  clock_->Advance(7);
  ASSERT_TRUE(Update({1, 10, 0}, {1, 11, 0}).ok());
  EXPECT_THAT(Stamps(0), ElementsAre("80000001 => +0"));
  EXPECT_THAT(Stamps(1), ElementsAre("8000000b80000001 => +0"));
  EXPECT_THAT(Problems(), IsEmpty());
  Flip(0, 7);
  EXPECT_THAT(Problems(), ::testing::Contains(::testing::HasSubstr("checksum")));
}

TEST_F(ExpiryTest, ATransactionSeesWhatItSawAtItsStart) {
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  TransactionSettings settings;
  settings.autocommit = false;
  settings.isolation = IsolationLevel::kRepeatableRead;
  Transaction reader(database_.get());
  reader.Start(settings);
  EXPECT_THAT(Ids(reader, 0), ElementsAre(1));
  clock_->Advance(kDuration);
  EXPECT_THAT(Ids(0), IsEmpty());
  EXPECT_THAT(Ids(1), IsEmpty());
  Compact();
  EXPECT_THAT(Ids(reader, 0), ElementsAre(1));
  EXPECT_THAT(Ids(reader, 1), ElementsAre(1));
  EXPECT_THAT(Ids(reader, 1, LockMode::kExclusive), ElementsAre(1));
  ASSERT_TRUE(reader.Rollback().ok());
  EXPECT_EQ(Stamps(0).size(), 1u);
  Compact();
  EXPECT_THAT(Stamps(0), IsEmpty());
  EXPECT_THAT(Stamps(1), IsEmpty());
}

TEST_F(ExpiryTest, EachStatementOfReadCommittedHasItsTime) {
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  TransactionSettings settings;
  settings.autocommit = false;
  settings.isolation = IsolationLevel::kReadCommitted;
  Transaction reader(database_.get());
  reader.Start(settings);
  reader.BeginStatement();
  EXPECT_THAT(Ids(reader, 0), ElementsAre(1));
  clock_->Advance(kDuration);
  EXPECT_THAT(Ids(reader, 0), ElementsAre(1));
  reader.EndStatement();
  reader.BeginStatement();
  EXPECT_THAT(Ids(reader, 0), IsEmpty());
}

TEST_F(ExpiryTest, ANewRowTakesThePlaceOfAnExpiredOneWithAllItsEntries) {
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  ASSERT_TRUE(Insert({2, 10, 0}).ok());
  EXPECT_EQ(Insert({1, 11, 0}).code(), StatusCode::kDuplicateKey);
  clock_->Advance(kDuration);
  ASSERT_TRUE(Insert({1, 11, 0}).ok());
  EXPECT_THAT(Stamps(1), ElementsAre("8000000a80000002 => +0", "8000000b80000001 => +100"));
  ASSERT_TRUE(Update({1, 11, 0}, {2, 11, 0}).ok());
  EXPECT_THAT(Stamps(0), ElementsAre("80000002 => +100"));
  EXPECT_THAT(Stamps(1), ElementsAre("8000000b80000002 => +100"));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ExpiryTest, CheckIgnoresWhatExpiredAlone) {
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  ASSERT_TRUE(InTransaction([&](Transaction& transaction) {
                Record record(description_, {1, 10, 0});
                std::string entry;
                std::string unpack_info;
                table_->index(1).codec->EncodeKey(record.data(), 0, &entry, &unpack_info);
                return transaction.SingleDelete(table_->index(1).family(), entry);
              }).ok());
  EXPECT_THAT(Problems(), ::testing::Not(IsEmpty()));
  clock_->Advance(kDuration);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ExpiryTest, TheDictionaryTellsCompactionsAfterARestart) {
  ASSERT_TRUE(Insert({1, 10, 0}).ok());
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  clock_->Advance(kDuration);
  writer_.reset();
  table_.reset();
  dictionary_.reset();
  database_.reset();
  database_ = disk_.Open();
  dictionary_ = std::move(*Dictionary::Load(database_.get()));
  Compact();
  EXPECT_EQ(database_->expiry().removed_entries(), 2u);
}

}  // namespace
}  // namespace cairn
