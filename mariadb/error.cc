#include "mariadb/error.h"

#include <string_view>
#include <utility>

#include "engine/catalog/dictionary.h"
#include "mariadb/server_headers.h"
#include "mariadb/table_name.h"

namespace cairn {
namespace {

// The last refusal of this thread that has words of its own. It is of one statement: where that
// ignored the error, nobody has taken the words.
struct KeptMessage {
  int error = 0;
  query_id_t statement = 0;
  std::string text;
};
thread_local KeptMessage kept_message;

query_id_t RunningStatement() {
  const THD* const thd = current_thd;
  return thd == nullptr ? 0 : thd->query_id;
}

// Kept for StatusCode::kSnapshotConflict, which has the handler error of a deadlock, to tell them
// apart.
constexpr std::string_view kSnapshotConflict = "snapshot conflict";

bool IsDamage(StatusCode code) {
  return code == StatusCode::kCorruption || code == StatusCode::kChecksumMismatch ||
         code == StatusCode::kMetadataMismatch || code == StatusCode::kIoError ||
         code == StatusCode::kNoSpace || code == StatusCode::kInternal;
}

// The words that the stock plug-in has for it, which tools look for; the numbers are RocksDB's.
const char* WordsOfDamage(StatusCode code, During during) {
  switch (code) {
    case StatusCode::kCorruption:
      return "data corruption detected!, Status Code: 2, Status: ";
    case StatusCode::kIoError:
    case StatusCode::kNoSpace:
      return during == During::kCommit ? "failed to write to WAL, Status Code: 5, Status: "
                                       : "failed on I/O, Status Code: 5, Status: ";
    case StatusCode::kInternal:
      return "Failed to read/write in RocksDB, Status: ";
    default:
      return "";
  }
}

// A text for the engine's own handler error numbers (HA_ERR_ROCKSDB_FIRST and up), else null.
const char* HandlerErrorText(int code) {
  switch (code) {
    case kErrorDataDirectory:
      return "Specifying DATA DIRECTORY for an individual table is not supported.";
    case kErrorIndexDirectory:
      return "Specifying INDEX DIRECTORY for an individual table is not supported.";
    case kErrorBulkLoad:
      return "Failure during bulk load operation.";
    case kErrorCorruption:
      return "Found data corruption.";
    case kErrorChecksum:
      return "CRC checksum mismatch.";
    case kErrorNotSupported:
      return "RocksDB status: not supported.";
    case kErrorInvalidArgument:
      return "RocksDB status: invalid argument.";
    case kErrorIo:
      return "RocksDB status: io error.";
    case kErrorShutdown:
      return "RocksDB status: shutdown in progress.";
    case kErrorAborted:
      return "RocksDB status: aborted.";
    case kErrorLockLimit:
      return "RocksDB status: lock limit reached.";
    default:
      return nullptr;
  }
}

int ToHandlerCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kNotFound:
      return HA_ERR_KEY_NOT_FOUND;
    case StatusCode::kEndOfRange:
      return HA_ERR_END_OF_FILE;
    case StatusCode::kDuplicateKey:
      return HA_ERR_FOUND_DUPP_KEY;
    case StatusCode::kUnchanged:
      return HA_ERR_RECORD_IS_THE_SAME;
    case StatusCode::kAlreadyExists:
      return HA_ERR_TABLE_EXIST;
    case StatusCode::kLockTimeout:
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    case StatusCode::kDeadlock:
    // Rolls back the statement alone: of the two, OperationError marks the transaction for
    // kDeadlock only.
    case StatusCode::kSnapshotConflict:
      return HA_ERR_LOCK_DEADLOCK;
    case StatusCode::kLockLimit:
      return kErrorLockLimit;
    case StatusCode::kInterrupted:
      return HA_ERR_ABORTED_BY_USER;
    case StatusCode::kAborted:
      return kErrorAborted;
    case StatusCode::kBusy:
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    case StatusCode::kOutOfOrder:
    case StatusCode::kOverlap:
      return kErrorBulkLoad;
    case StatusCode::kNoReferencedRow:
      return HA_ERR_NO_REFERENCED_ROW;
    case StatusCode::kRowIsReferenced:
      return HA_ERR_ROW_IS_REFERENCED;
    case StatusCode::kForeignDuplicateKey:
      return HA_ERR_FOREIGN_DUPLICATE_KEY;
    case StatusCode::kForeignKeyDepth:
      return HA_ERR_FK_DEPTH_EXCEEDED;
    case StatusCode::kDefinitionTooNew:
      return HA_ERR_TABLE_DEF_CHANGED;
    case StatusCode::kInvalidArgument:
      return kErrorInvalidArgument;
    case StatusCode::kNotSupported:
      return kErrorNotSupported;
    case StatusCode::kAutoIncrementExhausted:
      return HA_ERR_AUTOINC_READ_FAILED;
    case StatusCode::kReadOnly:
      return HA_ERR_TABLE_READONLY;
    case StatusCode::kCorruption:
      return kErrorCorruption;
    case StatusCode::kChecksumMismatch:
      return kErrorChecksum;
    case StatusCode::kMetadataMismatch:
      return HA_ERR_INTERNAL_ERROR;
    case StatusCode::kQuarantined:
      return kErrorCorruption;
    case StatusCode::kIoError:
      return kErrorIo;
    case StatusCode::kNoSpace:
      return HA_ERR_DISK_FULL;
    case StatusCode::kShutdown:
      return kErrorShutdown;
    case StatusCode::kInternal:
      return HA_ERR_INTERNAL_ERROR;
  }
  return HA_ERR_INTERNAL_ERROR;
}

}  // namespace

int HandlerError(const Status& status, During during) {
  if (status.ok()) return 0;
  const int error = ToHandlerCode(status.code());
  kept_message = {error, RunningStatement(), std::string(status.message())};
  if (status.code() == StatusCode::kSnapshotConflict) kept_message.text = kSnapshotConflict;
  if (IsDamage(status.code())) {
    sql_print_error("RocksDB: %s%s", WordsOfDamage(status.code(), during),
                    status.ToString().c_str());
  }
  return error;
}

std::string TakeErrorMessage(int error) {
  KeptMessage kept = std::exchange(kept_message, KeptMessage());
  const bool is_meant = kept.error == error && kept.statement == RunningStatement();
  return is_meant ? std::move(kept.text) : std::string();
}

void PushError(const Status& status) {
  my_error(ER_GET_ERRMSG, MYF(0), ToHandlerCode(status.code()), status.ToString().c_str(),
           "ROCKSDB");
}

void PushXaError(const Status& status) {
  push_warning_printf(current_thd, Sql_condition::WARN_LEVEL_WARN, ER_GET_ERRMSG,
                      ER_THD(current_thd, ER_GET_ERRMSG), ToHandlerCode(status.code()),
                      status.ToString().c_str(), "ROCKSDB");
  my_error(ER_XAER_RMERR, MYF(0));
}

bool IsExpected(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
    case StatusCode::kNotFound:
    case StatusCode::kEndOfRange:
    case StatusCode::kDuplicateKey:
    case StatusCode::kUnchanged:
    case StatusCode::kAlreadyExists:
    case StatusCode::kAutoIncrementExhausted:
    case StatusCode::kNoReferencedRow:
    case StatusCode::kRowIsReferenced:
    case StatusCode::kForeignDuplicateKey:
    case StatusCode::kForeignKeyDepth:
      return true;
    default:
      return false;
  }
}

int TableError(const Status& status) {
  return status.code() == StatusCode::kNotFound ? HA_ERR_NO_SUCH_TABLE : HandlerError(status);
}

int RenameError(const Status& renamed) {
  const int error = TableError(renamed);
  const bool is_clear = renamed.ok() || renamed.code() == StatusCode::kNotFound ||
                        renamed.code() == StatusCode::kAlreadyExists;
  if (is_clear) return error;
  const std::string reason = TakeErrorMessage(error);
  if (!reason.empty()) my_error(ER_GET_ERRMSG, MYF(0), error, reason.c_str(), "ROCKSDB");
  return error;
}

int CommitError(const Status& status) {
  if (status.ok()) return 0;
  const int error = HandlerError(status, During::kCommit);
  my_error(ER_GET_ERRMSG, MYF(0), error, status.ToString().c_str(), "ROCKSDB");
  return error;
}

int AdminError(THD* thd, const Status& status) {
  const std::string text = TakeErrorMessage(HandlerError(status));
  if (!text.empty()) {
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_GET_ERRMSG, text.c_str());
  }
  return status.code() == StatusCode::kCorruption ? HA_ADMIN_CORRUPT : HA_ADMIN_FAILED;
}

int ReportBulkLoadError(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOutOfOrder:
      my_printf_error(ER_KEYS_OUT_OF_ORDER,
                      "Rows must be inserted in primary key order during bulk load operation",
                      MYF(0));
      break;
    case StatusCode::kOverlap:
      my_printf_error(ER_OVERLAPPING_KEYS,
                      "Rows inserted during bulk load must not overlap existing rows", MYF(0));
      break;
    case StatusCode::kDuplicateKey:
      my_printf_error(ER_DUP_ENTRY, "Failed to insert the record: the key already exists", MYF(0));
      break;
    default:
      HandlerError(status);  // Logs damage.
      my_printf_error(ER_UNKNOWN_ERROR, "bulk load error: %s", MYF(0), status.ToString().c_str());
  }
  return kErrorBulkLoad;
}

int RefuseQuarantined(const QuarantinedTable& table) {
  const std::string text =
      "table " + DescribeTableName(table.name) + " is quarantined: " + table.reason;
  my_error(ER_GET_ERRMSG, MYF(0), kErrorCorruption, text.c_str(), "ROCKSDB");
  return kErrorCorruption;
}

int RefuseToCreate(const TABLE_SHARE& table, int error) {
  my_printf_error(ER_CANT_CREATE_TABLE,
                  "Can't create table " CAIRN_QUOTED_NAME "." CAIRN_QUOTED_NAME
                  " (errno: %d \"%s\")",
                  MYF(0), table.db.str, table.table_name.str, error, HandlerErrorText(error));
  return error;
}

int RefuseMissingTable() {
  my_error(ER_INTERNAL_ERROR, MYF(0),
           "Attempt to open a table that is not present in RocksDB-SE data dictionary");
  return HA_ERR_NO_SUCH_TABLE;
}

std::string TakeErrorText(int error) {
  std::string kept = TakeErrorMessage(error);
  const char* const general = HandlerErrorText(error);
  return kept.empty() && general != nullptr ? general : kept;
}

bool PrintOwnError(THD* thd, int error, unsigned long flags) {
  if (error == kErrorAborted || error == kErrorLockLimit) {
    // Tools know it by RocksDB's number.
    constexpr int kRocksDbAborted = 10;
    std::string text = TakeErrorText(error);
    if (error == kErrorLockLimit) text.insert(0, "Operation aborted: ");
    my_error(ER_GET_ERRMSG, flags, kRocksDbAborted, text.c_str(), "ROCKSDB");
    return true;
  }
  // 11.8 has the number for an error of temporary tables.
  if (error == kErrorDataDirectory) {
    my_error(ER_GET_ERRMSG, flags, error, HandlerErrorText(error), "ROCKSDB");
    return true;
  }
  if (error == HA_ERR_LOCK_DEADLOCK && TakeErrorMessage(error) == kSnapshotConflict) {
    my_printf_error(ER_LOCK_DEADLOCK, "%s (snapshot conflict)", flags,
                    ER_THD(thd, ER_LOCK_DEADLOCK));
    return true;
  }
  return false;
}

}  // namespace cairn
