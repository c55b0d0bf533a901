// Rows that others move to other entries of an index while a locking scan is under way.
//
// The scan walks the entries as an iterator has found them, but gives the latest version of each
// row. So it may come to an entry which a row has left since. Where the caller takes rows in any
// order, the row is given there all the same, if its new entry lies in the range: the scan might
// not meet that one. Else the scan goes on with what is committed now if it may meet the row's new
// entry farther along, and so do the statement's further reads if one of them may.
//
// Knows of keys alone: the cursor tells it what it meets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "engine/table/cursor_access.h"

namespace cairn {

// Used by one thread, for one statement after the other.
class MovedRows {
 public:
  // Another statement begins: nothing has moved.
  void Reset() {
    range_.reset();
    entry_changed_ = follows_changes_ = later_reads_follow_ = false;
  }

  // --- The range that is read in any order ------------------------------------------------------

  // A read starts there that takes rows in any order (ReadRange::any_order).
  void BeginRange(std::string_view prefix, ReadStart start, const ReadRange& range);
  // Rows come in order from here on.
  void EndRange() { range_.reset(); }
  // The scan moves on: to entries with the prefix of its read alone, if `exact`. It is of the range
  // only as long as that is what the read began with.
  void MoveOn(bool exact) {
    if (range_.has_value() && range_->exact != exact) range_.reset();
  }
  bool any_order() const { return range_.has_value(); }
  // Whether an entry with that key lies in the range.
  bool IsInRange(std::string_view key) const {
    return range_.has_value() && key >= range_->first && (range_->end.empty() || key < range_->end);
  }
  // A row is given at an entry which it has left.
  void NoteGiven(const std::string& primary_key) { range_->given.insert(primary_key); }
  // Whether the row was, and now the scan has met its new entry.
  bool WasGiven(const std::string& primary_key) const {
    // The entries of one snapshot have each row once.
    return range_.has_value() && follows_changes_ && range_->given.contains(primary_key);
  }

  // --- What is met ------------------------------------------------------------------------------

  // Others have changed the row of the entry that the scan passes.
  void NoteChange() { entry_changed_ = true; }
  void ForgetChange() { entry_changed_ = false; }
  // Whether that was so; it is over. The scan then goes on with what is committed now.
  bool TakeChange() {
    if (!std::exchange(entry_changed_, false)) return false;
    follows_changes_ = true;
    return true;
  }
  // A row has left the range of this read, and may be wanted by a read of another one.
  void NoteLeft() { later_reads_follow_ = true; }
  // A read begins. Whether it is to see what is committed now, as a row may have gone where it
  // looks.
  bool BeginRead() {
    if (!std::exchange(later_reads_follow_, false)) return false;
    follows_changes_ = true;
    return true;
  }

 private:
  // The keys from `first` on and before `end`, which may be empty for no end.
  struct Range {
    std::string first;
    std::string end;
    bool exact = false;
    std::unordered_set<std::string> given;  // Primary keys of rows, at entries they have left.
  };

  std::optional<Range> range_;
  bool entry_changed_ = false;
  bool follows_changes_ = false;  // The scan shows what is committed now.
  bool later_reads_follow_ = false;
};

}  // namespace cairn
