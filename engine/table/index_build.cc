#include "engine/table/index_build.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/txn/lock_report.h"

namespace cairn {
namespace {

IndexBuildSettings Interruptible(IndexBuildSettings settings) {
  settings.sort.interrupted = WaitInterrupted;
  return settings;
}

}  // namespace

bool IndexBuild::CanBuild(const IndexCodec& codec) {
  return !codec.layout().unique || codec.UniquePrefixIsExact();
}

// Rows with a hidden key are not locked when they come.
Status IndexBuild::CheckNoRowsWillChange(Database* database, const Table& table) {
  const IndexId primary = table.primary().definition.id;
  if (database->prepared_indexes().Names(primary.index_number, database->rocksdb())) {
    return Status(StatusCode::kLockTimeout);
  }
  std::string prefix;
  AppendBigEndian(primary.index_number, &prefix);
  for (const LockDescription& lock : ListLocks(*database)) {
    if (lock.range.family == primary.column_family && lock.mode == LockMode::kExclusive &&
        lock.range.first.starts_with(prefix)) {
      return Status(StatusCode::kLockTimeout);
    }
  }
  return Status();
}

IndexBuild::IndexBuild(Database* database, const Table* table,
                       const std::vector<uint32_t>& positions, IndexBuildSettings settings,
                       uint8_t* record, VirtualColumns* virtual_columns, IndexBuildState* state)
    : database_(database),
      table_(table),
      positions_(positions),
      settings_(Interruptible(std::move(settings))),
      record_(record),
      virtual_columns_(virtual_columns),
      state_(state),
      listed_(database, state == nullptr ? NewFigures(*table, positions_) : state->figures(),
              settings_.estimated_rows),
      suspects_(database, table, settings_.sort) {
  for ([[maybe_unused]] const uint32_t position : positions_) {
    CAIRN_ASSERT(CanBuild(*table_->index(position).codec));
  }
  if (state_ != nullptr) merge_.emplace(database_, table_, state_, &suspects_);
}

Status IndexBuild::Run() {
  if (state_ == nullptr) CAIRN_RETURN_IF_ERROR(CheckNoRowsWillChange(database_, *table_));
  {
    IndexScan scan(database_, table_, table_, positions_, settings_, record_, virtual_columns_,
                   &listed_.figures(), state_ == nullptr ? nullptr : &suspects_);
    const Status scanned = scan.Run();
    if (scan.duplicate().has_value()) CAIRN_RETURN_IF_ERROR(LoadDuplicate(*scan.duplicate()));
    CAIRN_RETURN_IF_ERROR(scanned);
    built_at_ = scan.begun_at();
  }
  return CatchUp();
}

Status IndexBuild::CatchUp() {
  Status merged = state_ == nullptr ? Status() : merge_->RunRounds();
  listed_.figures().stage = IndexBuildFigures::Stage::kWait;
  return merged;
}

Status IndexBuild::Finish() {
  if (state_ == nullptr) return Status();
  // In this order: one that its session leaves prepared is known as such before it is closed here.
  if (state_->open_transactions() != 0) return Status(StatusCode::kLockTimeout);
  CAIRN_RETURN_IF_ERROR(CheckNoRowsWillChange(database_, *table_));
  if (failed_) return Status(StatusCode::kInternal, "a build of indexes that has failed goes on");
  Status merged = MergeRest();
  failed_ = !merged.ok();
  return merged;
}

Status IndexBuild::MergeRest() {
  CAIRN_RETURN_IF_ERROR(merge_->RunLastRound());
  Transaction reader(database_);
  reader.Start(TransactionSettings());
  CAIRN_ASSIGN_OR_RETURN(const auto duplicate, suspects_.FindDuplicate(&reader));
  if (duplicate.has_value()) {
    CAIRN_RETURN_IF_ERROR(LoadDuplicate(*duplicate));
    return Status(StatusCode::kDuplicateKey);
  }
#ifdef CAIRN_ASSERTIONS
  CAIRN_RETURN_IF_ERROR(CompareWithRows());
#endif
  // The dictionary's write is synced, and with it all that came before it in the log.
  built_at_ = database_->rocksdb()->GetLatestSequenceNumber();
  return Status();
}

// Fills the whole record.
Status IndexBuild::LoadDuplicate(const UniqueSuspects::Duplicate& duplicate) {
  duplicate_index_ = duplicate.position;
  const TableIndex& index = table_->index(duplicate.position);
  const TableIndex& primary = table_->primary();
  CAIRN_ASSIGN_OR_RETURN(const auto plan,
                         primary.codec->MakePlan(ColumnSet(table_->layout().columns.size(), true),
                                                 settings_.checksums));
  std::string key;
  CAIRN_RETURN_IF_ERROR(index.codec->ExtractPrimaryKey(duplicate.entry, &key));
  Transaction reader(database_);
  reader.Start(TransactionSettings());
  CAIRN_RETURN_IF_ERROR(reader.Get(primary.family(), key, Transaction::View::kLatest, &row_value_));
  CAIRN_RETURN_IF_ERROR(primary.codec->Decode(*plan, key, row_value_.ToStringView(), record_));
  return index.has_virtual_part ? virtual_columns_->Compute(duplicate.position) : Status();
}

// For builds with assertions: that no way of writing rows has passed the deltas by.
Status IndexBuild::CompareWithRows() {
  Transaction reader(database_);
  reader.Start(TransactionSettings());
  CAIRN_ASSIGN_OR_RETURN(const TableCheckReport report,
                         CheckTable(*table_, &reader, record_, virtual_columns_));
  for (const uint32_t position : positions_) {
    const std::string begin = "index " + table_->index(position).layout().name;
    for (const std::string& problem : report.problems) {
      if (!problem.starts_with(begin + ",") && !problem.starts_with(begin + ":")) continue;
      database_->log().Write(Severity::kError, problem);
      return Status(StatusCode::kInternal, problem);
    }
  }
  return Status();
}

}  // namespace cairn
