// What a transaction has written is what it reads, whenever it first looks for it: until then its
// batch has no index (Transaction::IndexBatch).
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/txn/transaction.h"
#include "tests/unit/codec/random.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using View = Transaction::View;
using Values = std::map<std::string, std::string>;

constexpr int kPrograms = 400;
constexpr size_t kKeys = 12;

class OwnWritesTest : public ::testing::TestWithParam<rocksdb::TxnDBWritePolicy> {
 protected:
  OwnWritesTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.write_policy = GetParam();
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
    families_ = {&database_->default_family(), database_->families().FindOrCreate("other").value(),
                 database_->families().FindOrCreate("rev:other").value()};
  }

  static void Start(Transaction& transaction) {
    TransactionSettings settings;
    settings.isolation = IsolationLevel::kRepeatableRead;
    settings.autocommit = false;
    transaction.Start(settings);
  }

  // The pairs in the order of a scan.
  static std::vector<std::pair<std::string, std::string>> Scan(Transaction& transaction,
                                                               const ColumnFamily& family) {
    std::vector<std::pair<std::string, std::string>> pairs;
    const auto iterator = transaction.NewIterator(family, rocksdb::ReadOptions(), View::kSnapshot);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      pairs.emplace_back(iterator->key().ToString(), iterator->value().ToString());
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status().ToString();
    return pairs;
  }

  static void ExpectScan(Transaction& transaction, const ColumnFamily& family,
                         const Values& values) {
    std::vector<std::pair<std::string, std::string>> pairs(values.begin(), values.end());
    if (family.reverse) pairs.assign(values.rbegin(), values.rend());
    EXPECT_EQ(Scan(transaction, family), pairs) << family.name;
  }

  static std::optional<std::string> Find(const Values& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }

  static void ExpectRead(Transaction& transaction, const ColumnFamily& family,
                         const std::string& key, const Values& values) {
    rocksdb::PinnableSlice value;
    const Status read = transaction.Get(family, key, View::kSnapshot, &value);
    EXPECT_TRUE(read.ok() || read.code() == StatusCode::kNotFound) << read.ToString();
    EXPECT_EQ(read.ok() ? std::optional(value.ToString()) : std::nullopt, Find(values, key))
        << family.name << " " << key;
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::vector<const ColumnFamily*> families_;
};

INSTANTIATE_TEST_SUITE_P(Policies, OwnWritesTest,
                         ::testing::Values(rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED),
                         [](const auto& info) {
                           return info.param == rocksdb::WRITE_COMMITTED ? "Committed" : "Prepared";
                         });

TEST_P(OwnWritesTest, AreReadWheneverTheTransactionLooks) {
  cairn::testing::Random random;
  std::array<Values, 3> committed;
  std::optional<Transaction> session;  // One for many, as a session has.
  for (int program = 0; program < kPrograms; ++program) {
    SCOPED_TRACE("program " + std::to_string(program));
    if (!session.has_value() || random.OneIn(8)) session.emplace(database_.get());
    Transaction& transaction = *session;
    Start(transaction);
    std::array<Values, 3> values = committed;
    std::optional<std::pair<Savepoint, std::array<Values, 3>>> held;
    const size_t steps = random.Between(1, 30);
    const size_t most_kinds = random.Between(4, 9);  // Some never look.
    for (size_t step = 0; step < steps; ++step) {
      const size_t at = random.Below(families_.size());
      const ColumnFamily& family = *families_[at];
      const std::string key = "key" + std::to_string(random.Below(kKeys));
      switch (random.Below(most_kinds)) {
        case 0:
          ASSERT_TRUE(transaction.Delete(family, key).ok());
          values[at].erase(key);
          break;
        case 1:
          held.emplace(transaction.SetSavepoint(), values);
          break;
        case 2:
          if (!held.has_value()) break;
          ASSERT_TRUE(transaction.RollbackToSavepoint(held->first).ok());
          values = held->second;
          break;
        case 5:
          ExpectRead(transaction, family, key, values[at]);
          break;
        case 6:
          ExpectScan(transaction, family, values[at]);
          break;
        case 7: {
          rocksdb::PinnableSlice value;
          const Status read = transaction.GetForUpdate(family, key, LockMode::kExclusive, &value);
          ASSERT_TRUE(read.ok() || read.code() == StatusCode::kNotFound) << read.ToString();
          EXPECT_EQ(read.ok(), Find(values[at], key).has_value()) << family.name << " " << key;
          break;
        }
        default: {
          const std::string value = std::to_string(random.Bits());
          ASSERT_TRUE(transaction.Put(family, key, value).ok());
          values[at][key] = value;
        }
      }
    }
    if (random.OneIn(4)) {
      ASSERT_TRUE(transaction.Rollback().ok());
    } else {
      if (random.OneIn(3) && transaction.has_writes()) {
        const TransactionId id{1, std::to_string(program), ""};
        ASSERT_TRUE(transaction.Prepare(id, Durability::kDelayed).ok());
      }
      ASSERT_TRUE(transaction.Commit(Durability::kDelayed).ok());
      committed = values;
    }
    Transaction reader(database_.get());
    reader.Start(TransactionSettings());
    for (size_t at = 0; at < families_.size(); ++at) {
      ExpectScan(reader, *families_[at], committed[at]);
    }
    if (HasFailure()) return;
  }
}

// RocksDB's batch learns how a family sorts as it enters the first change of it into its index.
TEST_P(OwnWritesTest, OfAFamilyInReverseAreReadInItsOrder) {
  for (const ColumnFamily* family : families_) {
    Transaction transaction(database_.get());
    Start(transaction);
    const Values values = {{"key1", "a"}, {"key2", "b"}, {"key3", "c"}};
    for (const auto& [key, value] : values) {
      ASSERT_TRUE(transaction.Put(*family, key, value).ok());
    }
    ExpectScan(transaction, *family, values);
    ExpectRead(transaction, *family, "key2", values);
  }
}

TEST_P(OwnWritesTest, APutIsToldFromADelete) {
  Transaction transaction(database_.get());
  Start(transaction);
  ASSERT_TRUE(transaction.Put(*families_[0], "put", "value").ok());
  ASSERT_TRUE(transaction.Put(*families_[0], "deleted", "value").ok());
  ASSERT_TRUE(transaction.SingleDelete(*families_[0], "deleted").ok());
  EXPECT_TRUE(transaction.HasPut(*families_[0], "put").value());
  EXPECT_FALSE(transaction.HasPut(*families_[0], "deleted").value());
  EXPECT_FALSE(transaction.HasPut(*families_[0], "other").value());
  EXPECT_FALSE(transaction.HasPut(*families_[1], "put").value());
}

}  // namespace
}  // namespace cairn
