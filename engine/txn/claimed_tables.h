// The tables that a transaction has claimed (locks/table_claims.h), and what it would have locked
// there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog/dictionary.h"
#include "engine/locks/lock_mode.h"
#include "engine/locks/table_claims.h"
#include "engine/store/database.h"
#include "rocksdb/utilities/transaction.h"

namespace cairn {

// Part of a Transaction and used by its thread. As long as it stands, others may lock with
// RocksDB's transaction what is noted here; so whoever uses the locks of that, or ends it, holds
// Guard().
class ClaimedTables {
 public:
  explicit ClaimedTables(Database* database) : database_(database) {}
  ~ClaimedTables();
  ClaimedTables(const ClaimedTables&) = delete;
  ClaimedTables& operator=(const ClaimedTables&) = delete;

  // Whether there are claims, or were and the transaction has not met their end.
  bool any() const { return claimant_ != nullptr; }

  // Claims a table where nobody but `holder` has a lock, which takes what is noted when the claims
  // end before the transaction does; its lock time-out is 0 then. Returns whether the table is
  // claimed now.
  bool Claim(rocksdb::Transaction* holder, const TableDefinition& table);
  // The same for the values of foreign keys, whose numbers are no index's.
  bool ClaimForeignKeyValues(rocksdb::Transaction* holder, const std::vector<uint32_t>& numbers);

  enum class Cover : uint8_t {
    kNone,    // To be locked; no claim is left, as a transaction that may wait must not have any.
    kNoted,   // As good as locked.
    kOwn,     // The same; what is committed has no such key, what the transaction has written may.
    kUnused,  // The same; neither has.
  };
  Cover Note(std::string_view key, LockMode mode);
  // With Hold(): what was noted last is not to be locked, if it is this key.
  void TakeBack(std::string_view key);

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
    bool was_empty;  // There is nothing committed; where rows are written without a lock, nobody
                     // knows.
    std::string highest;  // Of the keys that the transaction has locked or noted.
  };

  bool ClaimAll(rocksdb::Transaction* holder, std::vector<ClaimedIndex> indexes);
  static ClaimedIndex* Find(std::string_view key, std::vector<ClaimedIndex>* indexes);
  bool IsEmpty(const ClaimedIndex& index) const;
  bool LookAround(std::vector<ClaimedIndex>* indexes) const;
  void LockNoted();
  void LockKey(const ColumnFamily& family, std::string_view key, LockMode mode);
  void Forget();

  Database* const database_;
  std::shared_ptr<TableClaims::Claimant> claimant_;
  // Guarded by the claimant's mutex from here on, while it stands.
  rocksdb::Transaction* holder_ = nullptr;
  std::vector<ClaimedIndex> indexes_;
  std::string
      noted_;  // Of each key: mode, position in indexes_, length (two numbers of 4 bytes), bytes.
  size_t noted_count_ = 0;
  size_t last_noted_ = 0;  // Where the last one begins in noted_.
};

}  // namespace cairn
