#include "engine/table/auto_increment.h"

#include <algorithm>
#include <mutex>

namespace cairn {
namespace {

// The one behind it. Behind the largest number nothing is left, so that the counter stays there.
uint64_t Behind(uint64_t value) { return value == UINT64_MAX ? value : value + 1; }

// The smallest offset + n * increment that is not below `next`; it may wrap.
uint64_t AtOrAfter(uint64_t next, const AutoIncrement::Steps& steps) {
  if (steps.increment <= 1) return next;
  const uint64_t count =
      next <= steps.offset ? 0 : (next - steps.offset + steps.increment - 1) / steps.increment;
  return steps.offset + count * steps.increment;
}

}  // namespace

Status AutoIncrement::Load(const Dictionary& dictionary, const PreparedLocks& locks,
                           LargestStoredValue* rows) {
  TableCounters& counters = this->counters();
  std::lock_guard guard(counters.initialise);
  if (counters.next_auto_increment.load(std::memory_order_relaxed) != 0) return Status();
  CAIRN_ASSIGN_OR_RETURN(const uint64_t stored, dictionary.LoadAutoIncrement(*table_));
  const Result<uint64_t> largest = rows->Read();
  if (!largest.ok() && stored == 0) return largest.status();
  // A counter that says less than the rows do was left at the type's last value, which is used.
  const uint64_t next = largest.ok() ? std::max(stored, Behind(*largest)) : stored;
  // What prepared transactions have written is not read; others may have written what the counter
  // does not know.
  if (largest.ok() && !locks.any_recovered() && !counters.gives_untold_values) {
    counters.largest_given_value.store(*largest, std::memory_order_release);
  }
  counters.next_auto_increment.store(std::max<uint64_t>(next, 1), std::memory_order_release);
  return Status();
}

AutoIncrement::Values AutoIncrement::HandOut(const Type& type, const Steps& steps,
                                             uint64_t wanted) {
  // As the server itself takes it.
  const Steps taken{steps.offset > steps.increment ? 1 : steps.offset, steps.increment};
  std::atomic<uint64_t>& counter = counters().next_auto_increment;
  uint64_t next = counter.load(std::memory_order_relaxed);
  Values values;
  uint64_t last;
  do {
    // Used up, or set there by AUTO_INCREMENT=n.
    if (next > type.largest) return {next == UINT64_MAX ? next : type.beyond, 1};
    values.first = AtOrAfter(next, taken);
    if (values.first > type.largest || values.first < next) return {type.beyond, 1};
    const uint64_t left =
        (type.largest - values.first) / std::max<uint64_t>(taken.increment, 1) + 1;
    values.count = std::min(wanted, left);
    last = values.first + (values.count - 1) * taken.increment;
  } while (!counter.compare_exchange_weak(next, Behind(last), std::memory_order_relaxed));
  first_handed_out_ = values.first;
  last_handed_out_ = last;
  return values;
}

bool AutoIncrement::TakeHandedOut(uint64_t value) {
  if (value < first_handed_out_ || value > last_handed_out_) return false;
  if (value == last_handed_out_) {
    ForgetHandedOut();
  } else {
    first_handed_out_ = value + 1;
  }
  return true;
}

void AutoIncrement::NoteWritten(uint64_t value, Transaction* transaction) {
  const uint64_t next = Behind(value);
  std::atomic<uint64_t>& counter = counters().next_auto_increment;
  uint64_t current = counter.load(std::memory_order_relaxed);
  while (current < next &&
         !counter.compare_exchange_weak(current, next, std::memory_order_relaxed)) {
  }
  transaction->RaiseAutoIncrement(*table_, next);
}

}  // namespace cairn
