#include "tests/unit/store/memory_database.h"

#include <gtest/gtest.h>

#include <utility>

#include "rocksdb/env.h"

namespace cairn {

void TestLog::Write(Severity, std::string_view message) {
  std::lock_guard lock(mutex_);
  messages_.emplace_back(message);
}

std::vector<std::string> TestLog::messages() const {
  std::lock_guard lock(mutex_);
  return messages_;
}

MemoryDisk::MemoryDisk() : env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {}

MemoryDisk::~MemoryDisk() = default;

void MemoryDisk::UseClock(std::shared_ptr<TestClock> clock) {
  env_with_clock_ = std::make_unique<EnvWithClock>(env_.get(), std::move(clock));
}

DatabaseOptions MemoryDisk::Options() const {
  DatabaseOptions options;
  options.directory = "/memory";
  options.db.env = env();
  options.db.create_if_missing = true;
  options.db.allow_2pc = true;
  return options;
}

std::unique_ptr<Database> MemoryDisk::Open() {
  auto database = Database::Open(Options(), &log_);
  EXPECT_TRUE(database.ok()) << database.status().ToString();
  return database.ok() ? std::move(database).value() : nullptr;
}

}  // namespace cairn
