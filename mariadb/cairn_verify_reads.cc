#include "mariadb/cairn_verify_reads.h"

#include "mariadb/server_headers.h"

namespace cairn {
namespace {

#ifdef CAIRN_ASSERTIONS
constexpr bool kByDefault = true;
#else
constexpr bool kByDefault = false;
#endif

MYSQL_THDVAR_BOOL(
    verify_reads, PLUGIN_VAR_OPCMDARG,
    "Compare each read of a row or an index entry with what RocksDB's own reader finds: if the two "
    "differ, the statement fails and the error log has both. Makes reads two to ten times slower. "
    "For a suspicion that a result is wrong",
    nullptr, nullptr, kByDefault);

}  // namespace

constinit st_mysql_sys_var* const cairn_verify_reads_variable =
    reinterpret_cast<st_mysql_sys_var*>(&mysql_sysvar_verify_reads);

bool SessionVerifiesReads(THD* thd) { return THDVAR(thd, verify_reads); }

}  // namespace cairn
