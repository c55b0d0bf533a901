// The fuzz target of engine/codec/: the first byte chooses what the others are taken for
// (inputs.h).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr uint8_t kLayouts = 'L';
  if (data[0] == kLayouts) {
    cairn::testing::CheckLayouts(input);
    return 0;
  }
  switch (data[0] % 4) {
    case 0:
      cairn::testing::CheckDictionaryBytes(input);
      break;
    case 1:
      cairn::testing::CheckAlteredRow(input);
      break;
    default:
      cairn::testing::CheckEntryBytes(input);
  }
  return 0;
}
