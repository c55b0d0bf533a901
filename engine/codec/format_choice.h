// Which format a new index gets: what of it the stock format cannot express.
#pragma once

#include <cstdint>

#include "engine/codec/table_layout.h"

namespace cairn {

// The IndexFeature bits (dictionary_record.h) that the own parts of `index` and, for a primary key,
// the columns of the row ask for. 0: the stock format gives all that the Cairn format could.
uint32_t IndexFeaturesOf(const TableLayout& table, const IndexLayout& index);

// The features without which any index would be wrong: one that asks for others may have the stock
// format, and then orders or covers as the stock plug-in does.
inline constexpr uint32_t kIndispensableFeatures = 2 | 8 | 16 | 32 | 64;

// Those of `features`, which are the index's, without which it would be wrong: besides the above,
// kFeatureExactOrder of a unique index of a prefix in a collation of several levels, whose stock
// keys hold weights of more than the prefix, so that values with equal prefixes would be let in.
uint32_t IndispensableFeatures(const TableLayout& table, const IndexLayout& index,
                               uint32_t features);

}  // namespace cairn
