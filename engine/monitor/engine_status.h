// The report that SHOW ENGINE ROCKSDB STATUS gives.
#pragma once

#include <string>
#include <vector>

#include "engine/store/database.h"

namespace cairn {

struct StatusSection {
  std::string type;
  std::string name;
  std::string text;
};

// The sections in the order in which they are shown: counts and distributions, the database, each
// column family by name, memory, each background thread, snapshots made by name (of which there are
// none).
std::vector<StatusSection> DescribeEngineStatus(const Database& database);

}  // namespace cairn
