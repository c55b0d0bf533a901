#include "engine/lsm/files_version.h"

#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {

uint64_t FilesVersion(const rocksdb::ColumnFamilyHandle* family) {
  return static_cast<const rocksdb::ColumnFamilyHandleImpl*>(family)
      ->cfd()
      ->GetSuperVersionNumber();
}

}  // namespace cairn::lsm
