// The plug-in CAIRN, which has what is ours beyond the surface of the stock plug-in.
#pragma once

namespace cairn {

// For its declaration.
int InitCairn(void*);
int DeinitCairn(void*);

// The engine and the variables of CAIRN agree from now on, if both run: each calls it when it has
// started.
void SettleCairnVariables();

}  // namespace cairn
