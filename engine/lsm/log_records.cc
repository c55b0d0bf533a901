#include "engine/lsm/log_records.h"

#include <memory>
#include <utility>
#include <vector>

#include "engine/lsm/endless_record.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/file_system.h"

namespace cairn::lsm {
namespace {

// Keeps the first damage that a reader meets.
class FirstDamage final : public rocksdb::log::Reader::Reporter {
 public:
  void Corruption(size_t /*bytes*/, const rocksdb::Status& status, uint64_t /*log*/) override {
    if (status_.ok()) status_ = status;
  }
  const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::Status status_;
};

}  // namespace

Status CheckReaderEnds(rocksdb::Env* env, const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> endless, FindEndlessRecords(env, path));
  if (endless.empty()) return Status();
  return Status(StatusCode::kCorruption, path + " is damaged (byte " +
                                             std::to_string(endless.front()) +
                                             "): RocksDB would not get past it");
}

Status ForEachRecord(rocksdb::Env* env, const std::string& path, uint64_t number,
                     const std::function<Status(const rocksdb::Slice&)>& use) {
  CAIRN_RETURN_IF_ERROR(CheckReaderEnds(env, path));
  std::unique_ptr<rocksdb::SequentialFileReader> file;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(rocksdb::SequentialFileReader::Create(
                      env->GetFileSystem(), path, rocksdb::FileOptions(), &file, nullptr, nullptr))
          .WithContext("opening " + path));
  FirstDamage damage;
  rocksdb::log::Reader reader(/*info_log=*/nullptr, std::move(file), &damage, /*checksum=*/true,
                              number);
  rocksdb::Slice record;
  std::string scratch;
  while (reader.ReadRecord(&record, &scratch,
                           rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords) &&
         damage.status().ok()) {
    CAIRN_RETURN_IF_ERROR(use(record).WithContext("reading " + path));
  }
  return FromRocksDb(damage.status()).WithContext("reading " + path);
}

}  // namespace cairn::lsm
