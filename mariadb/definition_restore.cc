#include "mariadb/definition_restore.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "engine/table/table.h"
#include "mariadb/definition_copies.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/foreign_key_clauses.h"
#include "mariadb/table_description.h"
#include "mariadb/table_name.h"
#include "mariadb/variables_lock.h"
#include "sql_acl.h"
#include "table_cache.h"

namespace cairn {
namespace {

constexpr const char* kVariable = "cairn_restore_definition";

// Where the files of a table are made before they get its name. Names that begin so are nobody's
// tables, and what a crash leaves is overwritten by the next one.
constexpr std::string_view kUnfinished = "#sql-cairn-definition";

// One at a time: all of a database have the same unfinished files.
std::mutex restoring;

Status FileError(const char* what, const std::string& path) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT;
  return Status(full ? StatusCode::kNoSpace : StatusCode::kIoError,
                std::string(what) + " " + path + ": " + strerror(number));
}

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Status WriteSynced(const std::string& path, std::string_view bytes) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, my_umask);
  if (file < 0) return FileError("cannot create", path);
  Status written;
  while (written.ok() && !bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      written = FileError("cannot write", path);
    }
  }
  if (written.ok() && fsync(file) != 0) written = FileError("cannot sync", path);
  if (close(file) != 0 && written.ok()) written = FileError("cannot close", path);
  return written;
}

Status SyncDirectory(const std::string& path) {
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return FileError("cannot open", path);
  Status synced = fsync(directory) == 0 ? Status() : FileError("cannot sync", path);
  close(directory);
  return synced;
}

Status GiveName(const std::string& from, const std::string& to) {
  return rename(from.c_str(), to.c_str()) == 0 ? Status() : FileError("cannot create", to);
}

// The files of one table on their way: until Finish() they have no table's name.
class UnfinishedFiles {
 public:
  UnfinishedFiles(std::string_view table, const DefinitionCopy& copy)
      : table_(table),
        directory_("./" + std::string(SplitDictionaryName(table).database)),
        path_(directory_ + "/" + std::string(kUnfinished)),
        copy_(copy) {}
  ~UnfinishedFiles() {
    for (const char* const extension : {kDefinitionFile, kPartitionsFile}) {
      unlink((path_ + extension).c_str());
    }
  }
  UnfinishedFiles(const UnfinishedFiles&) = delete;
  UnfinishedFiles& operator=(const UnfinishedFiles&) = delete;

  // Without extension, for the server.
  const std::string& path() const { return path_; }

  Status Write() const {
    if (!copy_.partitions.empty()) {
      CAIRN_RETURN_IF_ERROR(WriteSynced(path_ + kPartitionsFile, copy_.partitions));
    }
    return WriteSynced(path_ + kDefinitionFile, copy_.definition);
  }

  // The server finds a table by its .frm file, which therefore comes last.
  Status Finish() const {
    const std::string definition = DefinitionFileOf(table_, kDefinitionFile);
    const std::string partitions = DefinitionFileOf(table_, kPartitionsFile);
    Status named;
    if (!copy_.partitions.empty()) named = GiveName(path_ + kPartitionsFile, partitions);
    if (named.ok()) named = GiveName(path_ + kDefinitionFile, definition);
    if (named.ok()) named = SyncDirectory(directory_);
    if (!named.ok()) {
      unlink(definition.c_str());
      if (!copy_.partitions.empty()) unlink(partitions.c_str());
    }
    return named;
  }

 private:
  const std::string table_;
  const std::string directory_;
  const std::string path_;
  const DefinitionCopy& copy_;
};

// A definition in a file that is no table's yet, as the server reads it.
class ReadBack {
 public:
  ReadBack(THD* thd, std::string_view table, const std::string& path)
      : schema_(SplitDictionaryName(table).database), name_(kUnfinished), path_(path) {
    InitOwnShare(thd, &share_, schema_.c_str(), name_.c_str(), path_.c_str());
    Dummy_error_handler nobody_is_told;
    thd->push_internal_handler(&nobody_is_told);
    if (open_table_def(thd, &share_, GTS_TABLE) == OPEN_FRM_OK) {
      table_ = std::make_unique<TABLE>();
      const LEX_CSTRING alias = {name_.c_str(), name_.size()};
      const open_frm_error error = open_table_from_share(
          thd, &share_, &alias, /*db_stat=*/0, EXTRA_RECORD | OPEN_FRM_FILE_ONLY,
          /*ha_open_flags=*/0, table_.get(), /*is_create_table=*/false);
      if (error != OPEN_FRM_OK) table_.reset();
    }
    thd->pop_internal_handler();
  }
  ~ReadBack() {
    if (table_ != nullptr) closefrm(table_.get());
    free_table_share(&share_);
  }
  ReadBack(const ReadBack&) = delete;
  ReadBack& operator=(const ReadBack&) = delete;

  const TABLE* table() const { return table_.get(); }  // Null: the server cannot read it.

 private:
  const std::string schema_;
  const std::string name_;
  const std::string path_;
  TABLE_SHARE share_;
  std::unique_ptr<TABLE> table_;
};

Status DoesNotFit(std::string_view table, std::string_view why) {
  return Status(StatusCode::kMetadataMismatch, "the copy of the definition of table " +
                                                   DescribeTableName(table) +
                                                   " is not used: " + std::string(why));
}

// Whether the rows can be read by the definition, as opening the table would find out.
Status CheckFits(THD* thd, std::string_view table, const DefinitionCopy& copy,
                 const std::string& path) {
  const ReadBack read(thd, table, path);
  if (read.table() == nullptr) return DoesNotFit(table, "the server cannot read it");
  const Dictionary& dictionary = RunningEngine()->dictionary();
  const std::vector<std::string> entries = dictionary.EntriesOf(table);
  const bool is_partitioned = entries.size() != 1 || entries.front() != table;
  if (is_partitioned != !copy.partitions.empty()) {
    return DoesNotFit(table, "it is one of a table with partitions, or the table is");
  }
  if (is_partitioned) {
    const auto partitions = PartitionsIn(copy.partitions);
    if (!partitions.has_value() || !HasPartitions(table, *partitions)) {
      return DoesNotFit(table, "the table has other partitions");
    }
  }
  for (const std::string& entry : entries) {
    auto description = DescribeTable(*read.table(), entry);
    if (!description.ok()) return DoesNotFit(table, description.status().ToString());
    const auto opened = Table::Open(dictionary.Find(entry), std::move(description->layout),
                                    std::move(description->indexes));
    if (!opened.ok()) return DoesNotFit(table, opened.status().ToString());
  }
  return Status();
}

// The table's name is this session's until the end: nobody creates, opens or drops one meanwhile.
class LockedName {
 public:
  LockedName(THD* thd, const TableName& name)
      : context_(&thd->mdl_context), savepoint_(context_->mdl_savepoint()) {
    MDL_REQUEST_INIT(&backup_, MDL_key::BACKUP, "", "", MDL_BACKUP_DDL, MDL_STATEMENT);
    MDL_REQUEST_INIT(&schema_, MDL_key::SCHEMA, name.schema.c_str(), "", MDL_INTENTION_EXCLUSIVE,
                     MDL_TRANSACTION);
    MDL_REQUEST_INIT(&table_, MDL_key::TABLE, name.schema.c_str(), name.table.c_str(),
                     MDL_EXCLUSIVE, MDL_TRANSACTION);
    MDL_request_list requests;
    requests.push_front(&table_);
    requests.push_front(&schema_);
    requests.push_front(&backup_);
    is_locked_ =
        !context_->acquire_locks(&requests, static_cast<double>(thd->variables.lock_wait_timeout));
  }
  ~LockedName() { context_->rollback_to_savepoint(savepoint_); }
  LockedName(const LockedName&) = delete;
  LockedName& operator=(const LockedName&) = delete;

  bool is_locked() const { return is_locked_; }  // False: it is reported why.

 private:
  MDL_context* const context_;
  const MDL_savepoint savepoint_;
  MDL_request backup_;
  MDL_request schema_;
  MDL_request table_;
  bool is_locked_ = false;
};

// Reports why there is no copy to be used.
void PushNoCopy(std::string_view table, const Status& loaded) {
  const std::string name = DescribeTableName(table);
  if (loaded.code() == StatusCode::kNotFound) {
    PushError(Status(StatusCode::kNotFound,
                     "there is no copy of the definition of table " + name +
                         ", which has not been opened since this release of Cairn came: put " +
                         DefinitionFileOf(table, kDefinitionFile) + " back from a backup"));
  } else if (loaded.code() == StatusCode::kMetadataMismatch) {
    PushError(DoesNotFit(table, loaded.message()));
  } else {
    PushError(loaded.WithContext("the copy of the definition of table " + name));
  }
}

// False: it is reported what is wrong.
bool RestoreDefinition(THD* thd, const std::string& table) {
  Engine* const engine = RunningEngine();
  const TableName name = DecodeTableName(table);
  const LockedName locked(thd, name);
  if (!locked.is_locked()) return false;
  const std::string file = DefinitionFileOf(table, kDefinitionFile);
  if (IsThere(file)) {
    my_error(ER_TABLE_EXISTS_ERROR, MYF(0), DescribeTableName(table).c_str());
    return false;
  }
  if (const auto quarantined = engine->dictionary().FindQuarantined(table)) {
    RefuseQuarantined(*quarantined);
    return false;
  }
  if (engine->dictionary().EntriesOf(table).empty()) {
    my_error(ER_NO_SUCH_TABLE, MYF(0), name.schema.c_str(), name.table.c_str());
    return false;
  }
  if (!IsThere(file.substr(0, file.rfind('/')))) {
    my_error(ER_BAD_DB_ERROR, MYF(0), name.schema.c_str());
    return false;
  }
  const auto copy = engine->dictionary().LoadDefinitionCopy(table);
  if (!copy.ok()) {
    PushNoCopy(table, copy.status());
    return false;
  }
  const std::lock_guard one(restoring);
  const UnfinishedFiles files(table, *copy);
  Status restored = files.Write();
  if (restored.ok()) restored = CheckFits(thd, table, *copy, files.path());
  if (restored.ok()) restored = files.Finish();
  if (!restored.ok()) {
    PushError(restored);
    return false;
  }
  tdc_remove_table(thd, name.schema.c_str(), name.table.c_str());
  engine->database().log().Write(Severity::kNote, "table " + DescribeTableName(table) +
                                                      " has its definition back, from its copy");
  return true;
}

// Takes a name off the front of `*text`: in backquotes, or what comes before `end`.
std::optional<std::string> ConsumeName(std::string_view* text, std::optional<char> end) {
  std::string name;
  if (!text->starts_with('`')) {
    const size_t length = end.has_value() ? text->find(*end) : text->size();
    if (length == std::string_view::npos || length == 0) return std::nullopt;
    name = text->substr(0, length);
    text->remove_prefix(length);
    return name;
  }
  text->remove_prefix(1);
  for (size_t quote = text->find('`'); quote != std::string_view::npos; quote = text->find('`')) {
    name += text->substr(0, quote);
    text->remove_prefix(quote + 1);
    if (!text->starts_with('`')) return name.empty() ? std::nullopt : std::optional(name);
    name += '`';
    text->remove_prefix(1);
  }
  return std::nullopt;
}

struct WantedTables {
  std::string database;
  std::string table;
  bool all = false;  // Of the database; `table` is empty.
};

std::optional<WantedTables> ReadWanted(std::string_view text) {
  WantedTables wanted;
  const auto database = ConsumeName(&text, '.');
  if (!database.has_value() || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  wanted.database = *database;
  wanted.all = text == "*";
  if (wanted.all) return wanted;
  const auto table = ConsumeName(&text, std::nullopt);
  if (!table.has_value() || !text.empty()) return std::nullopt;
  wanted.table = *table;
  const bool fits = wanted.database.size() <= NAME_LEN && wanted.table.size() <= NAME_LEN;
  return fits ? std::optional(wanted) : std::nullopt;
}

// Tables of a database that have no definition, "db.table".
std::set<std::string> LackingDefinitions(THD* thd, const std::string& database) {
  const std::string any = DictionaryNameOf(database, "t");
  const std::string_view encoded = SplitDictionaryName(any).database;
  std::set<std::string> lacking;
  for (const std::string& entry : RunningEngine()->dictionary().EntriesOfDatabase(encoded)) {
    const std::string table(TableOfEntry(entry));
    if (lacking.contains(table) || !LacksDefinition(thd, table)) continue;
    if (!RunningEngine()->dictionary().FindQuarantined(entry).has_value()) lacking.insert(table);
  }
  return lacking;
}

// False: it is reported why nothing may be changed here and now.
bool MayRestore(THD* thd) {
  if (thd->locked_tables_mode != LTM_NONE) {
    my_error(ER_LOCK_OR_ACTIVE_TRANSACTION, MYF(0));
    return false;
  }
  if (opt_readonly && check_global_access(thd, PRIV_IGNORE_READ_ONLY, /*no_errors=*/true)) {
    my_error(ER_OPTION_PREVENTS_STATEMENT, MYF(0), "--read-only");
    return false;
  }
  return !thd->has_read_only_protection();
}

// As SET GLOBAL takes it, in the quotes of a string.
std::string ForSet(std::string_view table) {
  const TableName name = DecodeTableName(table);
  std::string text;
  for (const std::string& part : {name.schema, name.table}) {
    if (!text.empty()) text += '.';
    const bool needs_quotes = part.find_first_of(".`'*\\") != std::string::npos;
    if (!needs_quotes) {
      text += part;
      continue;
    }
    text += '`';
    for (const char character : part) {
      if (character == '`' || character == '\'' || character == '\\') text += character;
      text += character;
    }
    text += '`';
  }
  return text;
}

}  // namespace

bool LacksDefinition(THD* thd, std::string_view table) {
  if (IsServerMade(table)) return false;
  const std::string file = DefinitionFileOf(table, kDefinitionFile);
  const auto is_missing = [&file] { return !IsThere(file) && errno == ENOENT; };
  if (!is_missing()) return false;
  // RENAME moves the file after the engine's entry.
  const TableName name = DecodeTableName(table);
  MDL_key key(MDL_key::TABLE, name.schema.c_str(), name.table.c_str());
  return thd->mdl_context.get_lock_owner(&key) == 0 && is_missing();
}

std::string RemedyForLackingDefinition(std::string_view table) {
  const auto copy = RunningEngine()->dictionary().LoadDefinitionCopy(table);
  if (!copy.ok()) {
    return "there is no copy of it that could be used: put the file back from a backup; DROP TABLE "
           "removes the table for good";
  }
  return "SET GLOBAL " + std::string(kVariable) + " = '" + ForSet(table) +
         "' brings it back; DROP TABLE removes the table for good";
}

void RestoreDefinitionNow(THD* thd, st_mysql_sys_var*, void*, const void* value) {
  const char* const text = *static_cast<const char* const*>(value);
  const auto wanted = text == nullptr ? std::nullopt : ReadWanted(text);
  if (RunningEngine() == nullptr || (text != nullptr && *text == '\0')) return;
  if (!wanted.has_value()) {
    my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0), kVariable, text == nullptr ? "NULL" : text);
    return;
  }
  const WithoutVariablesLock unlocked;
  if (!MayRestore(thd)) return;
  if (!wanted->all) {
    RestoreDefinition(thd, DictionaryNameOf(wanted->database, wanted->table));
    return;
  }
  for (const std::string& table : LackingDefinitions(thd, wanted->database)) {
    if (!RestoreDefinition(thd, table)) return;
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_NOTE, ER_UNKNOWN_ERROR,
                        "table %s has its definition back", DescribeTableName(table).c_str());
  }
}

}  // namespace cairn
