// Compactions rest for a multiple of the time that their reading and writing took.
#include "engine/store/compaction_throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rocksdb/iostats_context.h"
#include "rocksdb/listener.h"
#include "rocksdb/perf_level.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

constexpr uint64_t kUsedUs = 4'000;
constexpr std::string_view kInOne("\0\0\0\1key", 7);  // Of the index 1.

// As RocksDB does before a piece, after what took `used_us`.
void Ask(CompactionThrottle* throttle, uint64_t used_us,
         rocksdb::Env::IOPriority priority = rocksdb::Env::IO_LOW) {
  rocksdb::get_iostats_context()->read_nanos += used_us * 1'000;
  throttle->Request(1 << 20, priority, nullptr, rocksdb::RateLimiter::OpType::kWrite);
}

// Figures of a thread's I/O are its own.
template <typename Body>
void InThread(Body body) {
  std::thread(body).join();
}

TEST(CompactionThrottleTest, RestsTheLessTheMoreFilesWait) {
  CompactionThrottle throttle;
  EXPECT_EQ(throttle.Rest(), CompactionThrottle::kMostRest);
  throttle.SetBacklog(/*family=*/0, 1);
  EXPECT_EQ(throttle.Rest(), CompactionThrottle::kMostRest / 2);
  throttle.SetBacklog(1, 1.5);
  EXPECT_EQ(throttle.Rest(), CompactionThrottle::kMostRest / 4);
  throttle.SetBacklog(0, 0);
  EXPECT_EQ(throttle.Rest(), CompactionThrottle::kMostRest / 4)
      << "the family that has most of them decides";
  throttle.SetBacklog(1, 2.5);
  EXPECT_EQ(throttle.Rest(), 0);
  throttle.SetBacklog(1, 0);
  EXPECT_EQ(throttle.Rest(), CompactionThrottle::kMostRest);
}

TEST(CompactionThrottleTest, RestsInProportion) {
  InThread([] {
    CompactionThrottle throttle;
    Ask(&throttle, kUsedUs);
    EXPECT_EQ(throttle.rested_us(), 0u) << "nothing was measured before";
    Ask(&throttle, kUsedUs);
    EXPECT_GE(throttle.rested_us(), 3 * kUsedUs);
    EXPECT_GE(rocksdb::GetPerfLevel(), rocksdb::PerfLevel::kEnableTimeExceptForMutex);
    const uint64_t before = throttle.rested_us();
    throttle.SetBacklog(0, 1.5);
    Ask(&throttle, 10 * kUsedUs);
    EXPECT_GE(throttle.rested_us() - before, 10 * kUsedUs * 3 / 4);
  });
}

TEST(CompactionThrottleTest, SavesUpWhatIsLittle) {
  InThread([] {
    CompactionThrottle throttle;
    for (int i = 0; i < 4; ++i) Ask(&throttle, 100);
    EXPECT_EQ(throttle.rested_us(), 0u);
    Ask(&throttle, 100);
    EXPECT_GE(throttle.rested_us(), 1'200u);
  });
}

TEST(CompactionThrottleTest, ReadsDoNotRest) {
  InThread([] {
    CompactionThrottle throttle;
    Ask(&throttle, 0);
    rocksdb::get_iostats_context()->read_nanos += kUsedUs * 1'000;
    EXPECT_FALSE(throttle.IsRateLimited(rocksdb::RateLimiter::OpType::kRead));
    throttle.Request(4096, rocksdb::Env::IO_LOW, nullptr, rocksdb::RateLimiter::OpType::kRead);
    EXPECT_EQ(throttle.rested_us(), 0u);
    Ask(&throttle, 0);
    EXPECT_GE(throttle.rested_us(), 3 * kUsedUs) << "their time is rested for with the next write";
  });
}

TEST(CompactionThrottleTest, NobodyRestsWhoIsWaitedFor) {
  InThread([] {
    CompactionThrottle throttle;
    Ask(&throttle, kUsedUs, rocksdb::Env::IO_HIGH);  // A flush.
    Ask(&throttle, kUsedUs, rocksdb::Env::IO_USER);  // Writes are held back.
    EXPECT_LT(rocksdb::GetPerfLevel(), rocksdb::PerfLevel::kEnableTimeExceptForMutex);
    Ask(&throttle, 0);  // From here on time is measured.
    Ask(&throttle, kUsedUs, rocksdb::Env::IO_USER);
    {
      const CompactionThrottle::Haste haste(&throttle);
      const CompactionThrottle::Haste no_pace(nullptr);
      Ask(&throttle, kUsedUs);
    }
    throttle.SetOn(false);
    Ask(&throttle, kUsedUs);
    throttle.SetOn(true);
    Ask(&throttle, 0);
    throttle.SetFailing(true);
    Ask(&throttle, kUsedUs);
    throttle.SetFailing(false);
    Ask(&throttle, 0);
    EXPECT_EQ(throttle.rested_us(), 0u) << "what was done in haste is not rested for later";
    Ask(&throttle, kUsedUs);
    EXPECT_GT(throttle.rested_us(), 0u);
  });
}

TEST(CompactionThrottleTest, ARestEndsWithHaste) {
  CompactionThrottle throttle;
  std::thread compaction([&throttle] {
    for (int i = 0; i < 100; ++i) Ask(&throttle, 60'000'000);  // Minutes of rest.
  });
  const CompactionThrottle::Haste haste(&throttle);
  compaction.join();
}

// Notes the rest that compactions begin with.
class Beginnings final : public rocksdb::EventListener {
 public:
  explicit Beginnings(std::shared_ptr<CompactionThrottle> throttle)
      : throttle_(std::move(throttle)) {}
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    rests.push_back(throttle_->Rest());
  }
  std::vector<double> rests;

 private:
  const std::shared_ptr<CompactionThrottle> throttle_;
};

TEST(CompactionThrottleTest, ADatabaseTellsOfItsFiles) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.throttle = std::make_shared<CompactionThrottle>();
  const auto throttle = options.throttle;
  const auto beginnings = std::make_shared<Beginnings>(throttle);
  options.db.listeners.push_back(beginnings);
  auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  Database& db = **database;
  EXPECT_EQ(db.rocksdb()->GetDBOptions().rate_limiter.get(), throttle.get());
  for (const char* key : {"a", "b"}) {
    ASSERT_TRUE(
        db.rocksdb()->Put(rocksdb::WriteOptions(), db.default_family().handle, key, "").ok());
    ASSERT_TRUE(db.maintenance().FlushMemtables().ok());
  }
  db.write_stalls().LookAtChanged();
  EXPECT_EQ(throttle->Rest(), CompactionThrottle::kMostRest * (1 - 2 / 4.0 / 2));
  ASSERT_TRUE(db.maintenance().Compact(db.default_family()).ok());
  db.write_stalls().LookAtChanged();
  EXPECT_EQ(throttle->Rest(), CompactionThrottle::kMostRest);
  EXPECT_EQ(beginnings->rests, std::vector<double>{0}) << "somebody waits for it";
  beginnings->rests.clear();
  std::atomic<bool> cancel{false};
  ASSERT_TRUE(
      db.rocksdb()->Put(rocksdb::WriteOptions(), db.default_family().handle, kInOne, "").ok());
  ASSERT_TRUE(db.maintenance().FlushMemtables().ok());
  ASSERT_TRUE(db.maintenance().CompactIndex(db.default_family(), /*index_number=*/1, &cancel).ok());
  ASSERT_EQ(beginnings->rests.size(), 1u);
  EXPECT_GT(beginnings->rests[0], 0) << "nobody waits for it";
}

TEST(CompactionThrottleTest, FilesThatNobodyMergesAreNoBacklog) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.throttle = std::make_shared<CompactionThrottle>();
  options.default_column_family_text = "disable_auto_compactions=true";
  auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  Database& db = **database;
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(
        db.rocksdb()->Put(rocksdb::WriteOptions(), db.default_family().handle, kInOne, "").ok());
    ASSERT_TRUE(db.maintenance().FlushMemtables().ok());
  }
  db.write_stalls().LookAtChanged();
  EXPECT_EQ(db.throttle()->Rest(), CompactionThrottle::kMostRest);
}

TEST(CompactionThrottleTest, ALimitOfTheUsersTakesItsPlace) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.throttle = std::make_shared<CompactionThrottle>();
  options.db.rate_limiter.reset(rocksdb::NewGenericRateLimiter(1 << 30));
  const auto limiter = options.db.rate_limiter;
  auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_EQ((*database)->throttle(), nullptr);
  EXPECT_EQ((*database)->rocksdb()->GetDBOptions().rate_limiter.get(), limiter.get());
}

}  // namespace
}  // namespace cairn
