// Rows that the events of a replica name, where it applies transactions in parallel.
//
// A transaction may begin while the one before it commits, which has locked what it changed. A read
// by the primary key waits for it. A scan does not: it passes over rows that are not committed, and
// finds others where they were. So before the server hears that there is no such row, which ends
// the replication, the transactions before this one have committed and the scan has looked again.
#include "mariadb/ha_rocksdb.h"

// What the scan reads next is what is committed now. An error has been reported.
int ha_rocksdb::WaitForPriorCommit() {
  looked_again_ = true;
  THD* const thd = ha_thd();
  if (thd->wait_for_prior_commit() != 0) {
    cairn::Session::Of(thd).NoteReportedError(thd->query_id);
    return HA_ERR_ABORTED_BY_USER;
  }
  cursor_->Close();
  transaction().RenewSnapshot();
  return 0;
}

void ha_rocksdb::NoteSought(const uchar* key, key_part_map key_parts) {
  const uint bytes = calculate_key_len(table, active_index, key, key_parts);
  sought_key_.assign(reinterpret_cast<const char*>(key), bytes);
  sought_parts_ = key_parts;
}

// The first row with the key that the scan began with.
int ha_rocksdb::SeekAgain(uchar* record) {
  if (looked_again_) return HA_ERR_KEY_NOT_FOUND;
  if (const int failed = WaitForPriorCommit()) return failed;
  const auto* const key = reinterpret_cast<const uchar*>(sought_key_.data());
  return ReadKey(record, key, sought_parts_, HA_READ_KEY_EXACT);
}
