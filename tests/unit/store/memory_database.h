// A database on RocksDB's in-memory file system, for tests of everything above store/.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/log.h"
#include "engine/store/database.h"
#include "tests/unit/store/test_clock.h"

namespace cairn {

// Keeps what was logged.
class TestLog final : public Log {
 public:
  void Write(Severity severity, std::string_view message) override;
  std::vector<std::string> messages() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

// Survives closing and reopening, as a disk would.
class MemoryDisk {
 public:
  MemoryDisk();
  ~MemoryDisk();

  // From the next opening on, the database goes by this clock.
  void UseClock(std::shared_ptr<TestClock> clock);
  // Options for the database on this disk.
  DatabaseOptions Options() const;
  // Opens it; fails the test when that fails.
  std::unique_ptr<Database> Open();
  TestLog& log() { return log_; }
  rocksdb::Env* env() const { return env_with_clock_ ? env_with_clock_.get() : env_.get(); }

 private:
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::Env> env_with_clock_;
  TestLog log_;
};

}  // namespace cairn
