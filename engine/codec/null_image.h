// What a record has behind a NULL bit that is set.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace cairn {

// `null_image`: ColumnLayout::null_image. `zero_bytes`: how many bytes are zero without one.
inline void FillNull(const std::string* null_image, uint32_t zero_bytes, uint8_t* image) {
  if (null_image == nullptr) {
    std::memset(image, 0, zero_bytes);
  } else {
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): these are bytes, no text.
    std::memcpy(image, null_image->data(), null_image->size());
  }
}

}  // namespace cairn
