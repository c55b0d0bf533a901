#include "engine/store/library_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;

// Stands for RocksDB's LOG file.
class FileLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char text[100];
    std::vsnprintf(text, sizeof(text), format, arguments);
    lines.emplace_back(text);
  }
  std::vector<std::string> lines;
};

TEST(LibraryLog, KeepsAllButDebuggingInTheFileAndCopiesFromItsLevelUp) {
  const auto file = std::make_shared<FileLog>();
  TestLog log;
  const auto both = MakeLibraryLog(file, &log, rocksdb::InfoLogLevel::ERROR_LEVEL);
  ROCKSDB_NAMESPACE::Debug(both, "a detail");
  ROCKSDB_NAMESPACE::Info(both, "a flush");
  ROCKSDB_NAMESPACE::Warn(both, "a warning");
  ROCKSDB_NAMESPACE::Error(both, "error %d\nin two lines\n", 7);
  ROCKSDB_NAMESPACE::Header(both, "an option");
  EXPECT_THAT(file->lines, ElementsAre("a flush", "[WARN] a warning",
                                       "[ERROR] error 7\nin two lines\n", "an option"));
  EXPECT_THAT(log.messages(), ElementsAre("LibRocksDB:error 7 in two lines"));
}

TEST(LibraryLog, CopiesOnceThatACompactionIsTriedAgain) {
  const auto file = std::make_shared<FileLog>();
  TestLog log;
  const auto both = MakeLibraryLog(file, &log, rocksdb::InfoLogLevel::ERROR_LEVEL);
  for (int count = 1; count <= 3; ++count) {
    for (const char* why : {"damage in a.sst", "damage in b.sst"}) {
      ROCKSDB_NAMESPACE::Error(both,
                               "Waiting after background compaction error: %s, Accumulated "
                               "background error counts: %d",
                               why, count);
    }
    ROCKSDB_NAMESPACE::Error(both, "another error");
  }
  EXPECT_EQ(file->lines.size(), 9u);
  EXPECT_EQ(log.messages().size(), 5u);
}

TEST(LibraryLog, FollowsItsLevel) {
  const auto file = std::make_shared<FileLog>();
  TestLog log;
  const auto both = MakeLibraryLog(file, &log, rocksdb::InfoLogLevel::FATAL_LEVEL);
  ROCKSDB_NAMESPACE::Error(both, "an error");
  both->SetInfoLogLevel(rocksdb::InfoLogLevel::DEBUG_LEVEL);
  ROCKSDB_NAMESPACE::Debug(both, "a detail");
  ROCKSDB_NAMESPACE::Header(both, "an option");
  both->SetInfoLogLevel(rocksdb::InfoLogLevel::WARN_LEVEL);
  ROCKSDB_NAMESPACE::Debug(both, "another detail");
  ROCKSDB_NAMESPACE::Info(both, "a flush");
  ROCKSDB_NAMESPACE::Warn(both, "a warning");
  EXPECT_THAT(file->lines, ElementsAre("[ERROR] an error", "[DEBUG] a detail", "an option",
                                       "a flush", "[WARN] a warning"));
  EXPECT_THAT(log.messages(), ElementsAre("LibRocksDB:a detail", "LibRocksDB:a warning"));
}

TEST(BackgroundErrors, AreLoggedWithTheirReasonAndTheirEnd) {
  TestLog log;
  const auto throttle = std::make_shared<CompactionThrottle>();
  const auto listener = MakeBackgroundErrorListener(&log, throttle);
  rocksdb::Status full = rocksdb::Status::NoSpace("on /data");
  listener->OnBackgroundError(rocksdb::BackgroundErrorReason::kFlush, &full);
  EXPECT_EQ(throttle->Rest(), 0);
  rocksdb::BackgroundErrorRecoveryInfo info;
  info.old_bg_error = full;
  info.new_bg_error = full;
  listener->OnErrorRecoveryEnd(info);
  EXPECT_EQ(throttle->Rest(), 0);
  info.new_bg_error = rocksdb::Status::OK();
  listener->OnErrorRecoveryEnd(info);
  EXPECT_GT(throttle->Rest(), 0);
  EXPECT_THAT(log.messages(),
              ElementsAre("Error detected in background, Status Code: 5, Status: IO error: No "
                          "space left on device: on /data",
                          "BackgroundErrorReason: 0 (flush)",
                          "writes go on after the error in background: IO error: No space left on "
                          "device: on /data"));
}

}  // namespace
}  // namespace cairn
