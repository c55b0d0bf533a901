// RocksDB's ldb, which opens a directory of the engine without further options.
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb/ldb_tool.h"
#include "tools/stored_names.h"

namespace {

// The directory that the argument --db names; empty without one.
std::string Directory(int argc, char** argv) {
  constexpr std::string_view kArgument = "--db=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kArgument)) return std::string(argument.substr(kArgument.size()));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  cairn::RegisterOrders();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families =
      cairn::StoredColumnFamilies(Directory(argc, argv));
  return rocksdb::LDBTool().RunAndReturn(argc, argv, rocksdb::Options(), rocksdb::LDBOptions(),
                                         families.empty() ? nullptr : &families);
}
