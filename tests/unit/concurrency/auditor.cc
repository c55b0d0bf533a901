#include "tests/unit/concurrency/auditor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "engine/table/table_check.h"
#include "engine/table/table_statistics.h"

namespace cairn::testing {
namespace {

constexpr int kPointReads = 8;
const std::vector<std::string> kOwners = {"Ada", "Bob", "Cleo", "Dan", "Eve", "Fay"};

bool IdsAscend(const Account& a, const Account& b) { return a.id < b.id; }

}  // namespace

void Auditor::Work() {
  if (dice().OneIn(4)) return LookAtPassingTable();
  Audit();
}

void Auditor::Audit() {
  const auto& tables = bank().tables();
  TransactionSettings settings = AnySettings();
  // What READ COMMITTED reads of two tables need not add up.
  if (settings.isolation == IsolationLevel::kReadCommitted || dice().OneIn(2)) {
    settings.isolation = IsolationLevel::kRepeatableRead;
  }
  transaction().Start(settings);
  if (dice().OneIn(2)) transaction().PinSnapshot();  // Older than what the tables may become now.
  const std::shared_lock first(tables[0]->gate().definition);
  const std::shared_lock second(tables[1]->gate().definition);
  std::deque<OpenAccounts> open;
  for (const auto& table : tables) open.emplace_back(*table, &transaction());
  const Status read = ReadAll(&open, transaction().PlainReadLock());
  if (read.ok()) {
    bank().Count(Bank::kAudits);
  } else {
    EXPECT_TRUE(IsOrdinary(read));
  }
  EXPECT_TRUE(transaction().Rollback().ok());
}

Status Auditor::ReadAll(std::deque<OpenAccounts>* tables, std::optional<LockMode> lock) {
  std::vector<size_t> counts;
  for (int pass = 0; pass < 2; ++pass) {
    int64_t total = 0;
    for (size_t i = 0; i < tables->size(); ++i) {
      OpenAccounts* const table = &(*tables)[i];
      const auto index_count = static_cast<int64_t>(table->table().indexes().size());
      Books books;
      transaction().BeginStatement();
      Status read =
          ReadTable(table, static_cast<uint32_t>(dice().Below(index_count)), lock, &books);
      if (read.ok()) read = ReadAgain(table, books.accounts);
      table->EndStatement();
      transaction().EndStatement();
      CAIRN_RETURN_IF_ERROR(read);
      total += books.total;
      if (pass == 0) counts.push_back(books.accounts.size());
      EXPECT_EQ(books.accounts.size(), counts[i]) << "rows of a table, in the same snapshot";
    }
    EXPECT_EQ(total, Bank::kTotal);
  }
  return Status();
}

Status Auditor::ReadTable(OpenAccounts* table, uint32_t index, std::optional<LockMode> lock,
                          Books* books) {
  const auto add = [&](const Record& record) {
    Account account;
    if (index == kByBalance && !lock.has_value()) {
      account.id = AccountTable::IdIn(record);
      account.balance = AccountTable::BalanceIn(record);
    } else {
      account = AccountTable::AccountIn(table->description(), record);
    }
    books->total += account.balance;
    books->accounts.push_back(std::move(account));
  };
  if (index == kByOwner && !lock.has_value() && dice().OneIn(2)) {
    return table->Gather(kOwners, add);
  }
  CAIRN_RETURN_IF_ERROR(table->Scan(index, dice().OneIn(3), lock, add));
  std::vector<Account> sorted = books->accounts;
  std::sort(sorted.begin(), sorted.end(), IdsAscend);
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [](const Account& a, const Account& b) { return a.id == b.id; });
  EXPECT_EQ(twice, sorted.end()) << "index " << index << " has a row twice";
  return Status();
}

Status Auditor::ReadAgain(OpenAccounts* table, const std::vector<Account>& accounts) {
  for (int i = 0; i < kPointReads && !accounts.empty(); ++i) {
    const Account& seen = accounts[dice().Below(static_cast<int64_t>(accounts.size()))];
    Account found;
    const Status read = table->Read(seen.id, transaction().PlainReadLock(), &found);
    EXPECT_NE(read.code(), StatusCode::kNotFound) << seen.id;
    CAIRN_RETURN_IF_ERROR(read);
    EXPECT_EQ(found.balance, seen.balance) << seen.id;
  }
  const auto id = static_cast<int32_t>(dice().Below(Bank::kIds));
  Account account;
  const Status read = table->Read(id, transaction().PlainReadLock(), &account);
  const bool was_there = std::any_of(accounts.begin(), accounts.end(),
                                     [&](const Account& seen) { return seen.id == id; });
  if (read.ok() || read.code() == StatusCode::kNotFound) {
    EXPECT_EQ(read.ok(), was_there) << id;
    return Status();
  }
  return read;
}

void Auditor::LookAtPassingTable() {
  PassingTable& passing = bank().passing_table();
  const std::shared_lock gate(passing.gate.definition);
  if (passing.table == nullptr) return;
  TransactionSettings settings = AnySettings();
  settings.isolation = IsolationLevel::kRepeatableRead;
  transaction().Start(settings);
  Cursor cursor(passing.table.get());
  const ColumnSet columns(passing.table->layout().columns.size(), true);
  CursorAccess access;
  access.index = static_cast<uint32_t>(dice().Below(2));
  access.columns = &columns;
  std::vector<uint8_t> record(passing.table->layout().record_bytes);
  Status read = cursor.Open(&transaction(), access);
  int rows = 0;
  if (read.ok()) read = cursor.ReadFirst(record.data());
  for (; read.ok(); ++rows) read = cursor.ReadNext(record.data());
  EXPECT_EQ(read.code(), StatusCode::kEndOfRange) << read.ToString();
  EXPECT_EQ(rows % PassingTable::kRowsAtOnce, 0) << "a part of a load is seen";
  cursor.Close();
  cursor.ReleaseIterators();
  const auto size = EstimateIndexSize(&bank().database(), passing.table->index(0));
  EXPECT_TRUE(size.ok()) << size.status().ToString();
  EXPECT_TRUE(transaction().Rollback().ok());
}

void Auditor::CloseTheBooks() {
  UseThisThread();
  TransactionSettings settings;
  settings.autocommit = false;
  settings.verify_reads = true;
  transaction().Start(settings);
  int64_t total = 0;
  for (const auto& accounts : bank().tables()) {
    OpenAccounts table(*accounts, &transaction());
    std::vector<size_t> counts;
    for (uint32_t index = 0; index < accounts->table()->indexes().size(); ++index) {
      Books books;
      const Status read = ReadTable(&table, index, std::nullopt, &books);
      table.EndStatement();
      ASSERT_TRUE(read.ok()) << read.ToString();
      if (index == kById) total += books.total;
      counts.push_back(books.accounts.size());
    }
    EXPECT_THAT(counts, ::testing::Each(counts[0])) << accounts->name();
    Record record(accounts->description());
    const auto report = CheckTable(*accounts->table(), &transaction(), record.data());
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_THAT(report->problems, ::testing::IsEmpty()) << accounts->name();
    EXPECT_EQ(report->row_count, counts[0]);
  }
  EXPECT_EQ(total, Bank::kTotal);
  EXPECT_TRUE(transaction().Rollback().ok());
}

}  // namespace cairn::testing
