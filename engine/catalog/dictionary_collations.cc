// With what weights of collations indexes were made.
//
// Index numbers only grow. So one record for each collation tells it of every index: weights, and
// the first number that was given out under them. A server that finds other weights than the last
// ones begins a generation before it makes an index.
#include <utility>

#include "engine/catalog/dictionary.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

bool GivesValues(const Collation& collation) {
  return collation.traits().kind == CollationKind::kSimple8Bit;
}

// Indexes from `next_index_number` on will have the record's weights.
void BeginGeneration(const Collation& collation, uint32_t next_index_number,
                     CollationRecord* record) {
  std::vector<CollationRecord::Generation>& generations = record->generations;
  if (!generations.empty() && generations.back().weights == record->weights) return;
  // Some may have begun without an index.
  while (!generations.empty() && generations.back().first_index_number >= next_index_number) {
    generations.pop_back();
  }
  if (!generations.empty() && generations.back().weights == record->weights) return;
  const uint32_t first = generations.empty() ? 0 : next_index_number;
  generations.push_back({first, GivesValues(collation), record->weights});
}

}  // namespace

bool Dictionary::HasStoredWeights(uint32_t collation) const {
  const std::shared_lock lock(map_mutex_);
  const auto noted = collations_.find(collation);
  return noted != collations_.end() && noted->second.is_stored;
}

Status Dictionary::NoteWeights(const Collation& collation, std::string_view server) {
  const uint32_t id = collation.traits().id;
  if (HasStoredWeights(id)) return Status();
  const std::lock_guard change(change_mutex_);
  if (HasStoredWeights(id)) return Status();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> stored, Read(CollationKey(id)));
  Result<CollationRecord> record = CollationRecord();
  if (stored.has_value()) record = DecodeCollationRecord(*stored);
  const bool is_readable = record.ok();
  if (!is_readable) {
    // Tables would be out of reach for ever if all were old, whose keys give values by weights.
    database_->log().Write(Severity::kError,
                           "data dictionary: what was noted of collation " +
                               std::string(collation.traits().name) +
                               " is ignored and kept, its indexes are taken for current: " +
                               record.status().ToString());
    record = CollationRecord();
  }
  CollationRecord noted = *record;
  server = server.substr(0, UINT8_MAX);
  const bool is_known = noted.server == server && collation.traits().is_built_in;
  if (!is_known || noted.generations.empty()) noted.weights = collation.HashWeights();
  noted.server = server;
  BeginGeneration(collation, max_index_number() + 1, &noted);
  Status written;
  if (is_readable && noted != *record) {
    rocksdb::WriteBatch batch;
    written = FromRocksDb(batch.Put(database_->system_family().handle, CollationKey(id),
                                    EncodeCollationRecord(noted)));
    if (written.ok()) written = Write(&batch);
  }
  const std::unique_lock lock(map_mutex_);
  collations_.insert_or_assign(id, NotedCollation{std::move(noted), written.ok()});
  return written;
}

Dictionary::IndexWeights Dictionary::WeightsOf(const Collation& collation,
                                               uint32_t index_number) const {
  const std::shared_lock lock(map_mutex_);
  const auto noted = collations_.find(collation.traits().id);
  if (noted == collations_.end()) return IndexWeights::kCurrent;
  const CollationRecord::Generation& made = noted->second.record.GenerationOf(index_number);
  if (made.weights == noted->second.record.weights) return IndexWeights::kCurrent;
  return made.gives_values || GivesValues(collation) ? IndexWeights::kOldInValues
                                                     : IndexWeights::kOld;
}

}  // namespace cairn
