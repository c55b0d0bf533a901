#include "mariadb/status_variables.h"

#include "mariadb/engine.h"
#include "mariadb/status_list.h"

namespace cairn {
namespace {

int ListRocksdb(THD* thd, st_mysql_show_var* list, void*, system_status_var*, enum_var_type) {
  Engine* const engine = RunningEngine();
  return ListCounters(
      thd, engine == nullptr ? std::vector<Counter>() : ReadCounters(engine->database()), list);
}

}  // namespace

st_mysql_show_var status_variables[] = {SHOW_FUNC_ENTRY("Rocksdb", ListRocksdb),
                                        {nullptr, nullptr, SHOW_ULONG}};

}  // namespace cairn
