// The latest error of a foreign key, which SHOW ENGINE ROCKSDB STATUS shows.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/catalog/foreign_keys.h"

struct TABLE;
class THD;

namespace cairn {

// Thread-safe.
class ForeignKeyErrors {
 public:
  // A statement of the session has had an error: `what` in words, of whatever length. The time and
  // the connection are noted with it.
  void Note(THD* thd, std::string_view what);
  // Lines of text.
  std::string Describe() const;

 private:
  mutable std::mutex mutex_;
  int64_t at_us_ = 0;  // Since the epoch; 0: there has been none.
  uint64_t connection_ = 0;
  std::string what_;
};

// "(1, 'a', NULL)" for the columns `side` of the foreign key in a record of the table, numbers
// as they are, bytes in hexadecimal, all else in quotes; long values are cut.
std::string DescribeValues(TABLE* table, const ForeignKeyRecord& key,
                           std::string ForeignKeyRecord::ColumnPair::*side, const uint8_t* record);

}  // namespace cairn
