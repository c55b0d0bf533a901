// The tables that a transaction has claimed (store/table_claims.h), and what it would have locked there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog/dictionary.h"
#include "engine/store/database.h"
#include "engine/store/lock_mode.h"
#include "engine/store/table_claims.h"
#include "rocksdb/utilities/transaction.h"

namespace cairn {

// Part of a Transaction and used by its thread. As long as it stands, others may lock with RocksDB's transaction what is
// noted here; so whoever uses the locks of that, or ends it, holds Guard().
class ClaimedTables {
 public:
  explicit ClaimedTables(Database* database) : database_(database) {}
  ~ClaimedTables();
  ClaimedTables(const ClaimedTables&) = delete;
  ClaimedTables& operator=(const ClaimedTables&) = delete;

  // Whether there are claims, or were and the transaction has not met their end.
  bool any() const { return claimant_ != nullptr; }

  // Claims a table that has no rows and where nobody holds a lock. `holder` takes the locks when the claims end before
  // the transaction does; its lock time-out is 0 then. Returns whether the table is claimed now.
  bool ClaimIfEmpty(rocksdb::Transaction* holder, const TableDefinition& table);

  enum class Cover : uint8_t {
    kNone,    // To be locked; no claim is left, as a transaction that may wait must not have any.
    kNoted,   // As good as locked. What is committed has no such key; what the transaction has written may.
    kUnused,  // The same, and the transaction has written no such key either.
  };
  Cover Note(std::string_view key, LockMode mode);

  // Of what is noted.
  size_t noted_count() const { return noted_count_; }
  size_t noted_bytes() const { return noted_.capacity(); }

  // Holds others off; the claims, if any, may have ended before.
  class Held {
   public:
    Held() = default;
    explicit Held(std::shared_ptr<TableClaims::Claimant> claimant)
        : claimant_(std::move(claimant)), lock_(claimant_->mutex()) {}

   private:
    std::shared_ptr<TableClaims::Claimant> claimant_;
    std::unique_lock<std::mutex> lock_;
  };
  Held Hold() const { return claimant_ == nullptr ? Held() : Held(claimant_); }
  // With Hold(): whether nobody has come yet.
  bool Stand() const { return claimant_ != nullptr && TableClaims::Stands(*claimant_); }
  // With Hold(): the transaction is over, or keeps its locks for somebody else to release.
  void Drop();
  void ExchangeForLocks();

 private:
  // Of a claimed table. Keys of RocksDB's families start with the number of their index.
  struct ClaimedIndex {
    uint32_t number;
    const ColumnFamily* family;
    std::string highest;  // Of the keys that were noted.
  };

  ClaimedIndex* Find(std::string_view key);
  bool IsEmpty(const IndexEntry& index) const;
  bool IsLockedByOthers(const std::vector<uint32_t>& index_numbers) const;
  void LockNoted();
  void LockKey(const ColumnFamily& family, std::string_view key, LockMode mode);
  void Forget();

  Database* const database_;
  std::shared_ptr<TableClaims::Claimant> claimant_;
  // Guarded by the claimant's mutex from here on, while it stands.
  rocksdb::Transaction* holder_ = nullptr;
  std::vector<ClaimedIndex> indexes_;
  std::string noted_;  // Of each key: mode, position in indexes_, length (two numbers of 4 bytes), bytes.
  size_t noted_count_ = 0;
};

}  // namespace cairn
