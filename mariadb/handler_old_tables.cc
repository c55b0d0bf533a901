// Tables that an older server has left, or that one with other collations has: what is refused
// until they are made anew. And CHECK TABLE, which says so.
#include <algorithm>

#include "engine/table/table_check.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/old_weights.h"
#include "mariadb/session.h"
#include "mariadb/table_name.h"
// The server's headers last.
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

// Of ALTER TABLE, by its clauses about partitions: whether it makes a whole table anew.
bool CopiesAllRows(ulonglong partition_flags) {
  return (partition_flags & ~ulonglong{ALTER_PARTITION_INFO | ALTER_PARTITION_REMOVE}) == 0;
}

// Whether it only looks after partitions, or has them gone.
bool LeavesRowsInPlace(ulonglong partition_flags) {
  constexpr ulonglong kLeaving =
      ALTER_PARTITION_ADMIN | ALTER_PARTITION_ALL | ALTER_PARTITION_DROP | ALTER_PARTITION_TRUNCATE;
  return partition_flags != 0 && (partition_flags & ~kLeaving) == 0;
}

}  // namespace
}  // namespace cairn

int ha_rocksdb::RefuseOldTable(THD* thd) const {
  if (const int error = RefuseOldVersions(thd)) return error;
  return shared_->has_old_weights.load(std::memory_order_relaxed) ? RefuseOldWeights(thd) : 0;
}

// The server takes rows of an older one that end with time for rows of the past: it would find
// none, and write each anew. What makes the table anew, or only looks after it, goes on. Changes of
// partitions keep rows, and give the definition this server's version.
int ha_rocksdb::RefuseOldVersions(THD* thd) const {
  if (!cairn::HasOtherEndOfTime(*table)) return 0;
  switch (thd_sql_command(thd)) {
    case SQLCOM_ALTER_TABLE:
      if (thd->lex->alter_info.partition_flags == 0) return 0;
      break;
    case SQLCOM_OPTIMIZE:
    case SQLCOM_REPAIR:
    case SQLCOM_CHECK:
    case SQLCOM_ANALYZE:
    case SQLCOM_CHECKSUM:
    case SQLCOM_LOCK_TABLES:
    case SQLCOM_FLUSH:
      return 0;
    default:
      break;
  }
  my_error(ER_TABLE_NEEDS_REBUILD, MYF(0), table->s->table_name.str);
  cairn::Session::Of(thd).NoteReportedError(thd->query_id);
  return HA_ERR_TABLE_DEF_CHANGED;
}

// Keys would be looked for, and put, where they do not belong. What makes the table anew reads its
// rows one after the other, which goes on as long as their values do not come from weights.
int ha_rocksdb::RefuseOldWeights(THD* thd) const {
  const auto old = cairn::FindOldWeights(*engine_table_, table);
  if (!old.has_value()) return 0;
  switch (thd_sql_command(thd)) {
    case SQLCOM_ALTER_TABLE:
      if (cairn::LeavesRowsInPlace(thd->lex->alter_info.partition_flags)) return 0;
      if (cairn::CopiesAllRows(thd->lex->alter_info.partition_flags) && !old->in_rows) return 0;
      break;
    case SQLCOM_CREATE_INDEX:
    case SQLCOM_DROP_INDEX:
    case SQLCOM_REPAIR:
    case SQLCOM_CHECKSUM:
      if (!old->in_rows) return 0;
      break;
    case SQLCOM_TRUNCATE:
    case SQLCOM_OPTIMIZE:
    case SQLCOM_CHECK:
    case SQLCOM_ANALYZE:
    case SQLCOM_LOCK_TABLES:
    case SQLCOM_FLUSH:
      return 0;
    default:
      break;
  }
  const std::string text = old->Describe(cairn::DescribeTableName(dictionary_name_));
  my_printf_error(ER_TABLE_NEEDS_REBUILD, "ROCKSDB: %s", MYF(0), text.c_str());
  cairn::Session::Of(thd).NoteReportedError(thd->query_id);
  return HA_ERR_TABLE_DEF_CHANGED;
}

// mariadb-upgrade has done what it says.
int ha_rocksdb::check_for_upgrade(HA_CHECK_OPT*) { return WarnOfOldWeights(ha_thd()); }

// The server does so by itself, but not for a partitioned table.
int ha_rocksdb::repair(THD*, HA_CHECK_OPT*) {
  const bool makes_anew = shared_->has_old_weights || cairn::HasOtherEndOfTime(*table);
  return makes_anew ? HA_ADMIN_TRY_ALTER : HA_ADMIN_NOT_IMPLEMENTED;
}

// What CHECK TABLE answers where that is all there is to say.
int ha_rocksdb::WarnOfOldWeights(THD* thd) const {
  if (!shared_->has_old_weights) return HA_ADMIN_OK;
  const auto old = cairn::FindOldWeights(*engine_table_, table);
  if (!old.has_value()) return HA_ADMIN_OK;
  const std::string text = old->Describe(cairn::DescribeTableName(dictionary_name_));
  push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_TABLE_NEEDS_REBUILD, text.c_str());
  return old->in_rows ? HA_ADMIN_FAILED : HA_ADMIN_NEEDS_ALTER;
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

int ha_rocksdb::check(THD* thd, HA_CHECK_OPT* options) {
  // Entries would be reported one by one.
  if (const int refused = WarnOfOldWeights(thd)) return refused;
  cairn::Session& session = cairn::Session::Of(thd);
  cairn::ScopedWaitObserver observer(&session);
  VirtualColumns virtual_columns(this, engine_table_.get());
  const auto report =
      cairn::CheckTable(*engine_table_, &transaction(), table->record[0], &virtual_columns);
  if (!report.ok()) {
    return cairn::AdminError(ha_thd(), report.status());
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
  if (!report->problems.empty()) return HA_ADMIN_CORRUPT;
  return (options->flags & T_EXTEND) != 0 ? WarnOfOrphans(thd) : HA_ADMIN_OK;
}
