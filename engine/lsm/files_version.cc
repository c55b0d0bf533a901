#include "engine/lsm/files_version.h"

#include "db/column_family.h"

namespace cairn {

uint64_t FilesVersion(const rocksdb::ColumnFamilyHandle* family) {
  return static_cast<const rocksdb::ColumnFamilyHandleImpl*>(family)
      ->cfd()
      ->GetSuperVersionNumber();
}

}  // namespace cairn
