#include "engine/store/logged_transactions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/lsm/log_batches.h"
#include "engine/lsm/manifest.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

using rocksdb::Slice;

enum class Policy : uint8_t { kWriteCommitted, kWritePrepared };

// Goes through the batches of one log after the other.
class Collector {
 public:
  void Begin(TransactionLog* log) { log_ = log; }

  Status Add(const rocksdb::WriteBatch& batch) {
    if (batch.HasBeginPrepare()) CAIRN_RETURN_IF_ERROR(NotePolicy(batch));
    Marks marks(this, policy_);
    return FromRocksDb(batch.Iterate(&marks));
  }

  std::vector<LoggedTransaction> TakePrepared() { return std::move(prepared_); }
  bool write_prepared() const { return policy_ == Policy::kWritePrepared; }

 private:
  // What a batch has, told to the collector.
  class Marks final : public rocksdb::WriteBatch::Handler {
   public:
    Marks(Collector* collector, std::optional<Policy> policy)
        : collector_(collector), policy_(policy) {}

    rocksdb::Status PutCF(uint32_t, const Slice& key, const Slice& value) override {
      return Count(key, value);
    }
    rocksdb::Status MergeCF(uint32_t, const Slice& key, const Slice& value) override {
      return Count(key, value);
    }
    rocksdb::Status DeleteCF(uint32_t, const Slice& key) override { return Count(key, Slice()); }
    rocksdb::Status SingleDeleteCF(uint32_t, const Slice& key) override {
      return Count(key, Slice());
    }
    rocksdb::Status DeleteRangeCF(uint32_t, const Slice&, const Slice&) override {
      return rocksdb::Status::OK();
    }
    rocksdb::Status MarkBeginPrepare(bool unprepared) override {
      if (unprepared) return rocksdb::Status::NotSupported("it has unprepared transactions");
      current_ = LoggedTransaction{};
      return rocksdb::Status::OK();
    }
    rocksdb::Status MarkEndPrepare(const Slice& name) override {
      current_.name = name.ToString();
      collector_->Prepared(std::move(current_));
      return rocksdb::Status::OK();
    }
    rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
    rocksdb::Status MarkRollback(const Slice& name) override {
      collector_->Decided(name.ToString(), /*committed=*/false);
      return rocksdb::Status::OK();
    }
    rocksdb::Status MarkCommit(const Slice& name) override {
      collector_->Decided(name.ToString(), /*committed=*/true);
      return rocksdb::Status::OK();
    }

   private:
    OptionState WriteAfterCommit() const override {
      if (!policy_.has_value()) return OptionState::kUnknown;
      return *policy_ == Policy::kWriteCommitted ? OptionState::kEnabled : OptionState::kDisabled;
    }

    rocksdb::Status Count(const Slice& key, const Slice& value) {
      ++current_.changes;
      current_.bytes += key.size() + value.size();
      return rocksdb::Status::OK();
    }

    Collector* const collector_;
    const std::optional<Policy> policy_;
    LoggedTransaction current_;
  };

  // Only tells whether RocksDB lets a batch pass by a policy.
  class Trial final : public rocksdb::WriteBatch::Handler {
   public:
    rocksdb::Status PutCF(uint32_t, const Slice&, const Slice&) override { return {}; }
    rocksdb::Status MergeCF(uint32_t, const Slice&, const Slice&) override { return {}; }
    rocksdb::Status DeleteCF(uint32_t, const Slice&) override { return {}; }
    rocksdb::Status SingleDeleteCF(uint32_t, const Slice&) override { return {}; }
    rocksdb::Status MarkBeginPrepare(bool) override { return {}; }
    rocksdb::Status MarkEndPrepare(const Slice&) override { return {}; }
    rocksdb::Status MarkNoop(bool) override { return {}; }
    rocksdb::Status MarkRollback(const Slice&) override { return {}; }
    rocksdb::Status MarkCommit(const Slice&) override { return {}; }

   private:
    OptionState WriteAfterCommit() const override { return OptionState::kEnabled; }
  };

  // The mark at which a prepared transaction begins says which policy wrote it. RocksDB opens no
  // logs that have both.
  Status NotePolicy(const rocksdb::WriteBatch& batch) {
    Trial trial;
    const rocksdb::Status tried = batch.Iterate(&trial);
    if (!tried.ok() && !tried.IsNotSupported()) return FromRocksDb(tried);
    const Policy found = tried.ok() ? Policy::kWriteCommitted : Policy::kWritePrepared;
    if (policy_.value_or(found) != found) {
      return Status(StatusCode::kNotSupported, "the logs are of two write policies");
    }
    policy_ = found;
    return Status();
  }

  void Prepared(LoggedTransaction transaction) {
    transaction.log_number = log_->number;
    prepared_.push_back(std::move(transaction));
  }

  // A transaction whose log is gone is no longer of interest.
  void Decided(const std::string& name, bool committed) {
    const auto found =
        std::find_if(prepared_.begin(), prepared_.end(),
                     [&name](const LoggedTransaction& each) { return each.name == name; });
    if (found == prepared_.end()) return;
    if (committed && found->log_number == log_->number) log_->committed.push_back(name);
    prepared_.erase(found);
  }

  TransactionLog* log_ = nullptr;
  std::vector<LoggedTransaction> prepared_;  // Few at any time: no more than there were sessions.
  std::optional<Policy> policy_;
};

// What no crash leaves. What only the end of the last log lacks is left out by a start as well.
Status CheckWhole(rocksdb::Env* env, const std::string& directory, uint64_t oldest_needed) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<LogDamage> damages, FindLogDamage(env, directory));
  for (const LogDamage& damage : damages) {
    if (damage.number < oldest_needed) continue;
    if (damage.kind == LogDamage::Kind::kCutOff && !damage.followed) continue;
    return Status(StatusCode::kCorruption, damage.path + " is damaged (byte " +
                                               std::to_string(damage.offset) + " of " +
                                               std::to_string(damage.size) + ")");
  }
  return Status();
}

}  // namespace

Result<LoggedTransactions> FindLoggedTransactions(rocksdb::Env* env, const LogPlaces& places) {
  CAIRN_ASSIGN_OR_RETURN(const lsm::Manifest manifest, lsm::ReadManifest(env, places.database));
  CAIRN_RETURN_IF_ERROR(CheckWhole(env, places.logs, manifest.oldest_needed_log));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<FoundLog> found, FindLogs(env, places.logs));
  LoggedTransactions result;
  Collector collector;
  for (const FoundLog& each : found) {
    if (each.number < manifest.oldest_needed_log) continue;
    TransactionLog log{.number = each.number, .path = each.path, .committed = {}};
    uint64_t written_s = 0;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(env->GetFileModificationTime(each.path, &written_s)));
    log.written_s = static_cast<int64_t>(written_s);
    collector.Begin(&log);
    if (each.has_changes) {
      CAIRN_RETURN_IF_ERROR(lsm::ForEachBatch(
          env, each.path, each.number,
          [&collector](const rocksdb::WriteBatch& batch) { return collector.Add(batch); }));
    }
    result.logs.push_back(std::move(log));
  }
  result.prepared = collector.TakePrepared();
  result.write_prepared = collector.write_prepared();
  return result;
}

}  // namespace cairn
