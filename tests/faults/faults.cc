// Faults on demand: stands between the plug-in and the engine, for ./cairn acceptance faults alone.
//
// The linker leads calls from one object file to another through the functions below (--wrap,
// CMakeLists.txt). A test names a thread, an outcome and how many calls are to pass before it; the
// call that is due has that outcome in place of doing anything. Neither the plug-in nor the engine
// knows: this is the very code that users get. What iterators meet comes from below: RocksDB's
// reads of files fail, or give bytes that were not written.
//
// The test and the server share a file, named by the environment (CAIRN_FAULTS): Plan, in the
// machine's byte order.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/table/bulk_load.h"
#include "engine/table/cursor.h"
#include "engine/table/index_build.h"
#include "engine/table/sorted_indexes.h"
#include "engine/table/table_check.h"
#include "engine/table/table_writer.h"
#include "engine/txn/prepared_transactions.h"
#include "engine/txn/transaction.h"
#include "engine/upkeep/upkeep.h"

namespace cairn {
namespace {

// What `kind` says of a call.
constexpr int32_t kNoCall = -1;   // It has nothing to fail with, and does not count.
constexpr int32_t kAnyCall = 0;   // Only what every call may meet is to happen to it.
constexpr int32_t kLockCall = 1;  // It may wait for a lock.
constexpr int32_t kFileRead = 2;  // It is RocksDB's.

struct Plan {
  std::atomic<int32_t> thread;   // Of the kernel; 0: nothing happens.
  std::atomic<int32_t> outcome;  // A StatusCode.
  std::atomic<int32_t> only;   // kAnyCall: all of the adapter count; else those of this kind alone.
  std::atomic<int32_t> skip;   // Calls that pass before the one that is due.
  std::atomic<int32_t> calls;  // That have passed.
  std::atomic<int32_t> due;    // 1: it has happened.
  std::atomic<int32_t> pause;  // 1: what is due waits until this is 0, and then goes on.
  std::atomic<int32_t> paused;  // 1: it waits.
  char call[64];                // What was due.
};

Plan* OpenPlan() {
  const char* const path = std::getenv("CAIRN_FAULTS");
  if (path == nullptr) return nullptr;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const bytes = ::mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return bytes == MAP_FAILED ? nullptr : static_cast<Plan*>(bytes);
}

bool Counts(const Plan& plan, int32_t kind) {
  const int32_t only = plan.only.load();
  return only == kAnyCall ? kind == kAnyCall || kind == kLockCall : kind == only;
}

// The outcome of this call, if it is the one.
std::optional<Status> Due(const char* call, int32_t kind) {
  static Plan* const plan = OpenPlan();
  static thread_local const int32_t thread = ::gettid();
  if (plan == nullptr || plan->thread.load() != thread || plan->due.load() != 0) return {};
  if (!Counts(*plan, kind)) return {};
  if (plan->calls.fetch_add(1) < plan->skip.load()) return {};
  std::strncpy(plan->call, call, sizeof(plan->call) - 1);
  plan->due.store(1);
  if (plan->pause.load() != 0) {
    plan->paused.store(1);
    while (plan->pause.load() != 0) {
      const timespec moment{0, 1000000};
      ::nanosleep(&moment, nullptr);
    }
    return {};
  }
  return Status(static_cast<StatusCode>(plan->outcome.load()), "a fault on demand");
}

// What fails then stays prepared, and is tried again: tests/unit/txn has that.
bool IsPrepared(const Transaction& transaction) {
  return transaction.facts().Describe().state == TransactionState::kPrepared;
}

ssize_t FailedRead(const Status& fault, uint8_t* bytes, ssize_t count) {
  if (fault.code() == StatusCode::kCorruption) {
    for (ssize_t i = 0; i < count; ++i) bytes[i] ^= 0x55;
    return count;
  }
  errno = EIO;
  return -1;
}

using Names = std::vector<std::string>;
using View = std::string_view;

}  // namespace

// CAIRN_CALL(its symbol, its name, what it may meet, its result, its parameters, its arguments,
// what it does although it fails). A member function is called like one whose first parameter is
// the object.
#define CAIRN_JOIN(a, b) a##b
#define CAIRN_NAME(a, b) CAIRN_JOIN(a, b)
#define CAIRN_CALL(symbol, name, kind, Outcome, parameters, arguments, before) \
  Outcome CAIRN_NAME(Real, __LINE__)                                           \
  parameters __asm__("__real_" symbol);                                        \
  Outcome CAIRN_NAME(Wrapped, __LINE__)                                        \
  parameters __asm__("__wrap_" symbol);                                        \
  Outcome CAIRN_NAME(Wrapped, __LINE__) parameters {                           \
    if (std::optional<Status> fault = Due(name, kind)) {                       \
      before;                                                                  \
      return *std::move(fault);                                                \
    }                                                                          \
    return CAIRN_NAME(Real, __LINE__) arguments;                               \
  }

// clang-format off
// --- Reading ---
CAIRN_CALL("_ZN5cairn6Cursor4OpenEPNS_11TransactionERKNS_12CursorAccessE", "Cursor::Open", kAnyCall, Status,
           (Cursor* self, Transaction* transaction, const CursorAccess& access), (self, transaction, access), )
CAIRN_CALL("_ZN5cairn6Cursor6ResumeEPNS_11TransactionERKNS_12CursorAccessE", "Cursor::Resume", kAnyCall, Status,
           (Cursor* self, Transaction* transaction, const CursorAccess& access), (self, transaction, access), )
CAIRN_CALL("_ZN5cairn6Cursor13ChangeColumnsEPKNS_9ColumnSetE", "Cursor::ChangeColumns", kAnyCall, Status,
           (Cursor* self, const ColumnSet* columns), (self, columns), )
CAIRN_CALL("_ZN5cairn6Cursor4ReadESt17basic_string_viewIcSt11char_traitsIcEENS_9ReadStartEPhRKNS_9ReadRangeE",
           "Cursor::Read", kLockCall, Status,
           (Cursor* self, View prefix, Cursor::Start start, uint8_t* record, const ReadRange& range),
           (self, prefix, start, record, range), )
CAIRN_CALL("_ZN5cairn6Cursor9ReadFirstEPhRKNS_9ReadRangeE", "Cursor::ReadFirst", kLockCall, Status,
           (Cursor* self, uint8_t* record, const ReadRange& range), (self, record, range), )
CAIRN_CALL("_ZN5cairn6Cursor8ReadLastEPh", "Cursor::ReadLast", kLockCall, Status,
           (Cursor* self, uint8_t* record), (self, record), )
CAIRN_CALL("_ZN5cairn6Cursor8ReadNextEPh", "Cursor::ReadNext", kLockCall, Status,
           (Cursor* self, uint8_t* record), (self, record), )
CAIRN_CALL("_ZN5cairn6Cursor12ReadPreviousEPh", "Cursor::ReadPrevious", kLockCall, Status,
           (Cursor* self, uint8_t* record), (self, record), )
CAIRN_CALL("_ZN5cairn6Cursor13ReadNextExactEPh", "Cursor::ReadNextExact", kLockCall, Status,
           (Cursor* self, uint8_t* record), (self, record), )
CAIRN_CALL("_ZN5cairn6Cursor17ReadPreviousExactEPh", "Cursor::ReadPreviousExact", kLockCall, Status,
           (Cursor* self, uint8_t* record), (self, record), )
CAIRN_CALL("_ZN5cairn6Cursor7ReadRowESt17basic_string_viewIcSt11char_traitsIcEEPh", "Cursor::ReadRow", kLockCall,
           Status, (Cursor* self, View key, uint8_t* record), (self, key, record), )
CAIRN_CALL("_ZN5cairn6Cursor11ReadFetchedERKNS_8RowBatchEmPh", "Cursor::ReadFetched", kAnyCall, Status,
           (Cursor* self, const RowBatch& batch, size_t i, uint8_t* record), (self, batch, i, record), )
CAIRN_CALL("_ZN5cairn6Cursor12ReadGatheredERKNS_8RowBatchEmPh", "Cursor::ReadGathered", kAnyCall, Status,
           (Cursor* self, const RowBatch& batch, size_t i, uint8_t* record), (self, batch, i, record), )
CAIRN_CALL("_ZN5cairn6Cursor10GatherFromESt17basic_string_viewIcSt11char_traitsIcEENS_9ReadStartERKNS_9ReadRangeEmPhPNS_8RowBatchE",
           "Cursor::GatherFrom", kAnyCall, Status,
           (Cursor* self, View prefix, Cursor::Start start, const ReadRange& range, size_t most, uint8_t* record,
            RowBatch* rows),
           (self, prefix, start, range, most, record, rows), )
CAIRN_CALL("_ZN5cairn6Cursor8GatherOnEmPhPNS_8RowBatchE", "Cursor::GatherOn", kAnyCall, Status,
           (Cursor* self, size_t most, uint8_t* record, RowBatch* rows), (self, most, record, rows), )
CAIRN_CALL("_ZN5cairn11Transaction3GetERKNS_12ColumnFamilyESt17basic_string_viewIcSt11char_traitsIcEENS0_4ViewEPN7rocksdb13PinnableSliceE",
           "Transaction::Get", kAnyCall, Status,
           (Transaction* self, const ColumnFamily& family, View key, Transaction::View view,
            rocksdb::PinnableSlice* value),
           (self, family, key, view, value), )
CAIRN_CALL("_ZN5cairn10CheckTableERKNS_5TableEPNS_11TransactionEPhPNS_14VirtualColumnsE", "CheckTable", kAnyCall,
           Result<TableCheckReport>,
           (const Table& table, Transaction* transaction, uint8_t* record, VirtualColumns* columns),
           (table, transaction, record, columns), )

// --- Locking and writing ---
CAIRN_CALL("_ZN5cairn11Transaction4LockERKNS_12ColumnFamilyESt17basic_string_viewIcSt11char_traitsIcEENS_8LockModeENS_8LockWaitE",
           "Transaction::Lock", wait == LockWait::kWait ? kLockCall : kAnyCall, Status,
           (Transaction* self, const ColumnFamily& family, View key, LockMode mode, LockWait wait),
           (self, family, key, mode, wait), )
CAIRN_CALL("_ZN5cairn11Transaction12GetForUpdateERKNS_12ColumnFamilyESt17basic_string_viewIcSt11char_traitsIcEENS_8LockModeEPN7rocksdb13PinnableSliceENS_8LockWaitE",
           "Transaction::GetForUpdate", wait == LockWait::kWait ? kLockCall : kAnyCall, Status,
           (Transaction* self, const ColumnFamily& family, View key, LockMode mode, rocksdb::PinnableSlice* value,
            LockWait wait),
           (self, family, key, mode, value, wait), )
CAIRN_CALL("_ZN5cairn11TableWriter6InsertEPNS_11TransactionEPKh", "TableWriter::Insert", kLockCall, Status,
           (TableWriter* self, Transaction* transaction, const uint8_t* record), (self, transaction, record), )
CAIRN_CALL("_ZN5cairn11TableWriter6UpdateEPNS_11TransactionEPKhS4_m", "TableWriter::Update", kLockCall, Status,
           (TableWriter* self, Transaction* transaction, const uint8_t* before, const uint8_t* after, uint64_t key),
           (self, transaction, before, after, key), )
CAIRN_CALL("_ZN5cairn11TableWriter6DeleteEPNS_11TransactionEPKhm", "TableWriter::Delete", kAnyCall, Status,
           (TableWriter* self, Transaction* transaction, const uint8_t* record, uint64_t key),
           (self, transaction, record, key), )
CAIRN_CALL("_ZN5cairn11TableWriter4LoadEPNS_8BulkLoadEPKh", "TableWriter::Load", kAnyCall, Status,
           (TableWriter* self, BulkLoad* load, const uint8_t* record), (self, load, record), )
CAIRN_CALL("_ZN5cairn11TableWriter4SortEPNS_13SortedIndexesEPKh", "TableWriter::Sort", kAnyCall, Status,
           (TableWriter* self, SortedIndexes* indexes, const uint8_t* record), (self, indexes, record), )
CAIRN_CALL("_ZN5cairn13SortedIndexes10WriteFilesEv", "SortedIndexes::WriteFiles", kAnyCall, Status,
           (SortedIndexes* self), (self), )
CAIRN_CALL("_ZN5cairn13SortedIndexes6IngestEv", "SortedIndexes::Ingest", kAnyCall, Status, (SortedIndexes* self),
           (self), )
CAIRN_CALL("_ZN5cairn13SortedIndexes7PutIntoEPNS_11TransactionE", "SortedIndexes::PutInto", kAnyCall, Status,
           (SortedIndexes* self, Transaction* transaction), (self, transaction), )
CAIRN_CALL("_ZN5cairn11Transaction3PutERKNS_12ColumnFamilyESt17basic_string_viewIcSt11char_traitsIcEES7_",
           "Transaction::Put", kAnyCall, Status,
           (Transaction* self, const ColumnFamily& family, View key, View value), (self, family, key, value), )
CAIRN_CALL("_ZN5cairn11Transaction6DeleteERKNS_12ColumnFamilyESt17basic_string_viewIcSt11char_traitsIcEE",
           "Transaction::Delete", kAnyCall, Status,
           (Transaction* self, const ColumnFamily& family, View key), (self, family, key), )
CAIRN_CALL("_ZN5cairn11Transaction12SingleDeleteERKNS_12ColumnFamilyESt17basic_string_viewIcSt11char_traitsIcEE",
           "Transaction::SingleDelete", kAnyCall, Status,
           (Transaction* self, const ColumnFamily& family, View key), (self, family, key), )
CAIRN_CALL("_ZN5cairn8BulkLoad6FinishEv", "BulkLoad::Finish", kAnyCall, Status, (BulkLoad* self), (self), )

// --- The end of a transaction: one that fails has rolled back, as the real ones do. ---
CAIRN_CALL("_ZN5cairn11Transaction6CommitENS_10DurabilityE", "Transaction::Commit",
           self->has_writes() && !IsPrepared(*self) ? kAnyCall : kNoCall, Status,
           (Transaction* self, Durability durability), (self, durability), (void)self->Rollback())
CAIRN_CALL("_ZN5cairn11Transaction7PrepareERKNS_13TransactionIdENS_10DurabilityE", "Transaction::Prepare", kAnyCall,
           Status, (Transaction* self, const TransactionId& id, Durability durability), (self, id, durability), )
CAIRN_CALL("_ZN5cairn14CommitPreparedEPNS_8DatabaseEPNS_13PreparedLocksERKNS_13TransactionIdENS_9OnFailureENS_10DurabilityE",
           "CommitPrepared", kAnyCall, Status,
           (Database* database, PreparedLocks* locks, const TransactionId& id, OnFailure on_failure,
            Durability durability),
           (database, locks, id, on_failure, durability), )
CAIRN_CALL("_ZN5cairn16RollbackPreparedEPNS_8DatabaseEPNS_13PreparedLocksERKNS_13TransactionIdENS_9OnFailureENS_10DurabilityE",
           "RollbackPrepared", kAnyCall, Status,
           (Database* database, PreparedLocks* locks, const TransactionId& id, OnFailure on_failure,
            Durability durability),
           (database, locks, id, on_failure, durability), )

// --- Definitions ---
CAIRN_CALL("_ZN5cairn10Dictionary11CreateTableESt17basic_string_viewIcSt11char_traitsIcEERKSt6vectorINS_8NewIndexESaIS6_EESt8optionalImENS_13TableLifetimeERKS5_INS_16ForeignKeyRecordESaISE_EEPKNS_14DefinitionCopyE",
           "Dictionary::CreateTable", kAnyCall, Result<std::shared_ptr<const TableDefinition>>,
           (Dictionary* self, View name, const std::vector<NewIndex>& indexes, std::optional<uint64_t> next,
            TableLifetime lifetime, const std::vector<ForeignKeyRecord>& foreign_keys,
            const DefinitionCopy* definition),
           (self, name, indexes, next, lifetime, foreign_keys, definition), )
CAIRN_CALL("_ZN5cairn10Dictionary10DropTablesERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE",
           "Dictionary::DropTables", kAnyCall, Status, (Dictionary* self, const Names& names), (self, names), )
CAIRN_CALL("_ZN5cairn10Dictionary14TruncateTablesERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE",
           "Dictionary::TruncateTables", kAnyCall, Status, (Dictionary* self, const Names& names), (self, names), )
CAIRN_CALL("_ZN5cairn10Dictionary11RenameTableESt17basic_string_viewIcSt11char_traitsIcEES4_PKNS_14DefinitionCopyE",
           "Dictionary::RenameTable", kAnyCall, Status,
           (Dictionary* self, View from, View to, const DefinitionCopy* definition), (self, from, to, definition), )
CAIRN_CALL("_ZN5cairn10Dictionary16RenamePartitionsESt17basic_string_viewIcSt11char_traitsIcEES4_",
           "Dictionary::RenamePartitions", kAnyCall, Status, (Dictionary* self, View from, View to), (self, from, to), )
CAIRN_CALL("_ZN5cairn10Dictionary12BeginIndexesERKSt6vectorINS_8NewIndexESaIS2_EE", "Dictionary::BeginIndexes",
           kAnyCall, Result<std::vector<IndexDefinition>>, (Dictionary* self, const std::vector<NewIndex>& indexes),
           (self, indexes), )
CAIRN_CALL("_ZN5cairn10Dictionary10BeginBuildESt17basic_string_viewIcSt11char_traitsIcEERKSt6vectorINS_8NewIndexESaIS6_EES5_INS_11IndexLayoutESaISB_EE",
           "Dictionary::BeginBuild", kAnyCall, Result<std::shared_ptr<IndexBuildState>>,
           (Dictionary* self, View table_name, const std::vector<NewIndex>& indexes, std::vector<IndexLayout> layouts),
           (self, table_name, indexes, std::move(layouts)), )
CAIRN_CALL("_ZN5cairn10Dictionary12ChangeTablesERKSt6vectorINS0_11TableChangeESaIS2_EE",
           "Dictionary::ChangeTables", kAnyCall, Status,
           (Dictionary* self, const std::vector<Dictionary::TableChange>& changes), (self, changes), )
CAIRN_CALL("_ZN5cairn10Dictionary16SetAutoIncrementERKNS_15TableDefinitionEm", "Dictionary::SetAutoIncrement",
           kAnyCall, Status, (Dictionary* self, const TableDefinition& table, uint64_t next), (self, table, next), )
CAIRN_CALL("_ZNK5cairn10Dictionary17LoadAutoIncrementERKNS_15TableDefinitionE", "Dictionary::LoadAutoIncrement",
           kAnyCall, Result<uint64_t>, (const Dictionary* self, const TableDefinition& table), (self, table), )
CAIRN_CALL("_ZN5cairn10IndexBuild21CheckNoRowsWillChangeEPNS_8DatabaseERKNS_5TableE",
           "IndexBuild::CheckNoRowsWillChange", kAnyCall, Status, (Database* database, const Table& table),
           (database, table), )
CAIRN_CALL("_ZN5cairn10IndexBuild6FinishEv", "IndexBuild::Finish", kAnyCall, Status, (IndexBuild* self), (self), )
CAIRN_CALL("_ZN5cairn10IndexBuild3RunEv", "IndexBuild::Run", kAnyCall, Status, (IndexBuild* self), (self), )
CAIRN_CALL("_ZN5cairn6Upkeep16UpdateStatisticsEv", "Upkeep::UpdateStatistics", kAnyCall, Status, (Upkeep* self),
           (self), )
// clang-format on

// --- RocksDB's reads of files ---
extern "C" ssize_t __real_pread(int file, void* bytes, size_t count, off_t offset);
extern "C" ssize_t __wrap_pread(int file, void* bytes, size_t count, off_t offset) {
  const std::optional<Status> fault = Due("pread", kFileRead);
  const ssize_t read = __real_pread(file, bytes, count, offset);
  return fault ? FailedRead(*fault, static_cast<uint8_t*>(bytes), read) : read;
}

}  // namespace cairn
