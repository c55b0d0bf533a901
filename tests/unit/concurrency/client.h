// A session of its own thread, and what it does to tables of accounts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "engine/codec/column_set.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/cursor.h"
#include "engine/table/table_writer.h"
#include "engine/txn/transaction.h"
#include "tests/unit/codec/test_table.h"
#include "tests/unit/concurrency/accounts.h"
#include "tests/unit/concurrency/bank.h"

namespace cairn::testing {

// Chosen by the seed of the run and the number of a thread.
class Dice {
 public:
  explicit Dice(unsigned thread_number);
  int64_t Below(int64_t limit) { return static_cast<int64_t>(engine_() % limit); }
  bool OneIn(int64_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// A table of accounts within a transaction. Its gate is held while this lives.
class OpenAccounts {
 public:
  OpenAccounts(const AccountTable& accounts, Transaction* transaction);

  const Table& table() const { return *table_; }
  const TestTable& description() const { return description_; }

  // Fills in the account of this id. Errors: kNotFound, those of Cursor.
  Status Read(int32_t id, std::optional<LockMode> lock, Account* account);
  // The first account of this owner that nobody has locked, locked. Errors: as Read().
  Status LockOneOf(const std::string& owner, Account* account);
  // Errors: those of TableWriter. `account` was read before, and locked exclusively.
  Status Insert(const Account& account);
  Status Change(const Account& account, const Account& changed);
  Status Remove(const Account& account);

  using Sink = std::function<void(const Record& record)>;
  // Gives all rows in the order of an index, or in reverse order; with kByBalance, ids and balances
  // alone. Errors: those of Cursor.
  Status Scan(uint32_t index, bool backward, std::optional<LockMode> lock, const Sink& sink);
  // Gives the rows of these owners, which are fetched together.
  Status Gather(const std::vector<std::string>& owners, const Sink& sink);
  // Lets go of what the statement has read.
  void EndStatement();

 private:
  std::string Prefix(uint32_t index, const Account& account) const;
  Status Open(uint32_t index, std::optional<LockMode> lock, bool skip_locked = false);

  const std::shared_ptr<const Table> table_;
  const TestTable& description_;
  Transaction* const transaction_;
  Cursor cursor_;
  TableWriter writer_;
  Record record_;
  ColumnSet columns_;
};

// Of one thread, but for what WaitObserver and facts() say.
class Client : public WaitObserver {
 public:
  Client(Bank* bank, unsigned number);
  virtual ~Client() = default;

  // Works until the bank closes or the test has failed.
  void Run();
  // Another thread has this one's waits end once.
  void Interrupt();
  const TransactionFacts& facts() const { return transaction_.facts(); }

 protected:
  virtual void Work() = 0;

  Bank& bank() const { return bank_; }
  Dice& dice() { return dice_; }
  Transaction& transaction() { return transaction_; }
  static void UseThisThread();
  TransactionSettings AnySettings();
  Durability AnyDurability();
  // Whether an outcome is among those that others may cause; fails the test if not.
  static bool IsOrdinary(const Status& outcome);

 private:
  bool Interrupted() override { return interrupted_.exchange(false, std::memory_order_relaxed); }
  void WaitBegins() override { transaction_.WaitBegins(); }
  void WaitEnds() override { transaction_.WaitEnds(); }

  Bank& bank_;
  Dice dice_;
  Transaction transaction_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace cairn::testing
