// information_schema.ROCKSDB_LOCKS: one row for each row lock and who holds it.
#include "engine/base/bytes.h"
#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

constexpr uint kModeWidth = 32;

ST_FIELD_INFO columns[] = {Show::Column("COLUMN_FAMILY_ID", Show::SLong(), NOT_NULL),
                           Show::Column("TRANSACTION_ID", Show::SLong(), NOT_NULL),
                           Show::Column("KEY", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("MODE", Show::Varchar(kModeWidth), NOT_NULL), Show::CEnd()};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  for (const auto& [family, lock] : engine->database().rocksdb()->GetLockStatusData()) {
    std::string key = ToHex(lock.key);
    if (key.size() > kLongWidth) key.replace(kLongWidth - 2, std::string::npos, "..");
    for (const rocksdb::TransactionID holder : lock.ids) {
      writer->Number(family).Unsigned(holder).Text(key);
      if (!writer->Text(lock.exclusive ? "X" : "S").Send()) return false;
    }
  }
  return true;
}

}  // namespace

int InitLocks(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
