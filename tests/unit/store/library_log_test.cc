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
using ::testing::SizeIs;

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

TEST(LibraryLog, WarningsAndErrorsGoToBothLogsFromTheLevelOfTheFileUp) {
  const auto file = std::make_shared<FileLog>();
  TestLog log;
  const auto both = MakeLibraryLog(file, &log);
  file->SetInfoLogLevel(rocksdb::InfoLogLevel::ERROR_LEVEL);
  ROCKSDB_NAMESPACE::Warn(both, "a warning");
  ROCKSDB_NAMESPACE::Error(both, "error %d\nin two lines\n", 7);
  both->SetInfoLogLevel(rocksdb::InfoLogLevel::INFO_LEVEL);
  ROCKSDB_NAMESPACE::Info(both, "a note");
  ROCKSDB_NAMESPACE::Warn(both, "another warning");
  EXPECT_THAT(log.messages(),
              ElementsAre("LibRocksDB:error 7 in two lines", "LibRocksDB:another warning"));
  EXPECT_THAT(file->lines, SizeIs(3));
}

TEST(BackgroundErrors, AreLoggedWithTheirReasonAndTheirEnd) {
  TestLog log;
  const auto listener = MakeBackgroundErrorListener(&log);
  rocksdb::Status full = rocksdb::Status::NoSpace("on /data");
  listener->OnBackgroundError(rocksdb::BackgroundErrorReason::kFlush, &full);
  rocksdb::BackgroundErrorRecoveryInfo info;
  info.old_bg_error = full;
  info.new_bg_error = full;
  listener->OnErrorRecoveryEnd(info);
  info.new_bg_error = rocksdb::Status::OK();
  listener->OnErrorRecoveryEnd(info);
  EXPECT_THAT(log.messages(),
              ElementsAre("Error detected in background, Status Code: 5, Status: IO error: No "
                          "space left on device: on /data",
                          "BackgroundErrorReason: 0 (flush)",
                          "writes go on after the error in background: IO error: No space left on "
                          "device: on /data"));
}

}  // namespace
}  // namespace cairn
