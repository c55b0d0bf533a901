// Where a scan of one index stands, and how it comes from there to the next entry that it looks at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/table/cursor_access.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/scan_iterators.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

enum class ScanDirection : uint8_t { kForward, kBackward };

// Where a scan stands that has no iterator for now; "entry" is the one with that key, which may be
// gone.
struct ScanPlace {
  enum class Kind : uint8_t {
    kNone,  // It does not stand anywhere, or it has its iterator.
    kOnEntry,
    kBeforeEntry,
    kBehindEntry,
    kBeforeAll,
    kBehindAll,
  };
  Kind kind = Kind::kNone;
  std::string key;
};

// Used by one thread, for one scan after the other, each between Open() and Close().
//
// A scan stands on an entry, which is then its iterator's; or, when it has found none, where its
// iterator has come to stand. Suspended it stands at a place, which a key alone tells: so it goes
// on after its iterator has gone, whatever became of the entries meanwhile.
class ScanPosition {
 public:
  // The table outlives this.
  explicit ScanPosition(const Table* table) : iterators_(table) {}

  // As of ScanIterators.
  void Open(Transaction* transaction, uint32_t index, Transaction::View view, bool ask_filters) {
    iterators_.Open(transaction, index, view, ask_filters);
  }
  void Close() {
    iterators_.Close();
    on_entry_ = false;
    ForgetPlace();
  }
  Transaction::View view() const { return iterators_.view(); }
  // For what belongs to the statement; a scan uses this object's functions.
  ScanIterators& iterators() { return iterators_; }

  // Null when there is none; Ensure() makes one that shows every entry, at any position.
  OrderedIterator* iterator() const { return iterators_.current(); }
  void Ensure() { iterators_.Ensure(); }
  // Its iterator goes; it stands on no entry any more.
  void DropIterator() {
    iterators_.Drop();
    on_entry_ = false;
  }
  // The same, and those that follow show what is committed now.
  void ShowLatest();

  // --- Reads that start anew --------------------------------------------------------------------

  // The reads that follow want entries that start with `prefix`, and others only where they leave
  // it: an iterator that asks filters may lack those. `ends_there`: nothing behind them is wanted.
  void Confine(std::string_view prefix, bool ends_there);
  bool ends_with_prefix() const { return ends_with_prefix_; }
  // Whether the iterator, which asks filters, has come where it knows nothing of the entries.
  bool HasLeftPrefix() const { return iterator()->asks_filters() && StandsOutsidePrefix(); }
  // From there, to the next entry there is.
  void GoBeyondPrefix(ScanDirection direction);

  // Put the iterator where such a read starts to look. False: nothing sorts there.
  // `prefix_is_key`: no entry but one that is `prefix` starts with it.
  bool Seek(std::string_view prefix, ReadStart start, bool prefix_is_key);
  void SeekToFirst();
  void SeekToLast();

  // --- Moves ------------------------------------------------------------------------------------

  // It leaves its entry or place for the next suitable entry in that direction.
  void BeginMove(ScanDirection direction) {
    on_entry_ = false;
    place_.kind = ScanPlace::Kind::kNone;
    direction_ = direction;
  }
  // The same in the course of a scan forward that has no place.
  void BeginWalk() {
    on_entry_ = false;
    direction_ = ScanDirection::kForward;
  }
  // The direction of the last move.
  ScanDirection direction() const { return direction_; }

  // The iterator's entry is suitable.
  void StandOnEntry() {
    on_entry_ = true;
    NoteEntryKey();
  }
  // The same, if `on_entry`, where the iterator shows no writes.
  void set_on_entry(bool on_entry) { on_entry_ = on_entry; }
  bool on_entry() const { return on_entry_; }
  // The key of the entry that it stands on, also when the iterator has become useless meanwhile.
  std::string_view EntryKey() const {
    return iterator()->merges_writes() ? std::string_view(entry_key_) : iterator()->key();
  }

  // Goes behind the entry where the iterator stands with one that shows what is committed now.
  void PassEntryShowingLatest(ScanDirection direction);

  // Remembers the key of the iterator's entry, where writes that it shows may be undone.
  void NoteEntryKey() {
    if (iterator()->merges_writes()) entry_key_.assign(iterator()->key());
  }
  // Has a new iterator stand at or after the noted entry if writes were undone under the old one.
  void RenewIfDangling();

  // --- Places -----------------------------------------------------------------------------------

  bool is_suspended() const { return place_.kind != ScanPlace::Kind::kNone; }
  // Remembers where it stands, for GoOn(). False: it has no iterator and stands nowhere.
  bool Suspend();
  // It stands on the entry with that key, wherever its iterator is.
  void SuspendOn(std::string_view key);
  // Suspends it if it cannot move in that direction from where it stands: a function that the
  // statement called for the current row has rolled back to a savepoint, or the iterator asks
  // filters, which goes one way only.
  void SuspendIfStuck(ScanDirection direction);
  // Leaves the place: puts the iterator on the first entry in that direction, and makes one.
  void GoOn(ScanDirection direction);
  void ForgetPlace() { place_.kind = ScanPlace::Kind::kNone; }
  // The place survives Close() and Open() by way of these.
  ScanPlace TakePlace();
  void SetPlace(ScanPlace place);

 private:
  bool StandsOutsidePrefix() const {
    return !iterator()->Valid() || !iterator()->key().starts_with(prefix_);
  }

  ScanIterators iterators_;
  bool on_entry_ = false;  // The iterator stands on the current row's entry.
  ScanDirection direction_ = ScanDirection::kForward;
  bool ends_with_prefix_ = false;
  std::string prefix_;
  std::string target_;
  // A copy, when the iterator shows writes, which may be undone while it stands there.
  std::string entry_key_;
  ScanPlace place_;
};

}  // namespace cairn
