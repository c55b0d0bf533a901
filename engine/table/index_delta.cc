#include "engine/table/index_delta.h"

#include "engine/base/bytes.h"

namespace cairn {
namespace {

// A delta's values: this byte alone, or the other one, the value of the entry, and unique_bytes as
// a number of 4 bytes.
constexpr char kGone = 1;
constexpr char kExists = 2;
constexpr std::string_view kGoneValue(&kGone, 1);

constexpr size_t kPrefixBytes = 2 * sizeof(uint32_t);

void AppendPrefix(uint32_t delta_number, uint32_t generation, std::string* to) {
  AppendBigEndian(delta_number, to);
  AppendBigEndian(generation, to);
}

}  // namespace

std::string DeltaPrefix(uint32_t delta_number, uint32_t generation) {
  std::string prefix;
  AppendPrefix(delta_number, generation, &prefix);
  return prefix;
}

void DecodeDeltaKey(std::string_view delta_key, uint32_t index_number, std::string* key) {
  CAIRN_ASSERT(delta_key.size() >= kPrefixBytes);
  key->clear();
  AppendBigEndian(index_number, key);
  key->append(delta_key.substr(kPrefixBytes));
}

Result<DeltaEntry> DecodeDelta(std::string_view value) {
  if (value == kGoneValue) return DeltaEntry();
  if (value.size() < 1 + sizeof(uint32_t) || value.front() != kExists) {
    return Status(StatusCode::kCorruption, "an entry that was noted for a new index");
  }
  const size_t end = value.size() - sizeof(uint32_t);
  return DeltaEntry{true, value.substr(1, end - 1), LoadBigEndian<uint32_t>(value.data() + end)};
}

uint32_t UniqueBytes(const IndexCodec& codec, const uint8_t* record, std::string* prefix) {
  if (!codec.layout().unique || !codec.EncodeUniquePrefix(record, prefix)) return 0;
  return static_cast<uint32_t>(prefix->size());
}

// Without what follows the value proper in a delta.
void DeltaWriter::EncodeEntry(const TableBuild& build, const Row& row, std::string* key,
                              std::string* value) {
  build.codec->EncodeKey(row.record, row.hidden_key, key, &unpack_info_);
  build.codec->EncodeSecondaryValue(unpack_info_, row.ttl_stamp, value);
}

// Writes the entry in key_ and value_. The checksums are those that it has in the index.
Status DeltaWriter::PutEntry(Transaction* transaction, const TableBuild& build,
                             const uint8_t* record) {
  if (append_checksums_) IndexCodec::AppendChecksums(key_, &value_);
  value_.insert(0, 1, kExists);
  AppendBigEndian(UniqueBytes(*build.codec, record, &unique_prefix_), &value_);
  return Put(transaction, build, key_, value_);
}

Status DeltaWriter::PutGone(Transaction* transaction, const TableBuild& build,
                            std::string_view key) {
  return Put(transaction, build, key, kGoneValue);
}

// `key`: of the entry in the index.
Status DeltaWriter::Put(Transaction* transaction, const TableBuild& build, std::string_view key,
                        std::string_view value) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<uint32_t> generation,
                         transaction->JoinBuild(table_->definition().build));
  if (!generation.has_value()) return Status();
  delta_key_.clear();
  AppendPrefix(build.delta_number, *generation, &delta_key_);
  delta_key_.append(key.substr(kIndexNumberBytes));
  build.figures->delta_written.fetch_add(1, std::memory_order_relaxed);
  return transaction->Put(*build.family, delta_key_, value);
}

Status DeltaWriter::Insert(Transaction* transaction, const Row& row) {
  for (const TableBuild& build : table_->builds()) {
    EncodeEntry(build, row, &key_, &value_);
    CAIRN_RETURN_IF_ERROR(PutEntry(transaction, build, row.record));
  }
  return Status();
}

// An entry that stays as it is was seen by the scan, or is in the delta already.
Status DeltaWriter::Update(Transaction* transaction, const Row& old_row, const Row& new_row) {
  for (const TableBuild& build : table_->builds()) {
    EncodeEntry(build, old_row, &old_key_, &old_value_);
    EncodeEntry(build, new_row, &key_, &value_);
    if (old_key_ != key_) {
      CAIRN_RETURN_IF_ERROR(PutGone(transaction, build, old_key_));
    } else if (old_value_ == value_) {
      continue;
    }
    CAIRN_RETURN_IF_ERROR(PutEntry(transaction, build, new_row.record));
  }
  return Status();
}

Status DeltaWriter::Delete(Transaction* transaction, const uint8_t* record, uint64_t hidden_key) {
  for (const TableBuild& build : table_->builds()) {
    build.codec->EncodeKey(record, hidden_key, &old_key_, &unpack_info_);
    CAIRN_RETURN_IF_ERROR(PutGone(transaction, build, old_key_));
  }
  return Status();
}

}  // namespace cairn
