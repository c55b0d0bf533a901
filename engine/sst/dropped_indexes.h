// The indexes that are dropped but still have entries on disk (docs/stock-format.md, 14).
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include "engine/codec/dictionary_record.h"

namespace cairn {

// Thread-safe; compactions take a snapshot of it when they start. Mutex: mutex_ guards current_.
class DroppedIndexes {
 public:
  using Set = std::set<IndexId>;

  void Add(IndexId id);
  void Remove(IndexId id);
  std::shared_ptr<const Set> Get() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Set> current_ = std::make_shared<Set>();
};

}  // namespace cairn
