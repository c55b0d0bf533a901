#include "tests/fuzz/rocksdb_logs.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/lsm/rocksdb_internals.h"

namespace cairn::testing {
namespace {

class Reports final : public rocksdb::log::Reader::Reporter {
 public:
  explicit Reports(std::vector<std::string>* reports) : reports_(reports) {}
  void Corruption(size_t /*bytes*/, const rocksdb::Status& status, uint64_t /*log*/) override {
    reports_->push_back(status.ToString());
  }

 private:
  std::vector<std::string>* const reports_;
};

}  // namespace

LogContent ReadLog(rocksdb::Env* env, const std::string& path, uint64_t number,
                   rocksdb::WALRecoveryMode mode) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const rocksdb::Status opened =
      env->GetFileSystem()->NewSequentialFile(path, rocksdb::FileOptions(), &file, /*dbg=*/nullptr);
  EXPECT_TRUE(opened.ok()) << opened.ToString();
  LogContent content;
  Reports reports(&content.reports);
  rocksdb::log::Reader reader(
      nullptr, std::make_unique<rocksdb::SequentialFileReader>(std::move(file), path), &reports,
      /*checksum=*/true, number);
  rocksdb::Slice record;
  std::string scratch;
  // As a replay does, which only the last mode goes on with behind damage.
  while (reader.ReadRecord(&record, &scratch, mode) &&
         (mode == rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords || content.reports.empty())) {
    content.records.push_back(record.ToString());
  }
  return content;
}

std::string ManifestRecord(const FamilyEdit& edit) {
  constexpr int kLevel = 0;
  constexpr uint64_t kBytes = 1000;
  rocksdb::VersionEdit record;
  record.SetColumnFamily(edit.family);
  if (edit.drops_family) record.DropColumnFamily();
  if (edit.oldest_needed_log.has_value()) record.SetLogNumber(*edit.oldest_needed_log);
  if (edit.oldest_log_of_all.has_value()) record.SetMinLogNumberToKeep(*edit.oldest_log_of_all);
  for (const uint64_t number : edit.removed_files) record.DeleteFile(kLevel, number);
  for (const uint64_t number : edit.added_files) {
    rocksdb::FileMetaData file;
    file.fd = rocksdb::FileDescriptor(number, /*path_id=*/0, kBytes, /*smallest_seqno=*/1,
                                      /*largest_seqno=*/2);
    file.smallest = rocksdb::InternalKey("a", 1, rocksdb::kTypeValue);
    file.largest = rocksdb::InternalKey("b", 2, rocksdb::kTypeValue);
    file.epoch_number = 1;
    record.AddFile(kLevel, file);
  }
  std::string bytes;
  EXPECT_TRUE(record.EncodeTo(&bytes, /*ts_sz=*/0));
  return bytes;
}

}  // namespace cairn::testing
