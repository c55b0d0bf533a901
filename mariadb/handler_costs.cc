// Costs of reads for the optimizer. 10.11 counts in a unit of its own, in which it adds 0.2 for
// each row that it looks at; 11.0 and later count milliseconds, and add what is said of the engine
// as a whole (OPTIMIZER_COSTS) to what a handler says of one read. Measured:
// docs/measurements/optimizer-costs.md.
#include "mariadb/handler_costs.h"

#include "mariadb/ha_rocksdb.h"
#include "mariadb/session.h"

#if MYSQL_VERSION_ID >= 110000

namespace {

// Of a row that is fetched by itself, and of what begins a scan that locks: in ms.
constexpr double kFetchTime = 0.0025;
constexpr double kLockingScanStartTime = 0.01;

void UpdateCosts(OPTIMIZER_COSTS* costs) {
  // Beside these the server counts the copy of a row, 0.00006, and the block of a row that is
  // looked up, 0.0008: together the row of an index entry is between one that lies beside the last
  // one, 0.0017, and one that lies anywhere, 0.0035.
  costs->row_next_find_cost = 0.00008;
  costs->row_lookup_cost = 0.0015;
  costs->key_next_find_cost = 0.0001;
  costs->key_lookup_cost = 0.00085;
}

}  // namespace

void cairn::InitCosts(handlerton* hton) { hton->update_optimizer_costs = UpdateCosts; }

void cairn::AddSeekCost(Cost_estimate*, uint) {}

// A row that is to be locked is fetched by itself wherever it is found; and a statement that locks
// keeps to a range even of a small table, as a scan would lock all the rows.
IO_AND_CPU_COST ha_rocksdb::scan_time() {
  IO_AND_CPU_COST cost = handler::scan_time();
  if (statement_.locks_rows()) {
    cost.cpu += static_cast<double>(stats.records) * kFetchTime + kLockingScanStartTime;
  }
  return cost;
}

IO_AND_CPU_COST ha_rocksdb::keyread_time(uint index, ulong ranges, ha_rows rows, ulonglong blocks) {
  IO_AND_CPU_COST cost = handler::keyread_time(index, ranges, rows, blocks);
  if (statement_.locks_rows()) cost.cpu += static_cast<double>(rows) * kFetchTime;
  return cost;
}

// The server has counted where ranges begin. As to their order, see the one for 10.11.
ha_rows ha_rocksdb::multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* parameter,
                                                uint ranges, uint* buffer_bytes, uint* mode,
                                                ha_rows limit, Cost_estimate* cost) {
  const ha_rows rows = handler::multi_range_read_info_const(index, sequence, parameter, ranges,
                                                            buffer_bytes, mode, limit, cost);
  LeaveUnsorted(mode);
  return rows;
}

#else

namespace {

// A row of a scan;
constexpr double kScannedRowCost = 0.05;
// the row of an index entry, between entries in the order of the rows and entries in any order;
constexpr double kFetchCost = 2.5;
// the place where one of several ranges begins.
constexpr double kSeekCost = 2.5;
// A scan of all rows that begins; of rows that it locks.
constexpr double kScanStartCost = 1.0;
constexpr double kLockingScanStartCost = 10.0;

// A row that is to be locked is fetched by itself wherever it is found.
double ScannedRowCost(bool locks_rows) { return locks_rows ? kFetchCost : kScannedRowCost; }

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

void cairn::InitCosts(handlerton*) {}

void cairn::AddSeekCost(Cost_estimate* cost, uint ranges) {
  cost->idx_cpu_cost += kSeekCost * ranges;
}

double ha_rocksdb::scan_time() {
  // A statement that locks keeps to a range even of a small table, as a scan would lock all the
  // rows.
  const double start = statement_.locks_rows() ? kLockingScanStartCost : kScanStartCost;
  return static_cast<double>(stats.records + stats.deleted) *
             ScannedRowCost(statement_.locks_rows()) +
         start;
}

double ha_rocksdb::read_time(uint index, uint ranges, ha_rows rows) {
  if (index == table->s->primary_key) {
    return static_cast<double>(rows) * ScannedRowCost(statement_.locks_rows()) + 1.0;
  }
  return static_cast<double>(ranges) + static_cast<double>(rows) * kFetchCost;
}

double ha_rocksdb::keyread_time(uint index, uint ranges, ha_rows rows) {
  if (!statement_.locks_rows()) return handler::keyread_time(index, ranges, rows);
  return static_cast<double>(ranges) + static_cast<double>(rows) * kFetchCost;
}

// Tells the server what the ranges cost, and that the rows of a locking statement come in no order,
// where nothing asks for one (need_sorted_output() takes it back).
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
  if (rows != HA_POS_ERROR && counted.count > 1) cairn::AddSeekCost(cost, counted.count - 1);
  LeaveUnsorted(mode);
  return rows;
}

#endif
