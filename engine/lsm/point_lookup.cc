#include "engine/lsm/point_lookup.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/lsm/block_prefetch.h"
#include "engine/lsm/block_search.h"
#include "engine/lsm/cached_block.h"
#include "engine/lsm/comparator.h"
#include "engine/lsm/pinned_table.h"
#include "engine/lsm/point_table.h"
#include "engine/lsm/read_options.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/ticker.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"

namespace cairn::lsm {
namespace {

using rocksdb::PinnableSlice;
using rocksdb::SequenceNumber;
using rocksdb::Slice;

// What the look-ups of one call have done.
struct Counts {
  uint64_t memtable_hits = 0;
  uint64_t memtable_misses = 0;
  std::array<uint64_t, 3> level_hits = {};  // Of levels 0, 1 and below.
  CacheHits cache;
  uint64_t filter_passes = 0;
  uint64_t filter_stops = 0;
  uint64_t filter_true_passes = 0;
};

void Publish(const Counts& counts, Ticker* ticker) {
  ticker->Add(rocksdb::MEMTABLE_HIT, counts.memtable_hits);
  ticker->Add(rocksdb::MEMTABLE_MISS, counts.memtable_misses);
  ticker->Add(rocksdb::GET_HIT_L0, counts.level_hits[0]);
  ticker->Add(rocksdb::GET_HIT_L1, counts.level_hits[1]);
  ticker->Add(rocksdb::GET_HIT_L2_AND_UP, counts.level_hits[2]);
  counts.cache.Publish(ticker);
  ticker->Add(rocksdb::BLOOM_FILTER_FULL_POSITIVE, counts.filter_passes);
  ticker->Add(rocksdb::BLOOM_FILTER_USEFUL, counts.filter_stops);
  ticker->Add(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE, counts.filter_true_passes);
}

// A file's parts, each from the first key on that needs it.
struct OpenFile {
  const rocksdb::FileMetaData* file = nullptr;
  PinnedTable hold;
  const PointTable* table = nullptr;
  const rocksdb::ParsedFullFilterBlock* filter = nullptr;
  const rocksdb::Block* index = nullptr;
  const rocksdb::Block* data = nullptr;  // The block that was searched last.
  uint64_t data_offset = 0;
  CachedBlock filter_block;
  CachedBlock index_block;
  CachedBlock data_block;
};

enum class Answer { kValue, kNothing, kUnknown };

// One key, or several: these keep what they have opened, and leave to others what is not in the
// cache.
enum class Extent { kOne, kMany };

// The look-ups of one call. All see the same state.
class Reader {
 public:
  Reader(rocksdb::DBImpl* database, rocksdb::ColumnFamilyData* family,
         const rocksdb::ReadOptions& options, Extent extent);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();

  // With kValue, fills `*value`, which is empty. kUnknown: RocksDB is to be asked; nothing of this
  // counts.
  Answer Find(const Slice& key, PinnableSlice* value);

  // Compares what Find() has answered with what RocksDB's iterator finds in the same state.
  rocksdb::Status Verify(rocksdb::ColumnFamilyHandleImpl* handle, const Slice& key, Answer answer,
                         const PinnableSlice& value, ReadVerifier* verifier) const;

  const Counts& counts() const { return counts_; }

 private:
  // Of a search for one key in a part of what there is; nullopt: nothing of it is there.
  using Found = std::optional<Answer>;

  Found FindInMemory(const Slice& key, PinnableSlice* value);
  Found FindInLevelZero(const BlockKey& key, PinnableSlice* value);
  Found FindInLevel(int level, const BlockKey& key, PinnableSlice* value);
  Found FindInFile(const rocksdb::LevelFilesBrief& files, size_t i, int level, const BlockKey& key,
                   PinnableSlice* value);
  Found Take(OpenFile* open, const BlockEntry& entry, int level, PinnableSlice* value);
  bool AsksFilter(const PointTable& table, int level, bool is_last) const;
  OpenFile* Open(const rocksdb::FileMetaData& file, int level);
  OpenFile* SlotFor(const rocksdb::FileMetaData& file);
  bool UseFilter(OpenFile* open);
  bool UseIndex(OpenFile* open);
  bool UseData(OpenFile* open, const BlockPlace& place);
  bool ReadData(OpenFile* open, const BlockPlace& place);

  rocksdb::DBImpl* const database_;
  rocksdb::ColumnFamilyData* const family_;
  const rocksdb::ReadOptions& options_;
  const Extent extent_;
  const KeyOrder order_;
  rocksdb::SuperVersion* const version_;
  const rocksdb::VersionStorageInfo& levels_;
  const SequenceNumber sequence_;  // Of the newest versions that are visible.
  Counts counts_;
  Counts counts_before_;  // The key that is looked up.
  // Whether the key is one of those from which RocksDB estimates how much files are read.
  bool samples_ = false;
  OpenFile file_;  // The only one at a time with kOne, the first with kMany.
  std::vector<std::unique_ptr<OpenFile>> more_files_;
};

Reader::Reader(rocksdb::DBImpl* database, rocksdb::ColumnFamilyData* family,
               const rocksdb::ReadOptions& options, Extent extent)
    : database_(database),
      family_(family),
      options_(options),
      extent_(extent),
      order_(*OrderOf(*family->user_comparator())),
      version_(database->GetAndRefSuperVersion(family)),
      levels_(*version_->current->storage_info()),
      // Taken after the version: else a flush in between might have dropped what was visible then.
      sequence_(options.snapshot != nullptr ? options.snapshot->GetSequenceNumber()
                                            : database->GetLastPublishedSequence()) {}

Reader::~Reader() { database_->ReturnAndCleanupSuperVersion(family_, version_); }

// RocksDB takes one key in so many at random; with a count, it is known without a random number.
bool IsSampled() {
  thread_local uint32_t keys = 0;
  return ++keys % rocksdb::kFileReadSampleRate == 0;
}

Answer Reader::Find(const Slice& key, PinnableSlice* value) {
  if (extent_ == Extent::kMany) counts_before_ = counts_;
  Found found;
  if (!version_->mem->IsEmpty() || version_->imm->NumNotFlushed() != 0) {
    found = FindInMemory(key, value);
  }
  if (found.has_value()) {
    ++counts_.memtable_hits;
  } else {
    ++counts_.memtable_misses;
    samples_ = IsSampled();
    const BlockKey wanted({key.data(), key.size()}, sequence_, order_);
    const int levels = levels_.num_non_empty_levels();
    if (levels > 0) found = FindInLevelZero(wanted, value);
    for (int level = 1; level < levels && !found.has_value(); ++level) {
      found = FindInLevel(level, wanted, value);
    }
  }
  if (found == Answer::kUnknown) counts_ = counts_before_;
  return found.value_or(Answer::kNothing);
}

rocksdb::Status Reader::Verify(rocksdb::ColumnFamilyHandleImpl* handle, const Slice& key,
                               Answer answer, const PinnableSlice& value,
                               ReadVerifier* verifier) const {
  rocksdb::ReadOptions options(options_);
  options.io_activity = rocksdb::Env::IOActivity::kDBIterator;
  options.total_order_seek = true;
  options.max_skippable_internal_keys = 0;
  const std::unique_ptr<rocksdb::Iterator> iterator(database_->NewIteratorImpl(
      options, handle, version_->Ref(), sequence_, /*read_callback=*/nullptr));
  iterator->Seek(key);
  ReadVerifier::Answer theirs;
  theirs.status = iterator->status();
  if (iterator->Valid() && iterator->key() == key) theirs.SetEntry(key, iterator->value());
  ReadVerifier::Answer ours;
  if (answer == Answer::kValue) ours.SetEntry(key, value);
  return verifier->Compare(family_->GetName(), ours, theirs);
}

Reader::Found Reader::FindInMemory(const Slice& key, PinnableSlice* value) {
  const rocksdb::LookupKey lookup(key, sequence_);
  rocksdb::Status status;
  rocksdb::MergeContext merges;
  SequenceNumber range_deletion = 0;
  bool is_blob_index = false;
  bool found =
      version_->mem->Get(lookup, value->GetSelf(), /*columns=*/nullptr,
                         /*timestamp=*/nullptr, &status, &merges, &range_deletion, options_,
                         /*immutable_memtable=*/false, /*callback=*/nullptr, &is_blob_index);
  if (!found && status.ok() && version_->imm->NumNotFlushed() != 0) {
    found = version_->imm->Get(lookup, value->GetSelf(), /*columns=*/nullptr,
                               /*timestamp=*/nullptr, &status, &merges, &range_deletion, options_,
                               /*callback=*/nullptr, &is_blob_index);
  }
  if (range_deletion != 0 || is_blob_index) return Answer::kUnknown;
  if (found && status.ok()) {
    value->PinSelf();
    return Answer::kValue;
  }
  if (found && status.IsNotFound()) return Answer::kNothing;
  // Operands of a merge, or an error.
  if (found || !status.ok()) return Answer::kUnknown;
  return std::nullopt;
}

Reader::Found Reader::FindInLevelZero(const BlockKey& key, PinnableSlice* value) {
  const rocksdb::LevelFilesBrief& files = levels_.LevelFilesBrief(0);
  // RocksDB asks a few files that are all there is without a look at where they begin and end.
  const bool checks_ranges = levels_.num_non_empty_levels() > 1 || files.num_files > 3;
  for (size_t i = 0; i < files.num_files; ++i) {
    const rocksdb::FdWithKeyRange& file = files.files[i];
    if (checks_ranges && (CompareKeys(key.user_key, UserKeyOf(file.smallest_key), key.order) < 0 ||
                          CompareKeys(key.user_key, UserKeyOf(file.largest_key), key.order) > 0)) {
      continue;
    }
    const Found found = FindInFile(files, i, /*level=*/0, key, value);
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

Reader::Found Reader::FindInLevel(int level, const BlockKey& key, PinnableSlice* value) {
  const rocksdb::LevelFilesBrief& files = levels_.LevelFilesBrief(level);
  size_t first = 0;
  size_t end = files.num_files;
  int order_of_largest = 1;  // Of the file at `end`, against the key.
  while (first < end) {
    const size_t middle = first + (end - first) / 2;
    const int order =
        CompareKeys(UserKeyOf(files.files[middle].largest_key), key.user_key, key.order);
    if (order < 0) {
      first = middle + 1;
    } else {
      end = middle;
      order_of_largest = order;
    }
  }
  if (first == files.num_files ||
      CompareKeys(key.user_key, UserKeyOf(files.files[first].smallest_key), key.order) < 0) {
    return std::nullopt;
  }
  if (order_of_largest != 0) return FindInFile(files, first, level, key, value);
  // Older versions of a file's last key may lie in the next one.
  const Slice& largest = files.files[first].largest_key;
  if (rocksdb::GetInternalKeySeqno(largest) > sequence_) return Answer::kUnknown;
  const Found found = FindInFile(files, first, level, key, value);
  return found.has_value() ? found : Answer::kUnknown;
}

// The last level is searched without a filter where keys are expected to be found.
bool Reader::AsksFilter(const PointTable& table, int level, bool is_last) const {
  if (!table.has_filter) return false;
  return !family_->ioptions().optimize_filters_for_hits || (level == 0 && !is_last) ||
         level != levels_.num_non_empty_levels() - 1;
}

Reader::Found Reader::FindInFile(const rocksdb::LevelFilesBrief& files, size_t i, int level,
                                 const BlockKey& key, PinnableSlice* value) {
  const rocksdb::FileMetaData& file = *files.files[i].file_metadata;
  OpenFile* const open = Open(file, level);
  if (open == nullptr) return Answer::kUnknown;
  const PointTable& table = *open->table;
  if (samples_) rocksdb::sample_file_read_inc(&file);
  const bool asks_filter = AsksFilter(table, level, i + 1 == files.num_files);
  if (asks_filter) {
    if (!UseFilter(open)) return Answer::kUnknown;
    rocksdb::FilterBitsReader* const bits = open->filter->filter_bits_reader();
    if (bits != nullptr && !bits->MayMatch(Slice(key.user_key.data(), key.user_key.size()))) {
      ++counts_.filter_stops;
      if (samples_) rocksdb::sample_collapsible_entry_file_read_inc(&file);
      return std::nullopt;
    }
    ++counts_.filter_passes;
  }
  if (!UseIndex(open)) return Answer::kUnknown;
  BlockPlace place;
  BlockEntry entry;
  BlockSearch searched = FindBlock(BytesOf(*open->index), table.index_layout, key, &place);
  if (searched == BlockSearch::kFound) {
    if (!UseData(open, place)) return Answer::kUnknown;
    searched = FindVersion(BytesOf(*open->data), table.file_sequence(), key, &entry);
  }
  if (searched == BlockSearch::kUnknown) return Answer::kUnknown;
  if (searched == BlockSearch::kAbsent) {
    if (samples_) rocksdb::sample_collapsible_entry_file_read_inc(&file);
    return std::nullopt;
  }
  counts_.filter_true_passes += asks_filter ? 1 : 0;
  return Take(open, entry, level, value);
}

// The newest visible version has been found.
Reader::Found Reader::Take(OpenFile* open, const BlockEntry& entry, int level,
                           PinnableSlice* value) {
  switch (static_cast<rocksdb::ValueType>(entry.type)) {
    case rocksdb::kTypeValue:
      ++counts_.level_hits[static_cast<size_t>(std::min(level, 2))];
      if (extent_ == Extent::kOne) {
        open->data_block.MoveInto(entry.value, value);
      } else {
        open->data_block.PinInto(entry.value, value);
      }
      return Answer::kValue;
    case rocksdb::kTypeDeletion:
    case rocksdb::kTypeSingleDeletion:
      if (samples_) rocksdb::sample_collapsible_entry_file_read_inc(open->file);
      return Answer::kNothing;
    default:
      return Answer::kUnknown;
  }
}

OpenFile* Reader::SlotFor(const rocksdb::FileMetaData& file) {
  if (file_.file == nullptr || file_.file == &file) return &file_;
  if (extent_ == Extent::kOne) {
    file_ = OpenFile();
    return &file_;
  }
  for (const auto& open : more_files_) {
    if (open->file == &file) return open.get();
  }
  return more_files_.emplace_back(std::make_unique<OpenFile>()).get();
}

// Null: the file is not one to search here, or there was an error.
OpenFile* Reader::Open(const rocksdb::FileMetaData& file, int level) {
  OpenFile* const open = SlotFor(file);
  if (open->file == nullptr) {
    if (!open->hold.Open(family_, *version_, options_, rocksdb::Env::IOActivity::kGet, file,
                         level)) {
      return nullptr;
    }
    open->file = &file;
    open->table = FindPointTable(*open->hold.reader());
  }
  if (open->table == nullptr) return nullptr;
  return open->table->has_range_deletions && !options_.ignore_range_deletions ? nullptr : open;
}

bool Reader::UseFilter(OpenFile* open) {
  if (open->filter == nullptr) open->filter = open->table->filter;
  if (open->filter == nullptr) {
    open->filter = FindCached<rocksdb::ParsedFullFilterBlock>(
        open->table->cache, open->table->filter_key.AsSlice(), &open->filter_block, &counts_.cache,
        &CacheHits::filter);
  }
  return open->filter != nullptr;
}

bool Reader::UseIndex(OpenFile* open) {
  if (open->index == nullptr) {
    open->index = open->table->FindIndex(&open->index_block, &counts_.cache);
  }
  return open->index != nullptr;
}

bool Reader::UseData(OpenFile* open, const BlockPlace& place) {
  if (open->data != nullptr && open->data_offset == place.offset) return true;
  open->data =
      FindCached<rocksdb::Block>(open->table->cache, open->table->DataKey(place.offset).AsSlice(),
                                 &open->data_block, &counts_.cache, &CacheHits::data);
  open->data_offset = place.offset;
  return open->data != nullptr || (extent_ == Extent::kOne && ReadData(open, place));
}

// From the file into the cache, as RocksDB does it, which counts it.
bool Reader::ReadData(OpenFile* open, const BlockPlace& place) {
  if (!options_.fill_cache) return false;
  rocksdb::ReadOptions options(options_);
  options.io_activity = rocksdb::Env::IOActivity::kGet;
  rocksdb::BlockCacheLookupContext context(rocksdb::TableReaderCaller::kUserGet);
  rocksdb::DataBlockIter block;
  rocksdb::Status status;
  static_cast<rocksdb::BlockBasedTable*>(open->hold.reader())
      ->NewDataBlockIterator<rocksdb::DataBlockIter>(
          options, rocksdb::BlockHandle(place.offset, place.bytes), &block,
          rocksdb::BlockType::kData, /*get_context=*/nullptr, &context,
          /*prefetch_buffer=*/nullptr, /*for_compaction=*/false, /*async_read=*/false, status,
          /*use_block_cache_for_lookup=*/true);
  if (!block.status().ok() || block.cache_handle() == nullptr) return false;
  rocksdb::Cache* const cache = open->table->cache;
  cache->Ref(block.cache_handle());
  open->data_block = CachedBlock(cache, block.cache_handle());
  open->data = open->data_block.As<rocksdb::Block>();
  return true;
}

// Whether `options` (read_options.h) and the family ask for nothing that only RocksDB's own look-up
// knows.
bool IsForReader(const rocksdb::ReadOptions& options, const rocksdb::ColumnFamilyData& family) {
  const rocksdb::Statistics* const statistics = family.ioptions().stats;
  return options.read_tier == rocksdb::kReadAllTier && options.timestamp == nullptr &&
         options.deadline.count() == 0 && options.io_timeout.count() == 0 &&
         !options.merge_operand_count_threshold.has_value() &&
         options.value_size_soft_limit == std::numeric_limits<uint64_t>::max() &&
         options.read_scoped_block_buffer_provider == nullptr &&
         options.io_activity == rocksdb::Env::IOActivity::kUnknown &&
         OrderOf(*family.user_comparator()).has_value() && family.ioptions().row_cache == nullptr &&
         family.blob_partition_manager() == nullptr &&
         // Whoever collects times, or figures of a thread, wants to see what RocksDB counts.
         (statistics == nullptr ||
          statistics->get_stats_level() <= rocksdb::StatsLevel::kExceptHistogramOrTimers) &&
         rocksdb::GetPerfLevel() <= rocksdb::PerfLevel::kDisable;
}

// What of a batch is left for RocksDB's MultiGet.
class Rest {
 public:
  void Add(size_t i) { numbers_.push_back(i); }
  size_t size() const { return numbers_.size(); }

  void Read(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
            const rocksdb::ReadOptions& options, const Slice* keys, PinnableSlice* values,
            rocksdb::Status* outcomes) {
    const size_t count = numbers_.size();
    std::vector<Slice> own_keys(count);
    std::vector<PinnableSlice> own_values(count);
    std::vector<rocksdb::Status> own_outcomes(count);
    for (size_t i = 0; i < count; ++i) own_keys[i] = keys[numbers_[i]];
    database->MultiGet(options, family, count, own_keys.data(), own_values.data(),
                       own_outcomes.data());
    for (size_t i = 0; i < count; ++i) {
      values[numbers_[i]] = std::move(own_values[i]);
      outcomes[numbers_[i]] = std::move(own_outcomes[i]);
    }
  }

 private:
  std::vector<size_t> numbers_;
};

// So many keys in vain, and more than with success: the rest is not in memory either.
constexpr size_t kMostInVain = 4;

}  // namespace

rocksdb::Status LookUp(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                       const rocksdb::ReadOptions& options, const rocksdb::Slice& key,
                       rocksdb::PinnableSlice* value, ReadVerifier* verifier) {
  rocksdb::ColumnFamilyData& data = *static_cast<rocksdb::ColumnFamilyHandleImpl*>(family)->cfd();
  if (!IsForReader(options, data)) return database->Get(options, family, key, value);
  value->Reset();
  {
    Reader reader(static_cast<rocksdb::DBImpl*>(database->GetRootDB()), &data, options,
                  Extent::kOne);
    const Answer answer = reader.Find(key, value);
    if (answer != Answer::kUnknown) {
      if (verifier != nullptr) {
        rocksdb::Status verified = reader.Verify(
            static_cast<rocksdb::ColumnFamilyHandleImpl*>(family), key, answer, *value, verifier);
        if (!verified.ok()) return verified;
      }
      Ticker ticker(data.ioptions().stats);
      Publish(reader.counts(), &ticker);
      ticker.Add(rocksdb::NUMBER_KEYS_READ, 1);
      if (answer == Answer::kValue) ticker.Add(rocksdb::BYTES_READ, value->size());
      // Without a text, as RocksDB's.
      return answer == Answer::kValue ? rocksdb::Status::OK() : rocksdb::Status::NotFound();
    }
  }
  return database->Get(options, family, key, value);
}

void LookUpMany(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                const rocksdb::ReadOptions& options, size_t count, const rocksdb::Slice* keys,
                rocksdb::PinnableSlice* values, rocksdb::Status* outcomes, ReadVerifier* verifier) {
  rocksdb::ColumnFamilyData& data = *static_cast<rocksdb::ColumnFamilyHandleImpl*>(family)->cfd();
  if (!IsForReader(options, data)) {
    return database->MultiGet(options, family, count, keys, values, outcomes);
  }
  Rest rest;
  Counts counts;
  uint64_t answered = 0;
  uint64_t found = 0;
  uint64_t bytes = 0;
  {
    Reader reader(static_cast<rocksdb::DBImpl*>(database->GetRootDB()), &data, options,
                  Extent::kMany);
    for (size_t i = 0; i < count; ++i) {
      const bool in_vain = rest.size() >= kMostInVain && rest.size() > answered;
      values[i].Reset();
      const Answer answer = in_vain ? Answer::kUnknown : reader.Find(keys[i], &values[i]);
      if (answer == Answer::kUnknown) {
        rest.Add(i);
        continue;
      }
      ++answered;
      if (answer == Answer::kValue) {
        ++found;
        bytes += values[i].size();
        outcomes[i] = rocksdb::Status::OK();
      } else {
        outcomes[i] = rocksdb::Status::NotFound();
      }
      if (verifier == nullptr) continue;
      const rocksdb::Status verified =
          reader.Verify(static_cast<rocksdb::ColumnFamilyHandleImpl*>(family), keys[i], answer,
                        values[i], verifier);
      if (!verified.ok()) outcomes[i] = verified;
    }
    counts = reader.counts();
  }
  // All are of one state, which without a snapshot is gone.
  if (rest.size() == count || (rest.size() != 0 && options.snapshot == nullptr)) {
    return database->MultiGet(options, family, count, keys, values, outcomes);
  }
  Ticker ticker(data.ioptions().stats);
  Publish(counts, &ticker);
  // The call for the rest counts by itself.
  ticker.Add(rocksdb::NUMBER_MULTIGET_CALLS, rest.size() == 0 ? 1 : 0);
  ticker.Add(rocksdb::NUMBER_MULTIGET_KEYS_READ, answered);
  ticker.Add(rocksdb::NUMBER_MULTIGET_KEYS_FOUND, found);
  ticker.Add(rocksdb::NUMBER_MULTIGET_BYTES_READ, bytes);
  if (rest.size() != 0) rest.Read(database, family, options, keys, values, outcomes);
}

}  // namespace cairn::lsm
