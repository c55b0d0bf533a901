#include "engine/codec/index_statistics.h"

#include <algorithm>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

constexpr uint16_t kVersionWithoutOperations = 1;  // Persisted.
constexpr uint16_t kCurrentVersion = 2;            // Persisted.

// Counters wrap rather than overflow: what was read from disk may hold any bits.
int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrappingSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

template <typename Operation>
void Combine(const IndexStatistics& other, Operation operation, IndexStatistics* to) {
  to->data_bytes = operation(to->data_bytes, other.data_bytes);
  to->row_count = operation(to->row_count, other.row_count);
  to->disk_bytes = operation(to->disk_bytes, other.disk_bytes);
  to->delete_count = operation(to->delete_count, other.delete_count);
  to->single_delete_count = operation(to->single_delete_count, other.single_delete_count);
  to->merge_count = operation(to->merge_count, other.merge_count);
  to->other_count = operation(to->other_count, other.other_count);
  std::vector<int64_t>& counts = to->distinct_prefix_counts;
  counts.resize(std::max(counts.size(), other.distinct_prefix_counts.size()));
  for (size_t i = 0; i < other.distinct_prefix_counts.size(); ++i) {
    counts[i] = operation(counts[i], other.distinct_prefix_counts[i]);
  }
}

void AppendSigned(int64_t value, std::string* to) {
  AppendBigEndian(static_cast<uint64_t>(value), to);
}

bool ReadSigned(ByteReader* from, int64_t* value) {
  uint64_t bits;
  if (!from->ReadBigEndian(&bits)) return false;
  *value = static_cast<int64_t>(bits);
  return true;
}

bool ReadEntry(ByteReader* from, uint16_t version, IndexStatistics* entry) {
  uint64_t distinct_count;
  if (!from->ReadBigEndian(&entry->id.column_family) ||
      !from->ReadBigEndian(&entry->id.index_number) || !ReadSigned(from, &entry->data_bytes) ||
      !ReadSigned(from, &entry->row_count) || !ReadSigned(from, &entry->disk_bytes) ||
      !from->ReadBigEndian(&distinct_count)) {
    return false;
  }
  if (version >= kCurrentVersion &&
      (!ReadSigned(from, &entry->delete_count) || !ReadSigned(from, &entry->single_delete_count) ||
       !ReadSigned(from, &entry->merge_count) || !ReadSigned(from, &entry->other_count))) {
    return false;
  }
  if (distinct_count > from->remaining() / sizeof(int64_t)) return false;
  entry->distinct_prefix_counts.resize(distinct_count);
  for (int64_t& count : entry->distinct_prefix_counts) {
    if (!ReadSigned(from, &count)) return false;
  }
  return true;
}

}  // namespace

void IndexStatistics::Add(const IndexStatistics& other) { Combine(other, WrappingAdd, this); }

void IndexStatistics::Subtract(const IndexStatistics& other) {
  Combine(other, WrappingSubtract, this);
}

std::string EncodeIndexStatistics(const std::vector<IndexStatistics>& statistics) {
  std::string bytes;
  AppendBigEndian(kCurrentVersion, &bytes);
  for (const IndexStatistics& entry : statistics) {
    AppendBigEndian(entry.id.column_family, &bytes);
    AppendBigEndian(entry.id.index_number, &bytes);
    AppendSigned(entry.data_bytes, &bytes);
    AppendSigned(entry.row_count, &bytes);
    AppendSigned(entry.disk_bytes, &bytes);
    AppendBigEndian(uint64_t{entry.distinct_prefix_counts.size()}, &bytes);
    AppendSigned(entry.delete_count, &bytes);
    AppendSigned(entry.single_delete_count, &bytes);
    AppendSigned(entry.merge_count, &bytes);
    AppendSigned(entry.other_count, &bytes);
    for (int64_t count : entry.distinct_prefix_counts) AppendSigned(count, &bytes);
  }
  return bytes;
}

Result<std::vector<IndexStatistics>> DecodeIndexStatistics(std::string_view bytes) {
  ByteReader reader(bytes);
  uint16_t version;
  if (!reader.ReadBigEndian(&version)) {
    return Status(StatusCode::kCorruption, "index statistics have no version: " + ToHex(bytes));
  }
  if (version != kVersionWithoutOperations && version != kCurrentVersion) {
    return Status(StatusCode::kNotSupported,
                  "index statistics of version " + std::to_string(version) + "; known are 1 and 2");
  }
  std::vector<IndexStatistics> statistics;
  while (reader.remaining() != 0) {
    IndexStatistics entry;
    if (!ReadEntry(&reader, version, &entry)) {
      return Status(StatusCode::kCorruption, "index statistics end inside entry " +
                                                 std::to_string(statistics.size() + 1) + ": " +
                                                 ToHex(bytes));
    }
    statistics.push_back(std::move(entry));
  }
  return statistics;
}

}  // namespace cairn
