#include "engine/store/write_stalls.h"

#include <cstdlib>
#include <utility>

namespace cairn {
namespace {

constexpr std::array<rocksdb::WriteStallCondition, 2> kConditions = {
    rocksdb::WriteStallCondition::kDelayed, rocksdb::WriteStallCondition::kStopped};
constexpr std::array<rocksdb::WriteStallCause, 3> kRocksDbCauses = {
    rocksdb::WriteStallCause::kMemtableLimit, rocksdb::WriteStallCause::kL0FileCountLimit,
    rocksdb::WriteStallCause::kPendingCompactionBytes};

// The condition changes on the thread that wrote the last byte into a memtable too. That thread
// then waits, and reports the change only when the wait is over; but that the memtable is full it
// reports before.
class StallListener final : public rocksdb::EventListener {
 public:
  explicit StallListener(std::shared_ptr<WriteStalls> stalls) : stalls_(std::move(stalls)) {}

  // RocksDB may hold its mutex here (DBImpl::IngestWBWIAsMemtable), and whoever asked it for
  // figures would wait for ever.
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override {
    stalls_->NoteChange(info.cf_name);
  }
  void OnMemTableSealed(const rocksdb::MemTableInfo& info) override { stalls_->Look(info.cf_name); }
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    stalls_->Look(info.cf_name);
  }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override {
    stalls_->Look(info.cf_name);
  }
  void OnExternalFileIngested(rocksdb::DB*,
                              const rocksdb::ExternalFileIngestionInfo& info) override {
    stalls_->Look(info.cf_name);
  }

 private:
  const std::shared_ptr<WriteStalls> stalls_;
};

WriteStall Stall(StallKind kind, StallCause cause, uint64_t value, uint64_t limit) {
  WriteStall stall;
  stall.kind = kind;
  stall.cause = cause;
  stall.value = value;
  stall.limit = limit;
  return stall;
}

}  // namespace

std::optional<WriteStall> FindStall(const rocksdb::ColumnFamilyOptions& options,
                                    const StallState& state) {
  const auto at_least = [](int count) { return static_cast<uint64_t>(count < 0 ? 0 : count); };
  const bool compacts = !options.disable_auto_compactions;
  const uint64_t most_memtables = at_least(options.max_write_buffer_number);
  if (state.memtables >= most_memtables) {
    return Stall(StallKind::kStopped, StallCause::kMemtables, state.memtables, most_memtables);
  }
  if (compacts && state.level_zero_files >= at_least(options.level0_stop_writes_trigger)) {
    return Stall(StallKind::kStopped, StallCause::kLevelZeroFiles, state.level_zero_files,
                 at_least(options.level0_stop_writes_trigger));
  }
  const uint64_t hard = options.hard_pending_compaction_bytes_limit;
  if (compacts && hard > 0 && state.pending_compaction_bytes >= hard) {
    return Stall(StallKind::kStopped, StallCause::kPendingCompaction,
                 state.pending_compaction_bytes, hard);
  }
  if (most_memtables > 3 && state.memtables >= most_memtables - 1 &&
      state.memtables - 1 >= at_least(options.min_write_buffer_number_to_merge)) {
    return Stall(StallKind::kSlowed, StallCause::kMemtables, state.memtables, most_memtables - 1);
  }
  if (compacts && options.level0_slowdown_writes_trigger >= 0 &&
      state.level_zero_files >= at_least(options.level0_slowdown_writes_trigger)) {
    return Stall(StallKind::kSlowed, StallCause::kLevelZeroFiles, state.level_zero_files,
                 at_least(options.level0_slowdown_writes_trigger));
  }
  const uint64_t soft = options.soft_pending_compaction_bytes_limit;
  if (compacts && soft > 0 && state.pending_compaction_bytes >= soft) {
    return Stall(StallKind::kSlowed, StallCause::kPendingCompaction, state.pending_compaction_bytes,
                 soft);
  }
  return std::nullopt;
}

namespace {

// Where RocksDB merges nothing of level 0 by itself, its files wait for nobody.
double Backlog(const rocksdb::ColumnFamilyOptions& options, uint64_t level_zero_files) {
  if (options.disable_auto_compactions ||
      options.compaction_style != rocksdb::kCompactionStyleLevel) {
    return 0;
  }
  return static_cast<double>(level_zero_files) /
         std::max(options.level0_file_num_compaction_trigger, 1);
}

}  // namespace

void WriteStalls::Bind(rocksdb::DB* db) {
  std::lock_guard lock(mutex_);
  db_ = db;
  if (db == nullptr) families_.clear();
}

void WriteStalls::AddFamily(std::string name, rocksdb::ColumnFamilyHandle* handle) {
  std::lock_guard lock(mutex_);
  families_[std::move(name)].handle = handle;
}

void WriteStalls::NoteChange(const std::string& family) {
  std::lock_guard lock(changed_mutex_);
  changed_.insert(family);
}

void WriteStalls::Look(const std::string& family) {
  NoteChange(family);
  LookAtChanged();
}

void WriteStalls::LookAtChanged() {
  std::lock_guard lock(mutex_);
  std::set<std::string> changed;
  {
    std::lock_guard changed_lock(changed_mutex_);
    changed.swap(changed_);
  }
  for (const std::string& name : changed) {
    const auto found = families_.find(name);
    if (found != families_.end()) LookLocked(found->first, &found->second);
  }
}

std::vector<WriteStall> WriteStalls::List() {
  std::lock_guard lock(mutex_);
  std::vector<WriteStall> stalls;
  for (auto& [name, family] : families_) {
    LookLocked(name, &family);
    if (family.stall.has_value()) stalls.push_back(*family.stall);
  }
  const int64_t oldest = now_us_() - kRememberedUs;
  while (!ended_.empty() && ended_.back().end_us < oldest) ended_.pop_back();
  stalls.insert(stalls.end(), ended_.begin(), ended_.end());
  return stalls;
}

void WriteStalls::LookLocked(const std::string& name, Family* family) {
  if (db_ == nullptr) return;
  // The counts first: what they tell and the state does not was over before.
  const Counts counts = ReadCounts(family->handle);
  const rocksdb::Options options = db_->GetOptions(family->handle);
  const StallState state = ReadState(family->handle);
  const std::optional<WriteStall> now_holds = FindStall(options, state);
  if (throttle_ != nullptr) {
    throttle_->SetBacklog(family->handle->GetID(), now_holds.has_value()
                                                       ? CompactionThrottle::kMostBacklog
                                                       : Backlog(options, state.level_zero_files));
  }
  const int64_t now = now_us_();
  const auto is = [](const std::optional<WriteStall>& stall, size_t kind, size_t cause) {
    return stall.has_value() && static_cast<size_t>(stall->kind) == kind &&
           static_cast<size_t>(stall->cause) == cause;
  };
  for (size_t kind = 0; family->seen && kind < kKinds; ++kind) {
    for (size_t cause = 0; cause < kCauses; ++cause) {
      if (counts[kind][cause] <= family->counts[kind][cause]) continue;
      if (is(family->stall, kind, cause) || is(now_holds, kind, cause)) continue;
      // It came and went between two looks, which are as close as two changes of the family's
      // files.
      WriteStall missed;
      missed.family = name;
      missed.kind = static_cast<StallKind>(kind);
      missed.cause = static_cast<StallCause>(cause);
      missed.begin_us = now;
      Remember(std::move(missed), now);
    }
  }
  family->counts = counts;
  family->seen = true;

  std::optional<WriteStall>& stall = family->stall;
  if (stall.has_value() && !(now_holds.has_value() && now_holds->kind == stall->kind &&
                             now_holds->cause == stall->cause)) {
    Remember(std::move(*stall), now);
    stall.reset();
  }
  if (!now_holds.has_value()) return;
  if (!stall.has_value()) {
    stall = now_holds;
    stall->family = name;
    stall->begin_us = now;
  }
  stall->value = now_holds->value;
  stall->limit = now_holds->limit;
}

WriteStalls::Counts WriteStalls::ReadCounts(rocksdb::ColumnFamilyHandle* family) const {
  Counts counts{};
  std::map<std::string, std::string> figures;
  if (!db_->GetMapProperty(family, rocksdb::DB::Properties::kCFWriteStallStats, &figures)) {
    return counts;
  }
  for (size_t kind = 0; kind < kKinds; ++kind) {
    for (size_t cause = 0; cause < kCauses; ++cause) {
      const auto found = figures.find(rocksdb::WriteStallStatsMapKeys::CauseConditionCount(
          kRocksDbCauses[cause], kConditions[kind]));
      if (found != figures.end()) {
        counts[kind][cause] = std::strtoull(found->second.c_str(), nullptr, 10);
      }
    }
  }
  return counts;
}

StallState WriteStalls::ReadState(rocksdb::ColumnFamilyHandle* family) const {
  StallState state;
  std::string level_zero_files;
  db_->GetIntProperty(family, rocksdb::DB::Properties::kNumImmutableMemTable, &state.memtables);
  db_->GetIntProperty(family, rocksdb::DB::Properties::kEstimatePendingCompactionBytes,
                      &state.pending_compaction_bytes);
  if (db_->GetProperty(family, rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0",
                       &level_zero_files)) {
    state.level_zero_files = std::strtoull(level_zero_files.c_str(), nullptr, 10);
  }
  return state;
}

void WriteStalls::Remember(WriteStall stall, int64_t now_us) {
  stall.end_us = now_us;
  ended_.push_front(std::move(stall));
  if (ended_.size() > kRemembered) ended_.pop_back();
}

std::shared_ptr<rocksdb::EventListener> MakeStallListener(std::shared_ptr<WriteStalls> stalls) {
  return std::make_shared<StallListener>(std::move(stalls));
}

}  // namespace cairn
