// information_schema.ROCKSDB_LOCKS: one row for each locked row or range of keys and who holds it.
#include "engine/txn/lock_report.h"
#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

constexpr uint kModeWidth = 32;

ST_FIELD_INFO columns[] = {Show::Column("COLUMN_FAMILY_ID", Show::SLong(), NOT_NULL),
                           Show::Column("TRANSACTION_ID", Show::SLong(), NOT_NULL),
                           Show::Column("KEY", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("MODE", Show::Varchar(kModeWidth), NOT_NULL), Show::CEnd()};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  for (const LockDescription& lock : ListLocks(engine->database())) {
    for (const uint64_t owner : lock.owners) {
      writer->Number(lock.range.family).Unsigned(owner).Keys(lock.range);
      if (!writer->Text(lock.mode == LockMode::kExclusive ? "X" : "S").Send()) return false;
    }
  }
  return true;
}

}  // namespace

int InitLocks(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
