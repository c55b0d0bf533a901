#include "engine/store/stored_log_directory.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "engine/store/numbered_names.h"

namespace cairn {
namespace {

constexpr std::string_view kPrefix = "OPTIONS-";
constexpr std::string_view kLine = "\n  wal_dir=";

bool IsOptionsFile(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  return name.substr(kPrefix.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

// The path of the newest; empty when there is none.
Result<std::string> NewestOptions(rocksdb::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(env->GetChildren(directory, &names)).WithContext("listing " + directory));
  std::erase_if(names, [](const std::string& name) { return !IsOptionsFile(name); });
  if (names.empty()) return std::string();
  return directory + "/" + *std::max_element(names.begin(), names.end(), ByNumber());
}

// RocksDB puts a backslash before what means something in the file.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain.push_back(text[i]);
  }
  return plain;
}

// Where the value begins and ends in the text of the file; both npos when it is not there.
struct Value {
  size_t begin = std::string::npos;
  size_t end = std::string::npos;
};

Value FindValue(const std::string& text) {
  const size_t line = text.find(kLine);
  if (line == std::string::npos) return {};
  const size_t begin = line + kLine.size();
  return {begin, std::min(text.find('\n', begin), text.size())};
}

}  // namespace

Result<std::string> StoredLogDirectory(rocksdb::Env* env, const std::string& directory) {
  CAIRN_ASSIGN_OR_RETURN(const std::string path, NewestOptions(env, directory));
  if (path.empty()) return std::string();
  std::string text;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(rocksdb::ReadFileToString(env, path, &text)).WithContext("reading " + path));
  const Value value = FindValue(text);
  if (value.begin == std::string::npos) return std::string();
  return Unescaped(std::string_view(text).substr(value.begin, value.end - value.begin));
}

Status ForgetStoredLogDirectory(rocksdb::Env* env, const std::string& directory) {
  CAIRN_ASSIGN_OR_RETURN(const std::string path, NewestOptions(env, directory));
  if (path.empty()) return Status();
  std::string text;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(rocksdb::ReadFileToString(env, path, &text)).WithContext("reading " + path));
  const Value value = FindValue(text);
  if (value.begin == value.end) return Status();
  text.erase(value.begin, value.end - value.begin);
  // The file may be the database's own by another name.
  const std::string partial = path + ".partial";
  rocksdb::Status written = rocksdb::WriteStringToFile(env, text, partial, /*should_sync=*/true);
  if (written.ok()) written = env->RenameFile(partial, path);
  return FromRocksDb(written).WithContext("writing " + path);
}

}  // namespace cairn
