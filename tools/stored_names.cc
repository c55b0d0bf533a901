#include "tools/stored_names.h"

#include <memory>

#include "engine/lsm/comparator.h"
#include "engine/lsm/manifest.h"
#include "engine/sst/auto_increment_merge.h"
#include "engine/store/column_family_options.h"
#include "rocksdb/db.h"
#include "rocksdb/utilities/object_registry.h"

namespace cairn {
namespace {

void RegisterComparator(rocksdb::ObjectLibrary* library, const rocksdb::Comparator* comparator) {
  library->AddFactory<const rocksdb::Comparator>(
      comparator->Name(),
      [comparator](const std::string&, std::unique_ptr<const rocksdb::Comparator>*, std::string*) {
        return comparator;
      });
}

}  // namespace

void RegisterOrders() {
  rocksdb::ObjectLibrary* const library = rocksdb::ObjectLibrary::Default().get();
  RegisterComparator(library, lsm::ForwardComparator());
  RegisterComparator(library, lsm::ReverseComparator());
}

Result<std::vector<rocksdb::ColumnFamilyDescriptor>> StoredColumnFamilies(
    const std::string& directory) {
  CAIRN_RETURN_IF_ERROR(lsm::CheckManifest(rocksdb::Env::Default(), directory));
  std::vector<std::string> names;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  if (!rocksdb::DB::ListColumnFamilies({}, directory, &names).ok()) return families;
  for (const std::string& name : names) {
    rocksdb::ColumnFamilyOptions options;
    options.comparator =
        lsm::IsReverseColumnFamily(name) ? lsm::ReverseComparator() : lsm::ForwardComparator();
    if (name == kSystemColumnFamily) options.merge_operator = MakeAutoIncrementMerge();
    families.emplace_back(name, options);
  }
  return families;
}

}  // namespace cairn
