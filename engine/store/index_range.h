// The keys of one index as a range that RocksDB understands.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/bytes.h"
#include "engine/store/column_families.h"
#include "rocksdb/slice.h"

namespace cairn {

// Every key of an index starts with its number, so that they lie between the number and the one
// after it (docs/stock-format.md, 2). In a reverse family the comparator's order runs from the end
// to the beginning. No key equals a bare index number: it does not matter which end RocksDB takes
// for inclusive.
//
// RocksDB points at lower() and upper() while it uses them; the object stays where it is.
class IndexRange {
 public:
  IndexRange(const ColumnFamily& family, uint32_t index_number) {
    AppendBigEndian(index_number, &first_);
    AppendBigEndian(index_number + 1, &end_);
    lower_ = family.reverse ? end_ : first_;
    upper_ = family.reverse ? first_ : end_;
  }
  IndexRange(const IndexRange&) = delete;
  IndexRange& operator=(const IndexRange&) = delete;

  // In the order of key bytes.
  const std::string& first() const { return first_; }
  const std::string& end() const { return end_; }
  // In the order of the family's comparator.
  const rocksdb::Slice& lower() const { return lower_; }
  const rocksdb::Slice& upper() const { return upper_; }

 private:
  std::string first_;
  std::string end_;
  rocksdb::Slice lower_;
  rocksdb::Slice upper_;
};

}  // namespace cairn
