// The fuzz target of engine/codec/ (inputs.h).
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/inputs.h"

namespace cairn::testing {

void CheckInput(uint8_t kind, std::string_view input) {
  constexpr uint8_t kLayouts = 'L';
  if (kind == kLayouts) {
    CheckLayouts(input);
    return;
  }
  switch (kind % 4) {
    case 0:
      CheckDictionaryBytes(input);
      break;
    case 1:
      CheckAlteredRow(input);
      break;
    default:
      CheckEntryBytes(input);
  }
}

}  // namespace cairn::testing
