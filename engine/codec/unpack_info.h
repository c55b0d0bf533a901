// unpack_info: what an entry's value holds so that columns can be restored from weights in its key
// (docs/stock-format.md, 4).
//
// The data is a sequence of space counters and character codes (simple_collation.h), in the order
// of the key's parts. In the value it lies in a block: a tag, a length field and the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/codec/damage.h"

namespace cairn {

inline constexpr size_t kUnpackInfoHeaderBytes = 3;  // Persisted.

// Primary keys: the length field counts the header. The block is there even when `data` is empty.
void AppendPrimaryUnpackInfo(std::string_view data, std::string* value);
// Secondary indexes: the length field is zero. No data, no block.
void AppendSecondaryUnpackInfo(std::string_view data, std::string* value);

// Takes the block off the front of `*value`.
Damage ReadPrimaryUnpackInfo(ByteReader* value, std::string_view* data);
// Takes the block's header, if there is one, off the front of `*value`; the data follows without an
// end of its own. `*present` says whether there was a block.
Damage ReadSecondaryUnpackInfoHeader(ByteReader* value, bool* present);

// --- The space counter (section 4.3) ----------------------------------------

// Bytes of the counter of a VARCHAR of at most `column_max_bytes` bytes: 1 or 2. Persisted.
constexpr uint8_t SpaceCounterBytes(size_t column_max_bytes) {
  return column_max_bytes <= 247 ? 1 : 2;
}

// Trailing spaces that the key does not hold, or fill that the value does not have.
struct SpaceCounter {
  uint32_t padding_chars = 0;  // Spaces at the end of the last segment to drop.
  uint32_t trimmed_chars = 0;  // Spaces to append. At most one of the two is not zero.
};

// `trimmed_chars` and `padding_chars` as the writer counts them: both may be positive.
void AppendSpaceCounter(size_t trimmed_chars, size_t padding_chars, uint8_t counter_bytes,
                        std::string* data);
Damage ReadSpaceCounter(ByteReader* data, uint8_t counter_bytes, SpaceCounter* counter);

}  // namespace cairn
