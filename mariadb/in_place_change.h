// What an ALTER TABLE in place makes: the new indexes of a table or partition, or the whole of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/table/index_build.h"
#include "engine/table/table.h"
#include "engine/table/table_rebuild.h"
#include "mariadb/build_progress.h"
#include "mariadb/server_headers.h"

namespace cairn {

// Lets the server make the virtual columns of the altered table in its record[0].
class AlteredVirtualColumns final : public VirtualColumns {
 public:
  // `engine_table` is the altered table.
  AlteredVirtualColumns(TABLE* table, const Table* engine_table)
      : table_(table), engine_table_(engine_table) {}
  Status Compute(uint32_t index) override;

 private:
  TABLE* const table_;
  const Table* const engine_table_;
};

// Of one table or partition; belongs to the statement. Indexes that were begun and did not become
// part of the table go with it, also while others write.
class InPlaceChange final : public inplace_alter_handler_ctx {
 public:
  explicit InPlaceChange(Dictionary::TableChange change) : change_(std::move(change)) {}
  ~InPlaceChange() override { Abandon(); }

  const Dictionary::TableChange& change() const { return change_; }
  const std::shared_ptr<const Table>& altered() const { return altered_; }

  // The table as it will be, and the positions of its new indexes.
  void SetAltered(std::shared_ptr<const Table> altered, std::vector<uint32_t> added);
  // Its rows as they are, if it is rebuilt: all its indexes are made anew.
  void SetSource(std::shared_ptr<const Table> source) { source_ = std::move(source); }
  bool rebuilds() const { return source_ != nullptr; }
  // Columns of the table as it is in which no row may have NULL.
  void SetNotNull(std::vector<uint32_t> columns) { not_null_ = std::move(columns); }
  const std::vector<uint32_t>& not_null() const { return not_null_; }

  // What makes the new indexes; `altered_table`'s record[0] is used for it.
  void PrepareBuild(THD* thd, const IndexBuildSettings& settings, TABLE* altered_table);
  // From now on the server shows how far the build is. Before Build().
  BuildProgress* ShowProgress(THD* thd);
  // Null before that.
  BuildProgress* progress() { return progress_.has_value() ? &*progress_ : nullptr; }
  // Errors: those of IndexBuild::Run and TableRebuild::Run.
  Status Build() { return rebuild_.has_value() ? rebuild_->Run() : build_->Run(); }
  // After the build of the last of `partitions`: what others wrote meanwhile to those before it is
  // merged while they go on. Errors: those of IndexBuild::CatchUp.
  Status CatchUp(size_t partitions);
  // After kDuplicateKey: of the index that has the value twice, which the record has.
  uint32_t duplicate_index() const {
    return rebuild_.has_value() ? rebuild_->duplicate_index() : build_->duplicate_index();
  }
  // Nobody uses the table: its new indexes get what is left. `progress`: that of the last build.
  // Errors: those of IndexBuild::Finish.
  Status Finish(BuildProgress* progress);
  // The dictionary has the say now: the indexes are the table's or, when it could not be written,
  // are for the next start to judge.
  void HandOver();
  // The new indexes are the table's.
  void NotePublished();
  void Abandon();

 private:
  Dictionary::TableChange change_;
  std::shared_ptr<const Table> altered_;
  std::vector<uint32_t> added_;
  std::shared_ptr<const Table> source_;
  std::vector<uint32_t> not_null_;
  std::unique_ptr<AlteredVirtualColumns> virtual_columns_;
  std::optional<IndexBuild> build_;
  std::optional<TableRebuild> rebuild_;
  std::optional<BuildProgress> progress_;
  std::shared_ptr<std::vector<IndexBuild*>> builds_;  // Of the statement.
};

}  // namespace cairn
