// The merge operator of the column family `__system__`: auto-increment records, the maximum wins
// (docs/stock-format.md, 12).
#pragma once

#include <memory>

#include "rocksdb/merge_operator.h"

namespace cairn {

std::shared_ptr<rocksdb::MergeOperator> MakeAutoIncrementMerge();

}  // namespace cairn
