// The column families of the open database: which there are, and with which options.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/lsm/level_zero_reads.h"
#include "engine/lsm/memtable_reads.h"
#include "engine/lsm/prefix_extractor.h"
#include "engine/store/column_family_options.h"
#include "engine/store/write_stalls.h"
#include "rocksdb/db.h"

namespace cairn {

// A column family of the open database. Lives as long as the Database; only its extractor changes.
struct ColumnFamily {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  std::string name;
  uint32_t id = 0;       // RocksDB's number, persisted in the dictionary.
  bool reverse = false;  // Keys sort in descending order.
  mutable lsm::PrefixExtractor prefix_extractor;
  mutable lsm::MemtableReads memtable_reads;
  mutable lsm::LevelZeroReads level_zero_reads;
  // Nobody here deletes ranges of keys, and to look for such deletions costs every read; but
  // another program may have.
  bool opened_without_memtable = false;  // All that others have written was in files.
  mutable std::atomic<bool> may_have_range_deletions{true};

  // For reads in it.
  rocksdb::ReadOptions ReadOptions() const {
    rocksdb::ReadOptions options;
    options.ignore_range_deletions = !may_have_range_deletions.load(std::memory_order_relaxed);
    return options;
  }
};

// Thread-safe, but for Adopt() and Release(). Mutexes: mutex_ guards families_ and is held while a
// family is created; options_mutex_ is held while options of a family change.
class ColumnFamilies {
 public:
  // What it is given outlives it. `stalls` learns of every family.
  ColumnFamilies(rocksdb::DB* db, ColumnFamilyOptionSource options, WriteStalls* stalls, Log* log);

  // Called once, with all handles that the database was opened with: it owns them from here on.
  // Creates the system family when it is missing. Errors: those of RocksDB.
  Status Adopt(const std::vector<rocksdb::ColumnFamilyHandle*>& handles);
  // Gives the handles back, for the database to be closed. There is no family any more.
  Status Release();

  const ColumnFamily& default_family() const { return *default_family_; }
  const ColumnFamily& system_family() const { return *system_family_; }
  // Null when there is none. The pointer stays valid as long as the Database.
  const ColumnFamily* Find(std::string_view name) const;
  const ColumnFamily* Find(uint32_t id) const;
  // The family of that name, created when missing. Errors: those of RocksDB.
  Result<const ColumnFamily*> FindOrCreate(std::string_view name);
  // In the order of their numbers.
  std::vector<const ColumnFamily*> All() const;

  // Changes options of open families: "cf1={write_buffer_size=8m};cf2={...}". A family that does
  // not exist is created. Errors: kInvalidArgument, naming the family and the option. Nothing was
  // changed then, unless the option is one that cannot change while the database is open: families
  // that stand before it have changed.
  Status UpdateOptions(std::string_view text);

 private:
  const ColumnFamily* Add(rocksdb::ColumnFamilyHandle* handle);
  void TakePrefixExtractor(const ColumnFamily& family) const;
  Status CheckOptions(const std::string& name, const std::string& text) const;
  Status SetOptions(const std::string& name, const std::string& text);

  rocksdb::DB* const db_;
  const ColumnFamilyOptionSource options_;
  WriteStalls* const stalls_;
  Log* const log_;
  std::mutex options_mutex_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::unique_ptr<ColumnFamily>, std::less<>> families_;
  const ColumnFamily* default_family_ = nullptr;
  const ColumnFamily* system_family_ = nullptr;
};

}  // namespace cairn
