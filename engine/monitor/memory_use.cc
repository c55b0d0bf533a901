#include "engine/monitor/memory_use.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/monitor/stall_remedy.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/table.h"

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

// One cache serves all column families, unless somebody gave one a cache of its own in its options.
struct CacheUse {
  uint64_t usage = 0;
  uint64_t pinned = 0;
  uint64_t capacity = 0;
  uint64_t data = 0;
  uint64_t index = 0;
  uint64_t filter = 0;
};

CacheUse ReadBlockCaches(const Database& database) {
  using Role = rocksdb::CacheEntryRole;
  CacheUse use;
  std::set<const rocksdb::Cache*> seen;
  for (const ColumnFamily* family : database.families().All()) {
    const rocksdb::Options options = database.rocksdb()->GetOptions(family->handle);
    const auto* const table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    if (table == nullptr || table->block_cache == nullptr) continue;
    if (!seen.insert(table->block_cache.get()).second) continue;
    use.usage += table->block_cache->GetUsage();
    use.pinned += table->block_cache->GetPinnedUsage();
    use.capacity += table->block_cache->GetCapacity();
    std::map<std::string, std::string> kinds;
    database.rocksdb()->GetMapProperty(family->handle, Properties::kBlockCacheEntryStats, &kinds);
    const auto kind = [&kinds](Role role) -> uint64_t {
      const auto found = kinds.find(rocksdb::BlockCacheEntryStatsMapKeys::UsedBytes(role));
      return found == kinds.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
    };
    use.data += kind(Role::kDataBlock);
    use.index += kind(Role::kIndexBlock);
    use.filter += kind(Role::kFilterBlock) + kind(Role::kFilterMetaBlock);
  }
  return use;
}

void AppendBlockCache(const Database& database, std::vector<MemoryFigure>* figures) {
  const CacheUse use = ReadBlockCaches(database);
  uint64_t left = use.usage;
  const auto take = [&left](uint64_t bytes) {
    bytes = std::min(bytes, left);  // The kinds were counted some seconds ago.
    left -= bytes;
    return bytes;
  };
  figures->push_back({"block cache: data blocks", take(use.data), ""});
  figures->push_back({"block cache: index blocks", take(use.index), ""});
  figures->push_back({"block cache: filter blocks", take(use.filter), ""});
  figures->push_back({"block cache: other", left,
                      "of " + ShowBytes(use.capacity) +
                          " in all (rocksdb_block_cache_size); readers hold " +
                          ShowBytes(use.pinned)});
}

void AppendMemtables(rocksdb::DB* db, std::vector<MemoryFigure>* figures) {
  // Read in an order in which a flush in between makes no figure negative.
  const uint64_t active = Sum(db, Properties::kCurSizeActiveMemTable);
  const uint64_t current = std::max(active, Sum(db, Properties::kCurSizeAllMemTables));
  const uint64_t all = std::max(current, Sum(db, Properties::kSizeAllMemTables));
  figures->push_back({"memtables: active", active, "being written"});
  figures->push_back({"memtables: immutable", current - active, "full, to be flushed"});
  figures->push_back({"memtables: flushed", all - current,
                      "held by readers, or kept until the next write "
                      "(max_write_buffer_size_to_maintain)"});
}

// RocksDB does not say what flushes and compactions hold. Each has a block and its compressed image
// in work, the buffer of the file that it writes, the filter of that file and what it reads ahead
// of each input file.
uint64_t BackgroundBytes(const Database& database, uint64_t flushes, uint64_t compactions) {
  const rocksdb::DBOptions options = database.rocksdb()->GetDBOptions();
  const uint64_t writes = options.writable_file_max_buffer_size;
  constexpr uint64_t kInputFiles = 2;  // That are read at the same time.
  return flushes * 2 * writes +
         compactions * (2 * writes + kInputFiles * options.compaction_readahead_size);
}

}  // namespace

std::vector<MemoryFigure> ListMemory(const Database& database) {
  rocksdb::DB* const db = database.rocksdb();
  const MemoryAccounts& accounts = database.memory_accounts();
  std::vector<MemoryFigure> figures;
  AppendBlockCache(database, &figures);
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
