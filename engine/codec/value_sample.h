// How many different values several places hold together, when each place knows only how many it
// holds itself.
//
// Every place keeps the smallest hashes of its values. Values that two places share have the same
// hash in both: among the smallest hashes of all, the average number of places that have each says
// by how much the sum of the places' counts is too high.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace cairn {

// A place with no more values than this is known wholly. With n hashes of which a share p is in
// both of two places, the estimate is off by sqrt(p(1-p)/n)/(1+p): 2.2 % for half.
inline constexpr size_t kSampledValues = 256;  // Persisted, as the most there are.

// The smallest hashes of a place's values: ascending, no two alike, no more than kSampledValues.
// Fewer: of all values.
using ValueSample = std::vector<uint32_t>;

// The hash of a value of one part more than what `before` is the hash of; 0 stands for no part.
// Persisted.
uint64_t HashValue(uint64_t before, std::string_view part);
// What ValueSample holds of it.
inline uint32_t SampledHash(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

inline bool HasAllValues(const ValueSample& sample) { return sample.size() < kSampledValues; }
void AddToSample(uint32_t hash, ValueSample* sample);
void MergeSamples(const ValueSample& other, ValueSample* sample);

// The values of all places. An object has one kind of value.
class SharedValues {
 public:
  // A place that holds `count` values.
  void Add(int64_t count, const ValueSample& sample);
  // The same, which has some values that no other place has, as far as is known.
  void AddApart(int64_t count) { apart_ += count; }
  // A place that was looked at here and there: what it has in common with the others is what `seen`
  // has. Places added later are not compared with it.
  void AddSeen(int64_t count, const ValueSample& seen);

  int64_t Estimate() const;

 private:
  struct Value {
    uint32_t hash;
    uint32_t places;  // That have it.
  };
  std::vector<Value> values_;  // The smallest hashes of all, as ValueSample.
  int64_t sum_ = 0;
  int64_t apart_ = 0;
};

// The samples of an index in a table file, for each own part but a last one that has no value
// twice: element i is of the first i+1 parts. By index number; empty vectors are not written.
using IndexSamples = std::map<uint32_t, std::vector<ValueSample>>;

// The property that holds them (docs/on-disk-format.md).
inline constexpr std::string_view kValueSamplesProperty = "cairn.value_samples";  // Persisted.
std::string EncodeValueSamples(const IndexSamples& samples);
// Errors: kNotSupported (version), kCorruption.
Result<IndexSamples> DecodeValueSamples(std::string_view bytes);

}  // namespace cairn
