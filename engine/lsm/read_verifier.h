// Asks RocksDB's own reader after ours, over the same state, and compares.
//
// The readers of this folder know RocksDB's memory and files from within. A mistake in them, or in
// what they assume of RocksDB, would be a wrong answer without a word. With a verifier each answer
// of theirs is compared with the one that RocksDB's iterator gives for the same version of the
// files and the same sequence number. Two answers that differ become an error, and a message in the
// log.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/log.h"
#include "rocksdb/iterator.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace cairn::lsm {

// Counts what was compared and what differed, since it was made. Thread-safe.
class ReadVerifier {
 public:
  explicit ReadVerifier(Log* log) : log_(log) {}

  // What a reader has at one place: an entry, nothing, or an error.
  struct Answer {
    rocksdb::Status status;
    bool has_entry = false;
    rocksdb::Slice key;
    rocksdb::Slice value;

    void SetEntry(const rocksdb::Slice& its_key, const rocksdb::Slice& its_value) {
      has_entry = true;
      key = its_key;
      value = its_value;
    }
  };

  // Ok if both say the same. An error of either is the outcome as it is: RocksDB's before ours, as
  // we might have answered from data that it finds damaged. Else kCorruption, with both answers in
  // the log. `family` is the name of the column family.
  rocksdb::Status Compare(std::string_view family, const Answer& ours, const Answer& theirs);

  uint64_t compared() const { return compared_.load(std::memory_order_relaxed); }
  uint64_t differing() const { return differing_.load(std::memory_order_relaxed); }

 private:
  Log* const log_;
  std::atomic<uint64_t> compared_{0};
  std::atomic<uint64_t> differing_{0};
};

// Moves both iterators, which show the same state, and compares them after each move. Where they
// differ it is not valid, with the status of ReadVerifier::Compare. `verifier` and `family` outlive
// it.
std::unique_ptr<rocksdb::Iterator> NewVerifiedIterator(std::unique_ptr<rocksdb::Iterator> ours,
                                                       std::unique_ptr<rocksdb::Iterator> theirs,
                                                       ReadVerifier* verifier,
                                                       std::string_view family);

}  // namespace cairn::lsm
