// Memtables that are trees (version_tree.h), in the place of RocksDB's skip lists.
#pragma once

#include "rocksdb/memtablerep.h"
#include "rocksdb/options.h"

namespace cairn::lsm {

// Has memtables be trees, where the options have RocksDB's own choice. They need one of our two
// orders of keys (comparator.h), and go by the name of RocksDB's skip list, as far as options are
// written to files: other programs that read them, the stock plug-in among them, know no other.
void UseMemtableTrees(rocksdb::ColumnFamilyOptions* options);

// Whether memtables made by `factory` are trees, in which a search past the versions of a key is a
// step.
bool MakesTrees(const rocksdb::MemTableRepFactory& factory);

}  // namespace cairn::lsm
