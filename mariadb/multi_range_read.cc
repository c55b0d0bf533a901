#include "mariadb/multi_range_read.h"

#include <algorithm>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "mariadb/key_parts.h"
#include "mariadb/session.h"
#include "mariadb/table_guards.h"

namespace cairn {
namespace {

// A statement may want few rows of its ranges, so a scan of them begins with few.
constexpr size_t kFirstRows = 12;

bool IsOneKey(const KEY_MULTI_RANGE& range) { return (range.range_flag & EQ_RANGE) != 0; }

bool HasStart(const KEY_MULTI_RANGE& range) { return range.start_key.keypart_map != 0; }

}  // namespace

void MultiRangeRead::Begin(const List& list, const Index& index, Reader reader, bool fetches) {
  list_ = list;
  index_ = index;
  reader_ = reader;
  fetches_ = fetches;
  Clear();
  error_ = Status();
  range_is_open_ = range_is_pending_ = ranges_ended_ = false;
  rows_at_once_ = kFirstRows;
}

void MultiRangeRead::Clear() {
  rows_.Clear();
  next_row_ = 0;
}

// The next range from the server becomes the current one. False: there is none.
bool MultiRangeRead::TakeRange() {
  if (!ranges_ended_) ranges_ended_ = list_.functions->next(list_.iterator, list_.current);
  return !ranges_ended_;
}

void MultiRangeRead::TakeKeys(THD* thd, uint32_t whole_key_parts) {
  Clear();
  const IndexCodec& codec = *index_.table->primary().codec;
  while (!rows_.full()) {
    if (!TakeRange()) return;
    const key_range& key = list_.current->start_key;
    const bool is_row = IsOneKey(*list_.current) && HasStart(*list_.current) &&
                        codec.EncodeSearchKey(key.key, CountParts(*index_.key, key.keypart_map),
                                              rows_.NextKey()) == whole_key_parts;
    if (!is_row) {
      range_is_pending_ = true;
      return;
    }
    row_ranges_[rows_.size()] = list_.current->ptr;
    rows_.KeyAdded();
    status_var_increment(thd->status_var.ha_read_key_count);
  }
}

// False: the bytes would not say exactly which entries are meant.
bool MultiRangeRead::Encode(const key_range& bound, std::string* bytes) const {
  const uint32_t parts = CountParts(*index_.key, bound.keypart_map);
  for (uint32_t i = 0; i < parts; ++i) {
    if (index_.key->key_part[i].key_part_flag & HA_REVERSE_SORT) return false;
  }
  return index_.table->index(index_.position).codec->EncodeSearchKey(bound.key, parts, bytes) ==
         parts;
}

// Makes the first and the end key of the current range of a secondary index. False: they would not
// say exactly which entries it has.
bool MultiRangeRead::EncodeBounds() {
  const KEY_MULTI_RANGE& wanted = *list_.current;
  end_key_.clear();
  if (!HasStart(wanted)) {
    first_key_.clear();
    AppendBigEndian(index_.table->index(index_.position).definition.id.index_number, &first_key_);
  } else if (!Encode(wanted.start_key, &first_key_)) {
    return false;
  }
  if (IsOneKey(wanted)) return HasStart(wanted);
  if (wanted.end_key.keypart_map == 0) return true;
  if (!Encode(wanted.end_key, &end_key_)) return false;
  if (wanted.end_key.flag == HA_READ_BEFORE_KEY) return true;
  const std::string last = end_key_;
  return PrefixSuccessor(last, &end_key_);
}

// Goes on with the range that the cursor gathers rows of.
Status MultiRangeRead::GatherRange(bool begins, Cursor* cursor, uchar* record) {
  if (!begins) return cursor->GatherOn(rows_at_once_, record, &rows_);
  const KEY_MULTI_RANGE& wanted = *list_.current;
  const bool is_behind = HasStart(wanted) && wanted.start_key.flag == HA_READ_AFTER_KEY;
  const Cursor::Start start = IsOneKey(wanted) ? Cursor::Start::kExact
                              : is_behind      ? Cursor::Start::kAfter
                                               : Cursor::Start::kAtOrAfter;
  ReadRange range;
  range.end = end_key_;
  return cursor->GatherFrom(first_key_, start, range, rows_at_once_, record, &rows_);
}

void MultiRangeRead::GatherKeys(Session* session, THD* thd, Cursor* cursor, uchar* record) {
  Clear();
  while (rows_.size() < rows_at_once_) {
    const bool begins = !range_is_open_;
    if (begins && session->Interrupted()) {  // There may be millions without a row.
      error_ = Status(StatusCode::kInterrupted);
      break;
    }
    if (begins && !TakeRange()) break;
    if (begins && (cursor->reads_entries_alone() || !EncodeBounds())) {
      range_is_pending_ = true;
      break;
    }
    if (begins) status_var_increment(thd->status_var.ha_read_key_count);
    const size_t first = rows_.size();
    Status gathered = GatherRange(begins, cursor, record);
    std::fill(row_ranges_.begin() + first, row_ranges_.begin() + rows_.size(), list_.current->ptr);
    range_is_open_ = gathered.ok();
    if (gathered.ok() || gathered.code() == StatusCode::kEndOfRange) continue;
    error_ = std::move(gathered);  // The rows before it come first.
    break;
  }
  rows_at_once_ = RowBatch::kMostRows;
}

void MultiRangeRead::Fetch(Transaction* transaction) {
  rows_.Fetch(transaction, index_.table->primary().family(), Transaction::View::kSnapshot);
}

void MultiRangeRead::KeepVirtualBlobs(TABLE* table) {
  virtual_blobs_.resize(table->s->virtual_fields);  // Where they lie is noted in the record.
  std::string* kept = virtual_blobs_.data();
  for (Field** field = table->vfield; *field != nullptr; ++field, ++kept) {
    const bool is_read = bitmap_is_set(table->read_set, (*field)->field_index);
    if (!IsVirtualBlob(**field) || !is_read) continue;
    KeepVirtualBlob(static_cast<Field_blob*>(*field), kept);
  }
}

}  // namespace cairn
