#include "engine/base/status.h"

namespace cairn {

std::string_view ToString(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kEndOfRange:
      return "end of range";
    case StatusCode::kDuplicateKey:
      return "duplicate key";
    case StatusCode::kUnchanged:
      return "unchanged";
    case StatusCode::kAlreadyExists:
      return "already exists";
    case StatusCode::kLockTimeout:
      return "lock wait timeout";
    case StatusCode::kDeadlock:
      return "deadlock";
    case StatusCode::kSnapshotConflict:
      return "snapshot conflict";
    case StatusCode::kLockLimit:
      return "row lock limit reached";
    case StatusCode::kInterrupted:
      return "interrupted";
    case StatusCode::kAborted:
      return "aborted";
    case StatusCode::kBusy:
      return "busy";
    case StatusCode::kOutOfOrder:
      return "out of order";
    case StatusCode::kOverlap:
      return "overlap";
    case StatusCode::kNoReferencedRow:
      return "no referenced row";
    case StatusCode::kRowIsReferenced:
      return "row is referenced";
    case StatusCode::kForeignDuplicateKey:
      return "duplicate key in a child";
    case StatusCode::kForeignKeyDepth:
      return "too many actions of foreign keys";
    case StatusCode::kDefinitionTooNew:
      return "defined after the snapshot";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kNotSupported:
      return "not supported";
    case StatusCode::kAutoIncrementExhausted:
      return "auto-increment exhausted";
    case StatusCode::kReadOnly:
      return "read only";
    case StatusCode::kCorruption:
      return "corruption";
    case StatusCode::kChecksumMismatch:
      return "checksum mismatch";
    case StatusCode::kMetadataMismatch:
      return "metadata mismatch";
    case StatusCode::kQuarantined:
      return "quarantined";
    case StatusCode::kIoError:
      return "I/O error";
    case StatusCode::kNoSpace:
      return "no space left";
    case StatusCode::kShutdown:
      return "shutting down";
    case StatusCode::kInternal:
      return "internal error";
  }
  return "unknown status";
}

Status::Status(StatusCode code, std::string message)
    : code_(code), message_(new std::string(std::move(message))) {}

Status::Message Status::CopyOf(const std::string& message) {
  return Message(new std::string(message));
}

void Status::Delete::operator()(const std::string* message) const noexcept { delete message; }

std::string Status::ToString() const {
  std::string text(cairn::ToString(code_));
  if (message_) text.append(": ").append(*message_);
  return text;
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return Status();
  std::string text(context);
  if (message_) text.append(": ").append(*message_);
  return Status(code_, std::move(text));
}

}  // namespace cairn
