// Random changes of a few tables with foreign keys, with restarts: what must hold after each of
// them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/catalog/foreign_key_test.h"
#include "tests/unit/codec/random.h"

namespace cairn {
namespace {

using testing::Random;

class RandomForeignKeysTest : public testing::ForeignKeyTest {
 protected:
  std::string AnyName() { return names_[random_.Below(names_.size())]; }

  std::vector<ForeignKeyRecord> ForeignKeysOf(const std::string& table) {
    std::vector<ForeignKeyRecord> records;
    for (size_t i = random_.Below(3); i != 0; --i) {
      const std::string name = "f" + std::to_string(random_.Below(12));
      records.push_back(IsServerMade(table) ? ToAdd(name, table, AnyName())
                                            : Record(name, table, AnyName()));
    }
    if (!IsServerMade(table) || random_.OneIn(4)) return records;
    const std::string replaced = AnyName();
    records.push_back(Replaces(table, replaced));
    for (const auto& each : dictionary_->foreign_keys().OfChild(replaced)) {
      if (random_.OneIn(2)) records.push_back(ToDrop(each->number, table));
    }
    return records;
  }

  // Some are refused.
  Status Change() {
    const std::string name = AnyName();
    switch (random_.Below(6)) {
      case 0:
      case 1:
        return Create(name, ForeignKeysOf(name));
      case 2:
        return dictionary_->DropTable(name);
      case 3: {
        const auto table = dictionary_->Find(name);
        if (table == nullptr || IsServerMade(name)) return Status(StatusCode::kNotFound);
        Dictionary::TableChange change{name, {table->indexes[0].id, table->indexes[1].id}};
        change.added_foreign_keys = ForeignKeysOf(name);
        for (const auto& each : dictionary_->foreign_keys().OfChild(name)) {
          if (random_.OneIn(2)) change.dropped_foreign_keys.push_back(each->number);
        }
        return dictionary_->ChangeTables({change});
      }
      default:
        return dictionary_->RenameTable(name, AnyName());
    }
  }

  // ALTER TABLE ... RENAME leaves the old table at its name until it is dropped.
  bool IsPutAside(const std::string& table) {
    const auto intents = dictionary_->foreign_keys().IntentsOf(table);
    return std::any_of(intents.begin(), intents.end(), [](const auto& intent) {
      return intent->record.state == ForeignKeyState::kPutAside;
    });
  }

  // A copy that is to get the name of a table that has gone.
  bool IsReplaced(const std::string& table) {
    const auto all = dictionary_->foreign_keys().All();
    return !IsServerMade(table) && std::any_of(all.begin(), all.end(), [&](const auto& each) {
      return each->record.state == ForeignKeyState::kReplaces && each->record.parent == table;
    });
  }

  void Check() {
    std::map<std::string, uint32_t> guards;
    for (const auto& each : dictionary_->foreign_keys().All()) {
      const ForeignKeyRecord& record = each->record;
      SCOPED_TRACE(record.name + " of " + record.child);
      EXPECT_LE(each->number, dictionary_->max_index_number());
      if (record.state != ForeignKeyState::kActive) {
        EXPECT_TRUE(IsServerMade(record.child) || IsPutAside(record.child));
        EXPECT_NE(dictionary_->Find(record.child), nullptr);
        continue;
      }
      EXPECT_TRUE(dictionary_->FindForForeignKeys(record.child) != nullptr ||
                  IsReplaced(record.child));
      EXPECT_EQ(dictionary_->foreign_keys().FindByName("db", record.name)->number, each->number);
      guards[record.child] |= kFeatureForeignKeyChild;
      guards[record.parent] |= kFeatureForeignKeyParent;
    }
    for (const auto& [name, expected] : guards) {
      const auto table = dictionary_->FindForForeignKeys(name);
      if (table == nullptr) continue;
      EXPECT_EQ(table->indexes[0].info.features & expected, expected) << table->name;
    }
  }

  Random random_;
  const std::vector<std::string> names_ = {
      "db.a", "db.b", "db.c", "db.#sql-alter-1", "db.#sql-backup-1", "db.#sql-backup-2"};
};

TEST_F(RandomForeignKeysTest, NothingIsLostOrLeftBehind) {
  int done = 0;
  for (int i = 0; i < 600; ++i) {
    const uint64_t generation = dictionary_->foreign_keys().generation();
    const std::vector<std::string> before = State();
    if (Change().ok()) {
      ++done;
    } else {
      ASSERT_EQ(State(), before);
    }
    const std::vector<std::string> after = State();
    if (after != before) {
      ASSERT_GT(dictionary_->foreign_keys().generation(), generation);
    }
    Check();
    if (i % 4 == 0) ExpectState(after);
    ASSERT_FALSE(HasFailure()) << "change " << i;
  }
  EXPECT_GT(done, 100);
}

}  // namespace
}  // namespace cairn
