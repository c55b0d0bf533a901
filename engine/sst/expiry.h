// Rows that expire (TTL, docs/stock-format.md, 8): which indexes have them, after how many seconds,
// and what is done about those that have expired.
//
// Expired rows are hidden from reads at once and removed by the compactions that meet them. Each
// can be switched off.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/codec/dictionary_record.h"
#include "rocksdb/db.h"

namespace cairn {

// Whether a row stamped `stamp` is gone at the time `now`; all in seconds, the first and the last
// since the epoch. A sum beyond 64 bits never comes, so that the largest stamps and durations mean
// "never". Nor does a row expire in a table whose duration is 0.
constexpr bool IsExpired(uint64_t stamp, uint64_t duration_seconds, uint64_t now) {
  return duration_seconds != 0 && stamp <= now && now - stamp >= duration_seconds;
}

// Thread-safe. Mutex: mutex_ guards rules_.
class Expiry {
 public:
  struct Rule {
    uint64_t duration_seconds = 0;
    IndexKind kind = IndexKind::kPrimary;
  };
  using Rules = std::map<IndexId, Rule>;

  // The indexes whose entries expire. Compactions take a snapshot of them when they start.
  void Add(const Rules& rules);
  void Remove(IndexId id);
  std::shared_ptr<const Rules> Get() const;

  // Whether compactions remove expired entries (rocksdb_enable_ttl), and whether reads hide them
  // meanwhile (rocksdb_enable_ttl_read_filtering, which the first switches off too).
  void SetRemoves(bool removes) { removes_.store(removes, std::memory_order_relaxed); }
  void SetHides(bool hides) { hides_.store(hides, std::memory_order_relaxed); }
  bool removes() const { return removes_.load(std::memory_order_relaxed); }
  bool hides() const { return removes() && hides_.load(std::memory_order_relaxed); }

  // From the first call on compactions remove; with null they no longer do. `db` is open in
  // between.
  void Bind(rocksdb::DB* db) { db_.store(db); }
  // The time at which a compaction judges: no snapshot is older, so that no transaction loses what
  // it saw. Nothing while no database is bound. Takes RocksDB's mutex.
  std::optional<uint64_t> CompactionTime() const;

  // Rows that reads passed over and entries that compactions removed, since the start.
  void CountHidden() { hidden_rows_.fetch_add(1, std::memory_order_relaxed); }
  void CountRemoved(uint64_t count) {
    removed_entries_.fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t hidden_rows() const { return hidden_rows_.load(std::memory_order_relaxed); }
  uint64_t removed_entries() const { return removed_entries_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Rules> rules_ = std::make_shared<Rules>();
  std::atomic<bool> removes_{true};
  std::atomic<bool> hides_{true};
  std::atomic<rocksdb::DB*> db_{nullptr};
  std::atomic<uint64_t> hidden_rows_{0};
  std::atomic<uint64_t> removed_entries_{0};
};

// The time of RocksDB's clock in seconds since the epoch; its snapshots are dated by the same
// clock.
uint64_t NowSeconds(rocksdb::DB* db);

}  // namespace cairn
