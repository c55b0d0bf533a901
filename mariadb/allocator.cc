#include "mariadb/allocator.h"

#include <malloc.h>

#include <cstdlib>
#include <string_view>

namespace cairn {
namespace {

#ifdef __GLIBC__
// The pieces of a memtable: RocksDB makes them an eighth of write_buffer_size, and a mebibyte at most.
constexpr int kMapFromBytes = 1 << 20;

bool EnvironmentDecides() {
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  return std::getenv("MALLOC_MMAP_THRESHOLD_") != nullptr ||
         (tunables != nullptr &&
          std::string_view(tunables).find("glibc.malloc.mmap_threshold") != std::string_view::npos);
}
#endif

}  // namespace

void MapLargePieces() {
#ifdef __GLIBC__
  if (EnvironmentDecides()) return;
  mallopt(M_MMAP_THRESHOLD, kMapFromBytes);
  // A fixed threshold fixes this one too, at 128 KiB; twice the other is what glibc keeps it at by itself.
  mallopt(M_TRIM_THRESHOLD, 2 * kMapFromBytes);
#endif
}

}  // namespace cairn
