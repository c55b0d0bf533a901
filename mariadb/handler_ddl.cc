// Creating, dropping, renaming and emptying tables.
#include <optional>
#include <utility>

#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/table_description.h"

using cairn::Status;
using cairn::StatusCode;

namespace {

// Reports what dictionary and server files disagree about, in the words of the server's catalogue.
int RefuseForgottenTable(const char* path, const std::string& dictionary_name) {
  my_error(ER_METADATA_INCONSISTENCY, MYF(0), dictionary_name.c_str(), path);
  return HA_ERR_INTERNAL_ERROR;
}

// The server parses foreign keys and leaves them to the engine; to accept one in silence would promise
// what is not kept.
int RefuseForeignKeys(THD* thd) {
  List_iterator<Key> keys(thd->lex->alter_info.key_list);
  while (const Key* key = keys++) {
    if (key->type == Key::FOREIGN_KEY) {
      my_error(ER_NOT_SUPPORTED_YET, MYF(0), "FOREIGN KEY for the RocksDB storage engine");
      return HA_WRONG_CREATE_OPTION;
    }
  }
  return 0;
}

int CheckTableOptions(const HA_CREATE_INFO& create_info) {
  if (create_info.data_file_name != nullptr) return cairn::kErrorDataDirectory;
  if (create_info.index_file_name != nullptr) return cairn::kErrorIndexDirectory;
  if (create_info.sequence) {
    my_error(ER_ILLEGAL_HA_CREATE_OPTION, MYF(0), "ROCKSDB", "SEQUENCE");
    return HA_WRONG_CREATE_OPTION;
  }
  // Rows that expire are the next release's; a table that silently keeps them would be worse.
  const std::string_view comment(create_info.comment.str, create_info.comment.length);
  if (comment.find("ttl_duration=") != std::string_view::npos) {
    my_error(ER_ILLEGAL_HA_CREATE_OPTION, MYF(0), "ROCKSDB", "COMMENT 'ttl_duration'");
    return HA_WRONG_CREATE_OPTION;
  }
  return 0;
}

}  // namespace

int ha_rocksdb::create(const char* path, TABLE* form, HA_CREATE_INFO* create_info) {
  const auto name = cairn::DictionaryName(path);
  if (!name.ok()) return cairn::HandlerError(name.status());
  if (const int error = RefuseForeignKeys(ha_thd())) return error;
  if (const int error = CheckTableOptions(*create_info)) return error;
  // Types that the engine cannot store are found before anything is written.
  const auto description = cairn::DescribeTable(*form, *name);
  if (!description.ok()) return cairn::HandlerError(description.status());
  std::vector<cairn::NewIndex> indexes;
  if (const int error = cairn::DescribeNewIndexes(*form, *name, &indexes)) return error;

  cairn::Dictionary& dictionary = cairn::RunningEngine()->dictionary();
  if (dictionary.Find(*name) != nullptr) {
    // A name of the server's own making is left over from a statement that a crash cut off.
    if (name->find("#sql") == std::string::npos) return RefuseForgottenTable(path, *name);
    const Status dropped = dictionary.DropTable(*name);
    if (!dropped.ok()) return cairn::HandlerError(dropped);
  }
  std::optional<uint64_t> next_auto_increment;
  if (create_info->auto_increment_value > 0)
    next_auto_increment = create_info->auto_increment_value;
  const auto created = dictionary.CreateTable(*name, indexes, next_auto_increment);
  if (!created.ok()) return cairn::HandlerError(created.status());
  const auto opened = cairn::Table::Open(*created, description->layout, description->indexes);
  if (!opened.ok()) {
    const Status dropped = dictionary.DropTable(*name);
    return cairn::HandlerError(dropped.ok() ? opened.status() : dropped);
  }
  cairn::RememberIndexes(cairn::RunningEngine(), *opened);
  return 0;
}

int cairn::DropTableByPath(const char* path) {
  Engine* const engine = RunningEngine();
  const auto name = DictionaryName(path);
  if (engine == nullptr || !name.ok()) return HA_ERR_NO_SUCH_TABLE;
  const Status dropped = engine->dictionary().DropTable(*name);
  if (dropped.code() == StatusCode::kNotFound) return HA_ERR_NO_SUCH_TABLE;
  if (!dropped.ok()) return HandlerError(dropped);
  engine->upkeep().RemoveDroppedIndexes();
  return 0;
}

int ha_rocksdb::delete_table(const char* path) { return cairn::DropTableByPath(path); }

int ha_rocksdb::rename_table(const char* from, const char* to) {
  const auto from_name = cairn::DictionaryName(from);
  const auto to_name = cairn::DictionaryName(to);
  if (!from_name.ok()) return cairn::HandlerError(from_name.status());
  if (!to_name.ok()) return cairn::HandlerError(to_name.status());
  const Status renamed = cairn::RunningEngine()->dictionary().RenameTable(*from_name, *to_name);
  if (renamed.code() == StatusCode::kNotFound) return HA_ERR_NO_SUCH_TABLE;
  return cairn::HandlerError(renamed);
}

int ha_rocksdb::truncate() {
  // Everything that refers to the old index numbers goes before they do.
  cursor_->Close();
  cairn::Engine* const engine = cairn::RunningEngine();
  const Status truncated = engine->dictionary().TruncateTable(dictionary_name_);
  if (!truncated.ok()) return cairn::HandlerError(truncated);
  engine->upkeep().RemoveDroppedIndexes();
  if (const int error = BindTable()) return error;
  return info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | HA_STATUS_CONST);
}

void ha_rocksdb::update_create_info(HA_CREATE_INFO* create_info) {
  if (create_info->used_fields & HA_CREATE_USED_AUTO) return;
  if (info(HA_STATUS_AUTO) != 0) return;
  create_info->auto_increment_value = stats.auto_increment_value;
}
