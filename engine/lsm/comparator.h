// The two orders of keys. Their names are persisted in the MANIFEST and compared at every open
// (docs/stock-format.md, 1.2).
#pragma once

#include <optional>
#include <string_view>

#include "engine/lsm/key_order.h"
#include "rocksdb/comparator.h"

namespace cairn::lsm {

inline constexpr std::string_view kReverseColumnFamilyPrefix = "rev:";

// Whether a column family of this name sorts its keys in descending order.
bool IsReverseColumnFamily(std::string_view name);

// Unsigned byte-wise order, and its exact negation. Singletons that live until the process ends.
const rocksdb::Comparator* ForwardComparator();
const rocksdb::Comparator* ReverseComparator();
// The order of keys by one of them; nullopt: another program's comparator.
std::optional<KeyOrder> OrderOf(const rocksdb::Comparator& comparator);

}  // namespace cairn::lsm
