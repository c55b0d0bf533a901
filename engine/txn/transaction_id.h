// Names of prepared transactions: the server's XID as bytes (docs/stock-format.md, 1.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace cairn {

struct TransactionId {
  int64_t format = 0;
  std::string global;  // gtrid, at most 64 bytes
  std::string branch;  // bqual, at most 64 bytes
  bool operator==(const TransactionId&) const = default;
};

std::string EncodeTransactionName(const TransactionId& id);
// Errors: kCorruption.
Result<TransactionId> DecodeTransactionName(std::string_view name);

}  // namespace cairn
