// What the engine asks of the memory allocator of the process.
#pragma once

namespace cairn {

// Has pieces of a mebibyte and more mapped by themselves, for the whole server, so that they go back to the system as soon
// as they are freed. Memtables consist of them. The C library keeps them otherwise, in the arena of whoever has made them,
// between blocks of the cache: a third of the memory of a small server (docs/performance.md, "TPC-C on a slow disk").
//
// Does nothing where the environment says what the allocator is to do (MALLOC_MMAP_THRESHOLD_, or GLIBC_TUNABLES with
// glibc.malloc.mmap_threshold), nor with another allocator than glibc's. To be called before other threads allocate much.
void MapLargePieces();

}  // namespace cairn
