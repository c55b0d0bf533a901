#include "engine/store/write_stalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "engine/monitor/stall_remedy.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::HasSubstr;

TEST(FindStall, EachTriggerHoldsWritesBackFromItsLimitOn) {
  rocksdb::ColumnFamilyOptions options;
  options.max_write_buffer_number = 5;
  options.level0_slowdown_writes_trigger = 8;
  options.level0_stop_writes_trigger = 20;
  options.soft_pending_compaction_bytes_limit = 100;
  options.hard_pending_compaction_bytes_limit = 200;
  const auto is = [&](StallState state, StallKind kind, StallCause cause, uint64_t limit) {
    const auto stall = FindStall(options, state);
    return stall.has_value() && stall->kind == kind && stall->cause == cause &&
           stall->limit == limit;
  };
  EXPECT_FALSE(FindStall(options, {3, 7, 99}).has_value());
  EXPECT_TRUE(is({4, 0, 0}, StallKind::kSlowed, StallCause::kMemtables, 4));
  EXPECT_TRUE(is({5, 0, 0}, StallKind::kStopped, StallCause::kMemtables, 5));
  EXPECT_TRUE(is({0, 8, 0}, StallKind::kSlowed, StallCause::kLevelZeroFiles, 8));
  EXPECT_TRUE(is({0, 20, 0}, StallKind::kStopped, StallCause::kLevelZeroFiles, 20));
  EXPECT_TRUE(is({0, 0, 100}, StallKind::kSlowed, StallCause::kPendingCompaction, 100));
  EXPECT_TRUE(is({4, 8, 200}, StallKind::kStopped, StallCause::kPendingCompaction, 200));
  options.disable_auto_compactions = true;
  EXPECT_FALSE(FindStall(options, {0, 20, 200}).has_value());
}

// A database whose default family has small triggers.
struct SmallDatabase {
  explicit SmallDatabase(const std::string& options_text) {
    DatabaseOptions options = disk.Options();
    options.default_column_family_text = options_text;
    auto opened = Database::Open(std::move(options), &disk.log());
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    database = std::move(opened).value();
  }
  void Put(const std::string& key) {
    EXPECT_TRUE(database->rocksdb()->Put(rocksdb::WriteOptions(), key, "value").ok());
  }
  void Flush() { EXPECT_TRUE(database->rocksdb()->Flush(rocksdb::FlushOptions()).ok()); }
  // Lets the files be compacted that could not be until now.
  void EnableCompactions() {
    EXPECT_TRUE(
        database->rocksdb()
            ->SetOptions(database->default_family().handle, {{"disable_auto_compactions", "false"}})
            .ok());
  }
  std::vector<WriteStall> List() { return database->write_stalls().List(); }

  MemoryDisk disk;
  std::unique_ptr<Database> database;
};

TEST(WriteStalls, FilesOfLevelZeroSlowAndAreRememberedWithBeginAndEnd) {
  SmallDatabase small(
      "disable_auto_compactions=true;level0_file_num_compaction_trigger=2;"
      "level0_slowdown_writes_trigger=2;level0_stop_writes_trigger=100");
  for (const char* key : {"a", "b", "c"}) {
    small.Put(key);
    small.Flush();
  }
  EXPECT_TRUE(small.List().empty());
  ASSERT_TRUE(small.database->rocksdb()->PauseBackgroundWork().ok());
  small.EnableCompactions();
  auto stalls = small.List();
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0].family, "default");
  EXPECT_EQ(stalls[0].kind, StallKind::kSlowed);
  EXPECT_EQ(stalls[0].cause, StallCause::kLevelZeroFiles);
  EXPECT_EQ(stalls[0].value, 3u);
  EXPECT_EQ(stalls[0].limit, 2u);
  EXPECT_EQ(stalls[0].begin_us, small.database->NowMicros()) << "this file system's clock stands";
  EXPECT_FALSE(stalls[0].end_us.has_value());
  const StallSituation situation = ReadStallSituation(*small.database);
  EXPECT_GT(situation.delayed_bytes_per_s, 0u);
  EXPECT_THAT(DescribeRemedy(stalls[0], situation),
              ::testing::AllOf(HasSubstr("3 of 2 level-0 files; no compaction is running"),
                               HasSubstr("raise level0_slowdown_writes_trigger")));

  ASSERT_TRUE(small.database->rocksdb()->ContinueBackgroundWork().ok());
  while (!small.List()[0].end_us.has_value()) std::this_thread::yield();
  stalls = small.List();
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_GE(*stalls[0].end_us, stalls[0].begin_us);
}

TEST(WriteStalls, FullMemtableIsSeenWhileTheWriterThatFilledItWaits) {
  SmallDatabase small("write_buffer_size=65536;max_write_buffer_number=2");
  rocksdb::TransactionDB* const db = small.database->rocksdb();
  ASSERT_TRUE(db->PauseBackgroundWork().ok());
  std::thread writer([db] {
    const std::string value(1000, 'v');
    for (int i = 0; i < 400; ++i) {
      EXPECT_TRUE(db->Put(rocksdb::WriteOptions(), std::to_string(i), value).ok());
    }
  });
  std::vector<WriteStall> stalls;
  while ((stalls = small.List()).empty()) std::this_thread::yield();
  EXPECT_EQ(stalls[0].kind, StallKind::kStopped);
  EXPECT_EQ(stalls[0].cause, StallCause::kMemtables);
  EXPECT_EQ(stalls[0].value, 2u);
  EXPECT_FALSE(stalls[0].end_us.has_value());
  StallSituation situation = ReadStallSituation(*small.database);
  situation.paused = true;
  EXPECT_THAT(DescribeRemedy(stalls[0], situation), HasSubstr("background work is paused"));

  ASSERT_TRUE(db->ContinueBackgroundWork().ok());
  writer.join();
  ASSERT_TRUE(db->Flush(rocksdb::FlushOptions()).ok());
  stalls = small.List();
  ASSERT_FALSE(stalls.empty());
  for (const WriteStall& stall : stalls) EXPECT_TRUE(stall.end_us.has_value());
}

TEST(WriteStalls, StallsThatEndedMoreThanAnHourAgoAreForgotten) {
  SmallDatabase small(
      "disable_auto_compactions=true;level0_file_num_compaction_trigger=1;"
      "level0_slowdown_writes_trigger=1;level0_stop_writes_trigger=100");
  rocksdb::TransactionDB* const db = small.database->rocksdb();
  int64_t now_us = 1'000'000;
  WriteStalls stalls([&now_us] { return now_us; });
  stalls.Bind(db);
  stalls.AddFamily("default", small.database->default_family().handle);
  small.Put("a");
  small.Flush();
  ASSERT_TRUE(db->PauseBackgroundWork().ok());
  small.EnableCompactions();
  stalls.Look("default");
  stalls.Look("no_such_family");
  now_us += 5;
  ASSERT_TRUE(db->ContinueBackgroundWork().ok());
  std::string files;
  while (files != "0") {
    ASSERT_TRUE(db->GetProperty("rocksdb.num-files-at-level0", &files));
    std::this_thread::yield();
  }
  auto listed = stalls.List();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].begin_us, 1'000'000);
  EXPECT_EQ(listed[0].end_us, 1'000'005);
  now_us += WriteStalls::kRememberedUs;
  EXPECT_EQ(stalls.List().size(), 1u);
  ++now_us;
  EXPECT_TRUE(stalls.List().empty());
}

TEST(ShowBytes, ChoosesTheUnit) {
  EXPECT_EQ(ShowBytes(1023), "1023 B");
  EXPECT_EQ(ShowBytes(1536), "1.5 KiB");
  EXPECT_EQ(ShowBytes(uint64_t{64} << 30), "64.0 GiB");
}

}  // namespace
}  // namespace cairn
