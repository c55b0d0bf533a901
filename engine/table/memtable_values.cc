#include "engine/table/memtable_values.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/distinct_prefixes.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/index_range.h"
#include "engine/table/ordered_iterator.h"
#include "rocksdb/iterator.h"

namespace cairn {
namespace {

// A stretch of the entries, in the order of the comparator.
struct Stretch {
  std::string first;
  std::string last;
  uint64_t entries = 0;
  bool operator<(const Stretch& other) const { return entries < other.entries; }
};

// A key about in the middle between two keys, the first of which is smaller.
std::string KeyBetween(std::string_view low, std::string_view high) {
  const auto differ = std::mismatch(low.begin(), low.end(), high.begin(), high.end());
  const auto common = static_cast<size_t>(differ.first - low.begin());
  const auto fraction = [common](std::string_view key) {
    uint64_t bytes = 0;
    for (size_t i = common; i < common + 7; ++i) {
      bytes = bytes << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
    }
    return bytes;
  };
  const uint64_t middle = fraction(low) + (fraction(high) - fraction(low)) / 2;
  std::string key(low.substr(0, common));
  for (int shift = 48; shift >= 0; shift -= 8) key.push_back(static_cast<char>(middle >> shift));
  return key;
}

class MemtableWalk {
 public:
  MemtableWalk(Database* database, const TableIndex& index)
      : database_(database),
        index_(index),
        range_(index.family(), index.definition.id.index_number) {
    rocksdb::ReadOptions options;
    options.read_tier = rocksdb::kMemtableTier;
    options.total_order_seek = true;
    options.iterate_lower_bound = &range_.lower();
    options.iterate_upper_bound = &range_.upper();
    iterator_ = database->NewIterator(index.family(), options);
  }

  Result<MemtableValues> Count(uint64_t walked_entries, uint64_t stepped_values) {
    if (EntriesBetween(range_.lower(), range_.upper()) <= walked_entries) return CountAll();
    CAIRN_ASSIGN_OR_RETURN(MemtableValues values, CountStretches(walked_entries));
    for (size_t i = 0; i < values.sampled_parts; ++i) {
      constexpr uint64_t kManyRows = 20;  // Of one value: a step to the next passes over as many.
      MemtableValues::Prefix& prefix = values.prefixes[i];
      if (static_cast<uint64_t>(prefix.count) * kManyRows > values.rows) break;
      CAIRN_RETURN_IF_ERROR(StepThroughValues(i, stepped_values, &prefix));
    }
    return values;
  }

 private:
  size_t own_parts() const { return index_.layout().parts.size(); }

  uint64_t EntriesBetween(const rocksdb::Slice& first, const rocksdb::Slice& end) {
    uint64_t entries = 0;
    uint64_t bytes = 0;
    database_->rocksdb()->GetApproximateMemTableStats(index_.family().handle, {first, end},
                                                      &entries, &bytes);
    return entries;
  }

  Status Damaged() const {
    return Status(StatusCode::kCorruption,
                  "a key of index `" + index_.layout().name +
                      "` cannot be split: " + ToHex(iterator_->key().ToStringView()));
  }

  MemtableValues Values(uint64_t rows, const std::vector<int64_t>& counts,
                        const std::vector<ValueSample>& samples, bool exact) const {
    MemtableValues values;
    values.rows = rows;
    values.sampled_parts = samples.size();
    for (size_t i = 0; i < own_parts(); ++i) {
      values.prefixes.push_back(
          {counts[i], exact, i < samples.size() ? samples[i] : ValueSample()});
    }
    return values;
  }

  Result<MemtableValues> CountAll() {
    DistinctPrefixes counted(*index_.codec, DistinctPrefixes::Samples::kKept);
    uint64_t rows = 0;
    for (iterator_->SeekToFirst(); iterator_->Valid(); iterator_->Next(), ++rows) {
      if (!counted.Add(iterator_->key().ToStringView())) return Damaged();
    }
    CAIRN_RETURN_IF_ERROR(FromRocksDb(iterator_->status()));
    return Values(rows, counted.Counts(), counted.samples(), /*exact=*/true);
  }

  // Looks at the beginnings of stretches of about the same number of entries.
  Result<MemtableValues> CountStretches(uint64_t walked_entries) {
    constexpr size_t kStretches = 100;
    DistinctPrefixes counted(*index_.codec, DistinctPrefixes::Samples::kKept);
    std::vector<double> distinct(index_.codec->key_part_count(), 0);
    double rows = 0;
    const std::vector<Stretch> stretches = Divide(kStretches);
    for (const Stretch& stretch : stretches) {
      const uint64_t most = std::max<uint64_t>(2, walked_entries / kStretches);
      const std::vector<int64_t> before = counted.Counts();
      counted.Jump();
      uint64_t walked = 0;
      for (iterator_->Seek(stretch.first);
           iterator_->Valid() && walked < most && !IsBehind(iterator_->key(), stretch.last);
           iterator_->Next(), ++walked) {
        if (!counted.Add(iterator_->key().ToStringView())) return Damaged();
      }
      CAIRN_RETURN_IF_ERROR(FromRocksDb(iterator_->status()));
      if (walked < 2) continue;
      const std::vector<int64_t> after = counted.Counts();
      const double entries = std::max(static_cast<double>(walked),
                                      walked < most ? 0.0 : static_cast<double>(stretch.entries));
      rows += entries;
      for (size_t i = 0; i < distinct.size(); ++i) {
        distinct[i] +=
            entries * static_cast<double>(after[i] - before[i]) / static_cast<double>(walked - 1);
      }
    }
    std::vector<int64_t> counts;
    counts.reserve(distinct.size());
    for (const double count : distinct) counts.push_back(static_cast<int64_t>(count) + 1);
    return Values(static_cast<uint64_t>(rows), counts, counted.samples(), /*exact=*/false);
  }

  // Halves the largest stretch until there are so many. Each begins and ends with a key that there
  // is.
  std::vector<Stretch> Divide(size_t count) {
    std::priority_queue<Stretch> stretches;
    std::vector<Stretch> whole;  // Those that cannot be divided.
    Stretch all;
    iterator_->SeekToFirst();
    if (!iterator_->Valid()) return whole;
    all.first = iterator_->key().ToString();
    iterator_->SeekToLast();
    if (!iterator_->Valid()) return whole;
    all.last = iterator_->key().ToString();
    all.entries = EntriesBetween(range_.lower(), range_.upper());
    stretches.push(std::move(all));
    while (!stretches.empty() && stretches.size() + whole.size() < count) {
      Stretch first = stretches.top();
      stretches.pop();
      const bool reverse = index_.family().reverse;
      const std::string middle =
          reverse ? KeyBetween(first.last, first.first) : KeyBetween(first.first, first.last);
      Stretch second;
      iterator_->Seek(middle);
      if (iterator_->Valid()) second.first = iterator_->key().ToString();
      iterator_->SeekForPrev(middle);
      // A key equal to the middle belongs to the second half.
      if (iterator_->Valid() && iterator_->key() == second.first) iterator_->Prev();
      if (second.first.empty() || !iterator_->Valid() || IsBehind(second.first, first.last) ||
          !IsBehind(second.first, first.first)) {
        whole.push_back(std::move(first));
        continue;
      }
      second.last = std::exchange(first.last, iterator_->key().ToString());
      first.entries = EntriesBetween(first.first, second.first);
      second.entries = EntriesBetween(second.first, second.last) + 1;
      stretches.push(std::move(first));
      stretches.push(std::move(second));
    }
    for (; !stretches.empty(); stretches.pop()) whole.push_back(stretches.top());
    return whole;
  }

  bool IsBehind(const rocksdb::Slice& key, const rocksdb::Slice& other) const {
    return index_.family().reverse ? key.compare(other) < 0 : key.compare(other) > 0;
  }

  // Seeks from each value of the first parts to the next. Changes nothing when they are more than
  // `most`.
  Status StepThroughValues(size_t part, uint64_t most, MemtableValues::Prefix* prefix) {
    DistinctPrefixes counted(*index_.codec, DistinctPrefixes::Samples::kKept);
    std::vector<uint32_t> part_ends;
    std::string next;
    uint64_t values = 0;
    iterator_->SeekToFirst();
    for (; iterator_->Valid(); ++values) {
      if (values == most) return Status();
      const std::string_view key = iterator_->key().ToStringView();
      CAIRN_RETURN_IF_ERROR(index_.codec->SplitKey(key, &part_ends));
      if (!counted.Add(key)) return Damaged();
      const std::string_view value = key.substr(0, part_ends[part]);
      if (index_.family().reverse) {
        // A prefix is behind all keys that it begins.
        next = value;
      } else if (!PrefixSuccessor(value, &next)) {
        ++values;
        break;
      }
      iterator_->Seek(next);
    }
    CAIRN_RETURN_IF_ERROR(FromRocksDb(iterator_->status()));
    prefix->count = static_cast<int64_t>(values);
    prefix->exact = true;
    prefix->sample = counted.samples()[part];
    return Status();
  }

  Database* const database_;
  const TableIndex& index_;
  const IndexRange range_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace

Result<MemtableValues> CountMemtableValues(Database* database, const TableIndex& index,
                                           uint64_t walked_entries, uint64_t stepped_values) {
  return MemtableWalk(database, index).Count(walked_entries, stepped_values);
}

}  // namespace cairn
