#include "tests/unit/codec/damaged_entry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/base/bytes.h"

namespace cairn::testing {

ExactBytes::ExactBytes(std::string_view bytes)
    : bytes_(std::make_unique<char[]>(bytes.size() + 1)), size_(bytes.size()) {
  std::memcpy(bytes_.get() + 1, bytes.data(), size_);
}

StatusCode DecodeAnyBytes(const TestTable& table, const IndexCodec& codec, const DecodePlan& plan,
                          std::string_view key, std::string_view value) {
  const ExactBytes exact_key(key);
  const ExactBytes exact_value(value);
  Record record(table);
  const Status status = codec.Decode(plan, exact_key.view(), exact_value.view(), record.data());
  if (status.ok()) {
    record.ToString(table.Covered(codec));
  } else {
    EXPECT_TRUE(status.code() == StatusCode::kCorruption ||
                status.code() == StatusCode::kChecksumMismatch)
        << status.ToString();
    EXPECT_NE(status.message().find(ToHex(key)), std::string_view::npos) << status.ToString();
    EXPECT_NE(status.message().find(codec.layout().name), std::string_view::npos);
  }
  std::string primary_key;
  const Status extracted = codec.ExtractPrimaryKey(exact_key.view(), &primary_key);
  EXPECT_TRUE(extracted.ok() || extracted.code() == StatusCode::kCorruption);
  std::vector<uint32_t> ends;
  const Status split = codec.SplitKey(exact_key.view(), &ends);
  EXPECT_EQ(extracted.ok(), split.ok());
  return status.code();
}

void ForEachAlteredByte(const std::string& bytes, Random* random,
                        const std::function<void(const std::string&)>& read) {
  std::string altered = bytes;
  for (size_t at = 0; at < bytes.size(); ++at) {
    altered[at] = static_cast<char>(bytes[at] ^ 1 << random->Below(8));
    read(altered);
    altered[at] = static_cast<char>(bytes[at] ^ random->Between(1, 255));
    read(altered);
    altered[at] = bytes[at];
  }
}

void ForEachTruncation(const std::string& bytes,
                       const std::function<void(const std::string&)>& read) {
  for (size_t size = 0; size < bytes.size(); ++size) read(bytes.substr(0, size));
}

}  // namespace cairn::testing
