// The data dictionary: which tables and indexes exist, and where their entries lie.
//
// The records lie in the column family `__system__` (docs/stock-format.md, 11); this class keeps
// them in memory as well and is the only one that writes them. Every change is one synced write
// batch, so a crash leaves the state before or after it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/foreign_key_plan.h"
#include "engine/catalog/foreign_keys.h"
#include "engine/catalog/index_build_state.h"
#include "engine/catalog/index_definition.h"
#include "engine/catalog/row_count.h"
#include "engine/codec/collation.h"
#include "engine/codec/collation_record.h"
#include "engine/codec/definition_copy_record.h"
#include "engine/codec/dictionary_record.h"
#include "engine/store/database.h"

namespace cairn {

// Counters that outlive open handlers: they go with the table's name through RENAME and vanish with
// DROP and TRUNCATE. The next value to hand out is 0 while it must be found in the data first.
struct TableCounters {
  std::atomic<uint64_t> next_auto_increment{0};
  // Rows with larger auto-increment values have them from next_auto_increment, which hands out each
  // value once. Others are told here before they are locked, whoever locks a value then knows
  // whether a row may have it already. The largest number while nothing is known.
  std::atomic<uint64_t> largest_given_value{UINT64_MAX};
  std::atomic<uint64_t> next_hidden_key{0};
  // When a transaction that changed rows was committed last, in seconds since the epoch; 0: never
  // since the start.
  std::atomic<int64_t> changed_at{0};
  std::atomic<int64_t> analysed_us{0};  // When ANALYZE TABLE ran last, since the epoch.
  // Dictionary::StateNumber() when the table last came to its name, was emptied or lost a
  // partition, since the start of this process; 0: not since. A snapshot of an earlier state
  // (Transaction::SnapshotNumber()) saw other rows under the name, or none, whatever it finds there
  // now.
  std::atomic<uint64_t> defined_at{0};
  // The number that the server gave to the statement that made the table; 0: not known.
  std::atomic<uint64_t> made_by_query{0};
  // The part that the table has in foreign keys, as bits of kForeignKeyGuards; 0: none, so that its
  // statements need not ask further. It may name a part that is over or only intended. A statement
  // that reads it relaxed after it has its metadata lock sees those that must concern it.
  std::atomic<uint32_t> foreign_key_guards{0};
  std::atomic<bool> dropped{false};  // The table is gone, or emptied and has others.
  std::mutex initialise;             // Held while a counter is found in the data.
  bool gives_untold_values = false;  // Guarded by `initialise`.
  RowCount row_count;

  void RaiseLargestGivenValue(uint64_t value) {
    uint64_t largest = largest_given_value.load(std::memory_order_relaxed);
    while (largest < value && !largest_given_value.compare_exchange_weak(largest, value)) {
    }
  }
  // Rows get auto-increment values from now on that nobody tells: an action of a foreign key
  // changes primary keys, and knows nothing of the counter.
  void GiveUntoldValues() {
    const std::lock_guard guard(initialise);
    gives_untold_values = true;
    largest_given_value.store(UINT64_MAX);
  }
};

// Immutable but for the counters; shared by the dictionary and all who have the table open.
struct TableDefinition {
  std::string name;                      // "db.table[#P#part]", file-name encoded.
  std::vector<IndexDefinition> indexes;  // In the server's key order, a hidden primary key last.
  std::shared_ptr<TableCounters> counters;
  bool temporary = false;
  // Indexes that are being built while others write; null: none.
  std::shared_ptr<IndexBuildState> build;
};

// A temporary table is known to this process alone: no record names it, and each of its indexes
// bears the mark of an index whose creation goes on, so that the next start after a crash removes
// the entries.
enum class TableLifetime : uint8_t { kPermanent, kTemporary };

struct NewIndex {
  IndexKind kind = IndexKind::kPrimary;
  std::string family_name{kDefaultColumnFamily};
  bool family_per_partition = false;  // The name came from a per-partition qualifier.
  uint16_t format_version = kStockFormatVersion;
  uint32_t features = 0;  // IndexFeature bits; 0 unless the format is kCairnFormatVersion.
  uint64_t ttl_seconds =
      0;  // Rows expire after as long; 0: never. The same for all indexes of a table.
};

// A table that cannot be used because its own records are damaged or of a version that this release
// does not know. It keeps its name and its index numbers until it is dropped; the other tables are
// not affected.
struct QuarantinedTable {
  std::string name;
  std::string reason;
  std::vector<IndexId> indexes;  // As far as its entry tells.
  // The reason is a damaged record of a foreign key, perhaps one of this table.
  bool for_foreign_keys = false;
};

// Thread-safe. Mutexes: change_mutex_ serialises changes and is taken first; map_mutex_ guards the
// maps and is never held during I/O.
class Dictionary {
 public:
  // Reads and checks all records, and writes those that must exist. A record that cannot be used
  // quarantines the tables that it concerns, with a message to the log. `database` outlives the
  // result; `names` says what the server knows of names. Errors: kNotSupported when a newer release
  // wrote what concerns every table (the directory's format, the largest index number, the families
  // `default` and `__system__`); those of RocksDB.
  static Result<std::unique_ptr<Dictionary>> Load(Database* database,
                                                  const ForeignKeyNames& names = {});

  // Null when there is none.
  std::shared_ptr<const TableDefinition> Find(std::string_view name) const;
  // All but the temporary ones.
  std::vector<std::shared_ptr<const TableDefinition>> Tables() const;
  std::optional<QuarantinedTable> FindQuarantined(std::string_view name) const;
  std::vector<QuarantinedTable> QuarantinedTables() const;
  // Opening the table has shown that its records and what the server knows of it do not fit: it is
  // as good as quarantined, with the same message to the log, until it is opened with success or
  // changes. DROP, TRUNCATE and RENAME go on.
  void NoteUnusable(const std::shared_ptr<const TableDefinition>& table, const std::string& reason);
  void NoteUsable(const TableDefinition& table);
  // Why the table could not be opened last; none: it could, or nobody has tried.
  std::optional<std::string> WhyUnusable(const TableDefinition& table) const;
  size_t UnusableCount() const;

  // Whether new indexes may need the Cairn format. A directory whose first start was under Cairn
  // has kCairn, one that the stock plug-in made has kStock, until somebody sets it.
  DirectoryFormat format() const { return format_.load(std::memory_order_relaxed); }
  // Remembers it in the directory. Existing tables stay as they are. Errors: those of RocksDB.
  Status SetFormat(DirectoryFormat format);

  // The foreign keys of all tables, read by any thread.
  const ForeignKeys& foreign_keys() const { return foreign_keys_; }
  // The table that stands for a name in foreign keys: as Find(), but while ALTER TABLE has put the
  // table aside and its copy does not have the name yet, the one that was put aside.
  std::shared_ptr<const TableDefinition> FindForForeignKeys(std::string_view name) const;

  // Makes a table with fresh index numbers. `next_auto_increment` is the first value to hand out.
  // `definition`: the server's of the table ("db.table"), with all its partitions, the same for
  // each of them; null: the table has no copy of it, or one that does not count any more.
  // `foreign_keys` are those of which it is the child; a copy that ALTER TABLE makes has intents
  // instead, with exactly one kReplaces among them, wherever a foreign key names the table. Its
  // parents have the guard from now on, and it has theirs if foreign keys wait for its name.
  // Errors: kAlreadyExists (the table, or a constraint of the database); kQuarantined (the name, a
  // column family's record, or with foreign keys any damaged record of one); kInvalidArgument (the
  // family `__system__`, foreign keys that cannot be the table's); kNotFound (a foreign key that is
  // to be dropped); kNotSupported (the directory's format allows no foreign keys); those of
  // RocksDB.
  Result<std::shared_ptr<const TableDefinition>> CreateTable(
      std::string_view name, const std::vector<NewIndex>& indexes,
      std::optional<uint64_t> next_auto_increment,
      TableLifetime lifetime = TableLifetime::kPermanent,
      const std::vector<ForeignKeyRecord>& foreign_keys = {},
      const DefinitionCopy* definition = nullptr);
  // The table is gone at once; its entries are removed behind (DroppedIndexes). A quarantined table
  // goes with what is known of it, and the numbers of its indexes are never used again. Errors:
  // kNotFound; it does not know temporary tables.
  Status DropTable(std::string_view name) { return DropTables({std::string(name)}); }
  // All of them or none. Foreign keys go with their child, and wait for a parent of that name if
  // the parent is dropped. Errors: kNotFound.
  Status DropTables(const std::vector<std::string>& names);
  // A temporary table goes in two steps, because the transaction that wrote its rows may outlive
  // it: first the name (null when there is none), then, when that transaction has ended, the
  // entries.
  std::shared_ptr<const TableDefinition> ForgetTemporaryTable(std::string_view name);
  Status DropForgottenTable(const TableDefinition& table);
  // The same indexes with fresh numbers and no entries, counters at their start. Errors: kNotFound.
  Status TruncateTable(std::string_view name) { return TruncateTables({std::string(name)}); }
  // All of them or none. Foreign keys stay. Errors: kNotFound.
  Status TruncateTables(const std::vector<std::string>& names);
  // Foreign keys go along, in either role, with the names that were made of the table's, unless the
  // new name is of the server's making: then they stay at the name, for the table that gets it
  // next, the intents of which are carried out (foreign_key_plan.h). So does the copy of the
  // definition. Where a table becomes a partition or a partition a table, `definition` is the
  // server's of the table that `to` is or belongs to, as it is afterwards; null: it has no copy
  // that counts until PutDefinitionCopy(). Errors: kNotFound, kAlreadyExists (the table, or a
  // constraint), kQuarantined. Temporary tables have no name that changes.
  Status RenameTable(std::string_view from, std::string_view to,
                     const DefinitionCopy* definition = nullptr);

  // Gives indexes that are to be added to tables their numbers, and marks them as not yet built: a
  // crash before ChangeTables() makes them part of a table has their entries removed at the next
  // start. Errors: as CreateTable.
  Result<std::vector<IndexDefinition>> BeginIndexes(const std::vector<NewIndex>& indexes);
  // They will not be part of a table; their entries are removed behind. Writes nothing, and so
  // cannot fail.
  void AbandonIndexes(const std::vector<IndexDefinition>& begun);

  // The same for indexes that are built while others write to a table, which from now on has the
  // build in its definition. `layouts` are theirs, in the same order. Nobody uses the table now.
  // Errors: as CreateTable, kNotFound, kBusy (another build goes on).
  Result<std::shared_ptr<IndexBuildState>> BeginBuild(std::string_view table_name,
                                                      const std::vector<NewIndex>& indexes,
                                                      std::vector<IndexLayout> layouts);
  // The table has no build any more; what it made is removed once all transactions that may have
  // written entries have ended. Others may write meanwhile. Cannot fail; does nothing with one that
  // has ended.
  void AbandonBuild(IndexBuildState* build);

  // What an ALTER TABLE that stays in place makes of one table or partition.
  struct TableChange {
    std::string table_name;
    // The indexes that the table has afterwards, in the order of the server's keys: such as it has
    // already, or `added` ones of BeginIndexes(), which are built. The others are gone at once,
    // their entries are removed behind.
    std::vector<IndexId> indexes;
    std::vector<IndexDefinition> added{};
    // What the records of indexes that stay say now; the others say what they did. Only ttl_seconds
    // and features may differ.
    std::map<IndexId, IndexInfo> infos{};
    // The layouts that rows have from now on; null: they stay. Its primary key has
    // kFeatureRowLayouts, in `infos` if it did not have it.
    std::shared_ptr<const LayoutHistory> history{};
    // Rows as older snapshots see them are not those that the table has now: who reads by one gets
    // an error. So it is where `indexes` has another primary key.
    bool redefines = false;
    // The next auto-increment value; none: stays.
    std::optional<uint64_t> next_auto_increment{};
    // What made `added` while others wrote, if anything: it ends, and its deltas are dropped.
    std::shared_ptr<IndexBuildState> build{};
    // Foreign keys of which the table is the child, with columns as they are called afterwards, and
    // the numbers of those that it has no more. Nothing needs to be said of the guards in `infos`.
    std::vector<ForeignKeyRecord> added_foreign_keys{};
    std::vector<uint32_t> dropped_foreign_keys{};
    // Old and new names of columns, as far as foreign keys have them.
    std::map<std::string, std::string> renamed_columns{};
    // The server's definition as it is afterwards, the same for all partitions; null: the table has
    // no copy until PutDefinitionCopy().
    std::shared_ptr<const DefinitionCopy> definition{};
  };
  // All tables change together or none does; each table's version rises by one, also where nothing
  // else of ours changes: by it the server tells after a crash whether the table is the old one.
  // Whoever binds to a table from now on gets the new definition. Errors: kNotFound, also of
  // temporary tables and of dropped foreign keys; kQuarantined; kInvalidArgument (an index that is
  // neither the table's nor added, a record that says something else of its format, a foreign key
  // that cannot be the table's); kAlreadyExists (a constraint); kNotSupported as CreateTable.
  Status ChangeTables(const std::vector<TableChange>& changes);
  // The version of the table that has this entry is 0 from now on, as that of a table that was not
  // changed yet. Synced; writes nothing when it is 0. Errors: those of RocksDB.
  Status ResetTableVersion(std::string_view table_name);
  // The entries of "db.table": its own, or those of its partitions; none when it does not exist.
  std::vector<std::string> EntriesOf(std::string_view table) const;
  // Those of all tables of a database, quarantined ones too.
  std::vector<std::string> EntriesOfDatabase(std::string_view database) const;
  // Gives all partitions of a table ("db.table") another name at once. Errors: as RenameTable.
  Status RenamePartitions(std::string_view from, std::string_view to);

  // Copies of the server's definitions. They change with the entries of their tables, so each is of
  // the state before or after a change, whatever a crash cuts off; one whose entries were changed
  // without it, by another engine as well, does not count. `table` is "db.table".
  //
  // Whether there is one that counts, of this version of the server's; false as well where a
  // statement that changed entries was taken back. No I/O.
  bool HasDefinitionCopy(std::string_view table, std::string_view version) const;
  // What the server knows of the table now. Synced. Errors: kNotFound (no entries), those of
  // RocksDB.
  Status PutDefinitionCopy(std::string_view table, const DefinitionCopy& copy);
  // Errors: kNotFound (there is none), kMetadataMismatch (it does not count: why), kCorruption,
  // kNotSupported (a newer release wrote it), those of RocksDB.
  Result<DefinitionCopy> LoadDefinitionCopy(std::string_view table) const;
  // Removes the copies of tables that do not exist; called when what a crash cut off is settled.
  Status SettleDefinitionCopies();

  // Weights of collations. Keys hold them, so a server with other weights would look in the wrong
  // places. Which indexes were made with which, the dictionary tells by their numbers.
  //
  // Notes the weights that a collation has in this process: before an index with it gets its
  // number, and before WeightsOf(). `server` is the version of the server that asks: one that has
  // noted them before need not hash them again, unless they can change without it. Errors: those of
  // RocksDB; the process knows the weights all the same, and the next call tries to write them.
  Status NoteWeights(const Collation& collation, std::string_view server);
  enum class IndexWeights {
    kCurrent,
    kOld,
    kOldInValues,  // And values that are to come back from keys by them would be other ones.
  };
  // What an index of a table has, by its number. A collation that was not noted has current ones.
  IndexWeights WeightsOf(const Collation& collation, uint32_t index_number) const;

  // RocksDB's number of the state that a snapshot taken now would show.
  uint64_t StateNumber() const;
  // What snapshots older than now would read in the table is not what it was: gives them an error
  // instead.
  void NoteRedefined(TableCounters* counters) const;

  // The stored next auto-increment value of a table; 0 when none is stored.
  Result<uint64_t> LoadAutoIncrement(const TableDefinition& table) const;
  // Overwrites it, in memory too.
  Status SetAutoIncrement(const TableDefinition& table, uint64_t next_value);
  // Key and value of the merge that a transaction adds to its batch to raise the stored value.
  static std::string AutoIncrementKey(const TableDefinition& table);

  // The version that the server's DDL recovery compares; 0 when none is stored. `path` is
  // "./db/table".
  Result<uint64_t> LoadTableVersion(std::string_view path) const;

  // Writes the statistics that changed since the last call, of indexes that exist. Not synced: what
  // a crash loses is counted again.
  Status SaveStatistics();

  uint32_t max_index_number() const { return max_index_number_.load(std::memory_order_relaxed); }

  // The flags of each column family that holds or held an index, by its number.
  std::map<uint32_t, uint32_t> FamilyFlags() const;

  // Indexes whose entries are still to be removed, and the end of that: deletes all their records.
  std::vector<IndexId> PendingDrops() const;
  Status ForgetDroppedIndex(IndexId id);

 private:
  Dictionary(Database* database, const ForeignKeyNames& names)
      : database_(database), foreign_keys_(names) {}

  class Loader;  // dictionary_load.cc

  Status DropQuarantined(const QuarantinedTable& table);
  void LogQuarantine(const std::string& name, const std::string& reason) const;
  // Whether the number may be an index's and its family one of indexes: damaged records say
  // anything.
  bool CanHoldIndex(IndexId id) const;
  // Of a name; ok when no table of it is quarantined.
  Status CheckNotQuarantined(std::string_view name) const;
  // Adds the records of a table to a batch.
  Status PutTable(const TableDefinition& table, rocksdb::WriteBatch* batch) const;
  struct Renaming {
    std::string from;
    std::string to;
  };
  // What renamings make of foreign keys. Errors: kAlreadyExists (a constraint); those of RocksDB.
  Result<ForeignKeyPlan> PlanForeignKeyRenames(const std::vector<Renaming>& renamings);
  // All of them or none; change_mutex_ is held.
  Status Rename(const std::vector<Renaming>& renamings, const DefinitionCopy* definition);
  // An entry of a table leaves it: a query of an older snapshot may miss its rows in what remains.
  void NotePartitionLeft(std::string_view entry) const;
  // Of a new entry of a table: that of the other ones; now, if it has none.
  uint64_t DefinedAtOfNewEntry(std::string_view entry) const;
  // Whether a table other than `leaving` has the version record of this path.
  bool SharesVersion(std::string_view path, const std::vector<std::string>& leaving) const;
  // Adds the marks that a table's indexes are dropped.
  Status PutDropMarks(const TableDefinition& table, rocksdb::WriteBatch* batch) const;
  enum class Sync : uint8_t { kNo, kYes };
  Status Write(rocksdb::WriteBatch* batch, Sync sync = Sync::kYes) const;
  Result<std::optional<std::string>> Read(std::string_view key) const;
  Result<uint32_t> AllocateIndexNumbers(uint32_t count, Sync sync);
  // Checks new indexes, finds or makes their families and gives them numbers.
  Result<std::vector<IndexDefinition>> MakeIndexes(const std::vector<NewIndex>& indexes, Sync sync);
  // Adds the records of their column families that have none yet, and returns these families'
  // flags.
  Result<std::map<uint32_t, uint32_t>> PutNewFamilies(const std::vector<NewIndex>& indexes,
                                                      const std::vector<IndexDefinition>& entries,
                                                      rocksdb::WriteBatch* batch) const;
  // Adds the marks of the deltas of a build that ends with a change.
  Status PutDeltaDrops(const IndexBuildState& build, rocksdb::WriteBatch* batch) const;
  // It is written.
  void EndBuild(IndexBuildState* build) const;
  // The indexes that a change leaves a table or gives it. Errors: kInvalidArgument.
  Result<std::vector<IndexDefinition>> IndexesAfter(const TableChange& change,
                                                    const TableDefinition& table) const;
  // Adds the records of a changed table. `versions` by path: as they are stored now.
  Status PutChange(const TableChange& change, const TableDefinition& table,
                   const TableDefinition& changed, std::map<std::string, uint64_t>* versions,
                   rocksdb::WriteBatch* batch) const;
  Result<uint64_t> NextAutoIncrement(const TableChange& change, const TableDefinition& table,
                                     const TableDefinition& changed) const;

  bool HasStoredWeights(uint32_t collation) const;  // dictionary_collations.cc

  // dictionary_definition_copies.cc
  struct KnownDefinition {
    DefinitionMark mark;
    bool counts = true;  // The sum of its entries is that of the table's; false: it may not be.
  };
  // By table, what a change makes of copies; none: there is none any more.
  using DefinitionChanges = std::map<std::string, std::optional<KnownDefinition>, std::less<>>;
  // By name, entries as a change makes them; null: it leaves.
  using EntriesAfter = std::map<std::string, const TableDefinition*>;
  std::optional<KnownDefinition> FindDefinition(std::string_view table) const;
  uint64_t SumOfEntries(std::string_view table, const EntriesAfter& after = {}) const;
  // Each adds the records of copies that a change of entries changes.
  Status PutDefinition(std::string_view table, const DefinitionCopy& copy, uint64_t entries,
                       DefinitionChanges* changes, rocksdb::WriteBatch* batch) const;
  Status PutDefinitionMark(std::string_view table, const DefinitionMark& mark,
                           DefinitionChanges* changes, rocksdb::WriteBatch* batch) const;
  Status DeleteDefinition(std::string_view table, DefinitionChanges* changes,
                          rocksdb::WriteBatch* batch) const;
  Status MoveDefinition(std::string_view from, std::string_view to, DefinitionChanges* changes,
                        rocksdb::WriteBatch* batch) const;
  // The copy does not count until it is put again.
  void DiscountDefinition(std::string_view table, DefinitionChanges* changes) const;
  Status PutDefinitionOfNew(const TableDefinition& table, const DefinitionCopy* definition,
                            DefinitionChanges* changes, rocksdb::WriteBatch* batch) const;
  Status PutDefinitionsOfDropped(const std::vector<std::string>& names, DefinitionChanges* changes,
                                 rocksdb::WriteBatch* batch) const;
  Status PutDefinitionsOfEmptied(const std::vector<std::shared_ptr<TableDefinition>>& emptied,
                                 DefinitionChanges* changes, rocksdb::WriteBatch* batch) const;
  Status PutDefinitionsOfChanged(
      const std::vector<TableChange>& table_changes,
      const std::vector<std::shared_ptr<TableDefinition>>& changed_tables,
      DefinitionChanges* changes, rocksdb::WriteBatch* batch) const;
  Status PutDefinitionsOfRenamed(const std::vector<Renaming>& renamings,
                                 const DefinitionCopy* definition, DefinitionChanges* changes,
                                 rocksdb::WriteBatch* batch) const;
  // They are written. map_mutex_ is held.
  void ApplyDefinitions(DefinitionChanges changes);

  // A record of a foreign key that cannot be used.
  struct DamagedForeignKey {
    std::string key;
    std::string child;  // Empty if that cannot be told.
  };
  // Foreign keys as they are, for a change; change_mutex_ is held until it is applied.
  ForeignKeyPlan PlanForeignKeys(const std::set<std::string>& tables) const;
  // Checks new ones of a child, gives them numbers and adds them. Errors: as CreateTable.
  Status AddForeignKeys(const std::string& child, const std::vector<ForeignKeyRecord>& records,
                        ForeignKeyPlan* plan);
  // What ChangeTables makes of foreign keys.
  Result<ForeignKeyPlan> PlanForeignKeyChanges(const std::vector<TableChange>& changes);
  // Gives the primary key the guards. False: it had them.
  static bool SetGuards(uint32_t guards, TableDefinition* table);
  // Adds the records of foreign keys that change, and those of tables whose guards change, but for
  // the tables that the plan was told of. Returns the definitions of these tables.
  Result<std::vector<std::shared_ptr<TableDefinition>>> PutForeignKeys(
      const ForeignKeyPlan& plan, rocksdb::WriteBatch* batch) const;
  // They are written. map_mutex_ is held, and the other tables are as they will be.
  void ApplyForeignKeys(const ForeignKeyPlan& plan,
                        std::vector<std::shared_ptr<TableDefinition>> guarded);
  // Adds the end of damaged records that concern no table when this one is dropped, and returns
  // the others.
  Result<std::vector<DamagedForeignKey>> PutDamagedForeignKeyDrops(
      const QuarantinedTable& table, rocksdb::WriteBatch* batch) const;
  // Puts the counter where it is to go on, in memory.
  static void MoveAutoIncrement(TableCounters* counters, uint64_t next_value);

  Database* const database_;
  mutable std::mutex change_mutex_;
  mutable std::shared_mutex map_mutex_;
  std::map<std::string, std::shared_ptr<const TableDefinition>, std::less<>> tables_;
  std::map<std::string, std::shared_ptr<const TableDefinition>, std::less<>> temporary_tables_;
  std::map<std::string, QuarantinedTable, std::less<>> quarantined_;  // Guarded by map_mutex_ too.
  struct UnusableTable {
    std::weak_ptr<const TableDefinition> table;
    std::string reason;
  };
  std::map<std::string, UnusableTable, std::less<>> unusable_;  // Guarded by map_mutex_ too.
  ForeignKeys foreign_keys_;                                    // Changes with map_mutex_ held.
  std::vector<DamagedForeignKey> damaged_foreign_keys_;         // Guarded by change_mutex_.
  std::map<uint32_t, uint32_t> family_flags_;     // Of the column families that have a record.
  std::map<uint32_t, std::string> bad_families_;  // Their record cannot be used: why. Set by Load.
  std::set<uint32_t>
      reserved_numbers_;  // Above the largest, but named by damaged records. Set by Load.
  std::atomic<DirectoryFormat> format_{DirectoryFormat::kStock};
  std::atomic<uint32_t> max_index_number_{kFirstUserIndexNumber - 1};
  // The copies of definitions, by table. Guarded by map_mutex_ too.
  std::map<std::string, KnownDefinition, std::less<>> definitions_;
  struct NotedCollation {
    CollationRecord record;
    bool is_stored = false;  // Or could not be, and cannot be judged by others than this process.
  };
  std::map<uint32_t, NotedCollation> collations_;  // Noted in this process. Likewise.
};

// "db.table" of the dictionary name "db.table[#P#part]".
std::string_view TableOfEntry(std::string_view entry);

// "./db/table" of the dictionary name "db.table[#P#part]".
std::string TableVersionPath(std::string_view table_name);

}  // namespace cairn
