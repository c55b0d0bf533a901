// The handler: one open table of one connection, as the server sees it.
//
// Declared once, defined by concern: handler_open.cc, handler_read.cc, handler_pushdown.cc,
// handler_ranges.cc, handler_statistics.cc, handler_write.cc, handler_auto_increment.cc,
// handler_conflicts.cc, handler_applier.cc, handler_load.cc, handler_copy.cc, handler_ddl.cc,
// handler_alter.cc, handler_partitions.cc, handler_foreign_keys.cc.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/codec/column_set.h"
#include "engine/table/auto_increment.h"
#include "engine/table/bulk_load.h"
#include "engine/table/cursor.h"
#include "engine/table/table.h"
#include "engine/table/table_check.h"
#include "engine/table/table_statistics.h"
#include "engine/table/table_writer.h"
#include "mariadb/conflict_reads.h"
#include "mariadb/foreign_key_binding.h"
#include "mariadb/multi_range_read.h"
#include "mariadb/open_tables.h"
#include "mariadb/server_headers.h"
#include "mariadb/session.h"
#include "mariadb/sought_row.h"
#include "mariadb/statement_plan.h"
#include "mariadb/ttl_comment.h"

namespace cairn {

class AlterRequest;
class IndexBuildFigures;
struct IndexBuildSettings;
class SortedIndexes;
enum class ExpiredRows : uint8_t;
struct TableDescription;

// What all handlers of one table share; lives as long as the server keeps the table's definition.
class SharedTable final : public Handler_share {
 public:
  THR_LOCK lock;
  // Of the definition that was bound last; guarded by the server's lock on a table's share. A
  // handler that was open before goes on with its own.
  std::shared_ptr<const Table> table;
  // As they were bound last; guarded by the same.
  std::shared_ptr<const BoundForeignKeys> foreign_keys;
  // An index of `table` has old weights (old_weights.h).
  std::atomic<bool> has_old_weights{false};
  const std::shared_ptr<OpenTable> open;

  explicit SharedTable(std::shared_ptr<OpenTable> open_table) : open(std::move(open_table)) {
    thr_lock_init(&lock);
  }
  ~SharedTable() override { thr_lock_delete(&lock); }

  // Sizes of the table as a whole, measured again when they are old or much changed. Values, which
  // take longer to count where many rows lie in memtables, are counted again when the time since is
  // many times as long as that took.
  struct Sizes {
    IndexSize primary;
    uint64_t secondary_bytes = 0;
    std::vector<std::vector<double>> rows_per_value;  // By index and own part.
  };
  // `measured` is the caller's: another session may replace `table` meanwhile. If they cannot be
  // measured, they are those of before, and `outcome`, if not null, is told why.
  std::shared_ptr<const Sizes> CurrentSizes(Database* database, const Table& measured, bool refresh,
                                            Status* outcome = nullptr);
  // Tells that a row was written, so that sizes are measured again soon after much changed.
  void CountChange() { changes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::shared_ptr<const Sizes> FreshSizes() const;
  std::shared_ptr<const Sizes> Measure(Database* database, const Table& table, bool refresh,
                                       Status* outcome);

  // Held by whoever measures; taken alone or before mutex_, or tried with it.
  std::mutex measuring_;
  uint64_t counted_at_us_ = 0;  // Values. Guarded by measuring_, as is the next.
  uint64_t counting_us_ = 0;    // What that took.
  std::atomic<uint64_t> changes_{0};
  std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<const Sizes> sizes_;
  uint64_t measured_at_us_ = 0;
  uint64_t measured_changes_ = 0;
};

// Drops the table at the server's path from the dictionary. Returns a handler error code:
// HA_ERR_NO_SUCH_TABLE when there is none.
int DropTableByPath(const char* path);
// Whether a prepared transaction whose session has ended, and which is not decided yet, has changed
// rows of the table.
bool HasPreparedChanges(const TableDefinition& table);

// Drops what the dictionary still has of a database ("./db/") whose tables have all been dropped:
// what a statement that failed midway has left, whose name could not be used again.
void DropTablesOfDatabase(const char* path);

}  // namespace cairn

class ha_rocksdb final : public handler {
 public:
  ha_rocksdb(handlerton* hton, TABLE_SHARE* share);
  ~ha_rocksdb() override;

  // What the engine can do.
  const char* index_type(uint) override;
  ulonglong table_flags() const override;
  handler* clone(const char* name, MEM_ROOT* mem_root) override;
  ulong index_flags(uint index, uint part, bool all_parts) const override;
  uint max_supported_keys() const override { return MAX_KEY; }
  uint max_supported_key_parts() const override { return MAX_REF_PARTS; }
  uint max_supported_key_length() const override { return 16384; }
  uint max_supported_key_part_length() const override;
  const key_map* keys_to_use_for_scanning() override { return &key_map_full; }
  ha_rows estimate_rows_upper_bound() override { return HA_POS_ERROR; }

  // What reads cost: in a unit of the server's, and since 11.0 in ms.
#if MYSQL_VERSION_ID >= 110000
  IO_AND_CPU_COST scan_time() override;
  IO_AND_CPU_COST keyread_time(uint index, ulong ranges, ha_rows rows, ulonglong blocks) override;
  ha_rows multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* parameter,
                                      uint ranges, uint* buffer_bytes, uint* mode, ha_rows limit,
                                      Cost_estimate* cost) override;
#else
  double scan_time() override;
  double read_time(uint index, uint ranges, ha_rows rows) override;
  double keyread_time(uint index, uint ranges, ha_rows rows) override;
  ha_rows multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* parameter,
                                      uint ranges, uint* buffer_bytes, uint* mode,
                                      Cost_estimate* cost) override;
#endif

  // Opening and closing; information.
  int open(const char* name, int mode, uint test_if_locked) override;
  int close() override;
  int info(uint flag) override;
  int extra(ha_extra_function operation) override;
  int reset() override;
  ha_rows records_in_range(uint index, const key_range* min_key, const key_range* max_key,
                           page_range* pages) override;
  int analyze(THD* thd, HA_CHECK_OPT* options) override;
  int optimize(THD* thd, HA_CHECK_OPT* options) override;
  int check(THD* thd, HA_CHECK_OPT* options) override;
  int check_for_upgrade(HA_CHECK_OPT* options) override;
  int repair(THD* thd, HA_CHECK_OPT* options) override;
  bool get_error_message(int error, String* buffer) override;
  bool get_foreign_dup_key(char* table_name, uint table_bytes, char* key_name,
                           uint key_bytes) override;
  void print_error(int error, myf error_flag) override;

  // Statements and locks.
  THR_LOCK_DATA** store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) override;
  int external_lock(THD* thd, int lock_type) override;
  int start_stmt(THD* thd, thr_lock_type lock_type) override;
  void unlock_row() override;
  void try_semi_consistent_read(bool on) override;
  bool was_semi_consistent_read() override { return cursor_->WantsUnlockedRow(); }
  my_bool register_query_cache_table(THD*, const char*, uint, qc_engine_callback*,
                                     ulonglong*) override {
    return FALSE;  // Snapshots and the cache do not agree.
  }
  // The same for a partitioned table, which asks its partitions for this alone.
  uint8 table_cache_type() override { return HA_CACHE_TBL_NOCACHE; }

  // Reading.
  int index_init(uint index, bool sorted) override;
  int index_end() override;
  int index_read_map(uchar* record, const uchar* key, key_part_map key_parts,
                     ha_rkey_function find_flag) override;
  int index_read_idx_map(uchar* record, uint index, const uchar* key, key_part_map key_parts,
                         ha_rkey_function find_flag) override;
  int index_next(uchar* record) override;
  int index_prev(uchar* record) override;
  int index_first(uchar* record) override;
  int index_last(uchar* record) override;
  int index_next_same(uchar* record, const uchar* key, uint key_bytes) override;
  int prepare_range_scan(const key_range* start, const key_range* end) override;
  int read_range_first(const key_range* start, const key_range* end, bool equal,
                       bool sorted) override;
  ha_rows multi_range_read_info(uint index, uint ranges, uint keys, uint key_parts,
                                uint* buffer_bytes, uint* mode, Cost_estimate* cost) override;
  int multi_range_read_init(RANGE_SEQ_IF* sequence, void* parameter, uint ranges, uint mode,
                            HANDLER_BUFFER* buffer) override;
  int multi_range_read_next(range_id_t* range) override;
  int rnd_init(bool scan) override;
  int rnd_end() override;
  int rnd_next(uchar* record) override;
  int rnd_pos(uchar* record, uchar* position) override;
  void position(const uchar* record) override;
  int cmp_ref(const uchar* position, const uchar* other) override;
  Item* idx_cond_push(uint index, Item* condition) override;
  bool rowid_filter_push(Rowid_filter* filter) override;
  void column_bitmaps_signal() override {
    columns_.changed = true;
    statement_.ForgetScan();
  }

  // Writing.
  int write_row(const uchar* record) override;
  int update_row(const uchar* old_record, const uchar* new_record) override;
  int delete_row(const uchar* record) override;
  void start_bulk_insert(ha_rows rows, uint flags) override;
  int end_bulk_insert() override;
  void get_auto_increment(ulonglong offset, ulonglong increment, ulonglong nb_desired_values,
                          ulonglong* first_value, ulonglong* nb_reserved_values) override;
  int reset_auto_increment(ulonglong value) override;

  // Definition.
  int create(const char* name, TABLE* form, HA_CREATE_INFO* create_info) override;
  int delete_table(const char* name) override;
  int rename_table(const char* from, const char* to) override;
  int truncate() override;
  int delete_all_rows() override { return HA_ERR_WRONG_COMMAND; }
  void update_create_info(HA_CREATE_INFO* create_info) override;
  enum_alter_inplace_result check_if_supported_inplace_alter(
      TABLE* altered_table, Alter_inplace_info* alter_info) override;
  bool prepare_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info) override;
  bool inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info) override;
  bool commit_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info,
                                  bool commit) override;
  bool can_convert_nocopy(const Field& field, const Column_definition& column) const override;
  Compare_keys compare_key_parts(const Field& field, const Column_definition& column,
                                 const KEY_PART_INFO& old_part,
                                 const KEY_PART_INFO& part) const override;
  // Foreign keys (handler_foreign_keys.cc).
  int get_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) override;
  int get_parent_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) override;
  bool referenced_by_foreign_key() const noexcept override;
  bool can_switch_engines() override;
  bool is_fk_defined_on_table_or_index(uint index) override;
  char* get_foreign_key_create_info() override;
  void free_foreign_key_create_info(char* text) override;
  // Whether the table is child or parent of any.
  bool TakesPartInForeignKeys() const {
    return engine_table_ != nullptr &&
           engine_table_->definition().counters->foreign_key_guards.load(
               std::memory_order_relaxed) != 0;
  }

  ulonglong table_version() const override;
  bool check_if_incompatible_data(HA_CREATE_INFO* create_info, uint table_changes) override;

 private:
  // Lets the server evaluate a pushed condition on the record that the cursor just filled.
  class PushedCondition final : public cairn::IndexCondition {
   public:
    explicit PushedCondition(ha_rocksdb* handler) : handler_(handler) {}
    Verdict Check() override;
    // Whether the index gives back all its columns, so that the end of the range can be seen on the
    // entry too.
    void SetSeesEndOfRange(bool sees) { sees_end_of_range_ = sees; }

   private:
    ha_rocksdb* const handler_;
    bool sees_end_of_range_ = false;
  };

  // Lets the server say whether a row's position passes the filter that it made from another index.
  class PushedFilter final : public cairn::RowFilter {
   public:
    explicit PushedFilter(ha_rocksdb* handler) : handler_(handler) {}
    Verdict Check(std::string_view primary_key) override;

   private:
    ha_rocksdb* const handler_;
  };

  // Lets the server make the virtual columns of an index in record[0]. `engine_table` has the
  // columns of the handler's table, and maybe other indexes.
  class VirtualColumns final : public cairn::VirtualColumns {
   public:
    VirtualColumns(const ha_rocksdb* handler, const cairn::Table* engine_table)
        : handler_(handler), engine_table_(engine_table) {}
    cairn::Status Compute(uint32_t index) override;

   private:
    const ha_rocksdb* const handler_;
    const cairn::Table* const engine_table_;
  };

  // The same in any record, for the handler's writer.
  class VirtualColumnsOfRecord final : public cairn::RecordVirtualColumns {
   public:
    explicit VirtualColumnsOfRecord(const ha_rocksdb* handler) : handler_(handler) {}
    cairn::Status Make(uint32_t index, uint8_t* record) override;

   private:
    const ha_rocksdb* const handler_;
    std::vector<std::string> blobs_;
  };

  // Reads the largest auto-increment value of the table's rows.
  class LargestAutoIncrement final : public cairn::LargestStoredValue {
   public:
    explicit LargestAutoIncrement(ha_rocksdb* handler) : handler_(handler) {}
    cairn::Result<uint64_t> Read() override;
    // Of Read(), if that was called.
    const cairn::Status& outcome() const { return outcome_; }

   private:
    ha_rocksdb* const handler_;
    cairn::Status outcome_;
  };

  // ALTER TABLE's copy goes to a table that nobody else sees, so that it can be committed piece by
  // piece, or made of sorted files (handler_copy.cc).
  struct Copy {
    std::unique_ptr<cairn::Transaction> transaction;
    uint64_t rows = 0;
    bool may_sort = false;  // The server is told of duplicates at the end.
    bool is_abandoned = false;
    bool awaits_check = false;  // Its rows are there, and foreign keys are not looked at yet.
    std::unique_ptr<cairn::VirtualColumns> virtual_columns;
    std::shared_ptr<cairn::IndexBuildFigures> figures;
    std::unique_ptr<cairn::SortedIndexes> indexes;  // Null: rows go through the transaction.

    // Whether ALTER TABLE copies, or has said that it will.
    bool is_active() const {
      return transaction != nullptr || may_sort || is_abandoned || awaits_check;
    }
  };

  // The columns that the statement wants.
  struct WantedColumns {
    cairn::ColumnSet set;
    bool changed = true;               // The server's column sets may differ from it.
    bool makes_virtual_parts = false;  // Of the index, in each record that is read.
  };

  // The scan, or the read of one row, that goes on.
  struct Scan {
    bool has_begun = false;           // Of the table.
    bool is_whole_statement = false;  // The statement is over with this read.
    bool row_is_unread = false;       // The current row is one that DELETE did not read.
    bool takes_any_order = false;     // Of the range that is being read: see cairn::ReadRange.
    // All rows of the range that is read next start with it; empty: unknown.
    std::string range_prefix;
    // Of the range that is being read first, where rows are to be locked.
    std::string range_end;
  };

  // What identifies a row to the server.
  struct Positions {
    bool are_images = false;  // The server's, of the primary key.
    std::string unpack_info;  // Of a key that is made from a record, where nobody wants it.
  };

  // Rows that are not counted yet: to count each by itself would be felt in a scan.
  struct CountedRows {
    uint64_t read = 0;
    uint64_t covered = 0;
    bool of_system_table = false;  // In a schema of the server's own.
  };

  // What is looked for.
  struct Search {
    std::string key;
    // Parts of a search key that is a complete primary key; beyond reach when a BLOB part makes
    // search keys less than that.
    uint32_t whole_key_parts = UINT32_MAX;
  };

  // For records_in_range.
  struct RangeEstimates {
    std::vector<cairn::KnownFileSize> file_sizes;  // Of each index.
    uint64_t compared_entries = 0;                 // Counted by this statement, to compare indexes.
  };

  // What a read gives, within the handler, that found a row which others have locked and did not
  // wait for them.
  static constexpr int kRowIsLocked = -1;

  // Bytes behind a row's position that hold the key's length.
  static constexpr uint kPositionLengthBytes = 4;

  cairn::Transaction& transaction();
  int BindTable();
  int ChangeForeignKeys(const TABLE& altered_table, const cairn::TableDescription& description,
                        const Alter_inplace_info& alter_info,
                        cairn::Dictionary::TableChange* change);
  bool HasOrphan(const cairn::Dictionary::TableChange& change,
                 const std::shared_ptr<const cairn::Table>& altered, TABLE* altered_table);
  int PrepareForeignKeys(THD* thd) {
    const bool was_bound =
        engine_table_->takes_part_in_foreign_keys() || writer_->foreign_keys().is_bound();
    return TakesPartInForeignKeys() || was_bound ? BindForeignKeys(thd) : 0;
  }
  int BindForeignKeys(THD* thd);
  cairn::Result<std::shared_ptr<const cairn::BoundForeignKeys>> CurrentForeignKeys(THD* thd);
  cairn::Status DescribeRefusal(cairn::StatusCode code);
  std::string DescribeRefusedRow(cairn::StatusCode code, const cairn::ForeignKeyChecks& checks);
  int WarnOfOrphans(THD* thd);
  void PrepareActions();
  bool ActionsHaveComeBetween();
  uint32_t RowsIndex() const { return engine_table_->primary().definition.id.index_number; }
  int AfterActionsTookRow();
  cairn::Status MakePartsOfChange(const uchar* old_record, const uchar* new_record) const;
  int CheckCopiedReferences();
  int EndUncheckedCopy();
  void NoteActions();
  int TruncateEntries();
  std::vector<std::string> EntriesOfMarkedPartitions() const;
  void BeginStatement(THD* thd);
  int FinishLoadsForAlter(THD* thd);
  int RefuseToCopyPrepared() const;
  int FinishLoadsOfReset(THD* thd);
  bool WaitForWriters(THD* thd);
  void NoteExport(THD* thd);
  int RefuseToMoveRows(THD* thd);
  int RefuseOldTable(THD* thd) const;
  int RefuseOldVersions(THD* thd) const;
  int RefuseOldWeights(THD* thd) const;
  int WarnOfOldWeights(THD* thd) const;
  int CompareExpiry(const cairn::RowExpiry& of_table, const cairn::RowExpiry& of_partition);
  int BeginOrEndSequence();
  int PrepareCursor(uint32_t index);
  bool WantVirtualParts(uint32_t index);
  // Whether this read asks for rows that keep another one out of a key that the server itself
  // checks.
  bool ChecksForConflict(const uchar* key) const;
  void NoteRangeEnd(const key_range& end);
  bool MayLogStatements() const;
  int TakeUnread(uchar* record, const uchar* key, key_part_map key_parts);
  void EncodeConflictKey(const uchar* key);
  int LockForConflictCheck(const uchar* key);
  bool MayLockPartitions() const;
  int ReadConflict(uchar* record, const uchar* key, key_part_map key_parts,
                   ha_rkey_function find_flag);
  int AfterConflict(int error, const uchar* record);
  int WaitForConflict(const uchar* key);
  int ReadKey(uchar* record, const uchar* key, key_part_map key_parts, ha_rkey_function find_flag);
  int ReadDuplicate(uchar* record);
  int ReadNextOfTable(uchar* record);
  // For rows that a replica's events name.
  int WaitForPriorCommit();
  void NoteSought(const uchar* key, key_part_map key_parts);
  int SeekAgain(uchar* record);
  cairn::OrderedIterator* CountingIterator(uint index);
  ha_rows KnownRows(const cairn::SharedTable::Sizes& sizes) const;
  // The number of rows, which is exact when they are few.
  ha_rows CountFewRows(ha_rows estimate);
  // How the columns of a key in `record` compare with a search key: negative when they come before
  // it.
  cairn::Result<int> CompareKey(uint32_t index, uchar* record, const uchar* key,
                                uint key_bytes) const;
  // Which of the two values of a BLOB field: that of a row that was read, or of one that is being
  // written.
  enum class BlobPlace { kReadValue, kValue };
  // Errors: kInvalidArgument (a column cannot be computed); so MakeVirtualParts() and CompareKey().
  cairn::Status ComputeVirtualParts(const cairn::IndexLayout& index,
                                    BlobPlace place = BlobPlace::kReadValue) const;
  void SwapVirtualBlobs() const;
  bool MayMixVirtualParts() const;
  bool LacksVirtualParts() const;
  cairn::Status MakeVirtualParts(const uchar* record, BlobPlace place) const;
  // ALTER TABLE in place.
  int BeginChange(const TABLE& altered_table, Alter_inplace_info* alter_info);
  void ChangeIndexRecords(uint64_t ttl_seconds, uint32_t added_features,
                          cairn::Dictionary::TableChange* change) const;
  int ChangeAutoIncrement(const Alter_inplace_info& alter_info,
                          cairn::Dictionary::TableChange* change);
  int BeginIndexes(const cairn::AlterRequest& request, const TABLE& altered_table,
                   const cairn::TableDescription& description, bool beside_writers,
                   cairn::Dictionary::TableChange* change);
  int BeginInPlace(const cairn::AlterRequest& request, const TABLE& altered_table,
                   const cairn::TableDescription& description, uint64_t ttl_seconds,
                   const Alter_inplace_info& alter_info, cairn::Dictionary::TableChange* change);
  int BeginRebuild(const TABLE& altered_table, const cairn::TableDescription& description,
                   uint64_t ttl_seconds, cairn::Dictionary::TableChange* change);
  bool ReportFailedBuild(const cairn::Status& built, uint32_t duplicate_index, bool adds_keys,
                         TABLE* altered_table);
  bool HasNull(const std::vector<uint32_t>& columns, cairn::ExpiredRows expired_rows,
               const cairn::IndexBuildSettings& settings);
  int IndexesAfter(const cairn::AlterRequest& request, const TABLE& altered_table,
                   const cairn::TableDescription& description,
                   const cairn::Dictionary::TableChange& change,
                   std::vector<cairn::IndexDefinition>* indexes) const;
  // index_read_map for a search key of which only a beginning could be encoded.
  int ReadComparing(uchar* record, const uchar* key, uint key_bytes, ha_rkey_function find_flag);
  // Runs one read of the cursor on `index` and translates its outcome.
  template <typename ReadFunction>
  int ReadWith(uint32_t index, uchar* record, ReadFunction read);
  template <typename ReadFunction>
  int MoveWith(uint32_t index, uchar* record, ReadFunction read);
  int AfterRead(const cairn::Status& status, uchar* record);
  int FillVirtualParts(uchar* record);
  bool ReadsOnce() const;
  bool AreAlike(const uchar* old_record, const uchar* new_record) const;
  bool FetchesTogether(uint index) const;
  void LeaveUnsorted(uint* mode) const;
  int ReadNextOfRanges(range_id_t* range);
  int FetchRowsOfRanges();
  int ReadRowOfRanges(size_t row, uchar* record);
  // The row whose primary key is in search_.key.
  int ReadSoughtRow(uchar* record);
  int ReadPendingRange(range_id_t* range);
  void ChoosePositions();
  void SetPosition(std::string_view primary_key);
  bool PrimaryKeyIsInEveryRecord() const;
  // Takes back the server's belief that indexes hold columns that they do not give back.
  void CorrectCoveredColumns();
  // Whether a table scan runs against the key order, because the column family sorts that way.
  bool scans_backwards() const { return engine_table_->primary().family().reverse; }
  uint32_t scan_index() const { return engine_table_->primary_position(); }
  // The handler error of a failed operation; tells the server when the whole transaction is to end.
  int OperationError(const cairn::Status& status) {
    return status.ok() ? 0 : ReportOperationError(status);
  }
  int ReportOperationError(const cairn::Status& status);
  void ReportAtOnce(int error);
  void PrepareWriter(const cairn::WritePlan& plan);
  int LoadAutoIncrement();
  int NoteAutoIncrement(const uchar* record);
  void NoteRefusedValue();
  bool CounterIsPrimaryKey() const;
  uint64_t TakeHandedOutValue();
  int NoteGivenValue(const uchar* record);
  void NoteCopy(ha_extra_function operation);
  void BeginSortedCopy();
  void ForgetCopy();
  int SortCopiedRow(const uchar* record);
  int EndSortedCopy();
  int ReportCopiedDuplicate(uint32_t position);
  int EndCopiedRow();
  int CommitCopiedRows(cairn::Durability durability);
  int CommitSequence();
  // Adds the rows read since the last call to the engine's counters.
  void CountReads();
  void CountWrite(cairn::Work user_table, cairn::Work system_table);
  void PrintSnapshotConflict();
  // Whether rows go to a load of the session rather than into its transaction.
  bool LoadsRows(const cairn::WritePlan& plan) const;
  int FinishOwnLoad();
  int LoadRow(const uchar* record);
  void EndLoad();
  // To be called after each row that was written: commits what the session wants committed by the
  // piece.
  int EndChange();

  cairn::SharedTable* shared_ = nullptr;
  std::shared_ptr<const cairn::Table> engine_table_;
  THR_LOCK_DATA lock_data_{};
  // Whether the statement for which the server locked the table locks rows, or has StatementPlan's
  // feeds_changes; functions that it calls go by that.
  bool locked_for_changes_ = false;
  std::string dictionary_name_;
  std::unique_ptr<cairn::Cursor> cursor_;
  std::unique_ptr<cairn::TableWriter> writer_;
  std::shared_ptr<cairn::BulkLoad> bulk_load_;  // The last one that rows of this handler went to.
  Copy copy_;
  // Of a SEQUENCE: each change is committed at once, whatever becomes of the statement.
  std::unique_ptr<cairn::Transaction> own_transaction_;
  cairn::StatementPlan statement_;
  cairn::AutoIncrement auto_increment_;  // Of a table that has such a column.
  cairn::MultiRangeRead multi_range_;
  cairn::SoughtRow sought_;
  cairn::ConflictReads conflict_;
  WantedColumns columns_;
  VirtualColumnsOfRecord virtual_columns_{this};
  PushedCondition pushed_condition_{this};
  PushedFilter pushed_filter_{this};
  Scan scan_;
  Search search_;
  Positions positions_;
  CountedRows counted_;
  RangeEstimates estimates_;
  cairn::ReachedTables reached_;
};
