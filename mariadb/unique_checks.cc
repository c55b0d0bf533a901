#include "mariadb/unique_checks.h"

#include "engine/table/table.h"
#include "mariadb/server_headers.h"

namespace cairn {

bool UniqueChecksAreOff(THD* thd, const Table& table) {
  return table.indexes().size() == 1 && table.MayBypassWriter() &&
         thd_test_options(thd, OPTION_RELAXED_UNIQUE_CHECKS);
}

int RefuseToReplaceUnchecked(THD* thd) {
  if (thd->lex->duplicates == DUP_ERROR) return 0;
  const LEX_STRING* const query = thd_query_string(thd);
  my_error(ER_ON_DUPLICATE_DISABLED, MYF(0), query == nullptr ? "" : query->str);
  return HA_ERR_UNSUPPORTED;
}

}  // namespace cairn
