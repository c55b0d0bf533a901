#include "engine/lsm/forward_iterator.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "engine/lsm/comparator.h"
#include "engine/lsm/key_order.h"
#include "engine/lsm/level_iterator.h"
#include "engine/lsm/memtable_tree.h"
#include "engine/lsm/read_options.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/run_merge.h"
#include "rocksdb/perf_level.h"

namespace cairn::lsm {
namespace {

using rocksdb::SequenceNumber;
using rocksdb::Slice;

// Versions of one key that are passed one by one in a memtable that is a skip list, where a search
// costs about as much as so many steps.
constexpr uint64_t kMostMemtableVersions = 3;
constexpr uint64_t kSeekInMemtable = 4;

class ForwardIterator final : public rocksdb::Iterator {
 public:
  ForwardIterator(rocksdb::DBImpl* database, rocksdb::ColumnFamilyHandleImpl* family,
                  const rocksdb::ReadOptions& options, const ReadFigures& figures);
  ~ForwardIterator() override;

  bool Valid() const override { return general_ == nullptr ? valid_ : general_->Valid(); }
  Slice key() const override { return general_ == nullptr ? entry_.user_key : general_->key(); }
  Slice value() const override { return general_ == nullptr ? entry_.value : general_->value(); }
  rocksdb::Status status() const override {
    return general_ == nullptr ? status_ : general_->status();
  }
  // Asked by an iterator of a transaction with writes of its own, which merges with what it gets.
  const rocksdb::WideColumns& columns() const override {
    if (general_ != nullptr) return general_->columns();
    columns_.assign(1, {rocksdb::kDefaultWideColumnName, entry_.value});
    return columns_;
  }

  void Seek(const Slice& target) override;
  void Next() override;

  void SeekToFirst() override;
  void SeekToLast() override { General()->SeekToLast(); }
  void SeekForPrev(const Slice& target) override { General()->SeekForPrev(target); }
  void Prev() override;

  // RocksDB's own iterator over the same versions.
  std::unique_ptr<rocksdb::Iterator> NewGeneral(const rocksdb::ReadOptions& options) const;

 private:
  struct Counts {
    uint64_t seeks = 0;
    uint64_t seeks_found = 0;
    uint64_t moves = 0;
    uint64_t moves_found = 0;
    uint64_t bytes = 0;
    uint64_t skipped = 0;
    uint64_t in_memtable = 0;  // The active one: shown.
    uint64_t skipped_in_memtable = 0;
    uint64_t skipped_in_files = 0;  // Or in memtables that wait to be written out.
  };

  // The one that gets what is written.
  struct ActiveMemtable {
    SequenceNumber start;  // What is newer lies here.
    bool is_tree;
    rocksdb::IteratorWrapper entries;
    bool counts = false;  // It has further versions that nothing tells to be behind the end.
  };

  // The current one. Slices point where its source has it.
  struct Entry {
    Slice user_key;
    Slice value;
    bool has_older_versions = false;  // The key may have.
  };

  // Whose further versions are passed over.
  struct PassedKey {
    std::string key;
    uint64_t versions = 0;  // Since the last seek.
  };

  using Runs = std::vector<rocksdb::InternalIterator*>;

  int Compare(const Slice& a, const Slice& b) const {
    return order_.has_value() ? CompareKeys({a.data(), a.size()}, {b.data(), b.size()}, *order_)
                              : comparator_->Compare(a, b);
  }
  void MakeSources();
  void AddFiles(Runs* runs);
  rocksdb::InternalIterator* NewLevelIterator(const FileRun& run);
  rocksdb::Iterator* General();
  void GoOnWithGeneral(const Slice& key);
  void SetInternalKey(const Slice& user_key, SequenceNumber sequence, rocksdb::ValueType type);
  bool ChooseSource();
  void FindVisible(bool pass_key);
  bool IsBehindEnd(const Slice& user_key);
  void PassVersion(bool same_key, SequenceNumber sequence, rocksdb::ValueType type);

  rocksdb::DBImpl* const database_;
  rocksdb::ColumnFamilyHandleImpl* const family_;
  const rocksdb::ReadOptions options_;
  const rocksdb::Comparator* const comparator_;
  const std::optional<KeyOrder> order_;  // By it, if it is one of ours.
  rocksdb::Statistics* const statistics_;
  rocksdb::SuperVersion* const version_;
  const SequenceNumber sequence_;  // Of the newest versions that are visible.
  const uint64_t most_versions_;   // Of one key that are passed one by one.
  const ReadFigures figures_;
  rocksdb::Arena arena_;  // Of the two sources.
  // The active memtable, which alone gets new versions, and all else. Where both have versions of a
  // key, those of the former are newer.
  ActiveMemtable memtable_;
  rocksdb::IteratorWrapper older_;
  rocksdb::IteratorWrapper* source_ = &older_;  // That has the next version.
  std::unique_ptr<rocksdb::Iterator> general_;  // In the place of the sources once it is there.
  rocksdb::Status status_;
  Entry entry_;
  mutable rocksdb::WideColumns columns_;  // The value, as RocksDB shows it.
  PassedKey passed_;
  std::string target_;
  Counts counts_;
  uint64_t level_zero_files_ = 0;  // Beside other data that the bounds meet.
  uint64_t skipped_ = 0;           // Since the last entry: options_.max_skippable_internal_keys.
  bool valid_ = false;
};

ForwardIterator::ForwardIterator(rocksdb::DBImpl* database, rocksdb::ColumnFamilyHandleImpl* family,
                                 const rocksdb::ReadOptions& options, const ReadFigures& figures)
    : database_(database),
      family_(family),
      options_(options),
      comparator_(family->cfd()->user_comparator()),
      order_(OrderOf(*comparator_)),
      statistics_(family->cfd()->ioptions().stats),
      version_(family->cfd()->GetReferencedSuperVersion(database)),
      // Taken after the version: else a flush in between might have dropped what was visible then.
      sequence_(options.snapshot != nullptr ? options.snapshot->GetSequenceNumber()
                                            : database->GetLatestSequenceNumber()),
      most_versions_(version_->mutable_cf_options.max_sequential_skip_in_iterations),
      figures_(figures),
      memtable_{.start = version_->mem->GetEarliestSequenceNumber(),
                .is_tree = MakesTrees(*family->cfd()->ioptions().memtable_factory),
                .entries = {}} {
  rocksdb::RecordTick(statistics_, rocksdb::NO_ITERATOR_CREATED);
  // Deletions of ranges, which nobody here makes, concern what is older as well.
  if (version_->mem->NumRangeDeletion() != 0) General();
}

ForwardIterator::~ForwardIterator() {
  rocksdb::RecordTick(statistics_, rocksdb::NUMBER_DB_SEEK, counts_.seeks);
  rocksdb::RecordTick(statistics_, rocksdb::NUMBER_DB_SEEK_FOUND, counts_.seeks_found);
  rocksdb::RecordTick(statistics_, rocksdb::NUMBER_DB_NEXT, counts_.moves);
  rocksdb::RecordTick(statistics_, rocksdb::NUMBER_DB_NEXT_FOUND, counts_.moves_found);
  rocksdb::RecordTick(statistics_, rocksdb::ITER_BYTES_READ, counts_.bytes);
  rocksdb::RecordTick(statistics_, rocksdb::NUMBER_ITER_SKIP, counts_.skipped);
  rocksdb::RecordTick(statistics_, rocksdb::NO_ITERATOR_DELETED);
  if (figures_.memtable != nullptr && counts_.in_memtable + counts_.skipped_in_memtable != 0) {
    const rocksdb::ReadOnlyMemTable& memtable = *version_->mem;
    figures_.memtable->Add(memtable_.start, memtable.NumEntries(), memtable.GetDataSize(),
                           counts_.in_memtable, counts_.skipped_in_memtable);
  }
  if (figures_.level_zero != nullptr && level_zero_files_ != 0) {
    const auto& files = version_->current->storage_info()->LevelFiles(0);
    figures_.level_zero->Add(files.back()->fd.GetNumber(), {.files = level_zero_files_,
                                                            .seeks = counts_.seeks,
                                                            .moves = counts_.moves,
                                                            .passed = counts_.skipped_in_files});
  }
  memtable_.entries.DeleteIter(/*is_arena_mode=*/true);
  older_.DeleteIter(/*is_arena_mode=*/true);
  database_->CleanupIteratorSuperVersion(version_, options_.background_purge_on_iterator_cleanup);
}

// At the first search that goes forward: who only walks backward needs none of it.
void ForwardIterator::MakeSources() {
  const auto times = version_->GetSeqnoToTimeMapping();
  const rocksdb::SliceTransform* const prefix = version_->mutable_cf_options.prefix_extractor.get();
  memtable_.entries.Set(
      version_->mem->NewIterator(options_, times, &arena_, prefix, /*for_flush=*/false));
  Runs runs;
  const bool has_waiting_memtables = version_->imm->NumNotFlushed() != 0;
  // Deletions of ranges come with an iterator of their own for each file.
  const bool walks_files = options_.iterate_lower_bound != nullptr &&
                           options_.iterate_upper_bound != nullptr &&
                           options_.ignore_range_deletions && order_.has_value();
  if (walks_files) AddFiles(&runs);
  if (has_waiting_memtables || !walks_files) {
    rocksdb::MergeIteratorBuilder rest(&family_->cfd()->internal_comparator(), &arena_,
                                       /*prefix_seek_mode=*/false, options_.iterate_upper_bound);
    version_->imm->AddIterators(options_, times, prefix, &rest,
                                /*add_range_tombstone_iter=*/!options_.ignore_range_deletions,
                                sequence_);
    if (!walks_files) {
      version_->current->AddIterators(options_, *family_->cfd()->soptions(), &rest,
                                      /*allow_unprepared_value=*/false, sequence_);
    }
    rocksdb::InternalIterator* const merged = rest.Finish();
    if (merged != nullptr) runs.push_back(merged);
  }
  if (runs.empty()) runs.push_back(rocksdb::NewEmptyInternalIterator<rocksdb::Slice>(&arena_));
  older_.Set(runs.size() == 1 ? runs.front()
                              : new (arena_.AllocateAligned(sizeof(RunMerge)))
                                    RunMerge(*order_, runs));
}

rocksdb::InternalIterator* ForwardIterator::NewLevelIterator(const FileRun& run) {
  return new (arena_.AllocateAligned(sizeof(LevelIterator)))
      LevelIterator(family_->cfd(), *version_, options_, *order_, run);
}

// Adds the files that have keys between the bounds, which stay as they are for as long as this
// lives: a file of level 0 that has none would be searched in vain each time.
void ForwardIterator::AddFiles(Runs* runs) {
  const rocksdb::VersionStorageInfo& levels = *version_->current->storage_info();
  const Slice* const lower = options_.iterate_lower_bound;
  const Slice* const upper = options_.iterate_upper_bound;
  const auto ends_before = [&](const rocksdb::FdWithKeyRange& file) {
    return Compare(rocksdb::ExtractUserKey(file.largest_key), *lower) < 0;
  };
  const auto begins_before_end = [&](const rocksdb::FdWithKeyRange& file) {
    return Compare(rocksdb::ExtractUserKey(file.smallest_key), *upper) < 0;
  };
  uint64_t files_of_level_zero = 0;
  for (int level = 0; level < levels.num_non_empty_levels(); ++level) {
    const rocksdb::LevelFilesBrief& files = levels.LevelFilesBrief(level);
    if (level == 0) {
      for (size_t i = 0; i < files.num_files; ++i) {
        if (ends_before(files.files[i]) || !begins_before_end(files.files[i])) continue;
        runs->push_back(
            NewLevelIterator({.files = &files, .first = i, .end = i + 1, .level = level}));
        ++files_of_level_zero;
      }
      continue;
    }
    const rocksdb::FdWithKeyRange* const begin = files.files;
    const rocksdb::FdWithKeyRange* const behind_last = begin + files.num_files;
    const auto* const first = std::partition_point(begin, behind_last, ends_before);
    const auto* const end = std::partition_point(first, behind_last, begins_before_end);
    if (first == end) continue;
    runs->push_back(NewLevelIterator({.files = &files,
                                      .first = static_cast<size_t>(first - begin),
                                      .end = static_cast<size_t>(end - begin),
                                      .level = level}));
  }
  level_zero_files_ = runs->size() > 1 ? files_of_level_zero : 0;
}

std::unique_ptr<rocksdb::Iterator> ForwardIterator::NewGeneral(
    const rocksdb::ReadOptions& options) const {
  return std::unique_ptr<rocksdb::Iterator>(database_->NewIteratorImpl(
      options, family_, version_->Ref(), sequence_, /*read_callback=*/nullptr));
}

rocksdb::Iterator* ForwardIterator::General() {
  if (general_ == nullptr) general_ = NewGeneral(options_);
  return general_.get();
}

void ForwardIterator::GoOnWithGeneral(const Slice& key) {
  const std::string kept =
      key.ToString();  // It may lie in a block that the new iterator's seek evicts.
  General()->Seek(kept);
}

void ForwardIterator::Prev() {
  if (general_ == nullptr) GoOnWithGeneral(entry_.user_key);
  if (general_->Valid()) general_->Prev();
}

void ForwardIterator::SetInternalKey(const Slice& user_key, SequenceNumber sequence,
                                     rocksdb::ValueType type) {
  target_.assign(user_key.data(), user_key.size());
  rocksdb::PutFixed64(&target_, rocksdb::PackSequenceAndType(sequence, type));
}

void ForwardIterator::Seek(const Slice& target) {
  if (general_ != nullptr) return general_->Seek(target);
  if (older_.iter() == nullptr) MakeSources();
  const rocksdb::StopWatch watch(family_->cfd()->ioptions().clock, statistics_, rocksdb::DB_SEEK);
  const Slice* const lower = options_.iterate_lower_bound;
  const Slice* const upper = options_.iterate_upper_bound;
  database_
      ->TraceIteratorSeek(family_->GetID(), target, lower != nullptr ? *lower : Slice(),
                          upper != nullptr ? *upper : Slice())
      .PermitUncheckedError();
  status_ = rocksdb::Status::OK();
  skipped_ = 0;
  const bool before = lower != nullptr && Compare(target, *lower) < 0;
  SetInternalKey(before ? *lower : target, sequence_, rocksdb::kValueTypeForSeek);
  memtable_.entries.Seek(target_);
  older_.Seek(target_);
  memtable_.counts = true;
  ++counts_.seeks;
  FindVisible(/*pass_key=*/false);
  if (general_ == nullptr && valid_) {
    ++counts_.seeks_found;
    counts_.bytes += entry_.user_key.size() + entry_.value.size();
  }
}

void ForwardIterator::SeekToFirst() {
  if (options_.iterate_lower_bound == nullptr) return General()->SeekToFirst();
  Seek(*options_.iterate_lower_bound);
}

void ForwardIterator::Next() {
  if (general_ != nullptr) return general_->Next();
  ++counts_.moves;
  skipped_ = 0;
  if (entry_.has_older_versions) passed_.key.assign(entry_.user_key.data(), entry_.user_key.size());
  if (entry_.has_older_versions && source_ == &memtable_.entries && memtable_.is_tree) {
    // Past all of them.
    SetInternalKey(passed_.key, 0, rocksdb::kTypeDeletion);
    source_->Seek(target_);
  } else {
    source_->Next();
  }
  FindVisible(/*pass_key=*/entry_.has_older_versions);
  if (general_ == nullptr && valid_) {
    ++counts_.moves_found;
    counts_.bytes += entry_.user_key.size() + entry_.value.size();
  }
}

bool ForwardIterator::IsBehindEnd(const Slice& user_key) {
  return options_.iterate_upper_bound != nullptr &&
         source_->UpperBoundCheckResult() != rocksdb::IterBoundCheck::kInbound &&
         Compare(user_key, *options_.iterate_upper_bound) >= 0;
}

// The source that has the next version, if any of them has one. With an error of either nobody
// knows what comes next.
bool ForwardIterator::ChooseSource() {
  if (!older_.Valid()) {
    status_ = older_.status();
    if (!status_.ok()) return false;
    source_ = &memtable_.entries;
    if (memtable_.entries.Valid()) return true;
    status_ = memtable_.entries.status();
    return false;
  }
  source_ = &older_;
  if (!memtable_.counts) return true;
  if (!memtable_.entries.Valid()) {
    status_ = memtable_.entries.status();
    memtable_.counts = false;
    return status_.ok();
  }
  const Slice newer = rocksdb::ExtractUserKey(memtable_.entries.key());
  const int order = Compare(newer, rocksdb::ExtractUserKey(older_.key()));
  if (order <= 0) {
    source_ = &memtable_.entries;
  } else if (options_.iterate_upper_bound != nullptr &&
             Compare(newer, *options_.iterate_upper_bound) >= 0) {
    memtable_.counts = false;
  }
  return true;
}

// Goes on behind a version that is not wanted; when there are many of one key, straight to the
// version that may be.
void ForwardIterator::PassVersion(bool same_key, SequenceNumber sequence, rocksdb::ValueType type) {
  ++counts_.skipped;
  const bool in_memtable = source_ == &memtable_.entries;
  ++(in_memtable ? counts_.skipped_in_memtable : counts_.skipped_in_files);
  passed_.versions = same_key ? passed_.versions + 1 : 0;
  const bool in_tree = in_memtable && memtable_.is_tree;
  if (!in_tree && passed_.versions <= (in_memtable ? kMostMemtableVersions : most_versions_)) {
    return source_->Next();
  }
  passed_.versions = 0;
  counts_.skipped_in_memtable += in_memtable && !in_tree ? kSeekInMemtable : 0;
  if (!in_tree) rocksdb::RecordTick(statistics_, rocksdb::NUMBER_OF_RESEEKS_IN_ITERATION);
  SetInternalKey(passed_.key, sequence, type);
  source_->Seek(target_);
}

// Stands on the newest visible version of the key where the sources are, or of the first behind it
// that has one. With `pass_key` the versions of passed_.key are none.
void ForwardIterator::FindVisible(bool pass_key) {
  valid_ = false;
  passed_.versions = 0;
  while (ChooseSource()) {
    const Slice entry = source_->key();
    if (entry.size() < rocksdb::kNumInternalBytes) {
      status_ = rocksdb::Status::Corruption("an entry's key is shorter than its version");
      return;
    }
    const Slice user_key = rocksdb::ExtractUserKey(entry);
    const uint64_t packed = rocksdb::ExtractInternalKeyFooter(entry);
    const SequenceNumber sequence = packed >> 8;
    const auto type = static_cast<rocksdb::ValueType>(packed & 0xff);
    if (IsBehindEnd(user_key)) return;
    if (options_.max_skippable_internal_keys != 0 &&
        skipped_ > options_.max_skippable_internal_keys) {
      status_ = rocksdb::Status::Incomplete("Too many internal keys skipped.");
      return;
    }
    if (pass_key && user_key == Slice(passed_.key)) {
      ++skipped_;
      // The oldest version that there could be.
      PassVersion(/*same_key=*/true, 0, rocksdb::kTypeDeletion);
    } else if (sequence > sequence_) {
      ++skipped_;
      const bool same_key = !pass_key && user_key == Slice(passed_.key);
      passed_.key.assign(user_key.data(), user_key.size());
      pass_key = false;
      PassVersion(same_key, sequence_, rocksdb::kValueTypeForSeek);
    } else if (type == rocksdb::kTypeValue) {
      entry_.user_key = user_key;
      entry_.value = source_->value();
      entry_.has_older_versions = sequence != 0;
      counts_.in_memtable += source_ == &memtable_.entries ? 1 : 0;
      valid_ = true;
      return;
    } else if (type == rocksdb::kTypeDeletion || type == rocksdb::kTypeSingleDeletion) {
      ++skipped_;
      passed_.key.assign(user_key.data(), user_key.size());
      pass_key = true;
      PassVersion(/*same_key=*/false, 0, rocksdb::kTypeDeletion);
    } else {
      return GoOnWithGeneral(user_key);
    }
  }
}

// Whether `options` asks for nothing that only RocksDB's own iterator knows (read_options.h).
bool IsForForwardIterator(const rocksdb::ReadOptions& options) {
  return !options.tailing && !options.prefix_same_as_start && !options.pin_data &&
         options.timestamp == nullptr && options.iter_start_ts == nullptr &&
         !options.allow_unprepared_value && !options.auto_refresh_iterator_with_snapshot &&
         !options.async_io && !options.table_filter && options.read_tier == rocksdb::kReadAllTier &&
         // Whoever collects figures of a thread wants to see what RocksDB counts.
         rocksdb::GetPerfLevel() <= rocksdb::PerfLevel::kDisable;
}

}  // namespace

std::unique_ptr<rocksdb::Iterator> NewForwardIterator(rocksdb::DB* database,
                                                      rocksdb::ColumnFamilyHandle* family,
                                                      const rocksdb::ReadOptions& options,
                                                      const ReadFigures& figures,
                                                      ReadVerifier* verifier) {
  if (!IsForForwardIterator(options)) {
    return std::unique_ptr<rocksdb::Iterator>(database->NewIterator(options, family));
  }
  rocksdb::ReadOptions internal_options(options);
  internal_options.io_activity = rocksdb::Env::IOActivity::kDBIterator;
  internal_options.total_order_seek = true;
  auto ours = std::make_unique<ForwardIterator>(
      static_cast<rocksdb::DBImpl*>(database->GetRootDB()),
      static_cast<rocksdb::ColumnFamilyHandleImpl*>(family), internal_options, figures);
  if (verifier == nullptr) return ours;
  // The two pass over different numbers of versions.
  internal_options.max_skippable_internal_keys = 0;
  auto theirs = ours->NewGeneral(internal_options);
  return NewVerifiedIterator(std::move(ours), std::move(theirs), verifier, family->GetName());
}

}  // namespace cairn::lsm
