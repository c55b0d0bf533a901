// Many ranges of one statement, or of a batch of keys of a join, whose rows are fetched together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/cursor.h"
#include "engine/table/row_batch.h"
#include "engine/table/table.h"
#include "mariadb/server_headers.h"

namespace cairn {

class Session;

// The ranges are taken from the server one by one, and their rows are fetched some at a time. Of
// the primary key, whole keys are taken; of a secondary index, any range whose bounds keys can be
// made of. Another one is pending: it and what comes behind it are read in the server's way.
//
// Belongs to one handler.
class MultiRangeRead {
 public:
  // Where the ranges come from: the server's list, and the place of the one that was taken last.
  struct List {
    const RANGE_SEQ_IF* functions = nullptr;
    range_seq_t iterator = nullptr;
    KEY_MULTI_RANGE* current = nullptr;
  };
  // What they are ranges of.
  struct Index {
    const Table* table = nullptr;
    uint32_t position = 0;
    const KEY* key = nullptr;
  };
  enum class Reader : uint8_t { kTable, kJoin };  // A join asks for a batch of its keys.

  // A list begins, whose rows are fetched here or not. What `list` and `index` name outlives it.
  void Begin(const List& list, const Index& index, Reader reader, bool fetches);
  // No more rows are asked for.
  void End() {
    rows_.Clear();
    next_row_ = 0;
    fetches_ = false;
  }

  bool fetches() const { return fetches_; }
  bool is_of_join() const { return reader_ == Reader::kJoin; }

  // The rows that have been fetched. Their number, and the outcome of each, by number.
  const RowBatch& rows() const { return rows_; }
  // The next of them to be read, while there are some.
  bool has_row() const { return next_row_ < rows_.size(); }
  size_t TakeRow() { return next_row_++; }
  // The server's name of the range of a row.
  range_id_t RangeOf(size_t row) const { return row_ranges_[row]; }

  // The range that was taken last is pending.
  bool has_pending_range() const { return range_is_pending_; }
  // The server reads it, and the rest.
  void LeaveRest() { fetches_ = range_is_pending_ = false; }

  // What kept the rows behind the last ones from being found; ok from then on.
  Status TakeError() { return std::exchange(error_, Status()); }
  // Lets go of the rows and takes the next keys: of the primary key, up to a range that is no whole
  // key of `whole_key_parts`,
  void TakeKeys(THD* thd, uint32_t whole_key_parts);
  // or of the entries of a secondary index that `cursor`, bound to it, finds; up to a range that is
  // to be pending or an error. `record` is filled on the way.
  void GatherKeys(Session* session, THD* thd, Cursor* cursor, uchar* record);
  // Fetches the rows of the keys.
  void Fetch(Transaction* transaction);

  // Has the virtual BLOBs of record[0] lie in memory of this handler until its next row. The server
  // makes those of all partitions in one place, and keeps a row of each to find the one that is
  // first.
  void KeepVirtualBlobs(TABLE* table);

 private:
  void Clear();
  bool TakeRange();
  bool EncodeBounds();
  bool Encode(const key_range& bound, std::string* bytes) const;
  Status GatherRange(bool begins, Cursor* cursor, uchar* record);

  List list_;
  Index index_;
  RowBatch rows_;
  std::array<range_id_t, RowBatch::kMostRows> row_ranges_{};
  size_t next_row_ = 0;
  size_t rows_at_once_ = 0;  // Of a secondary index.
  Status error_;
  // Of the range that is being gathered: its first key, and what its keys lie before.
  std::string first_key_;
  std::string end_key_;
  std::vector<std::string> virtual_blobs_;
  Reader reader_ = Reader::kTable;
  bool fetches_ = false;
  bool range_is_open_ = false;  // The cursor has not gathered all of it yet.
  bool range_is_pending_ = false;
  bool ranges_ended_ = false;  // The server has no more.
};

}  // namespace cairn
