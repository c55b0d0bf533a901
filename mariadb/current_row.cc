#include "mariadb/current_row.h"

#include <cstring>

#include "mariadb/server_headers.h"

namespace cairn {
namespace {

// Whether the statement has left the column as it was.
bool IsSame(const Field& field, const uint8_t* old_record, const uint8_t* new_record) {
  const bool is_null = field.is_null_in_record(old_record);
  if (is_null != field.is_null_in_record(new_record)) return false;
  return is_null ||
         field.cmp_binary(field.ptr_in_record(old_record), field.ptr_in_record(new_record)) == 0;
}

void CopyColumn(const ColumnLayout& column, const uint8_t* from, uint8_t* to) {
  std::memcpy(to + column.offset, from + column.offset, column.image_bytes);
  if (!column.nullable()) return;
  to[column.null_offset] = static_cast<uint8_t>((to[column.null_offset] & ~column.null_mask) |
                                                (from[column.null_offset] & column.null_mask));
}

}  // namespace

CurrentRow::CurrentRow(const TABLE* server_table, const Table* table)
    : server_table_(server_table), table_(table) {}

Result<bool> CurrentRow::Read(Transaction* transaction, const uint8_t* old_record,
                              uint64_t hidden_key) {
  const TableIndex& rows = table_->primary();
  if (plan_ == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(plan_,
                           rows.codec->MakePlan(ColumnSet(table_->layout().columns.size(), true),
                                                IndexCodec::Checksums::kIgnore));
  }
  rows.codec->EncodeKey(old_record, hidden_key, &key_, &unpack_info_);
  value_.Reset();
  const Status read = transaction->Get(rows.family(), key_, Transaction::View::kLatest, &value_);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  record_.assign(old_record, old_record + table_->layout().record_bytes);
  CAIRN_RETURN_IF_ERROR(rows.codec->Decode(*plan_, key_, value_.ToStringView(), record_.data()));
  return true;
}

const uint8_t* CurrentRow::Update(const uint8_t* old_record, const uint8_t* new_record) {
  const std::vector<ColumnLayout>& columns = table_->layout().columns;
  updated_.assign(new_record, new_record + table_->layout().record_bytes);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].is_virtual || !IsSame(*server_table_->field[i], old_record, new_record))
      continue;
    CopyColumn(columns[i], record_.data(), updated_.data());
  }
  return updated_.data();
}

}  // namespace cairn
