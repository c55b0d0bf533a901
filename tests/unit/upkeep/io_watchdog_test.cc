#include "engine/upkeep/io_watchdog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>

namespace cairn {
namespace {

class KeptLog final : public Log {
 public:
  void Write(Severity, std::string_view message) override { text.append(message); }
  std::string text;
};

using std::chrono::milliseconds;

TEST(IoWatchdog, AWriteThatHangsIsTheEnd) {
  KeptLog log;
  std::promise<void> given_up;
  std::promise<void> disk_answers;
  std::shared_future<void> answer(disk_answers.get_future());
  {
    IoWatchdog watchdog(
        {"slow"}, &log,
        [answer](const std::string&) {
          answer.wait();
          return true;
        },
        [&given_up] { given_up.set_value(); });
    watchdog.SetLimit(milliseconds(20));
    given_up.get_future().wait();
    disk_answers.set_value();
  }
  EXPECT_NE(log.text.find("blocking for more than"), std::string::npos) << log.text;
}

TEST(IoWatchdog, DirectoriesAreProbedInTurnWhileThereIsALimit) {
  KeptLog log;
  std::promise<void> probed;
  std::string seen;
  bool ended = false;
  {
    IoWatchdog watchdog(
        {"a", "b"}, &log,
        [&](const std::string& directory) {
          if (seen.size() < 4) seen += directory;
          if (seen.size() == 4 && !std::exchange(ended, true)) probed.set_value();
          return true;
        },
        [] { FAIL() << "a disk that answers is no reason to end"; });
    watchdog.SetLimit(milliseconds(10));
    probed.get_future().wait();
    watchdog.SetLimit(milliseconds(0));
  }
  EXPECT_EQ(seen, "abab");
}

TEST(IoWatchdog, WithoutALimitNothingIsWritten) {
  KeptLog log;
  IoWatchdog watchdog(
      {"a"}, &log, [](const std::string&) -> bool { throw "written"; }, [] {});
  watchdog.SetLimit(milliseconds(0));
}

TEST(IoWatchdog, AProbeIsOneBlock) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("cairn-watchdog-" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  EXPECT_TRUE(IoWatchdog::WriteProbe(directory.string()));
  EXPECT_EQ(std::filesystem::file_size(directory / "myrocks_io_watchdog_write_file"), 4096u);
  std::filesystem::remove_all(directory);
  EXPECT_FALSE(IoWatchdog::WriteProbe(directory.string()));
}

}  // namespace
}  // namespace cairn
