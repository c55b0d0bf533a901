#include "engine/lsm/manifest.h"

#include <algorithm>
#include <map>

#include "engine/lsm/log_records.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/rocksdb_status.h"

namespace cairn::lsm {
namespace {

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

}  // namespace

Status CheckManifest(rocksdb::Env* env, const std::string& directory) {
  const Result<std::string> path = CurrentManifest(env, directory);
  if (!path.ok() || env->FileExists(*path).IsNotFound()) return Status();
  return CheckReaderEnds(env, *path);
}

Result<Manifest> ReadManifest(rocksdb::Env* env, const std::string& directory) {
  CAIRN_ASSIGN_OR_RETURN(const std::string path, CurrentManifest(env, directory));
  Edits edits;
  CAIRN_RETURN_IF_ERROR(
      ForEachRecord(env, path, /*number=*/0,
                    [&edits](const rocksdb::Slice& record) { return edits.Add(record); }));
  return edits.Result();
}

}  // namespace cairn::lsm
