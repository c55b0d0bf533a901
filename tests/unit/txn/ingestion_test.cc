// What snapshots show of files that come meanwhile.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "engine/txn/transaction.h"
#include "rocksdb/sst_file_writer.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

// Holds an ingestion up when its files are there and RocksDB has not returned yet.
class HeldIngestion final : public rocksdb::EventListener {
 public:
  const char* Name() const override { return "HeldIngestion"; }
  void OnExternalFileIngested(rocksdb::DB*, const rocksdb::ExternalFileIngestionInfo&) override {
    files_are_there.set_value();
    // A reader that is made to wait for the end of the ingestion cannot say so.
    read_once.get_future().wait_for(std::chrono::milliseconds(100));
  }

  std::promise<void> files_are_there;
  std::promise<void> read_once;
};

class IngestionTest : public ::testing::TestWithParam<rocksdb::TxnDBWritePolicy> {
 protected:
  IngestionTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.write_policy = GetParam();
    options.db.listeners.push_back(held_);
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
  }

  const ColumnFamily& family() { return database_->default_family(); }
  rocksdb::TransactionDB* db() { return database_->rocksdb(); }

  // A key in the middle of what the file has, so that it gets a sequence number.
  void PutKey() {
    ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family().handle, "b", "before").ok());
    ASSERT_TRUE(db()->Flush(rocksdb::FlushOptions(), family().handle).ok());
  }

  Status IngestAround() {
    const std::string path = database_->directory() + "/around.sst";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), db()->GetOptions(family().handle),
                                  family().handle);
    EXPECT_TRUE(writer.Open(path).ok());
    EXPECT_TRUE(writer.Put("a", "loaded").ok());
    EXPECT_TRUE(writer.Put("c", "loaded").ok());
    EXPECT_TRUE(writer.Finish().ok());
    rocksdb::IngestExternalFileArg argument;
    argument.column_family = family().handle;
    argument.external_files = {path};
    return database_->Ingest({argument});
  }

  std::string Keys(Transaction* transaction) {
    std::string keys;
    const auto iterator = transaction->NewIterator(family(), rocksdb::ReadOptions(), view_);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      keys += iterator->key().ToString() + " ";
    }
    EXPECT_TRUE(iterator->status().ok());
    return keys;
  }

  // The keys that a transaction sees twice, before and after the end of an ingestion.
  void ReadWhileFilesCome(const TransactionSettings& settings) {
    PutKey();
    // Files are hidden beside one.
    const std::unique_ptr<rocksdb::Transaction> undecided(
        db()->BeginTransaction(rocksdb::WriteOptions()));
    ASSERT_TRUE(undecided->SetName("undecided").ok());
    ASSERT_TRUE(undecided->Put(family().handle, "z", "undecided").ok());
    ASSERT_TRUE(undecided->Prepare().ok());
    std::thread ingestion([this] { EXPECT_TRUE(IngestAround().ok()); });
    held_->files_are_there.get_future().wait();
    Transaction transaction(database_.get());
    transaction.Start(settings);
    const std::string before = Keys(&transaction);
    held_->read_once.set_value();
    ingestion.join();
    EXPECT_EQ(Keys(&transaction), before);
    EXPECT_TRUE(transaction.Rollback().ok());
    Transaction later(database_.get());
    later.Start(settings);
    EXPECT_EQ(Keys(&later), "a b c ");
    EXPECT_TRUE(later.Rollback().ok());
    EXPECT_TRUE(undecided->Rollback().ok());
  }

  MemoryDisk disk_;
  const std::shared_ptr<HeldIngestion> held_ = std::make_shared<HeldIngestion>();
  Transaction::View view_ = Transaction::View::kSnapshot;
  std::unique_ptr<Database> database_;
};

TEST_P(IngestionTest, ASnapshotShowsTheSameBeforeAndAfterItsEnd) {
  ReadWhileFilesCome(TransactionSettings{.autocommit = false});
}

TEST_P(IngestionTest, AStatementSeesTheSameBeforeAndAfterItsEnd) {
  ReadWhileFilesCome(
      TransactionSettings{.isolation = IsolationLevel::kReadCommitted, .autocommit = false});
}

INSTANTIATE_TEST_SUITE_P(Policies, IngestionTest,
                         ::testing::Values(rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED),
                         [](const auto& info) {
                           return info.param == rocksdb::WRITE_COMMITTED ? "committed" : "prepared";
                         });

}  // namespace
}  // namespace cairn
