// ALTER TABLE in place: what changes the data dictionary and leaves the rows where they are.
//
// So far that is dropping secondary indexes. Everything else is done by copying the table.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"

using cairn::Status;

namespace {

constexpr alter_table_operations kDropIndex =
    ALTER_DROP_INDEX | ALTER_DROP_NON_UNIQUE_NON_PRIM_INDEX | ALTER_DROP_UNIQUE_INDEX;

// What an ALTER makes of one table or partition; belongs to the statement.
class InPlaceChange final : public inplace_alter_handler_ctx {
 public:
  explicit InPlaceChange(cairn::Dictionary::IndexChange change) : change_(std::move(change)) {}
  const cairn::Dictionary::IndexChange& change() const { return change_; }

 private:
  const cairn::Dictionary::IndexChange change_;
};

// The position of the key of that name; MAX_KEY when there is none.
uint FindKey(const TABLE& table, const LEX_CSTRING& name) {
  for (uint i = 0; i < table.s->keys; ++i) {
    if (my_strcasecmp(system_charset_info, table.key_info[i].name.str, name.str) == 0) return i;
  }
  return MAX_KEY;
}

// Whether the rows stay under the same key: a UNIQUE key without NULL takes the place of a primary key that
// is not declared, so that dropping it moves them all.
bool KeepsPrimaryKey(const TABLE& table, const TABLE& altered_table) {
  const uint old_primary = table.s->primary_key;
  const uint new_primary = altered_table.s->primary_key;
  if (old_primary == MAX_KEY || new_primary == MAX_KEY) return old_primary == new_primary;
  return FindKey(table, altered_table.key_info[new_primary].name) == old_primary;
}

bool IsSequence(const TABLE& table) { return table.s->table_type == TABLE_TYPE_SEQUENCE; }

// A UNIQUE key on a long column stands for a hidden column, which comes and goes with it.
bool HasHashedKey(const TABLE& table) {
  return std::any_of(table.key_info, table.key_info + table.s->keys,
                     [](const KEY& key) { return key.algorithm == HA_KEY_ALG_LONG_HASH; });
}

}  // namespace

enum_alter_inplace_result ha_rocksdb::check_if_supported_inplace_alter(
    TABLE* altered_table, Alter_inplace_info* alter_info) {
  // The server's wrapper of sequences calls every change compatible, SEQUENCE=0 as well.
  if (IsSequence(*table) || IsSequence(*altered_table)) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  const alter_table_operations operations = alter_info->handler_flags & ~ALTER_PARTITIONED;
  if ((operations & kDropIndex) == 0 || (operations & ~kDropIndex) != 0 ||
      !KeepsPrimaryKey(*table, *altered_table) || HasHashedKey(*table)) {
    return handler::check_if_supported_inplace_alter(altered_table, alter_info);
  }
  return HA_ALTER_INPLACE_SHARED_LOCK;
}

bool ha_rocksdb::prepare_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info) {
  const cairn::TableDefinition& definition = engine_table_->definition();
  cairn::Dictionary::IndexChange change;
  change.table_name = definition.name;
  for (uint i = 0; i < altered_table->s->keys; ++i) {
    const LEX_CSTRING& name = altered_table->key_info[i].name;
    const uint position = FindKey(*table, name);
    if (position >= definition.indexes.size()) {
      my_error(ER_KEY_DOES_NOT_EXISTS, MYF(0), name.str, table->s->table_name.str);
      return true;
    }
    change.kept.push_back(definition.indexes[position].id);
  }
  if (engine_table_->has_hidden_key()) change.kept.push_back(definition.indexes.back().id);
  alter_info->handler_ctx = new InPlaceChange(std::move(change));
  return alter_info->handler_ctx == nullptr;
}

bool ha_rocksdb::commit_inplace_alter_table(TABLE*, Alter_inplace_info* alter_info, bool commit) {
  if (!commit) return false;  // Nothing was changed yet.
  std::vector<cairn::Dictionary::IndexChange> changes;
  if (alter_info->group_commit_ctx != nullptr) {
    // All partitions in one write: a crash leaves none of them behind.
    for (inplace_alter_handler_ctx** context = alter_info->group_commit_ctx; *context != nullptr;
         ++context) {
      changes.push_back(static_cast<InPlaceChange*>(*context)->change());
    }
    alter_info->group_commit_ctx = nullptr;
  } else {
    changes.push_back(static_cast<InPlaceChange*>(alter_info->handler_ctx)->change());
  }
  cursor_->Close();
  cairn::Engine* const engine = cairn::RunningEngine();
  const Status changed = engine->dictionary().ChangeIndexes(changes);
  if (!changed.ok()) {
    print_error(cairn::HandlerError(changed), MYF(0));
    return true;
  }
  engine->upkeep().RemoveDroppedIndexes();
  return false;
}
