#include "engine/sort/external_sorter.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <queue>
#include <thread>
#include <utility>

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
// An Entry, and its place in the set of keys.
constexpr uint64_t kEntryOverheadBytes = 40;
constexpr uint64_t kSetOverheadBytes = 56;

rocksdb::Slice ToSlice(std::string_view bytes) {
  return rocksdb::Slice(bytes.data(), bytes.size());
}

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

struct Run {
  std::unique_ptr<rocksdb::SstFileReader> reader;
  std::unique_ptr<rocksdb::Iterator> iterator;
};

}  // namespace

ExternalSorter::ExternalSorter(rocksdb::Env* env, const rocksdb::Comparator* comparator,
                               std::string name, SortSettings settings)
    : env_(env), comparator_(comparator), name_(std::move(name)), settings_(std::move(settings)) {}

ExternalSorter::~ExternalSorter() { RemoveAllRuns(); }

std::string_view ExternalSorter::Keep(std::string_view bytes) {
  if (bytes.size() > block_left_) {
    const size_t size = std::max(kBlockBytes, bytes.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    block_next_ = blocks_.back().get();
    block_left_ = size;
  }
  char* const kept = block_next_;
  std::memcpy(kept, bytes.data(), bytes.size());
  block_next_ += bytes.size();
  block_left_ -= bytes.size();
  return {kept, bytes.size()};
}

Status ExternalSorter::Add(std::string_view key, std::string_view value) {
  if (!settings_.keys_differ && keys_.contains(key)) return Status(StatusCode::kDuplicateKey);
  const Entry entry{Keep(key), Keep(value)};
  entries_.push_back(entry);
  buffered_bytes_ += key.size() + value.size() + kEntryOverheadBytes;
  if (!settings_.keys_differ) {
    keys_.insert(entry.key);
    buffered_bytes_ += kSetOverheadBytes;
  }
  ++entry_count_;
  return buffered_bytes_ >= settings_.buffer_bytes ? SpillBuffer() : Status();
}

void ExternalSorter::SortBuffer() {
  keys_.clear();
  std::sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
    return comparator_->Compare(ToSlice(a.key), ToSlice(b.key)) < 0;
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
  for (const Entry& entry : entries_) CAIRN_RETURN_IF_ERROR(sink(entry.key, entry.value));
  return Status();
}

Status ExternalSorter::SpillBuffer() {
  const Status spilled =
      WriteRun(/*level=*/0, [this](const Sink& sink) { return DrainBuffer(sink); });
  ClearBuffer();
  CAIRN_RETURN_IF_ERROR(spilled);
  for (size_t level = 0; level < levels_.size() && levels_[level].size() >= kMostRuns; ++level) {
    CAIRN_RETURN_IF_ERROR(WriteRun(
        level + 1, [this, level](const Sink& sink) { return MergeRuns(levels_[level], sink); }));
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
  levels_[level].push_back(path);
  const rocksdb::Options options = RunOptions(env_, comparator_);
  rocksdb::SstFileWriter writer{rocksdb::EnvOptions(options), options};
  Status written = FromRocksDb(writer.Open(path));
  if (written.ok()) {
    written = source([&writer](std::string_view key, std::string_view value) {
      return FromRocksDb(writer.Put(ToSlice(key), ToSlice(value)));
    });
  }
  if (written.ok()) written = FromRocksDb(writer.Finish());
  return written.WithContext("writing the temporary file " + path);
}

Status ExternalSorter::Drain(const Sink& sink) {
  Status drained;
  if (run_count_ == 0) {
    drained = DrainBuffer(sink);
  } else {
    if (!entries_.empty()) drained = SpillBuffer();
    std::vector<std::string> runs;
    for (const auto& level : levels_) runs.insert(runs.end(), level.begin(), level.end());
    if (drained.ok()) drained = MergeRuns(runs, sink);
  }
  ClearBuffer();
  RemoveAllRuns();
  entry_count_ = 0;
  return drained;
}

Status ExternalSorter::MergeRuns(const std::vector<std::string>& paths, const Sink& sink) const {
  rocksdb::ReadOptions read;
  read.readahead_size = std::clamp(settings_.merge_read_bytes / paths.size(), kLeastReadAheadBytes,
                                   kMostReadAheadBytes);
  const rocksdb::Options options = RunOptions(env_, comparator_);
  std::vector<Run> runs(paths.size());
  const auto comes_later = [this](const Run* a, const Run* b) {
    return comparator_->Compare(a->iterator->key(), b->iterator->key()) > 0;
  };
  std::priority_queue<Run*, std::vector<Run*>, decltype(comes_later)> next(comes_later);
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].reader = std::make_unique<rocksdb::SstFileReader>(options);
    CAIRN_RETURN_IF_ERROR(FromRocksDb(runs[i].reader->Open(paths[i])));
    runs[i].iterator.reset(runs[i].reader->NewIterator(read));
    runs[i].iterator->SeekToFirst();
    CAIRN_RETURN_IF_ERROR(FromRocksDb(runs[i].iterator->status()));
    if (runs[i].iterator->Valid()) next.push(&runs[i]);
  }
  std::string previous;
  bool first = true;
  while (!next.empty()) {
    Run* const run = next.top();
    next.pop();
    const std::string_view key = run->iterator->key().ToStringView();
    if (!first && key == previous) return Status(StatusCode::kDuplicateKey);
    CAIRN_RETURN_IF_ERROR(sink(key, run->iterator->value().ToStringView()));
    previous.assign(key);
    first = false;
    run->iterator->Next();
    CAIRN_RETURN_IF_ERROR(FromRocksDb(run->iterator->status()));
    if (run->iterator->Valid()) next.push(run);
  }
  return Status();
}

void ExternalSorter::RemoveRuns(std::vector<std::string>* paths) {
  for (const std::string& path : *paths) {
    env_->DeleteFile(path).PermitUncheckedError();  // A run that could not be made is not there.
    WaitAfterRemoval();
  }
  paths->clear();
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
