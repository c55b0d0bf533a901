// What runs behind the sessions for the sake of backups.
//
// The copy of the database that a backup is made from is taken while all commits of the server
// stand still, and needs the memtables in files. So while a backup goes on, which mostly is the
// copying of InnoDB, they are kept small. And a copy that mariadb-backup has left behind goes a day
// later.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "engine/store/database.h"
#include "engine/upkeep/alarm.h"

namespace cairn {

// Owns a thread from construction to destruction. All functions may be called from any thread.
class BackupWatch {
 public:
  // `copy_is_in_use` says whether a session holds the lock under which mariadb-backup uses its
  // copy; it is called by the thread of this. `database` outlives this.
  BackupWatch(Database* database, std::function<bool()> copy_is_in_use);
  ~BackupWatch();
  BackupWatch(const BackupWatch&) = delete;
  BackupWatch& operator=(const BackupWatch&) = delete;

  // A backup begins: the memtables are written out, and again and again until End(). They return at
  // once.
  void Begin();
  void End();

  // About how much of memtables is left to be written out by the copy of a backup; 0: they are left
  // alone.
  void SetMemtableBytes(uint64_t bytes) { memtable_bytes_ = bytes; }

  // After how long the copy in the database's directory is taken for one that was left.
  void SetExpireSeconds(uint64_t seconds) { expire_seconds_ = seconds; }

 private:
  void Run();
  void RemoveOldCopy();
  // Begins to write out memtables, the largest first, until no more than `bytes` are left.
  Status FlushAbove(uint64_t bytes);

  Database* const database_;
  const std::function<bool()> copy_is_in_use_;
  Alarm alarm_;
  std::atomic<bool> backing_up_{false};
  std::atomic<bool> begins_{false};
  std::atomic<uint64_t> memtable_bytes_{64 << 20};
  std::atomic<uint64_t> expire_seconds_{uint64_t{24} * 60 * 60};
  bool removal_fails_ = false;  // Of the thread.
  std::thread thread_;
};

}  // namespace cairn
