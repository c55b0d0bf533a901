#include "tests/unit/concurrency/keeper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "engine/monitor/condition.h"
#include "engine/monitor/counters.h"
#include "engine/monitor/engine_status.h"
#include "engine/monitor/inspection.h"
#include "engine/monitor/level_figures.h"
#include "engine/monitor/memory_use.h"
#include "engine/monitor/stall_remedy.h"
#include "engine/txn/lock_report.h"

namespace cairn::testing {
namespace {

// Between two things that they do, so that they do not take all of the processor.
constexpr std::chrono::milliseconds kRest(5);

}  // namespace

void Keeper::Work() {
  const Status done = Maintain();
  EXPECT_TRUE(done.ok()) << done.ToString();
  bank().Count(Bank::kMaintenance);
  std::this_thread::sleep_for(kRest);
}

Status Keeper::Maintain() {
  Maintenance& maintenance = bank().database().maintenance();
  const auto families = bank().database().families().All();
  const ColumnFamily& family = *families[dice().Below(static_cast<int64_t>(families.size()))];
  switch (dice().Below(10)) {
    case 0:
      return maintenance.CompactLevelZero();
    case 1:
      return maintenance.Compact(family);
    case 2: {
      const AccountTable& accounts = *bank().tables()[dice().Below(2)];
      const std::shared_lock definition(accounts.gate().definition);
      const IndexDefinition& index =
          accounts.table()->index(static_cast<uint32_t>(dice().Below(4))).definition;
      return maintenance.CompactIndex(*index.family, index.id.index_number);
    }
    case 3:
      CAIRN_RETURN_IF_ERROR(maintenance.PauseBackgroundWork());
      return maintenance.ContinueBackgroundWork();
    case 4:
      maintenance.AbortCompactions();
      maintenance.ResumeCompactions();
      return Status();
    case 5:
      SetBlockCacheBytes(bank().store_options(), (128 + dice().Below(256)) << 10);
      return bank().database().families().UpdateOptions(
          family.name +
          "={level0_file_num_compaction_trigger=" + std::to_string(2 + dice().Below(3)) + "}");
    case 6:
      return bank().upkeep().UpdateStatistics();
    case 7:
      return CopyDatabase();
    default:
      return maintenance.FlushMemtables();
  }
}

Status Keeper::CopyDatabase() {
  const std::string copy = bank().database().directory() + "-copy" + std::to_string(++copies_);
  const Status copied = bank().database().maintenance().CreateCheckpoint(copy);
  std::filesystem::remove_all(copy);
  return copied;
}

void Watcher::Work() {
  const Database& database = bank().database();
  EXPECT_FALSE(ReadCounters(database).empty());
  EXPECT_FALSE(ReadCondition(database).empty());
  EXPECT_FALSE(ListMemory(database).empty());
  for (const ColumnFamily* const family : database.families().All()) {
    ListLevels(database, *family);
    DescribeFamilyOptions(database, *family);
  }
  if (dice().OneIn(4)) {
    EXPECT_FALSE(DescribeEngineStatus(database).empty());
  }
  EXPECT_TRUE(ListDataFiles(database).ok());
  ListLocks(database);
  ListDeadlocks(database);
  for (const WriteStall& stall : database.write_stalls().List()) {
    DescribeRemedy(stall, ReadStallSituation(database));
  }
  for (const auto& table : bank().dictionary().Tables()) {
    EXPECT_FALSE(table->indexes.empty()) << table->name;
  }
  bank().dictionary().PendingDrops();
  for (Client* const other : others_) {
    other->facts().Describe();
    if (dice().OneIn(64)) other->Interrupt();
  }
  bank().Count(Bank::kLooks);
  std::this_thread::sleep_for(kRest);
}

}  // namespace cairn::testing
