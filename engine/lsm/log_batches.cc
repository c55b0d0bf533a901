#include "engine/lsm/log_batches.h"

#include <memory>
#include <utility>

#include "engine/lsm/endless_record.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/file_system.h"

namespace cairn::lsm {
namespace {

// Keeps the first damage that the reader meets.
class DamageReporter final : public rocksdb::log::Reader::Reporter {
 public:
  void Corruption(size_t /*bytes*/, const rocksdb::Status& status, uint64_t /*log*/) override {
    if (status_.ok()) status_ = status;
  }
  const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::Status status_;
};

}  // namespace

Status ForEachBatch(rocksdb::Env* env, const std::string& path, uint64_t number,
                    const std::function<Status(const rocksdb::WriteBatch&)>& use) {
  CAIRN_ASSIGN_OR_RETURN(const auto endless, FindEndlessRecords(env, path));
  if (!endless.empty()) {
    return Status(StatusCode::kCorruption,
                  path + " is damaged (byte " + std::to_string(endless.front()) + ")");
  }
  std::unique_ptr<rocksdb::SequentialFileReader> file;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(rocksdb::SequentialFileReader::Create(
                      env->GetFileSystem(), path, rocksdb::FileOptions(), &file, nullptr, nullptr))
          .WithContext("opening " + path));
  DamageReporter reporter;
  rocksdb::log::Reader reader(/*info_log=*/nullptr, std::move(file), &reporter, /*checksum=*/true,
                              number);
  rocksdb::Slice record;
  std::string scratch;
  while (reader.ReadRecord(&record, &scratch,
                           rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords) &&
         reporter.status().ok()) {
    const rocksdb::WriteBatch batch(record.ToString());
    CAIRN_RETURN_IF_ERROR(use(batch).WithContext("reading " + path));
  }
  return FromRocksDb(reporter.status()).WithContext("reading " + path);
}

}  // namespace cairn::lsm
