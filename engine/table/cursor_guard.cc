// Cursor: where the transaction locks ranges, a scan locks its way before it looks at it.
#include <optional>
#include <string>

#include "engine/base/bytes.h"
#include "engine/table/cursor.h"

namespace cairn {

// Locks what the read is about, as far as that is known; a read without an end goes on by
// ExtendGuard().
Status Cursor::GuardRead(std::string_view prefix, Start start) {
  if (!guard_.active()) return Status();
  position_.DropIterator();
  std::string behind;
  if (!PrefixSuccessor(prefix, &behind)) return guard_.LockIndex();
  switch (start) {
    case Start::kExact:
    case Start::kLastExact:
      return guard_.Lock(prefix, behind);
    case Start::kAtOrAfter:
      return guard_.Lock(prefix, range_end_);
    case Start::kAfter:
      return guard_.Lock(behind, range_end_);
    case Start::kAtOrBefore:
      guard_.StartAt(behind);
      return Status();
    case Start::kBefore:
      guard_.StartAt(prefix);
      return Status();
  }
  return Status();
}

// A scan that goes on from a place which it left has not locked its way there, unless it still has
// the guard.
Status Cursor::GuardPlace() {
  if (!guard_.active() || guard_.is_placed()) return Status();
  position_.DropIterator();
  return guard_.LockIndex();
}

// Sees to it that the entry where the iterator stands, or the end where it ran out, is locked.
// False: the scan ends before that. The iterator may have come to stand elsewhere.
Result<bool> Cursor::GuardEntry(Direction direction, bool exact) {
  const bool forward = direction == Direction::kForward;
  while (true) {
    if (!iterator()->Valid()) {
      CAIRN_RETURN_IF_ERROR(iterator()->status());
      if (exact || (forward ? guard_.ReachesEnd() : guard_.ReachesFirst())) return false;
    } else if (forward ? iterator()->key() < guard_.end() : iterator()->key() >= guard_.first()) {
      return true;
    }
    const bool ends_here = forward && !range_end_.empty() && guard_.end() >= range_end_;
    if (exact || ends_here) return false;
    CAIRN_RETURN_IF_ERROR(ExtendGuard(direction));
  }
}

// Locks the way to the entry where the iterator stands, with more and more of those behind it, and
// looks again.
Status Cursor::ExtendGuard(Direction direction) {
  const bool forward = direction == Direction::kForward;
  const std::string from = forward ? guard_.end() : guard_.first();
  const uint32_t step = guard_.NextStep();
  for (uint32_t i = 1; i < step && iterator()->Valid(); ++i) {
    forward ? iterator()->Next() : iterator()->Previous();
  }
  std::optional<std::string> last;
  if (iterator()->Valid()) {
    last.emplace(iterator()->key());
  } else {
    CAIRN_RETURN_IF_ERROR(iterator()->status());
  }
  const std::string* const key = last.has_value() ? &*last : nullptr;
  position_.DropIterator();
  CAIRN_RETURN_IF_ERROR(forward ? guard_.ExtendForward(key) : guard_.ExtendBackward(key));
  position_.Ensure();
  if (forward) {
    iterator()->SeekAtOrAfter(from);
  } else {
    iterator()->SeekBefore(from);
  }
  return Status();
}

}  // namespace cairn
