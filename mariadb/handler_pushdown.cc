// What the server leaves to the engine to look at: conditions on index entries, and filters of the
// positions of rows.
#include "engine/codec/index_codec.h"
#include "mariadb/ha_rocksdb.h"
#include "rowid_filter.h"

ha_rocksdb::PushedCondition::Verdict ha_rocksdb::PushedCondition::Check() {
  if (!sees_end_of_range_) {
    if (thd_killed(handler_->ha_thd())) return Verdict::kAbort;
    return handler_->pushed_idx_cond->val_int() ? Verdict::kMatch : Verdict::kSkip;
  }
  switch (handler_index_cond_check(handler_)) {
    case CHECK_POS:
      return Verdict::kMatch;
    case CHECK_NEG:
      return Verdict::kSkip;
    case CHECK_OUT_OF_RANGE:
      return Verdict::kEndOfRange;
    default:
      return Verdict::kAbort;
  }
}

Item* ha_rocksdb::idx_cond_push(uint index, Item* condition) {
  // The server makes virtual columns when it has the row.
  if (engine_table_->index(index).has_virtual_part) return condition;
  pushed_idx_cond = condition;
  pushed_idx_cond_keyno = index;
  const cairn::IndexCodec& codec = *engine_table_->index(index).codec;
  bool restores_all = true;
  for (uint32_t part = 0; part < codec.layout().parts.size(); ++part) {
    restores_all = restores_all && codec.PartIsRestorable(part);
  }
  pushed_condition_.SetSeesEndOfRange(restores_all);
  in_range_check_pushed_down = restores_all;
  return nullptr;
}

ha_rocksdb::PushedFilter::Verdict ha_rocksdb::PushedFilter::Check(std::string_view primary_key) {
  if (thd_killed(handler_->ha_thd())) return Verdict::kAbort;
  if (!handler_->rowid_filter_is_active) return Verdict::kMayBeWanted;
  if (handler_->positions_.are_images) {
    handler_->position(handler_->table->record[0]);
  } else {
    handler_->SetPosition(primary_key);
  }
  return handler_->pushed_rowid_filter->check(reinterpret_cast<char*>(handler_->ref))
             ? Verdict::kMayBeWanted
             : Verdict::kSkip;
}

// The server fills the filter before it reads through the index that it joins by.
bool ha_rocksdb::rowid_filter_push(Rowid_filter* filter) {
  pushed_rowid_filter = filter;
  return false;
}
