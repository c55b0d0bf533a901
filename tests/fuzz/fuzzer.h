// What a fuzz target defines; fuzzer.cc is the rest of its program.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::testing {

// Checks one input: `kind`, its first byte, chooses what the others are taken for. A check that
// fails ends the process.
void CheckInput(uint8_t kind, std::string_view input);

}  // namespace cairn::testing
