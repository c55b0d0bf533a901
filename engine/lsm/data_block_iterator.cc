#include "engine/lsm/data_block_iterator.h"

#include <algorithm>
#include <utility>

namespace cairn::lsm {

DataBlockIterator::Step DataBlockIterator::Seek(const BlockKey& key, uint64_t footer) {
  int64_t before;
  if (!FindRestart</*keys_have_versions=*/true, /*values_have_sizes=*/true>(view_, file_sequence_,
                                                                            key, &before)) {
    return Step::kDamage;
  }
  const char* const restart = view_.Restart(std::max<int64_t>(before, 0));
  if (restart >= view_.restarts) return Step::kDamage;
  at_ = restart;
  key_bytes_ = 0;
  Step step;
  while ((step = Next()) == Step::kEntry) {
    const size_t user_bytes = key_bytes_ - kVersionBytes;
    const int order = CompareWithKey(shown_key_, user_bytes, key);
    if (order > 0) break;
    // Newer versions come first.
    if (order == 0 && LoadNumber<uint64_t>(shown_key_ + user_bytes) <= footer) break;
  }
  return step;
}

void DataBlockIterator::Grow(size_t kept) {
  const size_t capacity = 2 * key_bytes_;
  auto longer = std::make_unique_for_overwrite<char[]>(capacity + kWordBytes);
  std::memcpy(longer.get(), key_, kept);
  longer_own_key_ = std::move(longer);
  own_key_ = longer_own_key_.get();
  key_ = own_key_;
  key_capacity_ = capacity;
}

void DataBlockIterator::ShowFileSequence() {
  if (key_bytes_ > shown_capacity_) {
    shown_capacity_ = 2 * key_bytes_;
    shown_copy_ = std::make_unique_for_overwrite<char[]>(shown_capacity_);
  }
  const size_t user_bytes = key_bytes_ - kVersionBytes;
  std::memcpy(shown_copy_.get(), key_, user_bytes);
  const uint64_t type = LoadNumber<uint64_t>(key_ + user_bytes) & 0xff;
  const uint64_t footer = *file_sequence_ << 8 | type;
  std::memcpy(shown_copy_.get() + user_bytes, &footer, sizeof(footer));
  shown_key_ = shown_copy_.get();
}

}  // namespace cairn::lsm
