#include "mariadb/cairn_status.h"

#include <vector>

#include "engine/store/condition.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

// Gives the server a list of names and values that lives as long as the statement.
int ListCondition(THD* thd, st_mysql_show_var* list, void*, system_status_var*, enum_var_type) {
  list->type = SHOW_ARRAY;
  std::vector<Counter> figures;
  if (Engine* const engine = RunningEngine()) {
    figures = ReadCondition(engine->database());
    figures.push_back({"quarantined_tables", engine->dictionary().QuarantinedTables().size()});
  }
  auto* const variables = static_cast<st_mysql_show_var*>(
      thd_calloc(thd, (figures.size() + 1) * sizeof(st_mysql_show_var)));
  auto* const values = static_cast<unsigned long long*>(
      thd_calloc(thd, (figures.size() + 1) * sizeof(unsigned long long)));
  list->value = variables;
  if (variables == nullptr || values == nullptr) return 1;
  for (size_t i = 0; i < figures.size(); ++i) {
    values[i] = figures[i].value;
    variables[i] = {figures[i].name, &values[i], SHOW_ULONGLONG};
  }
  return 0;
}

}  // namespace

st_mysql_show_var cairn_status_variables[] = {SHOW_FUNC_ENTRY("Cairn", ListCondition),
                                              {nullptr, nullptr, SHOW_ULONG}};

}  // namespace cairn
