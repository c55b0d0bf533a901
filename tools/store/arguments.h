// What the command line of cairn-store asks for.
#pragma once

#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/txn/transaction_id.h"

namespace cairn {

struct PreparedArguments {
  std::string directory;
  std::string log_directory;  // Empty: where the database had its logs.
  std::vector<std::string> binary_logs;
  std::string run;  // One of them.
  std::string mariadb_binlog = "mariadb-binlog";
  bool decide = false;
  std::vector<TransactionId> commit;
  std::vector<TransactionId> rollback;
  bool json = false;
};

// The words behind "prepared". Errors: kInvalidArgument.
Result<PreparedArguments> ParsePrepared(const std::vector<std::string>& given);

extern const char* const kUsage;

}  // namespace cairn
