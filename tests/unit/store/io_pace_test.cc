// Compactions rest for a multiple of the time that their reading and writing took.
#include "engine/store/io_pace.h"

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
void Ask(IoPace* pace, uint64_t used_us, rocksdb::Env::IOPriority priority = rocksdb::Env::IO_LOW) {
  rocksdb::get_iostats_context()->read_nanos += used_us * 1'000;
  pace->Request(1 << 20, priority, nullptr, rocksdb::RateLimiter::OpType::kWrite);
}

// Figures of a thread's I/O are its own.
template <typename Body>
void InThread(Body body) {
  std::thread(body).join();
}

TEST(IoPaceTest, RestsTheLessTheMoreFilesWait) {
  IoPace pace;
  EXPECT_EQ(pace.Rest(), IoPace::kMostRest);
  pace.SetBacklog(/*family=*/0, 1);
  EXPECT_EQ(pace.Rest(), IoPace::kMostRest / 2);
  pace.SetBacklog(1, 1.5);
  EXPECT_EQ(pace.Rest(), IoPace::kMostRest / 4);
  pace.SetBacklog(0, 0);
  EXPECT_EQ(pace.Rest(), IoPace::kMostRest / 4) << "the family that has most of them decides";
  pace.SetBacklog(1, 2.5);
  EXPECT_EQ(pace.Rest(), 0);
  pace.SetBacklog(1, 0);
  EXPECT_EQ(pace.Rest(), IoPace::kMostRest);
}

TEST(IoPaceTest, RestsInProportion) {
  InThread([] {
    IoPace pace;
    Ask(&pace, kUsedUs);
    EXPECT_EQ(pace.rested_us(), 0u) << "nothing was measured before";
    Ask(&pace, kUsedUs);
    EXPECT_GE(pace.rested_us(), 3 * kUsedUs);
    EXPECT_GE(rocksdb::GetPerfLevel(), rocksdb::PerfLevel::kEnableTimeExceptForMutex);
    const uint64_t before = pace.rested_us();
    pace.SetBacklog(0, 1.5);
    Ask(&pace, 10 * kUsedUs);
    EXPECT_GE(pace.rested_us() - before, 10 * kUsedUs * 3 / 4);
  });
}

TEST(IoPaceTest, SavesUpWhatIsLittle) {
  InThread([] {
    IoPace pace;
    for (int i = 0; i < 4; ++i) Ask(&pace, 100);
    EXPECT_EQ(pace.rested_us(), 0u);
    Ask(&pace, 100);
    EXPECT_GE(pace.rested_us(), 1'200u);
  });
}

TEST(IoPaceTest, ReadsDoNotRest) {
  InThread([] {
    IoPace pace;
    Ask(&pace, 0);
    rocksdb::get_iostats_context()->read_nanos += kUsedUs * 1'000;
    EXPECT_FALSE(pace.IsRateLimited(rocksdb::RateLimiter::OpType::kRead));
    pace.Request(4096, rocksdb::Env::IO_LOW, nullptr, rocksdb::RateLimiter::OpType::kRead);
    EXPECT_EQ(pace.rested_us(), 0u);
    Ask(&pace, 0);
    EXPECT_GE(pace.rested_us(), 3 * kUsedUs) << "their time is rested for with the next write";
  });
}

TEST(IoPaceTest, NobodyRestsWhoIsWaitedFor) {
  InThread([] {
    IoPace pace;
    Ask(&pace, kUsedUs, rocksdb::Env::IO_HIGH);  // A flush.
    Ask(&pace, kUsedUs, rocksdb::Env::IO_USER);  // Writes are held back.
    EXPECT_LT(rocksdb::GetPerfLevel(), rocksdb::PerfLevel::kEnableTimeExceptForMutex);
    Ask(&pace, 0);  // From here on time is measured.
    Ask(&pace, kUsedUs, rocksdb::Env::IO_USER);
    {
      const IoPace::Haste haste(&pace);
      const IoPace::Haste no_pace(nullptr);
      Ask(&pace, kUsedUs);
    }
    pace.SetOn(false);
    Ask(&pace, kUsedUs);
    pace.SetOn(true);
    Ask(&pace, 0);
    pace.SetFailing(true);
    Ask(&pace, kUsedUs);
    pace.SetFailing(false);
    Ask(&pace, 0);
    EXPECT_EQ(pace.rested_us(), 0u) << "what was done in haste is not rested for later";
    Ask(&pace, kUsedUs);
    EXPECT_GT(pace.rested_us(), 0u);
  });
}

TEST(IoPaceTest, ARestEndsWithHaste) {
  IoPace pace;
  std::thread compaction([&pace] {
    for (int i = 0; i < 100; ++i) Ask(&pace, 60'000'000);  // Minutes of rest.
  });
  const IoPace::Haste haste(&pace);
  compaction.join();
}

// Notes the rest that compactions begin with.
class Beginnings final : public rocksdb::EventListener {
 public:
  explicit Beginnings(std::shared_ptr<IoPace> pace) : pace_(std::move(pace)) {}
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    rests.push_back(pace_->Rest());
  }
  std::vector<double> rests;

 private:
  const std::shared_ptr<IoPace> pace_;
};

TEST(IoPaceTest, ADatabaseTellsOfItsFiles) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.pace = std::make_shared<IoPace>();
  const auto pace = options.pace;
  const auto beginnings = std::make_shared<Beginnings>(pace);
  options.db.listeners.push_back(beginnings);
  auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  Database& db = **database;
  EXPECT_EQ(db.rocksdb()->GetDBOptions().rate_limiter.get(), pace.get());
  for (const char* key : {"a", "b"}) {
    ASSERT_TRUE(
        db.rocksdb()->Put(rocksdb::WriteOptions(), db.default_family().handle, key, "").ok());
    ASSERT_TRUE(db.maintenance().FlushMemtables().ok());
  }
  db.write_stalls().LookAtChanged();
  EXPECT_EQ(pace->Rest(), IoPace::kMostRest * (1 - 2 / 4.0 / 2));
  ASSERT_TRUE(db.maintenance().Compact(db.default_family()).ok());
  db.write_stalls().LookAtChanged();
  EXPECT_EQ(pace->Rest(), IoPace::kMostRest);
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

TEST(IoPaceTest, FilesThatNobodyMergesAreNoBacklog) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.pace = std::make_shared<IoPace>();
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
  EXPECT_EQ(db.pace()->Rest(), IoPace::kMostRest);
}

TEST(IoPaceTest, ALimitOfTheUsersTakesItsPlace) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.pace = std::make_shared<IoPace>();
  options.db.rate_limiter.reset(rocksdb::NewGenericRateLimiter(1 << 30));
  const auto limiter = options.db.rate_limiter;
  auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_EQ((*database)->pace(), nullptr);
  EXPECT_EQ((*database)->rocksdb()->GetDBOptions().rate_limiter.get(), limiter.get());
}

}  // namespace
}  // namespace cairn
