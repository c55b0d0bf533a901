#include "mariadb/other_table.h"

#include "mariadb/server_headers.h"
#include "mariadb/table_name.h"
#include "table_cache.h"

namespace cairn {

OtherTable::OtherTable() = default;

OtherTable::~OtherTable() { Close(); }

void OtherTable::Close() {
  if (table_ != nullptr) closefrm(table_.get());
  table_.reset();
  if (share_ != nullptr) tdc_release_share(share_);
  share_ = nullptr;
}

bool OtherTable::Open(THD* thd, std::string_view dictionary_name) {
  Close();
  const TableName name = DecodeTableName(dictionary_name);
  const LEX_CSTRING database = {name.schema.c_str(), name.schema.size()};
  const LEX_CSTRING table_name = {name.table.c_str(), name.table.size()};
  Dummy_error_handler nobody_is_told;
  thd->push_internal_handler(&nobody_is_told);
  TABLE_LIST reference;
  reference.init_one_table(&database, &table_name, nullptr, TL_READ);
  share_ = tdc_acquire_share(thd, &reference, GTS_TABLE);
  if (share_ != nullptr) {
    table_ = std::make_unique<TABLE>();
    const open_frm_error error = open_table_from_share(
        thd, share_, &table_name, /*db_stat=*/0, EXTRA_RECORD | OPEN_FRM_FILE_ONLY,
        /*ha_open_flags=*/0, table_.get(), /*is_create_table=*/false);
    // What it has allocated by then, it frees itself.
    if (error != OPEN_FRM_OK) table_.reset();
  }
  thd->pop_internal_handler();
  if (table_ == nullptr) Close();
  return table_ != nullptr;
}

}  // namespace cairn
