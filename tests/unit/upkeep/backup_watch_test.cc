#include "engine/upkeep/backup_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/unit/store/memory_database.h"
#include "tests/unit/upkeep/eventually.h"

namespace cairn {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;
constexpr uint64_t kDay = 24 * 60 * 60;

class BackupWatchTest : public ::testing::Test {
 protected:
  BackupWatchTest() {
    disk_.UseClock(clock_);
    database_ = disk_.Open();
  }

  // Eight megabytes, in memory at first.
  void Write() {
    for (int i = 0; i < 800; ++i) {
      ASSERT_TRUE(database_->rocksdb()
                      ->Put(rocksdb::WriteOptions(), database_->default_family().handle,
                            std::to_string(i), std::string(10'000, 'x'))
                      .ok());
    }
  }

  uint64_t Unwritten() {
    uint64_t bytes = 0;
    EXPECT_TRUE(database_->rocksdb()->GetAggregatedIntProperty(
        rocksdb::DB::Properties::kCurSizeAllMemTables, &bytes));
    return bytes;
  }

  bool HasCopy() { return disk_.env()->FileExists("/memory/mariabackup-checkpoint/CURRENT").ok(); }

  MemoryDisk disk_;
  std::shared_ptr<TestClock> clock_ = std::make_shared<TestClock>(1'000'000);
  std::unique_ptr<Database> database_;
  std::atomic<bool> in_use_{false};
};

TEST_F(BackupWatchTest, MemtablesAreKeptSmallFromTheBeginningToTheEndOfABackup) {
  BackupWatch watch(database_.get(), [] { return false; });
  watch.SetMemtableBytes(4 * kMegabyte);
  Write();
  EXPECT_GT(Unwritten(), 7 * kMegabyte) << "no backup goes on";
  watch.Begin();
  EXPECT_TRUE(Eventually([&] { return Unwritten() < kMegabyte; })) << "all is written at first";
  Write();
  EXPECT_TRUE(Eventually([&] { return Unwritten() <= 4 * kMegabyte; }));
  watch.End();
  Write();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_GT(Unwritten(), 4 * kMegabyte);
}

TEST_F(BackupWatchTest, CopyThatWasLeftGoesADayLaterUnlessItIsInUse) {
  in_use_ = true;
  BackupWatch watch(database_.get(), [this] { return in_use_.load(); });
  ASSERT_TRUE(database_->maintenance().CreateCheckpoint("/memory/mariabackup-checkpoint").ok());
  clock_->Advance(kDay - 1);
  in_use_ = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  EXPECT_TRUE(HasCopy()) << "the day is not over";
  in_use_ = true;
  clock_->Advance(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  EXPECT_TRUE(HasCopy()) << "somebody copies it";
  in_use_ = false;
  EXPECT_TRUE(Eventually([&] { return !HasCopy(); }));
  EXPECT_THAT(disk_.log().messages(),
              ::testing::Contains(::testing::HasSubstr("a backup has left it long ago")));
}

}  // namespace
}  // namespace cairn
