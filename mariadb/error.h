// Turns the engine's Status into the server's handler error codes and messages.
//
// Beside this, failed builds and copies (handler_alter.cc, handler_copy.cc), XA by name
// (handlerton.cc) and SET (variables.cc) have answers of their own for some codes.
#pragma once

#include <string>

#include "engine/base/status.h"

class THD;
struct TABLE_SHARE;

namespace cairn {

struct QuarantinedTable;

enum class During { kStatement, kCommit };

// The handler error code of `status`, 0 for ok. Expected outcomes need no message, the server words
// them. For damage and for refusals with a reason the message is kept for this thread, where
// handler::get_error_message() finds it, and damage is written to the error log.
int HandlerError(const Status& status, During during = During::kStatement);

// Whether a statement may meet such an outcome and go on; every other one is to reach the client.
bool IsExpected(StatusCode code);

// HandlerError of a statement about a table by its name: kNotFound is HA_ERR_NO_SUCH_TABLE.
int TableError(const Status& status);

// TableError of a rename. The server words its failure by itself, with the number; where that says
// nothing, the reason is reported first.
int RenameError(const Status& renamed);

// HandlerError of a commit or a rollback, reported as well: the server's own message says less.
int CommitError(const Status& status);

// What CHECK, ANALYZE and OPTIMIZE answer (HA_ADMIN_*). The server says "Operation failed" and asks
// for no more, so that the reason is in a warning.
int AdminError(THD* thd, const Status& status);

// Reports what kept a load from being finished, or a row from being added, with the server's error
// for it. Returns the handler error code.
int ReportBulkLoadError(const Status& status);

// Report that a table cannot be used and why. Return a handler error code.
int RefuseQuarantined(const QuarantinedTable& table);
int RefuseMissingTable();

// Reports that a table cannot be created because of `error`, an EngineError, in the server's words
// and with ours in place of its number alone. Returns `error`.
int RefuseToCreate(const TABLE_SHARE& table, int error);

// Takes the kept message of this thread, if the statement that runs has kept it and it is about the
// handler error `error`; else empty. It is gone either way.
std::string TakeErrorMessage(int error);

// Has the statement that runs fail with ER_GET_ERRMSG (1296) and the text of `status`: where no
// handler is asked for an error, such as SET GLOBAL.
void PushError(const Status& status);

// As PushError, but the error is ER_XAER_RMERR (1401), and the text of `status` is in a warning
// before it.
void PushXaError(const Status& status);

// Takes the text of a handler error that the server has no words for; empty: it has.
std::string TakeErrorText(int error);

// Reports a handler error that the client knows by another number or in other words than the
// server's. False: it is the server's to report.
bool PrintOwnError(THD* thd, int error, unsigned long flags);

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
