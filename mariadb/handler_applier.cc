// Rows that the events of a replica name, where it applies transactions in parallel.
//
// A transaction may begin while the one before it commits, which has locked what it changed. A read
// by the primary key waits for it. A scan does not: it passes over rows that are not committed, and
// finds others where they were. So before the server hears that there is no such row, which ends
// the replication, the transactions before this one have committed and the scan has looked again.
#include "mariadb/ha_rocksdb.h"

// What the scan reads next is what is committed now. An error has been reported.
int ha_rocksdb::WaitForPriorCommit() {
  sought_.NoteLookedAgain();
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
  sought_.SetKey(key, calculate_key_len(table, active_index, key, key_parts), key_parts);
}

// The first row with the key that the scan began with.
int ha_rocksdb::SeekAgain(uchar* record) {
  if (sought_.looked_again()) return HA_ERR_KEY_NOT_FOUND;
  if (const int failed = WaitForPriorCommit()) return failed;
  return ReadKey(record, sought_.key(), sought_.key_parts(), HA_READ_KEY_EXACT);
}
