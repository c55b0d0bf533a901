#include "mariadb/ddl_recovery.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "ddl_log.h"
#include "mariadb/engine.h"
#include "mariadb/table_description.h"
#include "mariadb/validate_tables.h"

namespace cairn {
namespace {

// Begins the names that the server gives to the tables of an ALTER TABLE under way.
constexpr std::string_view kServerMadeName = ".#sql";

constexpr const char* kDefinition = ".frm";
constexpr const char* kPartitionList = ".par";

// The server's file for a table; the data directory is its working directory.
std::string FileOf(std::string_view table, const char* extension) {
  return TableVersionPath(table) + extension;
}

bool Exists(const std::string& file) { return access(file.c_str(), F_OK) == 0; }

// A cut-off server that dies again while it recovers keeps the backup that it made first.
bool backup_was_made_before = false;

std::string ReadFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::string DdlLogFile(const char* ending) {
  char name[FN_REFLEN];
  fn_format(name, opt_ddl_recovery_file, mysql_data_home, ending, MYF(MY_REPLACE_EXT));
  return name;
}

// The server's backup of the DDL log that this start found unfinished; empty when there was none.
std::string UnfinishedDdlLog() {
  const std::string name = DdlLogFile("-backup.log");
  struct stat about;
  if (stat(name.c_str(), &about) != 0) return std::string();
  if (about.st_mtime < server_start_time && !backup_was_made_before) return std::string();
  return ReadFile(name);
}

// What one entry of the DDL log means to us; names are "db.table", file-name encoded.
struct DdlLogEntry {
  bool is_rename = false;
  std::string name;
  std::string old_name;  // Of a RENAME and of an ALTER TABLE.
  std::string dropped;   // The table that goes by this entry, if any.
};

std::string FileName(std::string_view database, std::string_view table) {
  char path[FN_REFLEN + 1];
  build_table_filename(path, sizeof path - 1, std::string(database).c_str(),
                       std::string(table).c_str(), "", 0);
  const auto name = DictionaryName(path);
  return name.ok() ? *name : std::string();
}

// The DDL log of MariaDB 10.6 and up (sql/ddl_log.cc): blocks of one size, of which the first is a
// header. A block of type DDL_LOG_EXECUTE_CODE begins the list of a statement's entries. An entry
// begins with type, action, phase and the number of the next; names follow at an offset from the
// header: engine, database and table, the new ones and the old ones.
class DdlLog {
 public:
  explicit DdlLog(std::string_view log) : log_(log) {
    constexpr size_t kHeaderBytes = 9;
    if (log.size() < kHeaderBytes || !log.starts_with("\xfe\xfe\x0b\x02")) return;
    block_bytes_ = uint2korr(At(4));
    name_offset_ = uint2korr(At(6));
    if (name_offset_ + 2 <= block_bytes_) block_count_ = log.size() / block_bytes_;
  }

  // The entries of statements that were cut off, in the order in which recovery takes them.
  std::vector<DdlLogEntry> CutOffEntries() const {
    std::vector<DdlLogEntry> entries;
    for (size_t block = 1; block < block_count_; ++block) {
      if (*At(block * block_bytes_) != DDL_LOG_EXECUTE_CODE) continue;
      size_t entry = NextOf(block);
      // No list is longer than the log.
      for (size_t i = 0; i < block_count_ && entry != 0 && entry < block_count_; ++i) {
        if (*At(entry * block_bytes_) == DDL_LOG_ENTRY_CODE) entries.push_back(EntryIn(entry));
        entry = NextOf(entry);
      }
    }
    return entries;
  }

 private:
  const uchar* At(size_t offset) const {
    return reinterpret_cast<const uchar*>(log_.data()) + offset;
  }
  size_t NextOf(size_t block) const { return uint4korr(At(block * block_bytes_ + 4)); }

  DdlLogEntry EntryIn(size_t block) const {
    const size_t begin = block * block_bytes_;
    const size_t end = begin + block_bytes_;
    std::string_view names[6];
    size_t position = begin + name_offset_;
    for (std::string_view& name : names) {
      if (position + 2 > end) break;
      const size_t length = uint2korr(At(position));
      if (position + 2 + length > end) break;
      name = log_.substr(position + 2, length);
      position += 2 + length + 1;
    }
    DdlLogEntry entry;
    entry.name = FileName(names[1], names[2]);
    entry.old_name = FileName(names[4], names[5]);
    const uchar action = *At(begin + 1);
    const bool is_done = *At(begin + 2) == DDL_LOG_FINAL_PHASE;
    entry.is_rename = action == DDL_LOG_RENAME_TABLE_ACTION && !is_done;
    if (action == DDL_LOG_DROP_TABLE_ACTION) entry.dropped = entry.name;
    if (action == DDL_LOG_ALTER_TABLE_ACTION) entry.dropped = entry.old_name;
    return entry;
  }

  std::string_view log_;
  size_t block_bytes_ = 0;
  size_t name_offset_ = 0;
  size_t block_count_ = 0;
};

// The server's recovery undoes a RENAME, but not of a partitioned table whose definition had not
// been moved yet, the last of its files. Such a one we undo before recovery begins.
Status UndoRenames(Engine* engine, const std::string& ddl_log) {
  Dictionary& dictionary = engine->dictionary();
  for (const DdlLogEntry& rename : DdlLog(ddl_log).CutOffEntries()) {
    const std::string& old_name = rename.old_name;
    const std::string& new_name = rename.name;
    if (!rename.is_rename || old_name.empty() || new_name.empty() ||
        Exists(FileOf(new_name, kDefinition)) || !Exists(FileOf(old_name, kDefinition))) {
      continue;
    }
    const bool is_partitioned =
        dictionary.Find(old_name) == nullptr && dictionary.Find(new_name) == nullptr;
    if (is_partitioned && dictionary.EntriesOf(old_name).empty() &&
        !dictionary.EntriesOf(new_name).empty()) {
      CAIRN_RETURN_IF_ERROR(dictionary.RenamePartitions(new_name, old_name));
      engine->database().log().Write(Severity::kNote,
                                     "gave " + new_name + " its name " + old_name +
                                         " back: a crash cut off the statement that renamed it");
    }
    if (is_partitioned && !dictionary.EntriesOf(old_name).empty())
      RenamePartitionList(new_name, old_name);
  }
  return Status();
}

void RemovePartitionList(std::string_view table) {
  const std::string file = FileOf(table, kPartitionList);
  if (unlink(file.c_str()) != 0 && errno != ENOENT) {
    sql_print_error("RocksDB: cannot remove %s: %s", file.c_str(), strerror(errno));
  }
}

// Whether an entry of the dictionary belongs to nobody now that the server's recovery is done.
bool IsLeftOver(const std::string& entry, const std::vector<DdlLogEntry>& ddl_log) {
  const std::string table(TableOfEntry(entry));
  if (Exists(FileOf(table, kDefinition))) return false;
  // The copy and the backup of an ALTER TABLE go with their files.
  if (table.find(kServerMadeName) != std::string::npos) return true;
  // The server removes the list of partitions before the partitions. Its recovery then finds none
  // to drop. Without the log's word that such a statement was cut off, a missing file is no reason
  // to drop data.
  if (entry.size() == table.size() || Exists(FileOf(table, kPartitionList))) return false;
  return std::any_of(ddl_log.begin(), ddl_log.end(),
                     [&](const DdlLogEntry& cut_off) { return cut_off.dropped == table; });
}

// A table that an ALTER TABLE had put aside is all that there is of it where the server no longer
// knows of the statement: a start that fails, as this engine's does for damaged logs, takes the
// server's DDL log with it. Such a table gets its name back if there is one that can be meant, and
// stays otherwise. True: it is not to be dropped.
Result<bool> KeepPutAside(Engine* engine, const std::string& entry) {
  constexpr std::string_view kBackupName = ".#sql-backup-";
  const std::string table(TableOfEntry(entry));
  const size_t dot = table.find(kBackupName);
  if (dot == std::string::npos) return false;
  Dictionary& dictionary = engine->dictionary();
  const std::string database = table.substr(0, dot);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> lacking,
                         FindUnregistered(dictionary, database));
  if (lacking.empty()) return false;
  const auto tables = dictionary.Tables();
  const auto put_aside = std::count_if(tables.begin(), tables.end(), [&](const auto& each) {
    return each->name.starts_with(database + std::string(kBackupName)) &&
           !Exists(FileOf(TableOfEntry(each->name), kDefinition));
  });
  const bool is_partition = entry.size() != table.size();
  if (lacking.size() == 1 && put_aside == 1 && !is_partition) {
    CAIRN_RETURN_IF_ERROR(dictionary.RenameTable(table, lacking.front()));
    engine->database().log().Write(
        Severity::kWarning, "gave " + table + " its name " + lacking.front() +
                                " back: a crash cut off the ALTER TABLE that had put it aside");
    return true;
  }
  std::string text =
      table + " stays: an ALTER TABLE that a crash cut off has put it aside, perhaps";
  for (const std::string& name : lacking) text += " " + name;
  engine->database().log().Write(Severity::kError, text + ", whose rows are nowhere else");
  return true;
}

Status DropLeftOvers(Engine* engine, const std::string& log) {
  const std::vector<DdlLogEntry> ddl_log = DdlLog(log).CutOffEntries();
  for (const auto& table : engine->dictionary().Tables()) {
    if (!IsLeftOver(table->name, ddl_log)) continue;
    CAIRN_ASSIGN_OR_RETURN(const bool keeps, KeepPutAside(engine, table->name));
    if (keeps) continue;
    CAIRN_RETURN_IF_ERROR(engine->dictionary().DropTable(table->name));
    RemovePartitionList(TableOfEntry(table->name));
    engine->database().log().Write(
        Severity::kNote,
        "dropped " + table->name + ", which a statement that a crash cut off had left");
  }
  return Status();
}

// The server's recovery of an ALTER TABLE that was done in place removes the new definition and
// forgets the new list of partitions, whatever the engine.
void RemoveForgottenPartitionLists(const std::string& log) {
  constexpr std::string_view kAlterPrefix = "#sql-alter-";
  std::set<std::string> databases;
  for (const DdlLogEntry& entry : DdlLog(log).CutOffEntries()) {
    for (const std::string& name : {entry.name, entry.old_name}) {
      if (!name.empty()) databases.insert(name.substr(0, name.find('.')));
    }
  }
  for (const std::string& database : databases) {
    std::error_code error;  // A database that is gone has no files.
    for (const auto& file : std::filesystem::directory_iterator(database, error)) {
      const std::filesystem::path& path = file.path();
      if (path.extension() != kPartitionList ||
          !path.filename().string().starts_with(kAlterPrefix)) {
        continue;
      }
      std::filesystem::path definition = path;
      if (Exists(definition.replace_extension(kDefinition).string())) continue;
      if (unlink(path.c_str()) != 0) {
        sql_print_error("RocksDB: cannot remove %s: %s", path.c_str(), strerror(errno));
      }
    }
  }
}

}  // namespace

int CheckTableVersion(handlerton*, const char* path, const LEX_CUSTRING*,
                      ulonglong version_before) {
  Engine* const engine = RunningEngine();
  const auto name = DictionaryName(path);
  if (engine == nullptr || !name.ok()) return 1;
  const auto version = engine->dictionary().LoadTableVersion(TableVersionPath(*name));
  if (!version.ok()) {
    engine->database().log().Write(Severity::kError,
                                   "table " + *name + ": " + version.status().ToString());
    return 1;
  }
  return *version > version_before ? 0 : 1;
}

int FinishDdlRecovery(handlerton*) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return 0;
  const std::string log = UnfinishedDdlLog();
  const Status finished = DropLeftOvers(engine, log);
  if (!finished.ok()) {
    engine->database().log().Write(
        Severity::kError, "finishing statements that a crash cut off: " + finished.ToString());
  }
  const Status settled = engine->dictionary().SettleDefinitionCopies();
  if (!settled.ok()) {
    engine->database().log().Write(
        Severity::kError, "removing copies of definitions of no table: " + settled.ToString());
  }
  RemoveForgottenPartitionLists(log);
  engine->upkeep().RemoveDroppedIndexes();
  return 0;
}

void RenamePartitionList(std::string_view from, std::string_view to) {
  const std::string from_file = FileOf(from, kPartitionList);
  const std::string to_file = FileOf(to, kPartitionList);
  if (!Exists(from_file) || Exists(to_file)) return;
  if (rename(from_file.c_str(), to_file.c_str()) != 0) {
    sql_print_error("RocksDB: cannot rename %s to %s: %s", from_file.c_str(), to_file.c_str(),
                    strerror(errno));
  }
}

void DropPartitionListInRecovery(std::string_view table) {
  if (!mysqld_server_started) RemovePartitionList(table);
}

Status PrepareDdlRecovery(Engine* engine) {
  if (mysqld_server_started) return Status();
  constexpr size_t kBackupMark = 8;  // In the header.
  const std::string log = ReadFile(DdlLogFile(".log"));
  backup_was_made_before = log.size() > kBackupMark && log[kBackupMark] != 0;
  return UndoRenames(engine, log);
}

}  // namespace cairn
