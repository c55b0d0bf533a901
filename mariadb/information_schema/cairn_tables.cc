// information_schema.CAIRN_TABLES: every table of the engine, its state and its format, what keeps
// the stock plug-in from opening it, and how large it is.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/catalog/table_figures.h"
#include "engine/codec/index_feature.h"
#include "mariadb/definition_copies.h"
#include "mariadb/definition_restore.h"
#include "mariadb/information_schema/schema_table.h"
#include "mariadb/table_name.h"
#include "sql_acl.h"
#include "table_cache.h"

namespace cairn {
namespace {

constexpr uint kReasonChars = 512;
constexpr uint kObstaclesChars = 4096;

ST_FIELD_INFO columns[] = {
    Show::Column("TABLE_SCHEMA", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("TABLE_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("PARTITION_NAME", Show::Varchar(NAME_CHAR_LEN * 2 + 1), NULLABLE),
    Show::Column("STATE", Show::Varchar(32), NOT_NULL),
    Show::Column("REASON", Show::Varchar(kReasonChars), NULLABLE),
    Show::Column("FORMAT", Show::Varchar(16), NULLABLE),
    Show::Column("OBSTACLES", Show::Varchar(kObstaclesChars), NULLABLE),
    Show::Column("ESTIMATED_ROWS", Show::ULonglong(), NULLABLE),
    Show::Column("DISK_BYTES", Show::ULonglong(), NULLABLE),
    Show::Column("MEMTABLE_BYTES", Show::ULonglong(), NULLABLE),
    Show::Column("COMPRESSION_RATIO", Show::Decimal(kRatioDigits), NULLABLE),
    Show::Column("TOMBSTONES", Show::ULonglong(), NULLABLE),
    Show::Column("PENDING_COMPACTION_BYTES", Show::ULonglong(), NULLABLE),
    Show::Column("LAST_ANALYSED", Show::Datetime(0), NULLABLE),
    Show::CEnd()};

// The names of the table's keys, in their order, from the server's definition; empty when it cannot
// be had now, because somebody changes the table or its file is missing.
std::vector<std::string> KeyNames(THD* thd, const TableName& name) {
  const LEX_CSTRING schema = {name.schema.data(), name.schema.size()};
  const LEX_CSTRING table = {name.table.data(), name.table.size()};
  std::vector<std::string> names;
  const MDL_savepoint savepoint = thd->mdl_context.mdl_savepoint();
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::TABLE, schema.str, table.str, MDL_SHARED_HIGH_PRIO,
                   MDL_TRANSACTION);
  Dummy_error_handler no_errors;
  thd->push_internal_handler(&no_errors);
  if (!thd->mdl_context.try_acquire_lock(&request) && request.ticket != nullptr) {
    TABLE_LIST reference;
    reference.init_one_table(&schema, &table, nullptr, TL_READ);
    if (TABLE_SHARE* const share = tdc_acquire_share(thd, &reference, GTS_TABLE)) {
      for (uint i = 0; i < share->keys; ++i) {
        const LEX_CSTRING& key = share->key_info[i].name;
        names.emplace_back(key.str, key.length);
      }
      tdc_release_share(share);
    }
  }
  thd->pop_internal_handler();
  thd->mdl_context.rollback_to_savepoint(savepoint);
  return names;
}

bool NeedsCairn(const IndexDefinition& index) {
  return index.info.format_version == kCairnFormatVersion || index.info.features != 0;
}

// "PRIMARY: ...; k2: ...", in the order of SHOW CREATE TABLE; empty when the stock plug-in can read
// the table.
std::string Obstacles(THD* thd, const TableDefinition& table) {
  if (std::none_of(table.indexes.begin(), table.indexes.end(), NeedsCairn)) return std::string();
  const std::vector<std::string> names = KeyNames(thd, DecodeTableName(table.name));
  std::string text;
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    const IndexInfo& info = table.indexes[i].info;
    if (info.features == 0) continue;
    if (!text.empty()) text += "; ";
    if (i < names.size()) {
      text += names[i];
    } else if (info.kind == IndexKind::kHiddenPrimary) {
      text += "the table";
    } else {
      text += info.kind == IndexKind::kPrimary ? "PRIMARY" : "key " + std::to_string(i + 1);
    }
    text += ": " + NameFeatures(info.features);
  }
  if (text.empty())
    text = "nothing any more: ALTER TABLE ... FORCE with cairn_format=stock rewrites it";
  return text;
}

void AddFigures(const TableFigures& figures, SchemaTableWriter* writer) {
  writer->Unsigned(figures.rows).Unsigned(figures.disk_bytes).Unsigned(figures.memtable_bytes);
  if (figures.disk_bytes == 0) {
    writer->Null();
  } else {
    writer->Real(static_cast<double>(figures.data_bytes) / static_cast<double>(figures.disk_bytes));
  }
  writer->Unsigned(figures.tombstones).Unsigned(figures.pending_compaction_bytes);
  if (figures.analysed_us.has_value()) {
    writer->Time(*figures.analysed_us);
  } else {
    writer->Null();
  }
}

constexpr int kFigureColumns = 7;

// Why a table has no definition; of neighbours in the list, partitions of one table, it is found
// out once.
class WhyWithoutDefinition {
 public:
  explicit WhyWithoutDefinition(THD* thd) : thd_(thd) {}

  // Empty: it has one.
  const std::string& Of(std::string_view entry) {
    const std::string_view table = TableOfEntry(entry);
    if (table_ == table) return reason_;
    table_ = table;
    reason_.clear();
    if (LacksDefinition(thd_, table)) {
      reason_ = DefinitionFileOf(table, kDefinitionFile) +
                " is missing: " + RemedyForLackingDefinition(table);
    }
    return reason_;
  }

 private:
  THD* const thd_;
  std::string table_;
  std::string reason_;
};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  THD* const thd = writer->thd();
  if (check_global_access(thd, PROCESS_ACL, /*no_errors=*/true)) return true;
  TableFigureReader figures(&engine->database());
  WhyWithoutDefinition without_definition(thd);
  for (const auto& table : engine->dictionary().Tables()) {
    writer->TableName(table->name);
    const std::string obstacles = Obstacles(thd, *table);
    if (const auto reason = engine->dictionary().WhyUnusable(*table)) {
      writer->Text("quarantined").Text(*reason);
    } else if (const std::string& missing = without_definition.Of(table->name); !missing.empty()) {
      writer->Text("without definition").Text(missing);
    } else {
      writer->Text("ok").Null();
    }
    writer->Text(obstacles.empty() ? "stock" : "cairn").TextOrNull(obstacles);
    AddFigures(figures.Read(*table), writer);
    if (!writer->Send()) return false;
  }
  for (const QuarantinedTable& table : engine->dictionary().QuarantinedTables()) {
    writer->TableName(table.name);
    // The stock plug-in does not start with such records at all.
    writer->Text("quarantined").Text(table.reason).Null().Text("quarantined");
    for (int i = 0; i < kFigureColumns; ++i) writer->Null();
    if (!writer->Send()) return false;
  }
  return true;
}

}  // namespace

int InitCairnTables(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
