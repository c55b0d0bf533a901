#include "engine/lsm/mapped_memtables.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "tests/unit/store/memory_database.h"

namespace cairn::lsm {
namespace {

int64_t MallocBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// Fails where the linker no longer replaces what maps the pieces: nothing else would say so.
TEST(MapMemtables, WhatTheyHoldIsNotTakenFromMalloc) {
  MemoryDisk disk;
  const auto database = disk.Open();
  ASSERT_NE(database, nullptr);
  constexpr uint64_t kRows = 10'000;
  constexpr uint64_t kRowBytes = 1000;
  const std::string row(kRowBytes, 'x');
  rocksdb::WriteOptions not_logged;
  not_logged.disableWAL = true;  // The log of this disk lies in memory.
  const int64_t before = MallocBytes();
  for (uint64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(database->rocksdb()
                    ->GetBaseDB()
                    ->Put(not_logged, database->default_family().handle, std::to_string(i), row)
                    .ok());
  }
  uint64_t memtables = 0;
  ASSERT_TRUE(database->rocksdb()->GetAggregatedIntProperty(
      rocksdb::DB::Properties::kCurSizeAllMemTables, &memtables));
  EXPECT_GT(memtables, kRows * kRowBytes);
  EXPECT_LT(MallocBytes() - before, static_cast<int64_t>(kRows * kRowBytes / 4));
}

}  // namespace
}  // namespace cairn::lsm
