#include "engine/store/read_error.h"

#include <string>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

bool IsDamage(StatusCode code) {
  return code == StatusCode::kCorruption || code == StatusCode::kIoError;
}

// The server cuts a message to some 200 bytes. What matters comes first: the two checksums that
// RocksDB tells go to the end.
std::string Reordered(std::string text, const std::string& key) {
  constexpr std::string_view kCorruption = "Corruption: ";
  if (text.starts_with(kCorruption)) text.erase(0, kCorruption.size());
  std::string sums;
  const size_t begin = text.find(": stored = ");
  const size_t end = begin == std::string::npos ? begin : text.find("  in ", begin);
  if (end != std::string::npos) {
    sums = "; " + text.substr(begin + 2, end - begin - 2);
    text.erase(begin, end + 1 - begin);
  }
  return text + (key.empty() ? "" : "; key " + key) + sums;
}

[[gnu::cold]] Status Placed(Database* database, const ColumnFamily& family, std::string_view key,
                            const Status& status) {
  if (!IsDamage(status.code()) || key.size() < sizeof(uint32_t)) return status;
  const uint32_t number = LoadBigEndian<uint32_t>(key.data());
  const auto codec = database->key_layouts().Find(IndexId{family.id, number});
  const std::string place =
      codec == nullptr ? "index " + std::to_string(number) + " of column family " + family.name
                       : codec->label();
  const std::string whole_key = key.size() > sizeof(uint32_t) ? ToHex(key) : std::string();
  return Status(status.code(), place + ": " + Reordered(std::string(status.message()), whole_key));
}

}  // namespace

Status FromRead(Database* database, const ColumnFamily& family, std::string_view key,
                const rocksdb::Status& status) {
  if (status.ok()) return Status();
  return Placed(database, family, key, FromRocksDb(status));
}

}  // namespace cairn
