// One index as the data dictionary knows it.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/codec/dictionary_record.h"
#include "engine/store/column_families.h"

namespace cairn {

struct IndexDefinition {
  IndexId id;
  IndexInfo info;
  const ColumnFamily* family = nullptr;
  // An index that was added to a table with rows, since the start of this process:
  // Transaction::SnapshotNumber() of the rows that it was built of. It knows nothing of rows as
  // older snapshots see them.
  uint64_t built_at = 0;
  // Of a primary key with kFeatureRowLayouts: the layouts of its rows. Null without the feature.
  std::shared_ptr<const LayoutHistory> history{};
};

}  // namespace cairn
