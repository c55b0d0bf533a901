// The indexes that are dropped but still have entries on disk (docs/stock-format.md, 14), and what
// is dropped of deltas while they are written (catalog/index_build_state.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "engine/codec/dictionary_record.h"

namespace cairn {

// Thread-safe; compactions take a snapshot of it when they start. Mutex: mutex_ guards current_ and
// fronts_.
class DroppedIndexes {
 public:
  using Set = std::set<IndexId>;
  // What is dropped of an index that goes on: keys below `end`, in the order of bytes.
  struct Front {
    std::string end;
    bool reverse = false;  // Its family sorts from the end to the beginning.
  };
  using Fronts = std::map<IndexId, Front>;

  // The whole index.
  void Add(IndexId id);
  // Nobody reads keys below `end` any more. Only more of an index can go.
  void AddFront(IndexId id, Front front);
  void Remove(IndexId id);
  std::shared_ptr<const Set> Get() const;
  // Of indexes that are not dropped as a whole.
  std::shared_ptr<const Fronts> GetFronts() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Set> current_ = std::make_shared<Set>();
  std::shared_ptr<const Fronts> fronts_ = std::make_shared<Fronts>();
};

}  // namespace cairn
