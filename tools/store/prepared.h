// cairn-store prepared: lists prepared transactions, and decides them.
#pragma once

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "tools/store/arguments.h"
#include "tools/store/report.h"

namespace cairn {

// Reads the directory and the binary logs, and carries out what is asked for. Errors: those of
// CheckMayOpen, FindLoggedTransactions, ReadBinaryLog, InOrder and CarryOut; kInvalidArgument (a
// transaction that was named is not prepared, or is to be decided otherwise than the binary log
// has it).
Result<Report> RunPrepared(const PreparedArguments& arguments, Log* log);

}  // namespace cairn
