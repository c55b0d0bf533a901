// Big- and little-endian integers in byte buffers, and a reader that checks every length.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cairn {

static_assert(std::endian::native == std::endian::little,
              "Record images are little-endian; other hosts were never tested.");

template <std::unsigned_integral T>
constexpr T ByteSwap(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

// Stores `value` most significant byte first in `sizeof(T)` bytes at `to`.
template <std::unsigned_integral T>
void StoreBigEndian(void* to, T value) {
  value = ByteSwap(value);
  std::memcpy(to, &value, sizeof value);
}

template <std::unsigned_integral T>
T LoadBigEndian(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return ByteSwap(value);
}

template <std::unsigned_integral T>
void AppendBigEndian(T value, std::string* to) {
  char bytes[sizeof(T)];
  StoreBigEndian(bytes, value);
  to->append(bytes, sizeof bytes);
}

// Reads from the front of a byte string. Every Read fails (returns false, consumes nothing) when
// fewer bytes remain than asked for. Borrows the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  size_t remaining() const { return bytes_.size(); }
  std::string_view rest() const { return bytes_; }

  template <std::unsigned_integral T>
  [[nodiscard]] bool ReadBigEndian(T* value) {
    if (bytes_.size() < sizeof(T)) return false;
    *value = LoadBigEndian<T>(bytes_.data());
    bytes_.remove_prefix(sizeof(T));
    return true;
  }
  [[nodiscard]] bool ReadBytes(size_t count, std::string_view* bytes) {
    if (bytes_.size() < count) return false;
    *bytes = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return true;
  }
  [[nodiscard]] bool Skip(size_t count) {
    if (bytes_.size() < count) return false;
    bytes_.remove_prefix(count);
    return true;
  }

 private:
  std::string_view bytes_;
};

// Lower-case hexadecimal text of `bytes`, two digits a byte.
std::string ToHex(std::string_view bytes);

}  // namespace cairn
