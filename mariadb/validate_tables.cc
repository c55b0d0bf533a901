#include "mariadb/validate_tables.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "mariadb/table_name.h"
#include "mariadb/variables.h"
// The server's headers last.
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".frm";
constexpr std::string_view kEngine = "ROCKSDB";
constexpr size_t kHeaderBytes = 64;

bool IsInternal(std::string_view name) { return name.find("#sql") != std::string_view::npos; }

// "db.table" of a dictionary name, still encoded as the file's name is.
std::string WithoutPartition(std::string_view name) {
  return std::string(name.substr(0, name.find("#P#")));
}

uint32_t LittleEndian(const std::string& bytes, size_t at, size_t count) {
  uint32_t number = 0;
  for (size_t i = count; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

// The name of the engine in a binary .frm image, empty for a view or where there is none: it
// follows the default record and the connect string.
std::string EngineOf(const std::string& frm) {
  if (frm.size() < kHeaderBytes || frm[0] != '\xfe' || frm[1] != '\x01') return std::string();
  const uint32_t short_key_bytes = LittleEndian(frm, 14, 2);
  const uint32_t key_bytes = short_key_bytes == 0xffff ? LittleEndian(frm, 47, 4) : short_key_bytes;
  size_t at = size_t{LittleEndian(frm, 6, 2)} + key_bytes + LittleEndian(frm, 16, 2);
  if (LittleEndian(frm, 55, 4) == 0 || at + 2 > frm.size()) return std::string();
  at += 2 + LittleEndian(frm, at, 2);
  if (at + 2 > frm.size()) return std::string();
  const uint32_t length = LittleEndian(frm, at, 2);
  return at + 2 + length <= frm.size() ? frm.substr(at + 2, length) : std::string();
}

// The file of a partitioned table has its engines in the text of the partitions alone.
bool HasPartitionsOfOurs(const std::string& frm) {
  return EngineOf(frm) == "partition" && frm.find(kEngine) != std::string::npos;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

std::set<std::string> Registered(const Dictionary& dictionary) {
  std::set<std::string> registered;
  for (const auto& table : dictionary.Tables()) registered.insert(WithoutPartition(table->name));
  for (const QuarantinedTable& table : dictionary.QuarantinedTables()) {
    registered.insert(WithoutPartition(table.name));
  }
  return registered;
}

// The encoded names "db.table" of the .frm files in one database's directory; those of this engine
// are put into `*own` too.
void ReadDatabase(const fs::path& directory, std::set<std::string>* all, std::set<std::string>* own,
                  std::vector<std::string>* problems) {
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; !error && file != end;
       file.increment(error)) {
    const std::string file_name = file->path().filename().string();
    if (!file_name.ends_with(kExtension) || IsInternal(file_name)) continue;
    const std::string name = directory.filename().string() + "." +
                             file_name.substr(0, file_name.size() - kExtension.size());
    all->insert(name);
    std::ifstream stream(file->path(), std::ios::binary);
    const std::string frm((std::istreambuf_iterator<char>(stream)),
                          std::istreambuf_iterator<char>());
    if (!stream.good() && !stream.eof()) {
      problems->push_back("cannot read " + file->path().string());
    } else if (EngineOf(frm) == kEngine) {
      own->insert(name);
    }
  }
  if (error) problems->push_back("cannot list " + directory.string() + ": " + error.message());
}

}  // namespace

std::vector<std::string> FindSchemaMismatches(const Dictionary& dictionary,
                                              const std::string& data_directory) {
  const std::set<std::string> registered = Registered(dictionary);
  std::vector<std::string> problems;
  std::set<std::string> all;
  std::set<std::string> own;
  std::error_code error;
  for (fs::directory_iterator entry(data_directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && entry->path().filename().string()[0] != '#') {
      ReadDatabase(entry->path(), &all, &own, &problems);
    }
  }
  if (error) {
    problems.push_back("cannot list the data directory " + data_directory + ": " + error.message());
    return problems;
  }
  for (const std::string& name : registered) {
    if (IsInternal(name) || all.contains(name)) continue;
    problems.push_back("Schema mismatch - Table " + DescribeTableName(name) +
                       " is registered in RocksDB but does not have a .frm file");
  }
  for (const std::string& name : own) {
    if (registered.contains(name)) continue;
    problems.push_back("Schema mismatch - A .frm file exists for table " + DescribeTableName(name) +
                       ", but that table is not registered in RocksDB");
  }
  return problems;
}

Result<std::vector<std::string>> FindUnregistered(const Dictionary& dictionary,
                                                  const std::string& database) {
  const std::set<std::string> registered = Registered(dictionary);
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator file(database, error), end; !error && file != end;
       file.increment(error)) {
    const std::string file_name = file->path().filename().string();
    if (!file_name.ends_with(kExtension) || IsInternal(file_name)) continue;
    std::string name = database + "." + file_name.substr(0, file_name.size() - kExtension.size());
    if (registered.contains(name)) continue;
    const std::string frm = ReadFile(file->path());
    if (frm.empty()) {
      return Status(StatusCode::kIoError, "cannot read " + file->path().string());
    }
    if (EngineOf(frm) == kEngine || HasPartitionsOfOurs(frm)) found.push_back(std::move(name));
  }
  // A database that is gone lacks nothing.
  if (error && error != std::errc::no_such_file_or_directory) {
    return Status(StatusCode::kIoError, "cannot list " + database + ": " + error.message());
  }
  return found;
}

void ValidateTables(const Dictionary& dictionary) {
  if (global_variables.validate_tables == 0) return;
  for (const std::string& problem : FindSchemaMismatches(dictionary, mysql_real_data_home)) {
    sql_print_warning("RocksDB: %s", problem.c_str());
  }
}

}  // namespace cairn
