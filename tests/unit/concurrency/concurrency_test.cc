// Everything that the engine does, done at once: transactions that write, scans, flushes,
// compactions, changes of definitions, loads, drops, monitoring. What anybody reads adds up.
//
// Under the thread sanitizer this is what shows it the engine's data races; elsewhere it shows
// whether reads are consistent. It takes a fixed time, and its choices follow from CAIRN_SEED.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/concurrency/auditor.h"
#include "tests/unit/concurrency/bank.h"
#include "tests/unit/concurrency/builder.h"
#include "tests/unit/concurrency/keeper.h"
#include "tests/unit/concurrency/teller.h"

namespace cairn::testing {
namespace {

constexpr std::chrono::seconds kOpeningTime(4);
// What a slow machine may take longer, until everything has been done once.
constexpr int kMostOvertimeMs = 60'000;
constexpr int kLookMs = 10;
constexpr unsigned kTellers = 3;
constexpr unsigned kAuditors = 2;

const char* const kSmallFiles =
    "write_buffer_size=128k;target_file_size_base=64k;max_bytes_for_level_base=256k;"
    "level0_file_num_compaction_trigger=2";

class ConcurrencyTest : public ::testing::TestWithParam<BankSettings> {
 protected:
  // Has everybody work for the opening time.
  static void Work(Bank* bank) {
    std::vector<std::unique_ptr<Client>> clients;
    unsigned number = 0;
    for (unsigned i = 0; i < kTellers; ++i) {
      clients.push_back(std::make_unique<Teller>(bank, ++number));
    }
    for (unsigned i = 0; i < kAuditors; ++i) {
      clients.push_back(std::make_unique<Auditor>(bank, ++number));
    }
    clients.push_back(std::make_unique<Builder>(bank, ++number));
    clients.push_back(std::make_unique<Keeper>(bank, ++number));
    std::vector<Client*> watched;
    for (const auto& client : clients) watched.push_back(client.get());
    clients.push_back(std::make_unique<Watcher>(bank, ++number, watched));

    std::vector<std::thread> threads;
    for (const auto& client : clients) threads.emplace_back([&client] { client->Run(); });
    std::this_thread::sleep_for(kOpeningTime);
    for (int ms = 0; ms < kMostOvertimeMs && !HasFailure() && !AllWasDone(*bank); ms += kLookMs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
    }
    bank->Stop();
    for (std::thread& thread : threads) thread.join();
  }

  static bool AllWasDone(const Bank& bank) {
    for (uint8_t deed = 0; deed < Bank::kDeeds; ++deed) {
      if (bank.count(static_cast<Bank::Deed>(deed)) == 0) return false;
    }
    return true;
  }

  static void CloseTheBooks(Bank* bank) {
    Auditor auditor(bank, /*number=*/0);
    auditor.CloseTheBooks();
  }
};

std::vector<BankSettings> AllSettings() {
  const std::string small = kSmallFiles;
  return {
      {.name = "Trees", .family_options = small},
      {.name = "RangeLocks", .family_options = "write_buffer_size=8m", .range_locks = true},
      {.name = "SkipLists", .family_options = small + ";memtable=skip_list"},
      {.name = "WritePrepared", .family_options = small, .write_prepared = true},
      {.name = "Vectors",
       .family_options = small + ";memtable=vector",
       .concurrent_memtable_writes = false},
      {.name = "HashTables",
       .family_options = small + ";memtable=prefix_hash:16;prefix_extractor=fixed:4",
       .concurrent_memtable_writes = false},
  };
}

INSTANTIATE_TEST_SUITE_P(Settings, ConcurrencyTest, ::testing::ValuesIn(AllSettings()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ConcurrencyTest, WhatAnybodyReadsAddsUp) {
  Bank bank(GetParam());
  ASSERT_FALSE(HasFailure());
  Work(&bank);
  EXPECT_TRUE(AllWasDone(bank));
  ASSERT_NO_FATAL_FAILURE(CloseTheBooks(&bank));
  if (!GetParam().write_prepared) {  // Which has RocksDB's readers do everything.
    EXPECT_GT(bank.database().read_verifier().compared(), 0u);
  }
  EXPECT_EQ(bank.database().read_verifier().differing(), 0u);
  bank.Reopen();
  ASSERT_FALSE(HasFailure());
  CloseTheBooks(&bank);
}

}  // namespace
}  // namespace cairn::testing
