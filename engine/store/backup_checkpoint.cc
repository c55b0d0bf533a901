#include "engine/store/backup_checkpoint.h"

#include <filesystem>
#include <memory>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "engine/store/directory_marker.h"
#include "engine/store/stored_log_directory.h"

namespace cairn {
namespace {

// A path as the process sees it, without "." and "..", and without a slash at the end.
std::filesystem::path Settled(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path whole =
      (std::filesystem::absolute(path, unknown) / "").lexically_normal();
  return whole.parent_path();
}

bool LiesIn(const std::string& path, const std::string& directory) {
  const std::filesystem::path inner = Settled(path);
  const std::filesystem::path outer = Settled(directory);
  return inner != outer && inner.string().starts_with(outer.string() + "/");
}

// What is below the directory, in no order. Nothing when there is none.
rocksdb::Status Children(rocksdb::Env* env, const std::string& directory,
                         std::vector<std::string>* names) {
  rocksdb::Status listed = env->GetChildren(directory, names);
  std::erase_if(*names, [](const std::string& name) { return name == "." || name == ".."; });
  return listed;
}

rocksdb::Status RemoveTree(rocksdb::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  rocksdb::Status done = Children(env, directory, &names);
  if (done.IsNotFound()) return rocksdb::Status::OK();
  for (const std::string& name : names) {
    if (!done.ok()) return done;
    const std::string path = directory + "/" + name;
    done = env->DeleteFile(path);
    if (!done.ok() && RemoveTree(env, path).ok()) done = rocksdb::Status::OK();
  }
  return done.ok() ? env->DeleteDir(directory) : done;
}

uint64_t BytesIn(rocksdb::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  if (!Children(env, directory, &names).ok()) return 0;
  uint64_t sum = 0;
  for (const std::string& name : names) {
    uint64_t bytes = 0;
    if (env->GetFileSize(directory + "/" + name, &bytes).ok()) sum += bytes;
  }
  return sum;
}

rocksdb::Status SyncDirectory(rocksdb::Env* env, const std::string& directory) {
  std::unique_ptr<rocksdb::Directory> handle;
  const rocksdb::Status opened = env->NewDirectory(directory, &handle);
  return opened.ok() ? handle->Fsync() : opened;
}

}  // namespace

Status CheckCheckpointPath(const std::string& directory, const std::string& path) {
  if (std::filesystem::path(path).is_absolute() || LiesIn(path, directory)) return Status();
  return Status(StatusCode::kInvalidArgument,
                "the copy would lie among the databases, in the relative path " + path +
                    ": give an absolute one, or one below " + directory);
}

Status FinishCheckpoint(rocksdb::Env* env, const std::string& directory, const std::string& path) {
  const auto finish = [&]() -> Status {
    const std::string marker = directory + "/" + std::string(kDirectoryMarkerName);
    const rocksdb::Status marked = env->FileExists(marker);
    if (marked.ok()) CAIRN_RETURN_IF_ERROR(WriteDirectoryMarker(env, path));
    if (!marked.ok() && !marked.IsNotFound()) {
      return FromRocksDb(marked).WithContext("looking for " + marker);
    }
    CAIRN_ASSIGN_OR_RETURN(const bool prepares, HasWritePreparedMark(env, directory));
    if (prepares) CAIRN_RETURN_IF_ERROR(WriteWritePreparedMark(env, path));
    CAIRN_RETURN_IF_ERROR(ForgetStoredLogDirectory(env, path));
    const std::string parent = Settled(path).parent_path().string();
    for (const std::string& name : {path, parent}) {
      CAIRN_RETURN_IF_ERROR(FromRocksDb(SyncDirectory(env, name)).WithContext("syncing " + name));
    }
    return Status();
  };
  Status finished = finish();
  if (!finished.ok()) RemoveTree(env, path).PermitUncheckedError();
  return finished;
}

BackupCheckpoint::BackupCheckpoint(rocksdb::Env* env, const std::string& directory)
    : env_(env), path_(directory + "/" + std::string(kBackupCheckpointName)) {}

void BackupCheckpoint::NoteMade(const std::string& path, uint64_t now_seconds) {
  if (Settled(path) != Settled(path_)) return;
  bytes_ = BytesIn(env_, path_);
  std::lock_guard lock(mutex_);
  made_seconds_ = now_seconds;
}

uint64_t BackupCheckpoint::bytes() const {
  const uint64_t bytes = bytes_;
  return bytes > 0 && env_->FileExists(path_).ok() ? bytes : 0;
}

bool BackupCheckpoint::IsOlderThan(uint64_t seconds, uint64_t now_seconds) const {
  if (bytes() == 0) return false;
  std::lock_guard lock(mutex_);
  return now_seconds >= made_seconds_ && now_seconds - made_seconds_ >= seconds;
}

Status BackupCheckpoint::Remove() {
  for (const std::string& path : {path_, path_ + ".tmp"}) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(RemoveTree(env_, path)).WithContext("removing " + path));
  }
  bytes_ = 0;
  return Status();
}

void BackupCheckpoint::RemoveLeft(Log* log) {
  const uint64_t bytes = BytesIn(env_, path_);
  if (!env_->FileExists(path_).ok() && !env_->FileExists(path_ + ".tmp").ok()) return;
  const Status removed = Remove();
  if (!removed.ok()) {
    log->Write(Severity::kWarning, "what a backup has left: " + removed.ToString());
    return;
  }
  log->Write(Severity::kNote, "removed " + path_ + " (" + std::to_string(bytes) +
                                  " bytes), which a backup has left");
}

}  // namespace cairn
