#include "engine/store/library_log.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cairn {
namespace {

constexpr size_t kMostBytes = 2000;  // Of a message.

Severity SeverityOf(rocksdb::InfoLogLevel level) {
  if (level >= rocksdb::InfoLogLevel::ERROR_LEVEL) return Severity::kError;
  return level == rocksdb::InfoLogLevel::WARN_LEVEL ? Severity::kWarning : Severity::kNote;
}

// RocksDB asks the level before it makes a message, so that it is that of the log which takes more.
class LibraryLog final : public rocksdb::Logger {
 public:
  LibraryLog(std::shared_ptr<rocksdb::Logger> file, Log* log, rocksdb::InfoLogLevel copied)
      : file_(std::move(file)), log_(log) {
    LibraryLog::SetInfoLogLevel(copied);
  }

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override { file_->Logv(format, arguments); }

  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level >= copied_.load(std::memory_order_relaxed) &&
        level < rocksdb::InfoLogLevel::HEADER_LEVEL) {
      va_list copy;
      va_copy(copy, arguments);
      Copy(level, format, copy);
      va_end(copy);
    }
    file_->Logv(level, format, arguments);
  }

  void LogHeader(const char* format, va_list arguments) override {
    file_->LogHeader(format, arguments);
  }
  size_t GetLogFileSize() const override { return file_->GetLogFileSize(); }
  void Flush() override { file_->Flush(); }
  rocksdb::InfoLogLevel GetInfoLogLevel() const override { return file_->GetInfoLogLevel(); }
  void SetInfoLogLevel(rocksdb::InfoLogLevel level) override {
    copied_.store(level, std::memory_order_relaxed);
    file_->SetInfoLogLevel(std::min(level, rocksdb::InfoLogLevel::INFO_LEVEL));
  }

 private:
  void Copy(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
    char text[kMostBytes];
    std::vsnprintf(text, sizeof(text), format, arguments);
    std::string line = std::string("LibRocksDB:") + text;
    while (line.ends_with('\n')) line.pop_back();
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (IsRepeated(line)) return;
    log_->Write(SeverityOf(level), line);
  }

  // A compaction that cannot be done is tried again every second, and RocksDB says so each time,
  // with a number.
  bool IsRepeated(const std::string& line) {
    constexpr std::string_view kTriedAgain = "Waiting after background compaction error: ";
    constexpr std::string_view kNumber = ", Accumulated background error counts: ";
    if (line.find(kTriedAgain) == std::string::npos) return false;
    const std::string text = line.substr(0, line.rfind(kNumber));
    std::lock_guard lock(mutex_);
    constexpr size_t kMostRemembered = 100;
    if (tried_again_.size() >= kMostRemembered) tried_again_.clear();
    return !tried_again_.insert(text).second;
  }

  const std::shared_ptr<rocksdb::Logger> file_;
  Log* const log_;
  std::atomic<rocksdb::InfoLogLevel> copied_;
  std::mutex mutex_;
  std::set<std::string> tried_again_;  // What was copied of that kind.
};

std::string_view Describe(rocksdb::BackgroundErrorReason reason) {
  switch (reason) {
    case rocksdb::BackgroundErrorReason::kFlush:
      return "flush";
    case rocksdb::BackgroundErrorReason::kCompaction:
      return "compaction";
    case rocksdb::BackgroundErrorReason::kWriteCallback:
      return "writing the log";
    case rocksdb::BackgroundErrorReason::kMemTable:
      return "writing to a memtable";
    case rocksdb::BackgroundErrorReason::kManifestWrite:
      return "writing the MANIFEST";
    case rocksdb::BackgroundErrorReason::kFlushNoWAL:
      return "flush without a log";
    case rocksdb::BackgroundErrorReason::kManifestWriteNoWAL:
      return "writing the MANIFEST without a log";
    case rocksdb::BackgroundErrorReason::kAsyncFileOpen:
      return "opening files";
  }
  return "unknown";
}

class BackgroundErrorListener final : public rocksdb::EventListener {
 public:
  BackgroundErrorListener(Log* log, std::shared_ptr<CompactionThrottle> throttle)
      : log_(log), throttle_(std::move(throttle)) {}
  const char* Name() const override { return "CairnBackgroundErrorListener"; }

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    if (error->ok()) return;  // Taken back by damaged_files.h.
    if (throttle_ != nullptr) throttle_->SetFailing(true);
    log_->Write(Severity::kError,
                "Error detected in background, Status Code: " + std::to_string(error->code()) +
                    ", Status: " + error->ToString());
    log_->Write(Severity::kError,
                "BackgroundErrorReason: " + std::to_string(static_cast<int>(reason)) + " (" +
                    std::string(Describe(reason)) + ")");
  }

  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override {
    info.old_bg_error.PermitUncheckedError();
    if (info.new_bg_error.ok()) {
      if (throttle_ != nullptr) throttle_->SetFailing(false);
      log_->Write(Severity::kNote,
                  "writes go on after the error in background: " + info.old_bg_error.ToString());
    }
  }

 private:
  Log* const log_;
  const std::shared_ptr<CompactionThrottle> throttle_;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> MakeLibraryLog(std::shared_ptr<rocksdb::Logger> file, Log* log,
                                                rocksdb::InfoLogLevel copied) {
  return std::make_shared<LibraryLog>(std::move(file), log, copied);
}

std::shared_ptr<rocksdb::EventListener> MakeBackgroundErrorListener(
    Log* log, std::shared_ptr<CompactionThrottle> throttle) {
  return std::make_shared<BackgroundErrorListener>(log, std::move(throttle));
}

}  // namespace cairn
