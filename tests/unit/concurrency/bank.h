// What all threads of the test share: a database with the engine's own threads, tables of accounts,
// and a table that comes and goes.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "engine/catalog/dictionary.h"
#include "engine/store/database.h"
#include "engine/store/settings.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/transaction.h"
#include "engine/upkeep/upkeep.h"
#include "tests/unit/concurrency/accounts.h"
#include "tests/unit/store/memory_database.h"

namespace cairn::testing {

struct BankSettings {
  std::string name;            // Of the test's directory.
  std::string family_options;  // Of all column families.
  bool range_locks = false;
  bool write_prepared = false;
  // Vectors, and RocksDB's hash tables, take one writer at a time.
  bool concurrent_memtable_writes = true;

  friend std::ostream& operator<<(std::ostream& out, const BankSettings& settings) {
    return out << settings.name;
  }
};

// Transactions that commit at the same time are committed by one of them, as the server does it
// with a binary log. Thread-safe.
class CommitQueue {
 public:
  // CommitOrdered() of this transaction has been called when this returns, by any thread.
  void Commit(Transaction* transaction);

 private:
  std::mutex mutex_;  // Guards what follows; not held while a transaction is committed.
  std::condition_variable committed_;
  std::deque<Transaction*> waiting_;
  bool has_leader_ = false;
};

// A table whose rows are loaded kRowsAtOnce at a time. Members as those of AccountTable.
struct PassingTable {
  static constexpr int kRowsAtOnce = 150;
  Gate gate;
  std::shared_ptr<const Table> table;  // Null: there is none now.
};

// Thread-safe, but for construction and Reopen().
class Bank {
 public:
  // What has been done so far; all of it must have been, or the test has tested nothing.
  enum Deed : uint8_t {
    kTransactions,
    kAudits,
    kIndexesAdded,
    kIndexesAddedBesideWriters,  // Who changed some of their entries.
    kIndexesAbandoned,
    kIndexesRemoved,
    kColumnChanges,
    kLoads,
    kDroppedTables,
    kMaintenance,
    kLooks,
    kDeeds,
  };
  static constexpr int32_t kIds = 200;
  static constexpr int64_t kNumbers = 1000;
  static constexpr int64_t kFirstBalance = 1000;
  static constexpr int64_t kTotal = kFirstBalance * kIds;  // Half of the ids, in two tables.

  // Fails the test when the database cannot be made.
  explicit Bank(BankSettings settings);
  ~Bank();

  // Closes the database and opens it again. All transactions have ended.
  void Reopen();

  Database& database() const { return *database_; }
  Dictionary& dictionary() const { return *dictionary_; }
  Upkeep& upkeep() const { return *upkeep_; }
  PreparedLocks& prepared_locks() const { return *prepared_locks_; }
  StoreOptions* store_options() { return &store_options_; }
  const std::vector<std::unique_ptr<AccountTable>>& tables() const { return tables_; }
  PassingTable& passing_table() { return passing_table_; }
  CommitQueue& commit_queue() { return commit_queue_; }
  const std::vector<std::string>& families() const { return families_; }

  void Stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void Count(Deed deed) { deeds_[deed].fetch_add(1, std::memory_order_relaxed); }
  uint64_t count(Deed deed) const { return deeds_[deed].load(std::memory_order_relaxed); }

 private:
  void Open();
  void Close();
  void Fill(AccountTable* table) const;

  const BankSettings settings_;
  const std::vector<std::string> families_{"default", "rev:other"};
  TestLog log_;
  StoreOptions store_options_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  std::unique_ptr<PreparedLocks> prepared_locks_;
  std::unique_ptr<Upkeep> upkeep_;
  std::vector<std::unique_ptr<AccountTable>> tables_;
  PassingTable passing_table_;
  CommitQueue commit_queue_;
  std::atomic<bool> stopped_{false};
  std::array<std::atomic<uint64_t>, kDeeds> deeds_{};
};

}  // namespace cairn::testing
