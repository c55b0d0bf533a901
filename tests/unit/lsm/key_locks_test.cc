// Transactions whose locks lie in HeldKeys hold and release what RocksDB's own do, step by step.
#include "engine/lsm/key_locks.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"

namespace cairn::lsm {
namespace {

constexpr size_t kTransactions = 3;
constexpr int kLockedKeys = 40;  // Of a family: more than are searched one after the other.
constexpr int kSteps = 600;

std::string KeyNumber(int number) {
  return std::string(number % 3 == 0 ? 40 : 1, 'k') + std::to_string(number);
}

// A database with two families and some transactions, of which each step is one call.
class Side {
 public:
  enum class Keeps { kHeldKeys, kRocksDb };

  Side(Keeps keeps, rocksdb::TxnDBWritePolicy policy)
      : keeps_(keeps), env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = options.create_missing_column_families = true;
    rocksdb::TransactionDBOptions transaction_options;
    transaction_options.write_policy = policy;
    if (keeps == Keeps::kHeldKeys) UseKeyLocks(&transaction_options);
    rocksdb::TransactionDB* database = nullptr;
    const rocksdb::Status opened = rocksdb::TransactionDB::Open(
        options, transaction_options, "/database",
        {{rocksdb::kDefaultColumnFamilyName, options}, {"other", options}}, &families_, &database);
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    database_.reset(database);
    for (size_t at = 0; at < kTransactions; ++at) Begin(at);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() {
    for (auto& transaction : transactions_) transaction.reset();
    EXPECT_TRUE(database_->GetLockStatusData().empty());
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      EXPECT_TRUE(database_->DestroyColumnFamilyHandle(family).ok());
    }
  }

  // The object of the one before begins the next.
  void Begin(size_t at) {
    rocksdb::TransactionOptions options;
    options.lock_timeout = static_cast<int64_t>(at);  // Milliseconds.
    auto& transaction = transactions_[at];
    if (keeps_ == Keeps::kHeldKeys) {
      transaction = BeginTransaction(database_.get(), rocksdb::WriteOptions(), options,
                                     std::move(transaction));
    } else {
      transaction.reset(
          database_->BeginTransaction(rocksdb::WriteOptions(), options, transaction.release()));
    }
  }

  rocksdb::Transaction& transaction(size_t at) { return *transactions_[at]; }
  rocksdb::ColumnFamilyHandle* family(size_t at) { return families_[at]; }

  // Each lock: its family, key, whether it is exclusive, and which transactions hold it.
  using Lock = std::tuple<uint32_t, std::string, bool, std::vector<size_t>>;
  std::vector<Lock> Locks() {
    std::vector<Lock> locks;
    for (const auto& [family, lock] : database_->GetLockStatusData()) {
      std::vector<size_t> holders;
      for (size_t at = 0; at < kTransactions; ++at) {
        holders.insert(holders.end(),
                       std::count(lock.ids.begin(), lock.ids.end(), transaction(at).GetID()), at);
      }
      EXPECT_EQ(holders.size(), lock.ids.size());
      locks.emplace_back(family, lock.key, lock.exclusive, holders);
    }
    std::sort(locks.begin(), locks.end());
    return locks;
  }

  std::vector<std::string> Rows() {
    std::vector<std::string> rows;
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      const std::unique_ptr<rocksdb::Iterator> place(
          database_->NewIterator(rocksdb::ReadOptions(), family));
      for (place->SeekToFirst(); place->Valid(); place->Next()) {
        rows.push_back(place->key().ToString() + "=" + place->value().ToString());
      }
      rows.emplace_back(place->status().ToString());
    }
    return rows;
  }

 private:
  const Keeps keeps_;
  const std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::TransactionDB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::array<std::unique_ptr<rocksdb::Transaction>, kTransactions> transactions_;
};

// What is done next, the same on both sides.
struct LockStep {
  size_t transaction;
  int kind;
  size_t family;
  int key;
  bool flag;
  std::string text;
};

rocksdb::Status LockMany(Side* side, const LockStep& step) {
  rocksdb::Status status;
  for (int key = step.key; key < kLockedKeys && status.ok(); ++key) {
    std::string value;
    status = side->transaction(step.transaction)
                 .GetForUpdate(rocksdb::ReadOptions(), side->family(step.family), KeyNumber(key),
                               &value, step.flag);
    if (status.IsNotFound()) status = rocksdb::Status::OK();
  }
  return status;
}

rocksdb::Status End(Side* side, const LockStep& step) {
  rocksdb::Transaction& transaction = side->transaction(step.transaction);
  rocksdb::Status status;
  if (step.key % 4 == 0) {
    status = transaction.SetName(step.text);
    if (status.ok()) status = transaction.Prepare();
  }
  if (status.ok()) status = step.flag ? transaction.Commit() : transaction.Rollback();
  side->Begin(step.transaction);
  return status;
}

rocksdb::Status Do(Side* side, const LockStep& step) {
  rocksdb::Transaction& transaction = side->transaction(step.transaction);
  rocksdb::ColumnFamilyHandle* const family = side->family(step.family);
  const std::string key = KeyNumber(step.key);
  std::string value;
  switch (step.kind) {
    case 0:
    case 1:
      return transaction.GetForUpdate(rocksdb::ReadOptions(), family, key, &value, step.flag);
    case 2:
    case 3:
      return transaction.Put(family, key, step.text);
    case 4:
      return step.flag ? transaction.Delete(family, key) : transaction.SingleDelete(family, key);
    case 5:
      return transaction.PutUntracked(family, key, step.text);
    case 6:
      transaction.UndoGetForUpdate(family, key);
      return rocksdb::Status::OK();
    case 7:
    case 8:
      transaction.SetSavePoint();
      return rocksdb::Status::OK();
    case 9:
      return transaction.RollbackToSavePoint();
    case 10:
      return transaction.PopSavePoint();
    case 11:
      return LockMany(side, step);
    default:
      return End(side, step);
  }
}

class KeyLocksTest : public testing::TestWithParam<rocksdb::TxnDBWritePolicy> {};

TEST_P(KeyLocksTest, HoldAndReleaseWhatRocksDbsDo) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
    Side ours(Side::Keeps::kHeldKeys, GetParam());
    Side theirs(Side::Keeps::kRocksDb, GetParam());
    // Some end after every other step, others hold many locks.
    const int kinds = 12 + below(6);
    size_t most = 0;
    for (int number = 0; number < kSteps; ++number) {
      const LockStep step = {static_cast<size_t>(below(kTransactions)),
                             below(kinds),
                             static_cast<size_t>(below(2)),
                             below(kLockedKeys),
                             below(2) == 0,
                             "step" + std::to_string(number)};
      const rocksdb::Status ours_said = Do(&ours, step);
      const rocksdb::Status theirs_said = Do(&theirs, step);
      SCOPED_TRACE("step " + std::to_string(number) + " of kind " + std::to_string(step.kind));
      ASSERT_EQ(ours_said.ToString(), theirs_said.ToString());
      for (size_t at = 0; at < kTransactions; ++at) {
        ASSERT_EQ(ours.transaction(at).GetNumKeys(), theirs.transaction(at).GetNumKeys());
        most = std::max<size_t>(most, ours.transaction(at).GetNumKeys());
      }
      ASSERT_EQ(ours.Locks(), theirs.Locks());
    }
    ASSERT_EQ(ours.Rows(), theirs.Rows());
    if (kinds == 12) {
      ASSERT_GT(most, size_t{kLockedKeys / 2}) << "this says nothing about many locks";
    }
  }
}

// What was put past the index of its batch, which RocksDB does not know, goes all the same.
TEST(ReusedTransactionTest, BeginsWithoutWhatTheOneBeforeHasWritten) {
  for (const bool indexes : {false, true}) {
    for (const bool commits : {false, true}) {
      Side side(Side::Keeps::kHeldKeys, rocksdb::WRITE_COMMITTED);
      const auto put = [&](const std::string& key) {
        rocksdb::WriteBatchWithIndex* const batch = side.transaction(0).GetWriteBatch();
        ASSERT_TRUE(batch->GetWriteBatch()->Put(side.family(0), key, "value").ok());
        if (indexes) {
          ASSERT_TRUE(batch->Put(side.family(1), key, "value").ok());
        }
      };
      const auto end = [&](bool commit) {
        const rocksdb::Status ended =
            commit ? side.transaction(0).Commit() : side.transaction(0).Rollback();
        ASSERT_TRUE(ended.ok()) << ended.ToString();
        side.Begin(0);
        ASSERT_EQ(side.transaction(0).GetWriteBatch()->GetWriteBatch()->Count(), 0u);
        ASSERT_EQ(side.transaction(0).GetWriteBatch()->GetWBWIOpCount(), 0u);
      };
      const std::vector<std::string> before = side.Rows();
      put("first");
      end(commits);
      const std::vector<std::string> after = side.Rows();
      EXPECT_EQ(after.size(), before.size() + (commits ? 1 : 0) + (commits && indexes ? 1 : 0));
      end(true);
      EXPECT_EQ(side.Rows(), after);
      put("second");
      end(true);
      EXPECT_GT(side.Rows().size(), after.size());
    }
  }
}

size_t AllocatedBytes() {
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

// The object stays for as long as a session does. (The sanitizers' allocators say nothing here.)
TEST(KeyLocksMemoryTest, ATransactionOfManyLocksLeavesNoMemoryBehind) {
  constexpr int kLocks = 100'000;
  constexpr size_t kMostLeft = 3'000'000;  // Buckets of RocksDB's table of locks.
  Side side(Side::Keeps::kHeldKeys, rocksdb::WRITE_COMMITTED);
  const auto lock = [&](int count) {
    std::string value;
    for (int key = 0; key < count; ++key) {
      const rocksdb::Status status = side.transaction(0).GetForUpdate(
          rocksdb::ReadOptions(), side.family(0), std::to_string(key), &value);
      ASSERT_TRUE(status.IsNotFound()) << status.ToString();
    }
  };
  lock(1);
  ASSERT_TRUE(side.transaction(0).Rollback().ok());
  side.Begin(0);
  const size_t before = AllocatedBytes();
  lock(kLocks);
  const size_t held = AllocatedBytes() - before;
  ASSERT_TRUE(side.transaction(0).Rollback().ok());
  side.Begin(0);
  const size_t after = AllocatedBytes();
  RecordProperty("bytes_of_a_lock", static_cast<int>(held / kLocks));
  EXPECT_LT(after, before + kMostLeft);
}

INSTANTIATE_TEST_SUITE_P(WritePolicies, KeyLocksTest,
                         testing::Values(rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED),
                         [](const auto& one) {
                           return one.param == rocksdb::WRITE_COMMITTED ? "WriteCommitted"
                                                                        : "WritePrepared";
                         });

}  // namespace
}  // namespace cairn::lsm
