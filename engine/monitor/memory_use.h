// The memory of the open database, every byte by what it is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/store/database.h"

namespace cairn {

struct MemoryFigure {
  std::string role;
  uint64_t bytes = 0;
  std::string detail;  // For people.
};

// Every role, also those that hold nothing now. The kinds of the block cache are counted by walking
// through it, at most once in ten seconds; what changed since stands under "block cache: other".
std::vector<MemoryFigure> ListMemory(const Database& database);

}  // namespace cairn
