// A memtable is written out once scans of it have wasted what that costs, and not before.
#include "engine/lsm/memtable_reads.h"

#include <gtest/gtest.h>

#include <optional>

#include "rocksdb/perf_level.h"
#include "tests/unit/store/memory_database.h"

namespace cairn::lsm {
namespace {

constexpr int kMemtableKeys = 100;
constexpr int kVersions = 50;

TEST(MemtableReadsTest, PaysWhenReadsHaveWastedTheCost) {
  MemtableReads reads;
  EXPECT_FALSE(MemtableReads::Pays(reads.figures(), 0));
  const uint64_t entries = 1'000'000;
  const uint64_t bytes = 100 * entries;
  const auto scans_until_it_pays = [&](uint64_t given, uint64_t passed, uint64_t merged_bytes) {
    reads.Forget();
    int scans = 0;
    while (!MemtableReads::Pays(reads.figures(), merged_bytes)) {
      reads.Add(/*start=*/1, entries, bytes, given, passed);
      ++scans;
    }
    return scans;
  };
  const int plain = scans_until_it_pays(entries, 0, 0);
  EXPECT_GT(plain, 4);
  EXPECT_LT(plain, 100);
  // Old versions are dearer; more to merge is a reason to wait.
  EXPECT_LT(scans_until_it_pays(0, entries, 0), plain);
  EXPECT_GT(scans_until_it_pays(entries, 0, bytes), plain);
  // Where most entries are old versions, few are written: less has to be wasted than where each is
  // the last of its row.
  const auto waste_when_it_pays = [&](uint64_t given, uint64_t passed) {
    scans_until_it_pays(given, passed, 0);
    return reads.figures().Waste();
  };
  EXPECT_LT(2 * waste_when_it_pays(1'000, 9'000), waste_when_it_pays(1'000, 0));
  // Another memtable begins anew.
  reads.Add(2, entries, bytes, 1, 0);
  EXPECT_EQ(reads.figures().Waste(), 1u);
}

class FlushWhereItPaysTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);  // As sessions do.
    // In a tree, versions are passed in one step.
    ASSERT_NO_FATAL_FAILURE(Open("memtable=skip_list"));
  }

  void Open(const std::string& family_options) {
    database_.reset();
    disk_.emplace();
    DatabaseOptions options = disk_->Options();
    options.default_column_family_text = family_options;
    auto opened = Database::Open(std::move(options), &disk_->log());
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = std::move(opened).value();
    family_ = *database_->families().FindOrCreate(GetParam());
    for (int version = 0; version < kVersions; ++version) {
      for (int i = 0; i < kMemtableKeys; ++i) {
        Put(i);
      }
    }
  }

  rocksdb::DB* db() const { return database_->rocksdb(); }

  static std::string KeyOf(int number) {
    return {'\0', '\0', '\1', '\0', static_cast<char>(number)};
  }

  void Put(int number) {
    ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family_->handle, KeyOf(number), "value").ok());
  }

  uint64_t EntriesInMemtable() const {
    uint64_t entries = 0;
    EXPECT_TRUE(db()->GetIntProperty(family_->handle,
                                     rocksdb::DB::Properties::kNumEntriesActiveMemTable, &entries));
    return entries;
  }

  void Scan(int times) {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    for (int i = 0; i < times; ++i) {
      const auto iterator = database_->NewIterator(*family_, options);
      int given = 0;
      for (iterator->Seek(KeyOf(family_->reverse ? kMemtableKeys : 0)); iterator->Valid();
           iterator->Next())
        ++given;
      ASSERT_EQ(given, kMemtableKeys);
    }
  }

  std::optional<MemoryDisk> disk_;
  std::unique_ptr<Database> database_;
  const ColumnFamily* family_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Families, FlushWhereItPaysTest, ::testing::Values("default", "rev:cf"));

TEST_P(FlushWhereItPaysTest, ScansOfOldVersionsEndWithAFile) {
  Scan(10);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), static_cast<uint64_t>(kMemtableKeys * kVersions));
  Scan(1000);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), 0u);
  // What lies in files is no reason for another one.
  Put(1);
  Scan(1000);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), 1u);
}

// What a tree costs is what it gives: old versions are not met there.
TEST_P(FlushWhereItPaysTest, TreesAreWrittenOutForWhatTheyGive) {
  ASSERT_NO_FATAL_FAILURE(Open(""));
  Scan(1000);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), static_cast<uint64_t>(kMemtableKeys * kVersions));
  Scan(10'000);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), 0u);
}

// What was wasted in a memtable that is gone says nothing of the next one.
TEST_P(FlushWhereItPaysTest, AnotherMemtableBeginsAnew) {
  Scan(1000);
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  Put(1);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), 1u);
}

// Files that wait to be merged are not added to.
TEST_P(FlushWhereItPaysTest, NotWhileFilesWaitForACompaction) {
  ASSERT_TRUE(db()->SetOptions(family_->handle, {{"disable_auto_compactions", "true"}}).ok());
  Scan(1000);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), static_cast<uint64_t>(kMemtableKeys * kVersions));
}

// Nor are memtables that wait to be written out: background work may be paused for long.
TEST_P(FlushWhereItPaysTest, NotWhileMemtablesWait) {
  ASSERT_TRUE(db()->PauseBackgroundWork().ok());
  Scan(1000);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), 0u);  // It waits.
  for (int version = 0; version < kVersions; ++version) {
    for (int i = 0; i < kMemtableKeys; ++i) Put(i);
  }
  Scan(1000);
  ASSERT_TRUE(database_->maintenance().FlushMemtablesWhereItPays().ok());
  EXPECT_EQ(EntriesInMemtable(), static_cast<uint64_t>(kMemtableKeys * kVersions));
  ASSERT_TRUE(db()->ContinueBackgroundWork().ok());
}

}  // namespace
}  // namespace cairn::lsm
