// What all fuzz targets begin with.
#include <gtest/gtest.h>

#include <cstdlib>

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
