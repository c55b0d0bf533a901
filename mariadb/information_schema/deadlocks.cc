// information_schema.ROCKSDB_DEADLOCK: the latest deadlocks, one row for each transaction that took
// part.
#include <string>

#include "engine/base/bytes.h"
#include "engine/txn/lock_report.h"
#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("DEADLOCK_ID", Show::SLonglong(), NOT_NULL),
                           Show::Column("TIMESTAMP", Show::SLonglong(), NOT_NULL),
                           Show::Column("TRANSACTION_ID", Show::SLonglong(), NOT_NULL),
                           Show::Column("CF_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("WAITING_KEY", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("LOCK_TYPE", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("INDEX_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("TABLE_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("ROLLED_BACK", Show::SLonglong(), NOT_NULL),
                           Show::CEnd()};

struct Names {
  std::string index;
  std::string table;
};

Names NamesOf(Engine* engine, uint32_t index_number) {
  for (const auto& table : engine->dictionary().Tables()) {
    for (const IndexDefinition& index : table->indexes) {
      if (index.id.index_number != index_number) continue;
      const auto known = engine->database().key_layouts().Find(index.id);
      return {known == nullptr ? std::string() : known->layout().name, table->name};
    }
  }
  const std::string gone = "NOT FOUND; INDEX_ID: " + std::to_string(index_number);
  return {gone, gone};
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  int64_t number = 0;
  for (const rocksdb::DeadlockPath& path : ListDeadlocks(engine->database())) {
    ++number;
    for (size_t i = 0; i < path.path.size(); ++i) {
      const rocksdb::DeadlockInfo& waiter = path.path[i];
      const ColumnFamily* const family = engine->database().families().Find(waiter.m_cf_id);
      const uint32_t index_number = waiter.m_waiting_key.size() < kIndexNumberBytes
                                        ? 0
                                        : LoadBigEndian<uint32_t>(waiter.m_waiting_key.data());
      const Names names = NamesOf(engine, index_number);
      writer->Number(number).Number(path.deadlock_time).Unsigned(waiter.m_txn_id);
      writer->Text(family == nullptr ? std::string_view() : std::string_view(family->name));
      writer->Text(ToHex(waiter.m_waiting_key));
      writer->Text(waiter.m_exclusive ? "EXCLUSIVE" : "SHARED").Text(names.index).Text(names.table);
      // The last one closed the circle and was refused.
      if (!writer->Number(i + 1 == path.path.size() ? 1 : 0).Send()) return false;
    }
  }
  return true;
}

}  // namespace

int InitDeadlocks(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
