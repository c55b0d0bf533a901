// Room for keys that are too long for the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cairn {

// At least `bytes` bytes, the thread's own, until its next call for the same `Use`, a type that
// stands for one place of the code. Never given back.
template <typename Use>
uint8_t* ThreadBuffer(size_t bytes) {
  thread_local std::unique_ptr<uint8_t[]> buffer;
  thread_local size_t buffer_bytes = 0;
  if (buffer_bytes < bytes) {
    buffer.reset(new uint8_t[bytes]);
    buffer_bytes = bytes;
  }
  return buffer.get();
}

}  // namespace cairn
