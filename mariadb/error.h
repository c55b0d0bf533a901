// Turns the engine's Status into the server's handler error codes and messages. Nothing else does.
#pragma once

#include <string>

#include "engine/base/status.h"

class THD;

namespace cairn {

// The handler error code of an outcome, 0 for ok. Only the code: expected outcomes need no message,
// the server words them.
int ToHandlerCode(StatusCode code);

// The handler error code of `status`. For damage and for refusals with a reason the message is kept
// for this thread, where handler::get_error_message() finds it, and damage is written to the error
// log.
enum class During { kStatement, kCommit };
int HandlerError(const Status& status, During during = During::kStatement);

// Takes the kept message of this thread, if it is about the handler error `error`; else empty. It
// is gone either way.
std::string TakeErrorMessage(int error);

// Has the statement that runs fail with ER_GET_ERRMSG (1296) and the text of `status`: where no
// handler is asked for an error, such as SET GLOBAL.
void PushError(const Status& status);

// As PushError, but the error is ER_XAER_RMERR (1401), and the text of `status` is in a warning
// before it.
void PushXaError(const Status& status);

// A text for the engine's own handler error numbers (HA_ERR_ROCKSDB_FIRST and up), else null.
const char* HandlerErrorText(int code);

// The engine's own handler error numbers; persisted in nothing, but known to tools and tests.
enum EngineError : int {
  kErrorDataDirectory = 202,
  kErrorIndexDirectory = 203,
  kErrorBulkLoad = 205,
  kErrorCorruption = 206,
  kErrorChecksum = 207,
  kErrorNotSupported = 212,
  kErrorInvalidArgument = 213,
  kErrorIo = 214,
  kErrorShutdown = 218,
  kErrorAborted = 220,
  kErrorLockLimit = 221,
};

}  // namespace cairn
