// IndexCodec: from keys and values to records, and what lies inside a stored key.
#include <string>

#include "engine/codec/checksum_chunk.h"
#include "engine/codec/compiled_index.h"
#include "engine/codec/unpack_info.h"

namespace cairn {
namespace {

Damage Walk(const std::vector<KeyStep>& steps, ByteReader* key) {
  for (const KeyStep& step : steps) {
    if (step.kind == KeyStep::Kind::kSkipBytes) {
      if (!key->Skip(step.bytes)) return Damage::kShortKey;
    } else {
      CAIRN_RETURN_IF_DAMAGED(SkipPart(*step.part, key));
    }
  }
  return Damage::kNone;
}

Damage CheckRemaining(const ByteReader& key, size_t expected_bytes) {
  if (key.remaining() == expected_bytes) return Damage::kNone;
  return key.remaining() < expected_bytes ? Damage::kShortKey : Damage::kLongKey;
}

Damage DecodeParts(const std::vector<KeyStep>& steps, ByteReader* key, ByteReader* unpack_info,
                   uint8_t* record) {
  for (const KeyStep& step : steps) {
    switch (step.kind) {
      case KeyStep::Kind::kSkipBytes:
        if (!key->Skip(step.bytes)) return Damage::kShortKey;
        break;
      case KeyStep::Kind::kSkip:
        CAIRN_RETURN_IF_DAMAGED(SkipPart(*step.part, key));
        break;
      case KeyStep::Kind::kSkipWithInfo:
        CAIRN_RETURN_IF_DAMAGED(SkipPartAndInfo(*step.part, key, unpack_info));
        break;
      case KeyStep::Kind::kFill:
        CAIRN_RETURN_IF_DAMAGED(DecodePart(*step.part, key, unpack_info, record));
        break;
    }
  }
  return Damage::kNone;
}

// Appends the value in `segments` to `*key` in another segment format.
Damage ConvertSegments(std::string_view segments, SegmentFormat from, SegmentFormat to,
                       std::string* key) {
  std::string value(segments.size(), '\0');
  size_t value_bytes = 0;
  ByteReader reader(segments);
  CAIRN_RETURN_IF_DAMAGED(ReadVariableSegments(
      &reader, from, reinterpret_cast<uint8_t*>(value.data()), value.size(), &value_bytes));
  value.resize(value_bytes);
  const size_t start = key->size();
  key->resize(start + MaxVariableSegmentBytes(value_bytes, to));
  auto* const begin = reinterpret_cast<uint8_t*>(key->data()) + start;
  const uint8_t* const end = WriteVariableSegments(value, to, begin);
  key->resize(start + static_cast<size_t>(end - begin));
  return Damage::kNone;
}

}  // namespace

Status IndexCodec::Compiled::Corruption(Damage damage, std::string_view key) const {
  std::string text = label + ": ";
  text.append(ToString(damage)).append("; key ").append(ToHex(key));
  return Status(StatusCode::kCorruption, std::move(text));
}

Status IndexCodec::Compiled::ChecksumMismatch(ChecksumFinding finding, std::string_view key) const {
  std::string number;
  AppendBigEndian(layout.index_number, &number);
  std::string text = label + ": Checksum mismatch in ";
  text.append(finding == ChecksumFinding::kKeyDiffers ? "key" : "value")
      .append(" of key-value pair for index 0x")
      .append(ToHex(number))
      .append("; key ")
      .append(ToHex(key));
  return Status(StatusCode::kChecksumMismatch, std::move(text));
}

Damage IndexCodec::Compiled::ConsumeIndexNumber(ByteReader* key) const {
  uint32_t number;
  if (!key->ReadBigEndian(&number)) return Damage::kShortKey;
  return number == layout.index_number ? Damage::kNone : Damage::kForeignKey;
}

Damage IndexCodec::Compiled::DecodeEntry(const DecodePlan::Steps& steps, std::string_view key,
                                         std::string_view value, uint8_t* record,
                                         ChecksumFinding* checksums) const {
  ByteReader key_reader(key);
  CAIRN_RETURN_IF_DAMAGED(ConsumeIndexNumber(&key_reader));
  ByteReader value_reader(value);
  ByteReader unpack_info({});
  std::string_view null_bits;
  bool has_secondary_block = false;
  if (steps.reads_value) {
    if (layout.has_ttl_stamp && !value_reader.Skip(kTtlStampBytes)) return Damage::kShortValue;
    if (is_primary()) {
      if (!value_reader.ReadBytes(row.null_bytes(), &null_bits)) return Damage::kShortValue;
      if (has_primary_block) {
        std::string_view data;
        CAIRN_RETURN_IF_DAMAGED(ReadPrimaryUnpackInfo(&value_reader, &data));
        unpack_info = ByteReader(data);
      }
    } else {
      CAIRN_RETURN_IF_DAMAGED(ReadSecondaryUnpackInfoHeader(&value_reader, &has_secondary_block));
      if (has_secondary_block) unpack_info = value_reader;
    }
  }
  if (steps.walks_key) {
    CAIRN_RETURN_IF_DAMAGED(DecodeParts(steps.key_steps, &key_reader, &unpack_info, record));
    if (steps.checks_key_end) {
      CAIRN_RETURN_IF_DAMAGED(CheckRemaining(key_reader, steps.key_tail_bytes));
    }
  }
  if (!steps.column_steps.empty()) {
    CAIRN_RETURN_IF_DAMAGED(DecodeColumns(steps.column_steps, null_bits, &value_reader, record));
  }
  if (!steps.reads_on) return Damage::kNone;
  if (steps.versions != nullptr) {
    CAIRN_RETURN_IF_DAMAGED(
        DecodeVersions(steps.versions.get(), null_bits, value, &value_reader, record));
    if (!steps.verifies) return Damage::kNone;
  }
  if (is_primary()) {
    if (unpack_info.remaining() != 0 && !may_leave_codes) return Damage::kLongUnpackInfo;
    if (!row.NullBitsAreValid(null_bits)) return Damage::kBadNullBits;
  } else if (has_secondary_block) {
    value_reader = unpack_info;
  }
  return VerifyLeftover(value_reader.rest(), key, value, checksums);
}

// `*rest`: the value behind the base columns. The old versions of some columns lie among them.
Damage IndexCodec::Compiled::DecodeVersions(VersionedReads* versions, std::string_view null_bits,
                                            std::string_view value, ByteReader* rest,
                                            uint8_t* record) const {
  const char* const behind_bits = null_bits.data() + null_bits.size();
  ByteReader base(value.substr(static_cast<size_t>(behind_bits - value.data())));
  std::string_view data;
  if (has_primary_block) CAIRN_RETURN_IF_DAMAGED(ReadPrimaryUnpackInfo(&base, &data));
  return versions->Decode(null_bits, base, rest, record);
}

Damage IndexCodec::Compiled::VerifyLeftover(std::string_view leftover, std::string_view key,
                                            std::string_view value,
                                            ChecksumFinding* checksums) const {
  const bool codes_may_precede = may_leave_codes && !is_primary();
  if (codes_may_precede && leftover.size() > kChecksumChunkBytes) {
    leftover.remove_prefix(leftover.size() - kChecksumChunkBytes);
  }
  if (IsChecksumChunk(leftover)) {
    *checksums =
        CompareChecksums(leftover, key, value.substr(0, value.size() - kChecksumChunkBytes));
    return Damage::kNone;
  }
  return leftover.empty() || codes_may_precede ? Damage::kNone : Damage::kLongValue;
}

Status IndexCodec::Decode(const DecodePlan& plan, std::string_view key, std::string_view value,
                          uint8_t* record) const {
  ChecksumFinding checksums;
  return Decode(plan, key, value, record, &checksums);
}

Status IndexCodec::Decode(const DecodePlan& plan, std::string_view key, std::string_view value,
                          uint8_t* record, ChecksumFinding* checksums) const {
  *checksums = ChecksumFinding::kNone;
  const Damage damage = compiled_->DecodeEntry(*plan.steps_, key, value, record, checksums);
  if (damage == Damage::kNone && *checksums <= ChecksumFinding::kMatch) [[likely]]
    return Status();
  return compiled_->FailedRead(*plan.steps_, damage, *checksums, key, record);
}

// Apart from Decode(), so that that stays small enough to be part of its callers.
Status IndexCodec::Compiled::FailedRead(const DecodePlan::Steps& steps, Damage damage,
                                        ChecksumFinding checksums, std::string_view key,
                                        uint8_t* record) const {
  ClearBlobs(steps.column_steps, record);
  if (steps.versions != nullptr) steps.versions->ClearWantedBlobs(record);
  return damage != Damage::kNone ? Corruption(damage, key) : ChecksumMismatch(checksums, key);
}

// The general case: parts in another order, or in another segment format.
Damage IndexCodec::Compiled::AppendPrimaryParts(std::string_view key,
                                                std::string* primary_key) const {
  uint32_t ends[kMaxStoredParts];
  ByteReader reader(key);
  CAIRN_RETURN_IF_DAMAGED(ConsumeIndexNumber(&reader));
  for (size_t i = 0; i < parts.size(); ++i) {
    CAIRN_RETURN_IF_DAMAGED(SkipPart(parts[i], &reader));
    ends[i] = static_cast<uint32_t>(key.size() - reader.remaining());
  }
  CAIRN_RETURN_IF_DAMAGED(CheckRemaining(reader, 0));
  for (uint32_t i : primary_parts) {
    const size_t start = i == 0 ? kIndexNumberBytes : ends[i - 1];
    const std::string_view bytes = key.substr(start, ends[i] - start);
    const SegmentFormat format = parts[i].variable_format;
    if (format != primary_segment_format && parts[i].IsVariableSegments()) {
      CAIRN_RETURN_IF_DAMAGED(ConvertSegments(bytes, format, primary_segment_format, primary_key));
    } else {
      primary_key->append(bytes);
    }
  }
  return Damage::kNone;
}

Damage IndexCodec::Compiled::AppendPrimaryTail(std::string_view key,
                                               std::string* primary_key) const {
  ByteReader reader(key);
  CAIRN_RETURN_IF_DAMAGED(ConsumeIndexNumber(&reader));
  CAIRN_RETURN_IF_DAMAGED(Walk(head_steps, &reader));
  const std::string_view tail = reader.rest();
  CAIRN_RETURN_IF_DAMAGED(Walk(tail_steps, &reader));
  CAIRN_RETURN_IF_DAMAGED(CheckRemaining(reader, 0));
  primary_key->append(tail);
  return Damage::kNone;
}

Status IndexCodec::ExtractPrimaryKey(std::string_view secondary_key,
                                     std::string* primary_key) const {
  const Compiled& index = *compiled_;
  primary_key->resize(kIndexNumberBytes);
  StoreBigEndian(primary_key->data(), index.primary_number);
  const Damage damage = index.primary_is_tail
                            ? index.AppendPrimaryTail(secondary_key, primary_key)
                            : index.AppendPrimaryParts(secondary_key, primary_key);
  return damage == Damage::kNone ? Status() : index.Corruption(damage, secondary_key);
}

Result<uint64_t> IndexCodec::HiddenKey(std::string_view key) const {
  const Compiled& index = *compiled_;
  if (!index.hidden_primary) {
    return Status(StatusCode::kInvalidArgument, index.label + " has no hidden primary key");
  }
  ByteReader reader(key);
  Damage damage = index.ConsumeIndexNumber(&reader);
  if (damage == Damage::kNone) damage = Walk(index.head_steps, &reader);
  if (damage == Damage::kNone) damage = CheckRemaining(reader, kHiddenKeyBytes);
  if (damage != Damage::kNone) return index.Corruption(damage, key);
  return LoadBigEndian<uint64_t>(reader.rest().data());
}

Status IndexCodec::SplitKey(std::string_view key, std::vector<uint32_t>* part_ends) const {
  const Compiled& index = *compiled_;
  part_ends->clear();
  ByteReader reader(key);
  Damage damage = index.ConsumeIndexNumber(&reader);
  for (const KeyPart& part : index.parts) {
    if (damage != Damage::kNone) break;
    damage = SkipPart(part, &reader);
    part_ends->push_back(static_cast<uint32_t>(key.size() - reader.remaining()));
  }
  if (damage == Damage::kNone) damage = CheckRemaining(reader, 0);
  return damage == Damage::kNone ? Status() : index.Corruption(damage, key);
}

uint32_t IndexCodec::PartEnd(std::string_view key, size_t part, uint32_t start) const {
  if (start > key.size()) return 0;
  const KeyPart& skipped = compiled_->parts[part];
  if (const uint32_t bytes = skipped.constant_bytes(); bytes != 0) {
    return key.size() - start < bytes ? 0 : start + bytes;
  }
  ByteReader reader(key.substr(start));
  if (SkipPart(skipped, &reader) != Damage::kNone) return 0;
  return static_cast<uint32_t>(key.size() - reader.remaining());
}

Result<bool> IndexCodec::HasUniqueValueOf(const uint8_t* record, std::string_view key) const {
  const Compiled& index = *compiled_;
  std::vector<uint32_t> ends;
  CAIRN_RETURN_IF_ERROR(SplitKey(key, &ends));
  std::string buffer(index.max_key_bytes + index.scratch_bytes, '\0');
  std::string ascending;
  auto* const to = reinterpret_cast<uint8_t*>(buffer.data());
  size_t start = kIndexNumberBytes;
  for (size_t i = 0; i < index.own_part_count; ++i) {
    const KeyPart& part = index.parts[i];
    std::string_view stored = key.substr(start, ends[i] - start);
    start = ends[i];
    if (part.descending) {
      ascending.assign(stored);
      auto* const begin = reinterpret_cast<uint8_t*>(ascending.data());
      ComplementBytes(begin, begin + ascending.size());
      stored = ascending;
    }
    if (part.nullable()) {
      if (stored[0] == 0) return false;
      stored.remove_prefix(1);
    }
    const std::string_view data = DataInRecord(part, record);
    const uint8_t* const end = part.EndsMatch()
                                   ? EncodeUniqueBytes(part, data, to)
                                   : EncodePart(part, data, to, to + index.max_key_bytes, nullptr);
    const std::string_view expected(buffer.data(), static_cast<size_t>(end - to));
    if (part.EndsMatch() ? !stored.starts_with(expected) : stored != expected) return false;
    if (part.encoding != KeyEncoding::kBlob || data.size() < part.length_bytes) continue;
    // A stored value shorter than the indexed bytes only looks the same because of its zero
    // padding.
    uint64_t stored_bytes = 0;
    for (char byte : stored.substr(part.length_bytes)) {
      stored_bytes = stored_bytes << 8 | static_cast<uint8_t>(byte);
    }
    if (stored_bytes < part.length_bytes) return false;
  }
  return true;
}

Result<uint64_t> IndexCodec::TtlStamp(std::string_view value) const {
  if (!compiled_->layout.has_ttl_stamp) {
    return Status(StatusCode::kInvalidArgument, compiled_->label + " has no TTL stamps");
  }
  if (value.size() < kTtlStampBytes) {
    return Status(
        StatusCode::kCorruption,
        compiled_->label + ": a value is too short for its TTL stamp; value " + ToHex(value));
  }
  return LoadBigEndian<uint64_t>(value.data());
}

}  // namespace cairn
