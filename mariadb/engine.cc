#include "mariadb/engine.h"

#include <utility>
#include <vector>

#include "mariadb/cairn_backup.h"
#include "mariadb/foreign_key_texts.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

class ErrorLog final : public Log {
 public:
  void Write(Severity severity, std::string_view message) override {
    // Some begin as those of the stock plug-in do, which tools look for.
    const char* const name =
        message.starts_with("MyRocks") || message.starts_with("LibRocksDB") ? "" : "RocksDB: ";
    const int length = static_cast<int>(message.size());
    switch (severity) {
      case Severity::kNote:
        sql_print_information("%s%.*s", name, length, message.data());
        break;
      case Severity::kWarning:
        sql_print_warning("%s%.*s", name, length, message.data());
        break;
      case Severity::kError:
        sql_print_error("%s%.*s", name, length, message.data());
        break;
    }
  }
};

std::unique_ptr<Engine> running_engine;

// Where the server's and the engine's writes go.
std::vector<std::string> DirectoriesToWatch(const Database& database) {
  const std::string& logs = database.log_directory();
  return {mysql_real_data_home, logs.empty() ? database.directory() : logs};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(DatabaseOptions options, Log* log) {
  std::unique_ptr<Engine> engine(new Engine());
  CAIRN_ASSIGN_OR_RETURN(engine->database_, Database::Open(std::move(options), log));
  auto dictionary = Dictionary::Load(engine->database_.get(), ServerNames());
  if (!dictionary.ok()) {
    return dictionary.status().WithContext("Failed to initialize data dictionary");
  }
  engine->dictionary_ = std::move(dictionary).value();
  CAIRN_ASSIGN_OR_RETURN(engine->prepared_locks_,
                         PreparedLocks::Take(engine->database_.get(), /*table=*/nullptr));
  engine->upkeep_ = std::make_unique<Upkeep>(engine->database_.get(), engine->dictionary_.get());
  engine->backup_watch_ = std::make_unique<BackupWatch>(engine->database_.get(), IsBackupLockHeld);
  engine->io_watchdog_ = std::make_unique<IoWatchdog>(DirectoriesToWatch(*engine->database_), log);
  return engine;
}

Engine::~Engine() {
  io_watchdog_.reset();
  backup_watch_.reset();
  upkeep_.reset();
  prepared_locks_.reset();
  if (dictionary_ != nullptr) {  // Else opening failed, and nothing was written.
    const Status flushed = database_->maintenance().FlushMemtables();
    if (!flushed.ok()) {
      database_->log().Write(Severity::kError, "flushing at shutdown: " + flushed.ToString());
    }
    Status counted = database_->maintenance().RefreshStatistics();
    if (counted.ok()) counted = dictionary_->SaveStatistics();
    if (!counted.ok()) {
      database_->log().Write(Severity::kWarning, "statistics at shutdown: " + counted.ToString());
    }
  }
}

Status Engine::UseRangeLocks() {
  if (database_->range_locks() != nullptr) return Status();
  if (!sessions_.Describe().empty()) {
    return Status(StatusCode::kBusy, "the engine is in use: it takes a start of the server");
  }
  auto table =
      std::make_unique<RangeLockTable>(database_->options().transaction.custom_mutex_factory);
  CAIRN_ASSIGN_OR_RETURN(prepared_locks_, PreparedLocks::Take(database_.get(), table.get()));
  database_->UseRangeLocks(std::move(table));
  return Status();
}

Engine* RunningEngine() { return running_engine.get(); }

void SetRunningEngine(std::unique_ptr<Engine> engine) { running_engine = std::move(engine); }

Log* ServerLog() {
  static ErrorLog log;
  return &log;
}

}  // namespace cairn
