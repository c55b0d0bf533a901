// Collations written by hand for the codec's tests: the weights that the format page's vectors
// show, and plausible ones for every other character.
#pragma once

#include "engine/codec/collation.h"

namespace cairn::testing {

const Collation& Binary();
const Collation& Latin1Bin();
const Collation& Latin1Swedish();    // Simple 8-bit.
const Collation& Latin1Ukrainian();  // Invented: like koi8u_general_ci, 60 sorts as a space.
const Collation& Utf8mb3Bin();
const Collation& Utf8mb4Bin();  // 3-byte weights, long segments.
const Collation& Utf8mb3General();
const Collation& Utf8mb4General();
const Collation& Utf8mb4Unicode();       // Single-level UCA: ß has two weights, U+00AD none.
const Collation& Utf8mb4Traditional();   // The same with contractions: "ch" has one weight.
const Collation& Utf8mb4AiCi();          // uca1400_ai_ci
const Collation& Utf8mb4AsCs();          // uca1400_as_cs: three levels.
const Collation& Gbk();                  // Weights of one byte or two.
const Collation& Ucs2();                 // Spaces of two bytes.
const Collation& Utf8mb4NoPadUnicode();  // NO PAD, single-level UCA.
const Collation& Utf8mb4NoPadAsCs();     // NO PAD, three levels.
const Collation& Utf8mb4NoPadBin();
const Collation&
Latin2Czech();  // Invented: trailing spaces do not count, a shorter string comes first.

}  // namespace cairn::testing
