// A table to which indexes are added while sessions change its rows.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/codec/column_set.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/index_build.h"
#include "engine/txn/prepared_locks.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {

// Reads and changes single rows of a table, as one session does.
class RowSession {
 public:
  RowSession(Database* database, std::shared_ptr<const Table> table,
             const cairn::testing::TestTable& description, const TransactionSettings& settings)
      : description_(description),
        table_(std::move(table)),
        transaction_(database),
        writer_(database, table_.get()),
        cursor_(table_.get()),
        old_record_(description) {
    transaction_.Start(settings);
  }

  Transaction& transaction() { return transaction_; }
  TableWriter& writer() { return writer_; }

  Status Insert(const cairn::testing::Row& row) {
    const cairn::testing::Record record(description_, row);
    return writer_.Insert(&transaction_, record.data());
  }
  Status Update(int id, const cairn::testing::Row& row) {
    CAIRN_RETURN_IF_ERROR(Find(id));
    const cairn::testing::Record record(description_, row);
    return writer_.Update(&transaction_, old_record_.data(), record.data(), 0);
  }
  Status Delete(int id) {
    CAIRN_RETURN_IF_ERROR(Find(id));
    return writer_.Delete(&transaction_, old_record_.data(), 0);
  }
  Status Commit() { return transaction_.Commit(Durability::kSync); }

 private:
  // Locks the row.
  Status Find(int id) {
    const ColumnSet all(4, true);
    CursorAccess access;
    access.index = table_->primary_position();
    access.columns = &all;
    access.lock = LockMode::kExclusive;
    CAIRN_RETURN_IF_ERROR(cursor_.Open(&transaction_, access));
    std::string key;
    std::string unpack_info;
    const cairn::testing::Record sought(description_, {id, "", 0, ""});
    table_->primary().codec->EncodeKey(sought.data(), 0, &key, &unpack_info);
    return cursor_.ReadRow(key, old_record_.data());
  }

  const cairn::testing::TestTable& description_;
  const std::shared_ptr<const Table> table_;
  Transaction transaction_;
  TableWriter writer_;
  Cursor cursor_;
  cairn::testing::Record old_record_;
};

// Runs `step` whenever a build looks whether it is to end: between batches and chunks.
class AtEachLook final : public WaitObserver {
 public:
  explicit AtEachLook(std::function<void()> step) : step_(std::move(step)) {}
  bool Interrupted() override {
    if (!inside_) {
      inside_ = true;
      step_();
      inside_ = false;
    }
    return ended_;
  }
  void WaitBegins() override {}
  void WaitEnds() override {}
  void End() { ended_ = true; }

 private:
  std::function<void()> step_;
  bool inside_ = false;
  bool ended_ = false;
};

class IndexMergeTest : public TableFixture {
 protected:
  explicit IndexMergeTest(std::string family = "default", Key key = Key::kPrimary)
      : TableFixture(family, key), record_(description_), family_(std::move(family)) {}

  void InsertRows(int count) {
    for (int id = 1; id <= count; ++id) InsertCommitted(RowOf(id, "c" + std::to_string(id)));
  }
  static cairn::testing::Row RowOf(int id, const std::string& c) {
    return {id, "a" + std::to_string(id % 3), id, c};
  }

  // Begins indexes on `c`, of which the last is UNIQUE if so wished, and opens the table anew.
  void Begin(bool unique = false) {
    plain_layouts_ = description_.indexes();
    description_.Key(300, {"a", "c"});
    if (unique) {
      description_.UniqueKey(301, {"c"});
    } else {
      description_.Key(301, {"c"});
    }
    const std::vector<IndexLayout> added(description_.indexes().end() - 2,
                                         description_.indexes().end());
    const NewIndex index{IndexKind::kSecondary, family_};
    auto state = dictionary_->BeginBuild("db.t", {index, index}, added);
    ASSERT_TRUE(state.ok()) << state.status().ToString();
    state_ = *state;
    auto definition = std::make_shared<TableDefinition>(*dictionary_->Find("db.t"));
    definition->build = nullptr;
    positions_.clear();
    for (const BuildingIndex& building : state_->indexes()) {
      positions_.push_back(static_cast<uint32_t>(definition->indexes.size()));
      definition->indexes.push_back(building.definition);
    }
    altered_ = *Table::Open(definition, description_.layout(), description_.indexes());
    OpenTable();
    NewBuild();
  }

  void NewBuild(uint64_t buffer_bytes = 1 << 20) {
    IndexBuildSettings settings;
    settings.sort.directory = database_->directory();
    settings.sort.buffer_bytes = buffer_bytes;
    settings.append_checksums = true;
    build_.reset();
    build_ =
        std::make_unique<IndexBuild>(database_.get(), altered_.get(), positions_, settings,
                                     record_.data(), /*virtual_columns=*/nullptr, state_.get());
  }

  // As sessions open it now.
  void OpenTable() {
    const auto definition = dictionary_->Find("db.t");
    const bool has_new = definition->indexes.size() > plain_layouts_.size();
    table_ = *Table::Open(definition, description_.layout(),
                          has_new ? description_.indexes() : plain_layouts_);
    writer_ = std::make_unique<TableWriter>(database_.get(), table_.get());
  }

  RowSession NewSession() {
    return RowSession(database_.get(), table_, description_,
                      Explicit(IsolationLevel::kReadCommitted));
  }
  // In a transaction of its own.
  template <typename Change>
  void Do(Change change) {
    RowSession session = NewSession();
    const Status changed = change(session);
    ASSERT_TRUE(changed.ok()) << changed.ToString();
    ASSERT_TRUE(session.Commit().ok());
  }

  Status Publish() {
    CAIRN_RETURN_IF_ERROR(build_->Finish());
    Dictionary::TableChange change;
    change.table_name = "db.t";
    change.build = state_;
    for (const IndexDefinition& index : altered_->definition().indexes)
      change.indexes.push_back(index.id);
    for (const BuildingIndex& building : state_->indexes()) {
      change.added.push_back(building.definition);
      change.added.back().built_at = build_->built_at();
    }
    CAIRN_RETURN_IF_ERROR(dictionary_->ChangeTables({change}));
    OpenTable();
    return Status();
  }
  void Abandon() {
    build_.reset();
    dictionary_->AbandonBuild(state_.get());
    OpenTable();
  }

  // The database is closed and opened again. Returns the locks of what is prepared.
  std::unique_ptr<PreparedLocks> Reopen() {
    build_.reset();
    altered_.reset();
    state_.reset();
    writer_.reset();
    table_.reset();
    dictionary_.reset();
    database_.reset();
    DatabaseOptions options = disk_.Options();
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    database_ = std::move(*Database::Open(std::move(options), &disk_.log()));
    auto locks = PreparedLocks::Take(database_.get(), nullptr);
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
    OpenTable();
    return std::move(*locks);
  }

  // All that was built, final and delta.
  std::vector<IndexId> BuiltIds() const {
    std::vector<IndexId> ids;
    for (const BuildingIndex& building : state_->indexes()) {
      ids.push_back(building.definition.id);
      ids.push_back(building.delta.id);
    }
    return ids;
  }
  std::vector<IndexId> Deltas() const {
    std::vector<IndexId> ids;
    for (const BuildingIndex& building : state_->indexes()) ids.push_back(building.delta.id);
    return ids;
  }

  size_t EntryCount(const IndexDefinition& index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    OrderedIterator iterator(index, &transaction, Transaction::View::kLatest);
    size_t count = 0;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) ++count;
    EXPECT_TRUE(iterator.status().ok());
    return count;
  }

  std::vector<int> IdsBy(uint32_t index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    return Ids(transaction, index);
  }

  uint64_t Merged() const { return state_->figures()->Sum(&NewIndexFigures::delta_merged); }
  Status Compact() {
    CAIRN_RETURN_IF_ERROR(database_->maintenance().FlushMemtables());
    return database_->maintenance().Compact(*state_->indexes()[0].delta.family);
  }

  // Of each entry of the new indexes, as far as the log tells.
  void ExpectSingleDeleteBetweenPuts();

  static constexpr uint32_t kByAC = 3;
  static constexpr uint32_t kByC = 4;
  cairn::testing::Record record_;
  const std::string family_;
  std::vector<IndexLayout> plain_layouts_;
  std::shared_ptr<IndexBuildState> state_;
  std::vector<uint32_t> positions_;
  std::shared_ptr<const Table> altered_;
  std::unique_ptr<IndexBuild> build_;
};

}  // namespace cairn
