// IndexCodec: from records and search keys to keys and values.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/codec/checksum_chunk.h"
#include "engine/codec/compiled_index.h"
#include "engine/codec/thread_buffer.h"
#include "engine/codec/unpack_info.h"

namespace cairn {
namespace {

// Keys are built on the stack and then copied once; longer ones in a buffer that the thread keeps.
constexpr size_t kStackKeyBytes = 8192;

// Replaces `*key` by what `fill(to, scratch)` writes from `to` on; it returns the end. `to` has
// room for `max_key_bytes` bytes, `scratch` for `scratch_bytes`.
template <typename Fill>
void BuildKey(size_t max_key_bytes, size_t scratch_bytes, std::string* key, Fill fill) {
  uint8_t short_buffer[kStackKeyBytes];
  const bool is_short = max_key_bytes + scratch_bytes <= kStackKeyBytes;
  uint8_t* const buffer =
      is_short ? short_buffer : ThreadBuffer<IndexCodec>(max_key_bytes + scratch_bytes);
  const uint8_t* const end = fill(buffer, buffer + max_key_bytes);
  CAIRN_ASSERT(end <= buffer + max_key_bytes);
  key->assign(reinterpret_cast<const char*>(buffer), static_cast<size_t>(end - buffer));
}

uint8_t* WriteIndexNumber(uint32_t number, uint8_t* to) {
  StoreBigEndian(to, number);
  return to + kIndexNumberBytes;
}

// What a search key holds for one part.
struct SearchValue {
  bool is_null = false;
  std::string_view data;
};

SearchValue ReadSearchValue(const KeyPart& part, const uint8_t* at) {
  SearchValue value;
  if (part.nullable()) value.is_null = *at++ != 0;
  size_t data_bytes = part.length_bytes;
  if (part.variable_length) {
    uint16_t length;
    std::memcpy(&length, at, sizeof length);
    at += sizeof length;
    data_bytes = std::min<size_t>(length, part.length_bytes);
  }
  value.data = {reinterpret_cast<const char*>(at), data_bytes};
  return value;
}

}  // namespace

void IndexCodec::EncodeKey(const uint8_t* record, uint64_t hidden_key, std::string* key,
                           std::string* unpack_info) const {
  const Compiled& index = *compiled_;
  unpack_info->clear();
  std::string* const info = index.writes_unpack_info ? unpack_info : nullptr;
  BuildKey(index.max_key_bytes, index.scratch_bytes, key, [&](uint8_t* to, uint8_t* scratch) {
    to = WriteIndexNumber(index.layout.index_number, to);
    for (const KeyPart& part : index.parts) {
      if (part.encoding == KeyEncoding::kHiddenKey) {
        StoreBigEndian(to, hidden_key);
        to += kHiddenKeyBytes;
        continue;
      }
      uint8_t* const start = to;
      const bool is_null = part.nullable() && part.IsNull(record);
      if (part.nullable()) *to++ = is_null ? 0 : 1;
      if (!is_null) to = EncodePart(part, DataInRecord(part, record), to, scratch, info);
      if (part.descending) ComplementBytes(start, to);
    }
    return to;
  });
}

bool IndexCodec::MayDiffer(const uint8_t* record, const uint8_t* other_record) const {
  const auto& parts = compiled_->parts;
  return std::any_of(parts.begin(), parts.end(), [&](const KeyPart& part) {
    if (part.encoding == KeyEncoding::kHiddenKey) return false;
    return DataDiffer(part, record, other_record);
  });
}

void IndexCodec::EncodeRow(const uint8_t* record, std::string_view unpack_info, uint64_t ttl_stamp,
                           std::string* value) const {
  const Compiled& index = *compiled_;
  CAIRN_ASSERT(index.is_primary());
  value->clear();
  if (index.layout.has_ttl_stamp) AppendBigEndian(ttl_stamp, value);
  index.row.AppendNullBits(record, value);
  if (index.has_primary_block) AppendPrimaryUnpackInfo(unpack_info, value);
  index.row.AppendColumns(record, value);
}

void IndexCodec::EncodeSecondaryValue(std::string_view unpack_info, uint64_t ttl_stamp,
                                      std::string* value) const {
  value->clear();
  if (compiled_->layout.has_ttl_stamp) AppendBigEndian(ttl_stamp, value);
  AppendSecondaryUnpackInfo(unpack_info, value);
}

void IndexCodec::AppendChecksums(std::string_view key, std::string* value) {
  AppendChecksumChunk(key, value);
}

bool IndexCodec::EncodeUniquePrefix(const uint8_t* record, std::string* prefix) const {
  const Compiled& index = *compiled_;
  const auto own_end = index.parts.begin() + static_cast<ptrdiff_t>(index.own_part_count);
  const bool any_null = std::any_of(index.parts.begin(), own_end, [&](const KeyPart& part) {
    return part.nullable() && part.IsNull(record);
  });
  if (any_null) return false;
  BuildKey(index.max_key_bytes, index.scratch_bytes, prefix, [&](uint8_t* to, uint8_t* scratch) {
    to = WriteIndexNumber(index.layout.index_number, to);
    for (auto part = index.parts.begin(); part != own_end; ++part) {
      uint8_t* const start = to;
      if (part->nullable()) *to++ = 1;
      const std::string_view data = DataInRecord(*part, record);
      if (part->EndsMatch()) return EncodeUniqueBytes(*part, data, to);
      to = EncodePart(*part, data, to, scratch, nullptr);
      if (part->descending) ComplementBytes(start, to);
    }
    return to;
  });
  return true;
}

bool IndexCodec::UniquePrefixIsExact() const {
  const Compiled& index = *compiled_;
  for (size_t i = 0; i < index.own_part_count; ++i) {
    const KeyPart& part = index.parts[i];
    // The bytes of a BLOB that end in zeros look like those of a shorter one.
    if (part.EndsMatch())
      return i + 1 == index.own_part_count && part.encoding != KeyEncoding::kBlob;
  }
  return true;
}

bool IndexCodec::SearchKeysEndEarly() const {
  const auto& parts = compiled_->parts;
  return std::any_of(parts.begin(), parts.end(),
                     [](const KeyPart& part) { return part.EndsMatch(); });
}

uint32_t IndexCodec::EncodeSearchKey(const uint8_t* search_key, uint32_t part_count,
                                     std::string* prefix) const {
  const Compiled& index = *compiled_;
  uint32_t encoded = 0;
  std::array<const uint8_t*, Compiled::kMaxStoredParts> values;
  BuildKey(index.max_key_bytes, index.scratch_bytes, prefix, [&](uint8_t* to, uint8_t* scratch) {
    to = WriteIndexNumber(index.layout.index_number, to);
    for (size_t i = 0; encoded < part_count && i < index.parts.size(); ++i) {
      const KeyPart& part = index.parts[i];
      if (part.encoding == KeyEncoding::kHiddenKey) return to;  // The server does not know it.
      const bool is_given = part.same_value_as == KeyPart::kNoPart;
      values[i] = is_given ? search_key : values[part.same_value_as];
      const SearchValue value = ReadSearchValue(part, values[i]);
      if (is_given) {
        search_key += part.SearchBytes();
        ++encoded;
      }
      uint8_t* const start = to;
      if (part.nullable()) *to++ = value.is_null ? 0 : 1;
      if (!value.is_null && part.EndsMatch()) return EncodeMatchingBytes(part, value.data, to);
      if (!value.is_null) to = EncodePart(part, value.data, to, scratch, nullptr);
      if (part.descending) ComplementBytes(start, to);
    }
    return to;
  });
  return encoded;
}

std::optional<uint64_t> IndexCodec::MostKeysBetween(std::string_view first,
                                                    std::string_view end) const {
  const Compiled& index = *compiled_;
  if (index.layout.kind != IndexKind::kPrimary) return std::nullopt;
  size_t bytes_before = kIndexNumberBytes;
  for (size_t i = 0; i + 1 < index.own_part_count; ++i) {
    const uint32_t bytes = index.parts[i].constant_bytes();
    if (bytes == 0) return std::nullopt;
    bytes_before += bytes;
  }
  const KeyPart& last = index.parts[index.own_part_count - 1];
  const bool is_integer =
      last.encoding == KeyEncoding::kUnsigned || last.encoding == KeyEncoding::kSigned;
  if (!is_integer || last.constant_bytes() == 0 || last.key_bytes > sizeof(uint64_t)) {
    return std::nullopt;
  }
  if (std::min(first.size(), end.size()) < bytes_before ||
      first.substr(0, bytes_before) != end.substr(0, bytes_before)) {
    return std::nullopt;
  }
  // A shorter key stands before those that go on with zeros, a longer one behind.
  const auto place = [&](std::string_view key) {
    uint64_t number = 0;
    for (size_t i = bytes_before; i < bytes_before + last.key_bytes; ++i) {
      number = number << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
    }
    return number;
  };
  const uint64_t from = place(first);
  const uint64_t to = place(end) + (end.size() > bytes_before + last.key_bytes ? 1 : 0);
  return to > from ? to - from : 0;
}

}  // namespace cairn
