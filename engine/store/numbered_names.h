// Files that RocksDB numbers: MANIFEST-000012, OPTIONS-000014. Six digits at least, so that from
// the millionth on the order of the names as text is not that of the numbers.
#pragma once

#include <string_view>
#include <utility>

namespace cairn {

// Whether a file is older than another one of its kind. The names, without a directory, differ in
// their numbers alone.
struct ByNumber {
  bool operator()(std::string_view one, std::string_view other) const {
    return std::pair(one.size(), one) < std::pair(other.size(), other);
  }
};

}  // namespace cairn
