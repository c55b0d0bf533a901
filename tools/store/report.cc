#include "tools/store/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

using Outcome = Verdict::Outcome;

const TransactionLog* LogOf(const Report& report, const Entry& entry) {
  for (const TransactionLog& log : report.logged.logs) {
    if (log.number == entry.logged.log_number) return &log;
  }
  return nullptr;
}

// "2026-11-28 17:37:53", of the machine's time zone.
std::string TimeText(int64_t seconds, const char* format) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  std::array<char, 40> text{};
  localtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string Counted(uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string_view OutcomeText(const Entry& entry) {
  switch (entry.verdict.outcome) {
    case Outcome::kCommitted:
      return "committed";
    case Outcome::kNotCommitted:
      return "not committed";
    case Outcome::kNotCertain:
      return "not certain";
    case Outcome::kNotAsked:
      break;
  }
  return "";
}

std::string_view DecisionText(const Entry& entry) {
  if (!entry.decision.has_value()) return "";
  return *entry.decision == Decision::kCommit ? "committed" : "rolled back";
}

std::string EntryText(const Report& report, const Entry& entry) {
  std::string text = ToXidText(entry.id) + "\n";
  if (entry.own.has_value()) {
    text += "    the server's own, number " + std::to_string(entry.own->number);
    if (entry.own->server_id != 0) text += " of server " + std::to_string(entry.own->server_id);
    text += "\n";
  } else {
    text += "    a user's XA transaction\n";
  }
  text +=
      "    " + Counted(entry.logged.changes, "change") + ", " + Counted(entry.logged.bytes, "byte");
  if (const TransactionLog* const log = LogOf(report, entry); log != nullptr) {
    text += "; in " + std::filesystem::path(log->path).filename().string() + ", last written " +
            TimeText(log->written_s, "%Y-%m-%d %H:%M:%S");
  }
  text += "\n";
  if (report.asked) {
    text += "    binary log: ";
    const std::string_view outcome = OutcomeText(entry);
    text +=
        outcome.empty() ? entry.verdict.why : std::string(outcome) + " (" + entry.verdict.why + ")";
    text += "\n";
  }
  if (report.decided) {
    const std::string_view decision = DecisionText(entry);
    text += "    " + (decision.empty() ? "stays prepared" : std::string(decision)) + "\n";
  }
  return text;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      quoted += '\\';
      quoted += byte;
    } else if (static_cast<unsigned char>(byte) < ' ') {
      std::array<char, 8> escaped{};
      (void)std::snprintf(escaped.data(), escaped.size(), "\\u%04x",
                          static_cast<unsigned>(static_cast<unsigned char>(byte)));
      quoted += escaped.data();
    } else {
      quoted += byte;
    }
  }
  return quoted + "\"";
}

std::string QuotedOrNull(std::string_view text) { return text.empty() ? "null" : Quoted(text); }

std::string EntryJson(const Report& report, const Entry& entry) {
  const TransactionLog* const log = LogOf(report, entry);
  std::string text = "{\"xid\": " + Quoted(ToXidText(entry.id)) +
                     ", \"format\": " + std::to_string(entry.id.format) +
                     ", \"gtrid\": " + Quoted(ToHex(entry.id.global)) +
                     ", \"bqual\": " + Quoted(ToHex(entry.id.branch));
  text += std::string(", \"own\": ") + (entry.own.has_value() ? "true" : "false");
  if (entry.own.has_value()) {
    text += ", \"server_id\": " + std::to_string(entry.own->server_id) +
            ", \"number\": " + std::to_string(entry.own->number);
  }
  text += ", \"changes\": " + std::to_string(entry.logged.changes) +
          ", \"bytes\": " + std::to_string(entry.logged.bytes);
  if (log != nullptr) {
    text += ", \"log\": " + Quoted(log->path) +
            ", \"log_written\": " + Quoted(TimeText(log->written_s, "%Y-%m-%dT%H:%M:%S%z"));
  }
  text += ", \"binary_log\": " + QuotedOrNull(OutcomeText(entry)) +
          ", \"why\": " + QuotedOrNull(entry.verdict.why) + ", \"decision\": " +
          QuotedOrNull(report.decided ? DecisionText(entry) : std::string_view());
  return text + "}";
}

}  // namespace

size_t CountNotCertain(const Report& report) {
  return static_cast<size_t>(
      std::count_if(report.entries.begin(), report.entries.end(), [&report](const Entry& entry) {
        const bool is_decided = report.decided && entry.decision.has_value();
        return entry.verdict.outcome == Outcome::kNotCertain && !is_decided;
      }));
}

std::string AsText(const Report& report) {
  const auto own =
      static_cast<size_t>(std::count_if(report.entries.begin(), report.entries.end(),
                                        [](const Entry& entry) { return entry.own.has_value(); }));
  std::string text =
      Counted(report.entries.size(), "prepared transaction") + " in " + report.places.database;
  if (!report.entries.empty()) {
    text += ", " + std::to_string(own) + " of the server's own, " +
            std::to_string(report.entries.size() - own) + " of users";
  }
  text += "\n";
  for (const Entry& entry : report.entries) text += "\n" + EntryText(report, entry);
  return text;
}

std::string AsJson(const Report& report) {
  std::string text = "{\"directory\": " + Quoted(report.places.database) +
                     ", \"logs\": " + Quoted(report.places.logs) + ", \"write_policy\": " +
                     Quoted(report.logged.write_prepared ? "write_prepared" : "write_committed") +
                     ", \"not_certain\": " + std::to_string(CountNotCertain(report)) +
                     ", \"transactions\": [";
  for (size_t i = 0; i < report.entries.size(); ++i) {
    text += (i == 0 ? "" : ", ") + EntryJson(report, report.entries[i]);
  }
  return text + "]}\n";
}

}  // namespace cairn
