// Whether the server's binary log has a prepared transaction committed.
//
// Recovery commits a prepared transaction of the server's own if the binary log has an Xid event
// with its number, and rolls back the others. Two things make that certain here:
//
// - The number is that of a query, and these begin anew with each start of the server: an event
//   counts only in the files of the run in which the transaction was prepared. Those must have the
//   numbers of the transactions that were committed in the same log of the engine, and have begun
//   before that log was last written.
// - That an event is missing counts only if no file and no end of one is missing: recovery reads
//   from the file that the last binlog checkpoint names to the end of the run, and the file that
//   the next start began lists the GTIDs that this start had found there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/logged_transactions.h"
#include "tools/store/binary_log.h"
#include "tools/store/xid.h"

namespace cairn {

struct Verdict {
  enum class Outcome : uint8_t {
    kNotAsked,  // Without binary logs, or for a user's transaction.
    kCommitted,
    kNotCommitted,
    kNotCertain,
  };
  Outcome outcome = Outcome::kNotAsked;
  std::string why;  // Where the event is, or what is not certain, or what a user has decided.
};

// Puts files into the order in which they were written. Errors: kInvalidArgument (files of several
// logs, one twice, one missing in between, or two that do not follow each other).
Result<std::vector<BinaryLog>> InOrder(std::vector<BinaryLog> files);

// Files that one run of the server wrote, from one start to its end.
struct ServerRun {
  size_t first = 0;
  size_t last = 0;
};

class Judge {
 public:
  // `files`: as InOrder() gives them. `logs` are the engine's. Both outlive it.
  Judge(const std::vector<BinaryLog>& files, const std::vector<TransactionLog>& logs);

  // The run in which all transactions were prepared, by one of its files: somebody knows it.
  // Errors: kInvalidArgument (no such file).
  Status Choose(const std::string& file);

  // Of a transaction of the server's own.
  Verdict Own(const LoggedTransaction& transaction, const OwnXid& xid) const;
  // What the files have of a user's XA transaction: for the reader, it decides nothing.
  Verdict Users(const TransactionId& id) const;

 private:
  std::string WhyNot(const ServerRun& run, const TransactionLog& log, const OwnXid& xid) const;
  std::string WhyNumbersDiffer(const ServerRun& run, const TransactionLog& log) const;
  std::string WhyWrittenLater(const ServerRun& run, const TransactionLog& log) const;
  Verdict In(const ServerRun& run, uint64_t number) const;
  std::string WhyIncomplete(const ServerRun& run) const;
  size_t FindFile(const std::string& name) const;
  const TransactionLog* FindLog(uint64_t number) const;
  std::string Name(const ServerRun& run) const;

  const std::vector<BinaryLog>& files_;
  const std::vector<TransactionLog>& logs_;
  std::vector<ServerRun> runs_;
  bool chosen_ = false;  // runs_ has one.
};

}  // namespace cairn
