// Opening and closing tables, capabilities, information, statements and locks.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/codec/index_codec.h"
#include "engine/store/index_range.h"
#include "engine/store/perf_pause.h"
#include "engine/table/rows_per_value.h"
#include "engine/table/table_check.h"
#include "mariadb/cairn_format.h"
#include "mariadb/cairn_range_locks.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/lock_wait.h"
#include "mariadb/table_description.h"
#include "mariadb/variables.h"

using cairn::Status;
using cairn::StatusCode;

namespace cairn {
namespace {

uint64_t NowUs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Whether values are to be counted again that were counted `age_us` ago in `counting_us`: no more than a fiftieth of the
// time goes into that.
bool CountsValuesAgain(uint64_t age_us, uint64_t counting_us) {
  constexpr uint64_t kQuickUs = 2'000;
  constexpr uint64_t kRests = 50;
  return counting_us <= kQuickUs || age_us >= kRests * counting_us;
}

// Whether sizes measured `age_us` ago are to be believed after so many changes to a table of `row_count`
// rows. Young ones are even when a small table changed much, so that its every statement does not measure.
bool AreFresh(uint64_t age_us, uint64_t changes, uint64_t row_count) {
  constexpr uint64_t kYoungUs = 1'000'000;
  constexpr uint64_t kFewChanges = 100;
  if (age_us >= global_variables.force_compute_memtable_stats_cachetime) return false;
  return changes <= row_count / 10 + (age_us < kYoungUs ? kFewChanges : 0);
}

Result<SharedTable::Sizes> MeasureSizes(Database* database, const Table& table) {
  const MemtableRows memtable_rows =
      global_variables.force_compute_memtable_stats ? MemtableRows::kCount : MemtableRows::kIgnore;
  SharedTable::Sizes sizes;
  std::vector<IndexSize> indexes;
  for (const TableIndex& index : table.indexes()) {
    CAIRN_ASSIGN_OR_RETURN(const IndexSize& size,
                           EstimateIndexSize(database, index, memtable_rows));
    indexes.push_back(size);
    if (indexes.size() - 1 != table.primary_position()) {
      sizes.secondary_bytes += size.file_bytes + size.memtable_bytes;
    }
  }
  sizes.primary = indexes[table.primary_position()];
  if (memtable_rows == MemtableRows::kCount) {
    CAIRN_ASSIGN_OR_RETURN(const StoredRows stored, LookAtRows(database, table, indexes));
    sizes.primary.row_count = table.definition().counters->row_count.Settle(stored);
  }
  return sizes;
}

Status CountValues(Database* database, const Table& table, SharedTable::Sizes* sizes) {
  for (const TableIndex& index : table.indexes()) {
    CAIRN_ASSIGN_OR_RETURN(sizes->rows_per_value.emplace_back(),
                           RowsPerValue(database, index, sizes->primary.row_count));
  }
  return Status();
}

// The lock with which a statement reads rows, when the server locks its table like that.
std::optional<LockMode> RowLockFor(THD* thd, thr_lock_type lock_type) {
  if (lock_type >= TL_WRITE_ALLOW_WRITE) return LockMode::kExclusive;
  if (lock_type == TL_READ_WITH_SHARED_LOCKS) return LockMode::kShared;
  const bool feeds_changes =
      lock_type == TL_READ_NO_INSERT || (lock_type == TL_READ && ChangesData(thd));
  if (feeds_changes && (SessionLocksScannedRows(thd) || StatementLogNeedsLocks(thd))) {
    return LockMode::kShared;
  }
  return std::nullopt;
}

bool IsSystemSchema(std::string_view name) {
  return name == "mysql" || name == "information_schema" || name == "performance_schema";
}

}  // namespace

std::shared_ptr<const SharedTable::Sizes> SharedTable::CurrentSizes(Database* database,
                                                                    bool refresh) {
  std::lock_guard guard(mutex_);
  const uint64_t changes = changes_.load(std::memory_order_relaxed);
  const uint64_t now = NowUs();
  if (!refresh && sizes_ != nullptr &&
      AreFresh(now - measured_at_us_, changes - measured_changes_, sizes_->primary.row_count)) {
    return sizes_;
  }
  const PerfPause
      pause;  // The optimizer's figures are no work of the statement that happens to need new ones.
  auto measured = MeasureSizes(database, *table);
  Status status = measured.status();
  const bool counts = refresh || sizes_ == nullptr ||
                      sizes_->rows_per_value.size() != table->indexes().size() ||
                      CountsValuesAgain(now - counted_at_us_, counting_us_);
  if (status.ok() && counts) {
    const uint64_t begun = NowUs();
    status = CountValues(database, *table, &*measured);
    counted_at_us_ = NowUs();
    counting_us_ = counted_at_us_ - begun;
  } else if (status.ok()) {
    measured->rows_per_value = sizes_->rows_per_value;
  }
  if (!status.ok()) {
    database->log().Write(Severity::kWarning,
                          "measuring table " + table->definition().name + ": " + status.ToString());
    if (sizes_ == nullptr) sizes_ = std::make_shared<const Sizes>();
    return sizes_;
  }
  sizes_ = std::make_shared<const Sizes>(std::move(measured).value());
  measured_at_us_ = now;
  measured_changes_ = changes;
  return sizes_;
}

}  // namespace cairn

ha_rocksdb::ha_rocksdb(handlerton* hton, TABLE_SHARE* share) : handler(hton, share) {}

ha_rocksdb::~ha_rocksdb() = default;

// What has expired is decided by the clock of whoever repeats the statement.
bool ha_rocksdb::MayLogStatements() const {
  const bool expires = engine_table_ != nullptr && engine_table_->ttl_seconds() != 0;
  return cairn::SessionAllowsStatementLog(ha_thd()) ||
         (!expires && cairn::RangeLocksAllowStatementLog(ha_thd()));
}

// For a scan of several indexes at once, which reads as the statement does. Without range locks such a scan locks the
// rows that it gives.
handler* ha_rocksdb::clone(const char* name, MEM_ROOT* mem_root) {
  auto* const copy = static_cast<ha_rocksdb*>(handler::clone(name, mem_root));
  if (copy != nullptr && cairn::SessionLocksRanges(ha_thd())) {
    copy->lock_mode_ = lock_mode_;
    copy->skip_locked_ = skip_locked_;
  }
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
         HA_CONCURRENT_OPTIMIZE | HA_ONLINE_ANALYZE | HA_CRASH_SAFE;
}

ulong ha_rocksdb::index_flags(uint index, uint part, bool all_parts) const {
  // Asked before the table is open as well, when only the server's definition is known: it may then promise
  // columns that the index does not give back. CorrectCoveredColumns() takes those back.
  const KEY& key = table_share->key_info[index];
  const bool is_primary = index == table_share->primary_key;
  ulong flags = HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER | HA_READ_RANGE;
  // The primary key's entries are the rows: whatever is asked for comes from there.
  if (is_primary) return flags | HA_CLUSTERED_INDEX | HA_KEYREAD_ONLY;
  flags |= HA_DO_INDEX_COND_PUSHDOWN;
  // To make the filter, a locking statement would lock rows that it may not want.
  if (!lock_mode_.has_value()) flags |= HA_DO_RANGE_FILTER_PUSHDOWN;
  const uint first = all_parts ? 0 : part;
  for (uint i = first; i <= part && i < key.ext_key_parts; ++i) {
    const KEY_PART_INFO& key_part = key.key_part[i];
    if (key_part.field == nullptr || !cairn::PartMayBeRestorable(key_part)) return flags;
    if (engine_table_ != nullptr &&
        !engine_table_->index(index).codec->Covers(key_part.fieldnr - 1)) {
      return flags;
    }
  }
  return flags | HA_KEYREAD_ONLY;
}

uint ha_rocksdb::max_supported_key_part_length() const {
  // The stock plug-in has a variable for what InnoDB always allows.
  return cairn::global_variables.large_prefix || cairn::AllowsCairnFormat() ? 3072 : 767;
}

// A row that is to be locked is fetched by itself wherever it is found.
double ha_rocksdb::ScannedRowCost() const {
  return lock_mode_.has_value() ? kFetchCost : kScannedRowCost;
}

double ha_rocksdb::scan_time() {
  return static_cast<double>(stats.records + stats.deleted) * ScannedRowCost() + 10.0;
}

double ha_rocksdb::read_time(uint index, uint ranges, ha_rows rows) {
  if (index == table->s->primary_key) return static_cast<double>(rows) * ScannedRowCost() + 1.0;
  return static_cast<double>(ranges) + static_cast<double>(rows) * kFetchCost;
}

double ha_rocksdb::keyread_time(uint index, uint ranges, ha_rows rows) {
  if (!lock_mode_.has_value()) return handler::keyread_time(index, ranges, rows);
  return static_cast<double>(ranges) + static_cast<double>(rows) * kFetchCost;
}

// Joins the dictionary's definition with the server's and makes what works on it. Called again when the
// table's index numbers changed under an open handler.
int ha_rocksdb::BindTable() {
  ForgetHandedOutValues();
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
      auto opened = cairn::Table::Open(std::move(definition), std::move(description->layout),
                                       std::move(description->indexes));
      status = opened.status();
      if (status.ok()) {
        shared_->table = std::move(opened).value();
        cairn::Table::RegisterKeyLayouts(shared_->table, &engine->database());
      }
    }
  }
  const std::shared_ptr<const cairn::Table> bound = shared_->table;
  unlock_shared_ha_data();

  if (status.code() == StatusCode::kNotFound) {
    const auto quarantined = engine->dictionary().FindQuarantined(dictionary_name_);
    if (quarantined.has_value()) return cairn::RefuseQuarantined(*quarantined);
    my_error(ER_INTERNAL_ERROR, MYF(0),
             "Attempt to open a table that is not present in RocksDB-SE data dictionary");
    return HA_ERR_NO_SUCH_TABLE;
  }
  if (!status.ok()) return cairn::HandlerError(status);
  cursor_ = std::make_unique<cairn::Cursor>(bound.get());
  writer_ = std::make_unique<cairn::TableWriter>(&engine->database(), bound.get());
  engine_table_ = bound;
  file_sizes_.assign(bound->indexes().size(), cairn::KnownFileSize());
  whole_key_parts_ = bound->primary().search_keys_end_early
                         ? UINT32_MAX
                         : static_cast<uint32_t>(bound->primary().layout().parts.size());
  return 0;
}

int ha_rocksdb::open(const char* name, int, uint) {
  auto dictionary_name = cairn::DictionaryName(name);
  if (!dictionary_name.ok()) return cairn::HandlerError(dictionary_name.status());
  dictionary_name_ = std::move(dictionary_name).value();
  if (const int error = BindTable()) return error;
  if (table->s->table_type == TABLE_TYPE_SEQUENCE) {
    own_transaction_ = std::make_unique<cairn::Transaction>(&cairn::RunningEngine()->database());
  }
  is_system_table_ = cairn::IsSystemSchema({table->s->db.str, table->s->db.length});
  thr_lock_data_init(&shared_->lock, &lock_data_, nullptr);
  columns_.assign(table->s->fields, false);
  CorrectCoveredColumns();
  // A scan runs over the primary key: an UPDATE that changes it must not meet its own rows again.
  key_used_on_scan = table->s->primary_key;
  ChoosePositions();
  counter_is_primary_key_ = CounterIsPrimaryKey();
  return info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | HA_STATUS_CONST);
}

// Chooses what identifies a row to the server, of a fixed size: the number of a hidden primary key; the server's
// image of the primary key, where its stored bytes follow from that; else these bytes, zero-padded, and their
// length.
void ha_rocksdb::ChoosePositions() {
  positions_are_images_ = false;
  if (engine_table_->has_hidden_key()) {
    ref_length = cairn::kHiddenKeyBytes;
    return;
  }
  const cairn::IndexCodec& codec = *engine_table_->primary().codec;
  ref_length =
      static_cast<uint>(codec.max_key_bytes() - cairn::kIndexNumberBytes) + kPositionLengthBytes;
  const uint image_bytes = table->key_info[table->s->primary_key].key_length;
  if (image_bytes < ref_length && PrimaryKeyIsInEveryRecord()) {
    positions_are_images_ = true;
    ref_length = image_bytes;
  }
}

// Whether a record always has the primary key's columns, also one that an index other than the primary filled by
// itself.
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
  cursor_.reset();
  own_transaction_.reset();
  writer_.reset();
  engine_table_.reset();
  return 0;
}

// The number of rows, by those sizes and by what happened since.
ha_rows ha_rocksdb::KnownRows(const cairn::SharedTable::Sizes& sizes) const {
  if (!cairn::global_variables.force_compute_memtable_stats) return sizes.primary.row_count;
  return engine_table_->definition().counters->row_count.value().value_or(sizes.primary.row_count);
}

int ha_rocksdb::info(uint flag) {
  cairn::Database* const database = &cairn::RunningEngine()->database();
  if (flag & (HA_STATUS_VARIABLE | HA_STATUS_CONST)) {
    const auto sizes = shared_->CurrentSizes(database, /*refresh=*/false);
    // One row at least: the optimizer takes none for a promise. People, who ask for times too, see the truth.
    const ha_rows least = flag & HA_STATUS_TIME ? 0 : 1;
    const ha_rows invented = cairn::global_variables.debug_optimizer_n_rows;
    const ha_rows known = KnownRows(*sizes);
    stats.records = invented != 0 ? invented : std::max<ha_rows>(known, least);
    stats.deleted = 0;
    stats.data_file_length = sizes->primary.file_bytes + sizes->primary.memtable_bytes;
    stats.index_file_length = sizes->secondary_bytes;
    stats.delete_length = 0;
    stats.mean_rec_length =
        static_cast<ulong>(stats.data_file_length / std::max<ha_rows>(stats.records, 1));
    // A partition of history, which is full at a certain number of rows.
    if ((flag & HA_STATUS_OPEN) && !(flag & HA_STATUS_CONST)) {
      stats.records = CountFewRows(known);
    }
    if (flag & HA_STATUS_CONST) {
      stats.block_size = static_cast<uint>(cairn::global_variables.block_size);
      for (uint i = 0; i < table->s->keys && i < sizes->rows_per_value.size(); ++i) {
        KEY& key = table->key_info[i];
        for (uint part = 0; part < key.ext_key_parts; ++part) {
          if (invented != 0) {
            // Each further part halves the rows that share a value; tests count on these numbers.
            const uint32_t parts = key.flags & HA_NOSAME
                                       ? key.user_defined_key_parts
                                       : engine_table_->index(i).codec->key_part_count();
            key.rec_per_key[part] = parts > part ? 1UL << std::min(parts - part - 1, 31U) : 1;
            continue;
          }
          const std::vector<double>& measured = sizes->rows_per_value[i];
          const bool unique = part + 1 >= key.user_defined_key_parts && (key.flags & HA_NOSAME);
          const double rows = unique || part >= measured.size() ? 1.0 : measured[part];
          key.rec_per_key[part] = static_cast<ulong>(std::lround(std::max(1.0, rows)));
        }
      }
    }
  }
  // A partitioned table asks one partition for the first of these times, with HA_STATUS_CONST, and all of them
  // for the second.
  if (flag & (HA_STATUS_TIME | HA_STATUS_CONST)) {
    // The table was made when the server's file was.
    struct stat file;
    const std::string path = std::string(table->s->normalized_path.str) + ".frm";
    if (::stat(path.c_str(), &file) == 0) stats.create_time = file.st_mtime;
    stats.update_time = static_cast<time_t>(
        engine_table_->definition().counters->changed_at.load(std::memory_order_relaxed));
  }
  if (flag & HA_STATUS_ERRKEY) {
    errkey = writer_->duplicate_index() < table->s->keys ? writer_->duplicate_index() : MAX_KEY;
    dup_ref[0] = 0;
  }
  if ((flag & HA_STATUS_AUTO) && table->found_next_number_field != nullptr) {
    if (const int error = EnsureAutoIncrementLoaded()) return error;
    stats.auto_increment_value =
        engine_table_->definition().counters->next_auto_increment.load(std::memory_order_relaxed);
  }
  return 0;
}

int ha_rocksdb::extra(ha_extra_function operation) {
  // REPLACE may be done as an update of the row that it meets.
  if (operation == HA_EXTRA_WRITE_CAN_REPLACE) writer_->SetUpdatesReplaceRows(true);
  if (operation == HA_EXTRA_WRITE_CANNOT_REPLACE) writer_->SetUpdatesReplaceRows(false);
  if (operation == HA_EXTRA_KEYREAD || operation == HA_EXTRA_NO_KEYREAD) columns_changed_ = true;
  return 0;
}

int ha_rocksdb::reset() {
  CountReads();
  cursor_->Close();
  cursor_->ReleaseIterators();
  listed_rows_.Clear();
  listed_row_ = 0;
  fetches_listed_rows_ = false;
  writer_->SetUpdatesReplaceRows(false);
  lock_mode_.reset();
  skip_locked_ = false;
  changed_rows_ = 0;
  ForgetHandedOutValues();
  columns_changed_ = true;
  compared_entries_ = 0;
  cancel_pushed_idx_cond();
  return 0;
}

// --- Statements and locks ------------------------------------------------------------------------------

void ha_rocksdb::BeginStatement(THD* thd) {
  cairn::Session& session = cairn::Session::Of(thd);
  session.BeginStatement(shared_->open);
  if (!lock_mode_.has_value()) lock_mode_ = session.transaction().PlainReadLock();
}

THR_LOCK_DATA** ha_rocksdb::store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) {
  if (lock_type != TL_IGNORE && lock_data_.type == TL_UNLOCK) {
    const bool locks_tables = thd_in_lock_tables(thd);
    skip_locked_ = lock_type == TL_READ_SKIP_LOCKED || lock_type == TL_WRITE_SKIP_LOCKED;
    if (lock_type == TL_READ_SKIP_LOCKED) lock_type = TL_READ_WITH_SHARED_LOCKS;
    if (lock_type == TL_WRITE_SKIP_LOCKED) lock_type = TL_WRITE;
    lock_mode_ = cairn::RowLockFor(thd, lock_type);
    // Rows are locked one by one, so that writers need not exclude each other from the table.
    if (lock_type >= TL_WRITE_CONCURRENT_INSERT && lock_type <= TL_WRITE && !locks_tables &&
        !thd_tablespace_op(thd)) {
      lock_type = TL_WRITE_ALLOW_WRITE;
    }
    if (lock_type == TL_READ_NO_INSERT && !locks_tables) lock_type = TL_READ;
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
    return 0;
  }
  if (const int error = FinishLoadsForAlter(thd)) return error;
  if (lock_type == F_WRLCK) lock_mode_ = cairn::LockMode::kExclusive;
  BeginStatement(thd);
  return 0;
}

// A sequence takes no part in the session's transaction, and its readers and writers exclude each other in
// the server.
int ha_rocksdb::BeginOrEndSequence() {
  lock_mode_.reset();
  cursor_->Close();
  const Status ended = own_transaction_->Rollback();
  if (!ended.ok()) return cairn::HandlerError(ended);
  return 0;
}

int ha_rocksdb::start_stmt(THD* thd, thr_lock_type lock_type) {
  if (own_transaction_ != nullptr) return BeginOrEndSequence();
  skip_locked_ = lock_type == TL_READ_SKIP_LOCKED || lock_type == TL_WRITE_SKIP_LOCKED;
  if (lock_type == TL_READ_SKIP_LOCKED) lock_type = TL_READ_WITH_SHARED_LOCKS;
  const auto lock = cairn::RowLockFor(thd, lock_type);
  if (lock.has_value()) lock_mode_ = lock;
  BeginStatement(thd);
  return 0;
}

void ha_rocksdb::unlock_row() {
  if (!cairn::SessionLocksScannedRows(ha_thd())) cursor_->UnlockRow();
}

cairn::Transaction& ha_rocksdb::transaction() {
  if (copy_transaction_ != nullptr) return *copy_transaction_;
  if (own_transaction_ != nullptr) {
    own_transaction_->Start(cairn::SessionTransactionSettings(ha_thd()));
    return *own_transaction_;
  }
  return cairn::Session::Of(ha_thd()).transaction();
}

// --- Statistics and maintenance ------------------------------------------------------------------------

namespace {

// Entries of a range that are counted where another index is in the running, and those of a statement and table.
constexpr uint64_t kComparedEntries = 1000;
constexpr uint64_t kMostComparedEntries = 4000;

}  // namespace

// What the statement will read with as well. One that locks sees rows as they are then, and EXPLAIN sees nothing: neither
// is to take a snapshot for it.
cairn::OrderedIterator* ha_rocksdb::CountingIterator(uint index) {
  const bool reads = !lock_mode_.has_value() && own_transaction_ == nullptr &&
                     copy_transaction_ == nullptr && !ha_thd()->lex->describe;
  if (!reads || !transaction().started()) return nullptr;
  return cursor_->StatementIterator(&transaction(), index);
}

ha_rows ha_rocksdb::records_in_range(uint index, const key_range* min_key, const key_range* max_key,
                                     page_range*) {
  if (const uint32_t rows = cairn::FixedRangeRows(ha_thd(), table->force_index)) return rows;
  const cairn::TableIndex& engine_index = engine_table_->index(index);
  const cairn::IndexCodec& codec = *engine_index.codec;
  const auto encode = [&](const key_range& range, std::string* bytes) {
    codec.EncodeSearchKey(range.key, cairn::CountParts(table->key_info[index], range.keypart_map),
                          bytes);
  };
  const cairn::IndexRange whole(engine_index.family(), engine_index.entry.id.index_number);
  std::string first = whole.first();
  std::string end = whole.end();
  std::string prefix;
  if (min_key != nullptr) {
    encode(*min_key, &prefix);
    if (min_key->flag == HA_READ_AFTER_KEY) {
      if (!cairn::PrefixSuccessor(prefix, &first)) return 0;
    } else {
      first = prefix;
    }
  }
  if (max_key != nullptr) {
    encode(*max_key, &prefix);
    if (max_key->flag == HA_READ_BEFORE_KEY) {
      end = prefix;
    } else if (!cairn::PrefixSuccessor(prefix, &end)) {
      return HA_POS_ERROR;
    }
  }
  cairn::Database* const database = &cairn::RunningEngine()->database();
  const auto sizes = shared_->CurrentSizes(database, /*refresh=*/false);
  // Where several indexes are compared, small differences decide.
  key_map others = table->opt_range_keys;
  others.clear_bit(index);
  const bool compares = !others.is_clear_all() && compared_entries_ < kMostComparedEntries;
  const auto rows =
      cairn::EstimateRangeRows(database, engine_index, KnownRows(*sizes), first, end,
                               compares ? kComparedEntries : cairn::kExactRangeEntries,
                               CountingIterator(index), &file_sizes_[index]);
  if (!rows.ok()) {
    cairn::HandlerError(rows.status());
    return HA_POS_ERROR;
  }
  if (compares) compared_entries_ += std::min<uint64_t>(*rows, kComparedEntries);
  // Zero would be a promise, and other transactions may have rows that are not committed yet.
  return std::max<ha_rows>(*rows, 1);
}

int ha_rocksdb::analyze(THD*, HA_CHECK_OPT*) {
  const Status counted = cairn::RunningEngine()->upkeep().UpdateStatistics();
  if (!counted.ok()) {
    cairn::HandlerError(counted);
    return HA_ADMIN_FAILED;
  }
  shared_->CurrentSizes(&cairn::RunningEngine()->database(), /*refresh=*/true);
  engine_table_->definition().counters->analysed_us.store(
      cairn::RunningEngine()->database().NowMicros(), std::memory_order_relaxed);
  return HA_ADMIN_OK;
}

int ha_rocksdb::optimize(THD*, HA_CHECK_OPT*) {
  for (const cairn::TableIndex& index : engine_table_->indexes()) {
    const Status compacted = cairn::RunningEngine()->database().CompactIndex(
        index.family(), index.entry.id.index_number);
    if (!compacted.ok()) {
      cairn::HandlerError(compacted);
      return HA_ADMIN_FAILED;
    }
  }
  return HA_ADMIN_OK;
}

Status ha_rocksdb::VirtualColumns::Compute(uint32_t index) {
  if (handler_->ComputeVirtualParts(engine_table_->index(index).layout()) == 0) return Status();
  return Status(StatusCode::kInvalidArgument, "a generated column of the row cannot be computed");
}

namespace {

void LogCheck(const TABLE& table, const cairn::TableCheckReport& report) {
  if (global_system_variables.log_warnings <= 2) return;
  const char* const name = table.s->table_name.str;
  sql_print_information("RocksDB: CHECKTABLE %s: Checking table %s", name, name);
  for (const auto& entries : report.entries) {
    sql_print_information("RocksDB: CHECKTABLE %s:   Checking index %s", name,
                          entries.index.c_str());
    sql_print_information(
        "RocksDB: CHECKTABLE %s:   ... %llu index entries checked (%llu had checksums)", name,
        static_cast<ulonglong>(entries.count), static_cast<ulonglong>(entries.with_checksums));
  }
  sql_print_information("RocksDB: CHECKTABLE %s:   %llu table records had checksums", name,
                        static_cast<ulonglong>(report.rows_with_checksums));
}

}  // namespace

int ha_rocksdb::check(THD* thd, HA_CHECK_OPT*) {
  cairn::Session& session = cairn::Session::Of(thd);
  cairn::ScopedWaitObserver observer(&session);
  VirtualColumns virtual_columns(this, engine_table_.get());
  const auto report =
      cairn::CheckTable(*engine_table_, &transaction(), table->record[0], &virtual_columns);
  if (!report.ok()) {
    cairn::HandlerError(report.status());
    return HA_ADMIN_FAILED;
  }
  LogCheck(*table, *report);
  for (const std::string& problem : report->problems) {
    sql_print_error("RocksDB: CHECKTABLE %s:   %s: %s", table->s->table_name.str,
                    dictionary_name_.c_str(), problem.c_str());
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_GET_ERRMSG, problem.c_str());
  }
  for (const std::string& warning : report->warnings) {
    sql_print_warning("RocksDB: CHECKTABLE %s:   %s: %s", table->s->table_name.str,
                      dictionary_name_.c_str(), warning.c_str());
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_GET_ERRMSG, warning.c_str());
  }
  return report->problems.empty() ? HA_ADMIN_OK : HA_ADMIN_CORRUPT;
}

// --- Errors --------------------------------------------------------------------------------------------

bool ha_rocksdb::get_error_message(int error, String* buffer) {
  const std::string kept = cairn::TakeErrorMessage();
  const char* const general = cairn::HandlerErrorText(error);
  if (!kept.empty()) {
    buffer->append(kept.data(), kept.size());
  } else if (general != nullptr) {
    buffer->append(general, strlen(general));
  }
  return false;
}

void ha_rocksdb::print_error(int error, myf error_flag) {
  // RefuseQuarantined and RefuseToReplaceUnchecked have said it already, with the reason.
  if (ha_thd()->is_error()) {
    const uint said = ha_thd()->get_stmt_da()->sql_errno();
    if (error == cairn::kErrorCorruption && said == ER_GET_ERRMSG) return;
    if (error == HA_ERR_UNSUPPORTED && said == ER_ON_DUPLICATE_DISABLED) return;
  }
  if (error == cairn::kErrorAborted || error == cairn::kErrorLockLimit) {
    // Tools know it by RocksDB's number.
    constexpr int kRocksDbAborted = 10;
    std::string text = cairn::TakeErrorMessage();
    if (text.empty()) text = cairn::HandlerErrorText(error);
    if (error == cairn::kErrorLockLimit) text.insert(0, "Operation aborted: ");
    my_error(ER_GET_ERRMSG, error_flag, kRocksDbAborted, text.c_str(), "ROCKSDB");
    return;
  }
  if (error == HA_ERR_LOCK_DEADLOCK && cairn::TakeErrorMessage() == "snapshot conflict") {
    my_printf_error(ER_LOCK_DEADLOCK, "%s (snapshot conflict)", error_flag,
                    ER_THD(ha_thd(), ER_LOCK_DEADLOCK));
    return;
  }
  handler::print_error(error, error_flag);
}
