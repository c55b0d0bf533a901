// The prefix extractor of a column family, which a SET may replace while statements read.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "rocksdb/slice_transform.h"

namespace cairn::lsm {

// Thread-safe, but for calls of Replace() and Suspend(), which come one after another.
class PrefixExtractor {
 public:
  // That of every iterator which is made while this stays the same. Null: there is none, or it is
  // being replaced. Valid as long as this object.
  const rocksdb::SliceTransform* current() const { return current_; }

  void Suspend() { current_ = nullptr; }
  void Replace(std::shared_ptr<const rocksdb::SliceTransform> extractor);

 private:
  std::atomic<const rocksdb::SliceTransform*> current_{nullptr};
  // All there have been, so that an address stands for one extractor. RocksDB's memtables too keep
  // nothing but the address of the one that they were made with.
  std::vector<std::shared_ptr<const rocksdb::SliceTransform>> kept_;
};

// What a read wants, in key bytes: it seeks to `target`, and every entry of interest starts with
// `common`.
struct ConfinedSeek {
  std::string_view target;
  std::string_view common;
  bool common_is_key = false;  // No other entry than that of the key `common` starts with it.
};

// Whether files without the prefix of the target hold nothing that the read wants, so that it may
// ask their prefix filters.
bool MayAskPrefixFilters(const rocksdb::SliceTransform* extractor, const ConfinedSeek& seek);

}  // namespace cairn::lsm
