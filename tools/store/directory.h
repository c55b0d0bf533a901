// The engine's directory, as the tools find it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/store/logged_transactions.h"
#include "engine/txn/transaction_id.h"
#include "rocksdb/env.h"

namespace cairn {

// Keeps servers and other tools out of a directory while it lives.
class DirectoryLock {
 public:
  // Errors: kBusy (a server or another tool has it), kReadOnly, kIoError.
  static Result<std::unique_ptr<DirectoryLock>> Take(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(rocksdb::FileLock* lock) : lock_(lock) {}

  rocksdb::FileLock* const lock_;  // Null where the directory has no file for it.
};

// Where the engine's files and logs are: those of `log_directory` or, where that is empty, where
// the database had them when it was last open. Errors: kInvalidArgument (no directory),
// kReadOnly (not allowed to look into it), kIoError.
Result<LogPlaces> FindPlaces(const std::string& directory, const std::string& log_directory);

// Whether this release may open the directory, found out without changing it. The caller has it to
// itself. Errors: those of CheckDirectoryMarker, CheckDirectory and lsm::CheckManifest.
Status CheckMayOpen(const LogPlaces& places, Log* log);

enum class Decision : uint8_t { kCommit, kRollback };

struct Decided {
  TransactionId id;
  Decision decision;
};

// Opens the database as the server does, carries out the decisions one after the other, each of
// them on disk before the next one begins, and closes it. As root it first becomes the owner of the
// directory, for good. Nothing is decided unless RocksDB finds the transactions in `logged`, and no
// others. The caller no longer holds the lock. Errors: those of Database::Open; kBusy and kInternal
// (other transactions are prepared than before); kReadOnly (somebody else's directory); those of
// the decisions, of which the ones before it are carried out then.
Status CarryOut(const LogPlaces& places, const LoggedTransactions& logged,
                const std::vector<Decided>& decisions, Log* log);

}  // namespace cairn
