#include "engine/table/index_merge.h"

#include <algorithm>
#include <chrono>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"

namespace cairn {
namespace {

using std::chrono::steady_clock;

// How long a transaction takes before it commits, as clients wait for the rows that it locks. The
// next one locks fewer then.
constexpr std::chrono::milliseconds kLongestBatch(10);

// A round that met fewer entries, or took less time, is the last one beside writers.
constexpr uint64_t kFewEntries = 10'000;
constexpr std::chrono::milliseconds kShortRound(100);
// So is the last of so many that did not shrink what is left to nine tenths.
constexpr int kMostVainRounds = 5;

// It waits for no lock, so that it is in no deadlock.
TransactionSettings MergeSettings() {
  TransactionSettings settings;
  settings.isolation = IsolationLevel::kReadCommitted;
  settings.deadlock_detect = false;
  settings.fill_block_cache = false;
  return settings;
}

}  // namespace

IndexMerge::IndexMerge(Database* database, const Table* table, IndexBuildState* state,
                       UniqueSuspects* suspects)
    : database_(database),
      table_(table),
      state_(state),
      suspects_(suspects),
      transaction_(database) {
  NewIndexFigures* figures = state->figures()->indexes().data();
  for (const BuildingIndex& building : state->indexes()) {
    for (uint32_t i = 0; i < table->indexes().size(); ++i) {
      if (table->index(i).definition.id != building.definition.id) continue;
      indexes_.push_back({i, building.delta, figures});
    }
    ++figures;
  }
  CAIRN_ASSERT(indexes_.size() == state->indexes().size());
}

Status IndexMerge::RunRounds() {
  state_->figures()->stage = IndexBuildFigures::Stage::kMerge;
  uint64_t before = UINT64_MAX;
  for (int vain_rounds = 0; vain_rounds < kMostVainRounds;) {
    const steady_clock::time_point begin = steady_clock::now();
    CAIRN_ASSIGN_OR_RETURN(const uint64_t met, RunRound(Locks::kRows));
    if (met < kFewEntries || steady_clock::now() - begin < kShortRound) break;
    vain_rounds = met > before / 10 * 9 ? vain_rounds + 1 : 0;
    before = met;
  }
  return Status();
}

Status IndexMerge::RunLastRound() {
  state_->figures()->stage = IndexBuildFigures::Stage::kLastMerge;
  return RunRound(Locks::kNone).status();
}

// Goes through all deltas once. Returns how many entries it has met.
Result<uint64_t> IndexMerge::RunRound(Locks locks) {
  uint64_t met = 0;
  for (const Index& index : indexes_) {
    const uint64_t written = index.figures->delta_written;
    Walk walk;
    while (!walk.ended) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      const Status merged = MergeBatch(index, locks, &walk);
      if (!merged.ok()) {
        CAIRN_RETURN_IF_ERROR(transaction_.Rollback());
        return merged;
      }
      CAIRN_RETURN_IF_ERROR(transaction_.Commit(Durability::kDelayed));
    }
    met += walk.met;
    // What was in the delta when the round began.
    index.figures->delta_settled = written - std::min(written, walk.left);
  }
  return met;
}

// Who has claimed the whole table would have to lock, one by one, all rows that he has changed.
Status IndexMerge::MergeBatch(const Index& index, Locks locks, Walk* walk) {
  const uint32_t rows = table_->primary().definition.id.index_number;
  TableClaims& claims = database_->table_claims();
  if (locks == Locks::kRows && claims.any() && claims.ClaimantOf(rows) != nullptr) {
    walk->ended = true;
    walk->left = UINT64_MAX;
    return Status();
  }
  const steady_clock::time_point begin = steady_clock::now();
  transaction_.Start(MergeSettings());
  if (locks == Locks::kRows) CAIRN_RETURN_IF_ERROR(LockStretch(index, &walk->next_key));
  // What these show is of after the locks, so that whoever had one has written what he would.
  constexpr auto kView = Transaction::View::kLatest;
  OrderedIterator delta(index.delta, &transaction_, kView);
  OrderedIterator others(table_->index(index.position).definition, &transaction_, kView);
  SeekTo(walk->next_key, &delta);
  const uint64_t most = locks == Locks::kRows ? UINT64_MAX : kEntriesPerBatch;
  uint64_t count = 0;
  bool too_long = false;
  size_t next_locked = 0;
  for (; delta.Valid() && count < most; delta.Next(), ++count) {
    if (locks == Locks::kRows) {
      if (delta.key() == stretch_.end) break;
      too_long = next_locked > 0 && steady_clock::now() - begin > kLongestBatch;
      if (too_long) break;
    }
    ++walk->met;
    if (locks == Locks::kRows) {
      if (next_locked == stretch_.locked || delta.key() != stretch_.keys[next_locked]) {
        ++walk->left;
        continue;
      }
      ++next_locked;
    }
    delta_key_.assign(delta.key());
    CAIRN_RETURN_IF_ERROR(MergeEntry(index, delta.value(), &others, walk));
  }
  CAIRN_RETURN_IF_ERROR(delta.status());
  if (locks == Locks::kRows) {
    stretch_.most = too_long ? next_locked : std::min(2 * stretch_.most, kEntriesPerBatch);
  }
  walk->ended = !delta.Valid();
  if (!walk->ended) walk->next_key.assign(delta.key());
  return Status();
}

void IndexMerge::SeekTo(const std::string& key, OrderedIterator* delta) {
  if (key.empty()) {
    delta->SeekToFirst();
  } else {
    delta->SeekAtOrAfter(key);
  }
}

// Locks the rows of the delta's next entries, from `from` on, but for those that somebody has
// locked. What is read of the entries is read afterwards: a look at each by itself, once its row is
// locked, would take as long as all the rest. An empty `from` becomes the first key, so that nobody
// passes over the deleted ones before it while rows are locked.
Status IndexMerge::LockStretch(const Index& index, std::string* from) {
  stretch_.locked = 0;
  stretch_.end.clear();
  const TableIndex& table_index = table_->index(index.position);
  OrderedIterator delta(index.delta, &transaction_, Transaction::View::kLatest);
  SeekTo(*from, &delta);
  if (from->empty() && delta.Valid()) from->assign(delta.key());
  for (uint64_t count = 0; delta.Valid() && count < stretch_.most; delta.Next(), ++count) {
    SetKey(table_index, delta.key());
    CAIRN_ASSIGN_OR_RETURN(const bool locked, LockRow(table_index));
    if (!locked) continue;
    if (stretch_.locked == stretch_.keys.size()) stretch_.keys.emplace_back();
    stretch_.keys[stretch_.locked++].assign(delta.key());
  }
  if (delta.Valid()) stretch_.end.assign(delta.key());
  return delta.status();
}

void IndexMerge::SetKey(const TableIndex& index, std::string_view delta_key) {
  key_.assign(delta_key);
  StoreBigEndian(key_.data(), index.definition.id.index_number);
}

// Whether the row of the entry in key_ is locked now.
Result<bool> IndexMerge::LockRow(const TableIndex& index) {
  CAIRN_RETURN_IF_ERROR(index.codec->ExtractPrimaryKey(key_, &primary_key_));
  const Status locked = transaction_.Lock(table_->primary().family(), primary_key_,
                                          LockMode::kExclusive, LockWait::kRefuse);
  if (locked.code() == StatusCode::kLockTimeout) return false;
  CAIRN_RETURN_IF_ERROR(locked);
  return true;
}

// Whether the index may have the entry in key_, as far as filters and cached blocks tell. Where a
// file would have to be read for each change, its row would be locked for as long, and changes
// would come faster than they are merged.
bool IndexMerge::MayBeThere(const TableIndex& index) {
  return database_->rocksdb()->KeyMayExist(rocksdb::ReadOptions(), index.family().handle, key_,
                                           /*value=*/nullptr);
}

// `value`: of the entry in delta_key_. `others` shows the index as it was when the batch began.
Status IndexMerge::MergeEntry(const Index& index, std::string_view value, OrderedIterator* others,
                              Walk* walk) {
  const TableIndex& table_index = table_->index(index.position);
  SetKey(table_index, delta_key_);
  CAIRN_ASSIGN_OR_RETURN(const DeltaEntry entry, DecodeDelta(value));
  if (MayBeThere(table_index)) {
    CAIRN_RETURN_IF_ERROR(transaction_.SingleDelete(table_index.family(), key_));
  }
  if (entry.exists) {
    CAIRN_RETURN_IF_ERROR(transaction_.Put(table_index.family(), key_, entry.value));
    CAIRN_RETURN_IF_ERROR(NoteSuspect(index, entry, others, walk));
  }
  ++index.figures->delta_merged;
  ++index.figures->delta_settled;
  return transaction_.Delete(table_index.family(), delta_key_);
}

// Looks whether the entry in key_ comes beside another one with its value: one that the index had
// when the batch began, or one of the batch, which came right before it.
Status IndexMerge::NoteSuspect(const Index& index, const DeltaEntry& entry, OrderedIterator* others,
                               Walk* walk) {
  if (entry.unique_bytes == 0) return Status();
  const std::string_view unique = std::string_view(key_).substr(0, entry.unique_bytes);
  bool beside = walk->last_put == unique;
  if (!beside) {
    for (others->SeekAtOrAfter(unique); others->Valid() && others->key().starts_with(unique);
         others->Next()) {
      if (others->key() != key_) beside = true;
      if (beside) break;
    }
    CAIRN_RETURN_IF_ERROR(others->status());
  }
  walk->last_put.assign(unique);
  if (!beside) return Status();
  ++index.figures->suspects;
  return suspects_->Add(index.position, unique);
}

}  // namespace cairn
