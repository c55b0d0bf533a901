// SAVEPOINT, ROLLBACK TO SAVEPOINT and RELEASE SAVEPOINT.
#pragma once

struct handlerton;

namespace cairn {

void InitSavepoints(handlerton* hton);

}  // namespace cairn
