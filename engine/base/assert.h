// CAIRN_ASSERT states what we believe about our own code. It never judges input: bytes from disk
// and values from SQL are checked with ordinary branches in every build.
//
// A build has it or has it not as a whole (CAIRN_ASSERTIONS, set in cmake/CairnTargets.cmake),
// whatever NDEBUG is: an inline function is the same in every object file.
#pragma once

#ifdef CAIRN_ASSERTIONS

namespace cairn {

// Writes the condition and its place to stderr and aborts.
[[noreturn, gnu::cold]] void AssertionFailed(const char* condition, const char* file, int line);

}  // namespace cairn

// Checked in debug and sanitizer builds, left out of release builds.
#define CAIRN_ASSERT(condition)                        \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::cairn::AssertionFailed(#condition, __FILE__, __LINE__))

#else

#define CAIRN_ASSERT(condition) static_cast<void>(0)

#endif
