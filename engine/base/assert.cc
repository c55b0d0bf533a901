#include "engine/base/assert.h"

#ifdef CAIRN_ASSERTIONS

#include <cstdio>
#include <cstdlib>

namespace cairn {

void AssertionFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  std::abort();
}

}  // namespace cairn

#endif
