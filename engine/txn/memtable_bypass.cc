#include "engine/txn/memtable_bypass.h"

#include <cstdint>
#include <string>

#include "engine/lsm/rocksdb_status.h"
#include "engine/txn/lock_list.h"

namespace cairn {
namespace {

// What is added to a batch after it was looked at: the marks of the preparation, and merges of
// AUTO_INCREMENT for as many tables as one statement may name.
constexpr uint64_t kAddedBytes = 64 << 10;
constexpr uint64_t kRoomBytes = 256 << 20;

}  // namespace

bool MayBypassMemtable(const Database& database, rocksdb::WriteBatchWithIndex* batch) {
  const uint64_t from = database.bypass_memtable_bytes();
  return from != 0 && batch->GetWriteBatch()->GetDataSize() + kAddedBytes >= from;
}

bool HasRoomForBypass(const Database& database) {
  const std::string& directory =
      database.log_directory().empty() ? database.directory() : database.log_directory();
  uint64_t free_bytes = 0;
  const rocksdb::Status read = database.env()->GetFreeSpace(directory, &free_bytes);
  return !read.ok() || free_bytes >= kRoomBytes;
}

// An entry that the index lacks, of a key that is never there.
rocksdb::Status KeepInMemtable(const Database& database, rocksdb::WriteBatchWithIndex* batch) {
  return batch->GetWriteBatch()->Delete(database.system_family().handle, LockListKey());
}

std::vector<rocksdb::ColumnFamilyHandle*> ChangedFamilies(const Database& database,
                                                          rocksdb::WriteBatchWithIndex* batch) {
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  for (const auto& [id, counts] : batch->GetCFStats()) {
    const ColumnFamily* const family = database.families().Find(id);
    if (family != nullptr) families.push_back(family->handle);
  }
  return families;
}

void WriteOut(const Database& database, const std::vector<rocksdb::ColumnFamilyHandle*>& families) {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  const Status written = FromRocksDb(database.rocksdb()->Flush(options, families));
  if (!written.ok()) {
    database.log().Write(Severity::kWarning,
                         "writing a large transaction to files: " + written.ToString());
  }
}

}  // namespace cairn
