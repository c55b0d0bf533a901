#include "engine/table/snapshot_entries.h"

#include "engine/codec/column_set.h"
#include "engine/codec/index_codec.h"

namespace cairn {

// What the transaction has written itself looks the same either way: its entries are in the batch.
Result<bool> SnapshotEntries::Remove(Transaction* transaction, std::string_view primary_key,
                                     const uint8_t* record) {
  const ColumnFamily& rows = table_->primary().family();
  rocksdb::PinnableSlice seen;
  const Status found = transaction->Get(rows, primary_key, Transaction::View::kSnapshot, &seen);
  if (!found.ok() && found.code() != StatusCode::kNotFound) return found;
  rocksdb::PinnableSlice now;
  if (record != nullptr) {
    const Status read = transaction->Get(rows, primary_key, Transaction::View::kLatest, &now);
    if (!read.ok() && read.code() != StatusCode::kNotFound) return read;
    if (found.ok() && read.ok() && seen == now) return false;
  }
  if (found.ok()) {
    CAIRN_RETURN_IF_ERROR(DecodeSeen(primary_key, seen.ToStringView()));
    CAIRN_RETURN_IF_ERROR(RemoveSeen(transaction, primary_key, record));
  }
  return true;
}

// BLOBs of the record lie in the value.
Status SnapshotEntries::DecodeSeen(std::string_view primary_key, std::string_view value) {
  const IndexCodec& codec = *table_->primary().codec;
  if (whole_row_plan_ == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(whole_row_plan_,
                           codec.MakePlan(ColumnSet(table_->layout().columns.size(), true),
                                          IndexCodec::Checksums::kIgnore));
    seen_record_.resize(table_->layout().record_bytes);
  }
  return codec.Decode(*whole_row_plan_, primary_key, value, seen_record_.data());
}

Status SnapshotEntries::RemoveSeen(Transaction* transaction, std::string_view primary_key,
                                   const uint8_t* record) {
  uint64_t hidden_key = 0;
  if (table_->has_hidden_key()) {
    CAIRN_ASSIGN_OR_RETURN(hidden_key, table_->primary().codec->HiddenKey(primary_key));
  }
  for (uint32_t i = 0; i < table_->indexes().size(); ++i) {
    const TableIndex& index = table_->index(i);
    if (index.layout().kind != IndexKind::kSecondary) continue;
    if (index.has_virtual_part) {
      CAIRN_RETURN_IF_ERROR(virtual_columns_->Make(i, seen_record_.data()));
    }
    index.codec->EncodeKey(seen_record_.data(), hidden_key, &seen_key_, &unpack_info_);
    if (record != nullptr) {
      index.codec->EncodeKey(record, hidden_key, &key_, &unpack_info_);
      if (key_ == seen_key_) continue;
    }
    CAIRN_RETURN_IF_ERROR(transaction->SingleDelete(index.family(), seen_key_));
  }
  return Status();
}

}  // namespace cairn
