// Opening and closing tables, capabilities, statements and locks, OPTIMIZE, errors.
#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/codec/dictionary_record.h"
#include "engine/codec/index_codec.h"
#include "engine/table/foreign_key_actions.h"
#include "engine/table/sorted_indexes.h"
#include "engine/table/table_check.h"
#include "mariadb/cairn_format.h"
#include "mariadb/cairn_range_locks.h"
#include "mariadb/cairn_variables.h"
#include "mariadb/definition_copies.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/lock_wait.h"
#include "mariadb/old_weights.h"
#include "mariadb/table_description.h"
#include "mariadb/table_guards.h"
#include "mariadb/variables.h"
#include "sql_parse.h"

using cairn::Status;
using cairn::StatusCode;

namespace cairn {
namespace {

// Whether a statement reads rows to change others by, when the server locks its table like that.
bool FeedsChanges(THD* thd, thr_lock_type lock_type) {
  return lock_type == TL_READ_NO_INSERT || (lock_type == TL_READ && ChangesData(thd));
}

// Whether a statement only reads and changes rows: most do.
bool IsAboutRows(enum_sql_command command) {
  switch (command) {
    case SQLCOM_SELECT:
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI:
      return true;
    default:
      return false;
  }
}

// The lock with which a statement reads rows, when the server locks its table like that.
std::optional<LockMode> RowLockFor(THD* thd, thr_lock_type lock_type) {
  if (lock_type >= TL_WRITE_ALLOW_WRITE) return LockMode::kExclusive;
  if (lock_type == TL_READ_WITH_SHARED_LOCKS) return LockMode::kShared;
  if (FeedsChanges(thd, lock_type) &&
      (SessionLocksScannedRows(thd) || StatementLogNeedsLocks(thd))) {
    return LockMode::kShared;
  }
  return std::nullopt;
}

// Whether what a statement reads may decide what is written, now or next, when the server locks its
// table like that. The line is InnoDB's: IF in a procedure, DO and the arguments of CALL are on the
// far side, SELECT INTO is not.
bool MayFeedChanges(THD* thd, thr_lock_type lock_type) {
  if (lock_type != TL_READ_NO_INSERT) {
    if (lock_type != TL_READ && lock_type != TL_READ_HIGH_PRIORITY) return false;
    switch (thd->lex->sql_command) {
      case SQLCOM_CHECKSUM:
      case SQLCOM_HA_OPEN:  // HANDLER, which has its reads locked for when it opens the table.
      case SQLCOM_HA_READ:
      case SQLCOM_SELECT:
        return false;
      default:
        break;
    }
  }
  // The transaction ends with the statement, as with a definition.
  return !stmt_causes_implicit_commit(thd, CF_AUTO_COMMIT_TRANS);
}

// Whether a part has values that are cut, whose order is not that of the whole values. The server
// cuts what a range ends with as well, and would miss rows: where strings are compared by a first
// level, by a second one if they are the same on that, and so on, a cut value may be larger by the
// second level than one that is larger by the first.
bool MayCutOutOfOrder(const KEY_PART_INFO& part) {
  if (!(part.key_part_flag & HA_PART_KEY_SEG) || part.field == nullptr) return false;
  const CHARSET_INFO& charset = *part.field->charset();
  constexpr uint kLatin2Czech = 2;
  constexpr uint kCp1250Czech = 34;
  return charset.levels_for_order > 1 || charset.number == kLatin2Czech ||
         charset.number == kCp1250Czech;
}

bool IsSystemSchema(std::string_view name) {
  return name == "mysql" || name == "information_schema" || name == "performance_schema";
}

}  // namespace

}  // namespace cairn

ha_rocksdb::ha_rocksdb(handlerton* hton, TABLE_SHARE* share) : handler(hton, share) {}

ha_rocksdb::~ha_rocksdb() = default;

// What has expired is decided by the clock of whoever repeats the statement.
bool ha_rocksdb::MayLogStatements() const {
  const bool expires = engine_table_ != nullptr && engine_table_->ttl_seconds() != 0;
  return cairn::SessionAllowsStatementLog(ha_thd()) ||
         (!expires && cairn::RangeLocksAllowStatementLog(ha_thd()));
}

// For a scan of several indexes at once, which reads as the statement does: a row that it finds is
// locked from then on, so that it is still there when the statement reads it by its position.
handler* ha_rocksdb::clone(const char* name, MEM_ROOT* mem_root) {
  auto* const copy = static_cast<ha_rocksdb*>(handler::clone(name, mem_root));
  if (copy != nullptr) copy->statement_.TakeLockFrom(statement_);
  return copy;
}

ulonglong ha_rocksdb::table_flags() const {
  return HA_NULL_IN_KEY | HA_CAN_INDEX_BLOBS | HA_REC_NOT_IN_SEQ | HA_PARTIAL_COLUMN_READ |
         HA_TABLE_SCAN_ON_INDEX | HA_PRIMARY_KEY_IN_READ_INDEX |
         HA_PRIMARY_KEY_REQUIRED_FOR_POSITION | HA_BINLOG_ROW_CAPABLE | HA_REUSES_FILE_NAMES |
         HA_CAN_SQL_HANDLER | HA_CAN_VIRTUAL_COLUMNS | HA_CAN_TABLES_WITHOUT_ROLLBACK |
         HA_CAN_GEOMETRY | HA_CAN_SKIP_LOCKED | (MayLogStatements() ? HA_BINLOG_STMT_CAPABLE : 0) |
         // The entries of an old row are made from its virtual columns.
         (table_share != nullptr && table_share->virtual_fields != 0
              ? HA_REQUIRES_KEY_COLUMNS_FOR_DELETE
              : 0) |
         HA_CONCURRENT_OPTIMIZE | HA_ONLINE_ANALYZE | HA_CRASH_SAFE | cairn::kNoWritesDuringCopy;
}

// Whether the statement may lock rows of a partitioned table, which come partition after partition
// then (multi_range_read_info_const()): not in the order of their positions, in which indexes are
// merged. A partition that is not used by the statement answers for all, so that its own lock mode
// says nothing.
bool ha_rocksdb::MayLockPartitions() const {
  if (table == nullptr || table->part_info == nullptr) return false;
  const THD* const thd = ha_thd();
  return thd_sql_command(thd) != SQLCOM_SELECT || table->reginfo.lock_type > TL_READ ||
         thd_tx_isolation(thd) == ISO_SERIALIZABLE;
}

const char* ha_rocksdb::index_type(uint) {
  return cairn::cairn_variables.index_type == 0 ? "BTREE" : "LSMTREE";
}

ulong ha_rocksdb::index_flags(uint index, uint part, bool all_parts) const {
  // Asked before the table is open as well, when only the server's definition is known: it may then
  // promise columns that the index does not give back. CorrectCoveredColumns() takes those back.
  const KEY& key = table_share->key_info[index];
  const bool is_primary = index == table_share->primary_key;
  ulong flags = HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER;
  if (!cairn::MayCutOutOfOrder(key.key_part[part])) flags |= HA_READ_RANGE;
  // The primary key's entries are the rows: whatever is asked for comes from there.
  if (is_primary) return flags | HA_CLUSTERED_INDEX | cairn::kClusteredIndexCovers;
  flags |= HA_DO_INDEX_COND_PUSHDOWN;
  // To make the filter, a locking statement would lock rows that it may not want.
  if (!statement_.locks_rows()) flags |= HA_DO_RANGE_FILTER_PUSHDOWN;
  if (MayLockPartitions()) flags |= HA_KEY_SCAN_NOT_ROR;
  const uint first = all_parts ? 0 : part;
  const cairn::IndexCodec* const codec =
      engine_table_ == nullptr ? nullptr : engine_table_->index(index).codec.get();
  for (uint i = first; i <= part && i < key.ext_key_parts; ++i) {
    const KEY_PART_INFO& key_part = key.key_part[i];
    if (key_part.field == nullptr) return flags;
    // The planner asks dozens of times for a statement: what the codec knows is not found out anew.
    const bool covers = codec == nullptr ? cairn::PartMayBeRestorable(key_part)
                                         : (key_part.key_part_flag & HA_PART_KEY_SEG) == 0 &&
                                               codec->Covers(key_part.fieldnr - 1);
    if (!covers) return flags;
  }
  return flags | HA_KEYREAD_ONLY;
}

uint ha_rocksdb::max_supported_key_part_length() const {
  // The stock plug-in has a variable for what InnoDB always allows.
  return cairn::global_variables.large_prefix || cairn::AllowsCairnFormat() ? 3072 : 767;
}

// Joins the dictionary's definition with the server's and makes what works on it. Called again when
// the table's index numbers changed under an open handler.
int ha_rocksdb::BindTable() {
  cairn::Engine* const engine = cairn::RunningEngine();
  lock_shared_ha_data();
  shared_ = static_cast<cairn::SharedTable*>(get_ha_share_ptr());
  if (shared_ == nullptr) {
    shared_ = new cairn::SharedTable(engine->open_tables().Add(dictionary_name_));
    set_ha_share_ptr(shared_);
  }
  auto definition = engine->dictionary().Find(dictionary_name_);
  Status status;
  if (definition == nullptr) {
    status = Status(StatusCode::kNotFound);
  } else if (shared_->table == nullptr || &shared_->table->definition() != definition.get()) {
    auto description = cairn::DescribeTable(*table, dictionary_name_);
    status = description.status();
    if (status.ok()) {
      cairn::NoteWeightsOfOpened(description->layout);
      auto opened = cairn::Table::Open(definition, std::move(description->layout),
                                       std::move(description->indexes));
      status = opened.status();
      if (status.ok()) {
        if (!definition->temporary) cairn::KeepDefinition(*table, dictionary_name_);
        shared_->table = std::move(opened).value();
        shared_->has_old_weights = cairn::FindOldWeights(*shared_->table, table).has_value();
        cairn::Table::RegisterKeyLayouts(shared_->table, &engine->database());
      }
    }
  }
  const std::shared_ptr<const cairn::Table> bound = shared_->table;
  unlock_shared_ha_data();

  if (status.code() == StatusCode::kNotFound) {
    const auto quarantined = engine->dictionary().FindQuarantined(dictionary_name_);
    if (quarantined.has_value()) return cairn::RefuseQuarantined(*quarantined);
    return cairn::RefuseMissingTable();
  }
  if (!status.ok()) {
    engine->dictionary().NoteUnusable(definition, status.ToString());
    return cairn::RefuseQuarantined({dictionary_name_, status.ToString(), {}});
  }
  engine->dictionary().NoteUsable(bound->definition());
  cursor_ = std::make_unique<cairn::Cursor>(bound.get());
  writer_ = std::make_unique<cairn::TableWriter>(&engine->database(), bound.get());
  writer_->SetVirtualColumns(&virtual_columns_);
  engine_table_ = bound;
  auto_increment_.Bind(&bound->definition(), CounterIsPrimaryKey()
                                                 ? cairn::AutoIncrement::Role::kPrimaryKey
                                                 : cairn::AutoIncrement::Role::kColumn);
  estimates_.file_sizes.assign(bound->indexes().size(), cairn::KnownFileSize());
  search_.whole_key_parts = bound->primary().search_keys_end_early
                                ? UINT32_MAX
                                : static_cast<uint32_t>(bound->primary().layout().parts.size());
  return 0;
}

namespace {

// Whether an entry of the stock format has more in its key than a look-up can know: of a prefix in
// an 8-bit collation of several levels (Czech) the weights of the whole value, as there is no
// telling how many of them belong to the prefix. What is looked for is cut to the prefix by the
// server.
bool HidesPrefix(const KEY& key, const cairn::TableIndex& index) {
  if ((index.definition.info.features & cairn::kFeatureExactOrder) != 0) return false;
  return std::any_of(key.key_part, key.key_part + key.user_defined_key_parts,
                     [](const KEY_PART_INFO& part) {
                       const CHARSET_INFO* const collation = part.field->charset();
                       return (part.key_part_flag & HA_PART_KEY_SEG) != 0 &&
                              (part.field->flags & BLOB_FLAG) == 0 && collation->mbmaxlen == 1 &&
                              collation->levels_for_order > 1;
                     });
}

// Nothing is looked up by an index that would miss rows.
void DisableBlindKeys(TABLE_SHARE* share, const TABLE& table, const cairn::Table& engine_table) {
  for (uint i = 0; i < share->keys; ++i) {
    if (share->keys_in_use.is_set(i) && HidesPrefix(table.key_info[i], engine_table.index(i))) {
      share->keys_in_use.clear_bit(i);
    }
  }
}

}  // namespace

int ha_rocksdb::open(const char* name, int, uint) {
  auto dictionary_name = cairn::DictionaryName(name);
  if (!dictionary_name.ok()) return cairn::HandlerError(dictionary_name.status());
  dictionary_name_ = std::move(dictionary_name).value();
  reached_ = cairn::ReachedTables();
  if (const int error = BindTable()) return error;
  if (table->s->table_type == TABLE_TYPE_SEQUENCE) {
    own_transaction_ = std::make_unique<cairn::Transaction>(&cairn::RunningEngine()->database());
  }
  counted_.of_system_table = cairn::IsSystemSchema({table->s->db.str, table->s->db.length});
  thr_lock_data_init(&shared_->lock, &lock_data_, nullptr);
  columns_.set.assign(table->s->fields, false);
  CorrectCoveredColumns();
  // A scan runs over the primary key: an UPDATE that changes it must not meet its own rows again.
  key_used_on_scan = table->s->primary_key;
  ChoosePositions();
  DisableBlindKeys(table->s, *table, *engine_table_);
  return info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | HA_STATUS_CONST);
}

// Chooses what identifies a row to the server, of a fixed size: the number of a hidden primary key;
// the server's image of the primary key, where its stored bytes follow from that; else these bytes,
// zero-padded, and their length.
void ha_rocksdb::ChoosePositions() {
  positions_.are_images = false;
  if (engine_table_->has_hidden_key()) {
    ref_length = cairn::kHiddenKeyBytes;
    return;
  }
  const cairn::IndexCodec& codec = *engine_table_->primary().codec;
  ref_length =
      static_cast<uint>(codec.max_key_bytes() - cairn::kIndexNumberBytes) + kPositionLengthBytes;
  const uint image_bytes = table->key_info[table->s->primary_key].key_length;
  if (image_bytes < ref_length && PrimaryKeyIsInEveryRecord()) {
    positions_.are_images = true;
    ref_length = image_bytes;
  }
}

// Whether a record always has the primary key's columns, also one that an index other than the
// primary filled by itself.
bool ha_rocksdb::PrimaryKeyIsInEveryRecord() const {
  const std::vector<cairn::KeyPartLayout>& parts = engine_table_->primary().layout().parts;
  return std::all_of(parts.begin(), parts.end(), [this](const cairn::KeyPartLayout& part) {
    if (part.is_prefix) return false;
    const std::vector<cairn::TableIndex>& indexes = engine_table_->indexes();
    return std::all_of(indexes.begin(), indexes.end(), [&part](const cairn::TableIndex& index) {
      return index.codec->Covers(part.column);
    });
  });
}

void ha_rocksdb::CorrectCoveredColumns() {
  for (uint column = 0; column < table->s->fields; ++column) {
    for (uint index = 0; index < table->s->keys; ++index) {
      if (!engine_table_->index(index).codec->Covers(column)) {
        table->field[column]->part_of_key.clear_bit(index);
      }
    }
  }
}

int ha_rocksdb::close() {
  CountReads();
  EndLoad();
  ForgetCopy();
  cursor_.reset();
  own_transaction_.reset();
  writer_.reset();
  engine_table_.reset();
  return 0;
}

int ha_rocksdb::extra(ha_extra_function operation) {
  // REPLACE may be done as an update of the row that it meets.
  if (operation == HA_EXTRA_WRITE_CAN_REPLACE) writer_->SetUpdatesReplaceRows(true);
  if (operation == HA_EXTRA_WRITE_CANNOT_REPLACE) writer_->SetUpdatesReplaceRows(false);
  if (operation == HA_EXTRA_KEYREAD || operation == HA_EXTRA_NO_KEYREAD) columns_.changed = true;
  NoteCopy(operation);
  return 0;
}

int ha_rocksdb::reset() {
  CountReads();
  cursor_->Close();
  cursor_->SetSemiConsistent(false);
  cursor_->ReleaseIterators();
  multi_range_.End();
  writer_->SetUpdatesReplaceRows(false);
  if (writer_->actions() != nullptr) [[unlikely]]
    writer_->actions()->EndStatement();
  statement_ = cairn::StatementPlan();
  conflict_.meets_duplicate = false;
  if (copy_.is_active()) [[unlikely]]
    ForgetCopy();
  auto_increment_.ForgetHandedOut();
  columns_.changed = true;
  estimates_.compared_entries = 0;
  cancel_pushed_idx_cond();
  return 0;
}

// --- Statements and locks -----------------------------------------------------------------------

void ha_rocksdb::BeginStatement(THD* thd) {
  cairn::Session& session = cairn::Session::Of(thd);
  session.BeginStatement(shared_->open);
  statement_.Begin(thd, session.transaction());
  cairn::RenewIndexFlags(*table);
}

THR_LOCK_DATA** ha_rocksdb::store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) {
  if (lock_type != TL_IGNORE && lock_data_.type == TL_UNLOCK) {
    const bool skips_locked = lock_type == TL_READ_SKIP_LOCKED || lock_type == TL_WRITE_SKIP_LOCKED;
    if (lock_type == TL_READ_SKIP_LOCKED) lock_type = TL_READ_WITH_SHARED_LOCKS;
    if (lock_type == TL_WRITE_SKIP_LOCKED) lock_type = TL_WRITE;
    const auto lock = cairn::RowLockFor(thd, lock_type);
    locked_for_changes_ = lock.has_value() || cairn::MayFeedChanges(thd, lock_type);
    statement_.SetLock(lock, skips_locked, locked_for_changes_);
    // Rows are locked one by one, so that writers need not exclude each other from the table; those
    // who lock it do so by a metadata lock.
    if (lock_type >= TL_WRITE_CONCURRENT_INSERT && lock_type <= TL_WRITE &&
        !thd_tablespace_op(thd)) {
      lock_type = TL_WRITE_ALLOW_WRITE;
    }
    if (lock_type == TL_READ_NO_INSERT && !thd_in_lock_tables(thd)) lock_type = TL_READ;
    // LOCK TABLES of a parent locks children for reading as well, which the same statement may have
    // locked for writing: TRUNCATE, which takes that lock anew, would wait for this one.
    const TABLE_LIST* const named = table->pos_in_table_list;
    if (lock_type == TL_READ_NO_INSERT && named != nullptr &&
        named->prelocking_placeholder == TABLE_LIST::PRELOCK_FK) {
      table->reginfo.lock_type = lock_type = TL_READ;
    }
    lock_data_.type = lock_type;
  }
  *to++ = &lock_data_;
  return to;
}

int ha_rocksdb::external_lock(THD* thd, int lock_type) {
  if (own_transaction_ != nullptr) return BeginOrEndSequence();
  if (lock_type == F_UNLCK) {
    CountReads();
    // The last row may still be sent; reset() forgets it. HANDLER goes on with its scan later.
    if (inited == NONE) {
      cursor_->EndScan();
    } else {
      cursor_->Suspend();
    }
    cursor_->ReleaseIterators();
    return copy_.awaits_check ? EndUncheckedCopy() : 0;
  }
  if (!cairn::IsAboutRows(thd->lex->sql_command)) {
    NoteExport(thd);
    if (lock_type == F_RDLCK && !WaitForWriters(thd)) return HA_ERR_LOCK_WAIT_TIMEOUT;
    if (const int error = RefuseToMoveRows(thd)) return error;
    if (const int error = FinishLoadsForAlter(thd)) return error;
  }
  if (const int error = RefuseOldTable(thd)) return error;
  if (const int error = FinishLoadsOfReset(thd)) return error;
  if (lock_type == F_WRLCK) statement_.LockExclusively();
  BeginStatement(thd);
  return lock_type == F_WRLCK ? PrepareForeignKeys(thd) : 0;
}

// LOCK TABLES ... READ promises a table that does not change. The server's lock of a table ends
// with a statement, so that a transaction which has written may still commit: its metadata lock
// lasts. The server waits for that itself where an engine has no locks of tables. False: it has
// reported why not.
bool ha_rocksdb::WaitForWriters(THD* thd) {
  if (thd_sql_command(thd) != SQLCOM_LOCK_TABLES || table->mdl_ticket == nullptr) return true;
  const TABLE_LIST* const named = table->pos_in_table_list;
  if (named == nullptr || named->prelocking_placeholder != TABLE_LIST::PRELOCK_NONE ||
      named->mdl_request.type != MDL_SHARED_READ) {
    return true;
  }
  return !thd->mdl_context.upgrade_shared_lock(
      table->mdl_ticket, MDL_SHARED_READ_ONLY,
      static_cast<double>(thd->variables.lock_wait_timeout));
}

// FLUSH TABLES ... FOR EXPORT is going to be refused by the server, in words that leave open what
// it has locked.
void ha_rocksdb::NoteExport(THD* thd) {
  if (thd_sql_command(thd) != SQLCOM_FLUSH || !(thd->lex->type & REFRESH_FOR_EXPORT)) return;
  if (thd->get_stmt_da()->current_statement_warn_count() != 0) return;  // Of another table.
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_NOTE, ER_ILLEGAL_HA,
                      "ROCKSDB cannot export table %s: no table is locked",
                      table->s->table_name.str);
}

// A sequence takes no part in the session's transaction, and its readers and writers exclude each
// other in the server.
int ha_rocksdb::BeginOrEndSequence() {
  statement_ = cairn::StatementPlan();
  cursor_->Close();
  const Status ended = own_transaction_->Rollback();
  if (!ended.ok()) return cairn::HandlerError(ended);
  return 0;
}

int ha_rocksdb::start_stmt(THD* thd, thr_lock_type lock_type) {
  if (own_transaction_ != nullptr) return BeginOrEndSequence();
  if (const int error = RefuseOldTable(thd)) return error;
  const bool skips_locked = lock_type == TL_READ_SKIP_LOCKED || lock_type == TL_WRITE_SKIP_LOCKED;
  if (lock_type == TL_READ_SKIP_LOCKED) lock_type = TL_READ_WITH_SHARED_LOCKS;
  cairn::Session& session = cairn::Session::Of(thd);
  session.BeginStatement(shared_->open);
  auto lock = cairn::RowLockFor(thd, lock_type);
  // Reads of a function belong to the statement that calls it, but for its plain SELECTs.
  const bool repeats = lock_type == TL_READ && thd_sql_command(thd) == SQLCOM_SELECT &&
                       session.transaction().TakesLatest();
  if (!lock.has_value() && !repeats) lock = statement_.lock();
  statement_.SetLock(lock, skips_locked, locked_for_changes_ && !repeats);
  statement_.Begin(thd, session.transaction());
  return lock_type >= TL_WRITE_ALLOW_WRITE ? PrepareForeignKeys(thd) : 0;
}

void ha_rocksdb::unlock_row() {
  if (!statement_.KeepsScannedRows(ha_thd())) cursor_->UnlockRow();
}

// An UPDATE that scans need not wait for rows that it does not change. At REPEATABLE READ it does,
// as in InnoDB: there it may go on from such a row by what somebody committed together with it.
void ha_rocksdb::try_semi_consistent_read(bool on) {
  cursor_->SetSemiConsistent(on && transaction().only_reads_committed() &&
                             !statement_.KeepsScannedRows(ha_thd()));
}

cairn::Transaction& ha_rocksdb::transaction() {
  if (copy_.transaction != nullptr) return *copy_.transaction;
  if (own_transaction_ != nullptr) {
    own_transaction_->Start(cairn::SessionTransactionSettings(ha_thd()));
    return *own_transaction_;
  }
  return cairn::Session::Of(ha_thd()).transaction();
}

// --- Maintenance --------------------------------------------------------------------------------

int ha_rocksdb::optimize(THD*, HA_CHECK_OPT*) {
  for (const cairn::TableIndex& index : engine_table_->indexes()) {
    const Status compacted = cairn::RunningEngine()->database().maintenance().CompactIndex(
        index.family(), index.definition.id.index_number);
    if (!compacted.ok()) {
      return cairn::AdminError(ha_thd(), compacted.WithContext(index.codec->label()));
    }
  }
  return HA_ADMIN_OK;
}

Status ha_rocksdb::VirtualColumns::Compute(uint32_t index) {
  return handler_->ComputeVirtualParts(engine_table_->index(index).layout());
}

// To make a column, the server makes others that it is made of. Each BLOB field holds the values of
// two records, which may be those that the server is about to have written.
Status ha_rocksdb::VirtualColumnsOfRecord::Make(uint32_t index, uint8_t* record) {
  struct HeldValues {
    Field_blob* field;
    String value;
    String read_value;
  };
  TABLE* const table = handler_->table;
  const cairn::MovedFields moved(table, record);
  std::vector<HeldValues> held;
  for (Field** field = table->vfield; *field != nullptr; ++field) {
    if (!cairn::IsVirtualBlob(**field)) continue;
    auto* const blob = static_cast<Field_blob*>(*field);
    blob->set_ptr(uint32{0}, nullptr);  // Of an earlier record.
    held.push_back({blob, {}, {}});
  }
  const auto swap = [&held] {
    for (HeldValues& each : held) {
      each.field->swap(each.value, /*set_read_value=*/false);
      each.field->swap(each.read_value, /*set_read_value=*/true);
    }
  };
  swap();
  Status made = handler_->ComputeVirtualParts(handler_->engine_table_->index(index).layout(),
                                              BlobPlace::kValue);
  blobs_.resize(held.size());
  for (size_t i = 0; made.ok() && i < held.size(); ++i) {
    cairn::KeepVirtualBlob(held[i].field, &blobs_[i]);
  }
  swap();
  return made;
}

// --- Errors -------------------------------------------------------------------------------------

bool ha_rocksdb::get_error_message(int error, String* buffer) {
  const std::string text = cairn::TakeErrorText(error);
  buffer->append(text.data(), text.size());
  return false;
}

void ha_rocksdb::print_error(int error, myf error_flag) {
  // ReportAtOnce, RefuseQuarantined and RefuseToReplaceUnchecked have said it already, with the
  // reason.
  if (ha_thd()->is_error()) {
    const cairn::Session* const session = cairn::Session::Find(ha_thd());
    if (session != nullptr && session->HasReportedError(ha_thd()->query_id)) return;
    const uint said = ha_thd()->get_stmt_da()->sql_errno();
    if (error == cairn::kErrorCorruption && said == ER_GET_ERRMSG) return;
    if (error == HA_ERR_UNSUPPORTED && said == ER_ON_DUPLICATE_DISABLED) return;
  }
  if (cairn::PrintOwnError(ha_thd(), error, error_flag)) return;
  handler::print_error(error, error_flag);
}
