// What each level of a column family holds, and what the family's flushes and compactions did since
// the start.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/store/database.h"

namespace cairn {

struct LevelFigures {
  int level = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;     // Deletions included.
  uint64_t tombstones = 0;  // Deletions of all kinds.
  double score = 0;         // 1 and more: to be compacted.
  uint64_t files_in_compaction = 0;
  uint64_t bytes_in_compaction = 0;
  // Flushes and compactions into this level.
  uint64_t compactions = 0;
  double compaction_seconds = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t bytes_moved = 0;  // Without being written again.
  uint64_t keys_read = 0;
  uint64_t keys_dropped = 0;
  double write_amplification = 0;  // Bytes written for each byte that came from the level above.
  // Reads of this level's files, by users and by compactions.
  uint64_t file_reads = 0;
  std::optional<double> file_read_us;  // Each, on average.
};

struct FamilyLevels {
  std::vector<LevelFigures> levels;  // Those with files or a past.
  double write_amplification = 0;    // Bytes written for each byte flushed or ingested.
};

FamilyLevels ListLevels(const Database& database, const ColumnFamily& family);

}  // namespace cairn
