#include "engine/table/row_scan.h"

#include <chrono>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/ordered_iterator.h"

namespace cairn {
namespace {

using std::chrono::steady_clock;

// Rows after which the statement looks whether it was killed.
constexpr uint64_t kRowsPerLook = 256;

// What a chunk has at most: old versions of rows stay for as long as its iterator.
constexpr uint64_t kRowsPerChunk = 65'536;
constexpr std::chrono::seconds kTimePerChunk(1);

TransactionSettings ReadSettings() {
  TransactionSettings settings;
  settings.fill_block_cache = false;
  return settings;
}

}  // namespace

Status RowScan::Run(const Visitor& visit) {
  transaction_.Start(ReadSettings());
  transaction_.EnsureSnapshot();
  begun_at_ = transaction_.SnapshotNumber();
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool more, ReadChunk(visit));
    transaction_.RenewSnapshot();
    if (!more) return Status();
  }
}

// Goes on behind last_key_. Whether rows may be left.
Result<bool> RowScan::ReadChunk(const Visitor& visit) {
  const steady_clock::time_point end = steady_clock::now() + kTimePerChunk;
  OrderedIterator iterator(table_->primary().definition, &transaction_,
                           Transaction::View::kSnapshot);
  if (last_key_.empty()) {
    iterator.SeekToFirst();
  } else {
    iterator.SeekAtOrAfter(last_key_ + '\0');
  }
  for (uint64_t row_count = 0; iterator.Valid(); iterator.Next()) {
    if (row_count % kRowsPerLook == 0) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      const bool is_whole = row_count == kRowsPerChunk || steady_clock::now() >= end;
      if (row_count != 0 && is_whole) return true;
    }
    ++row_count;
    last_key_.assign(iterator.key());
    CAIRN_RETURN_IF_ERROR(visit(iterator.key(), iterator.value()));
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

}  // namespace cairn
