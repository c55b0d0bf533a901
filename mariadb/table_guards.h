// What a TABLE of the server is changed in for a moment, and gets back.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "mariadb/server_headers.h"

namespace cairn {

// Gives back a table's set for temporary use, which the server clears while it makes a virtual
// column: filesort has the columns that are read in it.
class KeptTemporarySet {
 public:
  explicit KeptTemporarySet(TABLE* table) : set_(table->tmp_set) {
    std::copy_n(set_.bitmap, Words(), kept_.begin());
  }
  ~KeptTemporarySet() { std::copy_n(kept_.begin(), Words(), set_.bitmap); }
  KeptTemporarySet(const KeptTemporarySet&) = delete;
  KeptTemporarySet& operator=(const KeptTemporarySet&) = delete;

 private:
  size_t Words() const { return no_words_in_map(&set_); }

  const MY_BITMAP& set_;
  std::array<my_bitmap_map, MAX_FIELDS / my_bitmap_map_bits> kept_;
};

// A virtual column whose value lies behind a pointer in the record.
inline bool IsVirtualBlob(const Field& field) {
  return !field.stored_in_db() && (field.flags & BLOB_FLAG) != 0;
}

// Copies the value to `kept`, if the record has one, and has the record point there: the server
// makes it in memory that the next row gets. `kept` stays where it is as long as the record is
// used.
inline void KeepVirtualBlob(Field_blob* blob, std::string* kept) {
  const uchar* const bytes = blob->get_ptr();
  if (bytes == nullptr || blob->is_null()) return;
  kept->assign(reinterpret_cast<const char*>(bytes), blob->get_length());
  blob->set_ptr(static_cast<uint32>(kept->size()), reinterpret_cast<uchar*>(kept->data()));
}

// Has a table's fields point into another record than the usual one.
class MovedFields {
 public:
  MovedFields(TABLE* table, uchar* record) : table_(table), record_(record) {
    if (record_ != table_->record[0])
      table_->move_fields(table_->field, record_, table_->record[0]);
  }
  ~MovedFields() {
    if (record_ != table_->record[0])
      table_->move_fields(table_->field, table_->record[0], record_);
  }
  MovedFields(const MovedFields&) = delete;
  MovedFields& operator=(const MovedFields&) = delete;

 private:
  TABLE* const table_;
  uchar* const record_;
};

}  // namespace cairn
