#include "engine/lsm/pinned_table.h"

#include <cstdint>

#include "engine/lsm/rocksdb_internals.h"
#include "rocksdb/slice.h"

namespace cairn::lsm {

bool PinnedTable::Open(rocksdb::ColumnFamilyData* family, const rocksdb::SuperVersion& version,
                       const rocksdb::ReadOptions& options, rocksdb::Env::IOActivity activity,
                       const rocksdb::FileMetaData& file, int level) {
  *this = PinnedTable();
  reader_ = file.fd.pinned_reader.Get();
  if (reader_ != nullptr) return true;
  cache_ = family->table_cache();
  const uint64_t number = file.fd.GetNumber();
  handle_ = cache_->get_cache().Lookup(
      rocksdb::Slice(reinterpret_cast<const char*>(&number), sizeof(number)));
  if (handle_ != nullptr) {
    reader_ = cache_->get_cache().Value(handle_);
    return true;
  }
  rocksdb::ReadOptions with_activity(options);
  with_activity.io_activity = activity;
  const rocksdb::MutableCFOptions& family_options = version.mutable_cf_options;
  return cache_
      ->FindTable(with_activity, *family->soptions(), family->internal_comparator(), file, &handle_,
                  family_options, &reader_, /*no_io=*/false,
                  family->internal_stats()->GetFileReadHist(level), /*skip_filters=*/false, level,
                  /*prefetch_index_and_filter_in_cache=*/true,
                  rocksdb::MaxFileSizeForL0MetaPin(family_options), file.temperature)
      .ok();
}

}  // namespace cairn::lsm
