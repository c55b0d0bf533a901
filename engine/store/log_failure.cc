#include "engine/store/log_failure.h"

#include <utility>

#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

class LogFailureListener final : public rocksdb::EventListener {
 public:
  explicit LogFailureListener(std::shared_ptr<LogFailure> failure) : failure_(std::move(failure)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    if (error->ok()) return;  // Taken back by damaged_files.h.
    failure_->SetAny(true);
    if (reason == rocksdb::BackgroundErrorReason::kWriteCallback && failure_->Check().ok()) {
      failure_->Set(FromRocksDb(*error));
    }
  }
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override {
    if (!info.new_bg_error.ok()) return;
    failure_->Clear();
    failure_->SetAny(false);
  }

 private:
  const std::shared_ptr<LogFailure> failure_;
};

}  // namespace

Status LogFailure::Check() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void LogFailure::Set(Status failure) {
  std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
}

std::shared_ptr<rocksdb::EventListener> MakeLogFailureListener(
    std::shared_ptr<LogFailure> failure) {
  return std::make_shared<LogFailureListener>(std::move(failure));
}

}  // namespace cairn
