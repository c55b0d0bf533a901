#include "engine/table/table_check.h"

#include <memory>
#include <string_view>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/table/ordered_iterator.h"
#include "engine/txn/interruptible_mutex.h"

namespace cairn {
namespace {

class Checker {
 public:
  Checker(const Table& table, Transaction* transaction, uint8_t* record,
          VirtualColumns* virtual_columns)
      : table_(table),
        transaction_(transaction),
        record_(record),
        virtual_columns_(virtual_columns) {}

  Result<TableCheckReport> Run() {
    CAIRN_RETURN_IF_ERROR(CheckRows());
    for (const TableIndex& index : table_.indexes()) {
      if (index.layout().kind == IndexKind::kSecondary && !full()) {
        CAIRN_RETURN_IF_ERROR(CountEntries(index));
      }
    }
    return std::move(report_);
  }

 private:
  bool full() const { return report_.problems.size() >= TableCheckReport::kMaxProblems; }

  void Report(const TableIndex& index, std::string_view what, std::string_view key) {
    report_.problems.push_back("index " + index.layout().name + ", key " + ToHex(key) + ": " +
                               std::string(what));
  }

  Status CheckRows() {
    const TableIndex& primary = table_.primary();
    const size_t column_count = table_.layout().columns.size();
    const ColumnSet all_columns(column_count, true);
    CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<DecodePlan> plan,
                           primary.codec->MakePlan(all_columns, IndexCodec::Checksums::kVerify));
    for (const TableIndex& index : table_.indexes()) {
      CAIRN_ASSIGN_OR_RETURN(
          std::unique_ptr<DecodePlan> entry_plan,
          index.codec->MakePlan(ColumnSet(column_count), IndexCodec::Checksums::kVerify));
      entry_plans_.push_back(std::move(entry_plan));
    }
    // Compactions remove what expires before this time, rows and entries separately; what expires later
    // stays while the snapshot lives.
    transaction_->EnsureSnapshot();
    now_ = transaction_->ViewTime();
    OrderedIterator iterator(primary.entry, transaction_, Transaction::View::kSnapshot);
    for (iterator.SeekToFirst(); iterator.Valid() && !full(); iterator.Next()) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      if (HasExpired(iterator.value())) continue;
      ++report_.row_count;
      const Status decoded =
          primary.codec->Decode(*plan, iterator.key(), iterator.value(), record_);
      if (!decoded.ok()) {
        Report(primary, decoded.ToString(), iterator.key());
        continue;
      }
      CAIRN_RETURN_IF_ERROR(CheckEntriesOfRow(iterator.key(), iterator.value()));
    }
    return iterator.status();
  }

  Status CheckEntriesOfRow(std::string_view primary_key, std::string_view row) {
    uint64_t ttl_stamp = 0;
    if (table_.primary().layout().has_ttl_stamp) {
      CAIRN_ASSIGN_OR_RETURN(ttl_stamp, table_.primary().codec->TtlStamp(row));
    }
    uint64_t hidden_key = 0;
    if (table_.has_hidden_key()) {
      CAIRN_ASSIGN_OR_RETURN(hidden_key, table_.primary().codec->HiddenKey(primary_key));
    }
    // Columns that the key does not give back lie in the row as well.
    table_.primary().codec->EncodeKey(record_, hidden_key, &key_, &unpack_info_);
    if (key_ != primary_key) {
      Report(table_.primary(), "the row's columns make another key", primary_key);
    }
    for (uint32_t i = 0; i < table_.indexes().size() && !full(); ++i) {
      const TableIndex& index = table_.index(i);
      if (index.layout().kind != IndexKind::kSecondary) continue;
      if (index.has_virtual_part) CAIRN_RETURN_IF_ERROR(virtual_columns_->Compute(i));
      index.codec->EncodeKey(record_, hidden_key, &key_, &unpack_info_);
      index.codec->EncodeSecondaryValue(unpack_info_, ttl_stamp, &expected_value_);
      rocksdb::PinnableSlice value;
      const Status read =
          transaction_->Get(index.family(), key_, Transaction::View::kSnapshot, &value);
      if (read.code() == StatusCode::kNotFound) {
        Report(index, "the entry of a row is missing", key_);
      } else if (!read.ok()) {
        return read;
      } else if (!value.ToStringView().starts_with(expected_value_)) {
        Report(index, "the entry differs from its row", key_);
      } else if (const Status decoded =
                     index.codec->Decode(*entry_plans_[i], key_, value.ToStringView(), record_);
                 !decoded.ok()) {
        Report(index, decoded.ToString(), key_);
      }
    }
    return Status();
  }

  Status CountEntries(const TableIndex& index) {
    uint64_t entry_count = 0;
    OrderedIterator iterator(index.entry, transaction_, Transaction::View::kSnapshot);
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      if (!HasExpired(iterator.value())) ++entry_count;
    }
    CAIRN_RETURN_IF_ERROR(iterator.status());
    if (entry_count != report_.row_count) {
      report_.problems.push_back("index " + index.layout().name + ": " +
                                 std::to_string(entry_count) + " entries for " +
                                 std::to_string(report_.row_count) + " rows");
    }
    return Status();
  }

  // Whatever the variables say about hiding rows.
  bool HasExpired(std::string_view value) const {
    return table_.ttl_seconds() != 0 && value.size() >= kTtlStampBytes &&
           IsExpired(LoadBigEndian<uint64_t>(value.data()), table_.ttl_seconds(), now_);
  }

  const Table& table_;
  Transaction* const transaction_;
  uint8_t* const record_;
  VirtualColumns* const virtual_columns_;
  TableCheckReport report_;
  uint64_t now_ = 0;
  std::string key_;
  std::string unpack_info_;
  std::string expected_value_;
  std::vector<std::unique_ptr<DecodePlan>> entry_plans_;  // For what follows the expected value.
};

}  // namespace

Result<TableCheckReport> CheckTable(const Table& table, Transaction* transaction, uint8_t* record,
                                    VirtualColumns* virtual_columns) {
  return Checker(table, transaction, record, virtual_columns).Run();
}

}  // namespace cairn
