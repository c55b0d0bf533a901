#include "engine/store/directory_marker.h"

#include <memory>

#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

std::string MarkerPath(const std::string& directory) {
  return directory + "/" + std::string(kDirectoryMarkerName);
}

// Writes a file with a line, in one step and synced, unless it is there.
Status WriteOnce(rocksdb::Env* env, const std::string& directory, std::string_view name,
                 const std::string& line) {
  const std::string path = directory + "/" + std::string(name);
  const rocksdb::Status exists = env->FileExists(path);
  if (exists.ok()) return Status();
  const std::string partial = path + ".partial";
  rocksdb::Status written =
      rocksdb::WriteStringToFile(env, line + "\n", partial, /*should_sync=*/true);
  if (written.ok()) written = env->RenameFile(partial, path);
  std::unique_ptr<rocksdb::Directory> handle;
  if (written.ok()) written = env->NewDirectory(directory, &handle);
  if (written.ok()) written = handle->Fsync();
  return FromRocksDb(written).WithContext("writing " + path);
}

// A version has few digits; anything else in the file is not ours.
constexpr size_t kMaxVersionDigits = 9;

}  // namespace

Status CheckDirectoryMarker(rocksdb::Env* env, const std::string& directory) {
  const std::string path = MarkerPath(directory);
  const rocksdb::Status exists = env->FileExists(path);
  if (exists.IsNotFound()) return Status();
  if (!exists.ok()) return FromRocksDb(exists).WithContext("looking for " + path);
  std::string text;
  const rocksdb::Status read = rocksdb::ReadFileToString(env, path, &text);
  if (!read.ok()) return FromRocksDb(read).WithContext("reading " + path);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty() || text.size() > kMaxVersionDigits ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return Status(StatusCode::kCorruption,
                  path + " does not hold the version of the directory's format but \"" +
                      text.substr(0, 40) + "\"; expected is " +
                      std::to_string(kDirectoryMarkerVersion));
  }
  if (std::stol(text) == kDirectoryMarkerVersion) return Status();
  return Status(StatusCode::kNotSupported,
                "the directory " + directory + " has format version " + text + " (file " +
                    std::string(kDirectoryMarkerName) + "), which a newer Cairn wrote; known is " +
                    std::to_string(kDirectoryMarkerVersion) + ". Nothing was changed");
}

Status WriteDirectoryMarker(rocksdb::Env* env, const std::string& directory) {
  return WriteOnce(env, directory, kDirectoryMarkerName, std::to_string(kDirectoryMarkerVersion));
}

Result<bool> HasWritePreparedMark(rocksdb::Env* env, const std::string& directory) {
  const std::string path = directory + "/" + std::string(kWritePreparedMarkName);
  const rocksdb::Status exists = env->FileExists(path);
  if (exists.ok()) return true;
  if (exists.IsNotFound()) return false;
  return FromRocksDb(exists).WithContext("looking for " + path);
}

Status WriteWritePreparedMark(rocksdb::Env* env, const std::string& directory) {
  return WriteOnce(env, directory, kWritePreparedMarkName, "rocksdb_write_policy=write_prepared");
}

bool IsMarkedCorrupted(rocksdb::Env* env, const std::string& directory) {
  return env->FileExists(directory + "/" + std::string(kCorruptionMarkName)).ok();
}

}  // namespace cairn
