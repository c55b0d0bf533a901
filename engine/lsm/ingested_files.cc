#include "engine/lsm/ingested_files.h"

#include <algorithm>
#include <utility>

#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {
namespace {

class IngestionListener final : public rocksdb::EventListener {
 public:
  explicit IngestionListener(std::shared_ptr<IngestedFiles> files) : files_(std::move(files)) {}
  const char* Name() const override { return "CairnIngestionListener"; }
  void OnExternalFileIngested(rocksdb::DB*,
                              const rocksdb::ExternalFileIngestionInfo& info) override {
    // Without a number the entries count as older than everything.
    if (info.global_seqno != 0) files_->Note(info.global_seqno);
  }

 private:
  const std::shared_ptr<IngestedFiles> files_;
};

}  // namespace

void IngestedFiles::Note(rocksdb::SequenceNumber number) {
  const std::lock_guard lock(mutex_);
  // The files of one ingestion share a number, and no number is to be committed twice.
  if (std::find(numbers_.begin(), numbers_.end(), number) == numbers_.end()) {
    numbers_.push_back(number);
  }
}

rocksdb::Status IngestedFiles::Ingest(rocksdb::TransactionDB* db,
                                      const std::vector<rocksdb::IngestExternalFileArg>& files) {
  const std::lock_guard lock(ingesting_);
  rocksdb::Status ingested = db->IngestExternalFiles(files);
  if (ingested.ok()) Commit(db);
  return ingested;
}

void IngestedFiles::Commit(rocksdb::TransactionDB* db) {
  const std::lock_guard lock(mutex_);
  for (const rocksdb::SequenceNumber number : std::exchange(numbers_, {})) {
    static_cast<rocksdb::WritePreparedTxnDB*>(db)->AddCommitted(number, number);
  }
}

std::shared_ptr<rocksdb::EventListener> MakeIngestionListener(
    std::shared_ptr<IngestedFiles> files) {
  return std::make_shared<IngestionListener>(std::move(files));
}

}  // namespace cairn::lsm
