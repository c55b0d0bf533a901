#include "engine/metrics/memory_account.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(MemoryCharge, TellsStepsThatMatterAndGivesAllBackAtItsEnd) {
  MemoryAccounts accounts;
  {
    MemoryCharge charge(&accounts, MemoryPart::kBulkLoad);
    charge.Set(MemoryCharge::kStep - 1);
    EXPECT_EQ(accounts.Bytes(MemoryPart::kBulkLoad), 0u);
    charge.Set(MemoryCharge::kStep);
    EXPECT_EQ(accounts.Bytes(MemoryPart::kBulkLoad), uint64_t{MemoryCharge::kStep});
    charge.Set(1);
    EXPECT_EQ(accounts.Bytes(MemoryPart::kBulkLoad), uint64_t{MemoryCharge::kStep});
    charge.Set(100 * MemoryCharge::kStep);
    EXPECT_EQ(accounts.Bytes(MemoryPart::kBulkLoad), uint64_t{100 * MemoryCharge::kStep});
    EXPECT_EQ(accounts.Bytes(MemoryPart::kRowLocks), 0u);
    charge.Set(0);
    EXPECT_EQ(accounts.Bytes(MemoryPart::kBulkLoad), 0u);
    charge.Set(2 * MemoryCharge::kStep);
  }
  EXPECT_EQ(accounts.Bytes(MemoryPart::kBulkLoad), 0u);
}

}  // namespace
}  // namespace cairn
