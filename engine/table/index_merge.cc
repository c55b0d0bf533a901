#include "engine/table/index_merge.h"

#include <optional>
#include <thread>
#include <utility>

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

// Most transactions end within that time. What they wrote to is not walked again then.
constexpr std::chrono::milliseconds kLongestWait(100);
// The same behind a round that had to do with a longer one.
constexpr std::chrono::milliseconds kShortWait(5);
constexpr std::chrono::milliseconds kLookInterval(1);

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
      transaction_(database),
      longest_wait_(kLongestWait) {
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
  uint64_t before = Left();
  for (int vain_rounds = 0; before != 0 && vain_rounds < kMostVainRounds;) {
    const steady_clock::time_point begin = steady_clock::now();
    CAIRN_RETURN_IF_ERROR(RunRound());
    const uint64_t left = Left();
    if (left < kFewEntries || steady_clock::now() - begin < kShortRound) break;
    if (left > before) break;  // More comes than goes.
    vain_rounds = left > before / 10 * 9 ? vain_rounds + 1 : 0;
    before = left;
  }
  return Status();
}

Status IndexMerge::RunLastRound() {
  state_->figures()->stage = IndexBuildFigures::Stage::kLastMerge;
  CAIRN_RETURN_IF_ERROR(RunRound());
  return generations_.empty()
             ? Status()
             : Status(StatusCode::kInternal, "a table that is written to gets an index");
}

// What a transaction that has left wrote is in the snapshot; one that is prepared and left by its
// session has left, and is asked for afterwards.
Status IndexMerge::RunRound() {
  generations_.push_back({.number = state_->generation()});
  BeginGeneration();
  CAIRN_RETURN_IF_ERROR(WaitForWriters(generations_.back().number));
  for (Generation& each : generations_) each.has_writers = state_->HasWriters(each.number);
  const uint32_t rows = table_->primary().definition.id.index_number;
  if (database_->prepared_indexes().Names(rows, database_->rocksdb())) {
    for (Generation& each : generations_) each.has_writers = true;
  }
  seen_ = std::move(now_);
  now_ = std::make_unique<Transaction>(database_);
  now_->Start(MergeSettings());
  now_->EnsureSnapshot();
  for (Generation& each : generations_) {
    CAIRN_RETURN_IF_ERROR(MergeGeneration(each));
    each.walked = true;
  }
  for (const Index& index : indexes_) index.figures->delta_settled = index.written_before;
  std::erase_if(generations_, [](const Generation& each) { return !each.has_writers; });
  GiveUpMerged();
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

// Until nobody writes to the generation, which is not the newest, or for a moment.
Status IndexMerge::WaitForWriters(uint32_t generation) {
  const steady_clock::time_point begin = steady_clock::now();
  while (state_->HasWriters(generation)) {
    if (steady_clock::now() - begin >= longest_wait_) {
      longest_wait_ = kShortWait;
      return Status();
    }
    if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
    std::this_thread::sleep_for(kLookInterval);
  }
  longest_wait_ = kLongestWait;
  return Status();
}

Status IndexMerge::MergeGeneration(const Generation& generation) {
  for (const Index& index : indexes_) {
    const uint32_t delta = index.delta.id.index_number;
    Walk walk;
    walk.next_key = DeltaPrefix(delta, generation.number);
    walk.end = DeltaPrefix(delta, generation.number + 1);
    walk.again = generation.walked;
    while (!walk.ended) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      Status merged = MergeBatch(index, &walk);
      if (!merged.ok()) {
        CAIRN_RETURN_IF_ERROR(transaction_.Rollback());
        return merged;
      }
      CAIRN_RETURN_IF_ERROR(transaction_.Commit(Durability::kDelayed));
    }
  }
  return Status();
}

// Nobody will read the generations before the first that is left. The snapshot serves the next
// round, if that walks one again.
void IndexMerge::GiveUpMerged() {
  const uint32_t first = generations_.empty() ? state_->generation() : generations_.front().number;
  for (const Index& index : indexes_) {
    database_->dropped_indexes().AddFront(
        index.delta.id,
        {DeltaPrefix(index.delta.id.index_number, first), index.delta.family->reverse});
  }
  seen_.reset();
  if (generations_.empty()) now_.reset();
}

Status IndexMerge::MergeBatch(const Index& index, Walk* walk) {
  transaction_.Start(MergeSettings());
  const TableIndex& table_index = table_->index(index.position);
  OrderedIterator others(table_index.definition, &transaction_, Transaction::View::kLatest);
  OrderedIterator delta(index.delta, now_.get(), Transaction::View::kSnapshot);
  std::optional<OrderedIterator> seen;
  if (walk->again) {
    seen.emplace(index.delta, seen_.get(), Transaction::View::kSnapshot);
    seen->SeekAtOrAfter(walk->next_key);
  }
  uint64_t count = 0;
  for (delta.SeekAtOrAfter(walk->next_key);
       delta.Valid() && delta.key() < walk->end && count < kEntriesPerBatch;
       delta.Next(), ++count) {
    if (seen.has_value()) {
      CAIRN_ASSIGN_OR_RETURN(const bool merged, IsMerged(delta, &*seen));
      if (merged) continue;
    }
    DecodeDeltaKey(delta.key(), table_index.definition.id.index_number, &key_);
    CAIRN_RETURN_IF_ERROR(MergeEntry(index, delta.value(), &others, walk));
  }
  CAIRN_RETURN_IF_ERROR(delta.status());
  walk->ended = !delta.Valid() || delta.key() >= walk->end;
  if (!walk->ended) walk->next_key.assign(delta.key());
  return Status();
}

// Whether the snapshot before showed the same entry. What it showed is shown still: nothing is
// deleted from a delta.
Result<bool> IndexMerge::IsMerged(const OrderedIterator& delta, OrderedIterator* seen) const {
  while (seen->Valid() && seen->key() < delta.key()) seen->Next();
  CAIRN_RETURN_IF_ERROR(seen->status());
  return seen->Valid() && seen->key() == delta.key() && seen->value() == delta.value();
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
