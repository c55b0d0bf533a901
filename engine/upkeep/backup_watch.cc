#include "engine/upkeep/backup_watch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kIdleInterval(1000);
// At a hundred megabytes a second, what is written between two looks is little against what may be
// left.
constexpr std::chrono::milliseconds kBackupInterval(100);

uint64_t PropertyOf(const Database& database, const ColumnFamily& family,
                    const std::string& property) {
  uint64_t value = 0;
  return database.rocksdb()->GetIntProperty(family.handle, property, &value) ? value : 0;
}

}  // namespace

BackupWatch::BackupWatch(Database* database, std::function<bool()> copy_is_in_use)
    : database_(database), copy_is_in_use_(std::move(copy_is_in_use)) {
  thread_ = std::thread([this] { Run(); });
}

BackupWatch::~BackupWatch() {
  alarm_.Stop();
  thread_.join();
}

void BackupWatch::Begin() {
  backing_up_ = true;
  begins_ = true;
  alarm_.Ring();
}

void BackupWatch::End() { backing_up_ = false; }

void BackupWatch::Run() {
  bool failing = false;
  while (alarm_.Wait(backing_up_ ? kBackupInterval : kIdleInterval)) {
    RemoveOldCopy();
    if (!backing_up_ || memtable_bytes_ == 0) continue;
    // Flushes take their time: what is being written out and what comes meanwhile make up the rest.
    const Status flushed = FlushAbove(begins_.exchange(false) ? 0 : memtable_bytes_ / 2);
    if (!flushed.ok() && !failing) {
      database_->log().Write(Severity::kWarning,
                             "writing out memtables for a backup: " + flushed.ToString());
    }
    failing = !flushed.ok();
  }
}

Status BackupWatch::FlushAbove(uint64_t bytes) {
  std::vector<std::pair<uint64_t, const ColumnFamily*>> memtables;
  uint64_t left = 0;
  for (const ColumnFamily* family : database_->families().All()) {
    using Properties = rocksdb::DB::Properties;
    if (PropertyOf(*database_, *family, Properties::kNumEntriesActiveMemTable) == 0) continue;
    memtables.emplace_back(PropertyOf(*database_, *family, Properties::kCurSizeActiveMemTable),
                           family);
    left += memtables.back().first;
  }
  std::sort(memtables.begin(), memtables.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  rocksdb::FlushOptions options;
  options.wait = false;
  for (const auto& [size, family] : memtables) {
    if (left <= bytes) break;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(database_->rocksdb()->Flush(options, family->handle)));
    left -= size;
  }
  return Status();
}

void BackupWatch::RemoveOldCopy() {
  BackupCheckpoint& copy = database_->maintenance().backup_checkpoint();
  if (!copy.IsOlderThan(expire_seconds_, database_->NowSeconds()) || copy_is_in_use_()) return;
  const uint64_t bytes = copy.bytes();
  const Status removed = copy.Remove();
  if (removed.ok()) {
    database_->log().Write(Severity::kWarning, "removed " + copy.path() + " (" +
                                                   std::to_string(bytes) +
                                                   " bytes): a backup has left it long ago");
  } else if (!removal_fails_) {
    database_->log().Write(Severity::kWarning, "what a backup has left: " + removed.ToString());
  }
  removal_fails_ = !removed.ok();
}

}  // namespace cairn
