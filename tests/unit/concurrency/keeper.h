// Clients that do nothing to rows: one looks after the database, one looks at everything.
#pragma once

#include <vector>

#include "tests/unit/concurrency/client.h"

namespace cairn::testing {

// Writes memtables out, merges files, pauses and changes options.
class Keeper final : public Client {
 public:
  Keeper(Bank* bank, unsigned number) : Client(bank, number) {}

 private:
  void Work() override;
  Status Maintain();
  Status CopyDatabase();

  int copies_ = 0;
};

// Reads what monitoring shows, and interrupts waits of others.
class Watcher final : public Client {
 public:
  // `others` outlive this one's work.
  Watcher(Bank* bank, unsigned number, std::vector<Client*> others)
      : Client(bank, number), others_(std::move(others)) {}

 private:
  void Work() override;

  const std::vector<Client*> others_;
};

}  // namespace cairn::testing
