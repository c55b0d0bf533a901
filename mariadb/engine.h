// The running engine: database, dictionary and upkeep. Made when the plug-in is initialised, gone
// when it is deinitialised; the one mutable global of the plug-in.
#pragma once

#include <memory>
#include <string>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/store/database.h"
#include "engine/txn/prepared_locks.h"
#include "engine/upkeep/backup_watch.h"
#include "engine/upkeep/io_watchdog.h"
#include "engine/upkeep/upkeep.h"
#include "mariadb/bulk_loads.h"
#include "mariadb/foreign_key_errors.h"
#include "mariadb/open_tables.h"
#include "mariadb/session_list.h"

namespace cairn {

class Engine {
 public:
  // Errors: those of Database::Open and Dictionary::Load.
  static Result<std::unique_ptr<Engine>> Open(DatabaseOptions options, Log* log);
  // Stops upkeep, writes the memtables to files and closes the database.
  ~Engine();

  Database& database() { return *database_; }
  Dictionary& dictionary() { return *dictionary_; }
  Upkeep& upkeep() { return *upkeep_; }
  BackupWatch& backup_watch() { return *backup_watch_; }
  IoWatchdog& io_watchdog() { return *io_watchdog_; }
  PreparedLocks& prepared_locks() { return *prepared_locks_; }
  // From here on transactions lock ranges; called before any session uses the engine. Errors: kBusy
  // (one does), those of PreparedLocks::Take; rows are locked one by one then, as before.
  Status UseRangeLocks();
  SessionList& sessions() { return sessions_; }
  OpenTables& open_tables() { return open_tables_; }
  ForeignKeyErrors& foreign_key_errors() { return foreign_key_errors_; }
  RunningLoads& loads() { return loads_; }

 private:
  Engine() = default;
  SessionList sessions_;
  OpenTables open_tables_;
  ForeignKeyErrors foreign_key_errors_;
  RunningLoads loads_;
  // In the order of construction.
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  std::unique_ptr<PreparedLocks> prepared_locks_;
  std::unique_ptr<Upkeep> upkeep_;
  std::unique_ptr<BackupWatch> backup_watch_;
  std::unique_ptr<IoWatchdog> io_watchdog_;
};

// The running engine; null before initialisation and when RocksDB could not be opened.
Engine* RunningEngine();
void SetRunningEngine(std::unique_ptr<Engine> engine);

// Messages of the engine go to the server's error log.
Log* ServerLog();

}  // namespace cairn
