// The plug-in's declaration, its start and its end.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mariadb/cairn_plugin.h"
#include "mariadb/cairn_status.h"
#include "mariadb/cairn_variables.h"
#include "mariadb/database_options.h"
#include "mariadb/ddl_recovery.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/handlerton.h"
#include "mariadb/information_schema/schema_table.h"
#include "mariadb/server_headers.h"
#include "mariadb/status_variables.h"
#include "mariadb/validate_tables.h"
#include "mariadb/variables.h"
#include "sql_show.h"

namespace cairn {
namespace {

// RocksDB is compiled for them (cmake/rocksdb/CMakeLists.txt).
Status CheckProcessor() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul")) {
    return Status(StatusCode::kNotSupported, "the processor lacks SSE 4.2 or PCLMUL");
  }
#endif
  return Status();
}

// The engine's directory lies in the server's data directory but is no database. The server made
// its list of such directories before it looked for plug-ins, so that the list is made again. That
// is safe only while no session reads it: an engine that is installed at run time stays visible
// until the next start.
void HideDirectory() {
  if (mysqld_server_started) return;
  const std::string_view listed = opt_ignore_db_dirs == nullptr ? "" : opt_ignore_db_dirs;
  std::vector<std::string> directories;
  for (size_t begin = 0; begin < listed.size();) {
    const size_t end = std::min(listed.find(',', begin), listed.size());
    directories.emplace_back(listed.substr(begin, end - begin));
    begin = end + 1;
  }
  const char* const name = global_variables.datadir;
  std::string own = name[0] == '.' && name[1] == '/' ? name + 2 : name;
  if (std::find(directories.begin(), directories.end(), own) != directories.end()) return;
  directories.push_back(std::move(own));

  ignore_db_dirs_free();
  bool failed = ignore_db_dirs_init();
  for (const std::string& directory : directories) {
    failed = failed || push_ignored_db_dir(directory.c_str());
  }
  failed = failed || ignore_db_dirs_process_additions();
  if (failed) sql_print_warning("RocksDB: cannot add %s to ignore_db_dirs", name);
}

Result<std::unique_ptr<Engine>> OpenEngine() {
  CAIRN_RETURN_IF_ERROR(CheckProcessor());
  CAIRN_ASSIGN_OR_RETURN(DatabaseOptions options, OptionsFromVariables());
  return Engine::Open(std::move(options), ServerLog());
}

int Init(void* plugin) {
  ShowFacts();
  InitHandlerton(static_cast<handlerton*>(plugin));
  HideDirectory();
  auto engine = OpenEngine();
  if (!engine.ok()) {
    const Status& why = engine.status();
    const std::string text(why.message().empty() ? ToString(why.code()) : why.message());
    sql_print_error("RocksDB: %s: the engine cannot start (%s)", text.c_str(),
                    std::string(ToString(why.code())).c_str());
    return 1;
  }
  const Status prepared = PrepareDdlRecovery(engine->get());
  if (!prepared.ok()) {
    sql_print_error("RocksDB: undoing a rename that a crash cut off: %s",
                    prepared.ToString().c_str());
  }
  SetRunningEngine(std::move(engine).value());
  ApplyToRunningEngine();
  SettleCairnVariables();
  ValidateTables(RunningEngine()->dictionary());
  sql_print_information("MyRocks storage engine plugin has been successfully initialized.");
  return 0;
}

int Deinit(void*) {
  ResumeBackgroundWork();
  SetRunningEngine(nullptr);
  return 0;
}

st_mysql_information_schema schema_table = {MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION};
st_mysql_storage_engine storage_engine = {MYSQL_HANDLERTON_INTERFACE_VERSION};
st_mysql_daemon daemon = {MYSQL_DAEMON_INTERFACE_VERSION};

}  // namespace
}  // namespace cairn

#pragma GCC visibility push(default)
maria_declare_plugin(rocksdb){MYSQL_STORAGE_ENGINE_PLUGIN,
                              &cairn::storage_engine,
                              "ROCKSDB",
                              "Cairn",
                              "RocksDB storage engine",
                              PLUGIN_LICENSE_GPL,
                              cairn::Init,
                              cairn::Deinit,
                              0x0001,
                              cairn::status_variables,
                              cairn::system_variables,
                              "1.0",
                              MariaDB_PLUGIN_MATURITY_STABLE},
    // What is ours beyond the surface of the stock plug-in carries names of its own.
    {MYSQL_DAEMON_PLUGIN,
     &cairn::daemon,
     "CAIRN",
     "Cairn",
     "What Cairn has beyond the stock plug-in: its variables and statuses",
     PLUGIN_LICENSE_GPL,
     cairn::InitCairn,
     cairn::DeinitCairn,
     0x0100,
     cairn::cairn_status_variables,
     cairn::cairn_system_variables,
     "1.0",
     MariaDB_PLUGIN_MATURITY_STABLE}
#define SCHEMA_TABLE(NAME, Initialise, text)                                             \
  , {                                                                                    \
    MYSQL_INFORMATION_SCHEMA_PLUGIN, &cairn::schema_table, #NAME, "Cairn", text,         \
        PLUGIN_LICENSE_GPL, cairn::Initialise, nullptr, 0x0001, nullptr, nullptr, "1.0", \
        MariaDB_PLUGIN_MATURITY_STABLE                                                   \
  }
#include "mariadb/information_schema/tables.def"
#undef SCHEMA_TABLE
maria_declare_plugin_end;
#pragma GCC visibility pop
