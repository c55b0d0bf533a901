#include "engine/store/logged_transactions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/store/database.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LoggedTransactionsTest : public ::testing::TestWithParam<rocksdb::TxnDBWritePolicy> {
 protected:
  std::unique_ptr<Database> Open() {
    DatabaseOptions options = disk_.Options();
    options.transaction.write_policy = GetParam();
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    return std::move(database).value();
  }

  // A prepared transaction of one row.
  static std::unique_ptr<rocksdb::Transaction> Prepare(Database* database,
                                                       const std::string& name) {
    std::unique_ptr<rocksdb::Transaction> transaction(
        database->rocksdb()->BeginTransaction(rocksdb::WriteOptions()));
    EXPECT_TRUE(transaction->SetName(name).ok());
    EXPECT_TRUE(transaction->Put(database->default_family().handle, "row " + name, "value").ok());
    EXPECT_TRUE(transaction->Prepare().ok());
    return transaction;
  }

  static void Leave(std::unique_ptr<rocksdb::Transaction> transaction) {
    transaction.release();  // NOLINT(bugprone-unused-return-value): RocksDB has it.
  }

  LoggedTransactions Find() {
    auto found = FindLoggedTransactions(disk_.env(), {.database = "/memory", .logs = "/memory"});
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return std::move(found).value();
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const LoggedTransaction& each : Find().prepared) names.push_back(each.name);
    return names;
  }

  MemoryDisk disk_;
};

TEST_P(LoggedTransactionsTest, TheUndecidedOnesAreFound) {
  {
    const auto database = Open();
    Leave(Prepare(database.get(), "left"));
    EXPECT_TRUE(Prepare(database.get(), "committed")->Commit().ok());
    EXPECT_TRUE(Prepare(database.get(), "rolled back")->Rollback().ok());
    Leave(Prepare(database.get(), "second"));
  }
  const LoggedTransactions found = Find();
  ASSERT_EQ(found.prepared.size(), 2u);
  EXPECT_EQ(found.prepared[0].name, "left");
  EXPECT_EQ(found.prepared[0].changes, 1u);
  EXPECT_EQ(found.prepared[0].bytes, std::string("row leftvalue").size());
  EXPECT_EQ(found.prepared[1].name, "second");
  EXPECT_EQ(found.write_prepared, GetParam() == rocksdb::WRITE_PREPARED);
  ASSERT_FALSE(found.logs.empty());
  EXPECT_EQ(found.logs.back().number, found.prepared[0].log_number);
  EXPECT_THAT(found.logs.back().committed, ElementsAre("committed"));
}

TEST_P(LoggedTransactionsTest, TheyStayThroughStartsAndFlushes) {
  {
    const auto database = Open();
    Leave(Prepare(database.get(), "left"));
    EXPECT_TRUE(database->maintenance().FlushMemtables().ok());
    Leave(Prepare(database.get(), "second"));
  }
  Open().reset();
  EXPECT_THAT(Names(), ElementsAre("left", "second"));
  {
    const auto database = Open();
    std::unique_ptr<rocksdb::Transaction> left(database->rocksdb()->GetTransactionByName("left"));
    ASSERT_NE(left, nullptr);
    EXPECT_TRUE(left->Commit().ok());
  }
  EXPECT_THAT(Names(), ElementsAre("second"));
  EXPECT_THAT(Find().logs.back().committed, IsEmpty()) << "it was prepared in another log";
}

TEST_P(LoggedTransactionsTest, NothingIsFoundWhereNothingIsPrepared) {
  Open().reset();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_P(LoggedTransactionsTest, DamageIsAnError) {
  std::string log;
  {
    const auto database = Open();
    Leave(Prepare(database.get(), "left"));
    Leave(Prepare(database.get(), "second"));
  }
  log = Find().logs.back().path;
  std::string bytes;
  ASSERT_TRUE(rocksdb::ReadFileToString(disk_.env(), log, &bytes).ok());
  const std::string cut = bytes.substr(0, bytes.size() - 3);
  ASSERT_TRUE(rocksdb::WriteStringToFile(disk_.env(), cut, log).ok());
  EXPECT_THAT(Names(), ElementsAre("left")) << "a crash cuts records off";
  bytes[bytes.find("row left")] ^= 1;
  ASSERT_TRUE(rocksdb::WriteStringToFile(disk_.env(), bytes, log).ok());
  const auto found =
      FindLoggedTransactions(disk_.env(), {.database = "/memory", .logs = "/memory"});
  EXPECT_EQ(found.status().code(), StatusCode::kCorruption);
}

INSTANTIATE_TEST_SUITE_P(Policies, LoggedTransactionsTest,
                         ::testing::Values(rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED));

}  // namespace
}  // namespace cairn
