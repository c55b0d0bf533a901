#include "mariadb/cairn_format.h"

#include <string>

#include "engine/codec/index_feature.h"
#include "mariadb/cairn_variables.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/server_headers.h"
#include "set_var.h"
#include "sys_vars_shared.h"

namespace cairn {
namespace {

// A value of the variable is a position in its names: stock, cairn.
DirectoryFormat ToFormat(unsigned long value) {
  return value == 0 ? DirectoryFormat::kStock : DirectoryFormat::kCairn;
}

unsigned long ToValue(DirectoryFormat format) { return format == DirectoryFormat::kStock ? 0 : 1; }

bool IsConfigured() {
  constexpr std::string_view kName = "cairn_format";
  const sys_var* const variable = intern_find_sys_var(kName.data(), kName.size());
  return variable != nullptr && (variable->value_origin == sys_var::CONFIG ||
                                 variable->value_origin == sys_var::COMMAND_LINE);
}

size_t CountCairnTables(const Dictionary& dictionary) {
  size_t count = 0;
  for (const auto& table : dictionary.Tables()) {
    for (const IndexDefinition& index : table->indexes) {
      if (index.info.format_version != kCairnFormatVersion && index.info.features == 0) continue;
      ++count;
      break;
    }
  }
  return count;
}

}  // namespace

void SetCairnFormat(THD* thd, st_mysql_sys_var*, void* variable, const void* value) {
  const unsigned long wanted = *static_cast<const unsigned long*>(value);
  if (Engine* const engine = RunningEngine()) {
    const Status set = engine->dictionary().SetFormat(ToFormat(wanted));
    if (!set.ok()) {
      PushError(set);
      return;
    }
    const size_t tables = wanted == 0 ? CountCairnTables(engine->dictionary()) : 0;
    if (tables > 0) {
      push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR,
                          "%zu tables keep the stock plug-in from opening this directory: SELECT * "
                          "FROM information_schema.CAIRN_TABLES WHERE OBSTACLES IS NOT NULL",
                          tables);
    }
  }
  *static_cast<unsigned long*>(variable) = wanted;
}

bool AllowsCairnFormat() {
  Engine* const engine = RunningEngine();
  return engine != nullptr && engine->dictionary().format() == DirectoryFormat::kCairn;
}

int RefuseCairnFeature(uint32_t features) {
  const std::string text =
      NameFeatures(features) +
      ": needs cairn_format=cairn; this directory is kept readable by the stock "
      "plug-in (cairn_format=stock)";
  // For the two that people meet most the stock plug-in has errors of its own, which tools may
  // know.
  if (features == kFeatureNoPadCollation) {
    push_warning(current_thd, Sql_condition::WARN_LEVEL_WARN, ER_NOT_SUPPORTED_YET, text.c_str());
    my_error(ER_MYROCKS_CANT_NOPAD_COLLATION, MYF(0));
  } else if (features == kFeatureDescendingPart) {
    push_warning(current_thd, Sql_condition::WARN_LEVEL_WARN, ER_NOT_SUPPORTED_YET, text.c_str());
    my_error(ER_ILLEGAL_HA_CREATE_OPTION, MYF(0), "ROCKSDB", "DESC");
  } else {
    my_printf_error(ER_NOT_SUPPORTED_YET, "ROCKSDB: %s", MYF(0), text.c_str());
  }
  return HA_WRONG_CREATE_OPTION;
}

void SettleCairnFormat() {
  Dictionary& dictionary = RunningEngine()->dictionary();
  if (IsConfigured()) {
    const Status set = dictionary.SetFormat(ToFormat(cairn_variables.format));
    if (!set.ok()) sql_print_error("RocksDB: setting cairn_format: %s", set.ToString().c_str());
  }
  cairn_variables.format = ToValue(dictionary.format());
}

}  // namespace cairn
