// What IndexCodec and DecodePlan hold: private to the sources of IndexCodec and ForeignKeySearch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/codec/checksum_chunk.h"
#include "engine/codec/column_set.h"
#include "engine/codec/damage.h"
#include "engine/codec/index_codec.h"
#include "engine/codec/key_part.h"
#include "engine/codec/row_codec.h"
#include "engine/codec/row_versions.h"

namespace cairn {

// One step through the parts of a stored key. Neighbouring parts of constant size are passed at
// once.
struct KeyStep {
  enum class Kind : uint8_t {
    kSkipBytes,     // `bytes` bytes.
    kSkip,          // The part.
    kSkipWithInfo,  // The part and its data in unpack_info.
    kFill,          // The part, into the record.
  };
  Kind kind = Kind::kSkipBytes;
  uint32_t bytes = 0;
  const KeyPart* part = nullptr;
};

struct DecodePlan::Steps {
  bool walks_key = false;
  bool checks_key_end = false;  // After the steps exactly `key_tail_bytes` bytes remain.
  bool reads_value = false;
  bool reads_on = false;  // Behind the columns of the value: verifies, or has versions.
  bool verifies = false;  // Key and value are walked whole and the checksums compared.
  uint32_t key_tail_bytes = 0;
  std::vector<KeyStep> key_steps;
  std::vector<ColumnStep> column_steps;
  // Where columns behind the base are wanted. Changes while it reads.
  std::unique_ptr<VersionedReads> versions;
};

struct IndexCodec::Compiled {
  static constexpr uint32_t kNoPart = UINT32_MAX;
  static constexpr size_t kMaxStoredParts = 65;  // Twice the server's 32, and a hidden key.

  IndexLayout layout;
  std::string label;           // "table db.t, index `k` (260)"
  std::vector<KeyPart> parts;  // Own parts, then the suffix.
  size_t own_part_count = 0;
  std::vector<uint32_t> part_of_column;  // The part that restores each column, or kNoPart.
  size_t max_key_bytes = 0;
  size_t scratch_bytes = 0;  // For the longest weight string.
  bool writes_unpack_info = false;
  bool has_primary_block = false;  // Primary key: every value has an unpack_info block.
  bool may_leave_codes = false;    // unpack_info may hold more codes than the key explains (4.8).
  RowCodec row;                    // Primary and hidden primary key.

  // The primary key inside a stored key.
  uint32_t primary_number = 0;
  bool hidden_primary = false;
  std::vector<uint32_t> primary_parts;  // The stored part of each of its parts.
  bool primary_is_tail = false;         // They are the key's last parts, in order, as they are.
  std::vector<KeyStep> head_steps;      // Over what precedes the tail, and over the tail.
  std::vector<KeyStep> tail_steps;
  SegmentFormat primary_segment_format = SegmentFormat::kCurrent;

  bool is_primary() const { return layout.kind != IndexKind::kSecondary; }

  // Compiling.
  void AssignColumns(size_t column_count);
  void DescribeParts(size_t column_count);
  void LocatePrimaryKey(const IndexLayout& primary);
  ColumnSet ColumnsInKey() const;
  void CompileRow(const ColumnSet& columns, DecodePlan::Steps* steps) const;

  // Reading.
  Damage ConsumeIndexNumber(ByteReader* key) const;
  Damage DecodeEntry(const DecodePlan::Steps& steps, std::string_view key, std::string_view value,
                     uint8_t* record, ChecksumFinding* checksums) const;
  // Leaves no BLOB of the record dangling. Errors: what the damage or the finding is told as.
  [[gnu::noinline]] Status FailedRead(const DecodePlan::Steps& steps, Damage damage,
                                      ChecksumFinding checksums, std::string_view key,
                                      uint8_t* record) const;
  Damage DecodeVersions(VersionedReads* versions, std::string_view null_bits,
                        std::string_view value, ByteReader* rest, uint8_t* record) const;
  Damage VerifyLeftover(std::string_view leftover, std::string_view key, std::string_view value,
                        ChecksumFinding* checksums) const;
  Damage AppendPrimaryTail(std::string_view key, std::string* primary_key) const;
  Damage AppendPrimaryParts(std::string_view key, std::string* primary_key) const;
  Status Corruption(Damage damage, std::string_view key) const;
  Status ChecksumMismatch(ChecksumFinding finding, std::string_view key) const;
};

// The parts of an index's stored keys: its own, then the suffix. They are not joined yet: which of
// them restores a column that several have, and what unpack_info holds, is undecided. Errors: those
// of MakeKeyPart.
Result<std::vector<KeyPart>> CompileKeyParts(const TableLayout& table, const IndexLayout& primary,
                                             const IndexLayout& index);

// The steps that pass over parts [first, last).
std::vector<KeyStep> CompileSkips(const std::vector<KeyPart>& parts, size_t first, size_t last);

}  // namespace cairn
