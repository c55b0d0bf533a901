// Bulk load, and changes that are committed in pieces.
#include <utility>

#include "mariadb/bulk_loads.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/variables.h"

using cairn::Durability;
using cairn::Status;
using cairn::StatusCode;
using cairn::Work;

bool ha_rocksdb::LoadsRows(const cairn::WritePlan& plan) const {
  return plan.loads && cairn::global_variables.enable_bulk_load_api &&
         engine_table_->MayBypassWriter() && !copy_.is_active() && own_transaction_ == nullptr &&
         !engine_table_->has_hidden_key() && !engine_table_->definition().temporary;
}

// A row goes another way than those of the session's load of the table, and may be of their range.
int ha_rocksdb::FinishOwnLoad() {
  if (cairn::Session::Of(ha_thd()).bulk_loads().table_count() == 0) return 0;
  const Status finished = cairn::FinishLoadsOf(ha_thd(), dictionary_name_);
  return finished.ok() ? 0 : cairn::ReportBulkLoadError(finished);
}

int ha_rocksdb::LoadRow(const uchar* record) {
  cairn::BulkLoads& loads = cairn::Session::Of(ha_thd()).bulk_loads();
  Status loaded;
  do {
    auto load = loads.For(ha_thd(), engine_table_);
    if (!load.ok()) return cairn::ReportBulkLoadError(load.status());
    if (bulk_load_ != *load) {
      bulk_load_ = std::move(load).value();
    }
    loaded = writer_->Load(bulk_load_.get(), record);
  } while (loaded.code() == StatusCode::kShutdown);  // Another session has finished it: a new load.
  if (!loaded.ok()) return cairn::ReportBulkLoadError(loaded);
  if (const int error = NoteAutoIncrement(record)) return error;
  CountWrite(Work::kRowsInserted, Work::kSystemRowsInserted);
  return EndChange();
}

int ha_rocksdb::EndChange() {
  if (copy_.transaction != nullptr || own_transaction_ != nullptr) return 0;
  return OperationError(cairn::Session::Of(ha_thd()).transaction().EndPiece(Durability::kDelayed));
}

// A statement that may give the table a new definition must find the rows that are being loaded.
int ha_rocksdb::FinishLoadsForAlter(THD* thd) {
  if (!cairn::MayRedefineTable(thd)) return 0;
  const Status finished = cairn::FinishLoadsOf(thd, dictionary_name_);
  return finished.ok() ? 0 : cairn::ReportBulkLoadError(finished);
}

// A connection that is reset has rocksdb_bulk_load switched off without a word to us: what it
// loaded is to be seen, and not to be in the way of what it writes next.
int ha_rocksdb::FinishLoadsOfReset(THD* thd) {
  cairn::Session* const session = cairn::Session::Find(thd);
  if (session == nullptr || session->bulk_loads().table_count() == 0 ||
      cairn::SessionBulkLoads(thd)) {
    return 0;
  }
  switch (thd_sql_command(thd)) {
    case SQLCOM_ANALYZE:
    case SQLCOM_CHECK:
    case SQLCOM_REPAIR:
      return 0;  // They would call their table corrupt. The next statement finishes the loads.
    default:
      break;
  }
  const Status finished = session->bulk_loads().Finish();
  if (finished.ok()) return 0;
  sql_print_error("RocksDB: Error %d finalizing the bulk load of a connection that was reset: %s",
                  cairn::kErrorBulkLoad, finished.ToString().c_str());
  return cairn::ReportBulkLoadError(finished);
}

void ha_rocksdb::EndLoad() {
  const auto load = std::move(bulk_load_);
  if (load == nullptr || load->finished()) return;
  const Status loaded = load->Finish();
  if (!loaded.ok()) {
    sql_print_error("RocksDB: Error %d finalizing bulk load while closing handler: %s",
                    cairn::kErrorBulkLoad, loaded.ToString().c_str());
  }
}
