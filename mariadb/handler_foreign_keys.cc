// Foreign keys of an open table: by which its rows are checked, and what the server is told.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/table/foreign_key_actions.h"
#include "engine/table/foreign_key_check.h"
#include "mariadb/child_columns.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/foreign_key_binding.h"
#include "mariadb/foreign_key_copy.h"
#include "mariadb/foreign_key_errors.h"
#include "mariadb/foreign_key_texts.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/other_table.h"
#include "mariadb/table_description.h"
#include "mariadb/table_name.h"

using cairn::BoundForeignKey;
using cairn::BoundForeignKeys;
using cairn::ForeignKey;
using cairn::ForeignKeyChecks;
using cairn::Status;
using cairn::StatusCode;

namespace {

const char* WhyRefused(StatusCode code) {
  switch (code) {
    case StatusCode::kNoReferencedRow:
      return "A row has no parent (1452)";
    case StatusCode::kRowIsReferenced:
      return "A row is referenced, or what follows from it cannot be done (1451)";
    case StatusCode::kForeignDuplicateKey:
      return "An action would give a child a value that is taken in a unique key (1761)";
    default:
      return "Too many actions would follow from one another (1296)";
  }
}

// The foreign key of this number, if its other table is at hand; else null.
const BoundForeignKey* FindBound(const std::vector<BoundForeignKey>& keys, uint32_t number) {
  const auto found = std::find_if(keys.begin(), keys.end(), [number](const BoundForeignKey& key) {
    return key.key->number == number && key.other != nullptr;
  });
  return found == keys.end() ? nullptr : &*found;
}

// What a statement may do to rows of a table that it writes to, where foreign keys are checked.
// Functions and triggers may do anything; so may what a replica applies.
cairn::RowChanges ChangesOfStatement(THD* thd) {
  if (thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS)) return {};
  const LEX* const lex = thd->lex;
  if (thd->in_sub_stmt || thd->locked_tables_mode != LTM_NONE || thd->slave_thread) {
    return {.deletes = true, .updates = true};
  }
  switch (lex->sql_command) {
    case SQLCOM_SELECT:
      return {};
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_LOAD:
      return {.deletes = lex->duplicates != DUP_ERROR, .updates = lex->duplicates != DUP_ERROR};
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
      return {.updates = true};
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI:
      return {.deletes = true};
    default:
      return {.deletes = true, .updates = true};
  }
}

}  // namespace

// The statement is going to write. Since the table was opened, another one may have made it its
// parent or ceased to, and may have another definition since the foreign keys were bound.
int ha_rocksdb::BindForeignKeys(THD* thd) {
  const bool takes_part = TakesPartInForeignKeys();
  if (engine_table_->takes_part_in_foreign_keys() != takes_part) {
    if (const int error = BindTable()) return error;
  }
  if (!takes_part) {
    writer_->foreign_keys().Bind(nullptr);
    return 0;
  }
  const cairn::ForeignKeys& known = cairn::RunningEngine()->dictionary().foreign_keys();
  // Definitions may change as long as one of the locks is waited for.
  uint64_t generation;
  do {
    generation = known.generation();
    const Status locked = reached_.Lock(thd, dictionary_name_, ChangesOfStatement(thd), generation);
    if (locked.ok()) continue;
    cairn::Session::Of(thd).NoteReportedError(thd->query_id);
    return OperationError(locked);
  } while (known.generation() != generation);
  const auto bound = CurrentForeignKeys(thd);
  ForeignKeyChecks& checks = writer_->foreign_keys();
  if (!bound.ok()) {
    // Whoever checks nothing may write.
    checks.RefuseAll(bound.status());
    return 0;
  }
  statement_.NoteActions(transaction().actions().Of(RowsIndex()));
  checks.Bind(*bound);
  checks.RebindWith(&known, [this] { return CurrentForeignKeys(ha_thd()); });
  PrepareActions();
  return 0;
}

// What follows in other tables when rows of this one go or change.
void ha_rocksdb::PrepareActions() {
  if (writer_->actions() != nullptr) writer_->actions()->BeginStatement();
  ForeignKeyChecks& checks = writer_->foreign_keys();
  checks.Enforce(true);
  if (!checks.has_actions(/*deletes=*/true) && !checks.has_actions(/*deletes=*/false)) return;
  if (writer_->actions() != nullptr) return;
  cairn::Engine* const engine = cairn::RunningEngine();
  const cairn::ForeignKeys* const known = &engine->dictionary().foreign_keys();
  writer_->OwnActions(std::make_unique<cairn::ForeignKeyActions>(
      &engine->database(), known,
      [this, known](const std::shared_ptr<const cairn::Table>& of) {
        return cairn::BindForeignKeys(ha_thd(), of, known->generation());
      },
      [this](const cairn::Table& of) { return cairn::OpenChildColumns(ha_thd(), of); },
      [this](std::string_view start) { return cairn::StatementTime(ha_thd(), start); }));
  writer_->actions()->BeginStatement();
}

// Whether rows that the statement has read may have been changed by actions.
bool ha_rocksdb::ActionsHaveComeBetween() {
  return writer_->foreign_keys().is_bound() &&
         transaction().actions().Of(RowsIndex()) != statement_.actions_before();
}

// Tables that the statement does not name have changed as well.
void ha_rocksdb::NoteActions() {
  cairn::Session& session = cairn::Session::Of(ha_thd());
  for (const auto& changed : writer_->actions()->changed())
    session.NoteChange(changed->definition());
}

bool ha_rocksdb::get_foreign_dup_key(char* table_name, uint table_bytes, char* key_name,
                                     uint key_bytes) {
  const cairn::ForeignKeyActions* const actions = writer_ == nullptr ? nullptr : writer_->actions();
  if (actions == nullptr) return false;
  const cairn::Table& child = actions->duplicate_table();
  const std::string name = cairn::DecodeTableName(child.definition().name).table;
  strmake(table_name, name.c_str(), table_bytes - 1);
  strmake(key_name, child.index(actions->duplicate_index()).layout().name.c_str(), key_bytes - 1);
  return true;
}

cairn::Result<std::shared_ptr<const BoundForeignKeys>> ha_rocksdb::CurrentForeignKeys(THD* thd) {
  const uint64_t generation = cairn::RunningEngine()->dictionary().foreign_keys().generation();
  lock_shared_ha_data();
  std::shared_ptr<const BoundForeignKeys> bound = shared_->foreign_keys;
  unlock_shared_ha_data();
  if (bound != nullptr && bound->generation == generation) return bound;
  CAIRN_ASSIGN_OR_RETURN(bound, cairn::BindForeignKeys(thd, engine_table_, generation));
  if (!bound->is_complete) return bound;
  lock_shared_ha_data();
  shared_->foreign_keys = bound;
  unlock_shared_ha_data();
  return bound;
}

// The error of a row that a foreign key has refused, with its words.
Status ha_rocksdb::DescribeRefusal(StatusCode code) {
  const ForeignKeyChecks& checks = writer_->foreign_keys();
  const ForeignKey& key = checks.failed();
  if (code == StatusCode::kForeignKeyDepth) {
    push_warning(ha_thd(), Sql_condition::WARN_LEVEL_WARN, HA_ERR_ROW_IS_REFERENCED,
                 "Cannot delete or update rows: actions of foreign keys would follow from one "
                 "another through more than 15 rows.");
  }
  std::string text = cairn::DescribeForeignKeyOfTable(ha_thd(), key.record);
  cairn::RunningEngine()->foreign_key_errors().Note(
      ha_thd(), WhyRefused(code) + ("\n" + text) + DescribeRefusedRow(code, checks));
  // The server has words of its own for the table and the key of that.
  if (code == StatusCode::kForeignDuplicateKey) return Status(code);
  return Status(code, std::move(text));
}

// A line with the values of the row, in the columns of the foreign key.
std::string ha_rocksdb::DescribeRefusedRow(StatusCode code, const ForeignKeyChecks& checks) {
  using Record = cairn::ForeignKeyRecord;
  const Record& key = checks.failed().record;
  const bool is_child = code == StatusCode::kNoReferencedRow;
  const auto side = is_child ? &Record::ColumnPair::child : &Record::ColumnPair::parent;
  const auto describe = [&](TABLE* of) {
    return std::string(is_child ? "\nValues of the child: " : "\nValues of the parent: ") +
           cairn::DescribeValues(of, key, side, checks.failed_record());
  };
  if (checks.failed_record() == nullptr) return std::string();
  if (!checks.failed_elsewhere()) return describe(table);
  // The statement has a metadata lock on the table, as it has written to it.
  cairn::OtherTable other;
  if (!other.Open(ha_thd(), is_child ? key.child : key.parent)) return std::string();
  return describe(other.table());
}

// CHECK TABLE ... EXTENDED: rows without their parent, which statements with foreign_key_checks=0
// leave behind.
int ha_rocksdb::WarnOfOrphans(THD* thd) {
  if (!TakesPartInForeignKeys()) return 0;
  // Bound anew, which holds the definitions of the parents to the end of the statement.
  const cairn::ForeignKeys& known = cairn::RunningEngine()->dictionary().foreign_keys();
  auto bound = cairn::BindForeignKeys(thd, engine_table_, known.generation());
  // A parent may have got another name while it was waited for.
  while (bound.ok() && (*bound)->generation != known.generation()) {
    bound = cairn::BindForeignKeys(thd, engine_table_, known.generation());
  }
  if (!bound.ok()) return cairn::AdminError(thd, bound.status());
  transaction().RenewSnapshot();  // The definitions may be newer than what the check has seen.
  const auto warn = [&](const std::string& text) {
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_GET_ERRMSG, text.c_str());
  };
  for (const BoundForeignKey& key : (*bound)->as_child) {
    const cairn::ForeignKeyRecord& record = key.key->record;
    const std::string named = "foreign key " + cairn::QuotedName(thd, record.name);
    if (key.other == nullptr) {
      const bool exists =
          cairn::RunningEngine()->dictionary().FindForForeignKeys(record.parent) != nullptr;
      warn("The parent " + cairn::QuotedTable(thd, record.parent) + " of " + named +
           (exists ? " cannot be opened or does not fit it" : " is not there"));
      continue;
    }
    const auto orphans = cairn::FindOrphans(&transaction(), *engine_table_, key, table->record[0]);
    if (orphans.status().code() == StatusCode::kDefinitionTooNew) {
      warn("The parent of " + named + " has been changed: check the table again");
      continue;
    }
    if (!orphans.ok()) return cairn::AdminError(thd, orphans.status());
    if (orphans->count == 0) continue;
    warn(std::to_string(orphans->count) + " rows lack their parent by " + named +
         ", the first of them with " +
         cairn::DescribeValues(table, record, &cairn::ForeignKeyRecord::ColumnPair::child,
                               orphans->first.data()) +
         ": " + cairn::OrphanQuery(thd, record));
  }
  return 0;
}

// The rows of a copy are there, and it is about to get new foreign keys with its name.
int ha_rocksdb::CheckCopiedReferences() {
  if (!TakesPartInForeignKeys()) return 0;
  cairn::ScopedWaitObserver observer(&cairn::Session::Of(ha_thd()));
  return cairn::CheckCopiedReferences(ha_thd(), engine_table_, table);
}

// The server copies tables with long unique values row by row, in the session's transaction, and
// has committed that. A rename that failed would end the lock that LOCK TABLES has of the table.
int ha_rocksdb::EndUncheckedCopy() {
  copy_.awaits_check = false;
  if (ha_thd()->is_error() || !cairn::IsCopyOfAlter(ha_thd(), dictionary_name_)) return 0;
  if (transaction().has_writes()) return 0;  // Looked at when it gets its name: rename_table().
  if (cairn::Session::Of(ha_thd()).HasCheckedCopy(engine_table_->definition())) return 0;
  const int error = CheckCopiedReferences();
  if (error != 0) ReportAtOnce(error);
  return error;
}

int ha_rocksdb::get_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) {
  if (!TakesPartInForeignKeys()) return 0;
  const auto bound = CurrentForeignKeys(thd);
  for (const auto& key :
       cairn::RunningEngine()->dictionary().foreign_keys().OfChild(dictionary_name_)) {
    std::string parent_index;
    cairn::ForeignKeyLayouts tables{.child = &engine_table_->layout()};
    const BoundForeignKey* const found =
        bound.ok() ? FindBound((*bound)->as_child, key->number) : nullptr;
    if (found != nullptr) {
      parent_index = found->other->index(found->other_index).layout().name;
      tables.parent = &found->other->layout();
    }
    FOREIGN_KEY_INFO* const info =
        cairn::MakeForeignKeyInfo(thd, key->record, tables, parent_index);
    if (info == nullptr || list->push_back(info, thd->mem_root)) return HA_ERR_OUT_OF_MEM;
  }
  return 0;
}

// Those that name this table, whether they are bound or not.
//
// None for UPDATE of several tables, which needs no list: external_lock() locks what it reaches.
// The server opens the children after it has looked up the statement's columns. If it has to close
// its tables while it waits for one, it goes on with the columns of tables that are gone.
int ha_rocksdb::get_parent_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) {
  if (!TakesPartInForeignKeys() || thd_sql_command(thd) == SQLCOM_UPDATE_MULTI) return 0;
  // Each statement that changes rows asks here, and wants names alone.
  const bool wants_nulls = cairn::MayRedefineTable(thd);
  std::shared_ptr<const BoundForeignKeys> bound;
  if (wants_nulls) {
    const auto current = CurrentForeignKeys(thd);
    if (current.ok()) bound = *current;
  }
  for (const auto& key :
       cairn::RunningEngine()->dictionary().foreign_keys().OfParent(dictionary_name_)) {
    cairn::ForeignKeyLayouts tables;
    if (wants_nulls) tables.parent = &engine_table_->layout();
    const BoundForeignKey* const found =
        bound == nullptr ? nullptr : FindBound(bound->as_parent, key->number);
    if (found != nullptr) tables.child = &found->other->layout();
    FOREIGN_KEY_INFO* const info = cairn::MakeForeignKeyInfo(thd, key->record, tables, "");
    if (info == nullptr || list->push_back(info, thd->mem_root)) return HA_ERR_OUT_OF_MEM;
  }
  return 0;
}

bool ha_rocksdb::referenced_by_foreign_key() const noexcept {
  return TakesPartInForeignKeys() &&
         cairn::RunningEngine()->dictionary().foreign_keys().IsParent(dictionary_name_);
}

bool ha_rocksdb::can_switch_engines() { return !TakesPartInForeignKeys(); }

bool ha_rocksdb::is_fk_defined_on_table_or_index(uint index) {
  if (!TakesPartInForeignKeys()) return false;
  const auto keys = cairn::RunningEngine()->dictionary().foreign_keys().OfChild(dictionary_name_);
  if (index == MAX_KEY) return !keys.empty();
  const auto bound = CurrentForeignKeys(ha_thd());
  // What cannot be told is taken for used.
  if (!bound.ok()) return true;
  const auto uses = [index](const BoundForeignKey& key) { return key.index == index; };
  return std::any_of((*bound)->as_child.begin(), (*bound)->as_child.end(), uses) ||
         std::any_of((*bound)->as_parent.begin(), (*bound)->as_parent.end(), uses);
}

char* ha_rocksdb::get_foreign_key_create_info() {
  if (!TakesPartInForeignKeys()) return nullptr;
  std::string text;
  for (const auto& key :
       cairn::RunningEngine()->dictionary().foreign_keys().OfChild(dictionary_name_)) {
    text += ",\n  " + cairn::DescribeForeignKey(ha_thd(), key->record);
  }
  if (text.empty()) return nullptr;
  return my_strdup(PSI_INSTRUMENT_ME, text.c_str(), MYF(0));
}

void ha_rocksdb::free_foreign_key_create_info(char* text) { my_free(text); }
