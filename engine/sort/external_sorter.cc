#include "engine/sort/external_sorter.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <queue>
#include <thread>
#include <utility>

#include "engine/lsm/comparator.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"

namespace cairn {
namespace {

constexpr size_t kBlockBytes = 256 << 10;
constexpr size_t kRunBlockBytes = 64 << 10;
constexpr uint64_t kLeastReadAheadBytes = 64 << 10;
constexpr uint64_t kMostReadAheadBytes = 4 << 20;
// Of one level: that many are merged into one of the next.
constexpr size_t kMostRuns = 64;
// A SortEntry with its lengths and what sorting takes for it; and its place in the set of keys.
constexpr uint64_t kEntryOverheadBytes = 2 * sizeof(SortEntry) + SortEntry::kHeaderBytes;
constexpr uint64_t kSetOverheadBytes = 56;

// Runs are read once, from the beginning to the end.
rocksdb::Options RunOptions(rocksdb::Env* env, const rocksdb::Comparator* comparator) {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  table.block_size = kRunBlockBytes;
  rocksdb::Options options;
  options.env = env;
  options.comparator = comparator;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Entries in order: a run, or what is still in memory.
class Source {
 public:
  // `in_memory` outlives this.
  explicit Source(std::span<const SortEntry> in_memory) : in_memory_(in_memory) { Show(); }
  static Result<std::unique_ptr<Source>> Open(const std::string& path,
                                              const rocksdb::Options& options,
                                              const rocksdb::ReadOptions& read) {
    auto source = std::make_unique<Source>(std::span<const SortEntry>());
    source->reader_ = std::make_unique<rocksdb::SstFileReader>(options);
    CAIRN_RETURN_IF_ERROR(FromRocksDb(source->reader_->Open(path)));
    source->iterator_.reset(source->reader_->NewIterator(read));
    source->iterator_->SeekToFirst();
    source->Show();
    CAIRN_RETURN_IF_ERROR(FromRocksDb(source->iterator_->status()));
    return source;
  }

  bool valid() const { return valid_; }
  // Of the current entry; valid until the next call of Next().
  std::string_view key() const { return key_; }
  std::string_view value() const {
    return iterator_ != nullptr ? iterator_->value().ToStringView() : in_memory_.front().value();
  }
  Status Next() {
    if (iterator_ == nullptr) {
      in_memory_ = in_memory_.subspan(1);
      Show();
      return Status();
    }
    iterator_->Next();
    Show();
    return valid_ ? Status() : FromRocksDb(iterator_->status());
  }

 private:
  void Show() {
    valid_ = iterator_ != nullptr ? iterator_->Valid() : !in_memory_.empty();
    if (!valid_) return;
    key_ = iterator_ != nullptr ? iterator_->key().ToStringView() : in_memory_.front().key();
  }

  std::span<const SortEntry> in_memory_;
  std::unique_ptr<rocksdb::SstFileReader> reader_;
  std::unique_ptr<rocksdb::Iterator> iterator_;  // Null: the entries are in memory.
  std::string_view key_;
  bool valid_ = false;
};

}  // namespace

ExternalSorter::ExternalSorter(rocksdb::Env* env, const rocksdb::Comparator* comparator,
                               std::string name, SortSettings settings)
    : env_(env),
      comparator_(comparator),
      order_(lsm::OrderOf(*comparator)),
      name_(std::move(name)),
      settings_(std::move(settings)) {}

ExternalSorter::~ExternalSorter() { RemoveAllRuns(); }

SortEntry ExternalSorter::Keep(std::string_view key, std::string_view value) {
  const size_t bytes = SortEntry::Bytes(key, value);
  if (bytes > block_left_) {
    const size_t size = std::max(kBlockBytes, bytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    block_next_ = blocks_.back().get();
    block_left_ = size;
  }
  const SortEntry kept = SortEntry::Store(key, value, block_next_);
  block_next_ += bytes;
  block_left_ -= bytes;
  return kept;
}

Status ExternalSorter::Add(std::string_view key, std::string_view value) {
  if (!settings_.keys_differ && keys_.contains(key)) return Status(StatusCode::kDuplicateKey);
  entries_.push_back(Keep(key, value));
  buffered_bytes_ += key.size() + value.size() + kEntryOverheadBytes;
  if (!settings_.keys_differ) {
    keys_.insert(entries_.back().key());
    buffered_bytes_ += kSetOverheadBytes;
  }
  ++entry_count_;
  return buffered_bytes_ >= settings_.buffer_bytes ? SpillBuffer() : Status();
}

void ExternalSorter::SortBuffer() {
  keys_.clear();
  if (order_.has_value()) return SortByKey(&entries_, *order_);
  std::sort(entries_.begin(), entries_.end(), [this](const SortEntry& a, const SortEntry& b) {
    return comparator_->Compare(a.key(), b.key()) < 0;
  });
}

void ExternalSorter::ClearBuffer() {
  entries_.clear();
  keys_.clear();
  blocks_.clear();
  block_left_ = 0;
  buffered_bytes_ = 0;
}

Status ExternalSorter::DrainBuffer(const Sink& sink) {
  SortBuffer();
  for (const SortEntry& entry : entries_) {
    CAIRN_RETURN_IF_ERROR(sink(entry.key(), entry.value()));
  }
  return Status();
}

Status ExternalSorter::SpillBuffer() {
  const Status spilled =
      WriteRun(/*level=*/0, [this](const Sink& sink) { return DrainBuffer(sink); });
  ClearBuffer();
  CAIRN_RETURN_IF_ERROR(spilled);
  for (size_t level = 0; level < levels_.size() && levels_[level].size() >= kMostRuns; ++level) {
    CAIRN_RETURN_IF_ERROR(WriteRun(level + 1, [this, level](const Sink& sink) {
      return MergeRuns(levels_[level], /*in_memory=*/{}, sink);
    }));
    RemoveRuns(&levels_[level]);
  }
  return Status();
}

// Writes what `source` gives in order to a new run.
Status ExternalSorter::WriteRun(size_t level, const std::function<Status(const Sink&)>& source) {
  if (settings_.directories != nullptr) {
    CAIRN_RETURN_IF_ERROR(settings_.directories->Remember(settings_.directory));
  }
  if (levels_.size() <= level) levels_.resize(level + 1);
  const std::string path = settings_.directory + "/" + name_ + "_" + std::to_string(run_count_++) +
                           std::string(kUnfinishedFileSuffix);
  levels_[level].push_back({path});
  const rocksdb::Options options = RunOptions(env_, comparator_);
  rocksdb::SstFileWriter writer{rocksdb::EnvOptions(options), options};
  Status written = FromRocksDb(writer.Open(path));
  if (written.ok()) {
    written = source([&writer](std::string_view key, std::string_view value) {
      return FromRocksDb(writer.Put(key, value));
    });
  }
  if (written.ok()) written = FromRocksDb(writer.Finish());
  levels_[level].back().bytes = writer.FileSize();
  file_bytes_ += levels_[level].back().bytes;
  return written.WithContext("writing the temporary file " + path);
}

Status ExternalSorter::Drain(const Sink& sink) {
  Status drained;
  if (run_count_ == 0) {
    drained = DrainBuffer(sink);
  } else {
    SortBuffer();
    std::vector<Run> runs;
    for (const auto& level : levels_) runs.insert(runs.end(), level.begin(), level.end());
    drained = MergeRuns(runs, entries_, sink);
  }
  ClearBuffer();
  RemoveAllRuns();
  entry_count_ = 0;
  return drained;
}

Status ExternalSorter::MergeRuns(const std::vector<Run>& runs, std::span<const SortEntry> in_memory,
                                 const Sink& sink) const {
  rocksdb::ReadOptions read;
  // What is read ahead and what is in memory already are together no more than a buffer.
  const uint64_t buffer_left =
      settings_.buffer_bytes - std::min(settings_.buffer_bytes / 8 * 7, buffered_bytes_);
  read.readahead_size = std::clamp(std::min(settings_.merge_read_bytes, buffer_left) / runs.size(),
                                   kLeastReadAheadBytes, kMostReadAheadBytes);
  const rocksdb::Options options = RunOptions(env_, comparator_);
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::make_unique<Source>(in_memory));
  for (const Run& run : runs) {
    CAIRN_ASSIGN_OR_RETURN(auto source, Source::Open(run.path, options, read));
    sources.push_back(std::move(source));
  }
  const auto comes_later = [this](const Source* a, const Source* b) {
    return order_.has_value() ? lsm::CompareKeys(a->key(), b->key(), *order_) > 0
                              : comparator_->Compare(a->key(), b->key()) > 0;
  };
  std::priority_queue<Source*, std::vector<Source*>, decltype(comes_later)> next(comes_later);
  for (const auto& source : sources) {
    if (source->valid()) next.push(source.get());
  }
  std::string previous;
  bool first = true;
  while (!next.empty()) {
    Source* const source = next.top();
    next.pop();
    if (!settings_.keys_differ) {
      if (!first && source->key() == previous) return Status(StatusCode::kDuplicateKey);
      previous.assign(source->key());
      first = false;
    }
    CAIRN_RETURN_IF_ERROR(sink(source->key(), source->value()));
    CAIRN_RETURN_IF_ERROR(source->Next());
    if (source->valid()) next.push(source);
  }
  return Status();
}

void ExternalSorter::RemoveRuns(std::vector<Run>* runs) {
  for (const Run& run : *runs) {
    env_->DeleteFile(run.path).PermitUncheckedError();  // One that could not be made is not there.
    file_bytes_ -= run.bytes;
    WaitAfterRemoval();
  }
  runs->clear();
}

void ExternalSorter::WaitAfterRemoval() const {
  constexpr uint64_t kStepMs = 50;
  for (uint64_t left_ms = settings_.removal_delay_ms; left_ms > 0;) {
    if (settings_.interrupted && settings_.interrupted()) return;
    const uint64_t step_ms = std::min(left_ms, kStepMs);
    std::this_thread::sleep_for(std::chrono::milliseconds(step_ms));
    left_ms -= step_ms;
  }
}

void ExternalSorter::RemoveAllRuns() {
  for (auto& level : levels_) RemoveRuns(&level);
  run_count_ = 0;
}

}  // namespace cairn
