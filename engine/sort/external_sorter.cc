#include "engine/sort/external_sorter.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <queue>
#include <system_error>
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

ExternalSorter::~ExternalSorter() {
  WaitForThread();
  RemoveAllRuns();
}

SortEntry ExternalSorter::Keep(std::string_view key, std::string_view value) {
  const size_t bytes = SortEntry::Bytes(key, value);
  if (bytes > buffer_.block_left) {
    const size_t size = std::max(kBlockBytes, bytes);
    buffer_.blocks.push_back(std::make_unique_for_overwrite<char[]>(size));
    buffer_.block_next = buffer_.blocks.back().get();
    buffer_.block_left = size;
  }
  const SortEntry kept = SortEntry::Store(key, value, buffer_.block_next);
  buffer_.block_next += bytes;
  buffer_.block_left -= bytes;
  return kept;
}

Status ExternalSorter::Add(std::string_view key, std::string_view value) {
  if (!settings_.keys_differ && keys_.contains(key)) return Status(StatusCode::kDuplicateKey);
  buffer_.entries.push_back(Keep(key, value));
  buffer_bytes_ += key.size() + value.size() + kEntryOverheadBytes;
  if (!settings_.keys_differ) {
    keys_.insert(buffer_.entries.back().key());
    buffer_bytes_ += kSetOverheadBytes;
  }
  ++entry_count_;
  const uint64_t most_bytes = in_background_ ? settings_.buffer_bytes / 2 : settings_.buffer_bytes;
  return buffer_bytes_ >= most_bytes ? HandOver() : Status();
}

// Has the buffer emptied. Errors: those of the one before; then both are as they were.
Status ExternalSorter::HandOver() {
  CAIRN_RETURN_IF_ERROR(AwaitThread());
  was_full_ = true;
  keys_.clear();
  handed_over_ = std::exchange(buffer_, Buffer());
  handed_over_bytes_ = std::exchange(buffer_bytes_, 0);
  if (in_background_) {
    try {
      emptied_ = std::async(std::launch::async, [this] { return Empty(); });
      return Status();
    } catch (const std::system_error&) {
      // There are no more threads: this one does it.
    }
  }
  return Empty();
}

Status ExternalSorter::Empty() {
  Status emptied = empty_ ? empty_() : Spill();
  if (!emptied.ok() && emptied.code() != StatusCode::kOutOfOrder) {
    failure_ = emptied;
    ForgetHandedOver();
  }
  return emptied;
}

Status ExternalSorter::AwaitThread() {
  Status emptied;
  if (emptied_.valid()) emptied = emptied_.get();
  return failure_.ok() ? emptied : failure_;
}

void ExternalSorter::ForgetHandedOver() {
  handed_over_ = Buffer();
  handed_over_bytes_ = 0;
}

Status ExternalSorter::EmptyMemory() {
  CAIRN_RETURN_IF_ERROR(HandOver());
  return AwaitThread();
}

void ExternalSorter::SortBuffer(Buffer* buffer) const {
  const auto comes_before = [this](const SortEntry& a, const SortEntry& b) {
    return order_.has_value() ? lsm::CompareKeys(a.key(), b.key(), *order_) < 0
                              : comparator_->Compare(a.key(), b.key()) < 0;
  };
  std::vector<SortEntry>& entries = buffer->entries;
  // Whether they come in order shows soon, where they do not.
  if (std::is_sorted(entries.begin(), entries.end(), comes_before)) return;
  if (order_.has_value()) return SortByKey(&entries, *order_);
  std::sort(entries.begin(), entries.end(), comes_before);
}

Status ExternalSorter::DrainBuffer(Buffer* buffer, const Sink& sink) const {
  SortBuffer(buffer);
  for (const SortEntry& entry : buffer->entries) {
    CAIRN_RETURN_IF_ERROR(sink(entry.key(), entry.value()));
  }
  return Status();
}

Status ExternalSorter::DrainHandedOver(const Sink& sink) {
  CAIRN_RETURN_IF_ERROR(DrainBuffer(&handed_over_, sink));
  ForgetHandedOver();
  return Status();
}

Status ExternalSorter::Spill() {
  if (!handed_over_.entries.empty() && failure_.ok()) failure_ = SpillHandedOver();
  return failure_;
}

Status ExternalSorter::SpillHandedOver() {
  CAIRN_RETURN_IF_ERROR(WriteRun(
      /*level=*/0, [this](const Sink& sink) { return DrainBuffer(&handed_over_, sink); }));
  ForgetHandedOver();
  for (size_t level = 0; level < levels_.size() && levels_[level].size() >= kMostRuns; ++level) {
    CAIRN_RETURN_IF_ERROR(WriteRun(level + 1, [this, level](const Sink& sink) {
      // Another thread may fill the other half of the buffer meanwhile.
      const uint64_t bytes_in_memory = in_background_ ? settings_.buffer_bytes / 2 : 0;
      return MergeRuns(levels_[level], /*in_memory=*/{}, bytes_in_memory, sink);
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
  CAIRN_RETURN_IF_ERROR(AwaitThread());
  Status drained;
  if (run_count_ == 0) {
    drained = DrainBuffer(&buffer_, sink);
  } else {
    SortBuffer(&buffer_);
    std::vector<Run> runs;
    for (const auto& level : levels_) runs.insert(runs.end(), level.begin(), level.end());
    drained = MergeRuns(runs, buffer_.entries, buffer_bytes_, sink);
  }
  keys_.clear();
  buffer_ = Buffer();
  buffer_bytes_ = 0;
  RemoveAllRuns();
  entry_count_ = 0;
  was_full_ = false;
  return drained;
}

// `bytes_in_memory`: of `in_memory`, and whatever else is there.
Status ExternalSorter::MergeRuns(const std::vector<Run>& runs, std::span<const SortEntry> in_memory,
                                 uint64_t bytes_in_memory, const Sink& sink) const {
  rocksdb::ReadOptions read;
  // What is read ahead and what is in memory already are together no more than a buffer.
  const uint64_t buffer_left =
      settings_.buffer_bytes - std::min(settings_.buffer_bytes / 8 * 7, bytes_in_memory);
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
