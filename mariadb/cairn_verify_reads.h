// cairn_verify_reads: whether a session's reads are compared with RocksDB's own readers.
#pragma once

class THD;
struct st_mysql_sys_var;

namespace cairn {

extern st_mysql_sys_var* const cairn_verify_reads_variable;

// For the statement that begins.
bool SessionVerifiesReads(THD* thd);

}  // namespace cairn
