#include "mariadb/statement_plan.h"

#include <algorithm>

#include "engine/table/table.h"
#include "mariadb/cairn_range_locks.h"
#include "mariadb/server_headers.h"
#include "mariadb/unique_checks.h"
#include "mariadb/variables.h"
#include "rpl_rli.h"

namespace cairn {
namespace {

// Triggers of a replica's rows do not read what its events name.
bool AppliesInParallel(THD* thd) {
  return thd->rgi_slave != nullptr && thd->rgi_slave->is_parallel_exec && AppliesRowEvents(thd) &&
         thd->in_sub_stmt == 0;
}

// Whether all columns that are read belong to the primary key, not as prefixes.
bool ReadsPrimaryKeyAlone(const TABLE& table) {
  const KEY& primary = table.key_info[table.s->primary_key];
  const KEY_PART_INFO* const parts = primary.key_part;
  const KEY_PART_INFO* const end = parts + primary.user_defined_key_parts;
  for (uint i = 0; i < table.s->fields; ++i) {
    if (!bitmap_is_set(table.read_set, i)) continue;
    const bool in_key = std::any_of(parts, end, [i](const KEY_PART_INFO& part) {
      return part.fieldnr == i + 1 && !(part.key_part_flag & HA_PART_KEY_SEG);
    });
    if (!in_key) return false;
  }
  return true;
}

}  // namespace

void StatementPlan::Begin(THD* thd, const Transaction& transaction) {
  if (!lock_.has_value()) lock_ = transaction.PlainReadLock();
  if (!lock_.has_value() && feeds_changes_ && transaction.TakesLatest()) lock_ = LockMode::kShared;
  applies_in_parallel_ = AppliesInParallel(thd);
  writes_.reset();
  keeps_scanned_rows_.reset();
  ForgetScan();
}

void StatementPlan::BindWrites(THD* thd, const Table& table) {
  writes_ = WritePlan{.unchecked = UniqueChecksAreOff(thd, table),
                      .loads = SessionBulkLoads(thd),
                      .asks_prefix_filters = SessionAsksPrefixFilters(thd),
                      .checks_foreign_keys = !thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS),
                      .log_may_have_statement = StatementLogNeedsLocks(thd)};
}

void StatementPlan::BindScannedRows(THD* thd) {
  keeps_scanned_rows_ = SessionLocksScannedRows(thd);
}

void StatementPlan::BindPlainRows(THD* thd) {
  LEX* const lex = thd->lex;
  const SELECT_LEX* const select = lex->first_select_lex();
  wants_plain_rows_ = lex->is_single_level_stmt() && select->order_list.elements == 0 &&
                      select->group_list.elements == 0 && !select->with_sum_func &&
                      (select->options & SELECT_DISTINCT) == 0;
}

void StatementPlan::BindDeletes(THD* thd, const TABLE& server_table, const Table& table) {
  LEX* const lex = thd->lex;
  const TABLE_LIST* const tables = lex->query_tables;
  const bool one_index = table.indexes().size() == 1 && table.MayBypassWriter() &&
                         !table.has_hidden_key() && !table.all_columns_in_primary_key();
  deletes_unread_ = lex->sql_command == SQLCOM_DELETE && SessionDeletesBlindly(thd) && one_index &&
                    tables != nullptr && tables->next_global == nullptr && !lex->has_returning() &&
                    lex->first_select_lex()->order_list.elements == 0 &&  // Else it is read later.
                    server_table.triggers == nullptr && !server_table.versioned() &&
                    ReadsPrimaryKeyAlone(server_table);
}

bool ChangesDuplicates(THD* thd) { return thd->lex->duplicates != DUP_ERROR; }

bool ReadsOneRow(THD* thd, const TABLE& table) {
  const TABLE_LIST* const tables = thd->lex->query_tables;
  return table.const_table && thd->in_sub_stmt == 0 && tables != nullptr &&
         tables->next_global == nullptr;
}

bool UpdatesInOrder(THD* thd) {
  LEX* const lex = thd->lex;
  return (lex->sql_command == SQLCOM_UPDATE || lex->sql_command == SQLCOM_DELETE) &&
         lex->first_select_lex()->order_list.elements != 0;
}

bool MayRedefineTable(THD* thd) {
  switch (thd->lex->sql_command) {
    case SQLCOM_ALTER_TABLE:
    case SQLCOM_CREATE_INDEX:
    case SQLCOM_DROP_INDEX:
    case SQLCOM_OPTIMIZE:
      return true;
    default:
      return false;
  }
}

}  // namespace cairn
