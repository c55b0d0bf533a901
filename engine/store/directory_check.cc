#include "engine/store/directory_check.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "engine/store/directory_marker.h"
#include "engine/store/log_check.h"
#include "engine/store/numbered_names.h"
#include "engine/store/stored_log_directory.h"

namespace cairn {
namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";

// What a directory has of a database.
struct Contents {
  bool current = false;
  bool format = false;  // Our own file, which is written when CURRENT is on the disk.
  std::vector<std::string> manifests;
  size_t table_files = 0;
  size_t blob_files = 0;
  size_t logs = 0;
};

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsNumbered(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) && IsNumber(name.substr(0, name.size() - suffix.size()));
}

Result<Contents> List(rocksdb::Env* env, const std::string& directory) {
  Contents contents;
  std::vector<std::string> names;
  const rocksdb::Status listed = env->GetChildren(directory, &names);
  if (listed.IsNotFound()) return contents;
  if (!listed.ok()) return FromRocksDb(listed).WithContext("listing " + directory);
  for (const std::string& name : names) {
    if (name == "CURRENT") contents.current = true;
    if (name == kDirectoryMarkerName) contents.format = true;
    if (name.starts_with(kManifestPrefix) && IsNumber(name.substr(kManifestPrefix.size()))) {
      contents.manifests.push_back(name);
    }
    contents.table_files += name.ends_with(".sst") || name.ends_with(".ldb") ? 1 : 0;
    contents.blob_files += IsNumbered(name, ".blob") ? 1 : 0;
    contents.logs += IsNumbered(name, ".log") ? 1 : 0;
  }
  std::sort(contents.manifests.begin(), contents.manifests.end(), ByNumber());
  return contents;
}

// RocksDB writes its first MANIFEST, with nothing in it, before it writes CURRENT, and goes on with
// another one before there is anything to lose: what a start left that was killed at that moment
// must not keep the next one out.
bool IsCutOffCreation(rocksdb::Env* env, const std::string& directory, const Contents& contents) {
  constexpr uint64_t kMostBytes = 1024;
  uint64_t bytes = 0;
  return contents.manifests.size() == 1 && contents.manifests.front() == "MANIFEST-000001" &&
         env->GetFileSize(directory + "/" + contents.manifests.front(), &bytes).ok() &&
         bytes <= kMostBytes;
}

std::string Counted(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

// "MANIFEST-000012, 14 table files, CAIRN_FORMAT"; empty when there is nothing of a database.
std::string Describe(rocksdb::Env* env, const std::string& directory, const Contents& contents) {
  std::vector<std::string> found;
  if (contents.table_files > 0) found.push_back(Counted(contents.table_files, "table file"));
  if (contents.blob_files > 0) found.push_back(Counted(contents.blob_files, "blob file"));
  if (contents.logs > 0) found.push_back(Counted(contents.logs, "log"));
  if (contents.format) found.emplace_back(kDirectoryMarkerName);
  if (!contents.manifests.empty() &&
      !(found.empty() && IsCutOffCreation(env, directory, contents))) {
    found.insert(found.begin(), contents.manifests.back());
  }
  std::string text;
  for (const std::string& part : found) text += (text.empty() ? "" : ", ") + part;
  return text;
}

Status RefuseWithoutCurrent(const std::string& directory, const std::string& found,
                            const Contents& contents) {
  std::string text = directory + " has files of a database (" + found +
                     ") but no CURRENT: the copy is incomplete, or a file was lost. Nothing was "
                     "changed. Copy or restore the whole directory again";
  if (!contents.manifests.empty()) {
    text += "; if nothing else is missing, keep a copy and write the line " +
            contents.manifests.back() + " into a new file CURRENT";
  }
  text += "; for a new database, empty the directory first";
  return Status(StatusCode::kCorruption, text);
}

bool IsSameDirectory(rocksdb::Env* env, const std::string& one, const std::string& other) {
  bool same = false;
  if (env->AreFilesSame(one, other, &same).ok()) return same;
  const auto normal = [](const std::string& path) {
    return std::filesystem::path(path + "/").lexically_normal();
  };
  return normal(one) == normal(other);
}

// The logs where the database had them, which RocksDB will not read either. They may be gone, or
// moved as they should be.
Status CheckNoFormerLogs(rocksdb::Env* env, const std::string& directory,
                         const std::string& log_directory) {
  CAIRN_ASSIGN_OR_RETURN(const std::string former, StoredLogDirectory(env, directory));
  const std::string& now = log_directory.empty() ? directory : log_directory;
  if (former.empty() || IsSameDirectory(env, former, now) ||
      IsSameDirectory(env, former, directory) || !env->FileExists(former).ok()) {
    return Status();
  }
  CAIRN_ASSIGN_OR_RETURN(const auto logs, FindLogs(env, former));
  for (const FoundLog& found : logs) {
    if (!found.has_changes) continue;
    return Status(StatusCode::kInvalidArgument,
                  directory + " was last opened with rocksdb_wal_dir=" + former + ", where " +
                      found.path + " has records, but now the logs are looked for in " + now +
                      ": set the option again, or move the logs there, else their transactions "
                      "would be lost; nothing was changed");
  }
  return Status();
}

// The logs of `directory`, which RocksDB will not read.
Status CheckNoLogs(rocksdb::Env* env, const std::string& directory,
                   const std::string& log_directory, Log* log) {
  CAIRN_ASSIGN_OR_RETURN(const auto logs, FindLogs(env, directory));
  for (const FoundLog& found : logs) {
    if (found.has_changes) {
      return Status(StatusCode::kInvalidArgument,
                    found.path + " lies in the data directory, but rocksdb_wal_dir is " +
                        log_directory +
                        ": after a restore move it there, else its transactions would be lost; "
                        "nothing was changed");
    }
    log->Write(Severity::kNote,
               found.path + " is left alone: it is empty, and rocksdb_wal_dir is " + log_directory);
  }
  return Status();
}

}  // namespace

Status CheckDirectory(rocksdb::Env* env, const std::string& directory,
                      const std::string& log_directory, Log* log) {
  CAIRN_ASSIGN_OR_RETURN(const Contents contents, List(env, directory));
  if (!contents.current) {
    const std::string found = Describe(env, directory, contents);
    return found.empty() ? Status() : RefuseWithoutCurrent(directory, found, contents);
  }
  CAIRN_RETURN_IF_ERROR(CheckNoFormerLogs(env, directory, log_directory));
  if (log_directory.empty() || contents.logs == 0 ||
      IsSameDirectory(env, directory, log_directory)) {
    return Status();
  }
  return CheckNoLogs(env, directory, log_directory, log);
}

}  // namespace cairn
