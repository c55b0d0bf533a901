// The data dictionary: which tables and indexes exist, and where their entries lie.
//
// The records lie in the column family `__system__` (spec/on-disk-format.md, 11); this class keeps them
// in memory as well and is the only one that writes them. Every change is one synced write batch, so a
// crash leaves the state before or after it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/dictionary_record.h"
#include "engine/store/database.h"

namespace cairn {

struct IndexEntry {
  IndexId id;
  IndexInfo info;
  const ColumnFamily* family = nullptr;
};

// Counters that outlive open handlers: they go with the table's name through RENAME and vanish with
// DROP. Each is the next value to hand out; 0 means that it must be found in the data first.
struct TableCounters {
  std::atomic<uint64_t> next_auto_increment{0};
  std::atomic<uint64_t> next_hidden_key{0};
  std::mutex initialise;  // Held while a counter is found in the data.
};

// Immutable but for the counters; shared by the dictionary and all who have the table open.
struct TableDefinition {
  std::string name;                 // "db.table[#P#part]", file-name encoded.
  std::vector<IndexEntry> indexes;  // In the server's key order, a hidden primary key last.
  std::shared_ptr<TableCounters> counters;
};

struct NewIndex {
  IndexKind kind = IndexKind::kPrimary;
  std::string family_name{kDefaultColumnFamily};
  bool family_per_partition = false;  // The name came from a per-partition qualifier.
  uint16_t format_version = kStockFormatVersion;
  uint32_t features = 0;  // IndexFeature bits; 0 unless the format is kCairnFormatVersion.
};

// Thread-safe. Mutexes: change_mutex_ serialises changes and is taken first; map_mutex_ guards the maps
// and is never held during I/O.
class Dictionary {
 public:
  // Reads and checks all records, and writes those that must exist. `database` outlives the result.
  // Errors: kCorruption, kNotSupported (a record version that this release does not know),
  // kMetadataMismatch (a table names an index that has no record), each naming the record.
  static Result<std::unique_ptr<Dictionary>> Load(Database* database);

  // Null when there is none.
  std::shared_ptr<const TableDefinition> Find(std::string_view name) const;
  std::vector<std::shared_ptr<const TableDefinition>> Tables() const;

  // Makes a table with fresh index numbers. `next_auto_increment` is the first value to hand out.
  // Errors: kAlreadyExists; kInvalidArgument (the family `__system__`); those of RocksDB.
  Result<std::shared_ptr<const TableDefinition>> CreateTable(
      std::string_view name, const std::vector<NewIndex>& indexes,
      std::optional<uint64_t> next_auto_increment);
  // The table is gone at once; its entries are removed behind (DroppedIndexes). Errors: kNotFound.
  Status DropTable(std::string_view name);
  // The same indexes with fresh numbers and no entries, counters at their start. Errors: kNotFound.
  Status TruncateTable(std::string_view name);
  // Errors: kNotFound, kAlreadyExists.
  Status RenameTable(std::string_view from, std::string_view to);

  // Gives tables other indexes: those named here, which exist already, in the order of the server's keys. The
  // others of a table are gone at once, their entries are removed behind. All tables change together or
  // none does; each table's version rises by one. Errors: kNotFound.
  struct IndexChange {
    std::string table_name;
    std::vector<IndexEntry> indexes;
  };
  Status ChangeIndexes(const std::vector<IndexChange>& changes);

  // The stored next auto-increment value of a table; 0 when none is stored.
  Result<uint64_t> LoadAutoIncrement(const TableDefinition& table) const;
  // Overwrites it, in memory too.
  Status SetAutoIncrement(const TableDefinition& table, uint64_t next_value);
  // Key and value of the merge that a transaction adds to its batch to raise the stored value.
  static std::string AutoIncrementKey(const TableDefinition& table);

  // The version that the server's DDL recovery compares; 0 when none is stored. `path` is "./db/table".
  Result<uint64_t> LoadTableVersion(std::string_view path) const;

  uint32_t max_index_number() const { return max_index_number_.load(std::memory_order_relaxed); }

  // The flags of each column family that holds or held an index, by its number.
  std::map<uint32_t, uint32_t> FamilyFlags() const;

  // Indexes whose entries are still to be removed, and the end of that: deletes all their records.
  std::vector<IndexId> PendingDrops() const;
  Status ForgetDroppedIndex(IndexId id);

 private:
  explicit Dictionary(Database* database) : database_(database) {}

  Status LoadRecords();
  Status WriteRequiredRecords();
  // Adds the records of a table to a batch.
  Status PutTable(const TableDefinition& table, rocksdb::WriteBatch* batch) const;
  // Adds the marks that a table's indexes are dropped.
  Status PutDropMarks(const TableDefinition& table, rocksdb::WriteBatch* batch) const;
  Status Write(rocksdb::WriteBatch* batch) const;
  Result<std::optional<std::string>> Read(std::string_view key) const;
  Result<uint32_t> AllocateIndexNumbers(uint32_t count);

  Database* const database_;
  mutable std::mutex change_mutex_;
  mutable std::shared_mutex map_mutex_;
  std::map<std::string, std::shared_ptr<const TableDefinition>, std::less<>> tables_;
  std::map<uint32_t, uint32_t> family_flags_;  // Of the column families that have a record.
  std::atomic<uint32_t> max_index_number_{kFirstUserIndexNumber - 1};
};

// "./db/table" of the dictionary name "db.table[#P#part]".
std::string TableVersionPath(std::string_view table_name);

}  // namespace cairn
