#include "engine/table/table_check.h"

#include <memory>
#include <string_view>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/ordered_iterator.h"

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
    CAIRN_ASSIGN_OR_RETURN(knows_rows_, Readable(CheckRows()));
    for (uint32_t i = 0; i < table_.indexes().size() && !full(); ++i) {
      if (table_.index(i).layout().kind != IndexKind::kSecondary || unreadable_[i]) continue;
      surplus_ = false;
      CAIRN_ASSIGN_OR_RETURN(const bool readable, Readable(CountEntries(i)));
      if (!readable || !surplus_ || full()) continue;
      CAIRN_RETURN_IF_ERROR(Readable(FindSurplusEntries(i)).status());
    }
    return std::move(report_);
  }

 private:
  bool full() const { return report_.problems.size() >= TableCheckReport::kMaxProblems; }

  void Report(const TableIndex& index, std::string_view what, std::string_view key) {
    report_.problems.push_back("index " + index.layout().name + ", key " + ToHex(key) + ": " +
                               std::string(what));
  }

  // Whether what was read could be. What could not be is a problem.
  Result<bool> Readable(const Status& read) {
    if (read.ok()) return true;
    if (read.code() != StatusCode::kCorruption && read.code() != StatusCode::kIoError) return read;
    report_.problems.emplace_back(read.message());
    return false;
  }

  Status CheckRows() {
    const TableIndex& primary = table_.primary();
    const size_t column_count = table_.layout().columns.size();
    const ColumnSet all_columns(column_count, true);
    CAIRN_ASSIGN_OR_RETURN(row_plan_,
                           primary.codec->MakePlan(all_columns, IndexCodec::Checksums::kVerify));
    unreadable_.assign(table_.indexes().size(), false);
    missing_.assign(table_.indexes().size(), 0);
    with_checksums_.assign(table_.indexes().size(), 0);
    for (const TableIndex& index : table_.indexes()) {
      CAIRN_ASSIGN_OR_RETURN(
          std::unique_ptr<DecodePlan> entry_plan,
          index.codec->MakePlan(ColumnSet(column_count), IndexCodec::Checksums::kVerify));
      entry_plans_.push_back(std::move(entry_plan));
    }
    // Compactions remove what expires before this time, rows and entries separately; what expires
    // later stays while the snapshot lives.
    transaction_->EnsureSnapshot();
    now_ = transaction_->ViewTime();
    OrderedIterator iterator(primary.definition, transaction_, Transaction::View::kSnapshot);
    for (iterator.SeekToFirst(); iterator.Valid() && !full(); iterator.Next()) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      if (HasExpired(iterator.value())) continue;
      ++report_.row_count;
      ChecksumFinding checksums;
      const Status decoded =
          primary.codec->Decode(*row_plan_, iterator.key(), iterator.value(), record_, &checksums);
      report_.rows_with_checksums += checksums != ChecksumFinding::kNone;
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
      if (index.layout().kind != IndexKind::kSecondary || unreadable_[i]) continue;
      if (index.has_virtual_part) CAIRN_RETURN_IF_ERROR(virtual_columns_->Compute(i));
      index.codec->EncodeKey(record_, hidden_key, &key_, &unpack_info_);
      index.codec->EncodeSecondaryValue(unpack_info_, ttl_stamp, &expected_value_);
      rocksdb::PinnableSlice value;
      ChecksumFinding checksums = ChecksumFinding::kNone;
      const Status read =
          transaction_->Get(index.family(), key_, Transaction::View::kSnapshot, &value);
      if (read.code() == StatusCode::kNotFound) {
        ++missing_[i];
        Report(index, "the entry of a row is missing", key_);
      } else if (!read.ok()) {
        CAIRN_RETURN_IF_ERROR(Readable(read).status());
        unreadable_[i] = true;  // Said once: a block has many entries.
      } else if (!value.ToStringView().starts_with(expected_value_)) {
        Report(index, "the entry differs from its row", key_);
      } else if (const Status decoded = index.codec->Decode(
                     *entry_plans_[i], key_, value.ToStringView(), record_, &checksums);
                 !decoded.ok()) {
        Report(index, decoded.ToString(), key_);
      }
      with_checksums_[i] += checksums != ChecksumFinding::kNone;
    }
    return Status();
  }

  // Sets surplus_ to whether the index has entries that belong to no row.
  Status CountEntries(uint32_t position) {
    const TableIndex& index = table_.index(position);
    uint64_t entry_count = 0;
    std::string previous;
    OrderedIterator iterator(index.definition, transaction_, Transaction::View::kSnapshot);
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      if (HasExpired(iterator.value())) continue;
      ++entry_count;
      if (!index.layout().unique || report_.warnings.size() >= report_.kMaxProblems) continue;
      if (!previous.empty()) {
        CAIRN_RETURN_IF_ERROR(CompareUniqueValues(position, previous, iterator.key()));
      }
      previous.assign(iterator.key());
    }
    CAIRN_RETURN_IF_ERROR(iterator.status());
    report_.entries.push_back({index.layout().name, entry_count, with_checksums_[position]});
    if (!knows_rows_) return Status();
    surplus_ = entry_count + missing_[position] > report_.row_count;
    if (entry_count != report_.row_count) {
      report_.problems.push_back("index " + index.layout().name + ": " +
                                 std::to_string(entry_count) + " entries for " +
                                 std::to_string(report_.row_count) + " rows");
    }
    return Status();
  }

  // Two neighbours in a UNIQUE index.
  Status CompareUniqueValues(uint32_t position, std::string_view entry, std::string_view next) {
    const TableIndex& index = table_.index(position);
    if (!MayShareValue(*index.codec, entry, next)) return Status();
    CAIRN_ASSIGN_OR_RETURN(const bool found, LoadRowOf(position, entry));
    if (!found || !index.codec->EncodeUniquePrefix(record_, &key_) || !next.starts_with(key_)) {
      return Status();
    }
    if (!index.codec->UniquePrefixIsExact()) {
      CAIRN_ASSIGN_OR_RETURN(const bool equal, index.codec->HasUniqueValueOf(record_, next));
      if (!equal) return Status();
    }
    report_.warnings.push_back("index " + index.layout().name + ", key " + ToHex(next) +
                               ": the value is not unique");
    return Status();
  }

  // Rules out most neighbours without reading a row.
  bool MayShareValue(const IndexCodec& codec, std::string_view entry, std::string_view next) {
    if (!codec.UniquePrefixIsExact()) return true;
    const size_t own_parts = codec.layout().parts.size();
    if (!codec.SplitKey(entry, &part_ends_).ok() || part_ends_.size() < own_parts) return false;
    return next.starts_with(entry.substr(0, part_ends_[own_parts - 1]));
  }

  // Fills the record with the row of an entry; false when there is none, or a damaged one.
  Result<bool> LoadRowOf(uint32_t position, std::string_view entry) {
    const TableIndex& index = table_.index(position);
    const TableIndex& primary = table_.primary();
    if (!index.codec->ExtractPrimaryKey(entry, &primary_key_).ok()) return false;
    const Status read = transaction_->Get(primary.family(), primary_key_,
                                          Transaction::View::kSnapshot, &row_value_);
    if (read.code() == StatusCode::kNotFound) return false;
    CAIRN_RETURN_IF_ERROR(read);
    if (!primary.codec->Decode(*row_plan_, primary_key_, row_value_.ToStringView(), record_).ok()) {
      return false;
    }
    if (index.has_virtual_part) CAIRN_RETURN_IF_ERROR(virtual_columns_->Compute(position));
    return true;
  }

  // Looks for the row of every entry.
  Status FindSurplusEntries(uint32_t position) {
    const TableIndex& index = table_.index(position);
    OrderedIterator iterator(index.definition, transaction_, Transaction::View::kSnapshot);
    for (iterator.SeekToFirst(); iterator.Valid() && !full(); iterator.Next()) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      if (HasExpired(iterator.value())) continue;
      CAIRN_ASSIGN_OR_RETURN(const bool found, LoadRowOf(position, iterator.key()));
      if (!found) {
        Report(index, "no row belongs to the entry", iterator.key());
        continue;
      }
      uint64_t hidden_key = 0;
      if (table_.has_hidden_key()) {
        CAIRN_ASSIGN_OR_RETURN(hidden_key, table_.primary().codec->HiddenKey(primary_key_));
      }
      index.codec->EncodeKey(record_, hidden_key, &key_, &unpack_info_);
      if (key_ != iterator.key()) {
        Report(index, "the row of the entry has another value", iterator.key());
      }
    }
    return iterator.status();
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
  std::string primary_key_;
  rocksdb::PinnableSlice row_value_;  // What BLOBs of the record point into.
  std::vector<uint32_t> part_ends_;
  std::vector<uint64_t> missing_;         // Entries, by index.
  std::vector<uint64_t> with_checksums_;  // Entries of each index.
  std::vector<bool> unreadable_;          // By index: an entry could not be read.
  bool knows_rows_ = false;               // All rows could be read, so that their number is known.
  bool surplus_ = false;
  std::unique_ptr<DecodePlan> row_plan_;
  std::vector<std::unique_ptr<DecodePlan>> entry_plans_;  // For what follows the expected value.
};

}  // namespace

Result<TableCheckReport> CheckTable(const Table& table, Transaction* transaction, uint8_t* record,
                                    VirtualColumns* virtual_columns) {
  return Checker(table, transaction, record, virtual_columns).Run();
}

}  // namespace cairn
