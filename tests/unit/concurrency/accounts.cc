#include "tests/unit/concurrency/accounts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "engine/codec/layout_history.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

constexpr int32_t kBranches = 5;

template <typename Integer>
Integer IntegerIn(const Record& record, uint32_t column) {
  Integer number = 0;
  std::memcpy(&number, record.Data(column).data(), sizeof number);
  return number;
}

std::string NoteOf(const Account& account) {
  return std::to_string(account.id) + "/" + std::to_string(account.number) + "/" + account.owner +
         "/" + std::to_string(account.balance);
}

bool HasBranch(const TestTable& description) {
  return description.layout().columns.size() > kBranch;
}

}  // namespace

AccountTable::AccountTable(Dictionary* dictionary, std::string name,
                           std::vector<std::string> families)
    : name_(std::move(name)), families_(std::move(families)) {
  for (const bool has_branch : {false, true}) {
    for (const bool has_more_indexes : {false, true}) {
      TestTable& table = descriptions_[has_branch ? 1 : 0][has_more_indexes ? 1 : 0];
      table.Int("id")
          .Int("number", 8)
          .Varchar("owner", 20, Latin1Swedish())
          .Int("balance", 8)
          .Varchar("note", 60, Utf8mb4General());
      if (has_branch) table.Int("branch");
      table.PrimaryKey(256, {"id"})
          .UniqueKey(257, {"number"})
          .Key(258, {"owner"})
          .Key(259, {"balance"});
      if (has_more_indexes) table.Key(260, {"note"}).UniqueKey(261, {"number"});
    }
  }
  std::vector<NewIndex> indexes;
  for (const IndexLayout& index : description().indexes()) {
    indexes.push_back({index.kind, families_[indexes.size() % families_.size()]});
  }
  const auto definition = dictionary->CreateTable(name_, indexes, std::nullopt);
  EXPECT_TRUE(definition.ok()) << definition.status().ToString();
  Reopen(*dictionary);
}

void AccountTable::Reopen(const Dictionary& dictionary) {
  const auto definition = dictionary.Find(name_);
  has_more_indexes_ = definition->indexes.size() > kByNote;
  const auto& history = definition->indexes[kById].history;
  has_branch_ = history != nullptr && history->logical().size() > kBranch;
  auto table = Table::Open(definition, description().layout(), description().indexes());
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  table_ = std::move(table).value();
}

Row AccountTable::RowOf(const TestTable& description, const Account& account) {
  Row row{int{account.id}, account.number, account.owner, account.balance, NoteOf(account)};
  if (HasBranch(description)) row.emplace_back(int{account.branch});
  return row;
}

Account AccountTable::AccountIn(const TestTable& description, const Record& record) {
  Account account{IdIn(record), IntegerIn<int64_t>(record, kNumber), record.Data(kOwner),
                  BalanceIn(record)};
  if (HasBranch(description)) account.branch = IntegerIn<int32_t>(record, kBranch);
  return account;
}

int32_t AccountTable::IdIn(const Record& record) { return IntegerIn<int32_t>(record, kId); }

int64_t AccountTable::BalanceIn(const Record& record) {
  return IntegerIn<int64_t>(record, kBalance);
}

int32_t AccountTable::BranchOf(int32_t id) { return id % kBranches; }

bool AccountTable::IsWhole(const TestTable& description, const Record& record) {
  const Account account = AccountIn(description, record);
  return record.Data(kNote) == NoteOf(account) &&
         (account.branch == Account::kNoBranch || account.branch == BranchOf(account.id));
}

}  // namespace cairn::testing
