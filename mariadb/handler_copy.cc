// The copy of ALTER TABLE: rows that go to a table which nobody else sees, until it replaces
// another.
//
// They go to sorted files with all their index entries (engine/table/sorted_indexes.h), which
// become part of the database when the copy ends, or row by row through transactions that are
// committed piece by piece. Row by row where the server wants to know of each row whether it is a
// duplicate (ALTER IGNORE), and where it reads rows of the copy itself. Few rows go through one
// transaction when all of them are there.
//
// The server begins the copy of a table by start_bulk_insert() and kCopyOperations.begin, and that
// of a partition by the latter and, at its first row, the former. Where it moves rows between
// partitions (REORGANIZE PARTITION) it sends kCopyOperations.begin alone, and would not hear of an
// error at the end.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/table/listed_build.h"
#include "engine/table/sorted_indexes.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/variables.h"

using cairn::Durability;
using cairn::Status;
using cairn::StatusCode;
using cairn::Work;

namespace {

// Rows after which a copy row by row is committed: large enough to cost nothing, small enough to
// need little memory.
constexpr uint64_t kCopyCommitRows = 10'000;

// Rows after which the memory account hears of what is in use.
constexpr uint64_t kRowsPerCount = 256;

// A table that the server makes in order to replace another one by it, not a temporary one of the
// user.
bool IsCopyTarget(const cairn::TableDefinition& table) {
  return !table.temporary && table.name.find("#sql") != std::string::npos;
}

// Each piece of the copy may hold as many row locks as a transaction of the session.
cairn::TransactionSettings CopySettings(THD* thd) {
  const cairn::TransactionSettings session = cairn::SessionTransactionSettings(thd);
  cairn::TransactionSettings settings;
  if (session.changes_per_piece == 0) settings.max_row_locks = session.max_row_locks;
  return settings;
}

cairn::IndexBuildSettings SortedCopySettings(THD* thd) {
  const cairn::BulkLoadSettings load = cairn::SessionBulkLoadSettings(thd);
  cairn::IndexBuildSettings settings;
  settings.sort = load.sort;
  settings.trace = load.trace;
  return settings;
}

// Whether equal values of all unique keys are found when the entries are sorted, by the engine
// alone.
bool SortFindsDuplicates(const TABLE& server_table, const cairn::Table& table) {
  if (server_table.s->long_unique_table || server_table.s->period.unique_keys != 0) return false;
  return std::all_of(
      table.indexes().begin(), table.indexes().end(), [](const cairn::TableIndex& index) {
        const cairn::IndexLayout& layout = index.layout();
        const bool unique = layout.kind == cairn::IndexKind::kPrimary ||
                            (layout.kind == cairn::IndexKind::kSecondary && layout.unique);
        return !unique || index.codec->UniquePrefixIsExact();
      });
}

}  // namespace

void ha_rocksdb::start_bulk_insert(ha_rows, uint) {
  if (!IsCopyTarget(engine_table_->definition()) || copy_.transaction != nullptr) return;
  copy_.transaction = std::make_unique<cairn::Transaction>(&cairn::RunningEngine()->database());
  copy_.transaction->Start(CopySettings(ha_thd()));
  writer_->SetTableIsNew(true);
  copy_.rows = 0;
  BeginSortedCopy();
}

void ha_rocksdb::NoteCopy(ha_extra_function operation) {
  switch (operation) {
    case cairn::kCopyOperations.begin:
      copy_.may_sort = true;
      BeginSortedCopy();
      break;
    case cairn::kCopyOperations.abort:
      copy_.is_abandoned = true;
      copy_.may_sort = false;
      break;
    case cairn::kCopyOperations.end:
      copy_.may_sort = false;
      copy_.awaits_check = IsCopyTarget(engine_table_->definition());
      break;
    default:
      break;
  }
}

void ha_rocksdb::BeginSortedCopy() {
  if (!copy_.may_sort || copy_.transaction == nullptr) return;
  if (own_transaction_ != nullptr || !SortFindsDuplicates(*table, *engine_table_)) return;
  const cairn::IndexBuildSettings settings = SortedCopySettings(ha_thd());
  std::vector<uint32_t> positions(engine_table_->indexes().size());
  for (uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
  copy_.virtual_columns = std::make_unique<VirtualColumns>(this, engine_table_.get());
  copy_.figures = cairn::NewFigures(*engine_table_, positions);
  copy_.indexes = std::make_unique<cairn::SortedIndexes>(
      &cairn::RunningEngine()->database(), engine_table_.get(), positions, settings,
      copy_.virtual_columns.get(), /*suspects=*/nullptr, copy_.figures.get());
  copy_.indexes->RecordsAreComplete();
  copy_.indexes->RowsTendToComeInOrder();
  if (table->part_info == nullptr) {
    copy_.indexes->WorkInBackground();
  } else {
    copy_.indexes->Share(
        cairn::Session::Of(ha_thd()).CopyMemory(settings.sort.buffer_bytes * positions.size()));
  }
}

// Threads that still fill the indexes use the rest of the copy.
void ha_rocksdb::ForgetCopy() {
  copy_.indexes.reset();
  copy_ = Copy();
}

int ha_rocksdb::SortCopiedRow(const uchar* record) {
  cairn::ScopedWaitObserver observer(&cairn::Session::Of(ha_thd()));
  const Status sorted = writer_->Sort(copy_.indexes.get(), record);
  if (sorted.code() == StatusCode::kDuplicateKey) {
    // The server reads it there, whichever row it is.
    const Status loaded = copy_.indexes->LoadDuplicate(table->record[0]);
    if (!loaded.ok()) return OperationError(loaded);
  }
  if (!sorted.ok()) return OperationError(sorted);
  if (const int error = NoteAutoIncrement(record)) return error;
  CountWrite(Work::kRowsInserted, Work::kSystemRowsInserted);
  if (++copy_.rows % kRowsPerCount == 0) copy_.indexes->CountMemory();
  return 0;
}

int ha_rocksdb::EndCopiedRow() {
  return ++copy_.rows % kCopyCommitRows == 0 ? CommitCopiedRows(Durability::kDelayed) : 0;
}

int ha_rocksdb::end_bulk_insert() {
  if (copy_.transaction == nullptr) return 0;
  int error = 0;
  if (ha_thd()->is_error() || ha_thd()->killed) {
    // 11.8 ends a copy that has failed like any other. Nothing of it is kept, so that nobody may
    // take it for whole: a kill may come after the last row.
    error = HA_ERR_ABORTED_BY_USER;
    ReportAtOnce(error);
  } else if (!copy_.is_abandoned) {
    if (copy_.indexes != nullptr) error = EndSortedCopy();
    if (error == 0) error = CommitCopiedRows(Durability::kSync);
    if (error == 0) error = CheckCopiedReferences();
    // The server would ask for the text of another error.
    if (error != 0) ReportAtOnce(error);
  }
  ForgetCopy();
  writer_->SetTableIsNew(false);
  return error;
}

int ha_rocksdb::EndSortedCopy() {
  cairn::ScopedWaitObserver observer(&cairn::Session::Of(ha_thd()));
  Status ended;
  if (copy_.indexes->AreFew()) {
    ended = copy_.indexes->PutInto(copy_.transaction.get());
  } else {
    ended = copy_.indexes->WriteFiles();
    if (ended.ok()) ended = copy_.indexes->Ingest();
  }
  if (ended.code() == StatusCode::kDuplicateKey) {
    const Status loaded = copy_.indexes->LoadDuplicate(table->record[0]);
    if (loaded.ok()) return ReportCopiedDuplicate(copy_.indexes->duplicate()->position);
    ended = loaded;
  }
  if (!ended.ok()) return OperationError(ended);
  copy_.transaction->NoteRowCount(engine_table_->definition(), static_cast<int64_t>(copy_.rows));
  return 0;
}

// As the server does for a row that is refused when it is written. The record is that row.
int ha_rocksdb::ReportCopiedDuplicate(uint32_t position) {
  KEY* const key = &table->key_info[position];
  const bool is_counted =
      position == 0 && (key->key_part[0].field->flags & AUTO_INCREMENT_FLAG) != 0;
  print_keydup_error(
      table, key,
      ER_THD(ha_thd(), is_counted ? ER_DUP_ENTRY_AUTOINCREMENT_CASE : ER_DUP_ENTRY_WITH_KEY_NAME),
      MYF(0));
  cairn::Session::Of(ha_thd()).NoteReportedError(ha_thd()->query_id);
  return HA_ERR_FOUND_DUPP_KEY;
}

int ha_rocksdb::CommitCopiedRows(Durability durability) {
  const Status committed = copy_.transaction->Commit(durability);
  copy_.transaction->Start(CopySettings(ha_thd()));
  return OperationError(committed);
}
