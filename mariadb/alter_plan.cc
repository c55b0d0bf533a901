#include "mariadb/alter_plan.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/catalog/dictionary.h"
#include "engine/codec/row_codec.h"
#include "engine/codec/same_encoding.h"
#include "engine/table/index_build.h"
#include "mariadb/cairn_format.h"
#include "mariadb/ttl_comment.h"

namespace cairn {
namespace {

constexpr alter_table_operations kDropIndex =
    ALTER_DROP_INDEX | ALTER_DROP_NON_UNIQUE_NON_PRIM_INDEX | ALTER_DROP_UNIQUE_INDEX;
constexpr alter_table_operations kAddIndex =
    ALTER_ADD_INDEX | ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX | ALTER_ADD_UNIQUE_INDEX;
constexpr alter_table_operations kRebuild =
    ALTER_ADD_PK_INDEX | ALTER_DROP_PK_INDEX | ALTER_RECREATE_TABLE;
// What may leave rows and entries as they are; KeepsRows() and KeepsKey() look whether it does.
constexpr alter_table_operations kDefinition =
    ALTER_ADD_STORED_BASE_COLUMN | ALTER_DROP_STORED_COLUMN | ALTER_STORED_COLUMN_ORDER |
    ALTER_COLUMN_NULLABLE | ALTER_COLUMN_NOT_NULLABLE | ALTER_COLUMN_DEFAULT | ALTER_COLUMN_NAME |
    ALTER_COLUMN_OPTION | ALTER_COLUMN_COLUMN_FORMAT | ALTER_COLUMN_TYPE_CHANGE_BY_ENGINE |
    ALTER_COLUMN_INDEX_LENGTH | ALTER_ADD_VIRTUAL_COLUMN | ALTER_DROP_VIRTUAL_COLUMN |
    ALTER_VIRTUAL_COLUMN_ORDER | ALTER_OPTIONS | ALTER_CONVERT_TO | ALTER_DROP_CHECK_CONSTRAINT |
    ALTER_RENAME | ALTER_RENAME_INDEX | ALTER_INDEX_IGNORABILITY | ALTER_CHANGE_INDEX_COMMENT |
    ALTER_INDEX_ORDER | ALTER_PARTITIONED | ALTER_ADD_FOREIGN_KEY | ALTER_DROP_FOREIGN_KEY;

bool IsSequence(const TABLE& table) { return table.s->table_type == TABLE_TYPE_SEQUENCE; }

// A UNIQUE key on a long column stands for a hidden column, which comes and goes with it.
bool HasHashedKey(const TABLE& table) {
  return std::any_of(table.key_info, table.key_info + table.s->keys,
                     [](const KEY& key) { return key.algorithm == HA_KEY_ALG_LONG_HASH; });
}

// Whether no two rows may have the same value of an added key, and the copy of the table decides
// what becomes of them: the server checks WITHOUT OVERLAPS itself, and with IGNORE all but one of
// such rows go.
bool NeedsCopyToBeUnique(const KEY& key, const Alter_inplace_info& info) {
  return key.without_overlaps || (info.ignore && (key.flags & HA_NOSAME));
}

bool SameBytes(const ColumnLayout& old_column, const ColumnLayout& column) {
  return column.type == old_column.type && column.image_bytes == old_column.image_bytes &&
         column.max_bytes == old_column.max_bytes &&
         column.length_bytes == old_column.length_bytes &&
         column.nullable() == old_column.nullable() && column.collation == old_column.collation &&
         column.is_virtual == old_column.is_virtual;
}

// Whether records of both layouts are the same bytes, so that one buffer serves both.
bool SameRecords(const TableLayout& old_layout, const TableLayout& layout) {
  if (layout.record_bytes != old_layout.record_bytes ||
      layout.null_bytes != old_layout.null_bytes ||
      layout.columns.size() != old_layout.columns.size()) {
    return false;
  }
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    const ColumnLayout& old_column = old_layout.columns[i];
    const ColumnLayout& column = layout.columns[i];
    if (!SameBytes(old_column, column) || column.offset != old_column.offset ||
        column.null_offset != old_column.null_offset || column.null_mask != old_column.null_mask) {
      return false;
    }
  }
  return true;
}

bool SameText(const LEX_CSTRING& left, const LEX_CSTRING& right) {
  return left.length == right.length && memcmp(left.str, right.str, left.length) == 0;
}

// An expression as SHOW CREATE TABLE shows it.
std::string TextOf(Virtual_column_info* expression) {
  StringBuffer<STRING_BUFFER_USUAL_SIZE> text(&my_charset_utf8mb4_general_ci);
  expression->print(&text);
  return std::string(text.ptr(), text.length());
}

// Whether a default may be another one for each row. RAND() counts as a function of the session, as
// what the session is does.
bool DiffersByRow(const Virtual_column_info& value) {
  return (value.flags & ~uint{VCOL_SESSION_FUNC | VCOL_TIME_FUNC}) != 0 ||
         (value.expr->used_tables() & RAND_TABLE_BIT) != 0;
}

}  // namespace

bool AlterRequest::IsAdded(uint key) const {
  const uint* const added = info_.index_add_buffer;
  return std::find(added, added + info_.index_add_count, key) != added + info_.index_add_count;
}

uint AlterRequest::OldKeyOf(uint key) const {
  if (IsAdded(key)) return MAX_KEY;
  for (const auto& renamed : info_.rename_keys) {
    if (renamed.new_key == info_.key_info_buffer + key) {
      return static_cast<uint>(renamed.old_key - table_.key_info);
    }
  }
  for (uint i = 0; i < table_.s->keys; ++i) {
    if (IsSameName(table_.key_info[i].name.str, altered_.key_info[key].name.str)) {
      return i;
    }
  }
  return MAX_KEY;
}

std::optional<uint> AlterRequest::OldColumnOf(uint column) const {
  const Create_field* const created = info_.alter_info->create_list.elem(column);
  if (created == nullptr || created->field == nullptr) return std::nullopt;
  return created->field->field_index;
}

bool AlterRequest::RebuildsTable(const TableDescription& altered) const {
  if ((info_.handler_flags & kRebuild) != 0 || !KeepsPrimaryKey()) return true;
  const uint primary = altered_.s->primary_key;
  return primary != MAX_KEY && !KeepsKey(table_.s->primary_key, primary, altered);
}

bool AlterRequest::IsBuilt(uint key, const TableDescription& altered) const {
  const uint old_key = OldKeyOf(key);
  return old_key == MAX_KEY || RebuildsTable(altered) || !KeepsKey(old_key, key, altered);
}

std::vector<uint32_t> AlterRequest::NewlyNotNull() const {
  std::vector<uint32_t> columns;
  for (uint i = 0; i < altered_.s->fields; ++i) {
    const std::optional<uint> old_column = OldColumnOf(i);
    if (!old_column.has_value() || !altered_.field[i]->stored_in_db()) continue;
    if (table_.field[*old_column]->real_maybe_null() && !altered_.field[i]->real_maybe_null()) {
      columns.push_back(*old_column);
    }
  }
  return columns;
}

// A copy; `server_error` is of the server's reasons, 0: none of them says why.
AlterPlan AlterRequest::Copy(uint server_error) const {
  if (server_error == 0 && info_.alter_info->requested_lock == Alter_info::ALTER_TABLE_LOCK_NONE) {
    server_error = ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COPY;
  }
  return {AlterPlan::Way::kCopy, server_error == 0 ? nullptr : my_get_err_msg(server_error)};
}

// A copy; where a column becomes wider, because rows or entries cannot follow.
AlterPlan AlterRequest::CopyForType() const {
  return (info_.handler_flags & ALTER_COLUMN_TYPE_CHANGE_BY_ENGINE) != 0
             ? Copy(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE)
             : Copy();
}

// The server's wrapper of sequences calls every change compatible, SEQUENCE=0 as well. Rows of
// history are the server's business, who has its own rules for their columns. The engine refuses a
// directory for data when it creates a table. When a crash cuts off a RENAME to another database
// behind such a change, the server's recovery looks for the table in the wrong one.
bool AlterRequest::IsOutOfScope() const {
  return IsSequence(table_) || IsSequence(altered_) || info_.create_info->sequence ||
         engine_table_.definition().temporary || HasHashedKey(table_) || HasHashedKey(altered_) ||
         info_.create_info->data_file_name != nullptr ||
         info_.create_info->index_file_name != nullptr || !SameText(table_.s->db, altered_.s->db) ||
         ((table_.versioned() || altered_.versioned()) &&
          (info_.handler_flags &
           ~(kDropIndex | kAddIndex | ALTER_INDEX_ORDER | ALTER_RENAME_INDEX | ALTER_PARTITIONED |
             ALTER_ADD_FOREIGN_KEY | ALTER_DROP_FOREIGN_KEY | ALTER_COLUMN_NAME)) != 0);
}

// Whether the rows stay under the same key: a UNIQUE key without NULL takes the place of a primary
// key that is not declared, so that adding or dropping it moves them all.
bool AlterRequest::KeepsPrimaryKey() const {
  const uint old_primary = table_.s->primary_key;
  const uint new_primary = altered_.s->primary_key;
  if (old_primary == MAX_KEY || new_primary == MAX_KEY) return old_primary == new_primary;
  return OldKeyOf(new_primary) == old_primary;
}

// Whether the columns that choose a row's partition are the ones that did. Expressions follow their
// columns. A list (KEY, COLUMNS) gets their new names, but not where such a name was another
// column's before; and KEY hashes them in the order of the table.
bool AlterRequest::KeepsPartitionColumns() const {
  if (table_.part_info == nullptr) return true;
  if (altered_.part_info == nullptr) return false;
  const auto keeps = [this](bool is_list, Field* const* old_fields, Field* const* fields) {
    if (!is_list) return true;
    if (old_fields == nullptr || fields == nullptr) return old_fields == fields;
    for (; *old_fields != nullptr && *fields != nullptr; ++old_fields, ++fields) {
      if (OldColumnOf((*fields)->field_index) != (*old_fields)->field_index) return false;
    }
    return *old_fields == nullptr && *fields == nullptr;
  };
  const partition_info& before = *table_.part_info;
  const partition_info& after = *altered_.part_info;
  return keeps(before.list_of_part_fields, before.part_field_array, after.part_field_array) &&
         keeps(before.list_of_subpart_fields, before.subpart_field_array,
               after.subpart_field_array);
}

// Whether a column has a CHECK that it did not have: the copy finds rows that violate it. The
// server tells only of those of the table.
bool AlterRequest::ChecksMore() const {
  for (uint i = 0; i < altered_.s->fields; ++i) {
    Virtual_column_info* const check = altered_.field[i]->check_constraint;
    if (check == nullptr) continue;
    const std::optional<uint> old_column = OldColumnOf(i);
    if (!old_column.has_value()) return true;
    // A statement that does not name the column leaves it the CHECK, perhaps with new names in it.
    if (info_.alter_info->create_list.elem(i)->change.str == nullptr) continue;
    Virtual_column_info* const old_check = table_.field[*old_column]->check_constraint;
    if (old_check == nullptr || TextOf(old_check) != TextOf(check)) return true;
  }
  return false;
}

// Whether the column's bytes in a row are the same for each value.
bool AlterRequest::KeepsColumn(const ColumnLayout& old_column, const ColumnLayout& column) const {
  if (column.type != ColumnType::kVarchar) return SameBytes(old_column, column);
  return old_column.type == ColumnType::kVarchar && column.max_bytes >= old_column.max_bytes &&
         column.length_bytes == old_column.length_bytes &&
         column.nullable() == old_column.nullable() && column.collation == old_column.collation &&
         column.is_virtual == old_column.is_virtual;
}

// Whether rows say the same under the altered definition: the same stored columns in the same
// order.
bool AlterRequest::KeepsRows(const TableLayout& layout) const {
  const std::vector<ColumnLayout>& old_columns = engine_table_.layout().columns;
  uint next_old = 0;
  for (uint i = 0; i < layout.columns.size(); ++i) {
    const std::optional<uint> old_column = OldColumnOf(i);
    if (!old_column.has_value()) {
      if (!layout.columns[i].is_virtual) return false;
      continue;
    }
    if (!KeepsColumn(old_columns[*old_column], layout.columns[i])) return false;
    if (layout.columns[i].is_virtual) continue;
    while (next_old < old_columns.size() && old_columns[next_old].is_virtual) ++next_old;
    if (*old_column != next_old++) return false;
  }
  while (next_old < old_columns.size() && old_columns[next_old].is_virtual) ++next_old;
  return next_old >= old_columns.size();
}

// Whether a stored column can be added without a look at the rows, and with which value. Defaults
// that are the same for all rows were computed by the server or are so here; a time is that of the
// statement.
Result<AbsentImage> AlterRequest::AbsentImageOfColumn(const TableDescription& altered,
                                                      uint column) const {
  Field* const field = altered_.field[column];
  const Virtual_column_info* const value = field->default_value;
  if (field->vcol_info != nullptr || (field->flags & AUTO_INCREMENT_FLAG) != 0 ||
      field->type() == MYSQL_TYPE_GEOMETRY || (value != nullptr && DiffersByRow(*value))) {
    return Status(StatusCode::kNotSupported);
  }
  constexpr int kSet = 0;
  constexpr int kTimeCutOff = 3;  // A time of day that a DATE does not have.
  if (value != nullptr) {
    const int outcome = field->set_default();
    if (outcome != kSet && outcome != kTimeCutOff) return Status(StatusCode::kNotSupported);
  }
  return AbsentImageOf(altered.layout.columns[column], engine_table_.primary().layout().trims_chars,
                       altered_.record[0]);
}

// Where each stored column of the altered table comes from, by their numbers among stored columns.
Result<std::vector<ColumnOrigin>> AlterRequest::Origins(const TableDescription& altered) const {
  std::vector<uint32_t> stored_numbers;
  uint32_t next_number = 0;
  for (const ColumnLayout& column : engine_table_.layout().columns) {
    stored_numbers.push_back(next_number);
    if (!column.is_virtual) ++next_number;
  }
  std::vector<ColumnOrigin> origins;
  for (uint i = 0; i < altered.layout.columns.size(); ++i) {
    const std::optional<uint> old_column = OldColumnOf(i);
    const bool was_virtual =
        old_column.has_value() && engine_table_.layout().columns[*old_column].is_virtual;
    if (old_column.has_value() && was_virtual != altered.layout.columns[i].is_virtual) {
      return Status(StatusCode::kNotSupported);
    }
    if (altered.layout.columns[i].is_virtual) continue;
    ColumnOrigin& origin = origins.emplace_back();
    if (old_column.has_value()) {
      origin.from = stored_numbers[*old_column];
    } else {
      CAIRN_ASSIGN_OR_RETURN(origin.absent, AbsentImageOfColumn(altered, i));
    }
  }
  return origins;
}

// Whether the columns of the primary key, which rows have nowhere else, stay as they are.
bool AlterRequest::KeepsPrimaryColumns(const TableLayout& layout) const {
  const std::vector<KeyPartLayout>& parts = engine_table_.primary().layout().parts;
  return std::all_of(parts.begin(), parts.end(), [&](const KeyPartLayout& part) {
    for (uint i = 0; i < layout.columns.size(); ++i) {
      if (OldColumnOf(i) != part.column) continue;
      return SameBytes(engine_table_.layout().columns[part.column], layout.columns[i]);
    }
    return false;
  });
}

// The primary key under which rows are, with the columns of the altered table.
IndexLayout AlterRequest::PrimaryOfRows(const TableDescription& altered) const {
  const IndexLayout& present = engine_table_.primary().layout();
  if (RebuildsTable(altered)) {
    IndexLayout primary = present;
    primary.history = nullptr;
    for (KeyPartLayout& part : primary.parts) {
      for (uint i = 0; i < altered.layout.columns.size(); ++i) {
        if (OldColumnOf(i) != part.column) continue;
        part.column = i;
        break;
      }
    }
    return primary;
  }
  IndexLayout primary = *std::find_if(
      altered.indexes.begin(), altered.indexes.end(),
      [](const IndexLayout& candidate) { return candidate.kind != IndexKind::kSecondary; });
  primary.index_number = present.index_number;
  primary.format_version = present.format_version;
  primary.has_ttl_stamp = present.has_ttl_stamp;
  primary.trims_chars = present.trims_chars;
  return primary;
}

Result<std::shared_ptr<const LayoutHistory>> AlterRequest::HistoryAfter(
    const TableDescription& altered) const {
  const IndexLayout& primary = engine_table_.primary().layout();
  std::shared_ptr<const LayoutHistory> history = primary.history;
  if (history == nullptr) {
    if (KeepsRows(altered.layout)) return history;
    CAIRN_ASSIGN_OR_RETURN(const std::vector<StoredColumn> row,
                           IndexCodec::DescribeRow(engine_table_.layout(), primary));
    CAIRN_ASSIGN_OR_RETURN(LayoutHistory begun, LayoutHistory::Begin(row));
    history = std::make_shared<const LayoutHistory>(std::move(begun));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<StoredColumn> row,
                         IndexCodec::DescribeRow(altered.layout, PrimaryOfRows(altered)));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ColumnOrigin> origins, Origins(altered));
  CAIRN_ASSIGN_OR_RETURN(LayoutHistory next, history->Next(row, origins));
  if (next == *history) return history;
  return std::make_shared<const LayoutHistory>(std::move(next));
}

Result<std::shared_ptr<const Table>> AlterRequest::Source(const TableDescription& altered) const {
  auto definition = std::make_shared<TableDefinition>(engine_table_.definition());
  definition->build = nullptr;
  definition->indexes.assign(1, engine_table_.primary().definition);
  IndexDefinition& primary = definition->indexes.front();
  CAIRN_ASSIGN_OR_RETURN(primary.history, HistoryAfter(altered));
  if (primary.history != nullptr) primary.info.features |= kFeatureRowLayouts;
  return Table::Open(std::move(definition), altered.layout, {PrimaryOfRows(altered)});
}

// Whether columns that become NOT NULL can be checked in place; kCopy where a copy would convert
// their NULLs.
AlterPlan AlterRequest::PlanNotNull() const {
  const std::vector<uint32_t> columns = NewlyNotNull();
  if (columns.empty()) return {AlterPlan::Way::kInstant};
  // A TIMESTAMP may become the time of the statement.
  const bool has_timestamp = std::any_of(columns.begin(), columns.end(), [this](uint32_t column) {
    return table_.field[column]->type() == MYSQL_TYPE_TIMESTAMP;
  });
  if (info_.ignore || has_timestamp || !altered_.in_use->is_strict_mode()) {
    return Copy(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOT_NULL);
  }
  return {AlterPlan::Way::kInstant};
}

// Whether the rows can stay as they are, be it by a new layout.
AlterPlan AlterRequest::PlanRows(const TableDescription& altered) const {
  const bool keeps_rows = KeepsRows(altered.layout);
  if (!keeps_rows && !AllowsCairnFormat()) {
    AlterPlan plan = Copy();
    plan.reason = "cairn_format is stock";
    return plan;
  }
  const auto history = HistoryAfter(altered);
  if (history.ok()) return {AlterPlan::Way::kInstant};
  AlterPlan plan = CopyForType();
  if (history.status().message() == LayoutHistory::kTooMany) plan.reason = LayoutHistory::kTooMany;
  return plan;
}

// Whether the entries of a key that stays say the same, in the same column family.
bool AlterRequest::KeepsKey(uint old_key, uint key, const TableDescription& altered) const {
  const TableIndex& old_index = engine_table_.index(old_key);
  const std::vector<KeyPartLayout>& old_parts = old_index.layout().parts;
  const std::vector<KeyPartLayout>& parts = altered.indexes[key].parts;
  if (parts.size() != old_parts.size() ||
      altered.indexes[key].unique != old_index.layout().unique) {
    return false;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (OldColumnOf(parts[i].column) != old_parts[i].column ||
        parts[i].is_prefix != old_parts[i].is_prefix ||
        parts[i].descending != old_parts[i].descending ||
        !SameEncoding(engine_table_.layout(), old_parts[i], altered.layout, parts[i],
                      old_index.layout().format_version)) {
      return false;
    }
  }
  const LEX_CSTRING& comment = altered_.key_info[key].comment;
  return SameText(comment, table_.key_info[old_key].comment) ||
         FamilyInComment({comment.str, comment.length}, altered.layout.name) ==
             old_index.family().name;
}

// Whether the records of the dictionary can say that the table has a generated column, which the
// stock plug-in would take for a stored one.
bool AlterRequest::MayGenerateColumns() const {
  const IndexInfo& primary = engine_table_.primary().definition.info;
  return (primary.features & kFeatureGeneratedColumn) != 0 || AllowsCairnFormat();
}

// Whether rows may expire as the altered comment says, whose words may mean another column now:
// kCopy when they lack a stamp, or have another one, or have one too many.
AlterPlan AlterRequest::PlanExpiry() const {
  RowExpiry expiry;
  if (ReadExpiry(altered_, engine_table_.layout().name, &expiry) != 0) {
    return {AlterPlan::Way::kFail};
  }
  const IndexInfo& primary = engine_table_.primary().definition.info;
  const bool has_stamps = primary.has_ttl_stamp;
  if (has_stamps != (expiry.seconds != 0)) return Copy();
  // Rows that have expired would come back, without those of their entries that compactions have
  // removed already, and with entries of rows that others have taken the place of.
  if (has_stamps && expiry.seconds > primary.ttl_seconds) return Copy();
  if (!has_stamps) return {AlterPlan::Way::kInstant};
  std::optional<uint32_t> old_column;
  if (expiry.column.has_value()) {
    old_column = OldColumnOf(*expiry.column);
    if (!old_column.has_value()) return Copy();
  }
  return old_column == engine_table_.layout().ttl_column ? AlterPlan{AlterPlan::Way::kInstant}
                                                         : Copy();
}

// Whether an index can be built beside the rows.
bool AlterRequest::CanBuild(const TableDescription& altered, uint position) const {
  const IndexInfo& primary = engine_table_.primary().definition.info;
  NewIndex format;
  if (!ChooseAddedFormat(altered, primary, position, &format)) return false;
  IndexLayout index = altered.indexes[position];
  index.format_version = format.format_version;
  const auto codec = IndexCodec::Make(altered.layout, PrimaryOfRows(altered), index);
  return codec.ok() && IndexBuild::CanBuild(**codec);
}

// The same of all indexes of a table that is rebuilt, in each format that can express them.
bool AlterRequest::CanRebuild(const TableDescription& altered) const {
  bool expressed = false;
  for (const uint16_t format : {kStockFormatVersion, kCairnFormatVersion}) {
    IndexLayout primary = *std::find_if(
        altered.indexes.begin(), altered.indexes.end(),
        [](const IndexLayout& candidate) { return candidate.kind != IndexKind::kSecondary; });
    primary.format_version = format;
    bool all = true;
    for (IndexLayout index : altered.indexes) {
      index.format_version = format;
      const auto codec = IndexCodec::Make(altered.layout, primary, index);
      if (!codec.ok()) {
        all = false;
      } else if (!IndexBuild::CanBuild(**codec)) {
        return false;
      }
    }
    expressed |= all;
  }
  return expressed;
}

// Rows go from their present key to another one, or to new entries under the same.
AlterPlan AlterRequest::PlanRebuild(const TableDescription& altered) const {
  const bool loses_key = altered_.s->primary_key == MAX_KEY && table_.s->primary_key != MAX_KEY;
  // Where rows are may depend on their primary key.
  const bool moves_rows = table_.part_info != nullptr && !KeepsPrimaryKey();
  if (loses_key || moves_rows) return Copy();
  if (!KeepsPrimaryColumns(altered.layout)) return CopyForType();
  for (uint i = 0; i < altered_.s->keys; ++i) {
    const uint old_key = OldKeyOf(i);
    const bool is_kept = old_key != MAX_KEY && KeepsKey(old_key, i, altered);
    if (!is_kept && NeedsCopyToBeUnique(altered_.key_info[i], info_)) {
      return Copy(info_.ignore ? ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_IGNORE : 0);
    }
  }
  if (!CanRebuild(altered)) return Copy();
  return Source(altered).ok() ? AlterPlan{AlterPlan::Way::kRebuild} : CopyForType();
}

bool AlterRequest::LooksForOrphans() const {
  return (info_.handler_flags & ALTER_ADD_FOREIGN_KEY) != 0 &&
         !thd_test_options(altered_.in_use, OPTION_NO_FOREIGN_KEY_CHECKS);
}

AlterPlan AlterRequest::PlanIndexes(const TableDescription& altered) const {
  bool builds = false;
  // Those who write know the columns as they are, and do not compute virtual ones that no index has
  // yet.
  bool beside_writers = SameRecords(engine_table_.layout(), altered.layout);
  for (uint i = 0; i < altered_.s->keys; ++i) {
    if (!IsBuilt(i, altered)) continue;
    builds = true;
    if (NeedsCopyToBeUnique(altered_.key_info[i], info_)) {
      return Copy(info_.ignore ? ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_IGNORE : 0);
    }
    if (!CanBuild(altered, i)) return IsAdded(i) ? Copy() : CopyForType();
    for (const KeyPartLayout& part : altered.indexes[i].parts) {
      if (altered.layout.columns[part.column].is_virtual) beside_writers = false;
    }
  }
  if (!NewlyNotNull().empty() || LooksForOrphans()) return {AlterPlan::Way::kBuildIndexes};
  if (!builds) return {AlterPlan::Way::kInstant};
  return {beside_writers ? AlterPlan::Way::kBuildOnline : AlterPlan::Way::kBuildIndexes};
}

AlterPlan AlterRequest::Plan() const {
  if (IsOutOfScope()) return Copy();
  if ((info_.handler_flags & (ALTER_ADD_PK_INDEX | ALTER_DROP_PK_INDEX)) == ALTER_DROP_PK_INDEX) {
    return Copy(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOPK);
  }
  if (info_.handler_flags & (ALTER_STORED_COLUMN_TYPE | ALTER_VIRTUAL_COLUMN_TYPE)) {
    return Copy(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE);
  }
  if ((info_.handler_flags & ~(kDefinition | kDropIndex | kAddIndex | kRebuild)) != 0 ||
      ChecksMore() || !KeepsPartitionColumns()) {
    return Copy();
  }
  for (const AlterPlan& part : {PlanExpiry(), PlanNotNull()}) {
    if (part.way != AlterPlan::Way::kInstant) return part;
  }
  const auto altered = DescribeTable(altered_, engine_table_.layout().name);
  if (!altered.ok()) return Copy();
  if (info_.error_if_not_empty) return Copy();
  if (RebuildsTable(*altered)) return PlanRebuild(*altered);
  const AlterPlan rows = PlanRows(*altered);
  if (rows.way != AlterPlan::Way::kInstant) return rows;
  if ((info_.handler_flags & ALTER_ADD_VIRTUAL_COLUMN) && !MayGenerateColumns()) {
    AlterPlan plan = Copy();
    if (!AllowsCairnFormat()) plan.reason = "cairn_format is stock";
    return plan;
  }
  return PlanIndexes(*altered);
}

}  // namespace cairn
