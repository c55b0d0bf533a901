// How entries are sorted that may be more than memory holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cairn {

class SortDirectories;

struct SortSettings {
  std::string directory;                          // Of the runs.
  SortDirectories* directories = nullptr;         // Remembers `directory`; may be null.
  uint64_t buffer_bytes = uint64_t{64} << 20;     // Held in memory before a run is written.
  uint64_t merge_read_bytes = uint64_t{1} << 30;  // Read ahead by all runs together.
  uint64_t removal_delay_ms = 0;                  // Waited after each run that is removed.
  bool keys_differ = false;                       // No two keys are equal: none is looked for.
  std::function<bool()> interrupted;  // Whether waits are to end; may be empty. Any thread.
};

}  // namespace cairn
