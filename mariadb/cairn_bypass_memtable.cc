#include "mariadb/cairn_bypass_memtable.h"

#include "mariadb/server_headers.h"

namespace cairn {
namespace {

unsigned long long bypass_memtable_bytes;

MYSQL_SYSVAR_ULONGLONG(bypass_memtable_bytes, bypass_memtable_bytes,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Transactions whose changes take so many bytes or more, and that are "
                       "prepared (by the binary log, another engine or "
                       "XA), commit by making their write batch a memtable as it is: at once, and "
                       "without a copy in memory. Their session "
                       "then waits until it is in files. Experimental in RocksDB: when the disk is "
                       "full at that moment, the transaction "
                       "stays locked until the server starts again. 0: no transaction does",
                       nullptr, nullptr, 0, 0, ULLONG_MAX, 0);

}  // namespace

constinit st_mysql_sys_var* const cairn_bypass_memtable_variable =
    reinterpret_cast<st_mysql_sys_var*>(&mysql_sysvar_bypass_memtable_bytes);

uint64_t BypassMemtableBytes() { return bypass_memtable_bytes; }

}  // namespace cairn
