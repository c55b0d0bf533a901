#include "engine/store/column_families.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/lsm/comparator.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/option_text.h"
#include "rocksdb/convenience.h"

namespace cairn {
namespace {

void LogSizes(const rocksdb::ColumnFamilyOptions& options, Log* log) {
  log->Write(Severity::kNote, "    write_buffer_size=" + std::to_string(options.write_buffer_size));
  log->Write(Severity::kNote,
             "    target_file_size_base=" + std::to_string(options.target_file_size_base));
}

}  // namespace

ColumnFamilies::ColumnFamilies(rocksdb::DB* db, ColumnFamilyOptionSource options,
                               WriteStalls* stalls, Log* log)
    : db_(db), options_(std::move(options)), stalls_(stalls), log_(log) {}

Status ColumnFamilies::Adopt(const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  for (rocksdb::ColumnFamilyHandle* handle : handles) Add(handle);
  default_family_ = Find(kDefaultColumnFamily);
  CAIRN_ASSIGN_OR_RETURN(system_family_, FindOrCreate(kSystemColumnFamily));
  log_->Write(Severity::kNote, "Column Families at start:");
  for (const ColumnFamily* family : All()) {
    log_->Write(Severity::kNote, "  cf=" + family->name);
    LogSizes(db_->GetOptions(family->handle), log_);
  }
  return Status();
}

Status ColumnFamilies::Release() {
  Status result;
  for (auto& [name, family] : families_) {
    const rocksdb::Status destroyed = db_->DestroyColumnFamilyHandle(family->handle);
    if (result.ok()) result = FromRocksDb(destroyed);
  }
  families_.clear();
  return result;
}

const ColumnFamily* ColumnFamilies::Add(rocksdb::ColumnFamilyHandle* handle) {
  auto family = std::make_unique<ColumnFamily>();
  family->handle = handle;
  family->name = handle->GetName();
  family->id = handle->GetID();
  family->reverse = lsm::IsReverseColumnFamily(family->name);
  stalls_->AddFamily(family->name, handle);
  TakePrefixExtractor(*family);
  uint64_t active = 1;
  uint64_t waiting = 1;
  family->opened_without_memtable =
      db_->GetIntProperty(handle, rocksdb::DB::Properties::kNumEntriesActiveMemTable, &active) &&
      db_->GetIntProperty(handle, rocksdb::DB::Properties::kNumEntriesImmMemTables, &waiting) &&
      active + waiting == 0;
  const ColumnFamily* added = family.get();
  families_.emplace(family->name, std::move(family));
  return added;
}

// The prefix iterators of hashed memtables go one way only.
void ColumnFamilies::TakePrefixExtractor(const ColumnFamily& family) const {
  const rocksdb::Options options = db_->GetOptions(family.handle);
  const bool seeks_prefixes = options.memtable_factory->IsInstanceOf("SkipListFactory");
  family.prefix_extractor.Replace(seeks_prefixes ? options.prefix_extractor : nullptr);
}

const ColumnFamily* ColumnFamilies::Find(std::string_view name) const {
  std::shared_lock lock(mutex_);
  const auto found = families_.find(name);
  return found == families_.end() ? nullptr : found->second.get();
}

const ColumnFamily* ColumnFamilies::Find(uint32_t id) const {
  std::shared_lock lock(mutex_);
  for (const auto& [name, family] : families_) {
    if (family->id == id) return family.get();
  }
  return nullptr;
}

Result<const ColumnFamily*> ColumnFamilies::FindOrCreate(std::string_view name) {
  if (const ColumnFamily* found = Find(name)) return found;
  std::unique_lock lock(mutex_);
  const auto found = families_.find(name);
  if (found != families_.end()) return static_cast<const ColumnFamily*>(found->second.get());
  const rocksdb::ColumnFamilyOptions options = options_.For(name);
  log_->Write(Severity::kNote, "creating a column family " + std::string(name));
  LogSizes(options, log_);
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  const Status created = FromRocksDb(db_->CreateColumnFamily(options, std::string(name), &handle));
  if (!created.ok()) {
    return created.WithContext("creating the column family \"" + std::string(name) + "\"");
  }
  return Add(handle);
}

std::vector<const ColumnFamily*> ColumnFamilies::All() const {
  std::shared_lock lock(mutex_);
  std::vector<const ColumnFamily*> families;
  families.reserve(families_.size());
  for (const auto& [name, family] : families_) families.push_back(family.get());
  std::sort(families.begin(), families.end(),
            [](const ColumnFamily* a, const ColumnFamily* b) { return a->id < b->id; });
  return families;
}

Status ColumnFamilies::CheckOptions(const std::string& name, const std::string& text) const {
  const ColumnFamily* const family = Find(name);
  const rocksdb::ColumnFamilyOptions now =
      family == nullptr ? options_.For(name)
                        : rocksdb::ColumnFamilyOptions(db_->GetOptions(family->handle));
  const auto changed = ApplyOptionText(now, text);
  return changed.ok() ? Status() : changed.status().WithContext("column family \"" + name + "\"");
}

Status ColumnFamilies::SetOptions(const std::string& name, const std::string& text) {
  CAIRN_ASSIGN_OR_RETURN(const ColumnFamily* family, FindOrCreate(name));
  std::unordered_map<std::string, std::string> map;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::StringToMap(text, &map)));
  if (map.empty()) return Status();
  family->prefix_extractor.Suspend();
  const Status set = FromRocksDb(db_->SetOptions(family->handle, map));
  TakePrefixExtractor(*family);
  if (!set.ok()) {
    log_->Write(Severity::kWarning, "MyRocks: failed to apply the options for column family '" +
                                        name + "'. " + set.ToString());
    return set.WithContext("options of the column family \"" + name + "\" stay as they are");
  }
  log_->Write(Severity::kNote,
              "MyRocks: options for column family '" + name + "' have been successfully updated.");
  return Status();
}

Status ColumnFamilies::UpdateOptions(std::string_view text) {
  std::lock_guard lock(options_mutex_);
  const auto read = [this, text]() -> decltype(SplitFamilyOptions(text)) {
    CAIRN_ASSIGN_OR_RETURN(auto split, SplitFamilyOptions(text));
    for (const auto& [name, options] : split) {
      CAIRN_RETURN_IF_ERROR(CheckOptions(name, options));
    }
    return split;
  };
  const auto families = read();
  if (!families.ok()) {
    log_->Write(Severity::kWarning,
                "MyRocks: failed to parse the updated column family options = '" +
                    std::string(text) + "'. " + families.status().ToString());
    return families.status();
  }
  for (const auto& [name, options] : *families) {
    CAIRN_RETURN_IF_ERROR(SetOptions(name, options));
  }
  return Status();
}

}  // namespace cairn
