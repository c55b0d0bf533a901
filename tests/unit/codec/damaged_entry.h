// Stored entries that are damaged: what must come of reading them, whatever their bytes are.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {

// Bytes in a buffer of exactly their size, so that the address sanitizer sees any read beyond them.
// They begin at an odd address, as no reader may count on another.
class ExactBytes {
 public:
  explicit ExactBytes(std::string_view bytes);
  std::string_view view() const { return {bytes_.get() + 1, size_}; }
  bool Holds(const char* begin, size_t size) const {
    return begin >= view().data() && begin + size <= view().data() + size_;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_;
};

// Decodes the entry in every way there is; `plan` is of all columns that the index covers. A row
// that comes out must be one: VARCHARs within their columns (checked by Record), BLOBs within the
// value. Any other answer must be that the entry is damaged, and say which one it is. Returns what
// Decode() does.
StatusCode DecodeAnyBytes(const TestTable& table, const IndexCodec& codec, const DecodePlan& plan,
                          std::string_view key, std::string_view value);

// Calls `read` with the bytes, one of them altered: each in turn, once in a bit, once to any other.
void ForEachAlteredByte(const std::string& bytes, Random* random,
                        const std::function<void(const std::string&)>& read);

// Calls `read` with the bytes cut off at each length.
void ForEachTruncation(const std::string& bytes,
                       const std::function<void(const std::string&)>& read);

}  // namespace cairn::testing
