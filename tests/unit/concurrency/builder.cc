#include "tests/unit/concurrency/builder.h"

#include <gtest/gtest.h>

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "engine/table/bulk_load.h"

namespace cairn::testing {
namespace {

constexpr int64_t kTags = 10;
constexpr int64_t kMostLoads = 4;
constexpr uint64_t kBuildSortBytes = 2 << 10;

}  // namespace

Builder::Builder(Bank* bank, unsigned number) : Client(bank, number) {
  description_.Int("id").Int("tag").PrimaryKey(256, {"id"}).Key(257, {"tag"});
}

void Builder::Work() {
  for (const auto& table : bank().tables()) {
    const Status changed = ChangeIndexes(table.get());
    EXPECT_TRUE(changed.ok() || changed.code() == StatusCode::kInterrupted) << changed.ToString();
    if (!dice().OneIn(4)) continue;
    const Status toggled = table->ToggleBranch(&bank().dictionary());
    EXPECT_TRUE(toggled.ok()) << toggled.ToString();
    bank().Count(Bank::kColumnChanges);
  }
  MakeTable();
  for (int64_t left = 1 + dice().Below(kMostLoads); left > 0; --left) {
    dice().OneIn(2) ? InsertRows() : LoadRows();
    bank().Count(Bank::kLoads);
    if (dice().OneIn(4)) ChangeTable();
  }
  DropTable();
}

Status Builder::ChangeIndexes(AccountTable* table) {
  Database* const database = &bank().database();
  Dictionary* const dictionary = &bank().dictionary();
  if (table->has_more_indexes()) {
    CAIRN_RETURN_IF_ERROR(table->RemoveIndexes(dictionary));
    bank().Count(Bank::kIndexesRemoved);
    return Status();
  }
  if (dice().OneIn(3)) {
    CAIRN_RETURN_IF_ERROR(table->AddIndexesAlone(database, dictionary));
    bank().Count(Bank::kIndexesAdded);
    return Status();
  }
  const bool publishes = dice().OneIn(2);
  uint64_t merged = 0;
  CAIRN_RETURN_IF_ERROR(table->AddIndexesBesideWriters(
      database, dictionary, publishes ? AccountTable::End::kPublish : AccountTable::End::kAbandon,
      &merged));
  if (!publishes) bank().Count(Bank::kIndexesAbandoned);
  if (merged != 0) bank().Count(Bank::kIndexesAddedBesideWriters);
  return Status();
}

void Builder::MakeTable() {
  PassingTable& passing = bank().passing_table();
  name_ = "db.passing" + std::to_string(++tables_);
  const auto& families = bank().families();
  const auto made =
      bank().dictionary().CreateTable(name_,
                                      {{IndexKind::kPrimary, families[dice().Below(2)]},
                                       {IndexKind::kSecondary, families[dice().Below(2)]}},
                                      std::nullopt);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const std::unique_lock definition(passing.gate.definition);
  OpenTable();
}

void Builder::OpenTable() {
  auto opened =
      Table::Open(bank().dictionary().Find(name_), description_.layout(), description_.indexes());
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  Table::RegisterKeyLayouts(*opened, &bank().database());
  bank().passing_table().table = std::move(opened).value();
}

Record Builder::NextRow() {
  const int32_t id = ++rows_;
  return Record(description_, {int{id}, static_cast<int>(id % kTags)});
}

void Builder::InsertRows() {
  PassingTable& passing = bank().passing_table();
  const std::shared_lock rows(passing.gate.rows);
  const std::shared_lock definition(passing.gate.definition);
  TransactionSettings settings;
  transaction().Start(settings);
  TableWriter writer(&bank().database(), passing.table.get());
  Status inserted;
  for (int i = 0; i < PassingTable::kRowsAtOnce && inserted.ok(); ++i) {
    if (i == PassingTable::kRowsAtOnce / 3) transaction().Claim(passing.table->definition());
    const Record record = NextRow();
    inserted = writer.Insert(&transaction(), record.data());
  }
  EXPECT_TRUE(inserted.ok() || IsOrdinary(inserted));
  const Status ended =
      inserted.ok() ? transaction().Commit(AnyDurability()) : transaction().Rollback();
  EXPECT_TRUE(ended.ok()) << ended.ToString();
}

void Builder::LoadRows() {
  PassingTable& passing = bank().passing_table();
  const std::unique_lock rows(passing.gate.rows);
  const std::shared_lock definition(passing.gate.definition);
  BulkLoadSettings settings;
  settings.sort_rows = dice().OneIn(2);
  settings.sort.directory = bank().database().directory();
  settings.sort.buffer_bytes = kBuildSortBytes;
  BulkLoad load(&bank().database(), &bank().dictionary(), passing.table, settings);
  TableWriter writer(&bank().database(), passing.table.get());
  for (int i = 0; i < PassingTable::kRowsAtOnce; ++i) {
    const Record record = NextRow();
    const Status loaded = writer.Load(&load, record.data());
    ASSERT_TRUE(loaded.ok()) << loaded.ToString();
  }
  const Status finished = load.Finish();
  EXPECT_TRUE(finished.ok()) << finished.ToString();
}

void Builder::ChangeTable() {
  PassingTable& passing = bank().passing_table();
  const std::unique_lock rows(passing.gate.rows);
  const std::unique_lock definition(passing.gate.definition);
  Status changed;
  if (dice().OneIn(2)) {
    changed = bank().dictionary().TruncateTable(name_);
  } else {
    changed = bank().dictionary().RenameTable(name_, name_ + "b");
    name_ += "b";
  }
  ASSERT_TRUE(changed.ok()) << changed.ToString();
  OpenTable();
}

void Builder::DropTable() {
  PassingTable& passing = bank().passing_table();
  {
    const std::unique_lock rows(passing.gate.rows);
    const std::unique_lock definition(passing.gate.definition);
    passing.table = nullptr;
  }
  const Status dropped = bank().dictionary().DropTable(name_);
  ASSERT_TRUE(dropped.ok()) << dropped.ToString();
  bank().upkeep().RemoveDroppedIndexes();
  bank().Count(Bank::kDroppedTables);
}

}  // namespace cairn::testing
