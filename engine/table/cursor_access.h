// How a statement reads through a cursor, and what it knows of the rows that it wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/codec/column_set.h"
#include "engine/codec/index_codec.h"
#include "engine/codec/table_layout.h"
#include "engine/locks/lock_mode.h"

namespace cairn {

// A condition that is evaluated on an index entry before its row is fetched.
class IndexCondition {
 public:
  virtual ~IndexCondition() = default;
  enum class Verdict { kMatch, kSkip, kEndOfRange, kAbort };
  // The columns of the index stand in the record that the cursor was given.
  virtual Verdict Check() = 0;
};

// Which rows of a table a statement may want, as far as their primary keys tell.
class RowFilter {
 public:
  virtual ~RowFilter() = default;
  enum class Verdict { kMayBeWanted, kSkip, kAbort };
  // `primary_key` starts with the index number. The columns of the index through which the row was
  // found stand in the record that the cursor was given.
  virtual Verdict Check(std::string_view primary_key) = 0;
};

// How a statement reads through a cursor.
struct CursorAccess {
  uint32_t index = 0;                  // Position in Table::indexes().
  const ColumnSet* columns = nullptr;  // Wanted columns; all of them when `lock` is set.
  std::optional<LockMode> lock;        // None: a consistent read.
  // Passes over rows that others have locked, and those for which the transaction's snapshot makes
  // a conflict.
  bool skip_locked = false;
  // Both for secondary indexes only; they outlive the statement.
  IndexCondition* condition = nullptr;
  RowFilter* filter = nullptr;  // Asked by moves forward that would fetch rows; without `lock`.
  // Of single rows and entries that have one; a wrong one gives kChecksumMismatch.
  IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore;
  // Finds what is committed now, in place of what the snapshot shows.
  bool latest = false;
  // A locking read that meets a row which others have locked ends there, with kLockTimeout.
  // PrimaryKey() tells the row.
  bool refuse_waits = false;
  // Gives rows that have expired as well.
  bool shows_expired = false;
  bool ask_prefix_filters = true;  // Where that loses nothing.
};

// Where a read starts. "Prefix" is the encoded beginning of a key, index number first.
enum class ReadStart : uint8_t {
  kExact,       // the first entry that starts with the prefix
  kAtOrAfter,   // the first entry that starts with it or follows
  kAfter,       // the first entry behind all that start with it
  kLastExact,   // the last entry that starts with it
  kAtOrBefore,  // the last entry that starts with it or precedes
  kBefore,      // the last entry before all that start with it
};

// Whether the read wants entries that start with the prefix alone.
constexpr bool IsExact(ReadStart start) {
  return start == ReadStart::kExact || start == ReadStart::kLastExact;
}

constexpr bool IsForward(ReadStart start) {
  return start == ReadStart::kExact || start == ReadStart::kAtOrAfter || start == ReadStart::kAfter;
}

// Whether the read begins to look behind all entries that start with the prefix, not before them.
constexpr bool IsBehindPrefix(ReadStart start) {
  return start == ReadStart::kAfter || start == ReadStart::kLastExact ||
         start == ReadStart::kAtOrBefore;
}

// What the caller of a read knows of the entries that it wants, besides where they start.
struct ReadRange {
  // They start with so many bytes of the prefix: the read and the moves after it may end behind
  // those that do.
  size_t common_bytes = 0;
  bool prefix_is_key = false;  // The prefix is all of a key.
  // They stand before it, and moves forward end there; empty: not known.
  std::string_view end = {};
  // The caller takes rows in any order, and all that the range has: an empty `end` means that it
  // has none. A locking read of a secondary index then gives a row that others have moved within
  // the range when it meets the entry where the row was, so that it misses none; else rows come in
  // order, and one that was moved back does not come.
  bool any_order = false;
};

}  // namespace cairn
