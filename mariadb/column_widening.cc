// Which types a column may take on while every value stays what it is.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "mariadb/alter_plan.h"

namespace cairn {
namespace {

constexpr uint32 kOneLengthByte = 255;

bool IsInteger(enum_field_types type) {
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
         type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

bool IsTextBlob(enum_field_types type) {
  return type == MYSQL_TYPE_TINY_BLOB || type == MYSQL_TYPE_BLOB ||
         type == MYSQL_TYPE_MEDIUM_BLOB || type == MYSQL_TYPE_LONG_BLOB;
}

// Whether something beside the column itself is computed of it, or counts on it: a generated column
// that is kept, a CHECK, or the partition of a row. The server does not tell which columns a CHECK
// or a generated column is about.
bool ValueIsUsed(const Field& field) {
  const TABLE& table = *field.table;
  if (table.s->table_check_constraints != 0 || table.s->field_check_constraints != 0) return true;
  for (Field** each = table.field; *each != nullptr; ++each) {
    if ((*each)->vcol_info != nullptr &&
        ((*each)->stored_in_db() || ((*each)->flags & PART_KEY_FLAG) != 0)) {
      return true;
    }
  }
  return table.part_info != nullptr &&
         bitmap_is_set(&table.part_info->full_part_field_set, field.field_index);
}

// Whether text of `from` is the same bytes, of the same characters, in `to`.
bool IsSubset(CHARSET_INFO* from, CHARSET_INFO* to) {
  const std::string_view old_name(from->cs_name.str, from->cs_name.length);
  const std::string_view name(to->cs_name.str, to->cs_name.length);
  if (old_name == name) return true;
  const bool is_utf8 = name == "utf8mb3" || name == "utf8mb4";
  return (old_name == "ascii" && is_utf8) || (old_name == "utf8mb3" && name == "utf8mb4");
}

bool IsWiderInteger(const Field& field, const Column_definition& column) {
  const bool was_unsigned = (field.flags & UNSIGNED_FLAG) != 0;
  const bool is_unsigned = (column.flags & UNSIGNED_FLAG) != 0;
  return IsInteger(field.real_type()) && IsInteger(column.real_field_type()) &&
         (was_unsigned == is_unsigned || was_unsigned) &&
         column.pack_length > field.pack_length() &&
         ((column.flags ^ field.flags) & (ZEROFILL_FLAG | AUTO_INCREMENT_FLAG)) == 0;
}

// Whether the members are those of the old type, and more behind them.
bool AppendsMembers(const Field_enum& field, const Column_definition& column) {
  const TYPELIB& old_members = *MembersOf(field);
  const TYPELIB* const members = MembersOf(column);
  if (members == nullptr || members->count < old_members.count) return false;
  for (uint i = 0; i < old_members.count; ++i) {
    if (members->type_lengths[i] != old_members.type_lengths[i] ||
        memcmp(members->type_names[i], old_members.type_names[i], members->type_lengths[i]) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool CanWidenInPlace(const Field& field, const Column_definition& column) {
  if (field.vcol_info != nullptr || column.vcol_info != nullptr) return false;
  if (IsWiderInteger(field, column)) return !ValueIsUsed(field);
  if (column.charset == nullptr || field.compression_method() != nullptr ||
      column.compression_method() != nullptr || !IsSubset(field.charset(), column.charset)) {
    return false;
  }
  const bool same_collation = field.charset() == column.charset;
  switch (field.real_type()) {
    case MYSQL_TYPE_VARCHAR:
      return column.type_handler() == field.type_handler() &&
             column.char_length >= field.char_length() && (same_collation || !ValueIsUsed(field));
    case MYSQL_TYPE_STRING:
      return field.type_handler() == &type_handler_string &&
             column.type_handler() == &type_handler_string &&
             column.char_length >= field.char_length() && !ValueIsUsed(field);
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
      return column.type_handler() == field.type_handler() && same_collation &&
             column.pack_length >= field.pack_length() &&
             AppendsMembers(static_cast<const Field_enum&>(field), column) && !ValueIsUsed(field);
    default:
      return IsTextBlob(field.real_type()) && IsTextBlob(column.real_field_type()) &&
             column.pack_length >= field.pack_length() && (same_collation || !ValueIsUsed(field));
  }
}

Compare_keys CompareKeyParts(const Field& field, const Column_definition& column,
                             const KEY_PART_INFO& old_part, const KEY_PART_INFO& part) {
  const bool was_whole = old_part.length == field.key_length();
  const bool may_stay = field.is_equal(column) ||
                        (field.real_type() == MYSQL_TYPE_VARCHAR && CanWidenInPlace(field, column));
  if (!may_stay) return Compare_keys::NotEqual;
  if (old_part.length == part.length) return Compare_keys::Equal;
  return was_whole && part.length > old_part.length && !field.is_equal(column)
             ? Compare_keys::EqualButKeyPartLength
             : Compare_keys::NotEqual;
}

}  // namespace cairn
