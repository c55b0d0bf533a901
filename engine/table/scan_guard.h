// What a locking scan has locked of its index, where the transaction locks ranges
// (Transaction::LocksRanges).
//
// The keys between first() and end() are locked; they grow with the scan. What an iterator that was
// made before showed of keys that are locked now is not to be believed any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Functions that lock give the errors of Transaction::LockRange, and kSnapshotConflict where reads
// repeat and others have put entries there, or removed some, since the snapshot.
class ScanGuard {
 public:
  // For a statement; both outlive it.
  void Begin(Transaction* transaction, const IndexDefinition* index, LockMode mode);
  void End() { transaction_ = nullptr; }
  bool active() const { return transaction_ != nullptr; }

  // The scan begins at a key, where nothing is locked yet; or on a row that is.
  void StartAt(std::string_view key);
  void StartOnRow(std::string_view key);
  // The scan wants the keys from `first` up to `end`, or all of the index, and knows it.
  Status Lock(std::string_view first, std::string_view end);
  Status LockIndex();

  const std::string& first() const { return first_; }
  const std::string& end() const { return end_; }
  bool is_placed() const { return !end_.empty(); }
  bool ReachesFirst() const;
  bool ReachesEnd() const;

  // How many entries the next extension should cover: more and more, so that short scans lock
  // little and long ones seldom.
  uint32_t NextStep();
  // Locks on to `key`, inclusively, or with no key to the end of the index in that direction.
  Status ExtendForward(const std::string* key);
  Status ExtendBackward(const std::string* key);

 private:
  Status LockKeys(std::string_view first, std::string_view end);
  Status CheckUnchanged(std::string_view first, std::string_view end);

  Transaction* transaction_ = nullptr;
  const IndexDefinition* index_ = nullptr;
  LockMode mode_ = LockMode::kShared;
  std::string first_;
  std::string end_;
  uint32_t step_ = 1;
};

}  // namespace cairn
