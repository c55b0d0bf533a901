#include "tools/store/verdict.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

namespace cairn {
namespace {

using Outcome = Verdict::Outcome;

struct LogName {
  std::string base;
  uint64_t number = 0;
};

// "binlog.000012"
std::optional<LogName> SplitName(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string digits = name.substr(dot + 1);
  constexpr size_t kMostDigits = 18;
  if (digits.empty() || digits.size() > kMostDigits ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return LogName{name.substr(0, dot), std::stoull(digits)};
}

Status Invalid(std::string text) { return {StatusCode::kInvalidArgument, std::move(text)}; }

Status CheckFollows(const BinaryLog& former, const BinaryLog& next) {
  const LogName from = *SplitName(former.name);
  const LogName to = *SplitName(next.name);
  if (from.base != to.base) {
    return Invalid(former.name + " and " + next.name + " are of different logs");
  }
  if (from.number == to.number) return Invalid(next.name + " is named twice");
  if (from.number + 1 != to.number) {
    return Invalid("files between " + former.name + " and " + next.name + " are missing");
  }
  const bool named = former.end == BinaryLog::End::kRotate && former.next_name == next.name;
  if (next.at_startup || named) return Status();
  return Invalid(next.name + " does not follow " + former.name +
                 ", which ends without its name: they are of different servers, or one is cut off");
}

const XidEvent* FindXid(const BinaryLog& file, uint64_t number) {
  for (const XidEvent& event : file.xids) {
    if (event.number == number) return &event;
  }
  return nullptr;
}

std::string Place(const BinaryLog& file, uint64_t position) {
  return file.name + ", position " + std::to_string(position);
}

}  // namespace

Result<std::vector<BinaryLog>> InOrder(std::vector<BinaryLog> files) {
  for (const BinaryLog& file : files) {
    if (SplitName(file.name).has_value()) continue;
    return Invalid(file.path +
                   " has no number at the end of its name, as files of a binary log do");
  }
  std::sort(files.begin(), files.end(), [](const BinaryLog& one, const BinaryLog& other) {
    return SplitName(one.name)->number < SplitName(other.name)->number;
  });
  for (size_t i = 1; i < files.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(CheckFollows(files[i - 1], files[i]));
  }
  return files;
}

Judge::Judge(const std::vector<BinaryLog>& files, const std::vector<TransactionLog>& logs)
    : files_(files), logs_(logs) {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (i == 0 || files_[i].at_startup) runs_.push_back({i, i});
    runs_.back().last = i;
  }
}

size_t Judge::FindFile(const std::string& name) const {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&name](const BinaryLog& file) { return file.name == name; });
  return static_cast<size_t>(found - files_.begin());
}

const TransactionLog* Judge::FindLog(uint64_t number) const {
  for (const TransactionLog& log : logs_) {
    if (log.number == number) return &log;
  }
  return nullptr;
}

std::string Judge::Name(const ServerRun& run) const {
  const std::string& first = files_[run.first].name;
  return "the run of " + (run.first == run.last ? first : first + " to " + files_[run.last].name);
}

Status Judge::Choose(const std::string& file) {
  const size_t index = FindFile(std::filesystem::path(file).filename().string());
  if (index == files_.size()) return Invalid(file + " is none of the binary logs that were named");
  std::erase_if(runs_,
                [index](const ServerRun& run) { return index < run.first || index > run.last; });
  chosen_ = true;
  return Status();
}

// For a log of which nothing but its time says by which run it was written.
std::string Judge::WhyWrittenLater(const ServerRun& run, const TransactionLog& log) const {
  constexpr int64_t kShutdownS = 60;
  const BinaryLog& last = files_[run.last];
  const size_t next = run.last + 1;
  const bool stopped = last.end == BinaryLog::End::kStop;
  if (next < files_.size() && log.written_s <= files_[next].begun_s) return "";
  if (next == files_.size() && stopped && log.written_s <= last.last_event_s + kShutdownS) {
    return "";
  }
  return "neither a transaction in " + std::filesystem::path(log.path).filename().string() +
         " nor its time says that it was written in " + Name(run);
}

// The order of commits in the engine is that of the binary log. Files before the first that was
// named may have those that came first.
std::string Judge::WhyNumbersDiffer(const ServerRun& run, const TransactionLog& log) const {
  std::set<uint64_t> numbers;
  for (size_t i = run.first; i <= run.last; ++i) {
    for (const XidEvent& event : files_[i].xids) numbers.insert(event.number);
  }
  size_t known = 0;
  size_t missing = 0;
  bool missing_after_known = false;
  for (const std::string& name : log.committed) {
    const Result<TransactionId> id = DecodeTransactionName(name);
    const auto own = id.ok() ? AsOwnXid(*id) : std::nullopt;
    if (!own.has_value()) continue;
    if (numbers.contains(own->number)) {
      ++known;
    } else {
      ++missing;
      missing_after_known = missing_after_known || known > 0;
    }
  }
  if (known == 0 && missing == 0 && !chosen_) return WhyWrittenLater(run, log);
  if (missing == 0) return "";
  if (chosen_ && known > 0) return "";
  const bool may_begin_earlier = !files_[run.first].at_startup && known > 0;
  if (!chosen_ && may_begin_earlier && !missing_after_known) return "";
  return Name(run) + " lacks " + std::to_string(missing) + " of " +
         std::to_string(known + missing) + " transactions that the engine committed in " +
         std::filesystem::path(log.path).filename().string();
}

// Why the transaction was not prepared in a run; empty: it may have been.
std::string Judge::WhyNot(const ServerRun& run, const TransactionLog& log,
                          const OwnXid& xid) const {
  bool has_server = xid.server_id == 0;
  for (size_t i = run.first; i <= run.last; ++i) {
    has_server = has_server || files_[i].server_ids.contains(xid.server_id);
  }
  if (!has_server && !chosen_) {
    return Name(run) + " has nothing of server " + std::to_string(xid.server_id);
  }
  if (!chosen_ && files_[run.first].begun_s > log.written_s) {
    return Name(run) + " began after " + std::filesystem::path(log.path).filename().string() +
           " was last written";
  }
  return WhyNumbersDiffer(run, log);
}

// Why what the files lack may be in others all the same.
std::string Judge::WhyIncomplete(const ServerRun& run) const {
  const BinaryLog& last = files_[run.last];
  if (last.checkpoint.empty()) return last.name + " has no binlog checkpoint";
  const size_t oldest = FindFile(last.checkpoint);
  if (oldest < run.first || oldest > run.last) {
    return last.checkpoint + " is needed, the oldest file that recovery reads";
  }
  if (last.end == BinaryLog::End::kStop) return "";
  const size_t next = run.last + 1;
  if (next == files_.size()) {
    if (last.end == BinaryLog::End::kRotate) return last.next_name + " is needed, which follows";
    return "the file after " + last.name +
           " is needed, which the next start of the server began; if there was none, start the "
           "server with the engine: it then decides by itself";
  }
  if (files_[next].first_state == last.last_state) return "";
  return last.name + " lacks its end: the next start had found other GTIDs at its end, as " +
         files_[next].name + " lists them";
}

Verdict Judge::In(const ServerRun& run, uint64_t number) const {
  const BinaryLog& last = files_[run.last];
  const std::optional<LogName> oldest = SplitName(last.checkpoint);
  for (size_t i = run.last + 1; i > run.first; --i) {
    const BinaryLog& file = files_[i - 1];
    const XidEvent* const event = FindXid(file, number);
    if (event == nullptr) continue;
    if (oldest.has_value() && oldest->number <= SplitName(file.name)->number) {
      return {Outcome::kCommitted, Place(file, event->position)};
    }
    return {Outcome::kNotCertain, Place(file, event->position) +
                                      " has it committed, but a binlog checkpoint in " + last.name +
                                      " says that the engine needs nothing before " +
                                      (last.checkpoint.empty() ? last.name : last.checkpoint)};
  }
  const std::string incomplete = WhyIncomplete(run);
  if (!incomplete.empty()) return {Outcome::kNotCertain, incomplete};
  return {Outcome::kNotCommitted, "not in " + Name(run)};
}

Verdict Judge::Own(const LoggedTransaction& transaction, const OwnXid& xid) const {
  const TransactionLog* const log = FindLog(transaction.log_number);
  if (log == nullptr) return {Outcome::kNotCertain, "the engine's log is gone"};
  std::string reasons;
  std::optional<Verdict> verdict;
  std::string first_run;
  for (const ServerRun& run : runs_) {
    const std::string why_not = WhyNot(run, *log, xid);
    if (!why_not.empty()) {
      reasons += (reasons.empty() ? "" : "; ") + why_not;
      continue;
    }
    Verdict here = In(run, xid.number);
    if (verdict.has_value() && verdict->outcome != here.outcome) {
      return {Outcome::kNotCertain, "it may have been prepared in " + first_run + " or in " +
                                        Name(run) +
                                        ", which differ: name a file of the right one "
                                        "with --run"};
    }
    if (!verdict.has_value()) first_run = Name(run);
    verdict = std::move(here);
  }
  if (verdict.has_value()) return *verdict;
  return {Outcome::kNotCertain, "no run of the server fits: " + reasons};
}

Verdict Judge::Users(const TransactionId& id) const {
  Verdict verdict{Outcome::kNotAsked, "these binary logs do not have it"};
  for (const BinaryLog& file : files_) {
    for (const XaEvent& event : file.xa) {
      const Result<TransactionId> found = ParseXid(event.xid);
      if (!found.ok() || !(*found == id)) continue;
      const char* const what = event.kind == XaEvent::Kind::kPrepare  ? "XA PREPARE"
                               : event.kind == XaEvent::Kind::kCommit ? "XA COMMIT"
                                                                      : "XA ROLLBACK";
      verdict.why = std::string(what) + " is the last of it, " + Place(file, event.position);
    }
  }
  return verdict;
}

}  // namespace cairn
