// The Castagnoli CRC of 32 bits, which RocksDB's files hold.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn {

// Of `bytes` behind others whose CRC is `before`; 0: of `bytes` alone.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace cairn
