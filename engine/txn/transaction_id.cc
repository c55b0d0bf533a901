#include "engine/txn/transaction_id.h"

#include "engine/base/bytes.h"

namespace cairn {

std::string EncodeTransactionName(const TransactionId& id) {
  CAIRN_ASSERT(id.global.size() <= 64 && id.branch.size() <= 64);
  std::string name;
  AppendBigEndian(static_cast<uint64_t>(id.format), &name);
  name.push_back(static_cast<char>(id.global.size()));
  name.push_back(static_cast<char>(id.branch.size()));
  name.append(id.global).append(id.branch);
  return name;
}

Result<TransactionId> DecodeTransactionName(std::string_view name) {
  ByteReader reader(name);
  uint64_t format = 0;
  uint8_t global_bytes = 0;
  uint8_t branch_bytes = 0;
  std::string_view global;
  std::string_view branch;
  if (!reader.ReadBigEndian(&format) || !reader.ReadBigEndian(&global_bytes) ||
      !reader.ReadBigEndian(&branch_bytes) || global_bytes > 64 || branch_bytes > 64 ||
      !reader.ReadBytes(global_bytes, &global) || !reader.ReadBytes(branch_bytes, &branch) ||
      reader.remaining() != 0) {
    return Status(StatusCode::kCorruption,
                  "the name of a prepared transaction is not a transaction id: " + ToHex(name));
  }
  return TransactionId{static_cast<int64_t>(format), std::string(global), std::string(branch)};
}

}  // namespace cairn
