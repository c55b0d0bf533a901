// Status and Result: how fallible functions of the engine report what happened.
//
// Expected outcomes (not found, duplicate key, lock timeout, ...) are codes that callers branch on
// and cost no allocation. Damage carries a message that says which table, index, file or key it
// concerns. mariadb/error.cc alone turns a Status into a server error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/assert.h"

namespace cairn {

enum class StatusCode {
  kOk,
  // Expected outcomes.
  kNotFound,             // No such key, table or index.
  kEndOfRange,           // A cursor has passed the last entry of its range.
  kDuplicateKey,         // A unique key is taken.
  kUnchanged,            // An update leaves the row as it is.
  kAlreadyExists,        // A table of that name exists in the dictionary.
  kLockTimeout,          // A row lock was not granted in time.
  kDeadlock,             // Waiting would have closed a cycle.
  kSnapshotConflict,     // The row changed after the transaction's snapshot.
  kLockLimit,            // The transaction holds as many row locks as it may.
  kInterrupted,          // The statement was killed.
  kAborted,              // RocksDB gave the operation up, for example a write batch over its limit.
  kBusy,                 // Another process or thread holds what is needed.
  kOutOfOrder,           // An entry of a bulk load does not follow the one before it.
  kOverlap,              // Rows of a bulk load lie among rows that the table has.
  kNoReferencedRow,      // A foreign key finds no row in the parent.
  kRowIsReferenced,      // Rows of a child reference the row.
  kForeignDuplicateKey,  // An action of a foreign key would give a child a value that is taken.
  kForeignKeyDepth,      // Actions of foreign keys follow from one another too often.
  kDefinitionTooNew,     // The table or index is newer than the snapshot that is to be read.
  // Wrong input.
  kInvalidArgument,
  kNotSupported,
  kAutoIncrementExhausted,
  kReadOnly,  // The engine or the transaction accepts no writes.
  // Damage.
  kCorruption,        // Stored bytes do not decode.
  kChecksumMismatch,  // A row's own checksum differs.
  kMetadataMismatch,  // Dictionary and table definition disagree.
  kQuarantined,       // Records of the table in the dictionary are damaged or of a newer version.
  kIoError,
  kNoSpace,
  kShutdown,  // The engine is closing.
  kInternal,  // A bug of ours or a RocksDB status without a better name.
};

// A short English name of `code`, for messages and logs ("corruption").
std::string_view ToString(StatusCode code);

// The outcome of an operation. Movable and copyable; an ok Status is two words and no allocation.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(StatusCode code) : code_(code) {}
  // Cold, as is all that has to do with messages: the compiler then lays the way to an error, with
  // all that makes up its text, apart from the code that runs.
  [[gnu::cold]] Status(StatusCode code, std::string message);
  Status(const Status& other) : code_(other.code_), message_(Copy(other.message_)) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) {
    code_ = other.code_;
    message_ = Copy(other.message_);
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // The message without the code; empty when there is none.
  std::string_view message() const {
    return message_ ? std::string_view(*message_) : std::string_view();
  }
  // "corruption: index 260: ..."
  std::string ToString() const;
  // The same outcome with `context` and ": " in front of its message. An ok Status stays ok.
  Status WithContext(std::string_view context) const;

 private:
  struct Delete {
    [[gnu::cold]] void operator()(const std::string* message) const noexcept;
  };
  using Message = std::unique_ptr<const std::string, Delete>;

  static Message Copy(const Message& message) { return message ? CopyOf(*message) : nullptr; }
  [[gnu::cold]] static Message CopyOf(const std::string& message);

  StatusCode code_ = StatusCode::kOk;
  Message message_;
};

// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    CAIRN_ASSERT(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & {
    CAIRN_ASSERT(ok());
    return *value_;
  }
  const T& value() const& {
    CAIRN_ASSERT(ok());
    return *value_;
  }
  T&& value() && {
    CAIRN_ASSERT(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

#define CAIRN_CONCAT_INNER(a, b) a##b
#define CAIRN_CONCAT(a, b) CAIRN_CONCAT_INNER(a, b)

// Returns the Status of `expression` from the enclosing function unless it is ok.
#define CAIRN_RETURN_IF_ERROR(expression)         \
  do {                                            \
    ::cairn::Status cairn_status_ = (expression); \
    if (!cairn_status_.ok()) [[unlikely]]         \
      return cairn_status_;                       \
  } while (false)

// Evaluates a Result, returns its Status on failure, else assigns or declares `target`.
#define CAIRN_ASSIGN_OR_RETURN(target, expression) \
  CAIRN_ASSIGN_OR_RETURN_INNER(CAIRN_CONCAT(cairn_result_, __LINE__), target, expression)
#define CAIRN_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) [[unlikely]]                                 \
    return result.status();                                      \
  target = std::move(result).value()

}  // namespace cairn
