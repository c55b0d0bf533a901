// The entries of table files one behind the other, for scans that go forward through what the block
// cache has.
//
// RocksDB's iterators over a file decide anew at each entry whether they go forward or backward,
// prefetch, or have been told to stop, and search the index of the file by an iterator of its
// own. This one steps through the bytes of a block (data_block_iterator.h), and goes to the next
// block by the bytes of the index. While the rows of one block are read, the next is on its way to
// the processor, as in block_prefetch.h.
//
// It reads no blocks from files. Where a block is not in the cache, or is not laid out as it knows,
// it goes on with RocksDB's own iterator over the file, which prefetches and reports damage, until
// the next search or file.
//
// level_iterator.cc depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/lsm/block_search.h"
#include "engine/lsm/cached_block.h"
#include "engine/lsm/data_block_iterator.h"
#include "engine/lsm/key_order.h"
#include "engine/lsm/pinned_table.h"
#include "engine/lsm/point_table.h"
#include "engine/lsm/rocksdb_internals.h"
#include "rocksdb/options.h"

namespace cairn::lsm {

// Files of a level that follow each other without overlap, or one file of any level.
struct FileRun {
  const rocksdb::LevelFilesBrief* files = nullptr;
  size_t first = 0;
  size_t end = 0;  // Behind the last one.
  int level = 0;
};

// Of the methods that move, Seek() and the two that go to the next entry are all that may be
// called. Deletions of ranges are not looked at. All that the constructor takes outlives it; the
// bounds that `options` points at stay as they are. `order` is that of the family.
class LevelIterator final : public rocksdb::InternalIterator {
 public:
  LevelIterator(rocksdb::ColumnFamilyData* family, const rocksdb::SuperVersion& version,
                const rocksdb::ReadOptions& options, KeyOrder order, const FileRun& run);
  ~LevelIterator() override;

  bool Valid() const override { return valid_; }
  rocksdb::Slice key() const override;
  rocksdb::Slice value() const override;
  rocksdb::Status status() const override { return status_; }
  void Seek(const rocksdb::Slice& target) override;
  void Next() override;
  bool NextAndGetResult(rocksdb::IterateResult* result) override;
  rocksdb::IterBoundCheck UpperBoundCheckResult() override;

  void SeekToFirst() override { GoNowhere(); }
  void SeekToLast() override { GoNowhere(); }
  void SeekForPrev(const rocksdb::Slice&) override { GoNowhere(); }
  void Prev() override { GoNowhere(); }

 private:
  // What came of an attempt to go on by the bytes of blocks.
  enum class Outcome : uint8_t {
    kEntry,        // There is the next entry.
    kFileEnd,      // The file has no more.
    kBehindBound,  // What follows is behind the upper bound.
    kUnknown,      // RocksDB is to go on.
  };

  static Outcome Missed(BlockSearch search);
  size_t FindFile(const rocksdb::Slice& target) const;
  bool OpenFile(size_t file);
  Outcome SeekInFile(const BlockKey& key, uint64_t footer);
  Outcome GoToNextBlock();
  Outcome GoToBlock(uint32_t number);
  const rocksdb::Block* FindData(const BlockPlace& place, CachedBlock* held) const;
  bool OpenBlock(const IndexEntry& entry);
  void Prefetch();
  void LeaveBlock(DataBlockIterator::Step step);
  void GoToFile(size_t file);
  void End();
  rocksdb::IteratorWrapper* General();
  void TakeGeneral();
  void GoNowhere();

  rocksdb::ColumnFamilyData* const family_;
  const rocksdb::SuperVersion& version_;
  const rocksdb::ReadOptions& options_;
  const FileRun run_;
  const KeyOrder order_;
  // Whether it is one of those from which RocksDB estimates how much files are read. In level 0
  // none is: what is read there is counted otherwise (level_zero_reads.h), where the estimate
  // stands for look-ups.
  const bool is_sampled_;
  DataBlockIterator block_iterator_;
  bool valid_ = false;
  bool is_general_ = false;  // The current entry is that of general_.
  // No entry of the block is behind the upper bound, or general_ says so of the current one.
  bool is_before_bound_ = false;
  rocksdb::Status status_;
  size_t file_ = 0;  // In run_, where pinned_ and general_ are.
  PinnedTable pinned_;
  const PointTable* table_ = nullptr;      // Null: the file is RocksDB's to read.
  const rocksdb::Block* index_ = nullptr;  // Null: it was not in the cache, or there is no table_.
  CachedBlock index_block_;
  CachedBlock block_;  // Through which block_iterator_ goes.
  IndexEntry block_entry_ = {};
  CachedBlock next_block_;  // The one that follows it, if it was looked for and found.
  std::string last_key_;    // Of a block that was left.
  std::unique_ptr<rocksdb::InternalIterator> owned_general_;
  rocksdb::IteratorWrapper general_;  // RocksDB's over the file; made when it is needed.
  CacheHits hits_;
};

}  // namespace cairn::lsm
