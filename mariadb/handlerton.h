// What the server calls on the engine as a whole.
#pragma once

struct handlerton;

namespace cairn {

// Fills in the engine's functions and flags.
void InitHandlerton(handlerton* hton);

}  // namespace cairn
