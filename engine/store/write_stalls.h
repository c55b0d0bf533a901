// When and why RocksDB slows writes down or stops them: what holds now, and what was in the last
// hour.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/store/compaction_throttle.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"

namespace cairn {

enum class StallKind : uint8_t { kSlowed, kStopped };
enum class StallCause : uint8_t { kMemtables, kLevelZeroFiles, kPendingCompaction };

// One family makes the whole database slow down or stop for one reason.
struct WriteStall {
  std::string family;
  StallKind kind = StallKind::kSlowed;
  StallCause cause = StallCause::kMemtables;
  // Memtables, files or bytes: as many as there were at the last look at it, and from how many on
  // RocksDB holds writes back.
  uint64_t value = 0;
  uint64_t limit = 0;
  int64_t begin_us = 0;           // Since the epoch.
  std::optional<int64_t> end_us;  // None while it goes on.
  bool operator==(const WriteStall&) const = default;
};

// What decides whether a family holds writes back.
struct StallState {
  uint64_t memtables = 0;  // Immutable ones that no file has yet.
  uint64_t level_zero_files = 0;
  uint64_t pending_compaction_bytes = 0;
};

// What of these options and this state holds writes back, if anything: as RocksDB decides. Only
// kind, cause, value and limit are set.
std::optional<WriteStall> FindStall(const rocksdb::ColumnFamilyOptions& options,
                                    const StallState& state);

// Thread-safe. It looks at a family whenever RocksDB reports something of it that can change the
// answer: a full memtable, a flush, a compaction; at a change of its own condition a little later.
// Mutexes: mutex_ guards everything else and is held while RocksDB is asked for figures; nobody may
// take it under a mutex of RocksDB. changed_mutex_ guards changed_, is held for moments and may be
// taken under any other.
class WriteStalls {
 public:
  static constexpr int64_t kRememberedUs =
      3'600'000'000;                           // Stalls that ended longer ago are forgotten,
  static constexpr size_t kRemembered = 1000;  // and the oldest ones beyond these.

  // `now_us`: microseconds since the epoch.
  // `throttle`, if there is one, learns of files that wait to be merged.
  explicit WriteStalls(std::function<int64_t()> now_us,
                       std::shared_ptr<CompactionThrottle> throttle = nullptr)
      : now_us_(std::move(now_us)), throttle_(std::move(throttle)) {}

  // Nothing is looked at before the first call, and after one with null.
  void Bind(rocksdb::DB* db);
  // The handle lives until Bind(nullptr).
  void AddFamily(std::string name, rocksdb::ColumnFamilyHandle* handle);

  // The family is to be looked at; asks RocksDB for nothing.
  void NoteChange(const std::string& family);
  void Look(const std::string& family);
  // At every family that has changed since it was looked at.
  void LookAtChanged();
  // Looks at every family; what goes on comes first, then what ended, the latest first.
  std::vector<WriteStall> List();

 private:
  static constexpr size_t kKinds = 2;
  static constexpr size_t kCauses = 3;
  // How often RocksDB found each kind and cause.
  using Counts = std::array<std::array<uint64_t, kCauses>, kKinds>;
  struct Family {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    std::optional<WriteStall> stall;
    Counts counts{};
    bool seen = false;  // Whether `counts` were ever read.
  };

  void LookLocked(const std::string& name, Family* family);
  Counts ReadCounts(rocksdb::ColumnFamilyHandle* family) const;
  StallState ReadState(rocksdb::ColumnFamilyHandle* family) const;
  void Remember(WriteStall stall, int64_t now_us);

  const std::function<int64_t()> now_us_;
  const std::shared_ptr<CompactionThrottle> throttle_;
  std::mutex mutex_;
  rocksdb::DB* db_ = nullptr;
  std::map<std::string, Family, std::less<>> families_;
  std::deque<WriteStall> ended_;  // The latest first.
  std::mutex changed_mutex_;
  std::set<std::string> changed_;
};

std::shared_ptr<rocksdb::EventListener> MakeStallListener(std::shared_ptr<WriteStalls> stalls);

}  // namespace cairn
