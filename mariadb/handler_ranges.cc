// Reading many ranges of one statement: rows that a list of primary keys names are fetched together.
//
// The server hands over the ranges one by one and asks for their rows in the same order (the default of multi-range
// read). Once it names a range that is no whole primary key, the rest is left to the server's own way.
#include <utility>

#include "engine/codec/index_codec.h"
#include "mariadb/ha_rocksdb.h"

using cairn::RowBatch;
using cairn::Status;

namespace {

constexpr uint16 kOneRow = UNIQUE_RANGE | EQ_RANGE;

}  // namespace

// Tells the server that the rows of a locking statement come in no order, where nothing asks for one (need_sorted_output()
// takes it back). A row that others have moved within its range need not be missed then.
ha_rows ha_rocksdb::multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* parameter,
                                                uint ranges, uint* buffer_bytes, uint* mode,
                                                Cost_estimate* cost) {
  const ha_rows rows = handler::multi_range_read_info_const(index, sequence, parameter, ranges,
                                                            buffer_bytes, mode, cost);
  if (lock_mode_.has_value() && !UpdatesInOrder()) *mode &= ~HA_MRR_SORTED;
  return rows;
}

// Whether the statement is an UPDATE or DELETE of one table with ORDER BY, whose use of an index's order the server does
// not tell.
bool ha_rocksdb::UpdatesInOrder() const {
  LEX* const lex = ha_thd()->lex;
  return (lex->sql_command == SQLCOM_UPDATE || lex->sql_command == SQLCOM_DELETE) &&
         lex->first_select_lex()->order_list.elements != 0;
}

// Whether the statement reads one table for nothing but its rows.
bool ha_rocksdb::WantsPlainRows() const {
  LEX* const lex = ha_thd()->lex;
  const SELECT_LEX* const select = lex->first_select_lex();
  return lex->is_single_level_stmt() && select->order_list.elements == 0 &&
         select->group_list.elements == 0 && !select->with_sum_func &&
         (select->options & SELECT_DISTINCT) == 0;
}

int ha_rocksdb::multi_range_read_init(RANGE_SEQ_IF* sequence, void* parameter, uint ranges,
                                      uint mode, HANDLER_BUFFER* buffer) {
  const int error = handler::multi_range_read_init(sequence, parameter, ranges, mode, buffer);
  listed_rows_.Clear();
  listed_row_ = 0;
  // A row that is locked is read as it is then. With writes of its own the transaction reads one by one anyway.
  fetches_listed_rows_ = ranges > 1 && !lock_mode_.has_value() &&
                         active_index == engine_table_->primary_position() &&
                         engine_table_->ttl_seconds() == 0 && !transaction().has_writes();
  listed_range_is_pending_ = false;
  return error;
}

// Takes ranges from the server up to one that is no whole primary key, or until there are enough.
void ha_rocksdb::TakeListedRows() {
  const cairn::IndexCodec& codec = *engine_table_->primary().codec;
  listed_rows_.Clear();
  listed_row_ = 0;
  while (!listed_rows_.full()) {
    if (mrr_funcs.next(mrr_iter, &mrr_cur_range)) return;
    const key_range& key = mrr_cur_range.start_key;
    const bool is_row =
        (mrr_cur_range.range_flag & kOneRow) == kOneRow && key.keypart_map != 0 &&
        codec.EncodeSearchKey(key.key,
                              cairn::CountParts(table->key_info[active_index], key.keypart_map),
                              listed_rows_.NextKey()) == whole_key_parts_;
    if (!is_row) {
      listed_range_is_pending_ = true;
      return;
    }
    listed_ranges_[listed_rows_.size()] = mrr_cur_range.ptr;
    listed_rows_.KeyAdded();
  }
}

int ha_rocksdb::multi_range_read_next(range_id_t* range) {
  while (fetches_listed_rows_) {
    if (listed_row_ == listed_rows_.size()) {
      if (listed_range_is_pending_) return ReadPendingRange(range);
      TakeListedRows();
      if (listed_rows_.size() == 0 && !listed_range_is_pending_) return HA_ERR_END_OF_FILE;
      listed_rows_.Fetch(&transaction(), engine_table_->primary().family(),
                         cairn::Transaction::View::kSnapshot);
      continue;
    }
    const size_t row = listed_row_++;
    const int error = ReadListedRow(row, table->record[0]);
    if (error == HA_ERR_KEY_NOT_FOUND) continue;
    if (error != 0) return error;
    *range = listed_ranges_[row];
    table->status = 0;
    return 0;
  }
  // Other readers of ranges have an order in mind, whatever they say of it.
  takes_any_order_ = !mrr_is_output_sorted && lock_mode_.has_value() &&
                     !engine_table_->index(active_index).search_keys_end_early;
  const int error = handler::multi_range_read_next(range);
  takes_any_order_ = false;
  return error;
}

// Begins with the range that is no whole primary key, and leaves the rest to the server's own way.
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
