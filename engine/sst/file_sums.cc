#include "engine/sst/file_sums.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/distinct_prefixes.h"
#include "rocksdb/metadata.h"

namespace cairn {
namespace {

// What was read from disk may hold any bits.
int64_t Plausible(int64_t count) { return std::clamp<int64_t>(count, 0, int64_t{1} << 48); }

// One index in one file.
struct Piece {
  IndexStatistics statistics;
  std::vector<ValueSample> samples;
  int run = 0;          // The pieces of a run are in the order of its keys, one behind the other.
  std::string largest;  // Of the file; empty when that is not known.
  std::string smallest;
};

// A file's blocks by index: those that were finished while an index was written are its own, the
// others are shared by the amount of data.
void AddDiskBytes(uint32_t family_id, const rocksdb::TableProperties& properties,
                  const std::vector<IndexStatistics>& entries,
                  std::map<IndexId, uint64_t>* disk_bytes) {
  double data = 0;
  double own = 0;
  for (const IndexStatistics& entry : entries) {
    data += static_cast<double>(entry.data_bytes);
    own += static_cast<double>(entry.disk_bytes);
  }
  const double all = static_cast<double>(properties.data_size) +
                     static_cast<double>(properties.index_size) +
                     static_cast<double>(properties.filter_size);
  const double shared = std::max(0.0, all - own);
  for (const IndexStatistics& entry : entries) {
    const double share = data > 0 ? static_cast<double>(entry.data_bytes) / data : 0;
    const double bytes = static_cast<double>(entry.disk_bytes) + share * shared;
    (*disk_bytes)[IndexId{family_id, entry.id.index_number}] +=
        static_cast<uint64_t>(std::max(0.0, bytes));
  }
}

// The values that begin in the file before a piece of the same index are counted there too.
void TakeAwayStraddling(const IndexCodec& codec, uint32_t index_number, std::string_view before,
                        std::string_view first, std::vector<int64_t>* counts) {
  const auto is_of_index = [index_number](std::string_view key) {
    return key.size() >= kIndexNumberBytes && LoadBigEndian<uint32_t>(key.data()) == index_number;
  };
  if (!is_of_index(before) || !is_of_index(first)) return;
  DistinctPrefixes values(codec, DistinctPrefixes::Samples::kNone);
  if (!values.Add(before) || !values.Add(first)) return;
  const std::vector<int64_t> begun = values.Counts();
  for (size_t i = 0; i < counts->size() && i < begun.size(); ++i) {
    if (begun[i] == 1) --(*counts)[i];
  }
}

// Puts the pieces of one index together.
class PieceSum {
 public:
  explicit PieceSum(std::shared_ptr<const IndexCodec> codec) : codec_(std::move(codec)) {}

  void Add(const Piece& piece) {
    const IndexStatistics& added = piece.statistics;
    sums_.Add(added);
    if (added.row_count == 0) return;
    if (added.distinct_prefix_counts.empty()) {
      uncounted_rows_ += Plausible(added.row_count);
      return;
    }
    // Where keys cannot be compared, what two files share is told by samples.
    if (piece.run != run_ || codec_ == nullptr || piece.smallest.empty()) EndRun();
    run_ = piece.run;
    std::vector<int64_t> counts = added.distinct_prefix_counts;
    std::transform(counts.begin(), counts.end(), counts.begin(), Plausible);
    if (counts_.empty()) {
      samples_ = piece.samples;
    } else {
      TakeAwayStraddling(*codec_, added.id.index_number, largest_, piece.smallest, &counts);
      samples_.resize(std::min(samples_.size(), piece.samples.size()));
      for (size_t i = 0; i < samples_.size(); ++i) MergeSamples(piece.samples[i], &samples_[i]);
    }
    counts_.resize(std::max(counts_.size(), counts.size()), 0);
    for (size_t i = 0; i < counts.size(); ++i) counts_[i] += counts[i];
    largest_ = piece.largest;
  }

  IndexSums Finish() {
    EndRun();
    IndexSums result;
    result.sums = std::move(sums_);
    std::vector<int64_t>& counts = result.sums.distinct_prefix_counts;
    counts.clear();
    int64_t most = Plausible(result.sums.row_count);
    const int64_t counted_rows = most - uncounted_rows_;
    if (counted_rows <= uncounted_rows_) values_.clear();
    const double scale =
        uncounted_rows_ == 0 ? 1 : static_cast<double>(most) / static_cast<double>(counted_rows);
    for (size_t i = values_.size(); i > 0; --i) {
      const double count = scale * static_cast<double>(values_[i - 1].Estimate());
      most = static_cast<int64_t>(std::min(count, static_cast<double>(most)));
      counts.insert(counts.begin(), most);
    }
    result.values = std::make_shared<const ValuesOfPrefixes>(std::move(values_));
    return result;
  }

 private:
  void EndRun() {
    if (values_.size() < counts_.size()) values_.resize(counts_.size());
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (i >= samples_.size()) {
        values_[i].AddApart(counts_[i]);
      } else {
        const bool all = HasAllValues(samples_[i]);
        values_[i].Add(all ? static_cast<int64_t>(samples_[i].size()) : counts_[i], samples_[i]);
      }
    }
    counts_.clear();
    samples_.clear();
  }

  const std::shared_ptr<const IndexCodec> codec_;
  IndexStatistics sums_;
  int64_t uncounted_rows_ = 0;
  ValuesOfPrefixes values_;
  // Of the run.
  int run_ = -1;
  std::vector<int64_t> counts_;
  std::vector<ValueSample> samples_;
  std::string largest_;
};

IndexSamples ReadSamples(const std::string& path, const rocksdb::TableProperties& properties,
                         Log* log) {
  const auto found = properties.user_collected_properties.find(std::string(kValueSamplesProperty));
  if (found == properties.user_collected_properties.end()) return {};
  auto samples = DecodeValueSamples(found->second);
  if (samples.ok()) return std::move(samples).value();
  log->Write(Severity::kWarning, "samples of values in the file " + path +
                                     " are ignored: " + samples.status().ToString());
  return {};
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class Summing {
 public:
  Summing(rocksdb::ColumnFamilyHandle* family, Log* log) : family_id_(family->GetID()), log_(log) {}

  void AddFile(const std::string& path, const rocksdb::TableProperties& properties, int run,
               const rocksdb::SstFileMetaData* metadata) {
    result_.range_deletions = result_.range_deletions || properties.num_range_deletions != 0;
    auto entries = ReadFileStatistics(properties);
    if (!entries.ok()) {
      log_->Write(Severity::kWarning, "statistics in the file " + path +
                                          " are ignored: " + entries.status().ToString());
    }
    if (!entries.ok() || !entries->has_value()) {
      result_.complete = false;
      return;
    }
    AddDiskBytes(family_id_, properties, **entries, &result_.disk_bytes);
    IndexSamples samples = ReadSamples(path, properties, log_);
    for (IndexStatistics& entry : **entries) {
      Piece piece;
      if (const auto found = samples.find(entry.id.index_number); found != samples.end()) {
        piece.samples = std::move(found->second);
      }
      piece.run = run;
      if (metadata != nullptr) {
        piece.smallest = metadata->smallestkey;
        piece.largest = metadata->largestkey;
      }
      piece.statistics = std::move(entry);
      pieces_[piece.statistics.id.index_number].push_back(std::move(piece));
    }
  }

  FileSums Finish(const KeyLayouts& layouts) {
    for (const auto& [index_number, pieces] : pieces_) {
      const IndexId id{family_id_, index_number};
      PieceSum sum(layouts.Find(id));
      for (const Piece& piece : pieces) sum.Add(piece);
      IndexSums& index = result_.indexes[id] = sum.Finish();
      index.sums.id = id;
    }
    return std::move(result_);
  }

 private:
  const uint32_t family_id_;
  Log* const log_;
  FileSums result_;
  std::map<uint32_t, std::vector<Piece>> pieces_;
};

}  // namespace

FileSums SumFiles(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                  const rocksdb::TablePropertiesCollection& files, const KeyLayouts& layouts,
                  Log* log) {
  rocksdb::ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(family, &metadata);
  std::map<std::string_view, const std::string*> left;  // By file name.
  for (const auto& [path, properties] : files) left.emplace(FileName(path), &path);

  Summing summing(family, log);
  int run = 0;
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      const auto found = left.find(FileName(file.name));
      if (found == left.end()) continue;
      summing.AddFile(*found->second, *files.at(*found->second), run, &file);
      left.erase(found);
      if (level.level == 0) ++run;
    }
    ++run;
  }
  // Files that came or went between the two questions.
  for (const auto& [name, path] : left) {
    summing.AddFile(*path, *files.at(*path), run++, nullptr);
  }
  return summing.Finish(layouts);
}

Result<std::optional<std::vector<IndexStatistics>>> ReadFileStatistics(
    const rocksdb::TableProperties& properties) {
  const auto found =
      properties.user_collected_properties.find(std::string(kIndexStatisticsProperty));
  if (found == properties.user_collected_properties.end()) {
    return std::optional<std::vector<IndexStatistics>>();
  }
  CAIRN_ASSIGN_OR_RETURN(std::vector<IndexStatistics> entries,
                         DecodeIndexStatistics(found->second));
  return std::optional(std::move(entries));
}

}  // namespace cairn
