#include "engine/lsm/range_size.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "engine/lsm/block_prefetch.h"
#include "engine/lsm/block_search.h"
#include "engine/lsm/cached_block.h"
#include "engine/lsm/comparator.h"
#include "engine/lsm/key_order.h"
#include "engine/lsm/pinned_table.h"
#include "engine/lsm/point_table.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/lsm/ticker.h"
#include "rocksdb/perf_level.h"

namespace cairn::lsm {
namespace {

using rocksdb::Slice;

// One measurement.
class Measure {
 public:
  Measure(rocksdb::DBImpl* database, rocksdb::ColumnFamilyData* family, KeyOrder order,
          const Slice& start, const Slice& limit)
      : database_(database),
        family_(family),
        order_(order),
        version_(database->GetAndRefSuperVersion(family)),
        start_({start.data(), start.size()}, rocksdb::kMaxSequenceNumber, order),
        limit_({limit.data(), limit.size()}, rocksdb::kMaxSequenceNumber, order) {}
  Measure(const Measure&) = delete;
  Measure& operator=(const Measure&) = delete;
  ~Measure() {
    Ticker ticker(family_->ioptions().stats);
    hits_.Publish(&ticker);
    database_->ReturnAndCleanupSuperVersion(family_, version_);
  }

  // nullopt: RocksDB is to be asked.
  std::optional<uint64_t> Bytes();

 private:
  std::optional<uint64_t> BytesInFile(const rocksdb::FdWithKeyRange& file, int level);
  std::optional<uint64_t> Offset(const PointTable& table, const rocksdb::Block& index,
                                 const BlockKey& key) const;
  // The first file from `first` on that does not end before the key.
  size_t FindFile(const rocksdb::LevelFilesBrief& files, size_t first, const BlockKey& key) const;
  bool IsBefore(const Slice& internal_key, const BlockKey& key) const {
    return CompareKeys(UserKeyOf(internal_key), key.user_key, order_) < 0;
  }

  rocksdb::DBImpl* const database_;
  rocksdb::ColumnFamilyData* const family_;
  const KeyOrder order_;
  rocksdb::SuperVersion* const version_;
  const BlockKey start_;
  const BlockKey limit_;
  CacheHits hits_;
};

std::optional<uint64_t> Measure::Bytes() {
  const rocksdb::VersionStorageInfo& levels = *version_->current->storage_info();
  uint64_t bytes = 0;
  for (int level = 0; level < levels.num_non_empty_levels(); ++level) {
    const rocksdb::LevelFilesBrief& files = levels.LevelFilesBrief(level);
    const bool in_order = level > 0;
    const size_t first = in_order ? FindFile(files, 0, start_) : 0;
    const size_t last = in_order ? FindFile(files, first, limit_) : files.num_files;
    for (size_t i = first; i < files.num_files && i <= last; ++i) {
      const rocksdb::FdWithKeyRange& file = files.files[i];
      if (in_order && i > first && i < last) {
        bytes += file.fd.GetFileSize();
        continue;
      }
      const std::optional<uint64_t> part = BytesInFile(file, level);
      if (!part.has_value()) return std::nullopt;
      bytes += *part;
    }
  }
  return bytes;
}

size_t Measure::FindFile(const rocksdb::LevelFilesBrief& files, size_t first,
                         const BlockKey& key) const {
  const rocksdb::FdWithKeyRange* const begin = files.files;
  const auto* const found =
      std::partition_point(begin + first, begin + files.num_files,
                           [&](const auto& file) { return IsBefore(file.largest_key, key); });
  return static_cast<size_t>(found - begin);
}

std::optional<uint64_t> Measure::BytesInFile(const rocksdb::FdWithKeyRange& file, int level) {
  if (IsBefore(file.largest_key, start_) || !IsBefore(file.smallest_key, limit_)) return 0;
  const bool begins_inside = !IsBefore(file.smallest_key, start_);
  const bool ends_inside = IsBefore(file.largest_key, limit_);
  if (begins_inside && ends_inside) return file.fd.GetFileSize();

  PinnedTable hold;
  if (!hold.Open(family_, *version_, rocksdb::ReadOptions(), rocksdb::Env::IOActivity::kUnknown,
                 *file.file_metadata, level)) {
    return std::nullopt;
  }
  const PointTable* const table = FindPointTable(*hold.reader());
  if (table == nullptr || table->data_bytes == 0) return std::nullopt;
  CachedBlock held;
  const rocksdb::Block* const index = table->FindIndex(&held, &hits_);
  if (index == nullptr) return std::nullopt;
  const std::optional<uint64_t> begin = begins_inside ? 0 : Offset(*table, *index, start_);
  const std::optional<uint64_t> end =
      ends_inside ? table->data_bytes : Offset(*table, *index, limit_);
  if (!begin.has_value() || !end.has_value() || *begin > *end || *end > table->data_bytes) {
    return std::nullopt;
  }
  // What else is in the file, in proportion.
  const double share = static_cast<double>(*end - *begin) / static_cast<double>(table->data_bytes);
  return static_cast<uint64_t>(share * static_cast<double>(file.fd.GetFileSize()));
}

// Where the block begins that the key would be in.
std::optional<uint64_t> Measure::Offset(const PointTable& table, const rocksdb::Block& index,
                                        const BlockKey& key) const {
  BlockPlace place;
  switch (FindBlock(BytesOf(index), table.index_layout, key, &place)) {
    case BlockSearch::kFound:
      return place.offset;
    case BlockSearch::kAbsent:
      return table.data_bytes;
    case BlockSearch::kUnknown:
      break;
  }
  return std::nullopt;
}

}  // namespace

Result<uint64_t> FileBytesBetween(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                                  const rocksdb::Slice& start, const rocksdb::Slice& limit) {
  rocksdb::ColumnFamilyData& data = *static_cast<rocksdb::ColumnFamilyHandleImpl*>(family)->cfd();
  const std::optional<KeyOrder> order = OrderOf(*data.user_comparator());
  // Whoever collects figures of a thread wants to see what RocksDB counts.
  if (order.has_value() && rocksdb::GetPerfLevel() <= rocksdb::PerfLevel::kDisable) {
    Measure measure(static_cast<rocksdb::DBImpl*>(database->GetRootDB()), &data, *order, start,
                    limit);
    const std::optional<uint64_t> bytes = measure.Bytes();
    if (bytes.has_value()) return *bytes;
  }
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = false;
  options.include_files = true;
  const rocksdb::Range range(start, limit);
  uint64_t bytes = 0;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(database->GetApproximateSizes(options, family, &range, 1, &bytes)));
  return bytes;
}

}  // namespace cairn::lsm
