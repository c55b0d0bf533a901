// Statements about some partitions of a table.
//
// In EXCHANGE PARTITION, CONVERT TABLE and CONVERT PARTITION, tables and partitions change places
// with their rows. The entries bring their time to live along, and the stamps that it counts from.
// A place whose definition says something else would keep rows for ever, or lose them, in silence.
#include <string>
#include <string_view>
#include <vector>

#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/table_name.h"
#include "mariadb/ttl_comment.h"
#include "partition_info.h"
#include "sql_alter.h"

namespace {

std::string ColumnName(const TABLE& table, std::optional<uint32_t> column) {
  return column.has_value() ? table.field[*column]->field_name.str : "none";
}

// As in the names of the dictionary.
std::string EncodedName(const char* partition) {
  char encoded[FN_REFLEN];
  const uint bytes = tablename_to_filename(partition, encoded, sizeof encoded);
  return std::string(encoded, bytes);
}

// Whether a name of the dictionary is that of a partition, or of a sub-partition.
bool IsOfPartition(std::string_view dictionary_name, const std::string& partition) {
  const size_t mark = dictionary_name.rfind("P#");
  if (mark == std::string_view::npos) return false;
  const std::string own(dictionary_name.substr(mark + 2));
  return cairn::IsSameName(own.c_str(), partition.c_str());
}

// The name of a partition, without that of its subpartition, as in the names of the dictionary;
// empty: it is none.
std::string PartitionOf(std::string_view dictionary_name) {
  constexpr std::string_view kSubpartition = "#SP#";
  const std::string_view partition = cairn::SplitDictionaryName(dictionary_name).partition;
  return std::string(partition.substr(0, partition.find(kSubpartition)));
}

}  // namespace

// Those that ALTER TABLE names, as the server has marked them.
std::vector<std::string> ha_rocksdb::EntriesOfMarkedPartitions() const {
  std::vector<std::string> entries;
  List_iterator<partition_element> partitions(table->part_info->partitions);
  const std::vector<std::string> all =
      cairn::RunningEngine()->dictionary().EntriesOf(cairn::TableOfEntry(dictionary_name_));
  while (const partition_element* const partition = partitions++) {
    if (partition->part_state != PART_ADMIN) continue;
    const std::string name = EncodedName(cairn::NameText(partition->partition_name));
    for (const std::string& entry : all) {
      if (cairn::IsSameName(PartitionOf(entry).c_str(), name.c_str())) {
        entries.push_back(entry);
      }
    }
  }
  return entries;
}

// Reports and refuses a statement that would bring rows to where others expire, or where nobody can
// tell whether they belong. Called for each of its handlers, before anything has moved.
int ha_rocksdb::RefuseToMoveRows(THD* thd) {
  constexpr auto kMoves =
      ALTER_PARTITION_EXCHANGE | ALTER_PARTITION_CONVERT_IN | ALTER_PARTITION_CONVERT_OUT;
  const Alter_info& alter = thd->lex->alter_info;
  if (thd_sql_command(thd) != SQLCOM_ALTER_TABLE || !(alter.partition_flags & kMoves)) return 0;
  const TABLE_LIST* const first = thd->lex->query_tables;
  TABLE* const partitioned = first->table;
  const TABLE_LIST* const second = first->next_local;
  TABLE* const single = second == nullptr ? nullptr : second->table;
  const cairn::RowExpiry own{engine_table_->ttl_seconds(), engine_table_->layout().ttl_column};
  // The server does not see what is prepared.
  if (table == single && cairn::HasPreparedChanges(engine_table_->definition())) {
    return cairn::HandlerError(cairn::Status(cairn::StatusCode::kLockTimeout));
  }

  if (alter.partition_flags & ALTER_PARTITION_CONVERT_IN) {
    if (table != single) return 0;
    const partition_element* const added = thd->lex->part_info->partitions.head();
    cairn::RowExpiry expiry;
    const std::string name = "#P#" + EncodedName(cairn::NameText(added->partition_name));
    if (const int error = cairn::ReadExpiry(*partitioned, name, &expiry)) return error;
    return CompareExpiry(own, expiry);
  }
  const std::string partition = EncodedName(const_cast<Alter_info&>(alter).partition_names.head());
  if (table != partitioned || !IsOfPartition(dictionary_name_, partition)) return 0;
  cairn::RowExpiry expiry;
  if (alter.partition_flags & ALTER_PARTITION_CONVERT_OUT) {
    if (const int error = cairn::ReadExpiry(*partitioned, "", &expiry)) return error;
  } else {
    if (single == nullptr || single->file->ht != cairn::rocksdb_hton) return 0;  // Refused later.
    const auto& other = *static_cast<ha_rocksdb*>(single->file)->engine_table_;
    expiry = {other.ttl_seconds(), other.layout().ttl_column};
  }
  return CompareExpiry(expiry, own);
}

int ha_rocksdb::CompareExpiry(const cairn::RowExpiry& of_table,
                              const cairn::RowExpiry& of_partition) {
  if (of_table == of_partition) return 0;
  std::string text = ER_THD(ha_thd(), ER_TABLES_DIFFERENT_METADATA);
  if (of_table.seconds != of_partition.seconds) {
    text += ": ttl_duration of the table is " + std::to_string(of_table.seconds) +
            ", of the partition " + std::to_string(of_partition.seconds);
  } else {
    text += ": ttl_col of the table is " + ColumnName(*table, of_table.column) +
            ", of the partition " + ColumnName(*table, of_partition.column);
  }
  my_printf_error(ER_TABLES_DIFFERENT_METADATA, "%s", MYF(0), text.c_str());
  cairn::Session::Of(ha_thd()).NoteReportedError(ha_thd()->query_id);
  return HA_ERR_UNSUPPORTED;
}
