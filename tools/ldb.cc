// RocksDB's ldb, which opens a directory of the engine without further options, and does not repair
// one.
#include <algorithm>
#include <cstdio>
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

// RocksDB's repair puts every table file that it finds into level 0, obsolete ones included, so
// that deleted rows come back; names the order of keys of all families after its own default, which
// the engine refuses; and loses families that have no file.
bool WantsRepair(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](const char* argument) { return std::string_view(argument) == "repair"; });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && WantsRepair(argc, argv)) {
    std::fputs(
        "repair is refused: it would bring deleted rows back, and the engine would not open the "
        "result.\nNothing was changed. Restore the directory from a backup; if CURRENT alone is "
        "missing, the server's error log says what to write into it.\n",
        stderr);
    return 1;
  }
  cairn::RegisterOrders();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families =
      cairn::StoredColumnFamilies(Directory(argc, argv));
  return rocksdb::LDBTool().RunAndReturn(argc, argv, rocksdb::Options(), rocksdb::LDBOptions(),
                                         families.empty() ? nullptr : &families);
}
