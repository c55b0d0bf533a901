#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

StatusCode ToCode(const rocksdb::Status& status) {
  using SubCode = rocksdb::Status::SubCode;
  switch (status.code()) {
    case rocksdb::Status::kOk:
      return StatusCode::kOk;
    case rocksdb::Status::kNotFound:
      return StatusCode::kNotFound;
    case rocksdb::Status::kCorruption:
      return StatusCode::kCorruption;
    case rocksdb::Status::kNotSupported:
      return StatusCode::kNotSupported;
    case rocksdb::Status::kInvalidArgument:
      return StatusCode::kInvalidArgument;
    case rocksdb::Status::kIOError:
      return status.subcode() == SubCode::kNoSpace ? StatusCode::kNoSpace : StatusCode::kIoError;
    case rocksdb::Status::kShutdownInProgress:
      return StatusCode::kShutdown;
    case rocksdb::Status::kTimedOut:
      return StatusCode::kLockTimeout;
    case rocksdb::Status::kAborted:
      return status.subcode() == SubCode::kLockLimit ? StatusCode::kLockLimit
                                                     : StatusCode::kAborted;
    case rocksdb::Status::kBusy:
      return status.subcode() == SubCode::kDeadlock ? StatusCode::kDeadlock
                                                    : StatusCode::kSnapshotConflict;
    case rocksdb::Status::kTryAgain:
      return StatusCode::kSnapshotConflict;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

Status FromRocksDb(const rocksdb::Status& status) {
  if (status.ok()) return Status();
  const StatusCode code = ToCode(status);
  // Expected outcomes are frequent and need no text.
  if (code == StatusCode::kNotFound || code == StatusCode::kLockTimeout ||
      code == StatusCode::kDeadlock || code == StatusCode::kSnapshotConflict) {
    return Status(code);
  }
  return Status(code, status.ToString());
}

}  // namespace cairn
