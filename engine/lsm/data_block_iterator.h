// Walks through the entries of a data block as they lie in the block cache, from the first one or
// from a key on.
//
// A step takes 84 instructions, half of what one of RocksDB's own iterator over a block takes,
// which goes backward as well and reports damage. This one stops at what does not fit together:
// RocksDB is to be asked then. It knows the layout that block_search.h knows. Knows no RocksDB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/lsm/block_layout.h"
#include "engine/lsm/block_search.h"

namespace cairn::lsm {

class DataBlockIterator {
 public:
  enum class Step : uint8_t {
    kEntry,   // It stands on one.
    kEnd,     // There is no further one. key() and value() are those of the last.
    kDamage,  // What is there is no entry. After Next() likewise.
  };

  DataBlockIterator() = default;  // Through a block without entries.
  DataBlockIterator(const DataBlockIterator&) = delete;
  DataBlockIterator& operator=(const DataBlockIterator&) = delete;

  // Stands before the first entry. `block` stays as it is for as long as entries of it are looked
  // at. With `file_sequence` all entries have that number instead of their own. False: not a block
  // that this knows; it stands where it stood.
  bool Open(std::string_view block, const uint64_t* file_sequence) {
    BlockView view;
    if (!OpenBlock(block, &view)) return false;
    view_ = view;
    at_ = view.begin;
    file_sequence_ = file_sequence;
    // A file that was brought in before anything else has the number that its entries have.
    has_own_versions_ = file_sequence == nullptr || *file_sequence == 0;
    key_bytes_ = 0;
    return true;
  }

  // To the first entry that is not before the version of `key.user_key` with that footer, which
  // begins with `key.sequence`.
  Step Seek(const BlockKey& key, uint64_t footer);

  // Inline, as each row that is scanned takes this step.
  [[gnu::always_inline]] inline Step Next() {
    if (at_ >= view_.restarts) return Step::kEnd;
    EntryHead head;
    if (!ReadHead</*values_have_sizes=*/true>(at_, view_.restarts, &head) ||
        head.shared > key_bytes_ || size_t{head.shared} + head.rest < kVersionBytes) [[unlikely]] {
      return Step::kDamage;
    }
    key_bytes_ = size_t{head.shared} + head.rest;
    if (head.shared == 0) {
      key_ = head.key_rest;
    } else {
      TakeKey(head);
    }
    value_ = {head.value(), head.value_bytes};
    at_ = head.value() + head.value_bytes;
    shown_key_ = key_;
    if (!has_own_versions_) [[unlikely]]
      ShowFileSequence();
    return Step::kEntry;
  }

  // Of the entry where it stands: with the footer, until the next step or another block, and in the
  // block.
  std::string_view key() const { return {shown_key_, key_bytes_}; }
  std::string_view value() const { return value_; }

 private:
  // A few bytes, some of which are past the end: behind the last entry of a block lie two words of
  // four bytes, and behind a key of ours as many.
  static void CopyWords(const char* from, size_t bytes, char* to) {
    for (size_t i = 0; i < bytes; i += kWordBytes) {
      std::memcpy(to + i, from + i, kWordBytes);
    }
  }

  // Makes up a key that begins as the one before.
  void TakeKey(const EntryHead& head) {
    if (key_bytes_ > key_capacity_) [[unlikely]]
      Grow(head.shared);
    if (key_ != own_key_) {
      CopyWords(key_, head.shared, own_key_);
      key_ = own_key_;
    }
    CopyWords(head.key_rest, head.rest, own_key_ + head.shared);
  }

  [[gnu::cold]] void Grow(size_t kept);
  void ShowFileSequence();

  BlockView view_ = {};
  const char* at_ = nullptr;  // Where the next entry begins.
  const uint64_t* file_sequence_ = nullptr;
  bool has_own_versions_ = true;
  const char* key_ = nullptr;        // As the block has it, or put together in own_key_.
  const char* shown_key_ = nullptr;  // The same with another footer, in shown_copy_, or key_.
  size_t key_bytes_ = 0;
  std::string_view value_;
  char first_own_key_[64];
  char* own_key_ = first_own_key_;
  size_t key_capacity_ = sizeof(first_own_key_) - kWordBytes;
  std::unique_ptr<char[]> longer_own_key_;
  std::unique_ptr<char[]> shown_copy_;
  size_t shown_capacity_ = 0;
};

}  // namespace cairn::lsm
