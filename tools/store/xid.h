// Names of prepared transactions as people write them, and the server's own among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/txn/transaction_id.h"

namespace cairn {

// What the server calls a transaction of its own that has no XID of a user: in the binary log such
// a transaction ends with an Xid event of that number.
struct OwnXid {
  uint64_t server_id = 0;  // 0 where the option server_id was not set.
  uint64_t number = 0;     // Of the query that began it; unique from one start of the server on.
};

// The server's own, by its form (MYSQL_XID_PREFIX in sql/handler.h); none for those of users.
std::optional<OwnXid> AsOwnXid(const TransactionId& id);

// As XA RECOVER FORMAT='SQL' writes it: 'gtrid','bqual',1 or X'6774',X'',1.
std::string ToXidText(const TransactionId& id);
// Reads both forms; without a format it is 1, without bqual it is empty, as in XA statements.
// Errors: kInvalidArgument, saying what is expected.
Result<TransactionId> ParseXid(std::string_view text);

}  // namespace cairn
