// The server's collations behind the codec's interface.
#pragma once

#include "engine/codec/collation.h"

struct charset_info_st;

namespace cairn {

// The Collation of `charset`; made once for each and kept until the process ends. Thread-safe.
const Collation* FindCollation(const charset_info_st* charset);

}  // namespace cairn
