// The reader of a table file, held open.
//
// It depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <utility>

#include "engine/lsm/rocksdb_internals.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace cairn::lsm {

class PinnedTable {
 public:
  PinnedTable() = default;
  PinnedTable(const PinnedTable&) = delete;
  PinnedTable& operator=(const PinnedTable&) = delete;
  PinnedTable& operator=(PinnedTable&& other) noexcept {
    std::swap(reader_, other.reader_);
    std::swap(cache_, other.cache_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~PinnedTable() {
    if (handle_ != nullptr) cache_->get_cache().Release(handle_);
  }

  // Holds the reader of a file of `version`, which is one of the family's, instead of what it
  // holds. False: an error; RocksDB's own reading of the file tells which. `activity` is what
  // RocksDB counts the opening for.
  bool Open(rocksdb::ColumnFamilyData* family, const rocksdb::SuperVersion& version,
            const rocksdb::ReadOptions& options, rocksdb::Env::IOActivity activity,
            const rocksdb::FileMetaData& file, int level);

  // Null before Open() and after an error.
  rocksdb::TableReader* reader() const { return reader_; }

 private:
  rocksdb::TableReader* reader_ = nullptr;
  rocksdb::TableCache* cache_ = nullptr;
  rocksdb::TableCache::TypedHandle* handle_ = nullptr;  // Null: the reader is held anyway.
};

}  // namespace cairn::lsm
