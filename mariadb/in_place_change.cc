#include "mariadb/in_place_change.h"

#include "engine/locks/interruptible_mutex.h"
#include "mariadb/engine.h"
#include "mariadb/session.h"
#include "mariadb/table_guards.h"

namespace cairn {

Status AlteredVirtualColumns::Compute(uint32_t index) {
  const KeptTemporarySet kept(table_);
  for (const KeyPartLayout& part : engine_table_->index(index).layout().parts) {
    Field* const field = table_->field[part.column];
    if (field->stored_in_db()) continue;
    // In strict mode a value that does not fit is an error, which the server reports.
    if (table_->update_virtual_field(field, /*ignore_warnings=*/false) != 0) {
      return Status(StatusCode::kInvalidArgument,
                    "a generated column of the row cannot be computed");
    }
  }
  return Status();
}

void InPlaceChange::SetAltered(std::shared_ptr<const Table> altered, std::vector<uint32_t> added) {
  altered_ = std::move(altered);
  added_ = std::move(added);
  for (const TableIndex& index : altered_->indexes()) {
    change_.indexes.push_back(index.definition.id);
  }
}

void InPlaceChange::PrepareBuild(THD* thd, const IndexBuildSettings& settings,
                                 TABLE* altered_table) {
  Database* const database = &RunningEngine()->database();
  uchar* const record = altered_table->record[0];
  virtual_columns_ = std::make_unique<AlteredVirtualColumns>(altered_table, altered_.get());
  if (source_ != nullptr) {
    rebuild_.emplace(database, source_.get(), altered_.get(), settings, record,
                     virtual_columns_.get());
    return;
  }
  build_.emplace(database, altered_.get(), added_, settings, record, virtual_columns_.get(),
                 change_.build.get());
  builds_ = Session::Of(thd).IndexBuilds();
  builds_->push_back(&*build_);
}

BuildProgress* InPlaceChange::ShowProgress(THD* thd) {
  using Writers = BuildProgress::Writers;
  const IndexBuildFigures* const figures =
      rebuild_.has_value() ? &rebuild_->figures() : &build_->figures();
  return &progress_.emplace(thd, &Session::Of(thd), figures,
                            change_.build == nullptr ? Writers::kShutOut : Writers::kGoOn);
}

// The second time there is less: what came during the first.
Status InPlaceChange::CatchUp(size_t partitions) {
  if (builds_ == nullptr || partitions == 1 || builds_->size() < partitions) return Status();
  for (int time = 0; time < 2; ++time) {
    for (IndexBuild* build : *builds_) {
      progress_->Follow(&build->figures());
      CAIRN_RETURN_IF_ERROR(build->CatchUp());
    }
  }
  return Status();
}

Status InPlaceChange::Finish(BuildProgress* progress) {
  if (!build_.has_value()) return Status();
  progress->Follow(&build_->figures());
  const ScopedWaitObserver observer(progress);
  CAIRN_RETURN_IF_ERROR(build_->Finish());
  for (IndexDefinition& index : change_.added) index.built_at = build_->built_at();
  return Status();
}

void InPlaceChange::HandOver() {
  change_.added.clear();
  change_.build = nullptr;
}

void InPlaceChange::NotePublished() {
  if (build_.has_value()) build_->NotePublished();
  if (rebuild_.has_value()) rebuild_->NotePublished();
}

void InPlaceChange::Abandon() {
  if (change_.added.empty()) return;
  Engine* const engine = RunningEngine();
  const std::vector<IndexDefinition> added = std::exchange(change_.added, {});
  if (const auto build = std::exchange(change_.build, nullptr)) {
    engine->dictionary().AbandonBuild(build.get());
  } else {
    engine->dictionary().AbandonIndexes(added);
  }
  engine->upkeep().RemoveDroppedIndexes();
}

}  // namespace cairn
