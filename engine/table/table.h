// An open table: its definition in the dictionary joined with its layout, ready to read and write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/codec/index_codec.h"
#include "engine/txn/transaction.h"

namespace cairn {

struct TableIndex {
  IndexDefinition definition;
  std::unique_ptr<const IndexCodec> codec;
  // IndexCodec::SearchKeysEndEarly(): what a search key finds is to be compared with it, and what
  // is unique is less than the stored key.
  bool search_keys_end_early = false;
  bool has_virtual_part = false;

  const IndexLayout& layout() const { return codec->layout(); }
  const ColumnFamily& family() const { return *definition.family; }
};

// An index that is being built while others write to the table.
struct TableBuild {
  uint32_t delta_number = 0;                // Of the index that takes what changes.
  std::unique_ptr<const IndexCodec> codec;  // Of the index that is being built.
  const ColumnFamily* family = nullptr;     // Of both.
  NewIndexFigures* figures = nullptr;       // Of the definition's build.
};

// Immutable; shared by all handlers that have the table open.
class Table {
 public:
  // Joins `definition` with what the server says of the table. `indexes` are in the server's key
  // order, a hidden primary key last; numbers, kinds, format versions and the history of row
  // layouts come from the definition. Errors: kMetadataMismatch (another number or kind of indexes,
  // a history that is missing or of another table), those of IndexCodec::Make.
  static Result<std::shared_ptr<const Table>> Open(
      std::shared_ptr<const TableDefinition> definition, TableLayout layout,
      std::vector<IndexLayout> indexes);

  // From now on table files are written with statistics of the table's indexes that tell distinct
  // values.
  static void RegisterKeyLayouts(const std::shared_ptr<const Table>& table, Database* database);

  const TableDefinition& definition() const { return *definition_; }
  const TableLayout& layout() const { return layout_; }
  const std::vector<TableIndex>& indexes() const { return indexes_; }
  const TableIndex& index(uint32_t position) const { return indexes_[position]; }
  uint32_t primary_position() const { return primary_position_; }
  const TableIndex& primary() const { return indexes_[primary_position_]; }
  bool has_hidden_key() const { return primary().layout().kind == IndexKind::kHiddenPrimary; }
  // Every column belongs to the primary key, and always did: its entries are then removed by
  // SingleDelete (docs/stock-format.md, 1.4). Where rows have several layouts, one may have been
  // put over another.
  bool all_columns_in_primary_key() const { return all_columns_in_primary_key_; }

  // What a TableWriter writes besides the entries of indexes(); empty when nothing is being built.
  const std::vector<TableBuild>& builds() const { return builds_; }
  // Whether rows may be written in ways that do not tell what was there before: overwritten or
  // deleted unread, loaded as files, or not locked. Not while an index is being built, whose
  // entries are made of what a TableWriter is told, and not where foreign keys look at rows.
  bool MayBypassWriter() const { return builds_.empty() && !takes_part_in_foreign_keys_; }

  // Whether foreign keys name it, as child or as parent.
  bool takes_part_in_foreign_keys() const { return takes_part_in_foreign_keys_; }

  // Whether what a statement of the transaction sees, by its snapshot, is of a time when the table
  // had come to its name and the index (a position) was built. Errors: kDefinitionTooNew.
  Status CheckDefinition(const Transaction& transaction, uint32_t index) const;

  // Whether a new row's values are to be looked for beyond its stored primary key.
  bool has_unique_values() const { return has_unique_values_; }

  // Seconds after which rows expire; 0: never.
  uint64_t ttl_seconds() const { return ttl_seconds_; }

  // The next number of the hidden primary key. `database` is read once, at the first call since
  // start, with what transactions have prepared.
  Result<uint64_t> NextHiddenKey(Database* database) const;

 private:
  Table() = default;

  std::shared_ptr<const TableDefinition> definition_;
  TableLayout layout_;
  std::vector<TableIndex> indexes_;
  std::vector<TableBuild> builds_;
  uint32_t primary_position_ = 0;
  bool all_columns_in_primary_key_ = false;
  bool takes_part_in_foreign_keys_ = false;
  bool has_unique_values_ = false;
  uint64_t ttl_seconds_ = 0;
};

}  // namespace cairn
