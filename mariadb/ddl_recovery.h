// What the server's recovery of its DDL log asks of the engine, and what it leaves to it.
#pragma once

#include <string_view>

#include "engine/base/status.h"
#include "mariadb/server_headers.h"

namespace cairn {

// hton->check_version: whether an ALTER TABLE had been committed in the engine when a crash cut it
// off. `path` is the table's, `version_before` what handler::table_version() said before the
// statement. Returns 0 when it had been.
int CheckTableVersion(handlerton* hton, const char* path, const LEX_CUSTRING* frm_version,
                      ulonglong version_before);

class Engine;

// Does what has to be done before the server recovers its DDL log; called when the engine starts.
Status PrepareDdlRecovery(Engine* engine);

// hton->signal_ddl_recovery_done: brings the dictionary in line with the files that the server now
// has.
int FinishDdlRecovery(handlerton* hton);

// The server keeps a file with the list of a table's partitions, which its recovery forgets to move
// and to remove. Both take dictionary names ("db.table") and do nothing where there is no such
// file; the second does nothing outside of recovery.
void RenamePartitionList(std::string_view from, std::string_view to);
void DropPartitionListInRecovery(std::string_view table);

}  // namespace cairn
