#include "engine/lsm/level_iterator.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/lsm/block_prefetch.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/ticker.h"

namespace cairn::lsm {
namespace {

using rocksdb::Slice;

}  // namespace

LevelIterator::LevelIterator(rocksdb::ColumnFamilyData* family,
                             const rocksdb::SuperVersion& version,
                             const rocksdb::ReadOptions& options, KeyOrder order,
                             const FileRun& run)
    : family_(family),
      version_(version),
      options_(options),
      run_(run),
      order_(order),
      is_sampled_(run.level != 0 && rocksdb::should_sample_file_read()),
      file_(run.end) {}

LevelIterator::~LevelIterator() {
  next_block_.Forgo();
  Ticker ticker(family_->ioptions().stats);
  hits_.Publish(&ticker);
}

Slice LevelIterator::key() const { return is_general_ ? general_.key() : block_iterator_.key(); }

Slice LevelIterator::value() const {
  return is_general_ ? general_.value() : block_iterator_.value();
}

rocksdb::IterBoundCheck LevelIterator::UpperBoundCheckResult() {
  return valid_ && is_before_bound_ ? rocksdb::IterBoundCheck::kInbound
                                    : rocksdb::IterBoundCheck::kUnknown;
}

void LevelIterator::Next() {
  if (is_general_) {
    general_.Next();
    return TakeGeneral();
  }
  const DataBlockIterator::Step step = block_iterator_.Next();
  if (step != DataBlockIterator::Step::kEntry) [[unlikely]]
    LeaveBlock(step);
}

bool LevelIterator::NextAndGetResult(rocksdb::IterateResult* result) {
  Next();
  if (!valid_) return false;
  result->key = key();
  result->bound_check_result = UpperBoundCheckResult();
  result->value_prepared = true;
  return true;
}

void LevelIterator::Seek(const Slice& target) {
  status_ = rocksdb::Status::OK();
  is_general_ = false;
  const size_t file = run_.end - run_.first == 1 ? run_.first : FindFile(target);
  if (file == run_.end) return End();
  Outcome outcome = Outcome::kUnknown;
  if (OpenFile(file)) {
    const Slice user_key = rocksdb::ExtractUserKey(target);
    const uint64_t footer = rocksdb::ExtractInternalKeyFooter(target);
    outcome = SeekInFile(BlockKey({user_key.data(), user_key.size()}, footer >> 8, order_), footer);
  }
  switch (outcome) {
    case Outcome::kEntry:
      valid_ = true;
      return;
    case Outcome::kFileEnd:
      return GoToFile(file + 1);
    case Outcome::kBehindBound:
      return End();
    case Outcome::kUnknown:
      General()->Seek(target);
      return TakeGeneral();
  }
}

// The first one that does not end before the target.
size_t LevelIterator::FindFile(const Slice& target) const {
  const auto found =
      static_cast<size_t>(rocksdb::FindFile(family_->internal_comparator(), *run_.files, target));
  return std::clamp(found, run_.first, run_.end);
}

// Whether its blocks are of the kind that can be walked, and its index is there.
bool LevelIterator::OpenFile(size_t file) {
  if (file != file_) {
    const rocksdb::FileMetaData& data = *run_.files->files[file].file_metadata;
    if (is_sampled_) rocksdb::sample_file_read_inc(&data);
    file_ = file;
    general_.Set(nullptr);
    owned_general_.reset();
    block_ = CachedBlock();
    next_block_.Forgo();
    index_ = nullptr;
    index_block_ = CachedBlock();
    table_ = nullptr;
    if (pinned_.Open(family_, version_, options_, options_.io_activity, data, run_.level)) {
      table_ = FindPointTable(*pinned_.reader());
      if (table_ != nullptr && !table_->index_layout.has_whole_keys) table_ = nullptr;
    }
  }
  if (index_ == nullptr && table_ != nullptr) index_ = table_->FindIndex(&index_block_, &hits_);
  return index_ != nullptr;
}

// What it means that the index has no such entry.
LevelIterator::Outcome LevelIterator::Missed(BlockSearch search) {
  return search == BlockSearch::kAbsent ? Outcome::kFileEnd : Outcome::kUnknown;
}

LevelIterator::Outcome LevelIterator::SeekInFile(const BlockKey& key, uint64_t footer) {
  BlockPlace place;
  const BlockSearch found = FindBlock(BytesOf(*index_), table_->index_layout, key, &place);
  if (found != BlockSearch::kFound) return Missed(found);
  IndexEntry entry;
  if (ReadIndexEntry(BytesOf(*index_), table_->index_layout, place.number, &entry) !=
          BlockSearch::kFound ||
      !OpenBlock(entry)) {
    return Outcome::kUnknown;
  }
  switch (block_iterator_.Seek(key, footer)) {
    case DataBlockIterator::Step::kEntry:
      return Outcome::kEntry;
    case DataBlockIterator::Step::kEnd:
      // It would lie between the last key of the block and where the index says that the next one
      // begins.
      return GoToNextBlock();
    case DataBlockIterator::Step::kDamage:
      break;
  }
  return Outcome::kUnknown;
}

// Where the block holds the bound, the next one of the file is behind it. Of a file's last block
// nothing follows from that: what the index has behind its last key may be behind the begin of the
// next file.
LevelIterator::Outcome LevelIterator::GoToNextBlock() {
  const uint32_t number = block_entry_.place.number + 1;
  if (is_before_bound_) return GoToBlock(number);
  IndexEntry next;
  const BlockSearch found = ReadIndexEntry(BytesOf(*index_), table_->index_layout, number, &next);
  return found == BlockSearch::kFound ? Outcome::kBehindBound : Missed(found);
}

// To its first entry.
LevelIterator::Outcome LevelIterator::GoToBlock(uint32_t number) {
  IndexEntry entry;
  const BlockSearch found = ReadIndexEntry(BytesOf(*index_), table_->index_layout, number, &entry);
  if (found != BlockSearch::kFound) return Missed(found);
  return OpenBlock(entry) && block_iterator_.Next() == DataBlockIterator::Step::kEntry
             ? Outcome::kEntry
             : Outcome::kUnknown;
}

// Does not count: whether it is used is not known yet.
const rocksdb::Block* LevelIterator::FindData(const BlockPlace& place, CachedBlock* held) const {
  CacheHits ignored;
  return FindCached<rocksdb::Block>(table_->cache, table_->DataKey(place.offset).AsSlice(), held,
                                    &ignored, &CacheHits::data);
}

// Makes it the block that is walked through. False: that stays as it was.
bool LevelIterator::OpenBlock(const IndexEntry& entry) {
  const bool is_open = !block_.empty() && block_entry_.place.offset == entry.place.offset;
  CachedBlock found;
  const rocksdb::Block* block;
  if (is_open) {
    block = block_.As<rocksdb::Block>();
  } else if (!next_block_.empty() && entry.place.number == block_entry_.place.number + 1) {
    found = std::move(next_block_);
    block = found.As<rocksdb::Block>();
  } else {
    block = FindData(entry.place, &found);
  }
  if (block == nullptr || !block_iterator_.Open(BytesOf(*block), table_->file_sequence()))
    return false;
  if (!is_open) {
    ++hits_.data;
    hits_.bytes += found.charged_bytes();
    block_ = std::move(found);
    next_block_.Forgo();
  }
  block_entry_ = entry;
  const Slice* const upper = options_.iterate_upper_bound;
  is_before_bound_ =
      upper == nullptr || CompareKeys(entry.user_key, {upper->data(), upper->size()}, order_) < 0;
  return true;
}

// Who has moved on to a block will move on to the next, whereas most searches end in the block
// where they began.
void LevelIterator::Prefetch() {
  IndexEntry next;
  if (!is_before_bound_ ||
      ReadIndexEntry(BytesOf(*index_), table_->index_layout, block_entry_.place.number + 1,
                     &next) != BlockSearch::kFound) {
    return;
  }
  const rocksdb::Block* const block = FindData(next.place, &next_block_);
  if (block != nullptr) FetchToProcessor(BytesOf(*block));
}

// Goes on behind the last entry that the block iterator has given.
void LevelIterator::LeaveBlock(DataBlockIterator::Step step) {
  last_key_ = block_iterator_.key();
  switch (step == DataBlockIterator::Step::kEnd ? GoToNextBlock() : Outcome::kUnknown) {
    case Outcome::kEntry:
      return Prefetch();
    case Outcome::kFileEnd:
      return GoToFile(file_ + 1);
    case Outcome::kBehindBound:
      return End();
    case Outcome::kUnknown:
      break;
  }
  rocksdb::IteratorWrapper* const general = General();
  general->Seek(last_key_);
  if (general->Valid() && general->key() == Slice(last_key_)) general->Next();
  TakeGeneral();
}

void LevelIterator::GoToFile(size_t file) {
  is_general_ = false;
  if (file == run_.end) return End();
  switch (OpenFile(file) ? GoToBlock(0) : Outcome::kUnknown) {
    case Outcome::kEntry:
      valid_ = true;
      return Prefetch();
    case Outcome::kFileEnd:
      return GoToFile(file + 1);
    case Outcome::kBehindBound:
      return End();
    case Outcome::kUnknown:
      General()->SeekToFirst();
      return TakeGeneral();
  }
}

void LevelIterator::End() {
  valid_ = false;
  is_general_ = false;
}

// RocksDB's iterator over the file where this is.
rocksdb::IteratorWrapper* LevelIterator::General() {
  if (owned_general_ == nullptr) {
    owned_general_.reset(family_->table_cache()->NewIterator(
        options_, *family_->soptions(), family_->internal_comparator(),
        *run_.files->files[file_].file_metadata,
        /*range_del_agg=*/nullptr, version_.mutable_cf_options, /*table_reader_ptr=*/nullptr,
        family_->internal_stats()->GetFileReadHist(run_.level),
        rocksdb::TableReaderCaller::kUserIterator, /*arena=*/nullptr, /*skip_filters=*/false,
        run_.level, rocksdb::MaxFileSizeForL0MetaPin(version_.mutable_cf_options),
        /*smallest_compaction_key=*/nullptr, /*largest_compaction_key=*/nullptr,
        /*allow_unprepared_value=*/false, /*read_seqno=*/nullptr, /*range_del_iter=*/nullptr,
        /*maybe_pin_table_handle=*/true));
    general_.Set(owned_general_.get());
  }
  return &general_;
}

// The entry where general_ is, or what follows the file.
void LevelIterator::TakeGeneral() {
  is_general_ = true;
  valid_ = general_.Valid();
  if (valid_) {
    is_before_bound_ = general_.UpperBoundCheckResult() == rocksdb::IterBoundCheck::kInbound;
    return;
  }
  status_ = general_.status();
  if (!status_.ok() ||
      general_.iter()->UpperBoundCheckResult() == rocksdb::IterBoundCheck::kOutOfBound) {
    return End();
  }
  GoToFile(file_ + 1);
}

void LevelIterator::GoNowhere() {
  End();
  status_ = rocksdb::Status::NotSupported("a scan of files goes forward from a key");
}

}  // namespace cairn::lsm
