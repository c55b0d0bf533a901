// How a row or a range of keys is locked.
#pragma once

#include <cstdint>

namespace cairn {

enum class LockMode : uint8_t { kShared, kExclusive };  // Persisted (docs/on-disk-format.md).

}  // namespace cairn
