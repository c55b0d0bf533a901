#include "engine/codec/value_sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

constexpr uint16_t kSampleVersion = 1;  // Persisted.

uint64_t Mix(uint64_t hash, uint64_t bytes) {
  hash = (hash ^ bytes) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 32);
}

bool ReadSample(ByteReader* from, ValueSample* sample) {
  uint16_t count;
  if (!from->ReadBigEndian(&count) || count > kSampledValues ||
      count > from->remaining() / sizeof(uint32_t)) {
    return false;
  }
  sample->resize(count);
  for (uint32_t& hash : *sample) {
    if (!from->ReadBigEndian(&hash)) return false;
  }
  return std::adjacent_find(sample->begin(), sample->end(), std::greater_equal<>()) ==
         sample->end();
}

bool ReadIndex(ByteReader* from, IndexSamples* samples) {
  uint32_t index_number;
  uint8_t prefix_count;
  if (!from->ReadBigEndian(&index_number) || !from->ReadBigEndian(&prefix_count)) return false;
  if (prefix_count == 0) return true;  // As if it were not there.
  std::vector<ValueSample>& prefixes = (*samples)[index_number];
  prefixes.resize(prefix_count);
  return std::all_of(prefixes.begin(), prefixes.end(),
                     [from](ValueSample& sample) { return ReadSample(from, &sample); });
}

}  // namespace

uint64_t HashValue(uint64_t before, std::string_view part) {
  uint64_t hash = Mix(before, part.size() + 1);
  while (part.size() >= sizeof(uint64_t)) {
    hash = Mix(hash, LoadBigEndian<uint64_t>(part.data()));
    part.remove_prefix(sizeof(uint64_t));
  }
  uint64_t rest = 0;
  for (const char byte : part) rest = rest << 8 | static_cast<uint8_t>(byte);
  return Mix(Mix(hash, rest), 0);
}

void AddToSample(uint32_t hash, ValueSample* sample) {
  if (sample->size() == kSampledValues && hash >= sample->back()) return;
  const auto place = std::lower_bound(sample->begin(), sample->end(), hash);
  if (place != sample->end() && *place == hash) return;
  if (sample->size() == kSampledValues) sample->pop_back();
  sample->insert(place, hash);
}

void MergeSamples(const ValueSample& other, ValueSample* sample) {
  ValueSample both;
  both.reserve(other.size() + sample->size());
  std::set_union(sample->begin(), sample->end(), other.begin(), other.end(),
                 std::back_inserter(both));
  if (both.size() > kSampledValues) both.resize(kSampledValues);
  *sample = std::move(both);
}

// A hash that is among the smallest of all is among the smallest of each place that has it.
void SharedValues::Add(int64_t count, const ValueSample& sample) {
  std::vector<Value> all;
  all.reserve(values_.size() + sample.size());
  auto value = values_.begin();
  auto hash = sample.begin();
  while (all.size() < kSampledValues && (value != values_.end() || hash != sample.end())) {
    if (hash == sample.end() || (value != values_.end() && value->hash < *hash)) {
      all.push_back(*value++);
    } else if (value == values_.end() || *hash < value->hash) {
      all.push_back({*hash++, 1});
    } else {
      all.push_back({value->hash, value->places + 1});
      ++value;
      ++hash;
    }
  }
  values_ = std::move(all);
  sum_ += count;
}

void SharedValues::AddSeen(int64_t count, const ValueSample& seen) {
  const bool all = values_.size() < kSampledValues;
  int64_t comparable = 0;
  int64_t shared = 0;
  auto value = values_.begin();
  for (const uint32_t hash : seen) {
    while (value != values_.end() && value->hash < hash) ++value;
    if (value == values_.end() && !all) break;
    ++comparable;
    if (value != values_.end() && value->hash == hash) ++shared;
  }
  apart_ += comparable == 0 ? count : count - count * shared / comparable;
}

int64_t SharedValues::Estimate() const {
  if (values_.size() < kSampledValues) return static_cast<int64_t>(values_.size()) + apart_;
  int64_t places = 0;
  for (const Value& value : values_) places += value.places;
  const double share = static_cast<double>(values_.size()) / static_cast<double>(places);
  return std::llround(static_cast<double>(sum_) * share) + apart_;
}

std::string EncodeValueSamples(const IndexSamples& samples) {
  std::string bytes;
  AppendBigEndian(kSampleVersion, &bytes);
  for (const auto& [index_number, prefixes] : samples) {
    if (prefixes.empty()) continue;
    AppendBigEndian(index_number, &bytes);
    AppendBigEndian(static_cast<uint8_t>(prefixes.size()), &bytes);
    for (const ValueSample& sample : prefixes) {
      AppendBigEndian(static_cast<uint16_t>(sample.size()), &bytes);
      for (const uint32_t hash : sample) AppendBigEndian(hash, &bytes);
    }
  }
  return bytes;
}

Result<IndexSamples> DecodeValueSamples(std::string_view bytes) {
  ByteReader reader(bytes);
  uint16_t version;
  if (!reader.ReadBigEndian(&version)) {
    return Status(StatusCode::kCorruption, "value samples have no version: " + ToHex(bytes));
  }
  if (version != kSampleVersion) {
    return Status(StatusCode::kNotSupported,
                  "value samples of version " + std::to_string(version) + "; known is 1");
  }
  IndexSamples samples;
  while (reader.remaining() != 0) {
    if (!ReadIndex(&reader, &samples)) {
      return Status(StatusCode::kCorruption, "value samples of " + std::to_string(bytes.size()) +
                                                 " bytes end inside entry " +
                                                 std::to_string(samples.size()));
    }
  }
  return samples;
}

}  // namespace cairn
