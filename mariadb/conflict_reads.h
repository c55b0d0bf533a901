// Which reads of a handler are of rows that are in the way of one that is written
// (handler_conflicts.cc).
#pragma once

namespace cairn {

struct ConflictReads {
  // Of the scan of the index that the cursor is bound to: it looks for rows that keep another one
  // out of a key which the server itself checks,
  bool checks_key = false;
  // and a row that it finds is to be changed.
  bool locks_rows = false;
  // The last row that was written was refused, and the one in its way is to be changed.
  bool meets_duplicate = false;
  // That row is being read.
  bool reads_duplicate = false;

  void ForgetScan() { checks_key = locks_rows = false; }
};

}  // namespace cairn
