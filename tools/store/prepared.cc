#include "tools/store/prepared.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

using Outcome = Verdict::Outcome;

// The transactions that the engine's logs hold. Names that no server gives are refused.
Result<Report> Look(LogPlaces places, Log* log) {
  Report report;
  report.places = std::move(places);
  CAIRN_RETURN_IF_ERROR(CheckMayOpen(report.places, log));
  CAIRN_ASSIGN_OR_RETURN(report.logged,
                         FindLoggedTransactions(rocksdb::Env::Default(), report.places));
  for (const LoggedTransaction& logged : report.logged.prepared) {
    Entry entry{.logged = logged, .id = {}, .own = {}, .verdict = {}, .decision = {}};
    CAIRN_ASSIGN_OR_RETURN(entry.id, DecodeTransactionName(logged.name));
    entry.own = AsOwnXid(entry.id);
    report.entries.push_back(std::move(entry));
  }
  return report;
}

Status Ask(const PreparedArguments& arguments, Report* report) {
  std::vector<BinaryLog> read;
  for (const std::string& path : arguments.binary_logs) {
    CAIRN_ASSIGN_OR_RETURN(BinaryLog file, ReadBinaryLog(arguments.mariadb_binlog, path));
    read.push_back(std::move(file));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<BinaryLog> files, InOrder(std::move(read)));
  Judge judge(files, report->logged.logs);
  if (!arguments.run.empty()) CAIRN_RETURN_IF_ERROR(judge.Choose(arguments.run));
  for (Entry& entry : report->entries) {
    entry.verdict =
        entry.own.has_value() ? judge.Own(entry.logged, *entry.own) : judge.Users(entry.id);
  }
  report->asked = true;
  return Status();
}

// A decision that a person has made.
Status Name(const TransactionId& id, Decision decision, Report* report) {
  const auto found = std::find_if(report->entries.begin(), report->entries.end(),
                                  [&id](const Entry& entry) { return entry.id == id; });
  if (found == report->entries.end()) {
    return Status(StatusCode::kInvalidArgument,
                  ToXidText(id) + " is not prepared; nothing was changed");
  }
  const Outcome against =
      decision == Decision::kCommit ? Outcome::kNotCommitted : Outcome::kCommitted;
  if (found->verdict.outcome == against) {
    return Status(StatusCode::kInvalidArgument,
                  ToXidText(id) + ": the binary log has it " +
                      (decision == Decision::kCommit ? "not committed" : "committed") + " (" +
                      found->verdict.why +
                      "); nothing was changed. Without --binlog it is not "
                      "asked");
  }
  found->decision = decision;
  return Status();
}

Status Decide(const PreparedArguments& arguments, Report* report) {
  if (arguments.decide) {
    for (Entry& entry : report->entries) {
      if (entry.verdict.outcome == Outcome::kCommitted) entry.decision = Decision::kCommit;
      if (entry.verdict.outcome == Outcome::kNotCommitted) entry.decision = Decision::kRollback;
    }
  }
  for (const TransactionId& id : arguments.commit) {
    CAIRN_RETURN_IF_ERROR(Name(id, Decision::kCommit, report));
  }
  for (const TransactionId& id : arguments.rollback) {
    CAIRN_RETURN_IF_ERROR(Name(id, Decision::kRollback, report));
  }
  return Status();
}

}  // namespace

Result<Report> RunPrepared(const PreparedArguments& arguments, Log* log) {
  CAIRN_ASSIGN_OR_RETURN(LogPlaces places,
                         FindPlaces(arguments.directory, arguments.log_directory));
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<DirectoryLock> lock, DirectoryLock::Take(places.database));
  CAIRN_ASSIGN_OR_RETURN(Report report, Look(std::move(places), log));
  if (!arguments.binary_logs.empty()) CAIRN_RETURN_IF_ERROR(Ask(arguments, &report));
  CAIRN_RETURN_IF_ERROR(Decide(arguments, &report));
  std::vector<Decided> decisions;
  for (const Entry& entry : report.entries) {
    if (entry.decision.has_value()) decisions.push_back({entry.id, *entry.decision});
  }
  if (decisions.empty()) return report;
  lock.reset();  // RocksDB takes it.
  CAIRN_RETURN_IF_ERROR(CarryOut(report.places, report.logged, decisions, log));
  report.decided = true;
  return report;
}

}  // namespace cairn
