#include "tests/unit/concurrency/bank.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/table_writer.h"

namespace cairn::testing {
namespace {

// So little that all levels are written and merged all the time.
constexpr uint64_t kCacheBytes = 256 << 10;
constexpr uint64_t kBlockBytes = 1024;
constexpr uint32_t kRecountedIndexes = 2;  // Each second.

std::string DirectoryOf(const std::string& name) {
  return ::testing::TempDir() + "cairn-concurrency-" + name + "-" + std::to_string(getpid());
}

}  // namespace

void CommitQueue::Commit(Transaction* transaction) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(transaction);
  if (has_leader_) {
    committed_.wait(lock, [&] {
      return std::find(waiting_.begin(), waiting_.end(), transaction) == waiting_.end();
    });
    return;
  }
  has_leader_ = true;
  while (!waiting_.empty()) {
    Transaction* const first = waiting_.front();
    lock.unlock();
    first->CommitOrdered();
    lock.lock();
    waiting_.pop_front();
    committed_.notify_all();
  }
  has_leader_ = false;
}

Bank::Bank(BankSettings settings) : settings_(std::move(settings)) {
  std::filesystem::remove_all(DirectoryOf(settings_.name));
  Open();
  for (const char* const name : {"db.first", "db.second"}) {
    // The first has its rows in one family and its other entries in the other, too.
    std::vector<std::string> families = families_;
    if (!tables_.empty()) std::swap(families[0], families[1]);
    tables_.push_back(std::make_unique<AccountTable>(dictionary_.get(), name, families));
    Table::RegisterKeyLayouts(tables_.back()->table(), database_.get());
    Fill(tables_.back().get());
  }
}

Bank::~Bank() {
  Close();
  std::filesystem::remove_all(DirectoryOf(settings_.name));
}

void Bank::Open() {
  StoreSettings settings;
  settings.directory = DirectoryOf(settings_.name);
  settings.block_cache_bytes = kCacheBytes;
  settings.block_bytes = kBlockBytes;
  settings.write_prepared = settings_.write_prepared;
  settings.default_column_family_text = settings_.family_options;
  if (!settings_.concurrent_memtable_writes) {
    settings.database_options["allow_concurrent_memtable_write"] = "false";
  }
  auto made = MakeStoreOptions(settings, &log_);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  store_options_ = std::move(made).value();
  DatabaseOptions options = store_options_.database;
  options.throttle = std::make_shared<CompactionThrottle>();
  const auto mutexes = MakeInterruptibleMutexFactory();
  options.transaction.custom_mutex_factory = mutexes;
  auto opened = Database::Open(std::move(options), &log_);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  database_ = std::move(opened).value();
  dictionary_ = std::move(*Dictionary::Load(database_.get()));
  auto range_locks = settings_.range_locks ? std::make_unique<RangeLockTable>(mutexes) : nullptr;
  prepared_locks_ = std::move(*PreparedLocks::Take(database_.get(), range_locks.get()));
  if (range_locks != nullptr) database_->UseRangeLocks(std::move(range_locks));
  upkeep_ = std::make_unique<Upkeep>(database_.get(), dictionary_.get());
  upkeep_->SetRecountRate(kRecountedIndexes);
}

void Bank::Close() {
  upkeep_.reset();
  prepared_locks_.reset();
  dictionary_.reset();
  database_.reset();
}

void Bank::Reopen() {
  Close();
  Open();
  for (const auto& table : tables_) table->Reopen(*dictionary_);
}

void Bank::Fill(AccountTable* table) const {
  static constexpr const char* kOwners[] = {"Ada", "Bob", "Cleo", "Dan"};
  TableWriter writer(database_.get(), table->table().get());
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings());
  for (int32_t id = 0; id < kIds; id += 2) {
    const Account account{id, id, kOwners[id % std::size(kOwners)], kFirstBalance};
    const Record record(table->description(), AccountTable::RowOf(table->description(), account));
    const Status inserted = writer.Insert(&transaction, record.data());
    ASSERT_TRUE(inserted.ok()) << inserted.ToString();
  }
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
}

}  // namespace cairn::testing
