// The tables that are open now, and what their statements cost.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/metrics/perf_context.h"

namespace cairn {

// One for each open table or partition, shared by its handlers and by whoever looks at it.
struct OpenTable {
  explicit OpenTable(std::string dictionary_name) : name(std::move(dictionary_name)) {}

  const std::string name;  // As the dictionary has it.
  PerfSums perf;
};

// Thread-safe. Mutex: mutex_, held for moments.
class OpenTables {
 public:
  // A table is open for as long as the result is kept.
  std::shared_ptr<OpenTable> Add(std::string dictionary_name);
  // In order of their names.
  std::vector<std::shared_ptr<const OpenTable>> List() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<OpenTable>> tables_;  // Some may be closed.
  size_t cleared_at_ = 0;  // How many there were after closed ones were taken out.
};

}  // namespace cairn
