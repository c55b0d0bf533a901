#include "engine/store/sort_directories.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

// Without "." and "..", and without a slash at the end.
std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  std::string absolute = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error) return path;
  while (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  return absolute;
}

std::string HostName(rocksdb::Env* env) {
  char name[256] = "";
  env->GetHostName(name, sizeof(name)).PermitUncheckedError();  // Without one the rest tells.
  return std::string(name, strnlen(name, sizeof(name)));
}

// FNV-1a. Part of file names: another release must find the same.
std::string Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  char hex[17];
  std::snprintf(hex, sizeof(hex), "%016llx", static_cast<unsigned long long>(hash));
  return hex;
}

}  // namespace

SortDirectories::SortDirectories(rocksdb::Env* env, const std::string& home,
                                 std::string_view identity)
    : env_(env),
      home_(AbsolutePath(home)),
      run_prefix_("cairn_" + Hash(HostName(env) + '\0' + home_ + '\0' + std::string(identity)) +
                  "_") {}

Status SortDirectories::Remember(const std::string& directory) {
  std::string path = AbsolutePath(directory);
  if (path == home_) return Status();
  std::lock_guard lock(mutex_);
  const auto [entry, is_new] = directories_.insert(std::move(path));
  if (!is_new) return Status();
  Status written = WriteFile();
  if (!written.ok()) directories_.erase(entry);
  return written;
}

Status SortDirectories::WriteFile() const {
  std::string text;
  for (const std::string& directory : directories_) text.append(directory).push_back('\0');
  const std::string partial = FilePath() + ".partial";
  rocksdb::Status written = rocksdb::WriteStringToFile(env_, text, partial, /*should_sync=*/true);
  if (written.ok()) written = env_->RenameFile(partial, FilePath());
  return FromRocksDb(written).WithContext("writing " + FilePath());
}

Status SortDirectories::RemoveRunsIn(const std::string& directory) const {
  std::vector<std::string> names;
  const rocksdb::Status listed = env_->GetChildren(directory, &names);
  if (listed.IsNotFound()) return Status();  // Whoever removed it has removed them.
  CAIRN_RETURN_IF_ERROR(FromRocksDb(listed));
  for (const std::string& name : names) {
    if (!name.starts_with(run_prefix_) || !name.ends_with(kUnfinishedFileSuffix)) continue;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(env_->DeleteFile(directory + "/" + name)));
  }
  return Status();
}

void SortDirectories::RemoveLeftRuns(Log* log) {
  std::lock_guard lock(mutex_);
  if (env_->FileExists(FilePath()).IsNotFound()) return;
  std::string text;
  Status done = FromRocksDb(rocksdb::ReadFileToString(env_, FilePath(), &text));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    const std::string directory = text.substr(begin, end - begin);
    begin = end + 1;
    const Status removed = RemoveRunsIn(directory);
    if (removed.ok()) continue;
    directories_.insert(directory);
    log->Write(Severity::kWarning,
               "files of an interrupted sort stay in " + directory + ": " + removed.ToString());
  }
  if (done.ok()) {
    done = directories_.empty() ? FromRocksDb(env_->DeleteFile(FilePath())) : WriteFile();
  }
  if (!done.ok()) log->Write(Severity::kWarning, FilePath() + ": " + done.ToString());
}

void RemoveUnfinishedFiles(rocksdb::Env* env, const std::string& directory, Log* log) {
  std::vector<std::string> names;
  // A directory that cannot be listed cannot be opened either, which is said then.
  env->GetChildren(directory, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    if (!name.ends_with(kUnfinishedFileSuffix)) continue;
    const rocksdb::Status removed = env->DeleteFile(directory + "/" + name);
    if (!removed.ok()) {
      log->Write(Severity::kWarning,
                 "the file " + name + " of an interrupted load stays: " + removed.ToString());
    }
  }
}

}  // namespace cairn
