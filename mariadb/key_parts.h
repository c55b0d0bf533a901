// How many parts of a key the server means.
#pragma once

#include <cstdint>

#include "mariadb/server_headers.h"

namespace cairn {

// How many parts of `key` a map names. The server's maps have no gaps; one of all ones stands for
// the parts of the key's definition.
inline uint32_t CountParts(const KEY& key, key_part_map parts) {
  return parts == HA_WHOLE_KEY ? key.user_defined_key_parts
                               : static_cast<uint32_t>(my_count_bits(parts));
}

}  // namespace cairn
