// Which columns can be read back from a key part that holds them in full: for callers who have to
// know before there is an IndexCodec (docs/stock-format.md, 3.3 and 3.4).
// IndexCodec::PartIsRestorable says the same of a compiled index.
#pragma once

#include "engine/codec/table_layout.h"

namespace cairn {

inline bool ColumnIsRestorable(ColumnType type, const Collation* collation) {
  switch (type) {
    case ColumnType::kSignedInteger:
    case ColumnType::kUnsignedInteger:
    case ColumnType::kFloat:
    case ColumnType::kDouble:
    case ColumnType::kFixedImage:
    case ColumnType::kDate:
      return true;
    case ColumnType::kChar:
    case ColumnType::kVarchar:
      return collation->traits().kind != CollationKind::kSingleLevel &&
             collation->traits().kind != CollationKind::kMultiLevel;
    case ColumnType::kOldTimestamp:
    case ColumnType::kOldTime:
    case ColumnType::kOldTimeFraction:
    case ColumnType::kOpaqueFixed:
    case ColumnType::kEnum:
    case ColumnType::kBlob:
      return false;
  }
  return false;
}

}  // namespace cairn
