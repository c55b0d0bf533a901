// Reads that ask prefix bloom filters find what reads that ask none find.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/table/cursor.h"
#include "engine/table/table.h"
#include "engine/table/table_writer.h"
#include "rocksdb/statistics.h"
#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_collations.h"
#include "tests/unit/codec/test_table.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using cairn::testing::Random;
using cairn::testing::Record;

struct Family {
  const char* description;
  std::string name = "default";
  std::string extractor;      // As in option strings.
  std::string options;        // Further options of the family.
  std::string table_options;  // Of its block-based table.
};

std::ostream& operator<<(std::ostream& out, const Family& family) {
  return out << family.description;
}

// The table `t (a INT, b INT NULL, c VARCHAR(6), d INT, PRIMARY KEY (a, d), KEY (b, c), UNIQUE KEY
// (c, a, d))`, with few values in each column, in many small files.
class PrefixFilterTest : public ::testing::TestWithParam<Family> {
 protected:
  enum : uint32_t { kPrimary = 0, kByB = 1, kByC = 2, kIndexes = 3 };

  PrefixFilterTest() {
    using namespace cairn::testing;  // NOLINT(google-build-using-namespace)
    const Family& family = GetParam();
    DatabaseOptions options = disk_.Options();
    options.db.statistics = statistics_ = rocksdb::CreateDBStatistics();
    options.db.allow_concurrent_memtable_write = false;  // Not all memtables can.
    options.db.enable_write_thread_adaptive_yield = false;
    options.default_column_family_text =
        "disable_auto_compactions=true;level0_slowdown_writes_trigger=1000;"
        "level0_stop_writes_trigger=1000;target_file_size_base=2048;"
        "prefix_extractor=" +
        family.extractor + ";" + family.options +
        "block_based_table_factory={block_size=128;filter_policy=bloomfilter:20:false;" +
        family.table_options + "}";
    database_ = std::move(*Database::Open(std::move(options), &disk_.log()));
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
    description_.Int("a").Int("b").Nullable().Varchar("c", 6, Latin1Swedish()).Int("d");
    description_.PrimaryKey(256, {"a", "d"}).Key(257, {"b", "c"}).UniqueKey(258, {"c", "a", "d"});
    const auto definition = dictionary_->CreateTable("db.t",
                                                     {{IndexKind::kPrimary, family.name},
                                                      {IndexKind::kSecondary, family.name},
                                                      {IndexKind::kSecondary, family.name}},
                                                     std::nullopt);
    table_ = std::move(*Table::Open(*definition, description_.layout(), description_.indexes()));
    writer_ = std::make_unique<TableWriter>(database_.get(), table_.get());
  }

  cairn::testing::Row RandomRow() {
    cairn::testing::Row row{static_cast<int>(random_.Below(12)), static_cast<int>(random_.Below(9)),
                            std::string(1 + random_.Below(3), 'a' + random_.Below(4)),
                            static_cast<int>(random_.Below(40))};
    if (random_.OneIn(8)) row[1] = nullptr;
    return row;
  }

  // Inserts a row, or deletes the one that stands there.
  void Change(Transaction* transaction) {
    const Record record(description_, RandomRow());
    const Status inserted = writer_->Insert(transaction, record.data());
    if (inserted.code() != StatusCode::kDuplicateKey) {
      ASSERT_TRUE(inserted.ok()) << inserted.ToString();
      return;
    }
    Cursor cursor(table_.get());
    Record old_record(description_);
    CursorAccess access;
    access.columns = &all_columns_;
    access.lock = LockMode::kExclusive;
    ASSERT_TRUE(cursor.Open(transaction, access).ok());
    ASSERT_TRUE(cursor.ReadRow(Key(kPrimary, record, 2), old_record.data()).ok());
    const Status deleted = writer_->Delete(transaction, old_record.data(), 0);
    ASSERT_TRUE(deleted.ok()) << deleted.ToString();
  }

  void ChangeAndCommit() {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    for (size_t n = random_.Below(20); n > 0; --n) Change(&transaction);
    ASSERT_TRUE(transaction.Commit(Durability::kDelayed).ok());
  }

  void RearrangeFiles() {
    const ColumnFamily& family = *database_->families().Find(GetParam().name);
    if (random_.OneIn(2)) {
      ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    }
    if (random_.OneIn(4)) {
      ASSERT_TRUE(database_->maintenance().Compact(family).ok());
    }
  }

  void ReplaceExtractor() {
    const char* const extractors[] = {"capped:4", "capped:9",  "fixed:8",  "fixed:13",
                                      "capped:7", "capped:99", "fixed:99", "nullptr"};
    const std::string text =
        GetParam().name + "={prefix_extractor=" + extractors[random_.Below(8)] + "}";
    const Status updated = database_->families().UpdateOptions(text);
    ASSERT_TRUE(updated.ok()) << updated.ToString();
  }

  std::string Key(uint32_t index, const Record& record, uint32_t parts) {
    const IndexCodec& codec = *table_->index(index).codec;
    const std::string search = SearchKey(description_, codec, record, parts);
    std::string prefix;
    codec.EncodeSearchKey(reinterpret_cast<const uint8_t*>(search.data()), parts, &prefix);
    return prefix;
  }

  // The row or the error that a read gave.
  std::string Show(const Status& status, const Record& record) {
    return status.ok() ? record.ToString(all_columns_) : std::string(ToString(status.code()));
  }

  uint64_t FilesSpared() const {
    return statistics_->getTickerCount(rocksdb::LAST_LEVEL_SEEK_FILTERED) +
           statistics_->getTickerCount(rocksdb::NON_LAST_LEVEL_SEEK_FILTERED);
  }

  void CompareReads(Transaction* transaction);
  void CompareRange(Cursor* asking, Cursor* plain);
  void CompareScan(Cursor* asking, Cursor* plain, const std::string& prefix, uint32_t parts,
                   Transaction* transaction, const CursorAccess& access);

  Random random_;
  MemoryDisk disk_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  cairn::testing::TestTable description_;
  std::shared_ptr<const Table> table_;
  std::unique_ptr<TableWriter> writer_;
  const ColumnSet all_columns_ = ColumnSet(4, true);
};

constexpr Cursor::Start kStarts[] = {Cursor::Start::kExact,      Cursor::Start::kAtOrAfter,
                                     Cursor::Start::kAfter,      Cursor::Start::kLastExact,
                                     Cursor::Start::kAtOrBefore, Cursor::Start::kBefore};

// A read with any start, and moves in any direction after it, across the ends of prefixes and of
// the index.
void PrefixFilterTest::CompareScan(Cursor* asking, Cursor* plain, const std::string& prefix,
                                   uint32_t parts, Transaction* transaction,
                                   const CursorAccess& access) {
  const Cursor::Start start = kStarts[random_.Below(std::size(kStarts))];
  ReadRange range;
  range.prefix_is_key = parts == table_->index(asking->index()).codec->key_part_count();
  Record found(description_);
  Record expected(description_);
  std::string history = "start " + std::to_string(static_cast<int>(start)) + ", " +
                        std::to_string(parts) + " parts of index " +
                        std::to_string(asking->index());
  Status read = asking->Read(prefix, start, found.data(), range);
  ASSERT_EQ(Show(read, found), Show(plain->Read(prefix, start, expected.data()), expected))
      << history;
  size_t direction = random_.Below(2);
  for (size_t moves = random_.Below(12); moves > 0; --moves) {
    if (!read.ok() ||
        random_.OneIn(10)) {  // A scan continues after an end only as HANDLER does it.
      asking->Suspend();
      plain->Suspend();
      CursorAccess plain_access = access;
      plain_access.ask_prefix_filters = false;
      ASSERT_TRUE(asking->Resume(transaction, access).ok());
      ASSERT_TRUE(plain->Resume(transaction, plain_access).ok());
      if (!asking->is_suspended()) return;
      history += ", suspend";
    }
    if (random_.OneIn(4)) direction = random_.Below(4);
    Status again;
    switch (direction) {
      case 0:
        read = asking->ReadNext(found.data());
        again = plain->ReadNext(expected.data());
        break;
      case 1:
        read = asking->ReadPrevious(found.data());
        again = plain->ReadPrevious(expected.data());
        break;
      case 2:
        read = asking->ReadNextExact(found.data());
        again = plain->ReadNextExact(expected.data());
        break;
      default:
        read = asking->ReadPreviousExact(found.data());
        again = plain->ReadPreviousExact(expected.data());
    }
    history += ", move " + std::to_string(direction);
    ASSERT_EQ(Show(read, found), Show(again, expected)) << history;
  }
}

// A range between two search keys that share their first parts, either way.
void PrefixFilterTest::CompareRange(Cursor* asking, Cursor* plain) {
  const uint32_t index = asking->index();
  cairn::testing::Row low = RandomRow();
  cairn::testing::Row high = RandomRow();
  const auto& parts = table_->index(index).layout().parts;
  low[parts[0].column] = high[parts[0].column];
  std::string first = Key(index, Record(description_, low), 1 + random_.Below(parts.size()));
  std::string last = Key(index, Record(description_, high), 1 + random_.Below(parts.size()));
  if (last < first) std::swap(first, last);
  ReadRange range;
  range.common_bytes = static_cast<size_t>(
      std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first - first.begin());
  const std::string common = first.substr(0, range.common_bytes);
  const bool forward = random_.OneIn(2);
  const size_t choice = random_.Below(2);
  const Cursor::Start start = forward
                                  ? (choice ? Cursor::Start::kAtOrAfter : Cursor::Start::kAfter)
                                  : (choice ? Cursor::Start::kAtOrBefore : Cursor::Start::kBefore);
  const std::string& from = forward ? first : last;
  Record found(description_);
  Record expected(description_);
  const IndexCodec& codec = *table_->index(index).codec;
  std::string key;
  std::string unpack_info;
  Status read = asking->Read(from, start, found.data(), range);
  Status again = plain->Read(from, start, expected.data());
  for (size_t moves = 40; moves > 0; --moves) {
    if (again.ok()) codec.EncodeKey(expected.data(), 0, &key, &unpack_info);
    if (!again.ok() ||
        !key.starts_with(common)) {  // Behind the range: nothing, or anything behind it.
      if (read.ok()) {
        codec.EncodeKey(found.data(), 0, &key, &unpack_info);
        ASSERT_FALSE(key.starts_with(common));
      }
      return;
    }
    ASSERT_EQ(Show(read, found), Show(again, expected));
    read = forward ? asking->ReadNext(found.data()) : asking->ReadPrevious(found.data());
    again = forward ? plain->ReadNext(expected.data()) : plain->ReadPrevious(expected.data());
  }
}

void PrefixFilterTest::CompareReads(Transaction* transaction) {
  CursorAccess access;
  access.index = static_cast<uint32_t>(random_.Below(kIndexes));
  access.columns = &all_columns_;
  if (random_.OneIn(4)) access.lock = LockMode::kExclusive;
  CursorAccess plain_access = access;
  plain_access.ask_prefix_filters = false;
  Cursor asking(table_.get());
  Cursor plain(table_.get());
  ASSERT_TRUE(asking.Open(transaction, access).ok());
  ASSERT_TRUE(plain.Open(transaction, plain_access).ok());
  const IndexCodec& codec = *table_->index(access.index).codec;
  for (int reads = 0; reads < 20; ++reads) {
    if (random_.OneIn(3)) {
      CompareRange(&asking, &plain);
    } else {
      const auto parts = static_cast<uint32_t>(1 + random_.Below(codec.key_part_count()));
      CompareScan(&asking, &plain, Key(access.index, Record(description_, RandomRow()), parts),
                  parts, transaction, access);
    }
    if (HasFatalFailure()) return;
    if (asking.is_suspended()) {
      ASSERT_TRUE(asking.Open(transaction, access).ok());
      ASSERT_TRUE(plain.Open(transaction, plain_access).ok());
    }
  }
}

const Family kFamilies[] = {
    {"fixed4", "default", "fixed:4", "", ""},
    {"fixed8", "default", "fixed:8", "memtable_prefix_bloom_size_ratio=0.2;", ""},
    {"fixed8reverse", "rev:cf", "fixed:8", "memtable_prefix_bloom_size_ratio=0.2;", ""},
    {"fixed9", "default", "fixed:9", "", "whole_key_filtering=0;"},
    {"fixed12reverse", "rev:cf", "fixed:12", "", "whole_key_filtering=0;"},
    {"capped4", "default", "capped:4", "", ""},
    {"capped7reverse", "rev:cf", "capped:7", "", "whole_key_filtering=0;"},
    {"capped8", "default", "capped:8", "memtable_prefix_bloom_size_ratio=0.2;", ""},
    {"capped9reverse", "rev:cf", "capped:9", "memtable_prefix_bloom_size_ratio=0.2;", ""},
    {"capped11", "default", "capped:11", "", "whole_key_filtering=0;"},
    {"capped99", "default", "capped:99", "memtable_prefix_bloom_size_ratio=0.2;", ""},
    {"capped99reverse", "rev:cf", "capped:99", "", "whole_key_filtering=0;"},
    {"noop", "default", "rocksdb.Noop", "", ""},
    {"partitioned", "default", "capped:8", "",
     "partition_filters=true;index_type=kTwoLevelIndexSearch;metadata_block_size=64;"},
    {"partitionedReverse", "rev:cf", "fixed:8", "",
     "partition_filters=true;index_type=kTwoLevelIndexSearch;metadata_block_size=64;"
     "whole_key_filtering=0;"},
    {"hashIndex", "default", "fixed:8", "", "index_type=kHashSearch;"},
    {"hashIndexReverse", "rev:cf", "capped:8", "", "index_type=kHashSearch;"},
    {"hashMemtable", "default", "fixed:8", "memtable=prefix_hash:16;", ""},
    {"hashLinkMemtableReverse", "rev:cf", "fixed:8", "memtable=hash_linkedlist:16;", ""},
    {"ribbon", "rev:cf", "capped:8", "", "filter_policy=ribbonfilter:10;"},
};

INSTANTIATE_TEST_SUITE_P(Families, PrefixFilterTest, ::testing::ValuesIn(kFamilies),
                         [](const auto& info) { return std::string(info.param.description); });

TEST_P(PrefixFilterTest, ReadsFindTheSameRowsWithAndWithoutFilters) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    ChangeAndCommit();
    if (random_.OneIn(3)) RearrangeFiles();
    Transaction transaction(database_.get());
    TransactionSettings settings;
    settings.autocommit = false;
    settings.isolation =
        random_.OneIn(2) ? IsolationLevel::kReadCommitted : IsolationLevel::kRepeatableRead;
    transaction.Start(settings);
    if (random_.OneIn(2)) {  // Reads merge what the transaction has written.
      for (size_t n = random_.Below(8); n > 0 && !HasFatalFailure(); --n) Change(&transaction);
    }
    if (!HasFatalFailure()) CompareReads(&transaction);
    ASSERT_TRUE(transaction.Rollback().ok());
  }
}

TEST_P(PrefixFilterTest, FilesWrittenWithOtherExtractorsLoseNoRows) {
  if (std::string_view(GetParam().description).starts_with("hash")) {
    GTEST_SKIP() << "what hashes by the extractor keeps it";
  }
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    ChangeAndCommit();
    RearrangeFiles();
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    if (random_.OneIn(2)) ReplaceExtractor();
    CompareReads(&transaction);
    ASSERT_TRUE(transaction.Rollback().ok());
  }
}

TEST_P(PrefixFilterTest, OwnRowsWithAPrefixThatNoFileHasAreFoundBothWays) {
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings());
  ASSERT_TRUE(writer_->Insert(&transaction, Record(description_, {1, 1, "a", 1}).data()).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kDelayed).ok());
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  TransactionSettings settings;
  settings.autocommit = false;
  transaction.Start(settings);
  for (const int d : {1, 2, 3}) {
    const Record record(description_, {5, d, std::string(d, 'b'), d});
    ASSERT_TRUE(writer_->Insert(&transaction, record.data()).ok());
  }
  Cursor cursor(table_.get());
  CursorAccess access;
  access.columns = &all_columns_;
  ASSERT_TRUE(cursor.Open(&transaction, access).ok());
  Record record(description_);
  const auto d = [&](const Status& read) { return read.ok() ? record.Data(3)[0] : '\0'; };
  const std::string five = Key(kPrimary, Record(description_, {5, 0, "", 0}), 1);
  EXPECT_EQ(d(cursor.Read(five, Cursor::Start::kLastExact, record.data())), 3);
  EXPECT_EQ(d(cursor.ReadPreviousExact(record.data())), 2);
  EXPECT_EQ(d(cursor.ReadNextExact(record.data())), 3);
  EXPECT_EQ(d(cursor.Read(five, Cursor::Start::kExact, record.data())), 1);
  EXPECT_EQ(d(cursor.ReadNextExact(record.data())), 2);
  EXPECT_EQ(d(cursor.ReadPreviousExact(record.data())), 1);
  EXPECT_EQ(d(cursor.ReadPrevious(record.data())), 1);  // The committed row.
  EXPECT_EQ(record.Data(0)[0], 1);
}

// So that the tests above compare something.
TEST_P(PrefixFilterTest, FiltersSpareFilesWhereThePrefixIsLongEnough) {
  const std::string& extractor = GetParam().extractor;
  if (extractor == "rocksdb.Noop" || GetParam().options.find("hash") != std::string::npos) return;
  for (int files = 0; files < 20; ++files) {
    ChangeAndCommit();
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  }
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings());
  Cursor cursor(table_.get());
  CursorAccess access;
  access.index = kByC;
  access.columns = &all_columns_;
  ASSERT_TRUE(cursor.Open(&transaction, access).ok());
  const uint64_t before = FilesSpared();
  const Record missing(description_, {100, 0, "zzzzzz", 0});
  Record record(description_);
  ReadRange range;
  range.prefix_is_key = true;
  EXPECT_EQ(cursor.Read(Key(kByC, missing, 3), Cursor::Start::kExact, record.data(), range).code(),
            StatusCode::kNotFound);
  if (extractor.ends_with(":4")) {  // The prefix of every entry of the index.
    EXPECT_EQ(FilesSpared(), before);
  } else {
    EXPECT_GE(FilesSpared(), before + 10);
  }
}

}  // namespace
}  // namespace cairn
