// How an ALTER TABLE is made: by the definition alone, by building indexes beside the rows, by
// writing all rows anew in place, or by copying the table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/codec/layout_history.h"
#include "engine/table/table.h"
#include "mariadb/server_headers.h"
#include "mariadb/table_description.h"

namespace cairn {

struct AlterPlan {
  enum class Way : uint8_t {
    kFail,          // The statement is refused; the reason was reported with my_error.
    kCopy,          // Rows are written anew, by the server.
    kRebuild,       // Rows and all indexes are written anew in place, while nobody writes.
    kBuildIndexes,  // Rows stay; they are looked at or indexes are made of them, while nobody
                    // writes.
    kBuildOnline,   // Indexes are made while others write.
    kInstant,       // Rows and entries stay as they are.
  };
  Way way = Way::kCopy;
  // Why it is no better way, for ER_ALTER_OPERATION_NOT_SUPPORTED_REASON; null: in no words. A
  // constant of the server or of this plug-in.
  const char* reason = nullptr;
};

// What an ALTER TABLE has to do with one table or partition. Belongs to the statement.
class AlterRequest {
 public:
  // `table` as it is, of which `engine_table` is open, and as it will be; all outlive the request.
  AlterRequest(const TABLE& table, const TABLE& altered_table, const Alter_inplace_info& info,
               const Table& engine_table)
      : table_(table), altered_(altered_table), info_(info), engine_table_(engine_table) {}

  // Any thread may ask; changes nothing.
  AlterPlan Plan() const;

  // Whether all indexes are made anew, the primary key among them. `altered` describes the altered
  // table, here and below.
  bool RebuildsTable(const TableDescription& altered) const;
  // Whether the entries of the key at this position of the altered table are made anew: it is
  // added, or its entries would be other ones.
  bool IsBuilt(uint key, const TableDescription& altered) const;
  // Whether rows are looked at for new foreign keys.
  bool LooksForOrphans() const;
  // The stored columns of the table as it is that may be NULL and will be NOT NULL.
  std::vector<uint32_t> NewlyNotNull() const;

  // The layouts that rows have after the change if they stay: those of the table as it is, where
  // rows keep theirs; null when there is but one. Errors: kNotSupported and kInvalidArgument, where
  // no history can say what rows have.
  Result<std::shared_ptr<const LayoutHistory>> HistoryAfter(const TableDescription& altered) const;
  // Of a table that is rebuilt: its rows as they are, under their present key, read as rows of the
  // altered table. Errors: as HistoryAfter, those of Table::Open.
  Result<std::shared_ptr<const Table>> Source(const TableDescription& altered) const;

  // The position that a key of the altered table has now; MAX_KEY when it is new.
  uint OldKeyOf(uint key) const;
  // Where a column of the altered table is now; none when it is new.
  std::optional<uint> OldColumnOf(uint column) const;

 private:
  // Whether the key at this position of the altered table is new.
  bool IsAdded(uint key) const;
  AlterPlan Copy(uint server_error = 0) const;
  AlterPlan CopyForType() const;
  bool IsOutOfScope() const;
  bool KeepsPrimaryKey() const;
  bool KeepsPartitionColumns() const;
  bool ChecksMore() const;
  bool KeepsColumn(const ColumnLayout& old_column, const ColumnLayout& column) const;
  bool KeepsRows(const TableLayout& layout) const;
  bool KeepsKey(uint old_key, uint key, const TableDescription& altered) const;
  bool KeepsPrimaryColumns(const TableLayout& layout) const;
  bool MayGenerateColumns() const;
  Result<AbsentImage> AbsentImageOfColumn(const TableDescription& altered, uint column) const;
  Result<std::vector<ColumnOrigin>> Origins(const TableDescription& altered) const;
  IndexLayout PrimaryOfRows(const TableDescription& altered) const;
  AlterPlan PlanNotNull() const;
  AlterPlan PlanRows(const TableDescription& altered) const;
  AlterPlan PlanExpiry() const;
  AlterPlan PlanRebuild(const TableDescription& altered) const;
  AlterPlan PlanIndexes(const TableDescription& altered) const;
  bool CanBuild(const TableDescription& altered, uint position) const;
  bool CanRebuild(const TableDescription& altered) const;

  const TABLE& table_;
  const TABLE& altered_;
  const Alter_inplace_info& info_;
  const Table& engine_table_;
};

// Whether each value of `field` is the same value of a column of the type `column`, and nothing
// that is computed of it can become another: asked before the altered table is known
// (handler::can_convert_nocopy). Whether rows and entries can follow, AlterRequest::Plan() says.
// Defined in column_widening.cc, as is CompareKeyParts().
bool CanWidenInPlace(const Field& field, const Column_definition& column);

// The answer of handler::compare_key_parts for a column that may be widened so: Plan() compares the
// bytes of the entries.
Compare_keys CompareKeyParts(const Field& field, const Column_definition& column,
                             const KEY_PART_INFO& old_part, const KEY_PART_INFO& part);

}  // namespace cairn
