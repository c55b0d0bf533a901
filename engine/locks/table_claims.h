// Tables that one transaction fills alone, so that its rows need no locks as long as nobody else
// wants any there.
//
// A transaction that loads a table would lock each row, which takes longer than the row does. It
// claims the table instead, and merely notes what it would have locked. Whoever locks a key looks
// afterwards whether somebody else has claimed its table; if so, he has what that one noted locked
// for it (Revoke()), and tries again. Nobody waits for a claim to end: a claimant whose client
// sends nothing for an hour is in nobody's way.
//
// That no lock slips through: a claimant looks for locks of others after its claim can be seen,
// everybody else looks for claims after its lock can be seen. Both go through the mutexes of
// RocksDB's lock table, so one of them sees the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"

namespace cairn {

// Thread-safe. Mutexes: that of a claimant is taken first; mutex_ guards the map and is held for
// moments.
class TableClaims {
 public:
  // A transaction, as it is seen by those who want a lock in what it has claimed. Shared with them.
  class Claimant {
   public:
    // `lock_noted` locks what was noted, whichever thread calls it, with mutex() held, and waits
    // for nothing but locks that are about to be given back.
    explicit Claimant(std::function<void()> lock_noted) : lock_noted_(std::move(lock_noted)) {}

    // The transaction holds it while it uses what `lock_noted` uses.
    std::mutex& mutex() { return mutex_; }

   private:
    friend class TableClaims;
    std::mutex mutex_;
    const std::function<void()> lock_noted_;
    std::vector<uint32_t> indexes_;  // Guarded by mutex_.
  };

  // Costs a read of memory that hardly ever changes.
  bool any() const { return claims_.load(std::memory_order_acquire) != 0; }
  // How many have ended. Who reads what he locks asks before: a claim may have ended, and its
  // changes may have been committed, between his read and his look for claims.
  uint64_t ended() const { return ended_.load(std::memory_order_acquire); }
  // That a key begins with (docs/stock-format.md, 2); 0, which no table has, for one that is too
  // short. Of the value of a foreign key (docs/on-disk-format.md) its number, which no index has.
  static uint32_t IndexNumberOf(std::string_view key) {
    constexpr uint32_t kForeignKey = 0x46;  // A number of records in the dictionary, not of rows.
    if (key.size() < sizeof(uint32_t)) return 0;
    const auto number = LoadBigEndian<uint32_t>(key.data());
    if (number != kForeignKey || key.size() < 2 * sizeof(uint32_t)) return number;
    return LoadBigEndian<uint32_t>(key.data() + sizeof(uint32_t));
  }
  // Null when nobody has claimed the index of this number.
  std::shared_ptr<Claimant> ClaimantOf(uint32_t index_number) const;

  // Claims all of these indexes, or none when another one has claimed any of them. The claimant's
  // mutex is held.
  bool Claim(const std::shared_ptr<Claimant>& claimant, const std::vector<uint32_t>& index_numbers);
  // Whether the claims stand. The claimant's mutex is held.
  static bool Stands(const Claimant& claimant) { return !claimant.indexes_.empty(); }
  // Ends the claims without locking anything: the transaction is over. The claimant's mutex is
  // held.
  void Drop(Claimant* claimant);
  // Has what was noted locked and ends the claims, if they stand. The claimant's mutex is held, or
  // taken.
  void Exchange(Claimant* claimant);
  void Revoke(const std::shared_ptr<Claimant>& claimant);
  // The same for whoever has claimed an index, and for all.
  void RevokeIndex(uint32_t index_number);
  void RevokeAll();

 private:
  std::atomic<size_t> claims_{0};   // As many as the map has.
  std::atomic<uint64_t> ended_{0};  // Raised before claims_ says so.
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<Claimant>> claimants_;  // By index number.
};

}  // namespace cairn
