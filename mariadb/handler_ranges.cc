// Reading many ranges of one statement, or of a batch of keys of a join: their rows are fetched
// together.
//
// The server hands over the ranges one by one and asks for their rows; they come in the order of
// the ranges (multi_range_read.h).
#include "engine/codec/index_codec.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/handler_costs.h"

using cairn::MultiRangeRead;
using cairn::Status;
using cairn::StatusCode;

// Of ranges whose rows a statement locks: they come in no order, where nothing asks for one. A row
// that others have moved within its range need not be missed then.
void ha_rocksdb::LeaveUnsorted(uint* mode) const {
  if (statement_.locks_rows() && !cairn::UpdatesInOrder(ha_thd())) *mode &= ~HA_MRR_SORTED;
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
  cairn::AddSeekCost(cost, ranges);
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
  const auto reader =
      mode & HA_MRR_NO_ASSOCIATION ? MultiRangeRead::Reader::kTable : MultiRangeRead::Reader::kJoin;
  const bool fetches = ranges > 1 && !keyread_enabled() && FetchesTogether(active_index) &&
                       !transaction().has_writes();
  multi_range_.Begin({&mrr_funcs, mrr_iter, &mrr_cur_range},
                     {engine_table_.get(), active_index, &table->key_info[active_index]}, reader,
                     fetches);
  return error;
}

// Fetches the next rows of the ranges. HA_ERR_END_OF_FILE: there are none, unless a range is
// pending.
int ha_rocksdb::FetchRowsOfRanges() {
  cairn::Session::Of(ha_thd()).NoteRead();
  if (const Status left = multi_range_.TakeError(); !left.ok()) return OperationError(left);
  if (active_index == engine_table_->primary_position()) {
    const Status known = engine_table_->CheckDefinition(transaction(), active_index);
    if (!known.ok()) return OperationError(known);
    multi_range_.TakeKeys(ha_thd(), search_.whole_key_parts);
  } else {
    cairn::Session& session = cairn::Session::Of(ha_thd());
    if (session.Interrupted()) return OperationError(Status(StatusCode::kInterrupted));
    if (const int error = PrepareCursor(active_index)) return error;
    end_range = nullptr;  // The cursor knows it.
    multi_range_.GatherKeys(&session, ha_thd(), cursor_.get(), table->record[0]);
  }
  if (!multi_range_.has_row()) {
    const Status failed = multi_range_.TakeError();
    return failed.ok() ? HA_ERR_END_OF_FILE : OperationError(failed);
  }
  multi_range_.Fetch(&transaction());
  return 0;
}

int ha_rocksdb::multi_range_read_next(range_id_t* range) {
  while (true) {
    const int error = ReadNextOfRanges(range);
    // From the index alone none is made.
    if (error == 0 && table->part_info != nullptr && table->vfield != nullptr &&
        !keyread_enabled()) {
      multi_range_.KeepVirtualBlobs(table);
    }
    // A join takes any error for the end of the rows, unless the statement has failed already.
    if (error != 0 && error != HA_ERR_END_OF_FILE && multi_range_.is_of_join()) {
      ReportAtOnce(error);
    }
    // A join may have conditions that relate the row to those of other tables.
    const bool is_unwanted = error == 0 && mrr_funcs.skip_index_tuple != nullptr &&
                             mrr_funcs.skip_index_tuple(mrr_iter, *range);
    if (!is_unwanted) return error;
  }
}

int ha_rocksdb::ReadNextOfRanges(range_id_t* range) {
  while (multi_range_.fetches()) {
    if (!multi_range_.has_row()) {
      if (multi_range_.has_pending_range()) return ReadPendingRange(range);
      const int fetched = FetchRowsOfRanges();
      if (fetched != 0 && !(fetched == HA_ERR_END_OF_FILE && multi_range_.has_pending_range())) {
        return fetched;
      }
      continue;
    }
    const size_t row = multi_range_.TakeRow();
    const int error = ReadRowOfRanges(row, table->record[0]);
    if (error == HA_ERR_KEY_NOT_FOUND) continue;
    if (error != 0) return error;
    *range = multi_range_.RangeOf(row);
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
  scan_.takes_any_order = !mrr_is_output_sorted && statement_.locks_rows() &&
                          !engine_table_->index(active_index).search_keys_end_early;
  const int error = handler::multi_range_read_next(range);
  scan_.takes_any_order = false;
  return error;
}

// Begins with the range that could not be taken, and leaves the rest to the server's own way.
int ha_rocksdb::ReadPendingRange(range_id_t* range) {
  multi_range_.LeaveRest();
  const KEY_MULTI_RANGE& wanted = mrr_cur_range;
  const int error = read_range_first(wanted.start_key.keypart_map ? &wanted.start_key : nullptr,
                                     wanted.end_key.keypart_map ? &wanted.end_key : nullptr,
                                     (wanted.range_flag & EQ_RANGE) != 0, mrr_is_output_sorted);
  mrr_have_range = error == 0;  // Else it goes on with the next one.
  if (error == HA_ERR_END_OF_FILE) return handler::multi_range_read_next(range);
  *range = wanted.ptr;
  return error;
}
