#include "engine/table/read_plans.h"

namespace cairn {

ReadPlans::ReadPlans(const Table* table)
    : table_(table),
      plans_(table->indexes().size()),
      condition_plans_(table->indexes().size()),
      virtual_plans_(table->indexes().size()) {
  const std::vector<ColumnLayout>& columns = table->layout().columns;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type == ColumnType::kBlob) blob_columns_.push_back(i);
  }
}

Status ReadPlans::Use(uint32_t index, const ColumnSet& columns, IndexCodec::Checksums checksums,
                      CachedPlan* cache, const DecodePlan** plan) {
  if (cache->plan == nullptr || cache->columns != columns || cache->checksums != checksums) {
    CAIRN_ASSIGN_OR_RETURN(cache->plan, table_->index(index).codec->MakePlan(columns, checksums));
    cache->columns = columns;
    cache->checksums = checksums;
  }
  *plan = cache->plan.get();
  return Status();
}

Status ReadPlans::Bind(const CursorAccess& access) {
  row_ = entry_ = condition_ = virtual_ = nullptr;
  wants_blobs_ = false;
  const ColumnSet& wanted = *access.columns;
  for (const uint32_t blob : blob_columns_) wants_blobs_ |= wanted[blob];
  const TableIndex& index = table_->index(access.index);
  if (access.index != table_->primary_position() && !access.lock.has_value()) {
    bool covered = true;
    for (uint32_t i = 0; i < wanted.size() && covered; ++i) {
      covered = !wanted[i] || index.codec->Covers(i);
    }
    if (covered) {
      CAIRN_RETURN_IF_ERROR(
          Use(access.index, wanted, access.checksums, &plans_[access.index], &entry_));
    }
  }
  if (entry_ == nullptr) CAIRN_RETURN_IF_ERROR(BindRow(access));
  if (index.has_virtual_part && entry_ == nullptr) {
    CAIRN_RETURN_IF_ERROR(BindVirtualColumns(access));
  }
  if (access.condition != nullptr || (access.filter != nullptr && entry_ == nullptr)) {
    // They read what the index holds.
    ColumnSet covered(wanted.size());
    for (uint32_t i = 0; i < covered.size(); ++i) covered[i] = index.codec->Covers(i);
    CAIRN_RETURN_IF_ERROR(
        Use(access.index, covered, access.checksums, &condition_plans_[access.index], &condition_));
  }
  return Status();
}

Status ReadPlans::BindRow(const CursorAccess& access) {
  if (row_ != nullptr) return Status();
  const uint32_t primary = table_->primary_position();
  return Use(primary, *access.columns, access.checksums, &plans_[primary], &row_);
}

// A locked row is read whole from the primary key, which has no virtual columns.
Status ReadPlans::BindVirtualColumns(const CursorAccess& access) {
  const ColumnSet& wanted = *access.columns;
  const IndexCodec& codec = *table_->index(access.index).codec;
  ColumnSet columns(wanted.size(), false);
  bool any = false;
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    columns[i] = wanted[i] && table_->layout().columns[i].is_virtual && codec.Covers(i);
    any = any || columns[i];
  }
  if (!any) return Status();
  return Use(access.index, columns, access.checksums, &virtual_plans_[access.index], &virtual_);
}

}  // namespace cairn
