#include "mariadb/status_list.h"

namespace cairn {

int ListCounters(THD* thd, const std::vector<Counter>& counters, st_mysql_show_var* list) {
  auto* const variables = static_cast<st_mysql_show_var*>(
      thd_calloc(thd, (counters.size() + 1) * sizeof(st_mysql_show_var)));
  auto* const values = static_cast<unsigned long long*>(
      thd_calloc(thd, (counters.size() + 1) * sizeof(unsigned long long)));
  list->type = SHOW_ARRAY;
  list->value = variables;
  if (variables == nullptr || values == nullptr) return 1;
  for (size_t i = 0; i < counters.size(); ++i) {
    values[i] = counters[i].value;
    variables[i] = {counters[i].name, &values[i], SHOW_ULONGLONG};
  }
  return 0;
}

}  // namespace cairn
