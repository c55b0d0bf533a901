// What cairn-store prints of prepared transactions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/store/logged_transactions.h"
#include "engine/txn/transaction_id.h"
#include "tools/store/directory.h"
#include "tools/store/verdict.h"
#include "tools/store/xid.h"

namespace cairn {

// One prepared transaction, and what is known of it.
struct Entry {
  LoggedTransaction logged;
  TransactionId id;
  std::optional<OwnXid> own;  // None: a user's.
  Verdict verdict;
  std::optional<Decision> decision;  // None: it stays prepared.
};

struct Report {
  LogPlaces places;
  LoggedTransactions logged;
  std::vector<Entry> entries;
  bool asked = false;    // Binary logs were given.
  bool decided = false;  // The decisions are carried out.
};

std::string AsText(const Report& report);
std::string AsJson(const Report& report);
// Transactions of the server's own that stay prepared because the binary logs leave it open.
size_t CountNotCertain(const Report& report);

}  // namespace cairn
