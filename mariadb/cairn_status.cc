#include "mariadb/cairn_status.h"

#include "engine/monitor/condition.h"
#include "mariadb/engine.h"
#include "mariadb/status_list.h"

namespace cairn {
namespace {

int ListCondition(THD* thd, st_mysql_show_var* list, void*, system_status_var*, enum_var_type) {
  std::vector<Counter> figures;
  if (Engine* const engine = RunningEngine()) {
    figures = ReadCondition(engine->database());
    const Dictionary& dictionary = engine->dictionary();
    figures.push_back(
        {"quarantined_tables", dictionary.QuarantinedTables().size() + dictionary.UnusableCount()});
  }
  return ListCounters(thd, figures, list);
}

}  // namespace

st_mysql_show_var cairn_status_variables[] = {SHOW_FUNC_ENTRY("Cairn", ListCondition),
                                              {nullptr, nullptr, SHOW_ULONG}};

}  // namespace cairn
