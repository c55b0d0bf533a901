// The order of keys in a family.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::lsm {

// Of keys as unsigned bytes; ascending, a key comes before those that it begins.
enum class KeyOrder : uint8_t { kAscending, kDescending };

// The result of a comparison in `order`, from that in ascending order.
inline int InOrder(int ascending, KeyOrder order) {
  return order == KeyOrder::kAscending ? ascending : -ascending;
}

// < 0, 0 or > 0 for a before, at or behind b.
inline int CompareKeys(std::string_view a, std::string_view b, KeyOrder order) {
  return InOrder(a.compare(b), order);
}

}  // namespace cairn::lsm
