// CAIRN_ASSERT states what we believe about our own code. It never judges input: bytes from disk and
// values from SQL are checked with ordinary branches in every build.
#pragma once

#include <cassert>

// Checked in debug builds, assumed away in release builds.
#define CAIRN_ASSERT(condition) assert(condition)
