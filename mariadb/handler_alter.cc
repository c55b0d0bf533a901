// ALTER TABLE in place: indexes come and go, the rows stay where they are. Everything else is done
// by copying the table.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/index_build.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/table_description.h"
#include "mariadb/variables.h"

using cairn::Status;
using cairn::StatusCode;

namespace {

constexpr alter_table_operations kDropIndex =
    ALTER_DROP_INDEX | ALTER_DROP_NON_UNIQUE_NON_PRIM_INDEX | ALTER_DROP_UNIQUE_INDEX;
constexpr alter_table_operations kAddIndex =
    ALTER_ADD_INDEX | ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX | ALTER_ADD_UNIQUE_INDEX;
// The server sorts the keys of a table by kind, so that a new one moves others.
constexpr alter_table_operations kChangeIndexes = kDropIndex | kAddIndex | ALTER_INDEX_ORDER;

// What an ALTER makes of one table or partition; belongs to the statement. Indexes that were begun
// and did not become part of the table go with it.
class InPlaceChange final : public inplace_alter_handler_ctx {
 public:
  explicit InPlaceChange(cairn::Dictionary::IndexChange change) : change_(std::move(change)) {}
  ~InPlaceChange() override { Abandon(); }

  const cairn::Dictionary::IndexChange& change() const { return change_; }
  // The table as it will be, and the positions of its new indexes.
  const cairn::Table* altered() const { return altered_.get(); }
  const std::vector<uint32_t>& added() const { return added_; }

  void SetAltered(std::shared_ptr<const cairn::Table> altered, std::vector<uint32_t> added) {
    altered_ = std::move(altered);
    added_ = std::move(added);
    for (const cairn::TableIndex& index : altered_->indexes()) {
      change_.indexes.push_back(index.entry.id);
    }
  }
  void SetBuiltAt(uint64_t built_at) {
    for (cairn::IndexEntry& index : change_.added) index.built_at = built_at;
  }
  // The dictionary has the say now: the indexes are the table's or, when it could not be written,
  // are for the next start to judge.
  void HandOver() { change_.added.clear(); }
  void Abandon() {
    if (change_.added.empty()) return;
    cairn::Engine* const engine = cairn::RunningEngine();
    engine->dictionary().AbandonIndexes(std::exchange(change_.added, {}));
    engine->upkeep().RemoveDroppedIndexes();
  }

 private:
  cairn::Dictionary::IndexChange change_;
  std::shared_ptr<const cairn::Table> altered_;
  std::vector<uint32_t> added_;
};

// The position of the key of that name; MAX_KEY when there is none.
uint FindKey(const TABLE& table, const LEX_CSTRING& name) {
  for (uint i = 0; i < table.s->keys; ++i) {
    if (my_strcasecmp(system_charset_info, table.key_info[i].name.str, name.str) == 0) return i;
  }
  return MAX_KEY;
}

bool IsAdded(const Alter_inplace_info& alter_info, uint key) {
  const uint* const begin = alter_info.index_add_buffer;
  const uint* const end = begin + alter_info.index_add_count;
  return std::find(begin, end, key) != end;
}

// Whether the rows stay under the same key: a UNIQUE key without NULL takes the place of a primary
// key that is not declared, so that adding or dropping it moves them all.
bool KeepsPrimaryKey(const TABLE& table, const TABLE& altered_table,
                     const Alter_inplace_info& alter_info) {
  const uint old_primary = table.s->primary_key;
  const uint new_primary = altered_table.s->primary_key;
  if (old_primary == MAX_KEY || new_primary == MAX_KEY) return old_primary == new_primary;
  return !IsAdded(alter_info, new_primary) &&
         FindKey(table, altered_table.key_info[new_primary].name) == old_primary;
}

bool IsSequence(const TABLE& table) { return table.s->table_type == TABLE_TYPE_SEQUENCE; }

// A UNIQUE key on a long column stands for a hidden column, which comes and goes with it.
bool HasHashedKey(const TABLE& table) {
  return std::any_of(table.key_info, table.key_info + table.s->keys,
                     [](const KEY& key) { return key.algorithm == HA_KEY_ALG_LONG_HASH; });
}

// Whether no two rows may have the same value of an added key, and the copy of the table decides
// what becomes of them: the server checks WITHOUT OVERLAPS itself, and with IGNORE all but one of
// such rows go.
bool NeedsCopyToBeUnique(const KEY& key, const Alter_inplace_info& alter_info) {
  return key.without_overlaps || (alter_info.ignore && (key.flags & HA_NOSAME));
}

// Whether an index can be built beside the rows.
bool CanBuild(const cairn::TableDescription& description, const cairn::TableDefinition& definition,
              uint32_t primary_position, uint position) {
  const cairn::IndexInfo& primary = definition.indexes[primary_position].info;
  cairn::NewIndex format;
  if (!cairn::ChooseAddedFormat(description, primary, position, &format)) return false;
  cairn::IndexLayout index = description.indexes[position];
  index.format_version = format.format_version;
  const auto old_primary = std::find_if(
      description.indexes.begin(), description.indexes.end(),
      [](const cairn::IndexLayout& layout) { return layout.kind != cairn::IndexKind::kSecondary; });
  cairn::IndexLayout primary_layout = *old_primary;
  primary_layout.format_version = primary.format_version;
  const auto codec = cairn::IndexCodec::Make(description.layout, primary_layout, index);
  return codec.ok() && cairn::IndexBuild::CanBuild(**codec);
}

cairn::IndexBuildSettings BuildSettings(THD* thd) {
  const cairn::BulkLoadSettings load = cairn::SessionBulkLoadSettings(thd);
  cairn::IndexBuildSettings settings;
  settings.sort = load.sort;
  settings.trace = load.trace;
  settings.append_checksums = cairn::SessionStoresChecksum(thd);
  if (cairn::SessionVerifiesChecksums(thd)) {
    settings.checksums = cairn::IndexCodec::Checksums::kVerify;
  }
  return settings;
}

void LogBegin(const std::vector<cairn::IndexEntry>& indexes) {
  if (global_system_variables.log_warnings <= 2) return;
  for (const cairn::IndexEntry& index : indexes) {
    sql_print_information("RocksDB: Begin index creation (%u,%u)", index.id.column_family,
                          index.id.index_number);
  }
}

}  // namespace

bool ha_rocksdb::CanChangeInPlace(const TABLE& altered_table,
                                  const Alter_inplace_info& alter_info) const {
  const alter_table_operations operations = alter_info.handler_flags & ~ALTER_PARTITIONED;
  const cairn::TableDefinition& definition = engine_table_->definition();
  if ((operations & kChangeIndexes) == 0 || (operations & ~kChangeIndexes) != 0 ||
      definition.temporary || HasHashedKey(*table) || HasHashedKey(altered_table) ||
      !KeepsPrimaryKey(*table, altered_table, alter_info) ||
      table->s->reclength != altered_table.s->reclength) {
    return false;
  }
  if (alter_info.index_add_count == 0) return true;
  const auto description = cairn::DescribeTable(altered_table, dictionary_name_);
  if (!description.ok()) return false;
  for (uint i = 0; i < alter_info.index_add_count; ++i) {
    const uint position = alter_info.index_add_buffer[i];
    if (NeedsCopyToBeUnique(altered_table.key_info[position], alter_info) ||
        !CanBuild(*description, definition, engine_table_->primary_position(), position)) {
      return false;
    }
  }
  return true;
}

enum_alter_inplace_result ha_rocksdb::check_if_supported_inplace_alter(
    TABLE* altered_table, Alter_inplace_info* alter_info) {
  // The server's wrapper of sequences calls every change compatible, SEQUENCE=0 as well.
  if (IsSequence(*table) || IsSequence(*altered_table)) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  if (!CanChangeInPlace(*altered_table, *alter_info)) {
    return handler::check_if_supported_inplace_alter(altered_table, alter_info);
  }
  // The server takes a shared lock for any algorithm; this answer makes it refuse the one that
  // reads no rows.
  if (alter_info->index_add_count > 0 &&
      alter_info->alter_info->algorithm(ha_thd()) == Alter_info::ALTER_TABLE_ALGORITHM_INSTANT) {
    return HA_ALTER_INPLACE_NOCOPY_LOCK;
  }
  return HA_ALTER_INPLACE_SHARED_LOCK;
}

bool ha_rocksdb::prepare_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info) {
  const int error = BeginChange(*altered_table, alter_info);
  if (error == 0) return false;
  if (!ha_thd()->is_error()) print_error(error, MYF(0));
  if (alter_info->index_add_count > 0) my_error(ER_KEY_CREATE_DURING_ALTER, MYF(0));
  return true;
}

// Describes the table as it will be; new indexes get their numbers.
int ha_rocksdb::BeginChange(const TABLE& altered_table, Alter_inplace_info* alter_info) {
  const cairn::TableDefinition& definition = engine_table_->definition();
  cairn::Engine* const engine = cairn::RunningEngine();
  // Under LOCK TABLES no statement has begun that would have done it.
  const Status loaded = shared_->FinishLoads();
  if (!loaded.ok()) return cairn::ReportBulkLoadError(loaded);
  auto description = cairn::DescribeTable(altered_table, dictionary_name_);
  if (!description.ok()) return cairn::HandlerError(description.status());

  std::vector<uint32_t> added;
  std::vector<cairn::NewIndex> new_indexes;
  for (uint i = 0; i < altered_table.s->keys; ++i) {
    if (!IsAdded(*alter_info, i)) continue;
    added.push_back(i);
    const cairn::IndexInfo& primary = definition.indexes[engine_table_->primary_position()].info;
    if (const int error = cairn::DescribeAddedIndex(altered_table, *description, primary, i,
                                                    &new_indexes.emplace_back())) {
      return error;
    }
  }
  cairn::Dictionary::IndexChange change;
  change.table_name = definition.name;
  if (!added.empty()) {
    auto begun = engine->dictionary().BeginIndexes(new_indexes);
    if (!begun.ok()) return cairn::HandlerError(begun.status());
    change.added = std::move(begun).value();
    LogBegin(change.added);
  }
  // From here on what was begun goes with the context.
  auto* const context = new InPlaceChange(change);
  alter_info->handler_ctx = context;

  auto altered_definition = std::make_shared<cairn::TableDefinition>(definition);
  altered_definition->indexes.clear();
  size_t next_added = 0;
  for (uint i = 0; i < altered_table.s->keys; ++i) {
    if (IsAdded(*alter_info, i)) {
      altered_definition->indexes.push_back(change.added[next_added++]);
      continue;
    }
    const LEX_CSTRING& name = altered_table.key_info[i].name;
    const uint position = FindKey(*table, name);
    if (position >= definition.indexes.size()) {
      my_error(ER_KEY_DOES_NOT_EXISTS, MYF(0), name.str, table->s->table_name.str);
      return HA_ERR_WRONG_INDEX;
    }
    altered_definition->indexes.push_back(definition.indexes[position]);
  }
  if (engine_table_->has_hidden_key()) {
    altered_definition->indexes.push_back(definition.indexes.back());
  }
  auto altered = cairn::Table::Open(std::move(altered_definition), std::move(description->layout),
                                    std::move(description->indexes));
  if (!altered.ok()) return cairn::HandlerError(altered.status());
  // The files written from now on tell the distinct values of the new indexes.
  cairn::Table::RegisterKeyLayouts(*altered, &engine->database());
  context->SetAltered(std::move(altered).value(), std::move(added));
  return 0;
}

bool ha_rocksdb::inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info) {
  auto* const context = static_cast<InPlaceChange*>(alter_info->handler_ctx);
  if (context == nullptr || context->added().empty()) return false;
  cairn::Session& session = cairn::Session::Of(ha_thd());
  cairn::ScopedWaitObserver observer(&session);
  VirtualColumns virtual_columns(this, context->altered());
  cairn::IndexBuild build(&cairn::RunningEngine()->database(), context->altered(), context->added(),
                          BuildSettings(ha_thd()), table->record[0], &virtual_columns);
  const Status built = build.Run();
  if (built.ok()) {
    context->SetBuiltAt(build.built_at());
    return false;
  }
  if (built.code() == StatusCode::kDuplicateKey) {
    memcpy(altered_table->record[0], table->record[0], table->s->reclength);
    print_keydup_error(altered_table, &altered_table->key_info[build.duplicate_index()], MYF(0));
  } else {
    print_error(cairn::HandlerError(built), MYF(0));
  }
  if (built.code() != StatusCode::kInterrupted) my_error(ER_SK_POPULATE_DURING_ALTER, MYF(0));
  return true;
}

bool ha_rocksdb::commit_inplace_alter_table(TABLE*, Alter_inplace_info* alter_info, bool commit) {
  if (!commit) {
    // Each partition by itself. One that was not prepared has no context.
    auto* const context = static_cast<InPlaceChange*>(alter_info->handler_ctx);
    if (context != nullptr) context->Abandon();
    return false;
  }
  std::vector<InPlaceChange*> contexts;
  if (alter_info->group_commit_ctx != nullptr) {
    // All partitions in one write: a crash leaves none of them behind.
    for (inplace_alter_handler_ctx** context = alter_info->group_commit_ctx; *context != nullptr;
         ++context) {
      contexts.push_back(static_cast<InPlaceChange*>(*context));
    }
    alter_info->group_commit_ctx = nullptr;
  } else {
    contexts.push_back(static_cast<InPlaceChange*>(alter_info->handler_ctx));
  }
  cursor_->Close();
  std::vector<cairn::Dictionary::IndexChange> changes;
  for (InPlaceChange* context : contexts) {
    changes.push_back(context->change());
    context->HandOver();
  }
  cairn::Engine* const engine = cairn::RunningEngine();
  const Status changed = engine->dictionary().ChangeIndexes(changes);
  if (!changed.ok()) {
    print_error(cairn::HandlerError(changed), MYF(0));
    return true;
  }
  engine->upkeep().RemoveDroppedIndexes();
  return false;
}
