#include "mariadb/table_description.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/format_choice.h"
#include "engine/codec/image_length.h"
#include "engine/lsm/comparator.h"
#include "mariadb/cairn_format.h"
#include "mariadb/collation_adapter.h"
#include "mariadb/comment_qualifier.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/old_weights.h"
#include "mariadb/server_headers.h"
#include "mariadb/ttl_comment.h"

namespace cairn {
namespace {

bool IsOldTemporal(const Field& field) {
  const enum_field_types type = field.real_type();
  return type == MYSQL_TYPE_TIMESTAMP || type == MYSQL_TYPE_DATETIME || type == MYSQL_TYPE_TIME;
}

// docs/stock-format.md, 3.3: the old formats differ with and without a fraction.
ColumnType OldTemporalType(const Field& field) {
  const bool fraction = field.decimals() > 0;
  if (field.real_type() == MYSQL_TYPE_TIME) {
    return fraction ? ColumnType::kOldTimeFraction : ColumnType::kOldTime;
  }
  return fraction ? ColumnType::kOpaqueFixed : ColumnType::kOldTimestamp;
}

Result<ColumnType> TypeOf(const Field& field) {
  if (IsOldTemporal(field)) return OldTemporalType(field);
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return field.flags & UNSIGNED_FLAG ? ColumnType::kUnsignedInteger
                                         : ColumnType::kSignedInteger;
    case MYSQL_TYPE_DATE:
      return ColumnType::kUnsignedInteger;  // The 4-byte DATE of old servers.
    case MYSQL_TYPE_FLOAT:
      return ColumnType::kFloat;
    case MYSQL_TYPE_DOUBLE:
      return ColumnType::kDouble;
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2:
      return ColumnType::kFixedImage;
    case MYSQL_TYPE_NEWDATE:
      return ColumnType::kDate;
    case MYSQL_TYPE_BIT:
      return ColumnType::kOpaqueFixed;
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
      return ColumnType::kEnum;
    case MYSQL_TYPE_STRING:
      // UUID, INET4 and INET6 call themselves strings too. A CHAR with a JSON_VALID constraint has
      // a handler of its own.
      return field.type_handler()->type_handler_base_or_self() == &type_handler_string
                 ? ColumnType::kChar
                 : ColumnType::kOpaqueFixed;
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VARCHAR_COMPRESSED:
      return ColumnType::kVarchar;
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_BLOB_COMPRESSED:
    case MYSQL_TYPE_GEOMETRY:
      return ColumnType::kBlob;
    default:
      return Status(StatusCode::kNotSupported,
                    "column " + std::string(field.field_name.str, field.field_name.length) +
                        " has a type that the engine cannot store");
  }
}

Result<ColumnLayout> DescribeColumn(const TABLE& table, const Field& field) {
  ColumnLayout column;
  column.name.assign(field.field_name.str, field.field_name.length);
  CAIRN_ASSIGN_OR_RETURN(column.type, TypeOf(field));
  column.offset = static_cast<uint32_t>(field.ptr - table.record[0]);
  column.image_bytes = field.pack_length();
  column.is_virtual = !field.stored_in_db();
  if (field.real_maybe_null()) {
    column.null_offset = static_cast<uint32_t>(field.null_ptr - table.record[0]);
    column.null_mask = field.null_bit;
  }
  switch (column.type) {
    case ColumnType::kChar:
      column.max_bytes = column.image_bytes;
      break;
    case ColumnType::kVarchar:
      column.length_bytes = static_cast<const Field_varstring&>(field).length_bytes;
      column.max_bytes = column.image_bytes - column.length_bytes;
      break;
    case ColumnType::kBlob:
      column.length_bytes = static_cast<const Field_blob&>(field).pack_length_no_ptr();
      break;
    default:
      return column;
  }
  column.collation = FindCollation(field.charset());
  return column;
}

// What the server compares a NULL with: the column's bytes in the record of defaults. All zeros is
// what a layout without them means.
std::shared_ptr<const std::string> NullImageOf(const TABLE& table, const ColumnLayout& column) {
  if (!column.nullable() || column.is_virtual || column.type == ColumnType::kBlob) return nullptr;
  const uchar* const image = table.s->default_values + column.offset;
  const size_t bytes =
      column.type == ColumnType::kVarchar
          ? column.length_bytes +
                std::min(cairn::LoadImageLength(image, column.length_bytes), column.max_bytes)
          : column.image_bytes;
  if (std::all_of(image, image + bytes, [](uchar byte) { return byte == 0; })) return nullptr;
  return std::make_shared<const std::string>(reinterpret_cast<const char*>(image), bytes);
}

// The image of a TIMESTAMP(6).
std::string TimestampImage(my_time_t seconds, ulong microseconds) {
  std::string image;
  AppendBigEndian(static_cast<uint32_t>(seconds), &image);
  std::string fraction;
  AppendBigEndian(static_cast<uint32_t>(microseconds), &fraction);
  return image.append(fraction, 1, std::string::npos);
}

// Null: the rows of the table have no versions.
std::shared_ptr<const ValidityColumns> DescribeValidity(const TABLE& table) {
  if (!table.versioned(VERS_TIMESTAMP)) return nullptr;
  auto validity = std::make_shared<ValidityColumns>();
  validity->start = table.s->vers.start_fieldno;
  validity->end = table.s->vers.end_fieldno;
  validity->end_offset = static_cast<uint32_t>(table.field[validity->end]->ptr - table.record[0]);
  // What the server has for the end of a row that is valid.
  if (!HasOtherEndOfTime(table)) {
    validity->never = TimestampImage(TIMESTAMP_MAX_VALUE, TIME_MAX_SECOND_PART);
  }
  for (Field* const* field = table.field; *field != nullptr; ++field) {
    validity->unwatched.push_back(((*field)->flags & VERS_UPDATE_UNVERSIONED_FLAG) != 0);
  }
  return validity;
}

IndexLayout DescribeIndex(const KEY& key, bool is_primary) {
  IndexLayout index;
  index.name.assign(key.name.str, key.name.length);
  index.kind = is_primary ? IndexKind::kPrimary : IndexKind::kSecondary;
  index.unique = is_primary || (key.flags & HA_NOSAME);
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& key_part = key.key_part[i];
    KeyPartLayout part;
    part.column = key_part.fieldnr - 1;
    part.length_bytes = key_part.length;
    part.is_prefix = key_part.key_part_flag & HA_PART_KEY_SEG;
    part.descending = key_part.key_part_flag & HA_REVERSE_SORT;
    index.parts.push_back(part);
  }
  return index;
}

// Whether a comment without an option names a column family, as every comment does for the stock
// plug-in. One that exists is meant also in a table of the stock plug-in that is altered here.
bool NamesFamily(std::string_view comment) {
  return !AllowsCairnFormat() || comment.starts_with(lsm::kReverseColumnFamilyPrefix) ||
         RunningEngine()->database().families().Find(comment) != nullptr;
}

// docs/stock-format.md, 1.3.
NewIndex ChooseFamily(std::string_view comment, std::string_view dictionary_name) {
  NewIndex index;
  if (const std::optional<std::string_view> partition = PartitionOf(dictionary_name)) {
    const std::string qualifier = std::string(*partition) + "_cfname";
    if (auto name = FindInComment(comment, qualifier)) {
      index.family_name = *std::move(name);
      index.family_per_partition = true;
    }
    return index;
  }
  if (comment.empty()) return index;
  if (auto name = FindInComment(comment, "cfname")) {
    index.family_name = *std::move(name);
  } else if (NamesFamily(comment)) {
    index.family_name = comment;
  }
  return index;
}

// The column family and the kind of one index. Reports what is refused; returns 0 or a handler
// error code.
int DescribeNewIndex(const TABLE& table, uint position, std::string_view dictionary_name,
                     NewIndex* index) {
  const KEY& key = table.key_info[position];
  *index = ChooseFamily({key.comment.str, key.comment.length}, dictionary_name);
  if (index->family_name == kSystemColumnFamily) {
    my_error(ER_WRONG_ARGUMENTS, MYF(0), "column family not valid for storing index data.");
    return HA_WRONG_CREATE_OPTION;
  }
  if (index->family_name == "$per_index_cf") {
    my_error(ER_PER_INDEX_CF_DEPRECATED, MYF(0));
    return HA_WRONG_CREATE_OPTION;
  }
  index->kind = position == table.s->primary_key ? IndexKind::kPrimary : IndexKind::kSecondary;
  return 0;
}

// Gives all indexes of a new table the Cairn format if one of them gains by it, else the stock
// format.
int ChooseFormat(const TableDescription& description, uint32_t table_features,
                 std::vector<NewIndex>* indexes) {
  uint32_t all = table_features;
  uint32_t indispensable = table_features & kIndispensableFeatures;
  for (size_t i = 0; i < indexes->size(); ++i) {
    NewIndex& index = (*indexes)[i];
    index.features = IndexFeaturesOf(description.layout, description.indexes[i]);
    indispensable |=
        IndispensableFeatures(description.layout, description.indexes[i], index.features);
    if (index.kind != IndexKind::kSecondary) index.features |= table_features;
    all |= index.features;
  }
  const bool cairn = (all | indispensable) != 0 && AllowsCairnFormat();
  if (!cairn && indispensable != 0) return RefuseCairnFeature(indispensable);
  for (NewIndex& index : *indexes) {
    index.format_version = cairn ? kCairnFormatVersion : kStockFormatVersion;
    if (!cairn) index.features = 0;
  }
  return 0;
}

}  // namespace

Result<TableDescription> DescribeTable(const TABLE& table, std::string_view name) {
  TableDescription description;
  description.layout.name = name;
  description.layout.record_bytes = static_cast<uint32_t>(table.s->reclength);
  description.layout.null_bytes = table.s->null_bytes;
  for (uint i = 0; i < table.s->fields; ++i) {
    CAIRN_ASSIGN_OR_RETURN(description.layout.columns.emplace_back(),
                           DescribeColumn(table, *table.field[i]));
    ColumnLayout& column = description.layout.columns.back();
    column.null_image = NullImageOf(table, column);
  }
  description.layout.validity = DescribeValidity(table);
  CAIRN_ASSIGN_OR_RETURN(description.layout.ttl_column, FindTtlColumn(table, name));
  for (uint i = 0; i < table.s->keys; ++i) {
    description.indexes.push_back(DescribeIndex(table.key_info[i], i == table.s->primary_key));
  }
  if (table.s->primary_key == MAX_KEY) {
    IndexLayout hidden;
    hidden.name = "HIDDEN_PK_ID";
    hidden.kind = IndexKind::kHiddenPrimary;
    hidden.unique = true;
    description.indexes.push_back(std::move(hidden));
  }
  return description;
}

std::string StatementTime(THD* thd, std::string_view start) {
  std::string time = TimestampImage(thd->query_start(), thd->query_start_sec_part());
  if (!thd->slave_thread || time > start) return time;
  const auto* const bytes = reinterpret_cast<const uchar*>(start.data());
  const auto seconds = static_cast<my_time_t>(mi_uint4korr(bytes));
  const auto next = static_cast<ulong>(mi_uint3korr(bytes + 4)) + 1;
  return next > TIME_MAX_SECOND_PART ? TimestampImage(seconds + 1, 0)
                                     : TimestampImage(seconds, next);
}

std::string FamilyInComment(std::string_view comment, std::string_view dictionary_name) {
  return ChooseFamily(comment, dictionary_name).family_name;
}

bool PartMayBeRestorable(const st_key_part_info& key_part) {
  const Field& field = *key_part.field;
  const auto type = TypeOf(field);
  return type.ok() && *type != ColumnType::kBlob && field.key_length() == key_part.length;
}

Result<std::string> DictionaryName(std::string_view path) {
  const size_t table = path.rfind('/');
  const size_t database = table == std::string_view::npos || table == 0
                              ? std::string_view::npos
                              : path.rfind('/', table - 1);
  if (database == std::string_view::npos || table + 1 == path.size() || database + 1 == table) {
    return Status(StatusCode::kInvalidArgument, "not the path of a table: " + std::string(path));
  }
  std::string name(path.substr(database + 1, table - database - 1));
  name.push_back('.');
  name.append(path.substr(table + 1));
  return name;
}

uint32_t TableFeatures(const TABLE& table, bool is_sequence) {
  uint32_t features = 0;
  if (is_sequence) features |= kFeatureSequence;
  for (uint i = 0; i < table.s->fields; ++i) {
    if (table.field[i]->vcol_info != nullptr) features |= kFeatureGeneratedColumn;
    if (table.field[i]->type() == MYSQL_TYPE_GEOMETRY) features |= kFeatureGeometry;
  }
  return features;
}

int DescribeNewIndexes(const TABLE& table, const TableDescription& description,
                       const TableOptions& options, std::vector<NewIndex>* indexes) {
  const Status noted = NoteWeightsOfColumns(description.layout);
  if (!noted.ok()) return HandlerError(noted);
  const std::string_view dictionary_name = description.layout.name;
  for (uint i = 0; i < table.s->keys; ++i) {
    NewIndex index;
    if (const int error = DescribeNewIndex(table, i, dictionary_name, &index)) return error;
    index.ttl_seconds = options.ttl_seconds;
    indexes->push_back(std::move(index));
  }
  if (table.s->primary_key == MAX_KEY) {
    NewIndex hidden;
    hidden.kind = IndexKind::kHiddenPrimary;
    indexes->push_back(hidden);
  }
  return ChooseFormat(description, options.features, indexes);
}

bool ChooseAddedFormat(const TableDescription& description, const IndexInfo& primary, uint position,
                       NewIndex* index) {
  const IndexLayout& layout = description.indexes[position];
  const uint32_t features = IndexFeaturesOf(description.layout, layout);
  const uint32_t indispensable = IndispensableFeatures(description.layout, layout, features);
  const bool has_cairn_primary = primary.format_version == kCairnFormatVersion;
  const bool gains = (features | indispensable) != 0;
  const bool cairn = AllowsCairnFormat() && (has_cairn_primary || gains);
  if (!cairn && (has_cairn_primary || indispensable != 0)) return false;
  index->format_version = cairn ? kCairnFormatVersion : kStockFormatVersion;
  index->features = cairn ? features : 0;
  return true;
}

int DescribeAddedIndex(const TABLE& table, const TableDescription& description,
                       const IndexInfo& primary, uint position, NewIndex* index) {
  const Status noted = NoteWeightsOfColumns(description.layout);
  if (!noted.ok()) return HandlerError(noted);
  if (const int error = DescribeNewIndex(table, position, description.layout.name, index)) {
    return error;
  }
  index->ttl_seconds = primary.has_ttl_stamp ? primary.ttl_seconds : 0;
  return ChooseAddedFormat(description, primary, position, index) ? 0 : HA_WRONG_CREATE_OPTION;
}

}  // namespace cairn
