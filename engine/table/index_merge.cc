#include "engine/table/index_merge.h"

#include <algorithm>
#include <thread>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"

namespace cairn {
namespace {

using std::chrono::steady_clock;

// A round that leaves fewer entries, or took less time, is the last one beside writers.
constexpr uint64_t kFewEntries = 10'000;
constexpr std::chrono::milliseconds kShortRound(100);
// So is the last of so many that did not shrink what is left to nine tenths of what was before.
constexpr int kMostVainRounds = 5;

// How often it looks whether transactions have ended; most do within a few of these.
constexpr std::chrono::milliseconds kLookInterval(2);
// A wait of that length is shown.
constexpr std::chrono::milliseconds kSilentWait(100);
// Nobody knows when what is prepared and left by its session will be decided.
constexpr std::chrono::milliseconds kLongestWaitForPrepared(1000);

TransactionSettings MergeSettings() {
  TransactionSettings settings;
  settings.isolation = IsolationLevel::kReadCommitted;
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

Status IndexMerge::RunRounds(std::chrono::milliseconds longest_wait) {
  state_->figures()->stage = IndexBuildFigures::Stage::kMerge;
  uint64_t before = UINT64_MAX;
  for (int vain_rounds = 0; vain_rounds < kMostVainRounds;) {
    // Another generation may be left from a wait that was given up.
    if (next_generation_ == state_->generation()) BeginGeneration();
    CAIRN_ASSIGN_OR_RETURN(const bool ended, WaitForWriters(longest_wait));
    if (!ended) break;
    const steady_clock::time_point begin = steady_clock::now();
    CAIRN_RETURN_IF_ERROR(MergeGeneration(next_generation_));
    const uint64_t left = Left();
    if (left < kFewEntries || steady_clock::now() - begin < kShortRound) break;
    vain_rounds = left > before / 10 * 9 ? vain_rounds + 1 : 0;
    before = left;
  }
  return Status();
}

void IndexMerge::BeginGeneration() {
  state_->BeginGeneration();
  for (Index& index : indexes_) index.written_before = index.figures->delta_written;
}

// Entries that later rounds will merge.
uint64_t IndexMerge::Left() const {
  uint64_t left = 0;
  for (const Index& index : indexes_) left += index.figures->DeltaLeft();
  return left;
}

Status IndexMerge::RunLastRound() {
  state_->figures()->stage = IndexBuildFigures::Stage::kLastMerge;
  const uint32_t newest = state_->generation();
  while (next_generation_ <= newest) {
    if (next_generation_ == newest) BeginGeneration();
    CAIRN_RETURN_IF_ERROR(MergeGeneration(next_generation_));
  }
  return Status();
}

// Whether, at last, nobody writes to the generation before the newest. A transaction that is
// prepared and left by its session is no writer any more, and is asked for afterwards.
Result<bool> IndexMerge::WaitForWriters(std::chrono::milliseconds longest) {
  const uint32_t rows = table_->primary().definition.id.index_number;
  const uint32_t generation = state_->generation() - 1;
  const steady_clock::time_point begin = steady_clock::now();
  while (true) {
    const bool written = state_->WritersOf(generation) != 0;
    if (!written && !database_->prepared_indexes().Names(rows, database_->rocksdb())) break;
    const auto waited = steady_clock::now() - begin;
    if (waited >= (written ? longest : std::min(longest, kLongestWaitForPrepared))) return false;
    if (waited >= kSilentWait) state_->figures()->stage = IndexBuildFigures::Stage::kWait;
    if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
    std::this_thread::sleep_for(kLookInterval);
  }
  state_->figures()->stage = IndexBuildFigures::Stage::kMerge;
  return true;
}

// The one before the newest; nobody writes to it.
Status IndexMerge::MergeGeneration(uint32_t generation) {
  for (const Index& index : indexes_) {
    const uint32_t number = index.delta.id.index_number;
    Walk walk;
    walk.next_key = DeltaPrefix(number, generation);
    walk.end = DeltaPrefix(number, generation + 1);
    while (!walk.ended) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      Status merged = MergeBatch(index, &walk);
      if (!merged.ok()) {
        CAIRN_RETURN_IF_ERROR(transaction_.Rollback());
        return merged;
      }
      CAIRN_RETURN_IF_ERROR(transaction_.Commit(Durability::kDelayed));
    }
    index.figures->delta_settled = index.written_before;
    database_->dropped_indexes().AddFront(index.delta.id, {walk.end, index.delta.family->reverse});
  }
  next_generation_ = generation + 1;
  return Status();
}

Status IndexMerge::MergeBatch(const Index& index, Walk* walk) {
  transaction_.Start(MergeSettings());
  constexpr auto kView = Transaction::View::kLatest;
  OrderedIterator delta(index.delta, &transaction_, kView);
  OrderedIterator others(table_->index(index.position).definition, &transaction_, kView);
  const TableIndex& table_index = table_->index(index.position);
  uint64_t count = 0;
  for (delta.SeekAtOrAfter(walk->next_key);
       delta.Valid() && delta.key() < walk->end && count < kEntriesPerBatch;
       delta.Next(), ++count) {
    DecodeDeltaKey(delta.key(), table_index.definition.id.index_number, &key_);
    CAIRN_RETURN_IF_ERROR(MergeEntry(index, delta.value(), &others, walk));
  }
  CAIRN_RETURN_IF_ERROR(delta.status());
  walk->ended = !delta.Valid() || delta.key() >= walk->end;
  if (!walk->ended) walk->next_key.assign(delta.key());
  return Status();
}

// Whether the index may have the entry in key_, as far as filters and cached blocks tell. Where a
// file would have to be read for each change, changes would come faster than they are merged.
bool IndexMerge::MayBeThere(const TableIndex& index) {
  return database_->rocksdb()->KeyMayExist(rocksdb::ReadOptions(), index.family().handle, key_,
                                           /*value=*/nullptr);
}

// Puts the entry in key_. `value`: of the delta. `others` shows the index as it was when the batch
// began.
Status IndexMerge::MergeEntry(const Index& index, std::string_view value, OrderedIterator* others,
                              Walk* walk) {
  const TableIndex& table_index = table_->index(index.position);
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
  return Status();
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
