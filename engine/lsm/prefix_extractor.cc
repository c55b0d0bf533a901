#include "engine/lsm/prefix_extractor.h"

#include <utility>

namespace cairn::lsm {
void PrefixExtractor::Replace(std::shared_ptr<const rocksdb::SliceTransform> extractor) {
  const rocksdb::SliceTransform* const current = extractor.get();
  if (extractor != nullptr && (kept_.empty() || kept_.back() != extractor)) {
    kept_.push_back(std::move(extractor));
  }
  current_ = current;
}

bool MayAskPrefixFilters(const rocksdb::SliceTransform* extractor, const ConfinedSeek& seek) {
  if (extractor == nullptr) return false;
  const rocksdb::Slice common = seek.common;
  const rocksdb::Slice target = seek.target;
  if (!extractor->InDomain(common) || !extractor->InDomain(target)) return false;
  if (!extractor->SameResultWhenAppended(common) && !seek.common_is_key) return false;
  return extractor->Transform(target) == extractor->Transform(common);
}

}  // namespace cairn::lsm
