// Reading many ranges of one statement, or of a batch of keys of a join: their rows are fetched
// together.
//
// The server hands over the ranges one by one and asks for their rows; they come in the order of
// the ranges. Of the primary key, whole keys are taken; of a secondary index, any range whose
// bounds keys can be made of. Once the server names another one, the rest is left to its own way.
#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "mariadb/ha_rocksdb.h"

using cairn::Cursor;
using cairn::RowBatch;
using cairn::Status;
using cairn::StatusCode;

namespace {

// A statement may want few rows of its ranges, so a scan of them begins with few.
constexpr size_t kFirstRows = 12;

// Ranges of the server that are counted as they are taken.
struct CountedRanges {
  RANGE_SEQ_IF* const sequence;
  void* const parameter;
  range_seq_t iterator = nullptr;
  uint count = 0;

  static range_seq_t Begin(void* self, uint ranges, uint flags) {
    auto* const counted = static_cast<CountedRanges*>(self);
    counted->iterator = counted->sequence->init(counted->parameter, ranges, flags);
    counted->count = 0;
    return counted;
  }
  static bool Next(range_seq_t self, KEY_MULTI_RANGE* range) {
    auto* const counted = static_cast<CountedRanges*>(self);
    const bool is_end = counted->sequence->next(counted->iterator, range);
    counted->count += !is_end;
    return is_end;
  }
};

}  // namespace

// Tells the server what the ranges cost, and that the rows of a locking statement come in no order,
// where nothing asks for one (need_sorted_output() takes it back). A row that others have moved
// within its range need not be missed then.
ha_rows ha_rocksdb::multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* parameter,
                                                uint ranges, uint* buffer_bytes, uint* mode,
                                                Cost_estimate* cost) {
  CountedRanges counted{sequence, parameter};
  RANGE_SEQ_IF counting{};
  counting.init = CountedRanges::Begin;
  counting.next = CountedRanges::Next;
  const ha_rows rows = handler::multi_range_read_info_const(index, &counting, &counted, ranges,
                                                            buffer_bytes, mode, cost);
  // Whatever is read is looked for once.
  if (rows != HA_POS_ERROR && counted.count > 1) {
    cost->idx_cpu_cost += kSeekCost * (counted.count - 1);
  }
  if (statement_.locks_rows() && !cairn::UpdatesInOrder(ha_thd())) *mode &= ~HA_MRR_SORTED;
  return rows;
}

// Of a batch of keys that a join has collected (batched key access): this engine's own way, which
// needs no buffer, if the user wants one. Not of partitions: where none of the rows of a batch has
// a key, the server reads on from whatever the table was read for last, and gives wrong rows, an
// error, or crashes.
ha_rows ha_rocksdb::multi_range_read_info(uint index, uint ranges, uint keys, uint key_parts,
                                          uint* buffer_bytes, uint* mode, Cost_estimate* cost) {
  const ha_rows rows =
      handler::multi_range_read_info(index, ranges, keys, key_parts, buffer_bytes, mode, cost);
  const bool is_wanted = (ha_thd()->variables.optimizer_switch & OPTIMIZER_SWITCH_MRR) != 0;
  const bool needs_rows = (*mode & HA_MRR_INDEX_ONLY) == 0;
  const bool is_partition = table->part_info != nullptr;
  if (is_wanted && needs_rows && !is_partition && FetchesTogether(index)) {
    *mode &= ~HA_MRR_USE_DEFAULT_IMPL;
  }
  cost->idx_cpu_cost += kSeekCost * ranges;
  return rows;
}

// Whether rows of several ranges of the index may be fetched together.
bool ha_rocksdb::FetchesTogether(uint index) const {
  // A row that is locked is read as it is then. With writes of its own the transaction reads one by
  // one anyway.
  if (statement_.locks_rows() || engine_table_->ttl_seconds() != 0) return false;
  if (index == engine_table_->primary_position()) return true;
  // Filters of prefixes need an iterator for each.
  const cairn::TableIndex& engine_index = engine_table_->index(index);
  return !engine_index.has_virtual_part && !engine_index.search_keys_end_early &&
         engine_index.family().prefix_extractor.current() == nullptr;
}

int ha_rocksdb::multi_range_read_init(RANGE_SEQ_IF* sequence, void* parameter, uint ranges,
                                      uint mode, HANDLER_BUFFER* buffer) {
  const int error = handler::multi_range_read_init(sequence, parameter, ranges, mode, buffer);
  // Who reads the ranges of a table alone has no use for what they are called.
  ranges_are_of_join_ = (mode & HA_MRR_NO_ASSOCIATION) == 0;
  listed_rows_.Clear();
  listed_row_ = 0;
  listed_error_ = Status();
  fetches_listed_rows_ = ranges > 1 && !keyread_enabled() && FetchesTogether(active_index) &&
                         !transaction().has_writes();
  listed_range_is_open_ = listed_range_is_pending_ = listed_ranges_ended_ = false;
  listed_rows_at_once_ = kFirstRows;
  return error;
}

// The next range from the server becomes mrr_cur_range. False: there is none.
bool ha_rocksdb::TakeRange() {
  if (!listed_ranges_ended_) listed_ranges_ended_ = mrr_funcs.next(mrr_iter, &mrr_cur_range);
  return !listed_ranges_ended_;
}

// Takes ranges from the server up to one that is no whole primary key, or until there are enough.
void ha_rocksdb::TakeListedRows() {
  const cairn::IndexCodec& codec = *engine_table_->primary().codec;
  while (!listed_rows_.full()) {
    if (!TakeRange()) return;
    const key_range& key = mrr_cur_range.start_key;
    const bool is_row =
        (mrr_cur_range.range_flag & EQ_RANGE) != 0 && key.keypart_map != 0 &&
        codec.EncodeSearchKey(key.key,
                              cairn::CountParts(table->key_info[active_index], key.keypart_map),
                              listed_rows_.NextKey()) == whole_key_parts_;
    if (!is_row) {
      listed_range_is_pending_ = true;
      return;
    }
    listed_ranges_[listed_rows_.size()] = mrr_cur_range.ptr;
    listed_rows_.KeyAdded();
    status_var_increment(ha_thd()->status_var.ha_read_key_count);
  }
}

// Makes search_key_ and range_end_ of a range of a secondary index. False: they would not say
// exactly which entries it has.
bool ha_rocksdb::EncodeRange(const KEY_MULTI_RANGE& wanted) {
  const KEY& key = table->key_info[active_index];
  const cairn::TableIndex& index = engine_table_->index(active_index);
  const auto encode = [&](const key_range& bound, std::string* bytes) {
    const uint32_t parts = cairn::CountParts(key, bound.keypart_map);
    for (uint32_t i = 0; i < parts; ++i) {
      if (key.key_part[i].key_part_flag & HA_REVERSE_SORT) return false;
    }
    return index.codec->EncodeSearchKey(bound.key, parts, bytes) == parts;
  };
  range_end_.clear();
  if (wanted.start_key.keypart_map == 0) {
    search_key_.clear();
    cairn::AppendBigEndian(index.entry.id.index_number, &search_key_);
  } else if (!encode(wanted.start_key, &search_key_)) {
    return false;
  }
  if ((wanted.range_flag & EQ_RANGE) != 0) return wanted.start_key.keypart_map != 0;
  if (wanted.end_key.keypart_map == 0) return true;
  if (!encode(wanted.end_key, &range_end_)) return false;
  if (wanted.end_key.flag == HA_READ_BEFORE_KEY) return true;
  const std::string last = range_end_;
  return cairn::PrefixSuccessor(last, &range_end_);
}

// Goes on with the range that the cursor gathers rows of.
Status ha_rocksdb::GatherListedRange(bool begins) {
  uchar* const record = table->record[0];
  if (!begins) return cursor_->GatherOn(listed_rows_at_once_, record, &listed_rows_);
  const bool exact = (mrr_cur_range.range_flag & EQ_RANGE) != 0;
  const bool is_behind =
      mrr_cur_range.start_key.keypart_map != 0 && mrr_cur_range.start_key.flag == HA_READ_AFTER_KEY;
  const Cursor::Start start = exact       ? Cursor::Start::kExact
                              : is_behind ? Cursor::Start::kAfter
                                          : Cursor::Start::kAtOrAfter;
  cairn::ReadRange range;
  range.end = range_end_;
  return cursor_->GatherFrom(search_key_, start, range, listed_rows_at_once_, record,
                             &listed_rows_);
}

// Takes entries of ranges from a secondary index up to a range that is to be read in the server's
// way, or until there are enough.
int ha_rocksdb::GatherListedRows() {
  cairn::Session& session = cairn::Session::Of(ha_thd());
  if (session.Interrupted()) return OperationError(Status(StatusCode::kInterrupted));
  if (const int error = PrepareCursor(active_index)) return error;
  end_range = nullptr;  // The cursor knows it.
  while (listed_rows_.size() < listed_rows_at_once_) {
    const bool begins = !listed_range_is_open_;
    if (begins && session.Interrupted()) {  // There may be millions without a row.
      listed_error_ = Status(StatusCode::kInterrupted);
      break;
    }
    if (begins && !TakeRange()) break;
    if (begins && (cursor_->reads_entries_alone() || !EncodeRange(mrr_cur_range))) {
      listed_range_is_pending_ = true;
      break;
    }
    if (begins) status_var_increment(ha_thd()->status_var.ha_read_key_count);
    const size_t first = listed_rows_.size();
    Status gathered = GatherListedRange(begins);
    std::fill(listed_ranges_.begin() + first, listed_ranges_.begin() + listed_rows_.size(),
              mrr_cur_range.ptr);
    listed_range_is_open_ = gathered.ok();
    if (gathered.ok() || gathered.code() == StatusCode::kEndOfRange) continue;
    listed_error_ = std::move(gathered);  // The rows before it come first.
    break;
  }
  range_end_.clear();
  listed_rows_at_once_ = RowBatch::kMostRows;
  return 0;
}

// Fetches the next rows of the ranges. HA_ERR_END_OF_FILE: there are none, unless a range is
// pending.
int ha_rocksdb::FetchListedRows() {
  if (!listed_error_.ok()) return OperationError(std::exchange(listed_error_, Status()));
  listed_rows_.Clear();
  listed_row_ = 0;
  if (active_index == engine_table_->primary_position()) {
    const Status known = engine_table_->CheckDefinition(transaction(), active_index);
    if (!known.ok()) return OperationError(known);
    TakeListedRows();
  } else if (const int error = GatherListedRows()) {
    return error;
  }
  if (listed_rows_.size() == 0) {
    if (!listed_error_.ok()) return OperationError(std::exchange(listed_error_, Status()));
    return HA_ERR_END_OF_FILE;
  }
  listed_rows_.Fetch(&transaction(), engine_table_->primary().family(),
                     cairn::Transaction::View::kSnapshot);
  return 0;
}

int ha_rocksdb::multi_range_read_next(range_id_t* range) {
  while (true) {
    const int error = ReadNextOfRanges(range);
    // A join takes any error for the end of the rows, unless the statement has failed already.
    if (error != 0 && error != HA_ERR_END_OF_FILE && ranges_are_of_join_) {
      ReportAtOnce(error);
    }
    // A join may have conditions that relate the row to those of other tables.
    const bool is_unwanted = error == 0 && mrr_funcs.skip_index_tuple != nullptr &&
                             mrr_funcs.skip_index_tuple(mrr_iter, *range);
    if (!is_unwanted) return error;
  }
}

int ha_rocksdb::ReadNextOfRanges(range_id_t* range) {
  while (fetches_listed_rows_) {
    if (listed_row_ == listed_rows_.size()) {
      if (listed_range_is_pending_) return ReadPendingRange(range);
      const int fetched = FetchListedRows();
      if (fetched != 0 && !(fetched == HA_ERR_END_OF_FILE && listed_range_is_pending_)) {
        return fetched;
      }
      continue;
    }
    const size_t row = listed_row_++;
    const int error = ReadListedRow(row, table->record[0]);
    if (error == HA_ERR_KEY_NOT_FOUND) continue;
    if (error != 0) return error;
    *range = listed_ranges_[row];
    table->status = 0;
    // The server does all this behind each read of its own, and leaves this one to the engine.
    if (active_index != engine_table_->primary_position()) {
      status_var_increment(ha_thd()->status_var.ha_read_next_count);
    }
    update_index_statistics();
    if (table->vfield != nullptr) table->update_virtual_fields(this, VCOL_UPDATE_FOR_READ);
    return 0;
  }
  // Other readers of ranges have an order in mind, whatever they say of it.
  takes_any_order_ = !mrr_is_output_sorted && statement_.locks_rows() &&
                     !engine_table_->index(active_index).search_keys_end_early;
  const int error = handler::multi_range_read_next(range);
  takes_any_order_ = false;
  return error;
}

// Begins with the range that could not be taken, and leaves the rest to the server's own way.
int ha_rocksdb::ReadPendingRange(range_id_t* range) {
  fetches_listed_rows_ = listed_range_is_pending_ = false;
  const KEY_MULTI_RANGE& wanted = mrr_cur_range;
  const int error = read_range_first(wanted.start_key.keypart_map ? &wanted.start_key : nullptr,
                                     wanted.end_key.keypart_map ? &wanted.end_key : nullptr,
                                     (wanted.range_flag & EQ_RANGE) != 0, mrr_is_output_sorted);
  mrr_have_range = error == 0;  // Else it goes on with the next one.
  if (error == HA_ERR_END_OF_FILE) return handler::multi_range_read_next(range);
  *range = wanted.ptr;
  return error;
}
