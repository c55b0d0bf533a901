// A client that moves money between accounts, opens and closes them.
#pragma once

#include <cstdint>
#include <deque>

#include "tests/unit/concurrency/client.h"

namespace cairn::testing {

class Teller final : public Client {
 public:
  Teller(Bank* bank, unsigned number) : Client(bank, number), number_(number) {}

 private:
  void Work() override;
  // One statement; what it has done is undone when it fails.
  Status Serve(std::deque<OpenAccounts>* tables);
  Status Move(OpenAccounts* from, OpenAccounts* to);
  Status OpenAccount(OpenAccounts* table);
  Status CloseAccount(OpenAccounts* from, OpenAccounts* to);
  Status HandOver(OpenAccounts* table);
  void VisitPassingTable();
  // Ends the transaction in any of the ways that there are.
  void End();
  void Decide();

  int32_t AnyId() { return static_cast<int32_t>(dice().Below(Bank::kIds)); }

  const unsigned number_;
  int64_t prepared_ = 0;
};

}  // namespace cairn::testing
