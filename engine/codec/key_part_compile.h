// What the two sources that compile key parts share: private to them.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/codec/key_part.h"
#include "engine/codec/table_layout.h"
#include "engine/codec/unpack_info.h"

namespace cairn {

inline Status InvalidColumn(const ColumnLayout& column, std::string_view what) {
  return Status(StatusCode::kInvalidArgument, "column `" + column.name + "`: " + std::string(what));
}

// Whether another byte than the space has its weight. `collation` is of the kind kSimple8Bit.
bool SharesWeightOfSpace(const Collation& collation);

// Fills in what depends on a character column in the Cairn format. The collation has been checked.
Status CompileCairnCharacters(const ColumnLayout& column, KeyPart* part);

}  // namespace cairn
