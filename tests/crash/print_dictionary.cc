// Prints the records of a data dictionary, one a line, without changing anything; the server may
// run meanwhile. It reads the records itself, so that a mistake of the Dictionary does not hide
// here.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/dictionary_record.h"
#include "engine/codec/foreign_key_record.h"
#include "engine/lsm/comparator.h"
#include "engine/sst/auto_increment_merge.h"
#include "rocksdb/db.h"

namespace {

using cairn::DictionaryRecordType;

std::string Name(cairn::IndexId id) {
  return std::to_string(id.column_family) + ":" + std::to_string(id.index_number);
}

uint32_t TypeOf(std::string_view key) {
  uint32_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<uint8_t>(key[i]);
  return type;
}

// Prints one record; returns false when it is damaged.
bool Print(std::string_view key, std::string_view value) {
  if (key.size() < 4) return false;
  const auto type = static_cast<DictionaryRecordType>(TypeOf(key));
  const auto of_index = [&](const char* what) {
    const auto id = cairn::DecodeIndexKey(type, key);
    if (id.ok()) printf("%s\t%s\n", what, Name(*id).c_str());
    return id.ok();
  };
  switch (type) {
    case DictionaryRecordType::kTable: {
      const auto name = cairn::DecodeTableKey(key);
      const auto ids = cairn::DecodeTable(value);
      if (!name.ok() || !ids.ok()) return false;
      printf("table\t%s", name->c_str());
      for (const cairn::IndexId id : *ids) printf("\t%s", Name(id).c_str());
      printf("\n");
      return true;
    }
    case DictionaryRecordType::kIndex:
      return of_index("index");
    case DictionaryRecordType::kIndexDropOngoing:
      return of_index("dropped");
    case DictionaryRecordType::kIndexCreateOngoing:
      return of_index("unfinished");
    case DictionaryRecordType::kAutoIncrement:
      return of_index("auto_increment");
    case DictionaryRecordType::kIndexStatistics:
      return of_index("statistics");
    case DictionaryRecordType::kLayoutHistory:
      return of_index("layouts");
    case DictionaryRecordType::kForeignKey: {
      const auto record = cairn::DecodeForeignKey(value);
      if (!record.ok()) return false;
      printf("foreign key\t%d\t%s\t%s\t%s\n", static_cast<int>(record->state),
             record->child.c_str(), record->parent.c_str(), record->name.c_str());
      return true;
    }
    case DictionaryRecordType::kColumnFamily:
    case DictionaryRecordType::kBinlogPosition:
    case DictionaryRecordType::kMaxIndexNumber:
    case DictionaryRecordType::kDirectoryFormat:
    case DictionaryRecordType::kPreparedLocks:
      return true;
    case DictionaryRecordType::kTableVersion: {
      constexpr std::string_view kLabel = "MariaDB:table-version:";
      printf("version\t%s\n", std::string(key.substr(4 + kLabel.size())).c_str());
      return true;
    }
  }
  printf("type %u\t%s\n", TypeOf(key), std::string(key.substr(4)).c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: print_dictionary DIRECTORY\n");
    return 2;
  }
  rocksdb::ColumnFamilyOptions family;
  family.comparator = cairn::lsm::ForwardComparator();
  rocksdb::ColumnFamilyOptions system = family;
  system.merge_operator = cairn::MakeAutoIncrementMerge();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {{"default", family},
                                                                 {"__system__", system}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> database;
  const rocksdb::Status opened =
      rocksdb::DB::OpenForReadOnly(rocksdb::DBOptions(), argv[1], families, &handles, &database);
  if (!opened.ok()) {
    fprintf(stderr, "%s: %s\n", argv[1], opened.ToString().c_str());
    return 1;
  }
  bool good = true;
  std::unique_ptr<rocksdb::Iterator> iterator(
      database->NewIterator(rocksdb::ReadOptions(), handles[1]));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    const std::string key = iterator->key().ToString();
    if (Print(key, iterator->value().ToStringView())) continue;
    fprintf(stderr, "damaged record %s\n", cairn::ToHex(key).c_str());
    good = false;
  }
  if (!iterator->status().ok()) fprintf(stderr, "%s\n", iterator->status().ToString().c_str());
  good = good && iterator->status().ok();
  iterator.reset();
  for (rocksdb::ColumnFamilyHandle* const handle : handles) {
    (void)database->DestroyColumnFamilyHandle(handle);
  }
  return good ? 0 : 1;
}
