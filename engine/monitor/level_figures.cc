#include "engine/monitor/level_figures.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "rocksdb/metadata.h"

namespace cairn {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

// What RocksDB counts, by its own names.
class Counted {
 public:
  Counted(const Database& database, const ColumnFamily& family) {
    database.rocksdb()->GetMapProperty(family.handle, rocksdb::DB::Properties::kCFStats, &figures_);
  }

  bool Has(const std::string& level) const {
    return figures_.contains("compaction." + level + ".NumFiles");
  }
  double Real(const std::string& level, const char* figure) const {
    const auto found = figures_.find("compaction." + level + "." + figure);
    return found == figures_.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
  }
  uint64_t Number(const std::string& level, const char* figure) const {
    return static_cast<uint64_t>(std::llround(Real(level, figure)));
  }
  uint64_t Bytes(const std::string& level, const char* figure) const {
    return static_cast<uint64_t>(std::llround(Real(level, figure) * kGib));
  }

 private:
  std::map<std::string, std::string> figures_;
};

struct Reads {
  uint64_t count = 0;
  double average_us = 0;
};

// RocksDB prints a histogram for each level: "** Level 2 read latency histogram (micros):", and in
// the next line "Count: 12 Average: 3.4567  StdDev: 1.00".
std::map<int, Reads> ReadsOfLevels(const Database& database, const ColumnFamily& family) {
  std::map<int, Reads> reads;
  std::string text;
  database.rocksdb()->GetProperty(family.handle, rocksdb::DB::Properties::kCFFileHistogram, &text);
  constexpr std::string_view kLevel = "** Level ";
  constexpr std::string_view kCount = "\nCount: ";
  constexpr std::string_view kAverage = " Average: ";
  for (size_t at = text.find(kLevel); at != std::string::npos; at = text.find(kLevel, at + 1)) {
    const int level = std::atoi(text.c_str() + at + kLevel.size());
    const size_t count = text.find(kCount, at);
    const size_t average = text.find(kAverage, at);
    if (count == std::string::npos || average == std::string::npos) break;
    reads[level] = {std::strtoull(text.c_str() + count + kCount.size(), nullptr, 10),
                    std::strtod(text.c_str() + average + kAverage.size(), nullptr)};
  }
  return reads;
}

// RocksDB collects what it knows of files under its mutex: one level at a time, so that writers get
// their turn.
void CountFiles(const Database& database, const ColumnFamily& family, LevelFigures* figures) {
  rocksdb::GetColumnFamilyMetaDataOptions options;
  options.level = figures->level;
  rocksdb::ColumnFamilyMetaData metadata;
  database.rocksdb()->GetColumnFamilyMetaData(family.handle, options, &metadata);
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    if (level.level != figures->level) continue;
    for (const rocksdb::SstFileMetaData& file : level.files) {
      ++figures->files;
      figures->bytes += file.size;
      figures->entries += file.num_entries;
      figures->tombstones += file.num_deletions;
      if (!file.being_compacted) continue;
      ++figures->files_in_compaction;
      figures->bytes_in_compaction += file.size;
    }
  }
}

}  // namespace

FamilyLevels ListLevels(const Database& database, const ColumnFamily& family) {
  FamilyLevels result;
  const Counted counted(database, family);
  const std::map<int, Reads> reads = ReadsOfLevels(database, family);
  const int level_count = database.rocksdb()->NumberLevels(family.handle);
  for (int number = 0; number < level_count; ++number) {
    const std::string name = "L" + std::to_string(number);
    if (!counted.Has(name)) continue;
    LevelFigures& level = result.levels.emplace_back();
    level.level = number;
    CountFiles(database, family, &level);
    level.score = counted.Real(name, "Score");
    level.compactions = counted.Number(name, "CompCount");
    level.compaction_seconds = counted.Real(name, "CompSec");
    level.bytes_read = counted.Bytes(name, "ReadGB");
    level.bytes_written = counted.Bytes(name, "WriteGB");
    level.bytes_moved = counted.Bytes(name, "MovedGB");
    level.keys_read = counted.Number(name, "KeyIn");
    level.keys_dropped = counted.Number(name, "KeyDrop");
    level.write_amplification = counted.Real(name, "WriteAmp");
    const auto found = reads.find(number);
    if (found == reads.end()) continue;
    level.file_reads = found->second.count;
    level.file_read_us = found->second.average_us;
  }
  result.write_amplification = counted.Real("Sum", "WriteAmp");
  return result;
}

}  // namespace cairn
