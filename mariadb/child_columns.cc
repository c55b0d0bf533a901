#include "mariadb/child_columns.h"

#include <algorithm>
#include <utility>

#include "mariadb/other_table.h"
// The server's headers last.
#include "mariadb/server_headers.h"
#include "mariadb/table_guards.h"

namespace cairn {
namespace {

// Virtual columns that are made, with the stored columns that each depends on.
struct MadeColumn {
  Field* field;
  std::vector<bool> bases;
};

// A part of a long unique key: the whole column, or its first characters.
struct HashedPart {
  Field* field;
  uint prefix_characters;  // 0: the whole.
};

struct LongUnique {
  uint32_t index;
  std::vector<HashedPart> parts;
  std::vector<bool> bases;
};

// What the server hashes: a column, or LEFT(column, length).
HashedPart HashedPartOf(Item* item) {
  if (item->type() == Item::FIELD_ITEM) return {static_cast<Item_field*>(item)->field, 0};
  Item** const arguments = static_cast<Item_func*>(item)->arguments();
  return {static_cast<Item_field*>(arguments[0])->field,
          static_cast<uint>(arguments[1]->val_int())};
}

class ServerChildColumns final : public ChildColumns {
 public:
  Status Open(THD* thd, const Table& child);

  Status Make(uint32_t, uint8_t* record) override { return MakeAll(record, &blobs_); }
  Status MakeAll(uint8_t* record, std::vector<std::string>* blobs) override;
  Status MakeChanged(const std::vector<uint32_t>& columns, uint8_t* record,
                     std::vector<std::string>* blobs) override;
  std::vector<uint32_t> LongUniques(const std::vector<uint32_t>& columns) override;
  bool HaveEqualValues(uint32_t index, const uint8_t* a, const uint8_t* b) override;

 private:
  // A prefix has a field of its own, which stays in the usual record.
  Field* FieldOf(const KEY_PART_INFO& part) const { return table_->field[part.fieldnr - 1]; }
  void AddMade(Field* field);
  Status MakeField(Field* field, bool ignores_warnings);
  void KeepBlobs(std::vector<std::string>* blobs);

  OtherTable other_;
  TABLE* table_ = nullptr;
  std::vector<MadeColumn> made_;
  std::vector<LongUnique> long_uniques_;
  std::vector<Field_blob*> virtual_blobs_;
  std::vector<std::string> blobs_;
};

bool HasAny(const std::vector<bool>& bases, const std::vector<uint32_t>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [&bases](uint32_t column) { return bases[column]; });
}

void ServerChildColumns::AddMade(Field* field) {
  if (field->stored_in_db()) return;
  const auto is_same = [field](const MadeColumn& made) { return made.field == field; };
  if (std::any_of(made_.begin(), made_.end(), is_same)) return;
  MadeColumn made{field, std::vector<bool>(table_->s->fields, false)};
  AddBases(table_, *field, &made.bases);
  made_.push_back(std::move(made));
}

Status ServerChildColumns::Open(THD* thd, const Table& child) {
  const bool opened = other_.Open(thd, child.definition().name);
  if (!opened && thd->killed) return Status(StatusCode::kInterrupted);
  if (!opened || other_.table()->s->fields != child.layout().columns.size() ||
      other_.table()->s->reclength != child.layout().record_bytes) {
    return Status(StatusCode::kMetadataMismatch, "the server cannot make the virtual columns of " +
                                                     child.definition().name +
                                                     ", rows of which follow from a foreign key");
  }
  table_ = other_.table();
  table_->use_all_columns();
  for (uint32_t i = 0; i < table_->s->keys; ++i) {
    const KEY& key = table_->key_info[i];
    for (uint part = 0; part < key.user_defined_key_parts; ++part) {
      AddMade(FieldOf(key.key_part[part]));
    }
    if (key.algorithm != HA_KEY_ALG_LONG_HASH) continue;
    LongUnique unique{i, {}, std::vector<bool>(table_->s->fields, false)};
    const Field& hash = *FieldOf(key.key_part[0]);
    auto* const hashed = static_cast<Item_func*>(hash.vcol_info->expr);
    for (uint argument = 0; argument < hashed->argument_count(); ++argument) {
      unique.parts.push_back(HashedPartOf(hashed->arguments()[argument]));
      AddMade(unique.parts.back().field);
    }
    AddBases(table_, hash, &unique.bases);
    long_uniques_.push_back(std::move(unique));
  }
  for (Field** field = table_->vfield; *field != nullptr; ++field) {
    if (!IsVirtualBlob(**field)) continue;
    virtual_blobs_.push_back(static_cast<Field_blob*>(*field));
  }
  return Status();
}

Status ServerChildColumns::MakeField(Field* field, bool ignores_warnings) {
  if (table_->update_virtual_field(field, ignores_warnings) == 0) return Status();
  return Status(StatusCode::kInvalidArgument, "a generated column of the row cannot be computed");
}

// What the fields own is of the last record alone.
void ServerChildColumns::KeepBlobs(std::vector<std::string>* blobs) {
  std::vector<std::string> kept(virtual_blobs_.size());
  for (size_t i = 0; i < kept.size(); ++i) KeepVirtualBlob(virtual_blobs_[i], &kept[i]);
  *blobs = std::move(kept);
}

Status ServerChildColumns::MakeAll(uint8_t* record, std::vector<std::string>* blobs) {
  const MovedFields moved(table_, record);
  for (Field_blob* const field : virtual_blobs_) field->set_ptr(uint32{0}, nullptr);
  for (const MadeColumn& made : made_) {
    CAIRN_RETURN_IF_ERROR(MakeField(made.field, /*ignores_warnings=*/true));
  }
  KeepBlobs(blobs);
  return Status();
}

Status ServerChildColumns::MakeChanged(const std::vector<uint32_t>& columns, uint8_t* record,
                                       std::vector<std::string>* blobs) {
  const MovedFields moved(table_, record);
  for (const MadeColumn& made : made_) {
    if (!HasAny(made.bases, columns)) continue;
    CAIRN_RETURN_IF_ERROR(MakeField(made.field, /*ignores_warnings=*/false));
  }
  KeepBlobs(blobs);
  return Status();
}

std::vector<uint32_t> ServerChildColumns::LongUniques(const std::vector<uint32_t>& columns) {
  std::vector<uint32_t> found;
  for (const LongUnique& unique : long_uniques_) {
    if (HasAny(unique.bases, columns)) found.push_back(unique.index);
  }
  return found;
}

bool ServerChildColumns::HaveEqualValues(uint32_t index, const uint8_t* a, const uint8_t* b) {
  const auto unique = std::find_if(long_uniques_.begin(), long_uniques_.end(),
                                   [index](const LongUnique& each) { return each.index == index; });
  const my_ptrdiff_t offset = b - a;
  const MovedFields moved(table_, const_cast<uint8_t*>(a));
  return std::all_of(unique->parts.begin(), unique->parts.end(), [offset](const HashedPart& part) {
    if (part.prefix_characters == 0) return part.field->cmp_offset(offset) == 0;
    return part.field->cmp_prefix(part.field->ptr, part.field->ptr + offset,
                                  part.prefix_characters) == 0;
  });
}

}  // namespace

void AddBases(TABLE* table, const Field& field, std::vector<bool>* bases) {
  const KeptTemporarySet kept(table);
  bitmap_clear_all(&table->tmp_set);
  field.vcol_info->expr->walk(&Item::register_field_in_bitmap, /*walk_subquery=*/false,
                              &table->tmp_set);
  std::vector<const Field*> named;
  for (Field** each = table->field; *each != nullptr; ++each) {
    if (bitmap_is_set(&table->tmp_set, (*each)->field_index)) named.push_back(*each);
  }
  for (const Field* const each : named) {
    if (each->stored_in_db()) {
      (*bases)[each->field_index] = true;
    } else {
      AddBases(table, *each, bases);
    }
  }
}

Result<std::unique_ptr<ChildColumns>> OpenChildColumns(THD* thd, const Table& child) {
  auto columns = std::make_unique<ServerChildColumns>();
  CAIRN_RETURN_IF_ERROR(columns->Open(thd, child));
  return std::unique_ptr<ChildColumns>(std::move(columns));
}

}  // namespace cairn
