#include "mariadb/foreign_key_copy.h"

#include <algorithm>

#include "engine/table/foreign_key_check.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/foreign_key_alter.h"
#include "mariadb/foreign_key_binding.h"
#include "mariadb/foreign_key_clauses.h"
#include "mariadb/foreign_key_errors.h"
#include "mariadb/foreign_key_texts.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/other_table.h"
#include "mariadb/session.h"
#include "mariadb/table_name.h"

namespace cairn {
namespace {

// The table that the statement copies.
const TABLE_LIST* Source(THD* thd) { return thd->lex->query_tables; }

std::string NameOfSource(THD* thd) {
  const TABLE_LIST* const source = Source(thd);
  return DictionaryNameOf({source->db.str, source->db.length},
                          {source->table_name.str, source->table_name.length});
}

// Whether it has foreign keys, in either role.
bool SourceTakesPart(THD* thd) {
  const TABLE_LIST* const source = Source(thd);
  const auto* const handler = source == nullptr || source->table == nullptr
                                  ? nullptr
                                  : dynamic_cast<const ha_rocksdb*>(source->table->file);
  return handler != nullptr && handler->TakesPartInForeignKeys();
}

int Refuse(const char* what) {
  my_error(ER_NOT_SUPPORTED_YET, MYF(0), what);
  return HA_WRONG_CREATE_OPTION;
}

// Whether the copy keeps what the table's own foreign keys, and those that reference it, need. The
// server lets no copy give their columns other names.
int CheckThoseThatStay(THD* thd, const TABLE& form, const Alter_info& info, uint64_t ttl_seconds,
                       const std::string& source) {
  const TABLE& table = *Source(thd)->table;
  if (!KeepsForeignKeys(table, form, info, /*drops_index=*/false, source)) {
    return HA_WRONG_CREATE_OPTION;
  }
  const ForeignKeys& keys = RunningEngine()->dictionary().foreign_keys();
  const std::vector<uint32_t> dropped = DroppedForeignKeys(info, source);
  const auto is_dropped = [&dropped](const ForeignKeys::Pointer& key) {
    return std::find(dropped.begin(), dropped.end(), key->number) != dropped.end();
  };
  auto of_parent = keys.OfParent(source);
  std::erase_if(of_parent, is_dropped);
  if (of_parent.empty()) return 0;
  return WhyNeverParent(ttl_seconds).empty()
             ? 0
             : Refuse("ttl_duration for a table that foreign keys reference");
}

}  // namespace

bool IsCopyOfAlter(THD* thd, std::string_view name) {
  return IsServerMade(name) && MayRedefineTable(thd) && Source(thd) != nullptr;
}

std::string NameOfCopied(THD* thd, const std::string& name) {
  if (!IsCopyOfAlter(thd, name)) return name;
  const LEX* const lex = thd->lex;
  const bool renames =
      thd_sql_command(thd) == SQLCOM_ALTER_TABLE && (lex->alter_info.flags & ALTER_RENAME) != 0;
  if (!renames) return NameOfSource(thd);
  const LEX_CSTRING database =
      lex->first_select_lex()->db.str != nullptr ? lex->first_select_lex()->db : Source(thd)->db;
  return DictionaryNameOf({database.str, database.length}, {lex->name.str, lex->name.length});
}

bool KeepsName(THD* thd, const std::string& copy) {
  return IsCopyOfAlter(thd, copy) && SourceTakesPart(thd) &&
         NameOfCopied(thd, copy) == NameOfSource(thd);
}

int CheckRenameOfCopy(THD* thd, const std::string& copy) {
  if (!IsCopyOfAlter(thd, copy)) return 0;
  const TABLE* const table = Source(thd)->table;
  if (table != nullptr && table->s->tmp_table != NO_TMP_TABLE) return 0;
  const std::string source = NameOfSource(thd);
  if (NameOfCopied(thd, copy) == source) return 0;
  if (DecodeTableName(source).table == SplitDictionaryName(source).table) return 0;
  return Refuse("RENAME of a table whose name has special characters, with a change that copies");
}

int ReadForeignKeysOfCopy(THD* thd, const TABLE& form, const TableDescription& description,
                          const HA_CREATE_INFO& create_info, uint64_t ttl_seconds,
                          const std::string& name, std::vector<ForeignKeyRecord>* keys) {
  if (create_info.alter_info == nullptr) return 0;
  const Alter_info& info = *create_info.alter_info;
  const std::string source = NameOfSource(thd);
  const std::string final_name = NameOfCopied(thd, name);
  const bool takes_part = SourceTakesPart(thd);
  if (takes_part) {
    if (const int error = CheckThoseThatStay(thd, form, info, ttl_seconds, source)) return error;
  }
  if (const int error = ReadForeignKeys(thd, form, description, info, TableLifetime::kPermanent,
                                        final_name, keys)) {
    return error;
  }
  if (!takes_part && keys->empty()) return 0;
  for (ForeignKeyRecord& key : *keys) {
    if (key.parent == source && source != final_name) {
      return Refuse("RENAME together with a foreign key to the former name");
    }
    key.state = ForeignKeyState::kToAdd;
    key.child = name;
  }
  for (const uint32_t number : DroppedForeignKeys(info, source)) {
    keys->push_back({.state = ForeignKeyState::kToDrop, .other = number, .child = name});
  }
  keys->push_back({.state = ForeignKeyState::kReplaces, .child = name, .parent = source});
  return 0;
}

int CheckNewForeignKeys(THD* thd, const std::vector<ForeignKeyRecord>& added,
                        const std::shared_ptr<const Table>& child, TABLE* table) {
  if (thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS)) return 0;
  std::vector<unsigned char> own;
  if (table == nullptr) own.resize(child->layout().record_bytes);
  unsigned char* const record = table != nullptr ? table->record[0] : own.data();
  for (const ForeignKeyRecord& each : added) {
    const auto key = BindNewForeignKey(thd, each, child);
    const auto found = key.ok() ? HasOrphan(&RunningEngine()->database(), *child, *key, record)
                                : Result<bool>(key.status());
    if (!found.ok()) return HandlerError(found.status());
    if (!*found) continue;
    std::string text = DescribeForeignKeyOfTable(thd, each);
    std::string note = "A foreign key cannot be made, as a row has no parent (1452)\n" + text;
    if (table != nullptr) {
      note += "\nValues of the child: " +
              DescribeValues(table, each, &ForeignKeyRecord::ColumnPair::child, record);
    }
    RunningEngine()->foreign_key_errors().Note(thd, note);
    return HandlerError(Status(StatusCode::kNoReferencedRow, std::move(text)));
  }
  return 0;
}

int CheckCopiedReferences(THD* thd, const std::shared_ptr<const Table>& copy, TABLE* table) {
  const std::string& name = copy->definition().name;
  const std::string final_name = NameOfCopied(thd, name);
  std::vector<ForeignKeyRecord> added;
  for (const auto& intent : RunningEngine()->dictionary().foreign_keys().IntentsOf(name)) {
    if (intent->record.state != ForeignKeyState::kToAdd) continue;
    added.push_back(intent->record);
    added.back().child = final_name;
  }
  if (const int error = CheckNewForeignKeys(thd, added, copy, table)) return error;
  Session::Of(thd).NoteCheckedCopy(copy->definition());
  return 0;
}

// The server copies tables with long unique values row by row, in the session's transaction, which
// it commits before it renames them.
int CheckUncheckedCopy(THD* thd, const std::string& from) {
  if (!IsCopyOfAlter(thd, from)) return 0;
  const auto definition = RunningEngine()->dictionary().Find(from);
  if (definition == nullptr || Session::Of(thd).HasCheckedCopy(*definition)) return 0;
  const auto intents = RunningEngine()->dictionary().foreign_keys().IntentsOf(from);
  if (std::none_of(intents.begin(), intents.end(), [](const ForeignKeys::Pointer& intent) {
        return intent->record.state == ForeignKeyState::kToAdd;
      })) {
    return 0;
  }
  const auto copy = OpenOther(thd, from);
  if (!copy.ok()) return HandlerError(copy.status());
  if (*copy == nullptr) return HA_ERR_INTERNAL_ERROR;
  ScopedWaitObserver observer(&Session::Of(thd));
  return CheckCopiedReferences(thd, *copy, /*table=*/nullptr);
}

}  // namespace cairn
