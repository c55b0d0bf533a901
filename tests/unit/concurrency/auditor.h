// A client that reads accounts through all indexes, and says when what it sees does not add up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/unit/concurrency/client.h"

namespace cairn::testing {

class Auditor final : public Client {
 public:
  Auditor(Bank* bank, unsigned number) : Client(bank, number) {}

  // The tables as they are when nobody else works: an audit through each of their indexes, and
  // CHECK TABLE.
  void CloseTheBooks();

 private:
  struct Books {
    int64_t total = 0;
    std::vector<Account> accounts;  // Of one table.
  };

  void Work() override;
  void Audit();
  // Reads each table through some index, twice.
  Status ReadAll(std::deque<OpenAccounts>* tables, std::optional<LockMode> lock);
  Status ReadTable(OpenAccounts* table, uint32_t index, std::optional<LockMode> lock, Books* books);
  // Some of what a scan has shown is found by its key.
  Status ReadAgain(OpenAccounts* table, const std::vector<Account>& accounts);
  void LookAtPassingTable();
};

}  // namespace cairn::testing
