// Reading the data dictionary at start, and what happens to tables whose records cannot be used.
#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/catalog/dictionary.h"
#include "engine/catalog/expiry_rules.h"
#include "engine/codec/index_feature.h"
#include "engine/codec/index_statistics.h"
#include "engine/codec/layout_history_record.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/directory_marker.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

std::string Describe(IndexId id) {
  return "index " + std::to_string(id.index_number) + " in column family " +
         std::to_string(id.column_family);
}

// Calls `visit(key, value)` for every record of a type, in key order.
template <typename Visit>
Status ForEachRecord(const Database& database, DictionaryRecordType type, Visit visit) {
  const std::string prefix = DictionaryPrefix(type);
  const std::string end =
      DictionaryPrefix(static_cast<DictionaryRecordType>(static_cast<uint32_t>(type) + 1));
  rocksdb::Slice upper_bound(end);
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.iterate_upper_bound = &upper_bound;
  std::unique_ptr<rocksdb::Iterator> iterator(
      database.rocksdb()->NewIterator(options, database.system_family().handle));
  for (iterator->Seek(prefix); iterator->Valid(); iterator->Next()) {
    visit(iterator->key().ToStringView(), iterator->value().ToStringView());
  }
  return FromRocksDb(iterator->status()).WithContext("reading the data dictionary");
}

}  // namespace

// Reads everything first and judges the tables then: what is wrong with one often shows in
// another's records.
class Dictionary::Loader {
 public:
  explicit Loader(Dictionary* dictionary)
      : dictionary_(*dictionary), database_(*dictionary->database_) {}

  Status Run() {
    CAIRN_RETURN_IF_ERROR(ReadFormat());
    CAIRN_RETURN_IF_ERROR(ReadMaxIndexNumber());
    CAIRN_RETURN_IF_ERROR(ReadFamilies());
    CAIRN_RETURN_IF_ERROR(ReadIndexes());
    CAIRN_RETURN_IF_ERROR(ReadHistories());
    CAIRN_RETURN_IF_ERROR(ReadForeignKeys());
    CAIRN_RETURN_IF_ERROR(ReadStatistics());
    CAIRN_RETURN_IF_ERROR(ReadTables());
    CAIRN_RETURN_IF_ERROR(ReadDropMarks(DictionaryRecordType::kIndexDropOngoing));
    // An index build that did not finish leaves nothing that anybody refers to.
    const size_t dropped = marks_.size();
    CAIRN_RETURN_IF_ERROR(ReadDropMarks(DictionaryRecordType::kIndexCreateOngoing));
    LogUnfinishedBuilds(dropped);
    CAIRN_RETURN_IF_ERROR(DecideMaxIndexNumber());
    for (const Entry& entry : entries_) Judge(entry);
    ApplyDropMarks();
    CAIRN_RETURN_IF_ERROR(CheckAutoIncrements());
    CAIRN_RETURN_IF_ERROR(ReadDefinitionMarks());
    Log(Severity::kNote, "Table_store: loaded DDL data for " +
                             std::to_string(dictionary_.tables_.size()) + " tables");
    for (const auto& [name, table] : dictionary_.tables_) {
      database_.expiry().Add(ExpiryRules(*table));
    }
    return WriteRequired();
  }

 private:
  struct Entry {
    std::string name;
    std::vector<IndexId> ids;
  };

  void Log(Severity severity, const std::string& message) {
    database_.log().Write(severity, message);
  }

  // A record that belongs to no table is kept, for whoever can make sense of it.
  void LogKept(std::string_view key, const Status& status) {
    Log(Severity::kError,
        "data dictionary: the record " + ToHex(key) + " is ignored and kept: " + status.ToString());
  }

  void Quarantine(const std::string& name, const std::vector<IndexId>& ids, std::string reason,
                  bool for_foreign_keys = false) {
    dictionary_.LogQuarantine(name, reason);
    dictionary_.quarantined_.emplace(
        name, QuarantinedTable{name, std::move(reason), ids, for_foreign_keys});
  }

  void NoteSeen(IndexId id) { seen_.insert(id.index_number); }

  Status ReadFormat() {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> record,
                           dictionary_.Read(DirectoryFormatKey()));
    if (!record.has_value()) return Status();
    has_format_ = true;
    const auto format = DecodeDirectoryFormat(*record);
    if (format.ok()) {
      dictionary_.format_ = *format;
    } else if (format.status().code() == StatusCode::kNotSupported) {
      return format.status().WithContext("data dictionary, written by a newer Cairn");
    } else {
      LogKept(DirectoryFormatKey(), format.status());  // It only says what new tables may use.
    }
    return Status();
  }

  Status ReadMaxIndexNumber() {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> record,
                           dictionary_.Read(MaxIndexNumberKey()));
    if (!record.has_value()) return Status();
    const auto number = DecodeMaxIndexNumber(*record);
    if (number.ok()) {
      stored_max_ = *number;
    } else if (number.status().code() == StatusCode::kNotSupported) {
      return number.status().WithContext("data dictionary, written by a newer engine");
    } else {
      Log(Severity::kError, "data dictionary: " + number.status().ToString());
    }
    return Status();
  }

  Status ReadFamilies() {
    Status refused;
    const auto read = [&](std::string_view key, std::string_view value) {
      has_families_ = true;
      const auto family = DecodeColumnFamilyKey(key);
      if (!family.ok()) return LogKept(key, family.status());
      const auto flags = DecodeColumnFamily(value);
      if (flags.ok()) {
        dictionary_.family_flags_[*family] = *flags;
        return;
      }
      const bool needed =
          *family == database_.system_family().id || *family == database_.default_family().id;
      if (needed && flags.status().code() == StatusCode::kNotSupported) {
        refused =
            flags.status().WithContext("data dictionary, column family " + std::to_string(*family));
      } else if (!needed) {  // The other two are written again.
        LogKept(key, flags.status());
        dictionary_.bad_families_.emplace(*family, flags.status().ToString());
      }
    };
    CAIRN_RETURN_IF_ERROR(ForEachRecord(database_, DictionaryRecordType::kColumnFamily, read));
    return refused;
  }

  Status ReadIndexes() {
    return ForEachRecord(database_, DictionaryRecordType::kIndex,
                         [this](std::string_view key, std::string_view value) {
                           const auto id = DecodeIndexKey(DictionaryRecordType::kIndex, key);
                           if (!id.ok()) return LogKept(key, id.status());
                           NoteSeen(*id);
                           auto info = DecodeIndexInfo(value);
                           if (info.ok()) {
                             indexes_.emplace(*id, std::move(info).value());
                           } else {
                             bad_indexes_.emplace(*id, info.status().ToString());
                           }
                         });
  }

  Status ReadHistories() {
    return ForEachRecord(
        database_, DictionaryRecordType::kLayoutHistory,
        [this](std::string_view key, std::string_view value) {
          const auto id = DecodeIndexKey(DictionaryRecordType::kLayoutHistory, key);
          if (!id.ok()) return LogKept(key, id.status());
          NoteSeen(*id);
          auto history = DecodeLayoutHistory(value);
          if (history.ok()) {
            histories_.emplace(*id,
                               std::make_shared<const LayoutHistory>(std::move(history).value()));
          } else {
            bad_histories_.emplace(*id, history.status().ToString());
          }
        });
  }

  // A record that cannot be used is kept: it goes with the tables that are quarantined for it.
  Status ReadForeignKeys() {
    const auto note_damage = [this](std::string_view key, const ForeignKeyTables& tables,
                                    const Status& why) {
      const std::string reason = "the record " + ToHex(key) + ": " + why.ToString();
      Log(Severity::kError, "data dictionary: " + reason);
      if (tables.child.empty()) {
        unknown_damage_ = reason;
      } else {
        damage_.emplace(tables.child, reason);
        if (!tables.parent.empty()) damage_.emplace(tables.parent, reason);
      }
      dictionary_.damaged_foreign_keys_.push_back({std::string(key), tables.child});
    };
    return ForEachRecord(database_, DictionaryRecordType::kForeignKey,
                         [&](std::string_view key, std::string_view value) {
                           const auto number = DecodeForeignKeyKey(key);
                           if (!number.ok()) return note_damage(key, {}, number.status());
                           foreign_key_numbers_.insert(*number);
                           auto record = DecodeForeignKey(value);
                           if (record.ok()) {
                             foreign_keys_.emplace(*number, std::move(record).value());
                             return;
                           }
                           const auto tables = TablesOfDamagedForeignKey(value);
                           note_damage(key, tables.ok() ? *tables : ForeignKeyTables(),
                                       record.status());
                         });
  }

  // Statistics are of use, not of need: records that cannot be read are logged and passed over.
  Status ReadStatistics() {
    return ForEachRecord(
        database_, DictionaryRecordType::kIndexStatistics,
        [this](std::string_view key, std::string_view value) {
          const auto id = DecodeIndexKey(DictionaryRecordType::kIndexStatistics, key);
          const auto statistics = DecodeIndexStatistics(value);
          const bool valid = id.ok() && statistics.ok() && statistics->size() == 1 &&
                             statistics->front().id == *id;
          if (!valid) {
            const Status why = !id.ok() ? id.status() : statistics.status();
            Log(Severity::kWarning,
                "the statistics record " + ToHex(key) +
                    " is ignored: " + (why.ok() ? "it is not that of one index" : why.ToString()));
          } else if (indexes_.contains(*id)) {
            database_.file_statistics().Restore(statistics->front());
          }
        });
  }

  Status ReadTables() {
    return ForEachRecord(
        database_, DictionaryRecordType::kTable,
        [this](std::string_view key, std::string_view value) {
          auto name = DecodeTableKey(key);
          if (!name.ok()) return LogKept(key, name.status());
          auto ids = DecodeTable(value);
          if (!ids.ok()) return Quarantine(*name, {}, ids.status().ToString());
          for (const IndexId id : *ids) {
            NoteSeen(id);
            ++claims_[id.index_number];
          }
          entries_.push_back(Entry{std::move(name).value(), std::move(ids).value()});
        });
  }

  Status ReadDropMarks(DictionaryRecordType type) {
    return ForEachRecord(database_, type,
                         [this, type](std::string_view key, std::string_view value) {
                           const auto id = DecodeIndexKey(type, key);
                           if (!id.ok()) return LogKept(key, id.status());
                           NoteSeen(*id);
                           const Status decoded = DecodeOngoingMark(value);
                           if (!decoded.ok()) return LogKept(key, decoded);
                           marks_.push_back(*id);
                         });
  }

  // Those of temporary tables have a record.
  void LogUnfinishedBuilds(size_t first_mark) {
    for (size_t i = first_mark; i < marks_.size(); ++i) {
      if (indexes_.contains(marks_[i])) continue;
      Log(Severity::kNote, "Removing incomplete create index (" +
                               std::to_string(marks_[i].column_family) + "," +
                               std::to_string(marks_[i].index_number) + ")");
    }
  }

  // A number used twice would mix the rows of two tables. Where the record of the largest is lost,
  // every record that names an index or a foreign key counts, and the last key of every family;
  // where it is there, numbers above it are damage, and are left out when numbers are handed out. A
  // start that left out changes may have an older record than the data: RocksDB does not take back
  // files that were ingested.
  Status DecideMaxIndexNumber() {
    limit_ = std::max(kFirstUserIndexNumber - 1, stored_max_.value_or(0));
    std::set<uint32_t> named = seen_;
    named.insert(foreign_key_numbers_.begin(), foreign_key_numbers_.end());
    if (!stored_max_.has_value() && !named.empty()) {
      CAIRN_ASSIGN_OR_RETURN(const uint32_t in_data, LargestNumberInData());
      limit_ = std::max({limit_, *named.rbegin(), in_data});
      Log(Severity::kWarning,
          "data dictionary: the record of the largest index number is missing or damaged; from the "
          "data it is " +
              std::to_string(limit_));
    }
    if (stored_max_.has_value() && database_.has_left_out_changes()) {
      CAIRN_ASSIGN_OR_RETURN(const uint32_t in_data, LargestNumberInData());
      if (in_data > limit_) {
        limit_ = in_data;
        raises_max_ = true;
        Log(Severity::kWarning, "data dictionary: there is data of index numbers up to " +
                                    std::to_string(limit_) + ", which nobody knows any more");
      }
    }
    dictionary_.max_index_number_ = limit_;
    dictionary_.reserved_numbers_.insert(named.upper_bound(limit_), named.end());
    return Status();
  }

  Result<uint32_t> LargestNumberInData() {
    uint32_t largest = 0;
    for (const ColumnFamily* family : database_.families().All()) {
      if (family->id == database_.system_family().id) continue;
      rocksdb::ReadOptions options;
      options.total_order_seek = true;
      std::unique_ptr<rocksdb::Iterator> iterator(
          database_.rocksdb()->NewIterator(options, family->handle));
      if (family->reverse) {
        iterator->SeekToFirst();
      } else {
        iterator->SeekToLast();
      }
      CAIRN_RETURN_IF_ERROR(FromRocksDb(iterator->status()));
      if (!iterator->Valid()) continue;
      ByteReader key(iterator->key().ToStringView());
      uint32_t number;
      if (key.ReadBigEndian(&number)) largest = std::max(largest, number);
    }
    return largest;
  }

  // What is wrong with one index of a table; empty when nothing is.
  std::string ProblemOf(IndexId id) const {
    if (const auto bad = bad_indexes_.find(id); bad != bad_indexes_.end()) {
      return ": " + bad->second;
    }
    if (!indexes_.contains(id)) return " has no record";
    if (database_.families().Find(id.column_family) == nullptr)
      return ": the column family does not exist";
    if (const auto bad = dictionary_.bad_families_.find(id.column_family);
        bad != dictionary_.bad_families_.end()) {
      return ": the column family's record cannot be used: " + bad->second;
    }
    if (id.index_number > limit_) {
      return " is above the largest number handed out, " + std::to_string(limit_);
    }
    if (!dictionary_.CanHoldIndex(id)) return " lies where no index can be";
    if (claims_.at(id.index_number) > 1) return " is claimed more than once";
    if (std::find(marks_.begin(), marks_.end(), id) != marks_.end()) {
      return " is marked as dropped or as not yet built";
    }
    return std::string();
  }

  // The same of the layouts of its rows. Rows that are read by another history than theirs give
  // wrong values, so the record and the feature must be there together.
  std::string ProblemOfHistory(IndexId id) const {
    if (const auto bad = bad_histories_.find(id); bad != bad_histories_.end()) {
      return ": " + bad->second;
    }
    const bool needed = (indexes_.at(id).features & kFeatureRowLayouts) != 0;
    if (needed == histories_.contains(id)) return std::string();
    return needed ? " has no history of its row layouts"
                  : " has a history of row layouts that its record does not know";
  }

  void Judge(const Entry& entry) {
    auto table = std::make_shared<TableDefinition>();
    table->name = entry.name;
    table->counters = std::make_shared<TableCounters>();
    size_t primary_keys = 0;
    for (const IndexId id : entry.ids) {
      std::string problem = ProblemOf(id);
      if (problem.empty()) problem = ProblemOfHistory(id);
      if (!problem.empty()) return Quarantine(entry.name, entry.ids, Describe(id) + problem);
      const IndexInfo& info = indexes_.at(id);
      primary_keys += info.kind != IndexKind::kSecondary;
      table->indexes.push_back(
          IndexDefinition{id, info, database_.families().Find(id.column_family)});
      if (const auto history = histories_.find(id); history != histories_.end()) {
        table->indexes.back().history = history->second;
      }
    }
    if (primary_keys != 1) {
      return Quarantine(entry.name, entry.ids,
                        std::to_string(primary_keys) + " of its indexes are primary keys");
    }
    if (const std::string problem = ProblemOfForeignKeys(*table); !problem.empty()) {
      return Quarantine(entry.name, entry.ids, problem, true);
    }
    // A damaged counter would stop RocksDB at the next merge into it.
    if (const auto counter = dictionary_.LoadAutoIncrement(*table); !counter.ok()) {
      return Quarantine(entry.name, entry.ids,
                        "its auto-increment record: " + counter.status().ToString());
    }
    dictionary_.tables_.emplace(entry.name, std::move(table));
  }

  // Nobody may change a table behind a foreign key that cannot be read. Where such a record does
  // not tell its tables, it may be one of any table that has a guard.
  std::string ProblemOfForeignKeys(const TableDefinition& table) const {
    if (const auto damage = damage_.find(table.name); damage != damage_.end()) {
      return "one of its foreign keys cannot be read, " + damage->second;
    }
    if (unknown_damage_.empty() || GuardsOf(table) == 0) return std::string();
    return "a foreign key that may be its own cannot be read, " + unknown_damage_;
  }

  static uint32_t GuardsOf(const TableDefinition& table) {
    uint32_t features = 0;
    for (const IndexDefinition& index : table.indexes) features |= index.info.features;
    return features & kForeignKeyGuards;
  }

  // Foreign keys that lack their table are removed, and the guards of tables made to fit them.
  Status SettleForeignKeys(rocksdb::WriteBatch* batch) {
    CAIRN_RETURN_IF_ERROR(ForgetDamageOfNobody(batch));
    const auto exists = [this](std::string_view name) {
      return dictionary_.tables_.contains(name) || dictionary_.quarantined_.contains(name);
    };
    const ForeignKeyNames& names = dictionary_.foreign_keys_.names();
    ForeignKeyIndex all(&names);
    std::set<std::string> tables;
    for (const auto& [number, record] : foreign_keys_) {
      all.Put(number, record);
      tables.insert({record.child, record.parent});
    }
    ForeignKeyPlan plan(all, tables, names, exists);
    plan.FinishAtStart();
    for (const auto& [number, record] : plan.before()) {
      if (plan.after().contains(number)) continue;
      CAIRN_RETURN_IF_ERROR(
          FromRocksDb(batch->Delete(database_.system_family().handle, ForeignKeyKey(number))));
      Log(Severity::kNote, "data dictionary: foreign key " + std::to_string(number) + " " +
                               record.name + " is removed: its table " + record.child +
                               " does not exist");
    }
    for (auto& [name, table] : dictionary_.tables_) {
      const uint32_t guards = plan.Guards(name);
      table->counters->foreign_key_guards = guards;
      if ((guards | GuardsOf(*table)) == 0) continue;
      auto guarded = std::make_shared<TableDefinition>(*table);
      if (!SetGuards(guards, guarded.get())) continue;
      Log(Severity::kWarning, "table " + name + ": its record said of foreign keys '" +
                                  NameFeatures(GuardsOf(*table)) + "', now it says '" +
                                  NameFeatures(guards) + "'");
      CAIRN_RETURN_IF_ERROR(dictionary_.PutTable(*guarded, batch));
      table = std::move(guarded);
    }
    foreign_keys_ = plan.after();
    return Status();
  }

  // Where no table can be meant, a damaged record would only hinder new foreign keys.
  Status ForgetDamageOfNobody(rocksdb::WriteBatch* batch) {
    if (!dictionary_.quarantined_.empty()) return Status();
    for (const auto& damaged : dictionary_.damaged_foreign_keys_) {
      Log(Severity::kWarning, "data dictionary: the record " + ToHex(damaged.key) +
                                  " is removed: there is no table that it can concern");
      CAIRN_RETURN_IF_ERROR(
          FromRocksDb(batch->Delete(database_.system_family().handle, damaged.key)));
    }
    dictionary_.damaged_foreign_keys_.clear();
    return Status();
  }

  // A mark for an index that a table claims is never followed: keeping entries is the safe mistake.
  void ApplyDropMarks() {
    for (const IndexId id : marks_) {
      if (claims_.contains(id.index_number)) continue;  // The table is quarantined for it.
      if (!dictionary_.CanHoldIndex(id)) {
        Log(Severity::kError, "Found max index id " + std::to_string(limit_) +
                                  " from data dictionary but also found dropped index id (" +
                                  std::to_string(id.column_family) + "," +
                                  std::to_string(id.index_number) +
                                  ") from drop_index dictionary: no such index was ever made, and "
                                  "the mark is ignored and kept");
        continue;
      }
      database_.dropped_indexes().Add(id);
    }
  }

  // The records of tables are read with these.
  Status CheckAutoIncrements() {
    return ForEachRecord(
        database_, DictionaryRecordType::kAutoIncrement,
        [this](std::string_view key, std::string_view) {
          const auto id = DecodeIndexKey(DictionaryRecordType::kAutoIncrement, key);
          if (!id.ok()) return LogKept(key, id.status());
          if (seen_.contains(id->index_number)) return;
          Log(Severity::kWarning, "AUTOINC mismatch - Index number (" +
                                      std::to_string(id->column_family) + ", " +
                                      std::to_string(id->index_number) +
                                      ") found in AUTOINC but does not exist as a DDL entry");
        });
  }

  // A copy of a definition that cannot be used is as good as none: the table gets another one when
  // it is opened.
  Status ReadDefinitionMarks() {
    return ForEachRecord(
        database_, DictionaryRecordType::kDefinitionMark,
        [this](std::string_view key, std::string_view value) {
          auto table = DecodeDefinitionMarkKey(key);
          auto mark = DecodeDefinitionMark(value);
          if (!table.ok() || !mark.ok()) {
            const Status why = table.ok() ? mark.status() : table.status();
            Log(Severity::kWarning,
                "the copy of a definition " + ToHex(key) + " is ignored: " + why.ToString());
            return;
          }
          const bool counts = mark->entries == dictionary_.SumOfEntries(*table);
          dictionary_.definitions_.emplace(std::move(table).value(),
                                           KnownDefinition{std::move(mark).value(), counts});
        });
  }

  // A dictionary without any family is a new directory: it is Cairn's own.
  Status WriteRequired() {
    rocksdb::WriteBatch batch;
    rocksdb::ColumnFamilyHandle* const system = database_.system_family().handle;
    for (const ColumnFamily* family : {&database_.system_family(), &database_.default_family()}) {
      CAIRN_RETURN_IF_ERROR(
          FromRocksDb(batch.Put(system, ColumnFamilyKey(family->id), EncodeColumnFamily(0))));
      dictionary_.family_flags_[family->id] = 0;
    }
    const bool has_numbers = !seen_.empty() || !foreign_key_numbers_.empty();
    if (raises_max_ || (!stored_max_.has_value() && has_numbers)) {
      CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(
          system, MaxIndexNumberKey(), EncodeMaxIndexNumber(dictionary_.max_index_number()))));
    }
    if (!has_families_ && !has_format_) {
      dictionary_.format_ = DirectoryFormat::kCairn;
      has_format_ = true;
      CAIRN_RETURN_IF_ERROR(FromRocksDb(
          batch.Put(system, DirectoryFormatKey(), EncodeDirectoryFormat(DirectoryFormat::kCairn))));
    }
    if (has_format_) {
      const Status marked = WriteDirectoryMarker(database_.env(), database_.directory());
      // A copy of a directory may lack the file: the record alone protects as well, if less early.
      if (!marked.ok()) Log(Severity::kWarning, marked.ToString());
    }
    CAIRN_RETURN_IF_ERROR(SettleForeignKeys(&batch));
    CAIRN_RETURN_IF_ERROR(dictionary_.Write(&batch));
    dictionary_.foreign_keys_.Publish({}, foreign_keys_);
    return Status();
  }

  Dictionary& dictionary_;
  Database& database_;
  bool has_format_ = false;
  bool has_families_ = false;
  std::optional<uint32_t> stored_max_;
  bool raises_max_ = false;  // The record is to have limit_.
  std::set<uint32_t> seen_;  // Index numbers that any record names.
  uint32_t limit_ = 0;       // Numbers above it were never handed out.
  std::map<IndexId, IndexInfo> indexes_;
  std::map<IndexId, std::string> bad_indexes_;  // Why.
  std::map<IndexId, std::shared_ptr<const LayoutHistory>> histories_;
  std::map<IndexId, std::string> bad_histories_;  // Why.
  ForeignKeyRecords foreign_keys_;
  std::set<uint32_t> foreign_key_numbers_;     // Also of records that cannot be used.
  std::map<std::string, std::string> damage_;  // Of foreign keys: why, by table.
  std::string unknown_damage_;                 // Of foreign keys whose tables cannot be told: why.
  std::vector<Entry> entries_;
  std::map<uint32_t, int> claims_;  // By index number: how often a table names it.
  std::vector<IndexId> marks_;      // Dropped or not yet built.
};

Result<std::unique_ptr<Dictionary>> Dictionary::Load(Database* database,
                                                     const ForeignKeyNames& names) {
  std::unique_ptr<Dictionary> dictionary(new Dictionary(database, names));
  CAIRN_RETURN_IF_ERROR(Loader(dictionary.get()).Run());
  return dictionary;
}

}  // namespace cairn
