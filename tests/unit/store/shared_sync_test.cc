#include "engine/store/shared_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace cairn {
namespace {

Status Failed() { return Status(StatusCode::kIoError, "no"); }

TEST(SharedSync, WhoComesWhileASyncRunsSharesTheNextOne) {
  SharedSync shared;
  std::atomic<int> syncs{0};
  std::promise<void> begun;
  std::promise<void> go_on;
  std::thread first([&] {
    EXPECT_TRUE(shared
                    .Run([&] {
                      ++syncs;
                      begun.set_value();
                      go_on.get_future().wait();
                      return Status();
                    })
                    .ok());
  });
  begun.get_future().wait();
  std::atomic<int> calling{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&] {
      ++calling;
      EXPECT_EQ(shared
                    .Run([&] {
                      ++syncs;
                      return Failed();
                    })
                    .code(),
                StatusCode::kIoError)
          << "the first sync began before this call";
    });
  }
  while (calling < 8) std::this_thread::yield();
  go_on.set_value();
  first.join();
  for (std::thread& other : others) other.join();
  EXPECT_GE(syncs, 2);
  EXPECT_LE(syncs, 9);
}

TEST(SharedSync, AFailureIsNotRemembered) {
  SharedSync shared;
  EXPECT_FALSE(shared.Run(Failed).ok());
  EXPECT_TRUE(shared.Run([] { return Status(); }).ok());
}

}  // namespace
}  // namespace cairn
