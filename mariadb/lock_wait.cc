#include "mariadb/lock_wait.h"

#include <string_view>

#include "mariadb/server_headers.h"
#include "set_var.h"

namespace cairn {

// The parser turns NOWAIT and WAIT n into a value of lock_wait_timeout for the one statement.
std::optional<int64_t> StatementLockWaitMs(THD* thd) {
  List_iterator_fast<set_var_base> variables(thd->lex->stmt_var_list);
  while (set_var_base* const base = variables++) {
    if (!base->is_system()) continue;
    const LEX_CSTRING& name = static_cast<set_var*>(base)->var->name;
    if (std::string_view(name.str, name.length) != "lock_wait_timeout") continue;
    return static_cast<int64_t>(thd->variables.lock_wait_timeout) * 1000;
  }
  return std::nullopt;
}

bool ChangesData(THD* thd) {
  switch (thd->lex->sql_command) {
    case SQLCOM_CREATE_TABLE:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI:
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_LOAD:
    case SQLCOM_REPLACE:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_SET_OPTION:
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
      return true;
    default:
      return false;
  }
}

}  // namespace cairn
