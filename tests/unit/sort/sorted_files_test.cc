#include "engine/sort/sorted_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/utilities/transaction.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

class SortedFilesTest : public ::testing::TestWithParam<rocksdb::TxnDBWritePolicy> {
 protected:
  SortedFilesTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.write_policy = GetParam();
    options.column_family.target_file_size_base = 1 << 10;  // Files end after a few KiB.
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
  }

  const ColumnFamily& family() { return database_->default_family(); }
  rocksdb::TransactionDB* db() { return database_->rocksdb(); }

  // Puts keys around where files are to go, so that these get a sequence number.
  void PutAround() {
    for (const char* const key : {"a", "c"}) {
      ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family().handle, key, "around").ok());
    }
    ASSERT_TRUE(db()->Flush(rocksdb::FlushOptions(), family().handle).ok());
  }

  Status IngestBetween() {
    SortedFiles files(database_.get(), family(), "t", /*trace=*/false);
    CAIRN_RETURN_IF_ERROR(files.Add("b", "loaded"));
    CAIRN_RETURN_IF_ERROR(files.Add("d", "loaded"));
    CAIRN_RETURN_IF_ERROR(files.Finish());
    return SortedFiles::Ingest(database_.get(), {&files});
  }

  std::string Keys(const rocksdb::ReadOptions& options = rocksdb::ReadOptions()) {
    std::string keys;
    const std::unique_ptr<rocksdb::Iterator> iterator = database_->NewIterator(family(), options);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      keys += iterator->key().ToString() + " ";
    }
    EXPECT_TRUE(iterator->status().ok());
    return keys;
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
};

TEST_P(SortedFilesTest, AreSeenBesideAnOlderPreparedTransaction) {
  PutAround();
  const std::unique_ptr<rocksdb::Transaction> undecided(
      db()->BeginTransaction(rocksdb::WriteOptions()));
  ASSERT_TRUE(undecided->SetName("undecided").ok());
  ASSERT_TRUE(undecided->Put(family().handle, "z", "undecided").ok());
  ASSERT_TRUE(undecided->Prepare().ok());
  ASSERT_TRUE(IngestBetween().ok());
  std::string value;
  EXPECT_TRUE(db()->Get(rocksdb::ReadOptions(), family().handle, "b", &value).ok());
  EXPECT_EQ(Keys(), "a b c d ");
  ASSERT_TRUE(undecided->Commit().ok());
  EXPECT_EQ(Keys(), "a b c d z ");
}

TEST_P(SortedFilesTest, AreNotSeenByOlderSnapshots) {
  PutAround();
  rocksdb::ReadOptions options;
  options.snapshot = db()->GetSnapshot();
  ASSERT_TRUE(IngestBetween().ok());
  EXPECT_EQ(Keys(options), "a c ");
  EXPECT_EQ(Keys(), "a b c d ");
  db()->ReleaseSnapshot(options.snapshot);
}

TEST_P(SortedFilesTest, OrderIsCheckedFromOneFileToTheNext) {
  const std::string value(40'000, 'v');  // More than a file.
  SortedFiles files(database_.get(), family(), "t", /*trace=*/false);
  for (const char* const key : {"b1", "b2", "b3"}) ASSERT_TRUE(files.Add(key, value).ok());
  EXPECT_EQ(files.Add("b3", "again").code(), StatusCode::kOutOfOrder);
  EXPECT_EQ(files.Add("b2", "again").code(), StatusCode::kOutOfOrder);
  EXPECT_EQ(files.Add("a", "before").code(), StatusCode::kOutOfOrder);
  ASSERT_TRUE(files.Add("b4", value).ok());
  ASSERT_TRUE(files.Finish().ok());
  ASSERT_TRUE(SortedFiles::Ingest(database_.get(), {&files}).ok());
  EXPECT_EQ(Keys(), "b1 b2 b3 b4 ");
}

TEST_P(SortedFilesTest, ReverseOrderIsCheckedFromOneFileToTheNext) {
  const std::string value(40'000, 'v');
  for (const char* const next : {"b6", "b7", "b8", "c"}) {
    SortedFiles files(database_.get(), family(), "t", /*trace=*/false);
    for (const char* const key : {"b9", "b8", "b7"}) ASSERT_TRUE(files.Add(key, value).ok());
    // What is wrong may show at once or when the files are finished.
    const Status added = files.Add(next, "next");
    const Status finished = files.Finish();
    const StatusCode told = added.ok() ? finished.code() : added.code();
    EXPECT_EQ(told, next == std::string("b6") ? StatusCode::kOk : StatusCode::kOutOfOrder) << next;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SortedFilesTest,
                         ::testing::Values(rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED),
                         [](const auto& info) {
                           return info.param == rocksdb::WRITE_COMMITTED ? "committed" : "prepared";
                         });

}  // namespace
}  // namespace cairn
