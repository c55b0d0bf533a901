// What the engine keeps for each connection: its transaction, and how it is bound to the server's.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/txn/interruptible_mutex.h"
#include "engine/txn/transaction.h"
#include "mariadb/bulk_loads.h"

class THD;
struct handlerton;

namespace cairn {

// Belongs to one connection and is used by its thread, but for commit_ordered.
class Session final : public WaitObserver {
 public:
  // The session of `thd`, made at the first call.
  static Session& Of(THD* thd);
  // Null when the connection never used the engine.
  static Session* Find(THD* thd);
  // Forgets and destroys the session; an open transaction is rolled back, a prepared one stays.
  static void Close(THD* thd);

  Transaction& transaction() { return transaction_; }

  // A statement is about to use tables of the engine: registers with the server's transaction and starts
  // ours. Errors: kNotSupported for an isolation level that the engine does not have, already reported.
  Status BeginStatement();

  BulkLoads& bulk_loads() { return bulk_loads_; }

  // A temporary table of this connection is gone: its entries go when the transaction that may have written
  // some of them has ended.
  void DropTemporaryTable(std::shared_ptr<const TableDefinition> table);
  void TransactionEnded();

  // Bound while a handler call runs, so that waits for row locks end when the statement is killed.
  bool Interrupted() override;
  void WaitBegins() override;
  void WaitEnds() override;

  // Whether the server's current transaction spans statements.
  bool in_explicit_transaction() const;

 private:
  explicit Session(THD* thd);

  THD* const thd_;
  Transaction transaction_;
  std::vector<std::shared_ptr<const TableDefinition>> forgotten_tables_;
  BulkLoads bulk_loads_;
  const char* state_before_wait_ = nullptr;
};

extern handlerton* rocksdb_hton;

}  // namespace cairn
