#include "engine/sort/sorted_files.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/sst_file_reader.h"

namespace cairn {
namespace {

constexpr uint64_t kFileSizeFactor = 3;  // Of the family's target.
// Until a file ends, its filter takes 8 bytes of memory for each entry.
constexpr uint64_t kMostFileEntries = 2 << 20;
constexpr uint64_t kReadAheadBytes = 2 << 20;
constexpr size_t kMaxNameBytes = 180;  // File systems allow 255 with what is appended.

// Names of tables and indexes may have any bytes; what no file name should have becomes an
// underscore.
std::string FileNamePart(std::string_view name) {
  std::string part(name.substr(0, kMaxNameBytes));
  for (char& byte : part) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < ' ' || value == '/' || value == '\\' || value == 0x7f) byte = '_';
  }
  return part;
}

std::string Outcome(const Status& status) { return status.ok() ? "ok" : status.ToString(); }

}  // namespace

SortedFiles::SortedFiles(Database* database, const ColumnFamily& family, std::string_view name,
                         bool trace)
    : database_(database),
      family_(family),
      trace_(trace),
      path_prefix_(database->directory() + "/" + FileNamePart(name) + "_" +
                   std::to_string(database->NextSortedFileNumber()) + "_"),
      options_(database->rocksdb()->GetOptions(family.handle)),
      max_file_bytes_(kFileSizeFactor * options_.target_file_size_base) {}

SortedFiles::~SortedFiles() {
  writer_.reset();
  if (!writer_path_.empty()) {
    database_->env()->DeleteFile(writer_path_).PermitUncheckedError();
  }
  for (const rocksdb::ExternalSstFileInfo& file : files_) {
    // RocksDB removes those that it took over.
    database_->env()->DeleteFile(file.file_path).PermitUncheckedError();
  }
}

void SortedFiles::Trace(std::string_view message) const {
  if (trace_) {
    database_->log().Write(Severity::kNote, std::string("SST Tracing: ").append(message));
  }
}

Status SortedFiles::OpenFile() {
  entries_in_file_ = 0;
  writer_path_ = path_prefix_ + std::to_string(file_count_++) + std::string(kUnfinishedFileSuffix);
  rocksdb::EnvOptions file_options(options_);
  file_options.strict_bytes_per_sync = false;  // A session waits for it.
  writer_ = std::make_unique<rocksdb::SstFileWriter>(file_options, options_, family_.handle);
  const Status opened = FromRocksDb(writer_->Open(writer_path_));
  Trace("Open(" + writer_path_ + ") returned " + Outcome(opened));
  return opened.WithContext(writer_path_);
}

Status SortedFiles::Append(std::string_view key, std::string_view value) {
  if (writer_ == nullptr) CAIRN_RETURN_IF_ERROR(OpenFile());
  Status appended = FromRocksDb(writer_->Put(key, value)).WithContext(writer_path_);
  ++entries_in_file_;
  file_bytes_.store(finished_bytes_ + writer_->FileSize(), std::memory_order_relaxed);
  return appended;
}

Status SortedFiles::CloseFile() {
  if (writer_ == nullptr) return Status();
  rocksdb::ExternalSstFileInfo info;
  Status finished = FromRocksDb(writer_->Finish(&info)).WithContext(writer_path_);
  Trace("Finish returned " + Outcome(finished));
  if (!finished.ok()) return finished;
  Trace("Adding file " + info.file_path + ", smallest key: " + ToHex(info.smallest_key) +
        ", largest key: " + ToHex(info.largest_key) + ", file size: " +
        std::to_string(info.file_size) + ", num_entries: " + std::to_string(info.num_entries));
  finished_bytes_ += info.file_size;
  file_bytes_ = finished_bytes_;
  files_.push_back(std::move(info));
  writer_.reset();
  writer_path_.clear();
  return Status();
}

// Once something of a file is lost, so is the whole.
Status SortedFiles::Remember(Status status) {
  if (!status.ok()) failure_ = status;
  return status;
}

Status SortedFiles::Add(std::string_view key, std::string_view value) {
  if (!failure_.ok()) return failure_;
  const bool is_first = !std::exchange(has_entries_, true);
  const int order = is_first ? 0 : options_.comparator->Compare(last_key_, key);
  if (is_first || direction_ == Direction::kReverse) {
    kept_.emplace_back(key, value);
    buffered_bytes_ += key.size() + value.size() + sizeof(kept_.front());
    last_key_.assign(key);
    return buffered_bytes_ >= max_file_bytes_ ? Remember(WriteReversed()) : Status();
  }
  if (direction_ == Direction::kUnknown && order > 0) {
    direction_ = Direction::kReverse;
    if (kept_.empty()) reverse_end_ = last_key_;  // It filled a file alone.
    return Add(key, value);
  }
  if (order >= 0) return Status(StatusCode::kOutOfOrder);
  direction_ = Direction::kFamilyOrder;
  last_key_.assign(key);
  return Remember(AppendInOrder(key, value));
}

Status SortedFiles::AppendInOrder(std::string_view key, std::string_view value) {
  for (const auto& [first_key, first_value] : kept_) {
    CAIRN_RETURN_IF_ERROR(Append(first_key, first_value));
  }
  kept_.clear();
  buffered_bytes_ = 0;
  CAIRN_RETURN_IF_ERROR(Append(key, value));
  if (writer_->FileSize() < max_file_bytes_ && entries_in_file_ < kMostFileEntries) return Status();
  return CloseFile();
}

// Writes the entries that were kept, of which there may be one only.
Status SortedFiles::WriteReversed() {
  const auto kept = std::exchange(kept_, {});
  buffered_bytes_ = 0;
  if (direction_ == Direction::kReverse && !kept.empty()) {
    const bool follows =
        reverse_end_.empty() || options_.comparator->Compare(reverse_end_, kept.front().first) > 0;
    if (!follows) return Status(StatusCode::kOutOfOrder);
    reverse_end_ = kept.back().first;
  }
  for (size_t i = 1; i < kept.size(); ++i) {
    if (options_.comparator->Compare(kept[i - 1].first, kept[i].first) <= 0) {
      return Status(StatusCode::kOutOfOrder);
    }
  }
  for (auto entry = kept.rbegin(); entry != kept.rend(); ++entry) {
    CAIRN_RETURN_IF_ERROR(Append(entry->first, entry->second));
  }
  return CloseFile();
}

Status SortedFiles::Finish() {
  if (!failure_.ok()) return failure_;
  Status finished = Remember(WriteReversed());
  direction_ = Direction::kUnknown;
  has_entries_ = false;
  reverse_end_.clear();
  return finished;
}

Status SortedFiles::TakeBack(const ExternalSorter::Sink& sink) {
  CAIRN_RETURN_IF_ERROR(Finish());
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.readahead_size = kReadAheadBytes;
  read.total_order_seek = true;
  for (const rocksdb::ExternalSstFileInfo& file : files_) {
    Trace("Taking back file " + file.file_path);
    rocksdb::SstFileReader reader(options_);
    CAIRN_RETURN_IF_ERROR(FromRocksDb(reader.Open(file.file_path)).WithContext(file.file_path));
    const std::unique_ptr<rocksdb::Iterator> entry(reader.NewIterator(read));
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
      CAIRN_RETURN_IF_ERROR(sink(entry->key().ToStringView(), entry->value().ToStringView()));
    }
    CAIRN_RETURN_IF_ERROR(FromRocksDb(entry->status()).WithContext(file.file_path));
  }
  for (const rocksdb::ExternalSstFileInfo& file : files_) {
    database_->env()->DeleteFile(file.file_path).PermitUncheckedError();
  }
  ForgetFiles();
  last_key_.clear();
  return Status();
}

std::pair<std::string, std::string> SortedFiles::KeyRange() const {
  std::string smallest = files_.front().smallest_key;
  std::string largest = files_.front().largest_key;
  for (const rocksdb::ExternalSstFileInfo& file : files_) {
    // A reverse family's files have them the other way round.
    smallest = std::min({smallest, file.smallest_key, file.largest_key});
    largest = std::max({largest, file.smallest_key, file.largest_key});
  }
  return {smallest, largest};
}

Status SortedFiles::Ingest(Database* database, const std::vector<SortedFiles*>& sets) {
  std::map<const ColumnFamily*, rocksdb::IngestExternalFileArg> by_family;
  size_t file_count = 0;
  bool trace = false;
  for (const SortedFiles* set : sets) {
    if (set->empty()) continue;
    rocksdb::IngestExternalFileArg& argument = by_family[&set->family_];
    argument.column_family = set->family_.handle;
    argument.options.move_files = true;
    // The keys are new, so that no snapshot could see another version of them.
    argument.options.snapshot_consistency = false;
    for (const rocksdb::ExternalSstFileInfo& file : set->files_) {
      argument.external_files.push_back(file.file_path);
      ++file_count;
    }
    trace = trace || set->trace_;
  }
  if (by_family.empty()) return Status();
  std::vector<rocksdb::IngestExternalFileArg> arguments;
  arguments.reserve(by_family.size());
  for (auto& [family, argument] : by_family) arguments.push_back(std::move(argument));
  Status ingested = database->Ingest(arguments);
  if (trace)
    sets.front()->Trace("IngestExternalFile '" + std::to_string(file_count) + "' files returned " +
                        Outcome(ingested));
  if (!ingested.ok()) return ingested;
  for (SortedFiles* set : sets) set->ForgetFiles();
  return Status();
}

void SortedFiles::ForgetFiles() {
  files_.clear();
  finished_bytes_ = 0;
  file_bytes_ = 0;
}

std::unique_ptr<ExternalSorter> MakeSorter(Database* database, const ColumnFamily& family,
                                           uint32_t index_number, SortSettings settings) {
  SortDirectories& directories = database->sort_directories();
  settings.directories = &directories;
  return std::make_unique<ExternalSorter>(database->env(), family.handle->GetComparator(),
                                          directories.run_prefix() + std::to_string(index_number) +
                                              "_" +
                                              std::to_string(database->NextSortedFileNumber()),
                                          std::move(settings));
}

}  // namespace cairn
