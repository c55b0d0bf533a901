// Prints the records of a data dictionary, one a line, without changing anything; the server may
// run meanwhile. It reads the records itself, so that a mistake of the Dictionary does not hide
// here.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/collation_record.h"
#include "engine/codec/definition_copy_record.h"
#include "engine/codec/dictionary_record.h"
#include "engine/codec/foreign_key_record.h"
#include "engine/codec/layout_history_record.h"
#include "engine/codec/value_sample.h"
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

// What the marks of definitions are compared with, when all records are read.
struct Sums {
  std::map<std::string, std::vector<cairn::IndexId>> entries;
  std::map<cairn::IndexId, uint16_t> layout_versions;
  std::map<std::string, cairn::DefinitionMark> marks;
};

uint64_t SumOfEntries(const Sums& sums, const std::string& table) {
  uint64_t sum = 0;
  for (const auto& [entry, ids] : sums.entries) {
    if (entry != table && !entry.starts_with(table + "#P#")) continue;
    std::string bytes;
    uint16_t layout_version = 0;
    for (const cairn::IndexId id : ids) {
      cairn::AppendBigEndian(id.column_family, &bytes);
      cairn::AppendBigEndian(id.index_number, &bytes);
      const auto layouts = sums.layout_versions.find(id);
      if (layouts != sums.layout_versions.end()) layout_version = layouts->second;
    }
    cairn::AppendBigEndian(layout_version, &bytes);
    sum += cairn::HashValue(cairn::HashValue(0, entry.substr(table.size())), bytes);
  }
  return sum;
}

// Whether each mark counts: the dictionary has the entries that it was made for.
void PrintMarks(const Sums& sums) {
  for (const auto& [table, mark] : sums.marks) {
    const bool counts = mark.entries == SumOfEntries(sums, table);
    printf("mark\t%s\t%s\t%s\n", table.c_str(), cairn::ToHex(mark.version).c_str(),
           counts ? "counts" : "outdated");
  }
}

// Prints the record of a definition; returns false when it is damaged.
bool PrintDefinition(std::string_view key, std::string_view value, Sums* sums) {
  const std::string table(key.substr(4));
  if (TypeOf(key) == static_cast<uint32_t>(DictionaryRecordType::kDefinitionMark)) {
    const auto mark = cairn::DecodeDefinitionMark(value);
    if (mark.ok()) sums->marks[table] = *mark;
    return mark.ok();
  }
  const auto copy = cairn::DecodeDefinitionCopy(value);
  if (!copy.ok()) return false;
  printf("definition\t%s\t%s\t%s\t%s\n", table.c_str(), cairn::ToHex(copy->version).c_str(),
         cairn::ToHex(copy->definition).c_str(), cairn::ToHex(copy->partitions).c_str());
  return true;
}

// Prints one record; returns false when it is damaged.
bool Print(std::string_view key, std::string_view value, Sums* sums) {
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
      sums->entries[*name] = *ids;
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
    case DictionaryRecordType::kLayoutHistory: {
      const auto id = cairn::DecodeIndexKey(type, key);
      const auto history = cairn::DecodeLayoutHistory(value);
      if (!id.ok() || !history.ok()) return false;
      sums->layout_versions[*id] = history->version();
      return of_index("layouts");
    }
    case DictionaryRecordType::kDefinitionMark:
    case DictionaryRecordType::kDefinitionCopy:
      return PrintDefinition(key, value, sums);
    case DictionaryRecordType::kCollation:  // Stays, whatever becomes of tables.
      return cairn::DecodeCollationRecord(value).ok();
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
  Sums sums;
  std::unique_ptr<rocksdb::Iterator> iterator(
      database->NewIterator(rocksdb::ReadOptions(), handles[1]));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    const std::string key = iterator->key().ToString();
    if (Print(key, iterator->value().ToStringView(), &sums)) continue;
    fprintf(stderr, "damaged record %s\n", cairn::ToHex(key).c_str());
    good = false;
  }
  PrintMarks(sums);
  if (!iterator->status().ok()) fprintf(stderr, "%s\n", iterator->status().ToString().c_str());
  good = good && iterator->status().ok();
  iterator.reset();
  for (rocksdb::ColumnFamilyHandle* const handle : handles) {
    (void)database->DestroyColumnFamilyHandle(handle);
  }
  return good ? 0 : 1;
}
