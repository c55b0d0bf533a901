// Writes the entries of one index into table files that RocksDB then takes over as they are: no
// log, no memtable, no compaction (docs/stock-format.md, 15).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/sort/external_sorter.h"
#include "engine/store/database.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_writer.h"

namespace cairn {

// Entries come in key order, the family's or its reverse: the first two decide. Used by one thread
// at a time; files that were not taken over are removed when it ends.
class SortedFiles {
 public:
  // `family` belongs to `database`, which outlives this. The names of the files begin with `name`,
  // whatever bytes it has. With `trace` each step is written to the log.
  SortedFiles(Database* database, const ColumnFamily& family, std::string_view name, bool trace);
  ~SortedFiles();
  SortedFiles(const SortedFiles&) = delete;
  SortedFiles& operator=(const SortedFiles&) = delete;

  // Errors: kOutOfOrder (the entry is left out, nothing else is lost), kIoError, kNoSpace. Entries
  // that come in the reverse of the family's order are kept until the file is full, and their order
  // is checked then: what kOutOfOrder says of them, and every other error, Finish() says again.
  Status Add(std::string_view key, std::string_view value);
  // What was added is in complete files then. Entries that follow begin another one. Errors as Add.
  Status Finish();
  // Gives all entries back to `sink`, file by file, and forgets them. Errors: those of Finish() and
  // of `sink`, kCorruption; the files are left to be removed.
  Status TakeBack(const ExternalSorter::Sink& sink);

  bool empty() const { return files_.empty(); }
  // Memory in use for entries.
  uint64_t buffered_bytes() const { return buffered_bytes_; }
  // Of the files so far. Any thread may ask.
  uint64_t file_bytes() const { return file_bytes_.load(std::memory_order_relaxed); }
  const ColumnFamily& family() const { return family_; }
  // That was added last; empty: none was.
  std::string_view last_key() const { return last_key_; }

  // Makes the files of all that have finished part of the database, all or none, and empties them.
  // Keys that the database has already are overwritten: the caller has made sure that there are
  // none where that matters. Errors: kIoError, kNoSpace, kInternal.
  static Status Ingest(Database* database, const std::vector<SortedFiles*>& sets);

  // The smallest and the largest key, in the order of keys; meaningful when not empty().
  std::pair<std::string, std::string> KeyRange() const;

 private:
  enum class Direction : uint8_t { kUnknown, kFamilyOrder, kReverse };

  Status Remember(Status status);
  Status OpenFile();
  Status AppendInOrder(std::string_view key, std::string_view value);
  Status Append(std::string_view key, std::string_view value);
  Status CloseFile();
  Status WriteReversed();
  void ForgetFiles();
  void Trace(std::string_view message) const;

  Database* const database_;
  const ColumnFamily& family_;
  const bool trace_;
  const std::string path_prefix_;
  const rocksdb::Options options_;
  const uint64_t max_file_bytes_;
  Direction direction_ = Direction::kUnknown;
  bool has_entries_ = false;  // Since Finish().
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
  std::string writer_path_;
  std::string last_key_;
  std::string reverse_end_;  // The last key of the file before, in reverse order; empty: none.
  // The first entry of a file, whose direction is not known yet, or all of a file in reverse order.
  std::vector<std::pair<std::string, std::string>> kept_;
  uint64_t buffered_bytes_ = 0;
  uint64_t file_count_ = 0;
  uint64_t entries_in_file_ = 0;         // Of writer_.
  uint64_t finished_bytes_ = 0;          // Of files_.
  std::atomic<uint64_t> file_bytes_{0};  // Of all that is written.
  Status failure_;
  std::vector<rocksdb::ExternalSstFileInfo> files_;
};

// A sorter of entries of the index of that number, which `family` will hold. `database` outlives
// it.
std::unique_ptr<ExternalSorter> MakeSorter(Database* database, const ColumnFamily& family,
                                           uint32_t index_number, SortSettings settings);

}  // namespace cairn
