// What reads cost, as the server's optimizer is told.
#pragma once

struct handlerton;
class Cost_estimate;

namespace cairn {

// Gives the server the costs of this engine's rows and keys, if it asks for any: since 11.0.
void InitCosts(handlerton* hton);

// Adds what it costs to find where each of `ranges` ranges begins, unless the server has done so:
// since 11.0.
void AddSeekCost(Cost_estimate* cost, unsigned int ranges);

}  // namespace cairn
