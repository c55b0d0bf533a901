#include "engine/lsm/mapped_memtables.h"

#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {
namespace {

// RocksDB makes pieces an eighth of write_buffer_size, and no larger than this.
constexpr size_t kMostPieceBytes = 1 << 20;
constexpr size_t kPieces = 8;

// What is asked for here, so odd that it is nobody's huge page; filters of memtables take multiples
// of it.
constexpr size_t kPieceBytes = kMostPieceBytes + 4096;

}  // namespace

// What the linker makes of rocksdb::MemMapping::AllocateHuge with --wrap (CMakeLists.txt):
// RocksDB's own, and what its arenas call.
rocksdb::MemMapping AllocateHuge(size_t bytes) asm(
    "__real__ZN7rocksdb10MemMapping12AllocateHugeEm");
rocksdb::MemMapping MapPiece(size_t bytes) asm("__wrap__ZN7rocksdb10MemMapping12AllocateHugeEm");

rocksdb::MemMapping MapPiece(size_t bytes) {
  return bytes % kPieceBytes == 0 ? rocksdb::MemMapping::AllocateLazyZeroed(bytes)
                                  : AllocateHuge(bytes);
}

void MapMemtables(rocksdb::ColumnFamilyOptions* options) {
  if (options->memtable_huge_page_size != 0 || options->arena_block_size != 0) return;
  if (options->write_buffer_size < kPieces * kMostPieceBytes) return;
  options->memtable_huge_page_size = kPieceBytes;
}

}  // namespace cairn::lsm
