// From the server's description of a table to the engine's, and the checks of a new table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/codec/table_layout.h"

class THD;
struct TABLE;
struct st_key_part_info;

namespace cairn {

struct TableDescription {
  TableLayout layout;
  std::vector<IndexLayout> indexes;  // In the server's key order, a hidden primary key last.
};

// Errors: kNotSupported for a column type that the engine cannot store.
Result<TableDescription> DescribeTable(const TABLE& table, std::string_view name);

// The time of the statement, as columns of ValidityColumns have it. On a replica, whose events come
// without fractions of a second, it is later than `start`.
std::string StatementTime(THD* thd, std::string_view start);

// The column family that an index with this comment is put into.
std::string FamilyInComment(std::string_view comment, std::string_view dictionary_name);

// Whether a column might be read back from this key part, asked before any table is open. The
// index's format decides.
bool PartMayBeRestorable(const st_key_part_info& key_part);

// "db.table[#P#part]" of the server's path "./db/table[#P#part]". Errors: kInvalidArgument.
Result<std::string> DictionaryName(std::string_view path);

// What a new table as a whole asks of its indexes.
struct TableOptions {
  uint32_t features = 0;     // IndexFeature bits.
  uint64_t ttl_seconds = 0;  // As in NewIndex.
};

// What the table as a whole has that the stock plug-in would read wrongly, as IndexFeature bits.
uint32_t TableFeatures(const TABLE& table, bool is_sequence);

// The column families, kinds and formats of the indexes of a new table. Checks what the engine does
// not support and reports it with my_error. Returns 0 or a handler error code.
int DescribeNewIndexes(const TABLE& table, const TableDescription& description,
                       const TableOptions& options, std::vector<NewIndex>* indexes);

// The format of an index that is added to a table: the one of its primary key, or the Cairn format
// if only that expresses the index. False when such an index needs that the whole table is written
// anew, or is refused.
bool ChooseAddedFormat(const TableDescription& description, const IndexInfo& primary, uint position,
                       NewIndex* index);

// Column family, kind, duration and format of an index that is added. As DescribeNewIndexes.
int DescribeAddedIndex(const TABLE& table, const TableDescription& description,
                       const IndexInfo& primary, uint position, NewIndex* index);

}  // namespace cairn
