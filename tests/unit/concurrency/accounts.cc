#include "tests/unit/concurrency/accounts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <utility>

#include "engine/table/index_build.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

// Little enough that an index is built of several runs.
constexpr uint64_t kSortBytes = 8 << 10;

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

}  // namespace

AccountTable::AccountTable(Dictionary* dictionary, std::string name,
                           std::vector<std::string> families)
    : name_(std::move(name)), families_(std::move(families)) {
  without_note_.Int("id")
      .Int("number", 8)
      .Varchar("owner", 20, Latin1Swedish())
      .Int("balance", 8)
      .Varchar("note", 60, Utf8mb4General())
      .PrimaryKey(256, {"id"})
      .UniqueKey(257, {"number"})
      .Key(258, {"owner"})
      .Key(259, {"balance"});
  with_note_ = without_note_;
  with_note_.Key(260, {"note"});
  std::vector<NewIndex> indexes;
  for (const IndexLayout& index : without_note_.indexes()) {
    indexes.push_back({index.kind, families_[indexes.size() % families_.size()]});
  }
  const auto definition = dictionary->CreateTable(name_, indexes, std::nullopt);
  EXPECT_TRUE(definition.ok()) << definition.status().ToString();
  Reopen(*dictionary);
}

void AccountTable::Reopen(const Dictionary& dictionary) {
  const auto definition = dictionary.Find(name_);
  has_note_index_ = definition->indexes.size() > kByNote;
  auto table = Table::Open(definition, description().layout(), description().indexes());
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  table_ = std::move(table).value();
}

Status AccountTable::BuildNoteIndex(Database* database, Dictionary* dictionary,
                                    Dictionary::TableChange* change) const {
  CAIRN_ASSIGN_OR_RETURN(
      change->added,
      dictionary->BeginIndexes({{IndexKind::kSecondary, families_[kByNote % families_.size()]}}));
  auto definition = std::make_shared<TableDefinition>(table_->definition());
  definition->indexes.push_back(change->added[0]);
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<const Table> altered,
                         Table::Open(definition, with_note_.layout(), with_note_.indexes()));
  Table::RegisterKeyLayouts(altered, database);
  Record record(with_note_);
  IndexBuildSettings settings;
  settings.sort.directory = database->directory();
  settings.sort.buffer_bytes = kSortBytes;
  IndexBuild build(database, altered.get(), {kByNote}, settings, record.data(),
                   /*virtual_columns=*/nullptr);
  CAIRN_RETURN_IF_ERROR(build.Run());
  change->added[0].built_at = build.built_at();
  change->indexes.push_back(change->added[0].id);
  return Status();
}

Status AccountTable::ToggleNoteIndex(Database* database, Dictionary* dictionary) {
  const std::unique_lock rows(gate_.rows);
  // Nobody else changes the definition, and whoever only reads goes on while the index is built.
  Dictionary::TableChange change;
  change.table_name = name_;
  for (uint32_t i = 0; i < kByNote; ++i) change.indexes.push_back(table_->index(i).entry.id);
  if (!has_note_index_) {
    const Status built = BuildNoteIndex(database, dictionary, &change);
    if (!built.ok()) {
      dictionary->AbandonIndexes(change.added);
      return built;
    }
  }
  const std::unique_lock definition(gate_.definition);
  CAIRN_RETURN_IF_ERROR(dictionary->ChangeTables({change}));
  Reopen(*dictionary);
  return Status();
}

Row AccountTable::RowOf(const Account& account) {
  return {int{account.id}, account.number, account.owner, account.balance, NoteOf(account)};
}

Account AccountTable::AccountIn(const Record& record) {
  return {IdIn(record), IntegerIn<int64_t>(record, kNumber), record.Data(kOwner),
          BalanceIn(record)};
}

int32_t AccountTable::IdIn(const Record& record) { return IntegerIn<int32_t>(record, kId); }

int64_t AccountTable::BalanceIn(const Record& record) {
  return IntegerIn<int64_t>(record, kBalance);
}

bool AccountTable::IsWhole(const Record& record) {
  return record.Data(kNote) == NoteOf(AccountIn(record));
}

}  // namespace cairn::testing
