#include "engine/store/memory_use.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "engine/store/stall_remedy.h"
#include "rocksdb/cache.h"

namespace cairn {
namespace {

using Properties = rocksdb::DB::Properties;

uint64_t Sum(rocksdb::DB* db, const std::string& property) {
  uint64_t value = 0;
  return db->GetAggregatedIntProperty(property, &value) ? value : 0;
}

uint64_t Read(rocksdb::DB* db, const std::string& property) {
  uint64_t value = 0;
  return db->GetIntProperty(property, &value) ? value : 0;
}

void AppendBlockCache(rocksdb::DB* db, std::vector<MemoryFigure>* figures) {
  using Role = rocksdb::CacheEntryRole;
  const uint64_t usage = Read(db, Properties::kBlockCacheUsage);
  std::map<std::string, std::string> kinds;
  db->GetMapProperty(Properties::kBlockCacheEntryStats, &kinds);
  uint64_t left = usage;
  const auto take = [&](std::initializer_list<Role> roles) {
    uint64_t bytes = 0;
    for (const Role role : roles) {
      const auto found = kinds.find(rocksdb::BlockCacheEntryStatsMapKeys::UsedBytes(role));
      if (found != kinds.end()) bytes += std::strtoull(found->second.c_str(), nullptr, 10);
    }
    bytes = std::min(bytes, left);  // They were counted some seconds ago.
    left -= bytes;
    return bytes;
  };
  figures->push_back({"block cache: data blocks", take({Role::kDataBlock}), ""});
  figures->push_back({"block cache: index blocks", take({Role::kIndexBlock}), ""});
  figures->push_back(
      {"block cache: filter blocks", take({Role::kFilterBlock, Role::kFilterMetaBlock}), ""});
  figures->push_back({"block cache: other", left,
                      "of " + ShowBytes(Read(db, Properties::kBlockCacheCapacity)) +
                          " in all (rocksdb_block_cache_size); readers hold " +
                          ShowBytes(Read(db, Properties::kBlockCachePinnedUsage))});
}

void AppendMemtables(rocksdb::DB* db, std::vector<MemoryFigure>* figures) {
  // Read in an order in which a flush in between makes no figure negative.
  const uint64_t active = Sum(db, Properties::kCurSizeActiveMemTable);
  const uint64_t current = std::max(active, Sum(db, Properties::kCurSizeAllMemTables));
  const uint64_t all = std::max(current, Sum(db, Properties::kSizeAllMemTables));
  figures->push_back({"memtables: active", active, "being written"});
  figures->push_back({"memtables: immutable", current - active, "full, to be flushed"});
  figures->push_back({"memtables: pinned", all - current, "flushed, but readers hold them"});
}

// RocksDB does not say what flushes and compactions hold. Each has a block and its compressed image in work,
// the buffer of the file that it writes, the filter of that file and what it reads ahead of each input file.
uint64_t BackgroundBytes(const Database& database, uint64_t flushes, uint64_t compactions) {
  const rocksdb::DBOptions& options = database.options().db;
  const uint64_t writes = options.writable_file_max_buffer_size;
  constexpr uint64_t kInputFiles = 4;
  return flushes * 2 * writes +
         compactions * (2 * writes + kInputFiles * options.compaction_readahead_size);
}

}  // namespace

std::vector<MemoryFigure> ListMemory(const Database& database) {
  rocksdb::DB* const db = database.rocksdb();
  const MemoryAccounts& accounts = database.memory_accounts();
  std::vector<MemoryFigure> figures;
  AppendBlockCache(db, &figures);
  AppendMemtables(db, &figures);
  figures.push_back({"table readers", Sum(db, Properties::kEstimateTableReadersMem),
                     "index and filter blocks outside the block cache; estimated"});
  figures.push_back({"write batches", accounts.Bytes(MemoryPart::kWriteBatches),
                     "what open transactions will write"});
  figures.push_back({"row locks", accounts.Bytes(MemoryPart::kRowLocks), "estimated"});
  figures.push_back({"bulk load", accounts.Bytes(MemoryPart::kBulkLoad), ""});
  const uint64_t flushes = Read(db, Properties::kNumRunningFlushes);
  const uint64_t compactions = Read(db, Properties::kNumRunningCompactions);
  figures.push_back(
      {"flushes and compactions", BackgroundBytes(database, flushes, compactions),
       std::to_string(flushes) + " and " + std::to_string(compactions) + " run now; estimated"});
  return figures;
}

}  // namespace cairn
