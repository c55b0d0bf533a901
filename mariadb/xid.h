// The server's name of an XA transaction as the engine's.
#pragma once

#include <string>

#include "engine/txn/transaction_id.h"
#include "mariadb/server_headers.h"

namespace cairn {

inline TransactionId ToTransactionId(const XID& xid) {
  return TransactionId{
      xid.formatID, std::string(xid.data, static_cast<size_t>(xid.gtrid_length)),
      std::string(xid.data + xid.gtrid_length, static_cast<size_t>(xid.bqual_length))};
}

}  // namespace cairn
