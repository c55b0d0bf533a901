// Creating, dropping, renaming and emptying tables.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mariadb/ddl_recovery.h"
#include "mariadb/definition_copies.h"
#include "mariadb/definition_restore.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/foreign_key_clauses.h"
#include "mariadb/foreign_key_copy.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/table_description.h"
#include "mariadb/table_name.h"
#include "mariadb/ttl_comment.h"

using cairn::Status;
using cairn::StatusCode;

namespace {

// Reports what dictionary and server files disagree about, in the words of the server's catalogue.
int RefuseForgottenTable(THD* thd, const char* path, const std::string& dictionary_name) {
  const std::string_view table = cairn::TableOfEntry(dictionary_name);
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_NOTE, ER_METADATA_INCONSISTENCY,
                      "table %s has rows in the engine and no definition: %s",
                      cairn::DescribeTableName(table).c_str(),
                      cairn::RemedyForLackingDefinition(table).c_str());
  my_error(ER_METADATA_INCONSISTENCY, MYF(0), dictionary_name.c_str(), path);
  return HA_ERR_INTERNAL_ERROR;
}

// Reports and refuses a new table whose name the dictionary has. One of the server's own making is
// left over from a statement that a crash cut off, and goes.
int MakeRoom(THD* thd, const char* path, const std::string& name) {
  cairn::Dictionary& dictionary = cairn::RunningEngine()->dictionary();
  const auto quarantined = dictionary.FindQuarantined(name);
  if (!quarantined.has_value() && dictionary.Find(name) == nullptr) return 0;
  if (name.find("#sql") == std::string::npos) {
    return quarantined.has_value() ? cairn::RefuseQuarantined(*quarantined)
                                   : RefuseForgottenTable(thd, path, name);
  }
  const Status dropped = dictionary.DropTable(name);
  return dropped.ok() ? 0 : cairn::HandlerError(dropped);
}

bool IsPartition(std::string_view name) { return cairn::TableOfEntry(name).size() < name.size(); }

// Whether the directory of a database that this path leads to is there. The server finds out only
// after the engine has renamed the table.
bool DatabaseExists(const char* path) {
  char directory[FN_REFLEN];
  size_t bytes;
  dirname_part(directory, path, &bytes);
  return my_access(directory, F_OK) == 0;
}

int CheckTableOptions(const TABLE& form, const HA_CREATE_INFO& create_info) {
  if (create_info.data_file_name != nullptr) {
    return cairn::RefuseToCreate(*form.s, cairn::kErrorDataDirectory);
  }
  if (create_info.index_file_name != nullptr) {
    return cairn::RefuseToCreate(*form.s, cairn::kErrorIndexDirectory);
  }
  return 0;
}

Status DropCreatedTable(cairn::Dictionary* dictionary, const cairn::TableDefinition& table) {
  if (!table.temporary) return dictionary->DropTable(table.name);
  const auto forgotten = dictionary->ForgetTemporaryTable(table.name);
  return dictionary->DropForgottenTable(*forgotten);
}

}  // namespace

int ha_rocksdb::create(const char* path, TABLE* form, HA_CREATE_INFO* create_info) {
  const auto name = cairn::DictionaryName(path);
  if (!name.ok()) return cairn::HandlerError(name.status());
  if (const int error = CheckTableOptions(*form, *create_info)) return error;
  if (const int error = cairn::CheckRenameOfCopy(ha_thd(), *name)) return error;
  cairn::TableOptions options{.features = cairn::TableFeatures(*form, create_info->sequence)};
  if (const int error = cairn::ReadTtlDuration(*form, *name, &options.ttl_seconds)) return error;
  if (cairn::HasVectorIndex(*form->s)) {
    my_error(ER_NOT_SUPPORTED_YET, MYF(0), "VECTOR indexes of tables with ENGINE=ROCKSDB");
    return HA_ERR_UNSUPPORTED;
  }
  // Types that the engine cannot store are found before anything is written.
  const auto description = cairn::DescribeTable(*form, *name);
  if (!description.ok()) return cairn::HandlerError(description.status());
  std::vector<cairn::NewIndex> indexes;
  if (const int error = cairn::DescribeNewIndexes(*form, *description, options, &indexes)) {
    return error;
  }

  cairn::Dictionary& dictionary = cairn::RunningEngine()->dictionary();
  if (const int error = MakeRoom(ha_thd(), path, *name)) return error;
  std::optional<uint64_t> next_auto_increment;
  if (create_info->auto_increment_value > 0)
    next_auto_increment = create_info->auto_increment_value;
  const auto lifetime = create_info->tmp_table() ? cairn::TableLifetime::kTemporary
                                                 : cairn::TableLifetime::kPermanent;
  std::vector<cairn::ForeignKeyRecord> foreign_keys;
  // Other statements, which may make partitions of history, bring the clauses of an earlier one,
  // whose memory is gone. The name of a temporary table says nothing: it begins with a directory.
  const bool makes_table = thd_sql_command(ha_thd()) == SQLCOM_CREATE_TABLE ||
                           (create_info->tmp_table() && cairn::MayRedefineTable(ha_thd()));
  if (makes_table && create_info->alter_info != nullptr) {
    if (const int error =
            cairn::ReadForeignKeys(ha_thd(), *form, *description, *create_info->alter_info,
                                   lifetime, *name, &foreign_keys)) {
      return error;
    }
  } else if (cairn::IsCopyOfAlter(ha_thd(), *name) && !IsPartition(*name)) {
    if (const int error = cairn::ReadForeignKeysOfCopy(ha_thd(), *form, *description, *create_info,
                                                       options.ttl_seconds, *name, &foreign_keys)) {
      return error;
    }
  }
  if (!create_info->tmp_table() && !cairn::KeepsName(ha_thd(), *name)) {
    if (const int error =
            cairn::CheckWaitingChildren(ha_thd(), *form, *description, options.ttl_seconds,
                                        cairn::NameOfCopied(ha_thd(), *name))) {
      return error;
    }
  }
  const auto definition = cairn::DefinitionOfCreated(*form, *name);
  const auto created =
      dictionary.CreateTable(*name, indexes, next_auto_increment, lifetime, foreign_keys,
                             definition.has_value() ? &*definition : nullptr);
  if (!created.ok()) return OperationError(created.status());
  if (!create_info->tmp_table()) {
    (*created)->counters->made_by_query.store(ha_thd()->query_id, std::memory_order_relaxed);
  }
  // The files written from now on tell the distinct values of the table's indexes.
  const auto opened = cairn::Table::Open(*created, description->layout, description->indexes);
  if (!opened.ok()) {
    const Status dropped = DropCreatedTable(&dictionary, **created);
    return cairn::HandlerError(dropped.ok() ? opened.status() : dropped);
  }
  cairn::Table::RegisterKeyLayouts(*opened, &cairn::RunningEngine()->database());
  return 0;
}

bool cairn::HasPreparedChanges(const TableDefinition& table) {
  Database& database = RunningEngine()->database();
  return std::any_of(table.indexes.begin(), table.indexes.end(), [&](const IndexDefinition& index) {
    return database.prepared_indexes().Names(index.id.index_number, database.rocksdb());
  });
}

namespace {

// Not what a statement has made for itself, such as CREATE ... SELECT that fails, nor what a crash
// has left of one.
bool IsDroppedByUser(std::string_view name) {
  if (current_thd == nullptr || cairn::SplitDictionaryName(name).table.starts_with("#sql")) {
    return false;
  }
  const auto table = cairn::RunningEngine()->dictionary().Find(name);
  if (table != nullptr && table->counters->made_by_query.load(std::memory_order_relaxed) ==
                              static_cast<uint64_t>(current_thd->query_id)) {
    return false;
  }
  const int command = thd_sql_command(current_thd);
  return command == SQLCOM_DROP_TABLE || command == SQLCOM_DROP_DB ||
         command == SQLCOM_CREATE_TABLE;
}

// Whether children in other tables keep the user from dropping it. With its database go those in
// the same one.
bool IsNeededParent(const cairn::Dictionary& dictionary, std::string_view name) {
  if (!IsDroppedByUser(name) || thd_test_options(current_thd, OPTION_NO_FOREIGN_KEY_CHECKS)) {
    return false;
  }
  const bool with_database = thd_sql_command(current_thd) == SQLCOM_DROP_DB;
  const std::string_view database = cairn::SplitDictionaryName(name).database;
  const auto keys = dictionary.foreign_keys().OfParent(name);
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
    const std::string& child = key->record.child;
    if (child == name) return false;
    const bool goes = with_database && cairn::SplitDictionaryName(child).database == database;
    if (!goes) return true;
    // It stays, as rows of it are still to be decided.
    const auto definition = dictionary.Find(child);
    return definition != nullptr && cairn::HasPreparedChanges(*definition);
  });
}

}  // namespace

// Not a table that prepared transactions have changed: who decides them counts on it. A partitioned
// one goes all the same, as the server has removed the list of its partitions before it asks.
//
// Also drops all partitions of a table by the table's own path: the server's recovery of a
// statement that a crash cut off asks for that, and DROP TABLE of a table that has lost the
// server's files.
int cairn::DropTableByPath(const char* path) {
  Engine* const engine = RunningEngine();
  const auto name = DictionaryName(path);
  if (engine == nullptr || !name.ok()) return HA_ERR_NO_SUCH_TABLE;
  if (auto temporary = engine->dictionary().ForgetTemporaryTable(*name)) {
    Session::Of(current_thd).DropTemporaryTable(std::move(temporary));
    return 0;
  }
  std::vector<std::string> entries = engine->dictionary().EntriesOf(*name);
  if (engine->dictionary().FindQuarantined(*name).has_value()) entries.assign(1, *name);
  if (const auto table = engine->dictionary().Find(*name);
      table != nullptr && IsDroppedByUser(*name) && HasPreparedChanges(*table)) {
    return HandlerError(Status(StatusCode::kLockTimeout));
  }
  if (IsNeededParent(engine->dictionary(), *name)) return HA_ERR_ROW_IS_REFERENCED;
  const Status dropped = engine->dictionary().DropTables(entries);
  if (!dropped.ok()) return TableError(dropped);
  if (!IsPartition(*name)) DropPartitionListInRecovery(*name);
  if (entries.empty()) return HA_ERR_NO_SUCH_TABLE;
  engine->upkeep().RemoveDroppedIndexes();
  return 0;
}

void cairn::DropTablesOfDatabase(const char* path) {
  Engine* const engine = RunningEngine();
  const auto name_in_it = DictionaryName(std::string(path) + "t");
  if (engine == nullptr || !name_in_it.ok()) return;
  const std::string_view database = SplitDictionaryName(*name_in_it).database;
  for (const std::string& left : engine->dictionary().EntriesOfDatabase(database)) {
    const Status dropped = engine->dictionary().DropTable(left);
    const std::string table = DescribeTableName(left) + " is left of a statement that failed";
    if (dropped.ok()) {
      engine->database().log().Write(Severity::kWarning, table + " and goes with its database");
    } else {
      engine->database().log().Write(Severity::kError, table + " and stays: " + dropped.ToString());
    }
  }
  engine->upkeep().RemoveDroppedIndexes();
}

namespace {

// Whether all partitions of the table go. Not those of one that cannot be created: an entry that
// stands in its way may hold the rows of another.
bool DropsAllPartitions(THD* thd, std::string_view table) {
  const int command = thd_sql_command(thd);
  return command == SQLCOM_DROP_TABLE || command == SQLCOM_DROP_DB ||
         cairn::SplitDictionaryName(table).table.starts_with("#sql");
}

}  // namespace

// DROP TABLE reaches each partition in turn. The first drops all of them, so that a failure or a
// crash leaves all or none; the others find nothing.
int ha_rocksdb::delete_table(const char* path) {
  if (!IsPartition(path)) return cairn::DropTableByPath(path);
  cairn::Engine* const engine = cairn::RunningEngine();
  const auto name = cairn::DictionaryName(path);
  if (engine != nullptr && name.ok() && DropsAllPartitions(ha_thd(), cairn::TableOfEntry(*name))) {
    const Status dropped =
        engine->dictionary().DropTables(engine->dictionary().EntriesOf(cairn::TableOfEntry(*name)));
    if (!dropped.ok()) return cairn::HandlerError(dropped);
  }
  const int error = cairn::DropTableByPath(path);
  // A partition is missing when a crash cut off a statement; what is left of its table can be
  // dropped.
  return error == HA_ERR_NO_SUCH_TABLE ? 0 : error;
}

int ha_rocksdb::rename_table(const char* from, const char* to) {
  const auto from_name = cairn::DictionaryName(from);
  const auto to_name = cairn::DictionaryName(to);
  if (!from_name.ok()) return cairn::HandlerError(from_name.status());
  if (!to_name.ok()) return cairn::HandlerError(to_name.status());
  if (!DatabaseExists(to)) return HA_ERR_GENERIC;
  const Status loaded = cairn::FinishLoadsOf(ha_thd(), cairn::TableOfEntry(*from_name));
  if (!loaded.ok()) return cairn::ReportBulkLoadError(loaded);
  cairn::Dictionary& dictionary = cairn::RunningEngine()->dictionary();
  if (const auto quarantined = dictionary.FindQuarantined(*from_name)) {
    // The server takes a refused rename back, and is content to hear that it was never done.
    const bool target_exists = dictionary.Find(*to_name) != nullptr;
    return target_exists ? HA_ERR_NO_SUCH_TABLE : cairn::RefuseQuarantined(*quarantined);
  }
  if (const auto quarantined = dictionary.FindQuarantined(*to_name)) {
    const bool source_exists = dictionary.Find(*from_name) != nullptr;
    return source_exists ? cairn::RefuseQuarantined(*quarantined) : HA_ERR_NO_SUCH_TABLE;
  }
  const std::string from_table(cairn::TableOfEntry(*from_name));
  const std::string to_table(cairn::TableOfEntry(*to_name));
  const bool same_partition =
      from_name->substr(from_table.size()) == to_name->substr(to_table.size());
  if (from_table == to_table || !same_partition || dictionary.Find(from_table) != nullptr) {
    if (const int error = cairn::CheckNewParent(ha_thd(), *from_name, *to_name)) return error;
    if (const int error = cairn::CheckUncheckedCopy(ha_thd(), *from_name)) {
      print_error(error, MYF(0));
      return error;
    }
    const auto definition = cairn::DefinitionOfExchanged(ha_thd(), *to_name);
    return cairn::RenameError(dictionary.RenameTable(
        *from_name, *to_name, definition.has_value() ? &*definition : nullptr));
  }
  // A partitioned table gets another name: the first partition takes the others along. The server's
  // recovery names the table itself, and leaves the list of its partitions to us.
  const bool is_done =
      dictionary.EntriesOf(from_table).empty() && !dictionary.EntriesOf(to_table).empty();
  if (!is_done) {
    if (const int error = cairn::RenameError(dictionary.RenamePartitions(from_table, to_table)))
      return error;
  }
  if (!IsPartition(*from_name)) cairn::RenamePartitionList(from_table, to_table);
  return 0;
}

// A copy of the rows would lack what such a transaction has changed.
int ha_rocksdb::RefuseToCopyPrepared() const {
  if (!cairn::HasPreparedChanges(engine_table_->definition())) return 0;
  return cairn::HandlerError(Status(StatusCode::kLockTimeout));
}

int ha_rocksdb::truncate() {
  // Everything that refers to the old index numbers goes before they do.
  cursor_->Close();
  if (const int error = TruncateEntries()) return error;
  if (const int error = BindTable()) return error;
  return info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | HA_STATUS_CONST);
}

// TRUNCATE TABLE and TRUNCATE PARTITION reach each partition in turn. The first empties all of them
// at once, so that a failure or a crash leaves all or none; the others find that they have been
// emptied.
int ha_rocksdb::TruncateEntries() {
  cairn::Engine* const engine = cairn::RunningEngine();
  cairn::Dictionary& dictionary = engine->dictionary();
  std::vector<std::string> entries = {dictionary_name_};
  if (IsPartition(dictionary_name_)) {
    const auto current = dictionary.Find(dictionary_name_);
    if (current != nullptr && current.get() != &engine_table_->definition()) return 0;
    entries = thd_sql_command(ha_thd()) == SQLCOM_TRUNCATE
                  ? dictionary.EntriesOf(cairn::TableOfEntry(dictionary_name_))
                  : EntriesOfMarkedPartitions();
    if (std::find(entries.begin(), entries.end(), dictionary_name_) == entries.end()) {
      entries = {dictionary_name_};
    }
  }
  for (const std::string& entry : entries) {
    const auto definition = dictionary.Find(entry);
    if (definition != nullptr && cairn::HasPreparedChanges(*definition)) {
      return cairn::HandlerError(Status(StatusCode::kLockTimeout));
    }
  }
  const Status truncated = dictionary.TruncateTables(entries);
  if (!truncated.ok()) return cairn::HandlerError(truncated);
  engine->upkeep().RemoveDroppedIndexes();
  return 0;
}

// EXCHANGE PARTITION and CONVERT TABLE ask whether two tables of equal columns and keys can be
// taken for each other. Each brings its own index numbers and column families along. Every other
// change of a definition copies.
bool ha_rocksdb::check_if_incompatible_data(HA_CREATE_INFO*, uint table_changes) {
  constexpr auto kExchanges = ALTER_PARTITION_EXCHANGE | ALTER_PARTITION_CONVERT_IN;
  const bool exchanges = thd_sql_command(ha_thd()) == SQLCOM_ALTER_TABLE &&
                         (ha_thd()->lex->alter_info.partition_flags & kExchanges) != 0;
  return exchanges && table_changes == IS_EQUAL_YES ? COMPATIBLE_DATA_YES : COMPATIBLE_DATA_NO;
}

ulonglong ha_rocksdb::table_version() const {
  const auto version = cairn::RunningEngine()->dictionary().LoadTableVersion(
      cairn::TableVersionPath(dictionary_name_));
  return version.ok() ? *version : 0;
}

void ha_rocksdb::update_create_info(HA_CREATE_INFO* create_info) {
  if (create_info->used_fields & HA_CREATE_USED_AUTO) return;
  if (info(HA_STATUS_AUTO) != 0) return;
  create_info->auto_increment_value = stats.auto_increment_value;
}
