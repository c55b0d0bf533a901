// RocksDB's ldb, which opens a directory of the engine without further options, does not repair
// one, and does not hang where RocksDB's reader of logs would.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lsm/log_records.h"
#include "engine/store/log_check.h"
#include "rocksdb/ldb_tool.h"
#include "tools/stored_names.h"

namespace {

// What follows `name` in the arguments; empty without it.
std::string Argument(int argc, char** argv, std::string_view name) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(name)) return std::string(argument.substr(name.size()));
  }
  return {};
}

// Whether RocksDB's reader gets to the end of a log or a manifest. What cannot be read is RocksDB's
// to tell.
cairn::Status CheckFile(const std::string& path) {
  const cairn::Status status = cairn::lsm::CheckReaderEnds(rocksdb::Env::Default(), path);
  return status.code() == cairn::StatusCode::kCorruption ? status : cairn::Status();
}

// Of all that the arguments name and the manifest does not.
cairn::Status CheckFiles(int argc, char** argv) {
  for (const std::string_view name : {"--path=", "--walfile="}) {
    const std::string path = Argument(argc, argv, name);
    if (!path.empty()) CAIRN_RETURN_IF_ERROR(CheckFile(path));
  }
  const std::string directory = Argument(argc, argv, "--db=");
  if (directory.empty()) return cairn::Status();
  const auto logs = cairn::FindLogs(rocksdb::Env::Default(), directory);
  if (!logs.ok()) return cairn::Status();
  for (const cairn::FoundLog& log : *logs) CAIRN_RETURN_IF_ERROR(CheckFile(log.path));
  return cairn::Status();
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
  const auto families = cairn::StoredColumnFamilies(Argument(argc, argv, "--db="));
  const cairn::Status checked = families.ok() ? CheckFiles(argc, argv) : families.status();
  if (!checked.ok()) {
    std::fprintf(stderr, "%s\n", std::string(checked.message()).c_str());
    return 1;
  }
  return rocksdb::LDBTool().RunAndReturn(argc, argv, rocksdb::Options(), rocksdb::LDBOptions(),
                                         families->empty() ? nullptr : &*families);
}
