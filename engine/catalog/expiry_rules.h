// Which indexes of a table expire, from its definition: private to the catalog.
#pragma once

#include "engine/catalog/dictionary.h"
#include "engine/sst/expiry.h"

namespace cairn {

inline Expiry::Rules ExpiryRules(const TableDefinition& table) {
  Expiry::Rules rules;
  for (const IndexDefinition& index : table.indexes) {
    if (!index.info.has_ttl_stamp || index.info.ttl_seconds == 0) continue;
    rules.emplace(index.id, Expiry::Rule{index.info.ttl_seconds, index.info.kind});
  }
  return rules;
}

}  // namespace cairn
