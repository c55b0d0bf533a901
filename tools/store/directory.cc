#include "tools/store/directory.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "engine/lsm/manifest.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/database.h"
#include "engine/store/directory_check.h"
#include "engine/store/directory_marker.h"
#include "engine/store/settings.h"
#include "engine/store/stored_log_directory.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/prepared_transactions.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/options_util.h"
#include "tools/stored_names.h"

namespace cairn {
namespace {

// The value of `name` in RocksDB's text of options, outside of braces; empty when it is not there.
std::string OptionIn(std::string_view text, std::string_view name) {
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '{') ++depth;
    if (at < text.size() && text[at] == '}') --depth;
    if (at < text.size() && (text[at] != ';' || depth > 0)) continue;
    const std::string_view option = text.substr(begin, at - begin);
    begin = at + 1;
    const size_t equals = option.find('=');
    if (option.substr(0, equals) == name) return std::string(option.substr(equals + 1));
  }
  return {};
}

// Of the options that each family was last opened with, those that its files need or that those
// written now should have. The server sets all of them again.
std::string StoredFamilyOptions(const std::string& directory) {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;
  rocksdb::DBOptions database;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  // Without, the families are opened with defaults, or RocksDB says what does not fit.
  if (!rocksdb::LoadLatestOptions(config, directory, &database, &families).ok()) return {};
  std::string all;
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    if (family.name.find_first_of("=;{}") != std::string::npos) continue;
    std::string text;
    if (!rocksdb::GetStringFromColumnFamilyOptions(config, family.options, &text).ok()) continue;
    std::string kept = "disable_auto_compactions=true";
    for (const std::string_view name :
         {"num_levels", "compaction_style", "compression", "bottommost_compression"}) {
      const std::string value = OptionIn(text, name);
      if (!value.empty()) kept += ";" + std::string(name) + "=" + value;
    }
    all += (all.empty() ? "" : ";") + family.name + "={" + kept + "}";
  }
  return all;
}

// Files that root makes would keep the server out.
Status BecomeOwner(const std::string& directory) {
  struct stat owner {};
  if (stat(directory.c_str(), &owner) != 0) {
    return Status(StatusCode::kIoError, directory + ": " + std::strerror(errno));
  }
  if (geteuid() == owner.st_uid) return Status();
  if (geteuid() != 0) {
    return Status(StatusCode::kReadOnly,
                  directory + " is another user's: run this as its owner or as root");
  }
  if (setgroups(0, nullptr) != 0 || setgid(owner.st_gid) != 0 || setuid(owner.st_uid) != 0) {
    return Status(StatusCode::kIoError,
                  "becoming the owner of " + directory + ": " + std::strerror(errno));
  }
  return Status();
}

Result<StoreOptions> OptionsFor(const LogPlaces& places, bool write_prepared, Log* log) {
  StoreSettings settings;
  settings.directory = places.database;
  if (places.logs != places.database) settings.log_directory = places.logs;
  settings.create_if_missing = false;
  settings.block_cache_bytes = 64 << 20;
  settings.max_open_files = 256;
  settings.log_recovery_mode = 0;
  settings.write_prepared = write_prepared;
  settings.default_column_family_text = "disable_auto_compactions=true";
  settings.override_column_family_text = StoredFamilyOptions(places.database);
  return MakeStoreOptions(settings, log);
}

Status CheckSame(Database* database, const LoggedTransactions& logged) {
  std::vector<rocksdb::Transaction*> prepared;
  database->rocksdb()->GetAllPreparedTransactions(&prepared);
  std::set<std::string> found;
  for (rocksdb::Transaction* transaction : prepared) found.insert(transaction->GetName());
  std::set<std::string> expected;
  for (const LoggedTransaction& transaction : logged.prepared) expected.insert(transaction.name);
  if (found == expected) return Status();
  return Status(StatusCode::kInternal, "RocksDB has found " + std::to_string(found.size()) +
                                           " prepared transactions, and " +
                                           std::to_string(expected.size()) +
                                           " were listed: nothing is decided");
}

Status DecideAll(Database* database, const std::vector<Decided>& decisions) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedLocks> locks,
                         PreparedLocks::Take(database, /*table=*/nullptr));
  for (const Decided& each : decisions) {
    const auto carry_out = each.decision == Decision::kCommit ? CommitPrepared : RollbackPrepared;
    CAIRN_RETURN_IF_ERROR(
        carry_out(database, locks.get(), each.id, OnFailure::kRemember, Durability::kSync));
  }
  // As a shutdown of the server leaves it.
  return database->maintenance().FlushMemtables();
}

}  // namespace

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::Take(const std::string& directory) {
  const std::string path = directory + "/LOCK";
  rocksdb::Env* const env = rocksdb::Env::Default();
  rocksdb::FileLock* lock = nullptr;
  // To make the file would change the directory; a server that runs has one.
  if (env->FileExists(path).ok()) {
    const rocksdb::Status locked = env->LockFile(path, &lock);
    if (!locked.ok()) {
      const std::string text = locked.ToString();
      const bool held = text.find("Resource temporarily unavailable") != std::string::npos;
      if (!held) return FromRocksDb(locked).WithContext("locking " + path);
      return Status(StatusCode::kBusy, directory +
                                           " is in use (its LOCK file is held): stop the "
                                           "server first");
    }
  }
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(lock));
}

DirectoryLock::~DirectoryLock() {
  if (lock_ != nullptr) rocksdb::Env::Default()->UnlockFile(lock_).PermitUncheckedError();
}

Result<LogPlaces> FindPlaces(const std::string& directory, const std::string& log_directory) {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::absolute(directory, failure);
  LogPlaces places{.database = path.lexically_normal().string(), .logs = log_directory};
  while (places.database.size() > 1 && places.database.ends_with('/')) places.database.pop_back();
  if (failure || !std::filesystem::is_directory(places.database, failure)) {
    return Status(StatusCode::kInvalidArgument, directory + " is no directory");
  }
  if (access(places.database.c_str(), R_OK | X_OK) != 0) {
    return Status(StatusCode::kReadOnly,
                  directory + ": " + std::strerror(errno) + ": run this as its owner or as root");
  }
  if (!places.logs.empty()) return places;
  CAIRN_ASSIGN_OR_RETURN(places.logs, StoredLogDirectory(rocksdb::Env::Default(), places.database));
  if (places.logs.empty()) places.logs = places.database;
  // The server stands in the directory above.
  const std::filesystem::path above = std::filesystem::path(places.database).parent_path();
  places.logs = (above / places.logs).lexically_normal().string();
  while (places.logs.size() > 1 && places.logs.ends_with('/')) places.logs.pop_back();
  return places;
}

Status CheckMayOpen(const LogPlaces& places, Log* log) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  if (!env->FileExists(places.logs).ok()) {
    return Status(StatusCode::kInvalidArgument, "the directory of the logs, " + places.logs +
                                                    ", is not there: name it with "
                                                    "--wal-dir");
  }
  CAIRN_RETURN_IF_ERROR(CheckDirectoryMarker(env, places.database));
  if (IsMarkedCorrupted(env, places.database)) {
    return Status(StatusCode::kCorruption, places.database + " has the mark " +
                                               std::string(kCorruptionMarkName) +
                                               ": a server has met damaged data there");
  }
  const std::string logs = places.logs == places.database ? "" : places.logs;
  CAIRN_RETURN_IF_ERROR(CheckDirectory(env, places.database, logs, log));
  if (!env->FileExists(places.database + "/CURRENT").ok()) {
    return Status(StatusCode::kInvalidArgument,
                  places.database +
                      " has no database of the engine: expected is the directory "
                      "#rocksdb below the server's data directory, or what "
                      "rocksdb_datadir names");
  }
  return lsm::CheckManifest(env, places.database);
}

Status CarryOut(const LogPlaces& places, const LoggedTransactions& logged,
                const std::vector<Decided>& decisions, Log* log) {
  CAIRN_RETURN_IF_ERROR(BecomeOwner(places.database));
  umask(S_IWGRP | S_IRWXO);
  RegisterOrders();
  CAIRN_ASSIGN_OR_RETURN(StoreOptions options, OptionsFor(places, logged.write_prepared, log));
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                         Database::Open(std::move(options.database), log));
  Status decided = CheckSame(database.get(), logged);
  if (decided.ok()) decided = DecideAll(database.get(), decisions);
  const Status closed = database->Close();
  return decided.ok() ? closed : decided;
}

}  // namespace cairn
