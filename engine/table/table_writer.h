// Inserts, updates and deletes rows with all their index entries.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/bulk_load.h"
#include "engine/table/foreign_key_check.h"
#include "engine/table/index_delta.h"
#include "engine/table/snapshot_entries.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

class ForeignKeyActions;
class SortedIndexes;

// Belongs to one handler; its buffers are reused from row to row. All checks of a row come before
// its first write, so that a refused row leaves nothing behind.
class TableWriter {
 public:
  // Both outlive the writer.
  TableWriter(Database* database, const Table* table);
  ~TableWriter();

  // Errors: kDuplicateKey (duplicate_index() says where), kLockTimeout, kDeadlock,
  // kSnapshotConflict, kLockLimit, kInterrupted, kAborted (the write batch is full), kIoError,
  // those of ForeignKeyChecks. A row that has expired is no duplicate: it is removed with its
  // entries.
  Status Insert(Transaction* transaction, const uint8_t* record);

  // Adds the row to a load instead. Errors: those of BulkLoad::Add; kShutdown when another thread
  // has finished the load, kInternal when the table takes no load (Table::MayBypassWriter).
  Status Load(BulkLoad* load, const uint8_t* record);

  // Adds the row to indexes that are made as a whole instead. Errors: those of SortedIndexes::Add.
  Status Sort(SortedIndexes* indexes, const uint8_t* record);

  // Where the rows that follow are looked for others with the same unique values.
  enum class UniqueChecks : uint8_t {
    kAll,
    kTrusted,    // Nowhere: who asks for this answers for the rows.
    kOverwrite,  // Nowhere, in a table with a single index: a row overwrites the one that has its
                 // key. Else as kAll.
  };
  // All, whatever is asked for, where nobody may bypass the writer.
  void SetUniqueChecks(UniqueChecks checks) {
    unique_checks_ = table_->MayBypassWriter() ? checks : UniqueChecks::kAll;
  }

  // A row that is refused with kDuplicateKey is to change the one in its way (ON DUPLICATE KEY
  // UPDATE, REPLACE). That row, duplicate_row_key(), then stays locked exclusively;
  // kSnapshotConflict if it changed since a snapshot that reads repeat.
  void SetChangesDuplicates(bool changes) { changes_duplicates_ = changes; }

  // `old_record` is the row as it is now, complete and locked by this transaction; `hidden_key` is
  // its key in a table without primary key. Errors as Insert, and kUnchanged when nothing is to be
  // written.
  Status Update(Transaction* transaction, const uint8_t* old_record, const uint8_t* new_record,
                uint64_t hidden_key);

  // An update keeps the time at which the row expires, unless a column says it or updates stand for
  // the insert of a new row (REPLACE).
  void SetUpdatesReplaceRows(bool replace) { updates_replace_rows_ = replace; }
  // The auto-increment value of the rows that are inserted next, one call for each, which is their
  // whole primary key and was handed out by the table's counter for this row; 0: it was not. A row
  // that has it is looked for only if somebody else may have given it one
  // (TableCounters::largest_given_value).
  void SetHandedOutKey(uint64_t value) { handed_out_key_ = value; }
  // Nobody else reads or writes the table yet.
  void SetTableIsNew(bool is_new) { table_is_new_ = is_new; }

  // `record` as `old_record` of Update. Errors: kAborted, those of ForeignKeyChecks.
  Status Delete(Transaction* transaction, const uint8_t* record, uint64_t hidden_key);

  // Whether the entries that follow get a checksum chunk (docs/stock-format.md, 9).
  void AppendChecksums(bool append) {
    append_checksums_ = append;
    delta_.AppendChecksums(append);
  }
  // Whether the checks of unique values ask prefix filters where that loses nothing.
  void AskPrefixFilters(bool ask) { asks_prefix_filters_ = ask; }

  // Needed where an index has a virtual column; outlives the writer.
  void SetVirtualColumns(RecordVirtualColumns* makes) {
    snapshot_entries_.SetVirtualColumns(makes);
  }

  // By which foreign keys the rows that follow are checked: none until they are bound.
  ForeignKeyChecks& foreign_keys() { return foreign_keys_; }

  // What follows in children: needed where they may be changed with a row. The writer of the row
  // that it all begins with owns them, others outlive theirs.
  void OwnActions(std::unique_ptr<ForeignKeyActions> actions);
  void SetActions(ForeignKeyActions* actions) { actions_ = actions; }
  ForeignKeyActions* actions() const { return actions_; }

  // Position of the index whose uniqueness the last kDuplicateKey is about.
  uint32_t duplicate_index() const { return duplicate_index_; }
  // The primary key, index number first, of the row that is in the way. Valid until the next call.
  std::string_view duplicate_row_key() const { return duplicate_key_; }

 private:
  struct Entry {
    std::string key;
    std::string value;
    std::string unpack_info;
  };

  // The expired row that CheckPrimaryKey found where a new one goes.
  struct ExpiredRow {
    bool is_met = false;
    std::string value;
    std::vector<uint8_t> record;
    std::unique_ptr<const DecodePlan> plan;  // Made when the first such row is met.
  };

  Status InsertUnchecked(Transaction* transaction);
  Status UpdateRow(Transaction* transaction, const uint8_t* old_record, const uint8_t* new_record,
                   uint64_t hidden_key);
  Status DeleteRow(Transaction* transaction, const uint8_t* record, uint64_t hidden_key);
  template <typename Write>
  Status WriteWithActions(Transaction* transaction, Write write, const uint8_t* old_record,
                          const uint8_t* new_record);
  Status FindDuplicate(Transaction* transaction, const TableIndex& index, const uint8_t* record);
  Result<bool> DuplicateStays(Transaction* transaction, const TableIndex& index);
  Status LockNewEntries(Transaction* transaction, const uint8_t* record, const uint8_t* old_record,
                        uint64_t hidden_key);
  Status CheckPrimaryKey(Transaction* transaction, std::string_view key);
  bool KeyIsNew() const;
  Status CheckUnique(Transaction* transaction, uint32_t position, const uint8_t* record,
                     const uint8_t* old_record, uint64_t hidden_key);
  Status CheckForeignKeys(Transaction* transaction, const uint8_t* old_record,
                          const uint8_t* new_record, uint64_t hidden_key);
  Status CheckReferences(Transaction* transaction, uint32_t position, const uint8_t* record,
                         const uint8_t* old_record, uint64_t hidden_key);
  Status CheckIndexes(Transaction* transaction, const uint8_t* record, const uint8_t* old_record,
                      uint64_t hidden_key);
  Status RemoveExpiredRow(Transaction* transaction, std::string_view key);
  // The TTL stamps of records; 0 in tables whose rows do not expire.
  uint64_t StampOfColumn(const uint8_t* record) const;
  uint64_t StampOfNewRow(const uint8_t* record) const;
  Result<uint64_t> StampOfOldRow(Transaction* transaction, const uint8_t* record,
                                 uint64_t hidden_key);
  void EncodeRow(const uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp, Entry* entry);
  void EncodeSecondary(const TableIndex& index, const uint8_t* record, uint64_t hidden_key,
                       uint64_t ttl_stamp, Entry* entry);

  Database* const database_;
  const Table* const table_;
  DeltaWriter delta_;
  SnapshotEntries snapshot_entries_;
  ForeignKeyChecks foreign_keys_;
  std::unique_ptr<ForeignKeyActions> own_actions_;
  ForeignKeyActions* actions_ = nullptr;
  uint32_t duplicate_index_ = 0;
  bool append_checksums_ = false;
  UniqueChecks unique_checks_ = UniqueChecks::kAll;
  bool asks_prefix_filters_ = true;
  Entry new_entry_;
  Entry old_entry_;
  Entry locked_entry_;
  std::string replaced_key_;
  std::string unique_prefix_;
  std::string old_unique_prefix_;
  std::string duplicate_entry_;
  std::string duplicate_key_;
  std::string old_unique_key_;
  bool updates_replace_rows_ = false;
  bool changes_duplicates_ = false;
  bool table_is_new_ = false;
  uint64_t handed_out_key_ = 0;
  ExpiredRow expired_;
};

}  // namespace cairn
