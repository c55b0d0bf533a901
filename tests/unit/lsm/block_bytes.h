// Blocks as RocksDB lays them out, for tests of what reads their bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::lsm {

template <typename Number>
inline void Append(Number number, std::string* to) {
  to->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

inline void AppendVarint(uint64_t number, std::string* to) {
  for (; number >= 0x80; number >>= 7) to->push_back(static_cast<char>(number | 0x80));
  to->push_back(static_cast<char>(number));
}

// As RocksDB lays a block out.
class BlockBuilder {
 public:
  BlockBuilder(size_t interval, bool values_have_sizes)
      : interval_(interval), values_have_sizes_(values_have_sizes) {}

  void Add(const std::string& key, const std::string& value) {
    size_t shared = 0;
    if (entries_++ % interval_ == 0) {
      restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    } else {
      while (shared < std::min(key.size(), last_.size()) && key[shared] == last_[shared]) ++shared;
    }
    AppendVarint(shared, &bytes_);
    AppendVarint(key.size() - shared, &bytes_);
    if (values_have_sizes_) AppendVarint(value.size(), &bytes_);
    bytes_ += key.substr(shared) + value;
    last_ = key;
  }

  // `begin`: bytes before the first entry.
  std::string Finish(const std::string& begin = "") const {
    std::string block = begin + bytes_;
    for (const uint32_t restart : restarts_) {
      Append(static_cast<uint32_t>(begin.size() + restart), &block);
    }
    Append(static_cast<uint32_t>(restarts_.size()), &block);
    return block;
  }

 private:
  const size_t interval_;
  const bool values_have_sizes_;
  size_t entries_ = 0;
  std::string bytes_;
  std::string last_;
  std::vector<uint32_t> restarts_;
};

inline std::string VersionOf(const std::string& user_key, uint64_t sequence, uint8_t type) {
  std::string key = user_key;
  Append(sequence << 8 | type, &key);
  return key;
}

// The block lies at the end of what may be read, so that a sanitizer sees who reads on.
class Exactly {
 public:
  explicit Exactly(const std::string& bytes)
      : size_(bytes.size()), bytes_(std::make_unique<char[]>(size_)) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  const size_t size_;
  const std::unique_ptr<char[]> bytes_;
};

}  // namespace cairn::lsm
