// RocksDB's sst_dump, which knows the engine's orders of keys.
#include "rocksdb/sst_dump_tool.h"
#include "tools/stored_names.h"

int main(int argc, char** argv) {
  cairn::RegisterOrders();
  return rocksdb::SSTDumpTool().Run(argc, argv);
}
