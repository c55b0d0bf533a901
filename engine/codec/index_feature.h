// The features that make an index need the Cairn format, in words.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

// "descending key part, NO PAD collation": the set bits of IndexFeature, in their order. A bit
// without a name, which only a newer Cairn sets, is "feature 64".
std::string NameFeatures(uint32_t features);

}  // namespace cairn
