#include "tests/unit/concurrency/client.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/table/row_batch.h"
#include "rocksdb/perf_level.h"
#include "tests/unit/codec/random.h"

namespace cairn::testing {
namespace {

constexpr int64_t kShortWaitMs = 20;
constexpr int64_t kLongWaitMs = 500;

}  // namespace

Dice::Dice(unsigned thread_number) : engine_(Seed() + thread_number) {}

OpenAccounts::OpenAccounts(const AccountTable& accounts, Transaction* transaction)
    : table_(accounts.table()),
      description_(accounts.description()),
      transaction_(transaction),
      cursor_(table_.get()),
      writer_(&transaction->database(), table_.get()),
      record_(description_),
      columns_(description_.layout().columns.size(), true) {}

std::string OpenAccounts::Prefix(uint32_t index, const Account& account) const {
  const IndexCodec& codec = *table_->index(index).codec;
  const Record record(description_, AccountTable::RowOf(description_, account));
  const std::string search = SearchKey(description_, codec, record, 1);
  std::string prefix;
  codec.EncodeSearchKey(reinterpret_cast<const uint8_t*>(search.data()), 1, &prefix);
  return prefix;
}

Status OpenAccounts::Open(uint32_t index, std::optional<LockMode> lock, bool skip_locked) {
  columns_.assign(columns_.size(), true);
  if (index == kByBalance && !lock.has_value()) {
    columns_.assign(columns_.size(), false);
    columns_[kId] = columns_[kBalance] = true;
  }
  CursorAccess access;
  access.index = index;
  access.columns = &columns_;
  access.lock = lock;
  access.skip_locked = skip_locked;
  return cursor_.Open(transaction_, access);
}

Status OpenAccounts::Read(int32_t id, std::optional<LockMode> lock, Account* account) {
  CAIRN_RETURN_IF_ERROR(Open(kById, lock));
  CAIRN_RETURN_IF_ERROR(cursor_.ReadRow(Prefix(kById, {.id = id, .owner = {}}), record_.data()));
  *account = AccountTable::AccountIn(description_, record_);
  EXPECT_EQ(account->id, id);
  EXPECT_TRUE(AccountTable::IsWhole(description_, record_)) << id;
  return Status();
}

Status OpenAccounts::LockOneOf(const std::string& owner, Account* account) {
  CAIRN_RETURN_IF_ERROR(Open(kByOwner, LockMode::kExclusive, /*skip_locked=*/true));
  const std::string prefix = Prefix(kByOwner, {.owner = owner});
  CAIRN_RETURN_IF_ERROR(
      cursor_.Read(prefix, ReadStart::kExact, record_.data(), {.common_bytes = prefix.size()}));
  *account = AccountTable::AccountIn(description_, record_);
  EXPECT_EQ(account->owner, owner);
  EXPECT_TRUE(AccountTable::IsWhole(description_, record_)) << account->id;
  return Status();
}

Status OpenAccounts::Insert(const Account& account) {
  Account written = account;
  written.branch = AccountTable::BranchOf(account.id);
  const Record record(description_, AccountTable::RowOf(description_, written));
  return writer_.Insert(transaction_, record.data());
}

Status OpenAccounts::Change(const Account& account, const Account& changed) {
  const Record before(description_, AccountTable::RowOf(description_, account));
  Account written = changed;
  written.branch = AccountTable::BranchOf(changed.id);
  const Record after(description_, AccountTable::RowOf(description_, written));
  return writer_.Update(transaction_, before.data(), after.data(), /*hidden_key=*/0);
}

Status OpenAccounts::Remove(const Account& account) {
  const Record record(description_, AccountTable::RowOf(description_, account));
  return writer_.Delete(transaction_, record.data(), /*hidden_key=*/0);
}

Status OpenAccounts::Scan(uint32_t index, bool backward, std::optional<LockMode> lock,
                          const Sink& sink) {
  CAIRN_RETURN_IF_ERROR(Open(index, lock));
  const bool is_whole = columns_[kNote];
  Status read = backward ? cursor_.ReadLast(record_.data()) : cursor_.ReadFirst(record_.data());
  while (read.ok()) {
    EXPECT_TRUE(!is_whole || AccountTable::IsWhole(description_, record_));
    sink(record_);
    read = backward ? cursor_.ReadPrevious(record_.data()) : cursor_.ReadNext(record_.data());
  }
  return read.code() == StatusCode::kEndOfRange ? Status() : read;
}

Status OpenAccounts::Gather(const std::vector<std::string>& owners, const Sink& sink) {
  CAIRN_RETURN_IF_ERROR(Open(kByOwner, std::nullopt));
  RowBatch rows;
  const auto give = [&]() -> Status {
    rows.Fetch(transaction_, table_->primary().family(), Transaction::View::kSnapshot);
    for (size_t i = 0; i < rows.size(); ++i) {
      CAIRN_RETURN_IF_ERROR(cursor_.ReadGathered(rows, i, record_.data()));
      EXPECT_TRUE(AccountTable::IsWhole(description_, record_));
      sink(record_);
    }
    rows.Clear();
    return Status();
  };
  for (const std::string& owner : owners) {
    const std::string prefix = Prefix(kByOwner, {.owner = owner});
    Status gathered = cursor_.GatherFrom(prefix, ReadStart::kExact, {}, RowBatch::kMostRows,
                                         record_.data(), &rows);
    while (gathered.ok()) {
      CAIRN_RETURN_IF_ERROR(give());
      gathered = cursor_.GatherOn(RowBatch::kMostRows, record_.data(), &rows);
    }
    if (gathered.code() != StatusCode::kEndOfRange) return gathered;
    if (rows.full()) CAIRN_RETURN_IF_ERROR(give());
  }
  return give();
}

void OpenAccounts::EndStatement() {
  cursor_.Close();
  cursor_.ReleaseIterators();
}

Client::Client(Bank* bank, unsigned number)
    : bank_(*bank), dice_(number), transaction_(&bank->database()) {}

void Client::UseThisThread() {
  // As sessions do: nothing is measured, and the engine's own readers are used.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
}

void Client::Run() {
  UseThisThread();
  const ScopedWaitObserver observer(this);
  while (!bank_.stopped() && !::testing::Test::HasFailure()) Work();
}

void Client::Interrupt() {
  interrupted_.store(true, std::memory_order_relaxed);
  WakeUp();
}

TransactionSettings Client::AnySettings() {
  static constexpr IsolationLevel kLevels[] = {IsolationLevel::kReadCommitted,
                                               IsolationLevel::kRepeatableRead,
                                               IsolationLevel::kSerializable};
  TransactionSettings settings;
  settings.isolation = kLevels[dice_.Below(std::size(kLevels))];
  settings.autocommit = false;
  settings.lock_wait_timeout_ms = dice_.OneIn(2) ? kShortWaitMs : kLongWaitMs;
  settings.deadlock_detect = !dice_.OneIn(8);
  settings.verify_reads = dice_.OneIn(4);
  return settings;
}

Durability Client::AnyDurability() {
  if (dice_.OneIn(16)) return Durability::kSync;
  return dice_.OneIn(2) ? Durability::kWritten : Durability::kDelayed;
}

bool Client::IsOrdinary(const Status& outcome) {
  switch (outcome.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kEndOfRange:
    case StatusCode::kDuplicateKey:
    case StatusCode::kUnchanged:
    case StatusCode::kLockTimeout:
    case StatusCode::kDeadlock:
    case StatusCode::kSnapshotConflict:
    case StatusCode::kInterrupted:
    case StatusCode::kDefinitionTooNew:
      return true;
    default:
      ADD_FAILURE() << outcome.ToString();
      return false;
  }
}

}  // namespace cairn::testing
