// The sessions that use the engine, as other sessions may see them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/txn/transaction_facts.h"

namespace cairn {

class Session;

// What a session does now; a copy.
struct SessionDescription {
  TransactionDescription transaction;
  uint64_t thread_id = 0;
  std::string
      query;  // The statement that runs; empty when there is none, or when it cannot be had now.
  bool is_replication = false;
  bool read_only = false;              // START TRANSACTION READ ONLY.
  bool skips_transaction_api = false;  // Rows are not locked (rocksdb_master_skip_tx_api).
  uint32_t bulk_loads = 0;             // Tables that it is loading in bulk.
};

// Thread-safe. Mutex: mutex_, held while all sessions are described: a session that is listed
// lives, and so does its connection.
class SessionList {
 public:
  void Add(Session* session);
  void Remove(Session* session);
  std::vector<SessionDescription> Describe() const;
  // Calls `tell` with the session that runs the transaction of this id, if one does; it lives
  // meanwhile. `tell` must not wait for anything.
  void With(uint64_t transaction_id, const std::function<void(Session&)>& tell) const;

 private:
  mutable std::mutex mutex_;
  std::set<Session*> sessions_;
};

}  // namespace cairn
