// ALTER TABLE in place: the rows stay where they are. What may be done so is in alter_plan.cc.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/index_build.h"
#include "mariadb/alter_plan.h"
#include "mariadb/build_progress.h"
#include "mariadb/definition_copies.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/foreign_key_alter.h"
#include "mariadb/foreign_key_binding.h"
#include "mariadb/foreign_key_clauses.h"
#include "mariadb/foreign_key_copy.h"
#include "mariadb/foreign_key_texts.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/in_place_change.h"
#include "mariadb/table_description.h"
#include "mariadb/ttl_comment.h"
#include "mariadb/variables.h"
#include "partition_info.h"

using cairn::AlterPlan;
using cairn::InPlaceChange;
using cairn::Status;
using cairn::StatusCode;

namespace {

size_t PartitionsOf(const TABLE& table) {
  return table.part_info == nullptr ? 1 : table.part_info->get_tot_partitions();
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

// None of the server's.
constexpr alter_table_operations kSomePartitionCopies = alter_table_operations{1} << 63;

void LogBegin(const std::vector<cairn::IndexDefinition>& indexes) {
  if (global_system_variables.log_warnings <= 2) return;
  for (const cairn::IndexDefinition& index : indexes) {
    sql_print_information("RocksDB: Begin index creation (%u,%u)", index.id.column_family,
                          index.id.index_number);
  }
}

}  // namespace

// Of a partitioned table each partition is asked. Of their answers the server takes the least, and
// one that needs a copy is larger than one that is instant; but it asks all of them again when one
// has changed the flags.
enum_alter_inplace_result ha_rocksdb::check_if_supported_inplace_alter(
    TABLE* altered_table, Alter_inplace_info* alter_info) {
  if (alter_info->handler_flags & kSomePartitionCopies) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  // The definition would be of this server, and the rows would not.
  if (cairn::HasOtherEndOfTime(*table)) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  if (shared_->has_old_weights) {
    alter_info->unsupported_reason = "the weights of a collation have changed";
    if (table->part_info != nullptr) alter_info->handler_flags |= kSomePartitionCopies;
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  const bool has_foreign_keys =
      TakesPartInForeignKeys() || (alter_info->handler_flags & ALTER_ADD_FOREIGN_KEY) != 0;
  if (has_foreign_keys && !cairn::KeepsForeignKeys(*table, *altered_table, *alter_info->alter_info,
                                                   alter_info->index_drop_count != 0,
                                                   engine_table_->definition().name)) {
    return HA_ALTER_ERROR;
  }
  const cairn::AlterRequest request(*table, *altered_table, *alter_info, *engine_table_);
  const AlterPlan plan = request.Plan();
  const bool adds_foreign_key = (alter_info->handler_flags & ALTER_ADD_FOREIGN_KEY) != 0;
  if (plan.way == AlterPlan::Way::kRebuild && has_foreign_keys) {
    // The rows of a new foreign key are looked at where they are; and of each row that IGNORE
    // leaves out the server asks whether it may be a parent, which it does where it copies.
    const bool leaves_out =
        ha_thd()->lex->ignore && cairn::RunningEngine()->dictionary().foreign_keys().IsParent(
                                     engine_table_->definition().name);
    if (adds_foreign_key || leaves_out) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if (plan.reason != nullptr) alter_info->unsupported_reason = plan.reason;
  switch (plan.way) {
    case AlterPlan::Way::kFail:
      return HA_ALTER_ERROR;
    case AlterPlan::Way::kCopy:
      if (table->part_info != nullptr) alter_info->handler_flags |= kSomePartitionCopies;
      return HA_ALTER_INPLACE_NOT_SUPPORTED;
    case AlterPlan::Way::kRebuild:
      return HA_ALTER_INPLACE_COPY_LOCK;
    case AlterPlan::Way::kInstant:
      return HA_ALTER_INPLACE_INSTANT;
    case AlterPlan::Way::kBuildIndexes:
      return HA_ALTER_INPLACE_NOCOPY_LOCK;
    case AlterPlan::Way::kBuildOnline:
      return HA_ALTER_INPLACE_NOCOPY_NO_LOCK;
  }
  return HA_ALTER_INPLACE_NOT_SUPPORTED;
}

bool ha_rocksdb::can_convert_nocopy(const Field& field, const Column_definition& column) const {
  return cairn::CanWidenInPlace(field, column);
}

Compare_keys ha_rocksdb::compare_key_parts(const Field& field, const Column_definition& column,
                                           const KEY_PART_INFO& old_part,
                                           const KEY_PART_INFO& part) const {
  return cairn::CompareKeyParts(field, column, old_part, part);
}

bool ha_rocksdb::prepare_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info) {
  const int error = BeginChange(*altered_table, alter_info);
  if (error == 0) return false;
  if (!ha_thd()->is_error()) print_error(error, MYF(0));
  // Of keys that are added to rows that stay, and not for a foreign key, whose refusal says all.
  const bool adds_keys = alter_info->index_add_count > 0 &&
                         (alter_info->handler_flags & ALTER_ADD_FOREIGN_KEY) == 0 &&
                         alter_info->inplace_supported != HA_ALTER_INPLACE_COPY_LOCK;
  if (adds_keys) my_error(ER_KEY_CREATE_DURING_ALTER, MYF(0));
  return true;
}

// What the records of the indexes that stay say afterwards, where that is something else.
void ha_rocksdb::ChangeIndexRecords(uint64_t ttl_seconds, uint32_t added_features,
                                    cairn::Dictionary::TableChange* change) const {
  for (const cairn::IndexDefinition& index : engine_table_->definition().indexes) {
    cairn::IndexInfo info = index.info;
    if (info.has_ttl_stamp) info.ttl_seconds = ttl_seconds;
    if (index.info.kind != cairn::IndexKind::kSecondary) info.features |= added_features;
    if (info != index.info) change->infos.emplace(index.id, info);
  }
}

// AUTO_INCREMENT = n of the statement: behind the rows at least.
int ha_rocksdb::ChangeAutoIncrement(const Alter_inplace_info& alter_info,
                                    cairn::Dictionary::TableChange* change) {
  if (!(alter_info.create_info->used_fields & HA_CREATE_USED_AUTO) ||
      table->found_next_number_field == nullptr) {
    return 0;
  }
  if (cairn::HasPreparedChanges(engine_table_->definition())) {
    return cairn::HandlerError(Status(cairn::StatusCode::kLockTimeout));
  }
  LargestAutoIncrement rows(this);
  const auto largest = rows.Read();
  if (!largest.ok()) return cairn::HandlerError(largest.status());
  const uint64_t behind_rows = *largest == UINT64_MAX ? UINT64_MAX : *largest + 1;
  change->next_auto_increment =
      std::max<uint64_t>({alter_info.create_info->auto_increment_value, behind_rows, 1});
  return 0;
}

// Gives the new indexes their numbers. Beside writers those of the table know of them from now on.
int ha_rocksdb::BeginIndexes(const cairn::AlterRequest& request, const TABLE& altered_table,
                             const cairn::TableDescription& description, bool beside_writers,
                             cairn::Dictionary::TableChange* change) {
  const cairn::IndexInfo& primary = engine_table_->primary().definition.info;
  std::vector<cairn::NewIndex> new_indexes;
  std::vector<cairn::IndexLayout> layouts;
  for (uint i = 0; i < altered_table.s->keys; ++i) {
    if (!request.IsBuilt(i, description)) continue;
    if (const int error = cairn::DescribeAddedIndex(altered_table, description, primary, i,
                                                    &new_indexes.emplace_back())) {
      return error;
    }
    layouts.push_back(description.indexes[i]);
    if (const auto info = change->infos.find(engine_table_->primary().definition.id);
        info != change->infos.end() && primary.has_ttl_stamp) {
      new_indexes.back().ttl_seconds = info->second.ttl_seconds;
    }
  }
  if (new_indexes.empty()) return 0;
  cairn::Engine* const engine = cairn::RunningEngine();
  if (!beside_writers) {
    auto begun = engine->dictionary().BeginIndexes(new_indexes);
    if (!begun.ok()) return cairn::HandlerError(begun.status());
    change->added = std::move(begun).value();
  } else {
    const Status still =
        cairn::IndexBuild::CheckNoRowsWillChange(&engine->database(), *engine_table_);
    if (!still.ok()) return cairn::HandlerError(still);
    auto begun =
        engine->dictionary().BeginBuild(change->table_name, new_indexes, std::move(layouts));
    if (!begun.ok()) return cairn::HandlerError(begun.status());
    change->build = std::move(begun).value();
    for (const cairn::BuildingIndex& index : change->build->indexes()) {
      change->added.push_back(index.definition);
    }
  }
  LogBegin(change->added);
  return 0;
}

// The entries of the altered table's indexes, in the order of its keys.
int ha_rocksdb::IndexesAfter(const cairn::AlterRequest& request, const TABLE& altered_table,
                             const cairn::TableDescription& description,
                             const cairn::Dictionary::TableChange& change,
                             std::vector<cairn::IndexDefinition>* indexes) const {
  const std::vector<cairn::IndexDefinition>& present = engine_table_->definition().indexes;
  size_t next_added = 0;
  for (uint i = 0; i < altered_table.s->keys; ++i) {
    if (request.IsBuilt(i, description)) {
      indexes->push_back(change.added[next_added++]);
      continue;
    }
    const uint position = request.OldKeyOf(i);
    if (position >= present.size()) {
      my_error(ER_KEY_DOES_NOT_EXISTS, MYF(0), altered_table.key_info[i].name.str,
               table->s->table_name.str);
      return HA_ERR_WRONG_INDEX;
    }
    indexes->push_back(present[position]);
  }
  if (engine_table_->has_hidden_key()) indexes->push_back(present.back());
  for (cairn::IndexDefinition& index : *indexes) {
    if (const auto info = change.infos.find(index.id); info != change.infos.end()) {
      index.info = info->second;
    }
    if (index.info.kind != cairn::IndexKind::kSecondary && change.history != nullptr) {
      index.history = change.history;
    }
  }
  return 0;
}

// All indexes get new numbers, as those of a new table.
int ha_rocksdb::BeginRebuild(const TABLE& altered_table, const cairn::TableDescription& description,
                             uint64_t ttl_seconds, cairn::Dictionary::TableChange* change) {
  const cairn::TableOptions options = {
      .features = cairn::TableFeatures(altered_table, /*is_sequence=*/false),
      .ttl_seconds = ttl_seconds};
  std::vector<cairn::NewIndex> indexes;
  if (const int error = cairn::DescribeNewIndexes(altered_table, description, options, &indexes)) {
    return error;
  }
  auto begun = cairn::RunningEngine()->dictionary().BeginIndexes(indexes);
  if (!begun.ok()) return cairn::HandlerError(begun.status());
  change->added = std::move(begun).value();
  change->redefines = true;
  LogBegin(change->added);
  return 0;
}

// The indexes that stay get other records where they need them, the others their numbers.
int ha_rocksdb::BeginInPlace(const cairn::AlterRequest& request, const TABLE& altered_table,
                             const cairn::TableDescription& description, uint64_t ttl_seconds,
                             const Alter_inplace_info& alter_info,
                             cairn::Dictionary::TableChange* change) {
  auto history = request.HistoryAfter(description);
  if (!history.ok()) return cairn::HandlerError(history.status());
  uint32_t added_features = 0;
  if (alter_info.handler_flags & ALTER_ADD_VIRTUAL_COLUMN) {
    added_features |= cairn::kFeatureGeneratedColumn;
  }
  if (*history != engine_table_->primary().layout().history) {
    change->history = *history;
    added_features |= cairn::kFeatureRowLayouts;
  }
  ChangeIndexRecords(ttl_seconds, added_features, change);
  const bool beside_writers =
      alter_info.inplace_supported == HA_ALTER_INPLACE_NOCOPY_NO_LOCK && alter_info.online;
  return BeginIndexes(request, altered_table, description, beside_writers, change);
}

namespace {

// Of a partitioned table the server knows no version: after a crash it asks whether the table is
// newer than 0.
Status ResetVersion(const TABLE& table, const std::string& name) {
  if (table.part_info == nullptr) return Status();
  return cairn::RunningEngine()->dictionary().ResetTableVersion(name);
}

}  // namespace

// Describes the table as it will be; new indexes get their numbers.
int ha_rocksdb::BeginChange(const TABLE& altered_table, Alter_inplace_info* alter_info) {
  cairn::Engine* const engine = cairn::RunningEngine();
  const cairn::AlterRequest request(*table, altered_table, *alter_info, *engine_table_);
  // Under LOCK TABLES no statement has begun that would have done it.
  const Status loaded = cairn::FinishLoadsOf(ha_thd(), dictionary_name_);
  if (!loaded.ok()) return cairn::ReportBulkLoadError(loaded);
  auto description = cairn::DescribeTable(altered_table, dictionary_name_);
  if (!description.ok()) return cairn::HandlerError(description.status());
  const Status reset = ResetVersion(*table, engine_table_->definition().name);
  if (!reset.ok()) return cairn::HandlerError(reset);

  cairn::Dictionary::TableChange change;
  change.table_name = engine_table_->definition().name;
  uint64_t ttl_seconds = 0;
  if (const int error = cairn::ReadTtlDuration(altered_table, dictionary_name_, &ttl_seconds)) {
    return error;
  }
  if (const int error = ChangeAutoIncrement(*alter_info, &change)) return error;
  const bool rebuilds = request.RebuildsTable(*description);
  const std::vector<uint32_t> not_null = request.NewlyNotNull();
  change.redefines = !not_null.empty();
  if (const int error = ChangeForeignKeys(altered_table, *description, *alter_info, &change)) {
    return error;
  }
  std::shared_ptr<const cairn::Table> source;
  if (rebuilds) {
    auto made = request.Source(*description);
    if (!made.ok()) return cairn::HandlerError(made.status());
    source = std::move(made).value();
  }
  if (const int error = rebuilds ? BeginRebuild(altered_table, *description, ttl_seconds, &change)
                                 : BeginInPlace(request, altered_table, *description, ttl_seconds,
                                                *alter_info, &change)) {
    return error;
  }
  // From here on what was begun goes with the context.
  auto* const context = new InPlaceChange(change);
  alter_info->handler_ctx = context;
  context->SetSource(std::move(source));
  context->SetNotNull(not_null);
  if (!rebuilds && (!change.added.empty() || !not_null.empty())) {
    // What follows from the rows lasts, so they must.
    const Status flushed = engine->database().maintenance().FlushUnloggedWrites();
    if (!flushed.ok()) return cairn::HandlerError(flushed);
  }

  auto definition = std::make_shared<cairn::TableDefinition>(engine_table_->definition());
  // A table that was opened beside a build which was given up afterwards still names it.
  definition->build = nullptr;
  if (rebuilds) {
    definition->indexes = change.added;
  } else {
    definition->indexes.clear();
    if (const int error =
            IndexesAfter(request, altered_table, *description, change, &definition->indexes)) {
      return error;
    }
  }
  std::vector<uint32_t> added;
  for (uint i = 0; i < altered_table.s->keys; ++i) {
    if (request.IsBuilt(i, *description)) added.push_back(i);
  }
  auto altered = cairn::Table::Open(std::move(definition), std::move(description->layout),
                                    std::move(description->indexes));
  if (!altered.ok()) return cairn::HandlerError(altered.status());
  // The files written from now on tell the distinct values of the new indexes.
  cairn::Table::RegisterKeyLayouts(*altered, &engine->database());
  context->SetAltered(std::move(altered).value(), std::move(added));
  return 0;
}

// What the statement makes of foreign keys.
int ha_rocksdb::ChangeForeignKeys(const TABLE& altered_table,
                                  const cairn::TableDescription& description,
                                  const Alter_inplace_info& alter_info,
                                  cairn::Dictionary::TableChange* change) {
  if (TakesPartInForeignKeys()) {
    change->renamed_columns = cairn::RenamedColumns(*table, *alter_info.alter_info);
    change->dropped_foreign_keys =
        cairn::DroppedForeignKeys(*alter_info.alter_info, change->table_name);
  }
  if ((alter_info.handler_flags & ALTER_ADD_FOREIGN_KEY) == 0) return 0;
  if (cairn::HasPreparedChanges(engine_table_->definition())) {
    return cairn::HandlerError(Status(StatusCode::kLockTimeout));
  }
  return cairn::ReadForeignKeys(ha_thd(), altered_table, description, *alter_info.alter_info,
                                cairn::TableLifetime::kPermanent, change->table_name,
                                &change->added_foreign_keys);
}

// Reports a row without its parent by a new foreign key, or why that cannot be told.
bool ha_rocksdb::HasOrphan(const cairn::Dictionary::TableChange& change,
                           const std::shared_ptr<const cairn::Table>& altered,
                           TABLE* altered_table) {
  cairn::ScopedWaitObserver observer(&cairn::Session::Of(ha_thd()));
  const int error =
      cairn::CheckNewForeignKeys(ha_thd(), change.added_foreign_keys, altered, altered_table);
  if (error != 0) print_error(error, MYF(0));
  return error != 0;
}

// Reports why the change could not be made; true, for the server.
bool ha_rocksdb::ReportFailedBuild(const Status& built, uint32_t duplicate_index, bool adds_keys,
                                   TABLE* altered_table) {
  if (ha_thd()->is_error()) return true;  // The server reported what it computes for a row.
  if (built.code() == StatusCode::kDuplicateKey) {
    print_keydup_error(altered_table, &altered_table->key_info[duplicate_index], MYF(0));
  } else {
    print_error(cairn::HandlerError(built), MYF(0));
  }
  if (adds_keys && built.code() != StatusCode::kInterrupted) {
    my_error(ER_SK_POPULATE_DURING_ALTER, MYF(0));
  }
  return true;
}

// Reports a row that has NULL where it must not be any more, or why that cannot be told.
bool ha_rocksdb::HasNull(const std::vector<uint32_t>& columns, cairn::ExpiredRows expired_rows,
                         const cairn::IndexBuildSettings& settings) {
  if (columns.empty()) return false;
  cairn::ScopedWaitObserver observer(&cairn::Session::Of(ha_thd()));
  const auto found = cairn::FindNull(&cairn::RunningEngine()->database(), *engine_table_, columns,
                                     expired_rows, settings.checksums, table->record[0]);
  if (!found.ok()) {
    print_error(cairn::HandlerError(found.status()), MYF(0));
    return true;
  }
  if (!found->has_value()) return false;
  // As the copy and InnoDB tell it.
  my_error(WARN_DATA_TRUNCATED, MYF(0), table->field[(*found)->column]->field_name.str,
           static_cast<ulong>((*found)->row));
  return true;
}

bool ha_rocksdb::inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info) {
  auto* const context = static_cast<InPlaceChange*>(alter_info->handler_ctx);
  if (context == nullptr) return false;
  cairn::IndexBuildSettings settings = BuildSettings(ha_thd());
  const auto expired_rows =
      context->rebuilds() ? cairn::ExpiredRows::kGo : cairn::ExpiredRows::kStay;
  if (HasNull(context->not_null(), expired_rows, settings)) return true;
  if (context->change().added.empty()) {
    return HasOrphan(context->change(), context->altered(), altered_table);
  }
  info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
  settings.estimated_rows = stats.records;
  context->PrepareBuild(ha_thd(), settings, altered_table);
  cairn::ScopedWaitObserver observer(context->ShowProgress(ha_thd()));
  Status built = context->Build();
  if (built.ok()) built = context->CatchUp(PartitionsOf(*altered_table));
  if (!built.ok()) {
    return ReportFailedBuild(built, context->duplicate_index(), !context->rebuilds(),
                             altered_table);
  }
  return HasOrphan(context->change(), context->altered(), altered_table);
}

bool ha_rocksdb::commit_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info,
                                            bool commit) {
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
  } else {
    contexts.push_back(static_cast<InPlaceChange*>(alter_info->handler_ctx));
  }
  cursor_->Close();
  for (InPlaceChange* context : contexts) {
    const Status finished = context->Finish(contexts.back()->progress());
    if (!finished.ok()) {
      return ReportFailedBuild(finished, context->duplicate_index(), /*adds_keys=*/true,
                               altered_table);
    }
  }
  alter_info->group_commit_ctx = nullptr;
  std::vector<cairn::Dictionary::TableChange> changes;
  const auto definition = cairn::DefinitionOfAltered(*altered_table, dictionary_name_);
  for (InPlaceChange* context : contexts) {
    changes.push_back(context->change());
    changes.back().definition = definition;
    context->HandOver();
  }
  cairn::Engine* const engine = cairn::RunningEngine();
  const Status changed = engine->dictionary().ChangeTables(changes);
  if (!changed.ok()) {
    // Where RocksDB goes on writing, it has not written this; those who write must not go on for
    // indexes that never come.
    for (const cairn::Dictionary::TableChange& change : changes) {
      if (change.build != nullptr) engine->dictionary().AbandonBuild(change.build.get());
    }
    engine->upkeep().RemoveDroppedIndexes();
    print_error(cairn::HandlerError(changed), MYF(0));
    return true;
  }
  for (InPlaceChange* context : contexts) context->NotePublished();
  engine->upkeep().RemoveDroppedIndexes();
  return false;
}
