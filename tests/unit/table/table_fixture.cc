#include "tests/unit/table/table_fixture.h"

#include <cstring>
#include <utility>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/table_check.h"

namespace cairn {

std::vector<std::string> ProblemsOf(const Table& table, Database* database,
                                    const cairn::testing::TestTable& description) {
  Transaction transaction(database);
  transaction.Start(TransactionSettings());
  cairn::testing::Record record(description);
  const auto report = CheckTable(table, &transaction, record.data());
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? report->problems : std::vector<std::string>{"failed"};
}

TableFixture::TableFixture(std::string family, Key key) {
  using namespace cairn::testing;  // NOLINT(google-build-using-namespace)
  DatabaseOptions options = disk_.Options();
  options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
  database_ = std::move(*Database::Open(std::move(options), &disk_.log()));
  dictionary_ = std::move(*Dictionary::Load(database_.get()));

  description_.Int("id")
      .Varchar("a", 20, Latin1Swedish())
      .Nullable()
      .Int("b")
      .Nullable()
      .Varchar("c", 30, Utf8mb4General());
  std::vector<NewIndex> indexes;
  if (key != Key::kHidden) {
    description_.PrimaryKey(256, {key == Key::kText ? "c" : "id"});
    indexes.push_back({IndexKind::kPrimary, family});
  }
  description_.UniqueKey(257, {"b"}).Key(258, {"a"});
  indexes.push_back({IndexKind::kSecondary, family});
  indexes.push_back({IndexKind::kSecondary, family});
  if (key == Key::kHidden) {
    description_.HiddenKey(259);
    indexes.push_back({IndexKind::kHiddenPrimary});
  }
  const auto definition = dictionary_->CreateTable("db.t", indexes, std::nullopt);
  auto table = Table::Open(*definition, description_.layout(), description_.indexes());
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  table_ = std::move(table).value();
  writer_ = std::make_unique<TableWriter>(database_.get(), table_.get());
}

TransactionSettings TableFixture::Explicit(IsolationLevel isolation) {
  TransactionSettings settings;
  settings.isolation = isolation;
  settings.autocommit = false;
  settings.lock_wait_timeout_ms = 50;
  return settings;
}

Status TableFixture::Insert(Transaction& transaction, const cairn::testing::Row& row) {
  const cairn::testing::Record record(description_, row);
  return writer_->Insert(&transaction, record.data());
}

void TableFixture::InsertCommitted(const cairn::testing::Row& row) {
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  const Status inserted = Insert(transaction, row);
  ASSERT_TRUE(inserted.ok()) << inserted.ToString();
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
}

int TableFixture::IdOf(const cairn::testing::Record& record) const {
  int32_t id = 0;
  std::memcpy(&id, record.Data(0).data(), sizeof id);
  return id;
}

std::vector<int> TableFixture::Ids(Transaction& transaction, uint32_t index, bool backward) {
  Cursor cursor(table_.get());
  const ColumnSet columns = OnlyId();
  CursorAccess access;
  access.index = index;
  access.columns = &columns;
  EXPECT_TRUE(cursor.Open(&transaction, access).ok());
  cairn::testing::Record record(description_);
  std::vector<int> ids;
  Status read = backward ? cursor.ReadLast(record.data()) : cursor.ReadFirst(record.data());
  while (read.ok()) {
    ids.push_back(IdOf(record));
    read = backward ? cursor.ReadPrevious(record.data()) : cursor.ReadNext(record.data());
  }
  EXPECT_EQ(read.code(), StatusCode::kEndOfRange) << read.ToString();
  return ids;
}

}  // namespace cairn
