#include "mariadb/ddl_recovery.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "ddl_log.h"
#include "mariadb/engine.h"
#include "mariadb/table_description.h"

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

std::string ReadFile(const char* name) {
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
  return ReadFile(name.c_str());
}

// Tables are partitioned and got a new name; the server's recovery gave their definition the old one back.
struct UndoneRename {
  std::string old_name;  // "db.table", file-name encoded.
  std::string new_name;
};

// Reads the DDL log of MariaDB 10.6 and up (sql/ddl_log.cc): blocks of one size, of which the first is a
// header. Blocks of type 1 begin the list of a statement's actions, which recovery takes in this order.
class DdlLogReader {
 public:
  explicit DdlLogReader(const std::string& log) : log_(log) {
    if (log.size() < kHeaderBytes || log.compare(0, 4, "\xfe\xfe\x0b\x02") != 0) return;
    block_bytes_ = uint2korr(At(4));
    name_offset_ = uint2korr(At(6));
    if (name_offset_ < block_bytes_) block_count_ = log.size() / block_bytes_;
  }

  std::vector<UndoneRename> UndoneRenames() const {
    std::vector<UndoneRename> renames;
    for (size_t block = 1; block < block_count_; ++block) {
      if (*At(block * block_bytes_) != kExecute) continue;
      size_t action = NextOf(block);
      // No list is longer than the log.
      for (size_t i = 0; i < block_count_ && action != 0 && action < block_count_; ++i) {
        AddRename(action, &renames);
        action = NextOf(action);
      }
    }
    return renames;
  }

 private:
  static constexpr size_t kHeaderBytes = 9;
  static constexpr uchar kExecute = DDL_LOG_EXECUTE_CODE;

  const uchar* At(size_t offset) const {
    return reinterpret_cast<const uchar*>(log_.data()) + offset;
  }
  size_t NextOf(size_t block) const { return uint4korr(At(block * block_bytes_ + 4)); }

  void AddRename(size_t block, std::vector<UndoneRename>* renames) const {
    const uchar* const entry = At(block * block_bytes_);
    if (entry[0] != DDL_LOG_ENTRY_CODE || entry[1] != DDL_LOG_RENAME_TABLE_ACTION ||
        entry[2] == DDL_LOG_FINAL_PHASE) {
      return;
    }
    size_t position = block * block_bytes_ + name_offset_;
    std::string names[6];  // Engine, database and table: the new ones, then the old ones.
    for (std::string& name : names) {
      const size_t end = (block + 1) * block_bytes_;
      if (position + 2 > end) return;
      const size_t length = uint2korr(At(position));
      if (position + 2 + length >= end) return;
      name = log_.substr(position + 2, length);
      position += 2 + length + 1;
    }
    renames->push_back({FileName(names[4], names[5]), FileName(names[1], names[2])});
  }

  static std::string FileName(const std::string& database, const std::string& table) {
    char path[FN_REFLEN + 1];
    build_table_filename(path, sizeof path - 1, database.c_str(), table.c_str(), "", 0);
    const auto name = DictionaryName(path);
    return name.ok() ? *name : std::string();
  }

  const std::string& log_;
  size_t block_bytes_ = 0;
  size_t name_offset_ = 0;
  size_t block_count_ = 0;
};

// The server's recovery undoes a RENAME, but of a partitioned table it moves the definition alone.
Status UndoRenames(Engine* engine, const std::string& ddl_log) {
  Dictionary& dictionary = engine->dictionary();
  for (const UndoneRename& rename : DdlLogReader(ddl_log).UndoneRenames()) {
    if (rename.new_name.empty() || rename.old_name.empty() ||
        dictionary.Find(rename.new_name) != nullptr) {
      continue;
    }
    const bool is_renamed = !dictionary.EntriesOf(rename.new_name).empty();
    if (is_renamed && dictionary.EntriesOf(rename.old_name).empty()) {
      CAIRN_RETURN_IF_ERROR(dictionary.RenamePartitions(rename.new_name, rename.old_name));
      engine->database().log().Write(
          Severity::kNote, "gave " + rename.new_name + " its name " + rename.old_name +
                               " back: a crash cut off the statement that renamed it");
    }
    if (!dictionary.EntriesOf(rename.old_name).empty()) {
      RenamePartitionList(rename.new_name, rename.old_name);
    }
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
bool IsLeftOver(const std::string& entry, const std::string& ddl_log) {
  const std::string table(TableOfEntry(entry));
  if (Exists(FileOf(table, kDefinition))) return false;
  // The copy and the backup of an ALTER TABLE go with their files.
  if (table.find(kServerMadeName) != std::string::npos) return true;
  // The server removes the list of partitions before the partitions. Its recovery then finds none to drop.
  // Without the log's word that such a statement was cut off, a missing file is no reason to drop data.
  return entry.size() > table.size() && !Exists(FileOf(table, kPartitionList)) &&
         ddl_log.find(TableVersionPath(table) + '\0') != std::string::npos;
}

Status DropLeftOvers(Engine* engine, const std::string& ddl_log) {
  for (const auto& table : engine->dictionary().Tables()) {
    if (!IsLeftOver(table->name, ddl_log)) continue;
    CAIRN_RETURN_IF_ERROR(engine->dictionary().DropTable(table->name));
    RemovePartitionList(TableOfEntry(table->name));
    engine->database().log().Write(
        Severity::kNote,
        "dropped " + table->name + ", which a statement that a crash cut off had left");
  }
  return Status();
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
  const std::string ddl_log = UnfinishedDdlLog();
  Status finished = UndoRenames(engine, ddl_log);
  if (finished.ok()) finished = DropLeftOvers(engine, ddl_log);
  if (!finished.ok()) {
    engine->database().log().Write(
        Severity::kError, "finishing statements that a crash cut off: " + finished.ToString());
  }
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

void NoteDdlLog() {
  constexpr size_t kBackupMark = 8;  // In the header.
  const std::string log = ReadFile(DdlLogFile(".log").c_str());
  backup_was_made_before = log.size() > kBackupMark && log[kBackupMark] != 0;
}

}  // namespace cairn
