#include "engine/lsm/manifest.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "engine/lsm/endless_record.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/file_system.h"

namespace cairn::lsm {
namespace {

// Keeps the first damage that a reader meets.
class FirstDamage final : public rocksdb::log::Reader::Reporter {
 public:
  void Corruption(size_t /*bytes*/, const rocksdb::Status& status, uint64_t /*log*/) override {
    if (status_.ok()) status_ = status;
  }
  const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::Status status_;
};

// The path of the manifest that CURRENT names.
Result<std::string> CurrentManifest(rocksdb::Env* env, const std::string& directory) {
  std::string name;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::ReadFileToString(env, directory + "/CURRENT", &name)));
  if (!name.starts_with("MANIFEST-") || !name.ends_with('\n')) {
    return Status(StatusCode::kCorruption, directory + "/CURRENT does not name a manifest");
  }
  name.pop_back();
  return directory + "/" + name;
}

// The edits of a manifest, applied one after the other. Those of an atomic group count together or,
// where a crash has cut the group off, not at all: a bulk load into several column families is one.
class Edits {
 public:
  Status Add(const rocksdb::Slice& record) {
    rocksdb::VersionEdit edit;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(edit.DecodeFrom(record)));
    CAIRN_RETURN_IF_ERROR(FromRocksDb(group_.AddEdit(&edit)));
    if (!edit.IsInAtomicGroup()) return Apply(edit);
    if (!group_.IsFull()) return Status();
    for (const rocksdb::VersionEdit& member : group_.replay_buffer()) {
      CAIRN_RETURN_IF_ERROR(Apply(member));
    }
    group_.Clear();
    return Status();
  }

  Manifest Result() const {
    Manifest manifest;
    manifest.oldest_needed_log = oldest_needed_log_;
    for (const auto& [number, family] : families_) manifest.families.push_back(family);
    return manifest;
  }

 private:
  Status Apply(const rocksdb::VersionEdit& edit) {
    if (edit.HasMinLogNumberToKeep()) {
      oldest_needed_log_ = std::max(oldest_needed_log_, edit.GetMinLogNumberToKeep());
    }
    if (edit.IsColumnFamilyDrop()) {
      families_.erase(edit.GetColumnFamily());
      return Status();
    }
    FamilyFiles& family = families_[edit.GetColumnFamily()];
    if (family.files + edit.GetNewFiles().size() < edit.GetDeletedFiles().size()) {
      return Status(StatusCode::kCorruption, "more files are deleted than there are");
    }
    family.files += edit.GetNewFiles().size() - edit.GetDeletedFiles().size();
    if (edit.HasLogNumber()) {
      family.oldest_needed_log = std::max(family.oldest_needed_log, edit.GetLogNumber());
    }
    return Status();
  }

  rocksdb::AtomicGroupReadBuffer group_;      // The one that is being read, if any.
  std::map<uint32_t, FamilyFiles> families_;  // By number.
  uint64_t oldest_needed_log_ = 0;
};

Status CheckRecords(rocksdb::Env* env, const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> endless, FindEndlessRecords(env, path));
  if (endless.empty()) return Status();
  return Status(StatusCode::kCorruption, path + " is damaged (byte " +
                                             std::to_string(endless.front()) +
                                             "): RocksDB would not get past it");
}

}  // namespace

Status CheckManifest(rocksdb::Env* env, const std::string& directory) {
  const Result<std::string> path = CurrentManifest(env, directory);
  if (!path.ok() || env->FileExists(*path).IsNotFound()) return Status();
  return CheckRecords(env, *path);
}

Result<Manifest> ReadManifest(rocksdb::Env* env, const std::string& directory) {
  CAIRN_ASSIGN_OR_RETURN(const std::string path, CurrentManifest(env, directory));
  CAIRN_RETURN_IF_ERROR(CheckRecords(env, path));
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(env->GetFileSystem()->NewSequentialFile(
      path, rocksdb::FileOptions(), &file, /*dbg=*/nullptr)));
  FirstDamage damage;
  rocksdb::log::Reader reader(
      nullptr, std::make_unique<rocksdb::SequentialFileReader>(std::move(file), path), &damage,
      /*checksum=*/true, /*log_num=*/0);
  Edits edits;
  rocksdb::Slice record;
  std::string scratch;
  while (damage.status().ok() && reader.ReadRecord(&record, &scratch)) {
    CAIRN_RETURN_IF_ERROR(edits.Add(record).WithContext("reading " + path));
  }
  CAIRN_RETURN_IF_ERROR(FromRocksDb(damage.status()).WithContext("reading " + path));
  return edits.Result();
}

}  // namespace cairn::lsm
