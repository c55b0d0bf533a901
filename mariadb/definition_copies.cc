#include "mariadb/definition_copies.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "engine/catalog/dictionary.h"
#include "engine/catalog/foreign_keys.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mariadb/table_name.h"
#include "sql_alter.h"

namespace cairn {
namespace {

constexpr std::string_view kPartitionOf = "#P#";

std::optional<std::string> ReadDefinitionFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return std::nullopt;
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return file.bad() ? std::nullopt : std::optional(std::move(bytes));
}

std::string VersionOf(const TABLE_SHARE& share) {
  return {reinterpret_cast<const char*>(share.tabledef_version.str), share.tabledef_version.length};
}

bool IsEntryOfPartition(std::string_view name) { return TableOfEntry(name).size() < name.size(); }

// The length of a part of a .frm file's second header, one byte or, after a zero, two.
bool ReadExtraLength(std::string_view* extra, size_t* length) {
  if (extra->empty()) return false;
  *length = static_cast<uint8_t>(extra->front());
  extra->remove_prefix(1);
  if (*length != 0) return true;
  if (extra->size() < 2) return false;
  *length = uint2korr(reinterpret_cast<const uchar*>(extra->data()));
  extra->remove_prefix(2);
  return true;
}

// The version that the server gave to a definition, as a share has it; empty: it has none.
std::string VersionInFile(std::string_view frm) {
  constexpr size_t kHeaderBytes = 64;
  if (frm.size() < kHeaderBytes) return std::string();
  const size_t extra_bytes = uint2korr(reinterpret_cast<const uchar*>(frm.data()) + 4);
  std::string_view extra = frm.substr(kHeaderBytes, extra_bytes);
  if (extra.starts_with('/')) return std::string();  // A .frm of before MariaDB 5.5.
  while (!extra.empty()) {
    const auto type = static_cast<uint8_t>(extra.front());
    extra.remove_prefix(1);
    size_t length;
    if (!ReadExtraLength(&extra, &length) || length > extra.size()) return std::string();
    if (type == EXTRA2_TABLEDEF_VERSION) return std::string(extra.substr(0, length));
    extra.remove_prefix(length);
  }
  return std::string();
}

// The files of a table, of which `version` is that of its share.
std::optional<DefinitionCopy> ReadDefinition(std::string version, const std::string& frm_path,
                                             std::string_view name) {
  auto definition = ReadDefinitionFile(frm_path);
  if (!definition.has_value() || definition->empty()) return std::nullopt;
  DefinitionCopy copy{std::move(version), std::move(*definition), std::string()};
  if (!IsEntryOfPartition(name)) return copy;
  auto partitions = ReadDefinitionFile(DefinitionFileOf(name, kPartitionsFile));
  if (!partitions.has_value() || partitions->empty()) return std::nullopt;
  copy.partitions = std::move(*partitions);
  return copy;
}

bool CanBeVersion(const std::string& version) { return version.size() <= UINT8_MAX; }

}  // namespace

std::string DefinitionFileOf(std::string_view name, const char* extension) {
  return TableVersionPath(name) + extension;
}

// All numbers have four bytes: the number of such words, a checksum, the number of partitions; then
// a byte for the engine of each, filled up to whole words; the number of bytes of all names, and
// these, each with a zero at its end.
std::optional<std::vector<std::string>> PartitionsIn(std::string_view file) {
  constexpr size_t kWord = 4;
  constexpr size_t kEngines = 3 * kWord;
  const auto word = [&](size_t at) {
    return size_t{uint4korr(reinterpret_cast<const uchar*>(file.data()) + at)};
  };
  if (file.size() < kEngines || word(0) > file.size() / kWord) return std::nullopt;
  file = file.substr(0, word(0) * kWord);
  const size_t count = file.size() < kEngines ? 0 : word(2 * kWord);
  if (count == 0 || count > file.size()) return std::nullopt;
  const size_t names_length = kEngines + (count + kWord - 1) / kWord * kWord;
  if (names_length + kWord > file.size()) return std::nullopt;
  const size_t names_bytes = word(names_length);
  std::string_view names = file.substr(names_length + kWord);
  if (names_bytes > names.size()) return std::nullopt;
  names = names.substr(0, names_bytes);
  std::vector<std::string> partitions;
  for (size_t i = 0; i < count; ++i) {
    const size_t end = names.find('\0');
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    partitions.emplace_back(names.substr(0, end));
    names.remove_prefix(end + 1);
  }
  return partitions;
}

bool HasPartitions(std::string_view table, const std::vector<std::string>& partitions) {
  std::vector<std::string> wanted;
  wanted.reserve(partitions.size());
  for (const std::string& partition : partitions) {
    wanted.push_back(std::string(table) + std::string(kPartitionOf) + partition);
  }
  std::vector<std::string> entries = RunningEngine()->dictionary().EntriesOf(table);
  std::sort(wanted.begin(), wanted.end());
  std::sort(entries.begin(), entries.end());
  return wanted == entries;
}

std::optional<DefinitionCopy> DefinitionOfCreated(const TABLE& form, std::string_view name) {
  const LEX_CUSTRING* const image = form.s->frm_image;
  if (image == nullptr || image->str == nullptr || image->length == 0) return std::nullopt;
  DefinitionCopy copy{VersionOf(*form.s), std::string(), std::string()};
  if (!CanBeVersion(copy.version)) return std::nullopt;
  if (IsEntryOfPartition(name) &&
      RunningEngine()->dictionary().HasDefinitionCopy(TableOfEntry(name), copy.version)) {
    return copy;
  }
  copy.definition.assign(reinterpret_cast<const char*>(image->str), image->length);
  if (!IsEntryOfPartition(name)) return copy;
  auto partitions = ReadDefinitionFile(DefinitionFileOf(name, kPartitionsFile));
  if (!partitions.has_value() || partitions->empty()) return std::nullopt;
  copy.partitions = std::move(*partitions);
  return copy;
}

std::shared_ptr<const DefinitionCopy> DefinitionOfAltered(const TABLE& altered,
                                                          std::string_view name) {
  const TABLE_SHARE& share = *altered.s;
  std::string version = VersionOf(share);
  const std::string path(share.normalized_path.str, share.normalized_path.length);
  if (!CanBeVersion(version)) return nullptr;
  auto copy = ReadDefinition(std::move(version), path + kDefinitionFile, name);
  return copy.has_value() ? std::make_shared<const DefinitionCopy>(std::move(*copy)) : nullptr;
}

std::optional<DefinitionCopy> DefinitionOfExchanged(THD* thd, std::string_view name) {
  if (thd == nullptr || thd_sql_command(thd) != SQLCOM_ALTER_TABLE || IsServerMade(name) ||
      !(thd->lex->alter_info.partition_flags & ALTER_PARTITION_EXCHANGE)) {
    return std::nullopt;
  }
  auto copy = ReadDefinition(std::string(), DefinitionFileOf(name, kDefinitionFile), name);
  if (!copy.has_value()) return std::nullopt;
  copy->version = VersionInFile(copy->definition);
  return copy;
}

void KeepDefinition(const TABLE& table, std::string_view name) {
  Engine* const engine = RunningEngine();
  const std::string_view table_name = TableOfEntry(name);
  std::string version = VersionOf(*table.s);
  if (IsServerMade(name) || !CanBeVersion(version) ||
      engine->dictionary().HasDefinitionCopy(table_name, version)) {
    return;
  }
  // While a statement changes partitions, the files are of before or after it, and the entries of
  // neither.
  const auto copy =
      ReadDefinition(std::move(version), DefinitionFileOf(name, kDefinitionFile), name);
  if (!copy.has_value()) return;
  const std::string in_file = VersionInFile(copy->definition);
  if (!in_file.empty() && in_file != copy->version) return;
  if (IsEntryOfPartition(name)) {
    const auto partitions = PartitionsIn(copy->partitions);
    if (!partitions.has_value() || !HasPartitions(table_name, *partitions)) return;
  }
  const Status kept = engine->dictionary().PutDefinitionCopy(table_name, *copy);
  if (kept.ok()) return;
  engine->database().log().Write(Severity::kWarning, "no copy of the definition of table " +
                                                         DescribeTableName(table_name) +
                                                         " could be made: " + kept.ToString());
}

}  // namespace cairn
