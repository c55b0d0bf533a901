#include "mariadb/status_variables.h"

#include <vector>

#include "engine/store/counters.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

// Gives the server a list of names and values that lives as long as the statement.
int ListCounters(THD* thd, st_mysql_show_var* list, void*, system_status_var*, enum_var_type) {
  list->type = SHOW_ARRAY;
  Engine* const engine = RunningEngine();
  std::vector<Counter> counters;
  if (engine != nullptr) counters = ReadCounters(engine->database());
  auto* const variables = static_cast<st_mysql_show_var*>(
      thd_calloc(thd, (counters.size() + 1) * sizeof(st_mysql_show_var)));
  auto* const values = static_cast<unsigned long long*>(
      thd_calloc(thd, (counters.size() + 1) * sizeof(unsigned long long)));
  list->value = variables;
  if (variables == nullptr || values == nullptr) return 1;
  for (size_t i = 0; i < counters.size(); ++i) {
    values[i] = counters[i].value;
    variables[i] = {counters[i].name, &values[i], SHOW_ULONGLONG};
  }
  return 0;
}

}  // namespace

st_mysql_show_var status_variables[] = {SHOW_FUNC_ENTRY("Rocksdb", ListCounters),
                                        {nullptr, nullptr, SHOW_ULONG}};

}  // namespace cairn
