// Alters bytes of stored entries as damage does that RocksDB's checksums do not see. No server may
// have the directory open. Prints each entry before and after, in hex, one a line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/lsm/comparator.h"
#include "engine/sst/auto_increment_merge.h"
#include "engine/store/column_family_options.h"
#include "rocksdb/db.h"

namespace {

// Index number or type of a dictionary record: with another one, the entry would be somebody
// else's.
constexpr size_t kKeyStartBytes = 4;

struct Arguments {
  std::string directory;
  std::string family;
  std::string prefix;         // Of the keys that may be chosen.
  bool alters_key = false;    // Behind kKeyStartBytes; else the value.
  bool changes_size = false;  // Bytes may go or come as well.
  size_t count = 1;           // Entries.
  uint64_t seed = 0;
};

struct Entry {
  std::string key;
  std::string value;
};

bool ParseHex(const std::string& text, std::string* bytes) {
  if (text.size() % 2 != 0) return false;
  if (text.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes->push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return true;
}

bool Parse(int argc, char** argv, Arguments* arguments) {
  if (argc != 8) return false;
  const std::string what = argv[4];
  const std::string how = argv[5];
  if (what != "key" && what != "value") return false;
  if (how != "flip" && how != "any") return false;
  arguments->directory = argv[1];
  arguments->family = argv[2];
  arguments->alters_key = what == "key";
  arguments->changes_size = how == "any";
  arguments->count = std::strtoul(argv[6], nullptr, 10);
  arguments->seed = std::strtoull(argv[7], nullptr, 10);
  return ParseHex(argv[3], &arguments->prefix);
}

// The database with all of its families, closed when it goes.
class Database {
 public:
  rocksdb::Status Open(const std::string& directory) {
    std::vector<std::string> names;
    rocksdb::DBOptions options;
    rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, directory, &names);
    if (!status.ok()) return status;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) {
      rocksdb::ColumnFamilyOptions family;
      family.disable_auto_compactions = true;
      family.comparator = cairn::lsm::IsReverseColumnFamily(name) ? cairn::lsm::ReverseComparator()
                                                                  : cairn::lsm::ForwardComparator();
      if (name == cairn::kSystemColumnFamily)
        family.merge_operator = cairn::MakeAutoIncrementMerge();
      families.emplace_back(name, family);
    }
    return rocksdb::DB::Open(options, directory, families, &handles_, &database_);
  }
  ~Database() {
    for (rocksdb::ColumnFamilyHandle* const handle : handles_) {
      (void)database_->DestroyColumnFamilyHandle(handle);
    }
    if (database_ != nullptr) (void)database_->Close();
  }

  rocksdb::DB* operator->() { return database_.get(); }
  // By name or number.
  rocksdb::ColumnFamilyHandle* Find(const std::string& name) const {
    for (rocksdb::ColumnFamilyHandle* const handle : handles_) {
      if (handle->GetName() == name || std::to_string(handle->GetID()) == name) return handle;
    }
    return nullptr;
  }

 private:
  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

// All entries whose key starts with the prefix and that have bytes to alter.
std::vector<Entry> Candidates(Database* database, rocksdb::ColumnFamilyHandle* family,
                              const Arguments& arguments) {
  std::vector<Entry> entries;
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> iterator((*database)->NewIterator(options, family));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    Entry entry{iterator->key().ToString(), iterator->value().ToString()};
    if (!entry.key.starts_with(arguments.prefix)) continue;
    if (arguments.alters_key ? entry.key.size() > kKeyStartBytes : !entry.value.empty()) {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

// Changes some of the bytes from `first` on; there is at least one.
void Alter(size_t first, bool changes_size, std::mt19937_64* random, std::string* bytes) {
  const std::string before = *bytes;
  while (*bytes == before) {
    const size_t at = first + (*random)() % (bytes->size() - first);
    switch ((*random)() % (changes_size ? 6 : 4)) {
      case 0:
        (*bytes)[at] = static_cast<char>((*random)());
        break;
      case 4:
        bytes->resize(at);
        break;
      case 5:
        // At the end as well.
        bytes->insert(first + (*random)() % (bytes->size() - first + 1), 1 + (*random)() % 4,
                      static_cast<char>((*random)()));
        break;
      default:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << (*random)() % 8);
    }
  }
}

rocksdb::Status AlterEntries(Database* database, rocksdb::ColumnFamilyHandle* family,
                             std::vector<Entry> entries, const Arguments& arguments) {
  std::mt19937_64 random(arguments.seed);
  for (size_t count = std::min(arguments.count, entries.size()); count != 0; --count) {
    const size_t chosen = random() % entries.size();
    const Entry old = entries[chosen];
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(chosen));
    Entry altered;
    rocksdb::Status status;
    std::string overwritten;
    do {
      altered = old;
      Alter(arguments.alters_key ? kKeyStartBytes : 0, arguments.changes_size, &random,
            arguments.alters_key ? &altered.key : &altered.value);
    } while (arguments.alters_key &&
             (*database)->Get(rocksdb::ReadOptions(), family, altered.key, &overwritten).ok());
    if (altered.key != old.key) {
      status = (*database)->Delete(rocksdb::WriteOptions(), family, old.key);
    }
    if (status.ok()) {
      status = (*database)->Put(rocksdb::WriteOptions(), family, altered.key, altered.value);
    }
    if (!status.ok()) return status;
    printf("%s %s -> %s %s\n", cairn::ToHex(old.key).c_str(), cairn::ToHex(old.value).c_str(),
           cairn::ToHex(altered.key).c_str(), cairn::ToHex(altered.value).c_str());
  }
  return rocksdb::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    fprintf(stderr,
            "usage: alter_entries DIRECTORY FAMILY HEX-PREFIX key|value flip|any COUNT SEED\n");
    return 2;
  }
  Database database;
  rocksdb::Status status = database.Open(arguments.directory);
  rocksdb::ColumnFamilyHandle* const family =
      status.ok() ? database.Find(arguments.family) : nullptr;
  if (status.ok() && family == nullptr) {
    fprintf(stderr, "%s: no column family %s\n", arguments.directory.c_str(),
            arguments.family.c_str());
    return 1;
  }
  if (status.ok()) {
    std::vector<Entry> entries = Candidates(&database, family, arguments);
    if (entries.empty()) {
      fprintf(stderr, "no entry to alter\n");
      return 1;
    }
    status = AlterEntries(&database, family, std::move(entries), arguments);
  }
  if (!status.ok())
    fprintf(stderr, "%s: %s\n", arguments.directory.c_str(), status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
