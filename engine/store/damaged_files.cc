#include "engine/store/damaged_files.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

using rocksdb::BackgroundErrorReason;

bool IsDamage(const rocksdb::Status& error) {
  return error.IsCorruption() ||
         (error.IsIOError() && error.subcode() == rocksdb::Status::SubCode::kPathNotFound);
}

bool OnlyReads(BackgroundErrorReason reason) {
  return reason == BackgroundErrorReason::kCompaction ||
         reason == BackgroundErrorReason::kAsyncFileOpen;
}

class DamageListener final : public rocksdb::EventListener {
 public:
  DamageListener(std::shared_ptr<DamagedFiles> files, std::function<int64_t()> now_us, Log* log)
      : files_(std::move(files)), now_us_(std::move(now_us)), log_(log) {}

  const char* Name() const override { return "CairnDamageListener"; }

  void OnBackgroundError(BackgroundErrorReason reason, rocksdb::Status* error) override {
    if (!OnlyReads(reason) || !IsDamage(*error)) return;
    const std::string text = error->ToString();
    if (files_->Note(text, now_us_())) {
      log_->Write(Severity::kError,
                  "a compaction met damage: " + text +
                      ". Writes go on; what lies above is not compacted with it, and reads that "
                      "need it fail. information_schema.CAIRN_STALLS says which tables it is of");
    }
    *error = rocksdb::Status::OK();
  }

  void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) override {
    files_->Forget(TableFileIn(info.file_path));
  }

 private:
  const std::shared_ptr<DamagedFiles> files_;
  const std::function<int64_t()> now_us_;
  Log* const log_;
};

}  // namespace

std::string TableFileIn(std::string_view text) {
  constexpr std::string_view kSuffix = ".sst";
  const size_t end = text.rfind(kSuffix);
  if (end == std::string_view::npos) return {};
  const std::string_view before = text.substr(0, end);
  const size_t separator = before.find_last_not_of("0123456789");
  const size_t begin = separator == std::string_view::npos ? 0 : separator + 1;
  if (begin == end) return {};
  return std::string(text.substr(begin, end - begin + kSuffix.size()));
}

bool DamagedFiles::Note(const std::string& text, int64_t now_us) {
  std::lock_guard lock(mutex_);
  std::string name = TableFileIn(text);
  DamagedFile& file = files_[name];
  file.text = text;
  if (++file.attempts > 1) return false;
  file.name = std::move(name);
  file.found_us = now_us;
  return true;
}

void DamagedFiles::Forget(std::string_view name) {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  if (found != files_.end()) files_.erase(found);
}

std::vector<DamagedFile> DamagedFiles::List() const {
  std::lock_guard lock(mutex_);
  std::vector<DamagedFile> files;
  for (const auto& [name, file] : files_) files.push_back(file);
  std::sort(files.begin(), files.end(),
            [](const DamagedFile& a, const DamagedFile& b) { return a.found_us < b.found_us; });
  return files;
}

size_t DamagedFiles::count() const {
  std::lock_guard lock(mutex_);
  return files_.size();
}

std::shared_ptr<rocksdb::EventListener> MakeDamageListener(std::shared_ptr<DamagedFiles> files,
                                                           std::function<int64_t()> now_us,
                                                           Log* log) {
  return std::make_shared<DamageListener>(std::move(files), std::move(now_us), log);
}

}  // namespace cairn
