// What only the server can make of the rows of a table that actions of foreign keys have come to:
// virtual columns, which are stored nowhere but in indexes, and whether values of a long unique key
// are equal. Such a key (UNIQUE of a BLOB or TEXT) has an index of hashes, in a virtual column that
// nobody sees; the server compares the rows of one hash itself when its own statements write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/snapshot_entries.h"

namespace cairn {

// Of one table; used by one thread. Columns and indexes are positions in its layout and in
// Table::indexes().
class ChildColumns : public RecordVirtualColumns {
 public:
  // Makes the virtual columns that indexes and long unique keys have, in the record of a stored
  // row. Values that do not fit are those that were stored with the row. BLOBs lie in `*blobs`.
  virtual Status MakeAll(uint8_t* record, std::vector<std::string>* blobs) = 0;
  // The same in a copy of such a record in which these columns have been given other values, for
  // those that depend on them. The server reports values that its mode does not allow:
  // kInvalidArgument.
  virtual Status MakeChanged(const std::vector<uint32_t>& columns, uint8_t* record,
                             std::vector<std::string>* blobs) = 0;

  // The indexes of long unique keys that have one of these columns, or one that depends on them.
  virtual std::vector<uint32_t> LongUniques(const std::vector<uint32_t>& columns) = 0;
  // Whether two complete records have equal values in a long unique key; neither has a NULL there.
  virtual bool HaveEqualValues(uint32_t index, const uint8_t* a, const uint8_t* b) = 0;
};

}  // namespace cairn
