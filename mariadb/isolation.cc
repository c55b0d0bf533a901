#include "mariadb/isolation.h"

#include "mariadb/lock_wait.h"
#include "mariadb/server_headers.h"
#include "sql_parse.h"

namespace cairn {

IsolationLevel SessionIsolation(THD* thd) {
  switch (thd_tx_isolation(thd)) {
    case ISO_SERIALIZABLE:
      return IsolationLevel::kSerializable;
    case ISO_REPEATABLE_READ:
      return IsolationLevel::kRepeatableRead;
    default:
      return IsolationLevel::kReadCommitted;
  }
}

bool OnlyReads(THD* thd, bool autocommit) {
  if (thd->tx_read_only) return true;
  // Definitions: the server's lock on the table keeps its rows as they are.
  if (sql_command_flags[thd->lex->sql_command] & CF_AUTO_COMMIT_TRANS) return true;
  // With functions, what is read may be written elsewhere.
  return autocommit && !ChangesData(thd) && !thd->lex->requires_prelocking();
}

}  // namespace cairn
