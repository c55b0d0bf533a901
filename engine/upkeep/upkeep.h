// What runs behind the sessions: the once-a-second log sync, the removal of dropped indexes, the
// statistics of indexes, and what makes reads cheaper: the writing out of memtables, the merging of
// files of level 0.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/catalog/dictionary.h"
#include "engine/store/database.h"
#include "engine/upkeep/alarm.h"

namespace cairn {

// Owns four threads from construction to destruction. All functions may be called from any thread.
class Upkeep {
 public:
  // Both outlive this.
  Upkeep(Database* database, Dictionary* dictionary);
  ~Upkeep();
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  // Asks for the removal of the entries of dropped indexes now; returns at once.
  void RemoveDroppedIndexes();

  // Counts the families of so many indexes anew every second, one after the other; 0: only what
  // changes.
  void SetRecountRate(uint32_t indexes_per_s) { recount_rate_ = indexes_per_s; }

  // Counts the files that changed and keeps the figures in the dictionary, now.
  Status UpdateStatistics();

 private:
  void SyncLogLoop();
  void RemoveDroppedIndexesLoop();
  void KeepStatisticsLoop();
  void MergeLoop();
  Status RemoveIndex(IndexId id);
  void MarkNextIndexesStale();

  Database* const database_;
  Dictionary* const dictionary_;
  Alarm sync_alarm_;
  Alarm removal_alarm_;
  Alarm statistics_alarm_;
  Alarm merge_alarm_;
  std::atomic<bool> cancel_compaction_{false};
  std::atomic<uint32_t> recount_rate_{0};
  uint32_t last_recounted_ = 0;  // An index number. Of the statistics thread.
  std::thread sync_thread_;
  std::thread removal_thread_;
  std::thread statistics_thread_;
  std::thread merge_thread_;
};

}  // namespace cairn
