#include "engine/monitor/condition.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "rocksdb/db.h"

namespace cairn {
namespace {

using Properties = rocksdb::DB::Properties;

constexpr std::array<const char*, 7> kLevelFiles = {"level0_files", "level1_files", "level2_files",
                                                    "level3_files", "level4_files", "level5_files",
                                                    "level6_files"};
constexpr std::array<const char*, 7> kLevelBytes = {"level0_bytes", "level1_bytes", "level2_bytes",
                                                    "level3_bytes", "level4_bytes", "level5_bytes",
                                                    "level6_bytes"};

uint64_t PropertyOf(const Database& database, const ColumnFamily& family,
                    const std::string& property) {
  uint64_t value = 0;
  return database.rocksdb()->GetIntProperty(family.handle, property, &value) ? value : 0;
}

uint64_t Sum(const Database& database, const std::string& property) {
  uint64_t sum = 0;
  for (const ColumnFamily* family : database.families().All()) {
    sum += PropertyOf(database, *family, property);
  }
  return sum;
}

uint64_t FilesOfLevel(const Database& database, const ColumnFamily& family, size_t level) {
  std::string count;  // RocksDB offers it as a text only.
  const std::string property = Properties::kNumFilesAtLevelPrefix + std::to_string(level);
  if (!database.rocksdb()->GetProperty(family.handle, property, &count)) return 0;
  return std::strtoull(count.c_str(), nullptr, 10);
}

// Of a figure of the whole database, which every family tells.
uint64_t Shared(const Database& database, const std::string& property) {
  uint64_t value = 0;
  return database.rocksdb()->GetIntProperty(property, &value) ? value : 0;
}

uint64_t Percent(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : part * 100 / whole; }

// Files and bytes of each level, over all families.
struct Levels {
  std::array<uint64_t, kLevelFiles.size()> files = {};
  std::array<uint64_t, kLevelBytes.size()> bytes = {};
};

Levels ReadLevels(const Database& database) {
  Levels levels;
  for (const ColumnFamily* family : database.families().All()) {
    std::map<std::string, std::string> figures;
    database.rocksdb()->GetMapProperty(family->handle, Properties::kCFStats, &figures);
    for (size_t level = 0; level < levels.files.size(); ++level) {
      const std::string prefix = "compaction.L" + std::to_string(level);
      const auto bytes = figures.find(prefix + ".SizeBytes");
      if (bytes != figures.end()) {
        levels.bytes[level] += static_cast<uint64_t>(std::strtod(bytes->second.c_str(), nullptr));
      }
      levels.files[level] += FilesOfLevel(database, *family, level);
    }
  }
  return levels;
}

// How near the family that is nearest to it is to the limit from which on writes are slowed down.
struct Nearness {
  uint64_t level0_percent = 0;
  uint64_t pending_compaction_percent = 0;
};

Nearness ReadNearness(const Database& database) {
  Nearness nearest;
  for (const ColumnFamily* family : database.families().All()) {
    const rocksdb::Options options = database.rocksdb()->GetOptions(family->handle);
    const uint64_t files = FilesOfLevel(database, *family, 0);
    const uint64_t pending =
        PropertyOf(database, *family, Properties::kEstimatePendingCompactionBytes);
    if (options.level0_slowdown_writes_trigger > 0) {
      nearest.level0_percent =
          std::max(nearest.level0_percent,
                   Percent(files, static_cast<uint64_t>(options.level0_slowdown_writes_trigger)));
    }
    nearest.pending_compaction_percent =
        std::max(nearest.pending_compaction_percent,
                 Percent(pending, options.soft_pending_compaction_bytes_limit));
  }
  return nearest;
}

uint64_t OldestSnapshotSeconds(const Database& database) {
  const uint64_t made = Shared(database, Properties::kOldestSnapshotTime);
  const auto now = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                             std::chrono::system_clock::now().time_since_epoch())
                                             .count());
  return made == 0 || made > now ? 0 : now - made;
}

}  // namespace

std::vector<Counter> ReadCondition(const Database& database) {
  const Nearness nearness = ReadNearness(database);
  std::error_code unknown;
  const std::filesystem::space_info disk =
      std::filesystem::space(database.rocksdb()->GetName(), unknown);
  std::vector<Counter> figures = {
      {"background_errors", Shared(database, Properties::kBackgroundErrors)},
      {"block_cache_capacity", Shared(database, Properties::kBlockCacheCapacity)},
      {"block_cache_pinned", Shared(database, Properties::kBlockCachePinnedUsage)},
      {"block_cache_usage", Shared(database, Properties::kBlockCacheUsage)},
      {"checkpoint_bytes_held", database.maintenance().backup_checkpoint().bytes()},
      {"compaction_rest_ms",
       database.throttle() == nullptr ? 0 : database.throttle()->rested_us() / 1000},
      {"damaged_files", database.damaged_files().count()},
      {"data_bytes", Sum(database, Properties::kLiveSstFilesSize)},
      {"differing_reads", database.read_verifier().differing()},
      {"disk_bytes", unknown ? 0 : disk.capacity},
      {"disk_free_bytes", unknown ? 0 : disk.available},
      {"file_bytes", Sum(database, Properties::kTotalSstFilesSize)},
      {"immutable_memtables", Sum(database, Properties::kNumImmutableMemTable)},
      {"index_builds_abandoned", database.index_builds().abandoned()},
      {"index_builds_finished", database.index_builds().finished()},
      {"index_builds_running", database.index_builds().Running().size()},
      {"level0_merges_for_reads", database.maintenance().level_zero_merges_for_reads()},
      {"level0_slowdown_percent", nearness.level0_percent},
      {"memtables_written_for_reads", database.maintenance().memtables_written_for_reads()},
      {"oldest_snapshot_seconds", OldestSnapshotSeconds(database)},
      {"pending_compaction_bytes", Sum(database, Properties::kEstimatePendingCompactionBytes)},
      {"pending_compaction_slowdown_percent", nearness.pending_compaction_percent},
      {"running_compactions", Shared(database, Properties::kNumRunningCompactions)},
      {"running_flushes", Shared(database, Properties::kNumRunningFlushes)},
      {"snapshots", Shared(database, Properties::kNumSnapshots)},
      {"table_reader_bytes", Sum(database, Properties::kEstimateTableReadersMem)},
      {"verified_reads", database.read_verifier().compared()},
      {"write_delayed_bytes_per_second", Shared(database, Properties::kActualDelayedWriteRate)},
      {"write_stopped", Shared(database, Properties::kIsWriteStopped)},
  };
  const Levels levels = ReadLevels(database);
  for (size_t level = 0; level < levels.files.size(); ++level) {
    figures.push_back({kLevelFiles[level], levels.files[level]});
    figures.push_back({kLevelBytes[level], levels.bytes[level]});
  }
  return figures;
}

}  // namespace cairn
