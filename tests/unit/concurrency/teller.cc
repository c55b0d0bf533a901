#include "tests/unit/concurrency/teller.h"

#include <gtest/gtest.h>

#include <shared_mutex>
#include <string>

#include "engine/txn/prepared_transactions.h"

namespace cairn::testing {
namespace {

constexpr const char* kNewOwners[] = {"Ada", "Bob", "Cleo", "Dan", "Eve", "Fay"};
constexpr int64_t kMostStatements = 3;
constexpr int64_t kMostMoved = 50;

}  // namespace

void Teller::Work() {
  if (dice().OneIn(16)) return VisitPassingTable();
  const auto& tables = bank().tables();
  TransactionSettings settings = AnySettings();
  settings.prepares_locks = dice().OneIn(8);
  const std::shared_lock first_rows(tables[0]->gate().rows);
  const std::shared_lock second_rows(tables[1]->gate().rows);
  const std::shared_lock first_definition(tables[0]->gate().definition);
  const std::shared_lock second_definition(tables[1]->gate().definition);
  transaction().Start(settings);
  std::deque<OpenAccounts> open;
  for (const auto& table : tables) open.emplace_back(*table, &transaction());
  for (int64_t left = 1 + dice().Below(kMostStatements); left > 0; --left) {
    const Status served = Serve(&open);
    if (served.ok()) continue;
    const bool goes_on = IsOrdinary(served) && (served.code() == StatusCode::kDuplicateKey ||
                                                served.code() == StatusCode::kNotFound);
    if (goes_on) continue;
    EXPECT_TRUE(transaction().Rollback().ok());
    return;
  }
  End();
}

Status Teller::Serve(std::deque<OpenAccounts>* tables) {
  OpenAccounts* const from = &(*tables)[dice().Below(2)];
  OpenAccounts* const to = &(*tables)[dice().Below(2)];
  transaction().BeginStatement();
  Status served;
  switch (dice().Below(8)) {
    case 0:
      served = OpenAccount(from);
      break;
    case 1:
      served = CloseAccount(from, to);
      break;
    case 2:
      served = HandOver(from);
      break;
    default:
      served = Move(from, to);
  }
  for (OpenAccounts& table : *tables) table.EndStatement();
  if (served.ok()) {
    transaction().EndStatement();
  } else {
    const Status undone = transaction().RollbackStatement();
    EXPECT_TRUE(undone.ok()) << undone.ToString();
  }
  return served;
}

Status Teller::Move(OpenAccounts* from, OpenAccounts* to) {
  Account payer;
  Account payee;
  CAIRN_RETURN_IF_ERROR(from->Read(AnyId(), LockMode::kExclusive, &payer));
  CAIRN_RETURN_IF_ERROR(to->Read(AnyId(), LockMode::kExclusive, &payee));
  if (from == to && payer.id == payee.id) return Status();
  const int64_t amount = 1 + dice().Below(kMostMoved);
  Account poorer = payer;
  poorer.balance -= amount;
  Account richer = payee;
  richer.balance += amount;
  const Savepoint savepoint = transaction().SetSavepoint();
  CAIRN_RETURN_IF_ERROR(from->Change(payer, poorer));
  if (dice().OneIn(8)) return transaction().RollbackToSavepoint(savepoint);
  return to->Change(payee, richer);
}

Status Teller::OpenAccount(OpenAccounts* table) {
  Account donor;
  CAIRN_RETURN_IF_ERROR(table->Read(AnyId(), LockMode::kExclusive, &donor));
  Account poorer = donor;
  poorer.balance /= 2;
  CAIRN_RETURN_IF_ERROR(table->Change(donor, poorer));
  return table->Insert({AnyId(), dice().Below(Bank::kNumbers),
                        kNewOwners[dice().Below(std::size(kNewOwners))],
                        donor.balance - poorer.balance});
}

Status Teller::CloseAccount(OpenAccounts* from, OpenAccounts* to) {
  Account closed;
  Account heir;
  CAIRN_RETURN_IF_ERROR(from->Read(AnyId(), LockMode::kExclusive, &closed));
  CAIRN_RETURN_IF_ERROR(to->Read(AnyId(), LockMode::kExclusive, &heir));
  if (from == to && closed.id == heir.id) return Status();
  Account richer = heir;
  richer.balance += closed.balance;
  CAIRN_RETURN_IF_ERROR(from->Remove(closed));
  return closed.balance == 0 ? Status() : to->Change(heir, richer);
}

Status Teller::HandOver(OpenAccounts* table) {
  Account account;
  CAIRN_RETURN_IF_ERROR(
      table->LockOneOf(kNewOwners[dice().Below(std::size(kNewOwners))], &account));
  Account changed = account;
  changed.owner = kNewOwners[dice().Below(std::size(kNewOwners))];
  changed.number = dice().Below(Bank::kNumbers);
  return table->Change(account, changed);
}

// Wants locks where somebody else may have claimed the table.
void Teller::VisitPassingTable() {
  PassingTable& passing = bank().passing_table();
  const std::shared_lock rows(passing.gate.rows);
  const std::shared_lock definition(passing.gate.definition);
  if (passing.table == nullptr) return;
  TransactionSettings settings = AnySettings();
  settings.isolation = IsolationLevel::kReadCommitted;
  transaction().Start(settings);
  Cursor cursor(passing.table.get());
  const ColumnSet columns(passing.table->layout().columns.size(), true);
  CursorAccess access;
  access.columns = &columns;
  access.lock = LockMode::kExclusive;
  std::vector<uint8_t> record(passing.table->layout().record_bytes);
  Status done = cursor.Open(&transaction(), access);
  if (done.ok()) done = cursor.ReadFirst(record.data());
  if (done.ok()) {
    std::vector<uint8_t> changed = record;
    ++changed[passing.table->layout().columns[1].offset];
    TableWriter writer(&bank().database(), passing.table.get());
    done = writer.Update(&transaction(), record.data(), changed.data(), /*hidden_key=*/0);
  }
  EXPECT_TRUE(done.ok() || IsOrdinary(done));
  cursor.Close();
  cursor.ReleaseIterators();
  const Status ended = done.ok() ? transaction().Commit(AnyDurability()) : transaction().Rollback();
  EXPECT_TRUE(ended.ok()) << ended.ToString();
}

void Teller::End() {
  if (dice().OneIn(8)) {
    EXPECT_TRUE(transaction().Rollback().ok());
    return;
  }
  if (transaction().has_writes() && dice().OneIn(2)) return Decide();
  if (dice().OneIn(2)) bank().commit_queue().Commit(&transaction());
  const Status committed = transaction().Commit(AnyDurability());
  EXPECT_TRUE(committed.ok()) << committed.ToString();
  bank().Count(Bank::kTransactions);
}

void Teller::Decide() {
  const TransactionId id{1, std::to_string(number_) + "." + std::to_string(++prepared_), ""};
  const Status prepared = transaction().Prepare(id, AnyDurability());
  ASSERT_TRUE(prepared.ok()) << prepared.ToString();
  Status decided;
  if (dice().OneIn(4)) {
    // As XA does it: by anybody who knows the name.
    transaction().Detach();
    decided = dice().OneIn(2) ? CommitPrepared(&bank().database(), &bank().prepared_locks(), id,
                                               OnFailure::kRemember, AnyDurability())
                              : RollbackPrepared(&bank().database(), &bank().prepared_locks(), id,
                                                 OnFailure::kRemember, AnyDurability());
  } else {
    if (dice().OneIn(2)) bank().commit_queue().Commit(&transaction());
    decided = transaction().Commit(AnyDurability());
  }
  EXPECT_TRUE(decided.ok()) << decided.ToString();
  bank().Count(Bank::kTransactions);
}

}  // namespace cairn::testing
