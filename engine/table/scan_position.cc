#include "engine/table/scan_position.h"

#include <utility>

namespace cairn {

void ScanPosition::ShowLatest() {
  iterators_.ShowLatest();
  on_entry_ = false;
}

// --- Reads that start anew ----------------------------------------------------------------------

void ScanPosition::Confine(std::string_view prefix, bool ends_there) {
  prefix_.assign(prefix);
  ends_with_prefix_ = ends_there;
}

void ScanPosition::GoBeyondPrefix(ScanDirection direction) {
  Ensure();
  if (direction == ScanDirection::kBackward) {
    iterator()->SeekBefore(prefix_);
  } else if (PrefixSuccessor(prefix_, &target_)) {
    iterator()->SeekAtOrAfter(target_);
  } else {
    iterator()->SeekToLast();
    if (iterator()->Valid()) iterator()->Next();
  }
}

bool ScanPosition::Seek(std::string_view prefix, ReadStart start, bool prefix_is_key) {
  const bool forward = IsForward(start);
  if (!IsBehindPrefix(start)) {
    target_.assign(prefix);
  } else if (!PrefixSuccessor(prefix, &target_)) {  // Nothing sorts behind it.
    if (forward) return false;
    SeekToLast();
    return true;
  }
  iterators_.EnsureFor({target_, prefix_, prefix_is_key});
  if (forward) {
    iterator()->SeekAtOrAfter(target_);
  } else {
    iterator()->SeekBefore(target_);
  }
  return true;
}

void ScanPosition::SeekToFirst() {
  iterators_.EnsureFor({prefix_, prefix_});
  iterator()->SeekToFirst();
}

void ScanPosition::SeekToLast() {
  Ensure();
  iterator()->SeekToLast();
}

// --- Moves --------------------------------------------------------------------------------------

void ScanPosition::PassEntryShowingLatest(ScanDirection direction) {
  const std::string key(iterator()->key());
  ShowLatest();
  Ensure();
  if (direction == ScanDirection::kBackward) {
    iterator()->SeekBefore(key);
    return;
  }
  iterator()->SeekAtOrAfter(key);
  if (iterator()->Valid() && iterator()->key() == key) iterator()->Next();
}

void ScanPosition::RenewIfDangling() {
  if (!iterators_.IsDangling()) return;
  DropIterator();
  Ensure();
  iterator()->SeekAtOrAfter(entry_key_);
}

// --- Places -------------------------------------------------------------------------------------

bool ScanPosition::Suspend() {
  if (iterator() == nullptr) return false;
  if (on_entry_) {
    SuspendOn(EntryKey());
    return true;
  }
  const bool forward = direction_ == ScanDirection::kForward;
  if (HasLeftPrefix()) {
    place_.kind = ScanPlace::Kind::kBeforeEntry;
    if (!forward) {
      place_.key.assign(prefix_);
    } else if (!PrefixSuccessor(prefix_, &place_.key)) {
      place_.kind = ScanPlace::Kind::kBehindAll;
    }
    return true;
  }
  if (!iterator()->Valid()) {
    place_.kind = forward ? ScanPlace::Kind::kBehindAll : ScanPlace::Kind::kBeforeAll;
    return true;
  }
  // The read ended on an entry that it does not belong to: the scan stands between that and the
  // last row.
  place_.kind = forward ? ScanPlace::Kind::kBeforeEntry : ScanPlace::Kind::kBehindEntry;
  place_.key.assign(iterator()->key());
  return true;
}

void ScanPosition::SuspendOn(std::string_view key) {
  place_.kind = ScanPlace::Kind::kOnEntry;
  place_.key.assign(key);
}

void ScanPosition::SuspendIfStuck(ScanDirection direction) {
  if (is_suspended() || iterator() == nullptr) return;
  if (iterators_.IsDangling()) {
    if (on_entry_) SuspendOn(entry_key_);
    DropIterator();
  } else if (on_entry_ && iterator()->asks_filters() && direction != direction_) {
    SuspendOn(EntryKey());
  }
}

void ScanPosition::GoOn(ScanDirection direction) {
  Ensure();
  const bool forward = direction == ScanDirection::kForward;
  switch (std::exchange(place_.kind, ScanPlace::Kind::kNone)) {
    case ScanPlace::Kind::kNone:
      return;
    case ScanPlace::Kind::kBeforeAll:
      iterator()->SeekToFirst();
      if (!forward && iterator()->Valid()) iterator()->Previous();
      return;
    case ScanPlace::Kind::kBehindAll:
      iterator()->SeekToLast();
      if (forward && iterator()->Valid()) iterator()->Next();
      return;
    case ScanPlace::Kind::kOnEntry:
      if (forward) place_.key.push_back('\0');  // The key that follows it.
      break;
    case ScanPlace::Kind::kBehindEntry:
      place_.key.push_back('\0');
      break;
    case ScanPlace::Kind::kBeforeEntry:
      break;
  }
  if (forward) {
    iterator()->SeekAtOrAfter(place_.key);
  } else {
    iterator()->SeekBefore(place_.key);
  }
}

ScanPlace ScanPosition::TakePlace() {
  ScanPlace place = std::move(place_);
  place_ = ScanPlace();
  return place;
}

void ScanPosition::SetPlace(ScanPlace place) { place_ = std::move(place); }

}  // namespace cairn
