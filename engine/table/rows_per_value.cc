#include "engine/table/rows_per_value.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/codec/distinct_prefixes.h"
#include "engine/table/memtable_values.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/table_statistics.h"

namespace cairn {
namespace {

// An index with no more entries is walked wholly, also where it is deleted from and overwritten.
constexpr uint64_t kSmallIndexEntries = 400;
constexpr uint64_t kSkippedDeletions = 10'000;

using Counts = std::vector<int64_t>;  // Of the values of the first i+1 own parts.

// The entries that there are, as a reader sees them.
class Walk {
 public:
  Walk(Database* database, const TableIndex& index) : index_(index), transaction_(database) {
    transaction_.Start(TransactionSettings());
    iterator_.emplace(index.definition, &transaction_, Transaction::View::kLatest,
                      kSkippedDeletions);
  }

  // Nothing when there are more than `most` entries.
  Result<std::optional<Counts>> CountAll(uint64_t most) {
    iterator_->SeekToFirst();
    CAIRN_ASSIGN_OR_RETURN(Sample sample, Look(most, &OrderedIterator::Next));
    if (iterator_->Valid() || iterator_->GaveUp()) return std::optional<Counts>();
    return std::optional(std::move(sample.counts));
  }

  // From what lies at both ends.
  Result<Counts> Guess(uint64_t row_count) {
    constexpr uint64_t kSampledEntries = 200;  // At each end.
    constexpr double kManyRows = 20;           // Of one value in a sample.
    iterator_->SeekToFirst();
    CAIRN_ASSIGN_OR_RETURN(Sample seen, Look(kSampledEntries, &OrderedIterator::Next));
    iterator_->SeekToLast();
    CAIRN_ASSIGN_OR_RETURN(const Sample last, Look(kSampledEntries, &OrderedIterator::Previous));
    seen.entries += last.entries;
    const auto rows = static_cast<double>(row_count);
    for (size_t i = 0; i < seen.counts.size(); ++i) {
      int64_t& count = seen.counts[i];
      count += last.counts[i];
      if (count == 0) continue;
      const double rows_per_value = seen.entries / static_cast<double>(count);
      count = static_cast<int64_t>(rows / rows_per_value);
      // The ends of an index are not like its middle, and a sample cannot find values that more
      // entries share than it has.
      if (rows_per_value < kManyRows) continue;
      CAIRN_ASSIGN_OR_RETURN(const auto few, CountFewValues(i + 1));
      if (few.value_or(0) > 0) count = static_cast<int64_t>(*few);
    }
    return seen.counts;
  }

 private:
  struct Sample {
    Counts counts;
    double entries = 0;
  };

  Result<Sample> Look(uint64_t most, void (OrderedIterator::*move)()) {
    DistinctPrefixes values(*index_.codec, DistinctPrefixes::Samples::kNone);
    Sample sample;
    for (uint64_t i = 0; i < most && iterator_->Valid(); ++i, ((*iterator_).*move)()) {
      if (!values.Add(iterator_->key())) return Damaged();
      ++sample.entries;
    }
    if (!iterator_->GaveUp()) CAIRN_RETURN_IF_ERROR(iterator_->status());
    sample.counts = values.Counts();
    sample.counts.resize(index_.layout().parts.size());
    return sample;
  }

  // Nothing when they are many.
  Result<std::optional<uint64_t>> CountFewValues(size_t part_count) {
    constexpr uint64_t kFewValues = 64;
    std::vector<uint32_t> part_ends;
    std::string next;
    uint64_t values = 0;
    iterator_->SeekToFirst();
    while (iterator_->Valid()) {
      if (++values > kFewValues) return std::optional<uint64_t>();
      CAIRN_RETURN_IF_ERROR(index_.codec->SplitKey(iterator_->key(), &part_ends));
      if (!PrefixSuccessor(iterator_->key().substr(0, part_ends[part_count - 1]), &next)) break;
      iterator_->SeekAtOrAfter(next);
    }
    if (iterator_->GaveUp()) return std::optional<uint64_t>();
    CAIRN_RETURN_IF_ERROR(iterator_->status());
    return std::optional<uint64_t>(values);
  }

  Status Damaged() {
    std::vector<uint32_t> part_ends;
    return index_.codec->SplitKey(iterator_->key(), &part_ends);
  }

  const TableIndex& index_;
  Transaction transaction_;
  std::optional<OrderedIterator> iterator_;
};

// The values in files and memtables together; nothing when the files have not counted them.
Result<std::optional<Counts>> CountStored(Database* database, const TableIndex& index) {
  CAIRN_ASSIGN_OR_RETURN(const auto files, SumOverFiles(database, index));
  if (!files.has_value()) return std::optional<Counts>();
  const IndexStatistics& sums = files->sums;
  const size_t part_count = index.layout().parts.size();
  if (sums.row_count > 0 && sums.distinct_prefix_counts.size() < part_count) {
    return std::optional<Counts>();
  }
  CAIRN_ASSIGN_OR_RETURN(const MemtableValues memtables, CountMemtableValues(database, index));
  Counts counts;
  for (size_t i = 0; i < part_count; ++i) {
    const MemtableValues::Prefix& added = memtables.prefixes[i];
    SharedValues values;
    if (sums.row_count > 0) {
      // Sums that an earlier run left tell no values.
      if (files->values != nullptr && i < files->values->size()) {
        values = (*files->values)[i];
      } else {
        values.AddApart(sums.distinct_prefix_counts[i]);
      }
    }
    if (i >= memtables.sampled_parts) {
      values.AddApart(added.count);
    } else if (added.exact) {
      values.Add(added.count, added.sample);
    } else {
      values.AddSeen(added.count, added.sample);
    }
    counts.push_back(values.Estimate());
  }
  return std::optional(std::move(counts));
}

}  // namespace

Result<std::vector<double>> RowsPerValue(Database* database, const TableIndex& index,
                                         uint64_t row_count) {
  std::vector<double> rows_per_value(index.layout().parts.size(), 1);
  std::optional<Counts> counts;
  if (row_count <= kSmallIndexEntries) {
    CAIRN_ASSIGN_OR_RETURN(counts, Walk(database, index).CountAll(kSmallIndexEntries));
  }
  if (!counts.has_value()) {
    CAIRN_ASSIGN_OR_RETURN(counts, CountStored(database, index));
  }
  if (!counts.has_value()) {
    CAIRN_ASSIGN_OR_RETURN(counts, Walk(database, index).Guess(row_count));
  }
  for (size_t i = 0; i < rows_per_value.size(); ++i) {
    if ((*counts)[i] <= 0) continue;
    rows_per_value[i] =
        std::max(1.0, static_cast<double>(row_count) / static_cast<double>((*counts)[i]));
  }
  return rows_per_value;
}

}  // namespace cairn
