#include "mariadb/other_table.h"

#include <string>
#include <utility>

#include "mariadb/engine.h"
#include "mariadb/old_weights.h"
#include "mariadb/server_headers.h"
#include "mariadb/table_description.h"
#include "mariadb/table_name.h"
#include "table_cache.h"

namespace cairn {

// Names that the server makes come again, with other tables: it keeps no definition by them, and so
// must not be made to.
struct OtherTable::OwnShare {
  OwnShare(THD* thd, std::string_view dictionary_name)
      : schema(SplitDictionaryName(dictionary_name).database),
        name(SplitDictionaryName(dictionary_name).table),
        path("./" + schema + "/" + name) {
    InitOwnShare(thd, &share, schema.c_str(), name.c_str(), path.c_str());
  }
  ~OwnShare() { free_table_share(&share); }

  // As files are called.
  const std::string schema;
  const std::string name;
  const std::string path;
  TABLE_SHARE share;
};

OtherTable::OtherTable() = default;

OtherTable::~OtherTable() { Close(); }

void OtherTable::Close() {
  if (table_ != nullptr) closefrm(table_.get());
  table_.reset();
  if (share_ != nullptr && own_share_ == nullptr) tdc_release_share(share_);
  share_ = nullptr;
  own_share_.reset();
}

TABLE_SHARE* OtherTable::OpenShare(THD* thd, std::string_view dictionary_name) {
  if (IsServerMade(dictionary_name)) {
    own_share_ = std::make_unique<OwnShare>(thd, dictionary_name);
    const bool opened = open_table_def(thd, &own_share_->share, GTS_TABLE) == OPEN_FRM_OK;
    return opened ? &own_share_->share : nullptr;
  }
  const TableName name = DecodeTableName(dictionary_name);
  const LEX_CSTRING database = {name.schema.c_str(), name.schema.size()};
  const LEX_CSTRING table_name = {name.table.c_str(), name.table.size()};
  TABLE_LIST reference;
  reference.init_one_table(&database, &table_name, nullptr, TL_READ);
  return tdc_acquire_share(thd, &reference, GTS_TABLE);
}

bool OtherTable::Open(THD* thd, std::string_view dictionary_name) {
  Close();
  const TableName name = DecodeTableName(dictionary_name);
  const LEX_CSTRING table_name = {name.table.c_str(), name.table.size()};
  Dummy_error_handler nobody_is_told;
  thd->push_internal_handler(&nobody_is_told);
  share_ = OpenShare(thd, dictionary_name);
  if (share_ != nullptr) {
    table_ = std::make_unique<TABLE>();
    // Divisions in virtual columns get their digits here, as those of the tables did by whose
    // statements entries of indexes were made: hardly ever those of this session.
    const auto own_digits = thd->variables.div_precincrement;
    thd->variables.div_precincrement = global_system_variables.div_precincrement;
    const open_frm_error error = open_table_from_share(
        thd, share_, &table_name, /*db_stat=*/0, EXTRA_RECORD | OPEN_FRM_FILE_ONLY,
        /*ha_open_flags=*/0, table_.get(), /*is_create_table=*/false);
    thd->variables.div_precincrement = own_digits;
    // What it has allocated by then, it frees itself.
    if (error != OPEN_FRM_OK) table_.reset();
  }
  thd->pop_internal_handler();
  if (table_ == nullptr) Close();
  return table_ != nullptr;
}

bool LockDefinition(THD* thd, std::string_view dictionary_name, DefinitionLock lock) {
  enum_mdl_type type = MDL_SHARED_HIGH_PRIO;
  if (lock == DefinitionLock::kFence) type = MDL_SHARED_NO_WRITE;
  if (lock == DefinitionLock::kRead) type = MDL_SHARED_READ;
  if (lock == DefinitionLock::kWrite) type = MDL_SHARED_WRITE;
  const bool of_statement = lock == DefinitionLock::kHold || lock == DefinitionLock::kFence;
  const TableName name = DecodeTableName(dictionary_name);
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::TABLE, name.schema.c_str(), name.table.c_str(), type,
                   of_statement ? MDL_STATEMENT : MDL_TRANSACTION);
  return !thd->mdl_context.acquire_lock(&request,
                                        static_cast<double>(thd->variables.lock_wait_timeout));
}

Status RefusedLock(THD* thd) {
  const bool deadlock = thd->is_error() && thd->get_stmt_da()->sql_errno() == ER_LOCK_DEADLOCK;
  return Status(deadlock ? StatusCode::kDeadlock : StatusCode::kInterrupted);
}

Result<std::shared_ptr<const Table>> OpenOther(THD* thd, std::string_view dictionary_name) {
  if (!LockDefinition(thd, dictionary_name, DefinitionLock::kHold)) return RefusedLock(thd);
  return OpenLocked(thd, dictionary_name);
}

Result<std::shared_ptr<const Table>> OpenLocked(THD* thd, std::string_view dictionary_name) {
  std::shared_ptr<const Table> none;
  const auto definition = RunningEngine()->dictionary().Find(dictionary_name);
  OtherTable other;
  if (definition == nullptr || definition->temporary) return none;
  if (!other.Open(thd, dictionary_name)) {
    // The server reads no definition for a session that is being killed.
    if (thd->killed) return Status(StatusCode::kInterrupted);
    return Status(StatusCode::kNotFound,
                  "the server cannot open the definition of table " + std::string(dictionary_name));
  }
  CAIRN_ASSIGN_OR_RETURN(TableDescription description,
                         DescribeTable(*other.table(), dictionary_name));
  NoteWeightsOfOpened(description.layout);
  return Table::Open(definition, std::move(description.layout), std::move(description.indexes));
}

}  // namespace cairn
