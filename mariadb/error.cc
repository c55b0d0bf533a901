#include "mariadb/error.h"

#include <utility>

#include "mariadb/server_headers.h"

namespace cairn {
namespace {

// The last refusal of this thread that has words of its own.
struct KeptMessage {
  int error = 0;
  std::string text;
};
thread_local KeptMessage kept_message;

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

}  // namespace

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
      return HA_ERR_LOCK_DEADLOCK;
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

int HandlerError(const Status& status, During during) {
  if (status.ok()) return 0;
  const int error = ToHandlerCode(status.code());
  kept_message = {error, std::string(status.message())};
  if (status.code() == StatusCode::kSnapshotConflict) kept_message.text = "snapshot conflict";
  if (IsDamage(status.code())) {
    sql_print_error("RocksDB: %s%s", WordsOfDamage(status.code(), during),
                    status.ToString().c_str());
  }
  return error;
}

std::string TakeErrorMessage(int error) {
  KeptMessage kept = std::exchange(kept_message, KeptMessage());
  return kept.error == error ? std::move(kept.text) : std::string();
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

}  // namespace cairn
