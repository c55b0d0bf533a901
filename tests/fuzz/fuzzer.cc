// The functions that libFuzzer calls, the same for all targets.
#include "tests/fuzz/fuzzer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

// Ends the process at the first check that fails, so that libFuzzer keeps the input.
class EndAtFailure : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed()) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  listeners.Append(listeners.Release(listeners.default_result_printer()));
  listeners.Append(new EndAtFailure);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  cairn::testing::CheckInput(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
