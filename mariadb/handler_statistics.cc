// What the server is told of a table: how large it is, how many rows a range has, how many share a
// value, and what it costs to read them.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/codec/index_codec.h"
#include "engine/metrics/perf_pause.h"
#include "engine/store/index_range.h"
#include "engine/table/rows_per_value.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/key_parts.h"
#include "mariadb/variables.h"

using cairn::Status;

namespace cairn {
namespace {

// Entries of a range that are counted where another index is in the running, and those of a
// statement and table.
constexpr uint64_t kComparedEntries = 1000;
constexpr uint64_t kMostComparedEntries = 4000;

// Whether a range of the statement, of an index of `others`, was estimated to have one row by a
// unique key, which no other index can beat: by the primary key, or where each row is fetched to be
// locked. An index that covers a query can beat another that has to fetch its row.
bool IsOneRowByKey(const TABLE& table, const key_map& others, bool locks_rows) {
  for (uint i = 0; i < table.s->keys; ++i) {
    if (i != table.s->primary_key && !locks_rows) continue;
    const KEY& key = table.key_info[i];
    if (others.is_set(i) && (key.flags & (HA_NOSAME | HA_NULL_PART_KEY)) == HA_NOSAME &&
        table.opt_range[i].ranges == 1 && table.opt_range[i].rows <= 1 &&
        table.opt_range[i].key_parts == key.user_defined_key_parts) {
      return true;
    }
  }
  return false;
}

// What statistics say of the rows that share one value of an index, or of its first parts; nullopt:
// the range is of more values than one.
std::optional<ha_rows> RowsOfOneValue(const KEY& key, const key_range* min_key,
                                      const key_range* max_key) {
  if (min_key == nullptr || max_key == nullptr || min_key->keypart_map == 0 ||
      min_key->flag == HA_READ_AFTER_KEY || max_key->flag == HA_READ_BEFORE_KEY ||
      min_key->length != max_key->length ||
      memcmp(min_key->key, max_key->key, min_key->length) != 0) {
    return std::nullopt;
  }
  return static_cast<ha_rows>(key.actual_rec_per_key(CountParts(key, min_key->keypart_map) - 1));
}

uint64_t NowUs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Whether values are to be counted again that were counted `age_us` ago in `counting_us`: no more
// than a fiftieth of the time goes into that.
bool CountsValuesAgain(uint64_t age_us, uint64_t counting_us) {
  constexpr uint64_t kQuickUs = 2'000;
  constexpr uint64_t kRests = 50;
  return counting_us <= kQuickUs || age_us >= kRests * counting_us;
}

// Whether sizes measured `age_us` ago are to be believed after so many changes to a table of
// `row_count` rows. Young ones are even when a small table changed much, so that its every
// statement does not measure.
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

}  // namespace

// The last measured sizes, if they are to be believed.
std::shared_ptr<const SharedTable::Sizes> SharedTable::FreshSizes() const {
  const uint64_t changes = changes_.load(std::memory_order_relaxed) - measured_changes_;
  const bool fresh =
      sizes_ != nullptr && AreFresh(NowUs() - measured_at_us_, changes, sizes_->primary.row_count);
  return fresh ? sizes_ : nullptr;
}

std::shared_ptr<const SharedTable::Sizes> SharedTable::CurrentSizes(Database* database,
                                                                    const Table& measured,
                                                                    bool refresh, Status* outcome) {
  std::unique_lock measuring(measuring_, std::defer_lock);
  {
    std::lock_guard guard(mutex_);
    if (auto fresh = FreshSizes(); fresh != nullptr && !refresh) return fresh;
    // While somebody measures, the others go on with what was known before.
    if (!measuring.try_lock() && sizes_ != nullptr && !refresh) return sizes_;
  }
  if (!measuring.owns_lock()) {
    measuring.lock();
    std::lock_guard guard(mutex_);
    if (auto fresh = FreshSizes(); fresh != nullptr && !refresh) return fresh;
  }
  return Measure(database, measured, refresh, outcome);
}

// With measuring_ held, without which nobody changes what mutex_ guards.
std::shared_ptr<const SharedTable::Sizes> SharedTable::Measure(Database* database,
                                                               const Table& table, bool refresh,
                                                               Status* outcome) {
  const PerfPause
      pause;  // The optimizer's figures are no work of the statement that happens to need new ones.
  const uint64_t changes = changes_.load(std::memory_order_relaxed);
  const uint64_t now = NowUs();
  auto measured = MeasureSizes(database, table);
  Status status = measured.status();
  const bool counts = refresh || sizes_ == nullptr ||
                      sizes_->rows_per_value.size() != table.indexes().size() ||
                      CountsValuesAgain(now - counted_at_us_, counting_us_);
  if (status.ok() && counts) {
    const uint64_t begun = NowUs();
    status = CountValues(database, table, &*measured);
    counted_at_us_ = NowUs();
    counting_us_ = counted_at_us_ - begun;
  } else if (status.ok()) {
    measured->rows_per_value = sizes_->rows_per_value;
  }
  std::lock_guard guard(mutex_);
  if (!status.ok()) {
    database->log().Write(Severity::kWarning,
                          "measuring table " + table.definition().name + ": " + status.ToString());
    if (sizes_ == nullptr) sizes_ = std::make_shared<const Sizes>();
    if (outcome != nullptr) *outcome = std::move(status);
    return sizes_;
  }
  sizes_ = std::make_shared<const Sizes>(std::move(measured).value());
  measured_at_us_ = now;
  measured_changes_ = changes;
  return sizes_;
}

}  // namespace cairn

// --- Figures ------------------------------------------------------------------------------------

// The number of rows, by those sizes and by what happened since.
ha_rows ha_rocksdb::KnownRows(const cairn::SharedTable::Sizes& sizes) const {
  if (!cairn::global_variables.force_compute_memtable_stats) return sizes.primary.row_count;
  return engine_table_->definition().counters->row_count.value().value_or(sizes.primary.row_count);
}

int ha_rocksdb::info(uint flag) {
  cairn::Database* const database = &cairn::RunningEngine()->database();
  if (flag & (HA_STATUS_VARIABLE | HA_STATUS_CONST)) {
    const auto sizes = shared_->CurrentSizes(database, *engine_table_, /*refresh=*/false);
    // One row at least: the optimizer takes none for a promise. People, who ask for times too, see
    // the truth.
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
  // A partitioned table asks one partition for the first of these times, with HA_STATUS_CONST, and
  // all of them for the second.
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
    if (const int error = LoadAutoIncrement()) return error;
    stats.auto_increment_value = auto_increment_.next();
  }
  return 0;
}

// What the statement will read with as well. One that locks sees rows as they are then, and EXPLAIN
// sees nothing: neither is to take a snapshot for it.
cairn::OrderedIterator* ha_rocksdb::CountingIterator(uint index) {
  const bool reads = !statement_.locks_rows() && own_transaction_ == nullptr &&
                     copy_.transaction == nullptr && !ha_thd()->lex->describe;
  if (!reads || !transaction().started()) return nullptr;
  return cursor_->StatementIterator(&transaction(), index);
}

ha_rows ha_rocksdb::records_in_range(uint index, const key_range* min_key, const key_range* max_key,
                                     page_range*) {
  if (const uint32_t rows = cairn::FixedRangeRows(ha_thd(), table->force_index)) return rows;
  key_map others = table->opt_range_keys;
  others.clear_bit(index);
  if (cairn::IsOneRowByKey(*table, others, statement_.locks_rows())) {
    constexpr ha_rows kMoreThanOne = 2;
    const auto rows = cairn::RowsOfOneValue(table->key_info[index], min_key, max_key);
    if (rows.has_value()) return std::max(*rows, kMoreThanOne);
  }
  const cairn::TableIndex& engine_index = engine_table_->index(index);
  const cairn::IndexCodec& codec = *engine_index.codec;
  const auto encode = [&](const key_range& range, std::string* bytes) {
    codec.EncodeSearchKey(range.key, cairn::CountParts(table->key_info[index], range.keypart_map),
                          bytes);
  };
  const cairn::IndexRange whole(engine_index.family(), engine_index.definition.id.index_number);
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
  const auto sizes = shared_->CurrentSizes(database, *engine_table_, /*refresh=*/false);
  // Where several indexes are compared, small differences decide.
  const bool compares =
      !others.is_clear_all() && estimates_.compared_entries < cairn::kMostComparedEntries;
  const auto rows =
      cairn::EstimateRangeRows(database, engine_index, KnownRows(*sizes), first, end,
                               compares ? cairn::kComparedEntries : cairn::kExactRangeEntries,
                               CountingIterator(index), &estimates_.file_sizes[index]);
  if (!rows.ok()) {
    cairn::HandlerError(rows.status());
    return HA_POS_ERROR;
  }
  if (compares) estimates_.compared_entries += std::min<uint64_t>(*rows, cairn::kComparedEntries);
  // Zero would be a promise, and other transactions may have rows that are not committed yet.
  return std::max<ha_rows>(*rows, 1);
}

int ha_rocksdb::analyze(THD*, HA_CHECK_OPT*) {
  Status counted = cairn::RunningEngine()->upkeep().UpdateStatistics();
  if (counted.ok()) {
    shared_->CurrentSizes(&cairn::RunningEngine()->database(), *engine_table_, /*refresh=*/true,
                          &counted);
  }
  if (!counted.ok()) {
    return cairn::AdminError(ha_thd(), counted);
  }
  engine_table_->definition().counters->analysed_us.store(
      cairn::RunningEngine()->database().NowMicros(), std::memory_order_relaxed);
  return HA_ADMIN_OK;
}
