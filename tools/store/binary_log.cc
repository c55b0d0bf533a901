#include "tools/store/binary_log.h"

#include <charconv>
#include <ctime>
#include <filesystem>

namespace cairn {
namespace {

constexpr std::string_view kAt = "# at ";
constexpr uint64_t kFirstEvent = 4;  // Behind the four bytes that say what the file is.

// Takes a number off the front.
bool ConsumeNumber(std::string_view* text, uint64_t* number) {
  const auto read = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (read.ec != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(read.ptr - text->data()));
  return true;
}

bool Consume(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

void SkipSpaces(std::string_view* text) {
  while (text->starts_with(' ')) text->remove_prefix(1);
}

// "261128 17:37:53" or "261128  7:37:53", in UTC, as seconds since the epoch.
bool ConsumeTime(std::string_view* text, int64_t* seconds) {
  uint64_t date = 0;
  uint64_t hour = 0;
  uint64_t minute = 0;
  uint64_t second = 0;
  if (!ConsumeNumber(text, &date) || !text->starts_with(' ')) return false;
  SkipSpaces(text);
  if (!ConsumeNumber(text, &hour) || !Consume(text, ":") || !ConsumeNumber(text, &minute) ||
      !Consume(text, ":") || !ConsumeNumber(text, &second)) {
    return false;
  }
  std::tm time{};
  // Years of the binary log begin with 1970 and its seconds end in 2106.
  const auto year = static_cast<int>(date / 10000);
  time.tm_year = year < 70 ? year + 100 : year;
  time.tm_mon = static_cast<int>(date / 100 % 100) - 1;
  time.tm_mday = static_cast<int>(date % 100);
  time.tm_hour = static_cast<int>(hour);
  time.tm_min = static_cast<int>(minute);
  time.tm_sec = static_cast<int>(second);
  *seconds = timegm(&time);
  return true;
}

bool ParseHeader(std::string_view line, EventHeader* header) {
  if (!Consume(&line, "#") || !ConsumeTime(&line, &header->time_s) ||
      !Consume(&line, " server id ") || !ConsumeNumber(&line, &header->server_id)) {
    return false;
  }
  SkipSpaces(&line);
  if (!Consume(&line, "end_log_pos ") || !ConsumeNumber(&line, &header->end_position)) return false;
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return false;
  const std::string_view checksum = line.substr(0, tab);
  if (checksum != " " && !checksum.starts_with(" CRC32 0x")) return false;
  header->kind = line.substr(tab + 1);
  return true;
}

// "0-3-12"
bool ConsumeGtid(std::string_view* text, std::pair<uint64_t, uint64_t>* key, uint64_t* sequence) {
  return ConsumeNumber(text, &key->first) && Consume(text, "-") &&
         ConsumeNumber(text, &key->second) && Consume(text, "-") && ConsumeNumber(text, sequence);
}

// What the server writes before a statement to set a session up.
bool IsSetting(std::string_view line) {
  return line.starts_with("SET ") || line.starts_with("/*!") || line.starts_with("/*M!") ||
         line.starts_with("use `") || line == "/*!*/;";
}

}  // namespace

BinaryLogParser::BinaryLogParser(std::string path) {
  log_.name = std::filesystem::path(path).filename().string();
  log_.path = std::move(path);
}

void BinaryLogParser::Fail(std::string text) {
  if (failure_.ok()) failure_ = Status(StatusCode::kCorruption, log_.path + ": " + text);
}

void BinaryLogParser::AddLine(std::string_view line) {
  EventHeader header;
  // Without an announced event it is text.
  if (!announced_.empty() && ParseHeader(line, &header)) {
    announced_.pop_front();
    BeginEvent(header);
    return;
  }
  // Of an event that has no header of its own there.
  if (!announced_.empty() && line.starts_with("# The rest of the binlog is encrypted")) {
    failure_ = Status(StatusCode::kNotSupported,
                      log_.path + " is encrypted: mariadb-binlog cannot read it");
    return;
  }
  std::string_view rest = line;
  uint64_t position = 0;
  if (Consume(&rest, kAt) && ConsumeNumber(&rest, &position) && rest.empty()) {
    Announce(position);
    return;
  }
  AddBody(line);
}

// Each event is announced, in the order of the file; those of one statement that changes rows all
// together, before the first of them is shown.
void BinaryLogParser::Announce(uint64_t position) {
  const bool fits = announced_.empty() ? position == position_ : position > announced_.back();
  if (!fits) {
    Fail("the output of mariadb-binlog has \"# at " + std::to_string(position) +
         "\" where no event begins, as the last one ends at " + std::to_string(position_) +
         ": it may be text of a statement, and what is an event is not certain");
  }
  announced_.push_back(position);
}

// Files may be larger than what the header of an event has room for.
uint64_t BinaryLogParser::EndOf(const EventHeader& header) const {
  constexpr uint64_t kWrap = 1ULL << 32;
  const uint64_t end = (position_ & ~(kWrap - 1)) | header.end_position;
  return end <= position_ ? end + kWrap : end;
}

void BinaryLogParser::BeginEvent(const EventHeader& header) {
  EndEvent();
  event_begin_ = position_;
  if (!announced_.empty() && announced_.front() != EndOf(header)) {
    Fail("an event does not end where the next one begins, at " +
         std::to_string(announced_.front()));
  }
  position_ = EndOf(header);
  log_.end_position = position_;
  log_.last_event_s = header.time_s;
  if (event_begin_ == kFirstEvent) {
    log_.server_ids.insert(header.server_id);
    log_.begun_s = header.time_s;
    if (!header.kind.starts_with("Start: binlog v 4")) {
      Fail("it does not begin as a binary log of MariaDB");
    }
    log_.at_startup = header.kind.ends_with(" at startup");
  }
  BeginKind(header.kind);
  if (header.kind.starts_with("Xid = ")) log_.server_ids.insert(header.server_id);
}

void BinaryLogParser::BeginKind(std::string_view kind) {
  kind_ = Kind::kOther;
  std::string_view rest = kind;
  if (Consume(&rest, "Xid = ")) {
    XidEvent event{.position = event_begin_};
    if (!ConsumeNumber(&rest, &event.number) || !rest.empty()) Fail("an Xid event has no number");
    log_.xids.push_back(event);
    EndGroup();
  } else if (Consume(&rest, "XID = ")) {
    log_.xa.push_back({XaEvent::Kind::kPrepare, std::string(rest), event_begin_});
    EndGroup();
  } else if (Consume(&rest, "Gtid list [")) {
    kind_ = Kind::kGtidList;
    in_gtid_list_ = true;
    AddGtidList(rest);
  } else if (Consume(&rest, "GTID ")) {
    BeginGtid(rest);
  } else if (kind.starts_with("Query")) {
    kind_ = Kind::kStatement;
    statement_.clear();
  } else if (Consume(&rest, "Binlog checkpoint ")) {
    log_.checkpoint = rest;
  } else if (Consume(&rest, "Rotate to ")) {
    log_.end = BinaryLog::End::kRotate;
    log_.next_name = rest.substr(0, rest.find("  pos: "));
  } else if (kind.starts_with("Stop")) {
    log_.end = BinaryLog::End::kStop;
  }
}

void BinaryLogParser::BeginGtid(std::string_view text) {
  EndGroup();  // The last one has come to its end without a word, such as LOAD DATA does.
  kind_ = Kind::kGtid;
  Group group;
  if (!ConsumeGtid(&text, &group.key, &group.sequence)) Fail("a GTID is not understood");
  group_ = group;
}

void BinaryLogParser::AddGtidList(std::string_view text) {
  const size_t end = text.find(']');
  if (Consume(&text, "# ")) {
    AddGtidList(text);
    return;
  }
  gtid_list_ += text.substr(0, end);
  if (end == std::string_view::npos) return;
  in_gtid_list_ = false;
  std::string_view list = gtid_list_;
  while (!list.empty()) {
    std::pair<uint64_t, uint64_t> key;
    uint64_t sequence = 0;
    if (!ConsumeGtid(&list, &key, &sequence) || (!list.empty() && !Consume(&list, ","))) {
      Fail("its list of GTIDs is not understood");
      return;
    }
    SkipSpaces(&list);
    log_.first_state[key] = sequence;
  }
  log_.last_state = log_.first_state;
}

void BinaryLogParser::AddBody(std::string_view line) {
  switch (kind_) {
    case Kind::kGtid:
      if (group_.has_value() && (line == "START TRANSACTION" || line.starts_with("XA START "))) {
        group_->standalone = false;
      }
      break;
    case Kind::kGtidList:
      if (in_gtid_list_) AddGtidList(line);
      break;
    case Kind::kStatement:
      // What decides is a line alone; of a long statement two are enough to know that it is none.
      if (statement_.size() < 2 && (!statement_.empty() || !IsSetting(line))) {
        if (line != "/*!*/;") statement_.emplace_back(line);
      }
      break;
    case Kind::kOther:
      if (event_begin_ == kFirstEvent &&
          line.starts_with("# Warning: this binlog is either in use")) {
        log_.in_use = true;
      }
      break;
    case Kind::kNone:
      break;
  }
}

void BinaryLogParser::EndEvent() {
  if (kind_ == Kind::kStatement) EndStatement();
  kind_ = Kind::kNone;
}

// The end of a group that no Xid event ends, or a decision on an XA transaction.
void BinaryLogParser::EndStatement() {
  const bool single = statement_.size() == 1;
  const std::string_view text = single ? std::string_view(statement_.front()) : std::string_view();
  for (const auto& [prefix, kind] : {std::pair("XA COMMIT X'", XaEvent::Kind::kCommit),
                                     std::pair("XA ROLLBACK X'", XaEvent::Kind::kRollback)}) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view xid = text.substr(text.find("X'"));
    log_.xa.push_back({kind, std::string(xid), event_begin_});
  }
  if (group_.has_value() && (group_->standalone || text == "COMMIT" || text == "ROLLBACK")) {
    EndGroup();
  }
}

void BinaryLogParser::EndGroup() {
  if (!group_.has_value()) return;
  log_.last_state[group_->key] = group_->sequence;
  group_.reset();
}

Result<BinaryLog> BinaryLogParser::Finish() {
  // mariadb-binlog ends its output with lines of its own, behind "DELIMITER ;".
  EndEvent();
  log_.not_shown = std::move(announced_);
  if (log_.end_position == 0) Fail("it is no binary log, or mariadb-binlog cannot read it");
  if (!failure_.ok()) return failure_;
  return std::move(log_);
}

}  // namespace cairn
