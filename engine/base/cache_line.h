// What a processor fetches from memory at once.
#pragma once

#include <cstddef>

namespace cairn {

inline constexpr size_t kCacheLineBytes = 64;

}  // namespace cairn
