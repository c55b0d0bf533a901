// What a file of the server's binary log says of transactions, as mariadb-binlog prints it.
//
// mariadb-binlog belongs to the server that wrote the file: it knows the format, checks the
// checksums, and refuses what is encrypted. Its output has the text of statements in it, which may
// look like events; so an event counts only where the one before it ends, and a file is refused of
// which mariadb-binlog announces an event elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace cairn {

// The last GTID of each domain and server: sequence numbers by both.
using GtidState = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;

struct XidEvent {
  uint64_t number = 0;
  uint64_t position = 0;  // Where the event begins.
};

// XA PREPARE, XA COMMIT or XA ROLLBACK of a user.
struct XaEvent {
  enum class Kind : uint8_t { kPrepare, kCommit, kRollback };
  Kind kind;
  std::string xid;  // X'6774',X'6271',1
  uint64_t position = 0;
};

struct BinaryLog {
  enum class End : uint8_t { kNone, kStop, kRotate };

  std::string path;
  std::string name;               // Without its directory.
  std::set<uint64_t> server_ids;  // Of its server, and of those whose transactions it repeats.
  int64_t begun_s = 0;            // Seconds since the epoch.
  bool at_startup = false;        // The first file of a run of the server.
  bool in_use = false;            // Its server has not closed it; it stays so after a crash.
  GtidState first_state;          // Before its first event.
  GtidState last_state;           // After its last whole group of events.
  std::string checkpoint;         // The oldest file that recovery needs, as last noted.
  End end = End::kNone;
  std::string next_name;  // kRotate: the file that follows.
  int64_t last_event_s = 0;
  uint64_t end_position = 0;  // Behind its last event that was shown.
  // Where events of a last statement begin that mariadb-binlog does not show, as the statement has
  // no end.
  std::deque<uint64_t> not_shown;
  std::vector<XidEvent> xids;
  std::vector<XaEvent> xa;
};

// The line with which mariadb-binlog begins an event.
struct EventHeader {
  int64_t time_s = 0;  // Seconds since the epoch.
  uint64_t server_id = 0;
  uint64_t end_position = 0;  // Modulo 2^32.
  std::string_view kind;
};

// Takes the output of mariadb-binlog --base64-output=decode-rows, with TZ=UTC, line by line.
class BinaryLogParser {
 public:
  explicit BinaryLogParser(std::string path);

  void AddLine(std::string_view line);
  // After the last line. Errors: kCorruption (no binary log, or text in it that looks like an
  // event), kNotSupported (encrypted).
  Result<BinaryLog> Finish();

 private:
  struct Group {
    std::pair<uint64_t, uint64_t> key;
    uint64_t sequence = 0;
    bool standalone = true;  // One event is all of it.
  };

  void Announce(uint64_t position);
  uint64_t EndOf(const EventHeader& header) const;
  void BeginEvent(const EventHeader& header);
  void BeginKind(std::string_view kind);
  void BeginGtid(std::string_view text);
  void AddBody(std::string_view line);
  void AddGtidList(std::string_view text);
  void EndEvent();
  void EndStatement();
  void EndGroup();
  void Fail(std::string text);

  BinaryLog log_;
  Status failure_;
  std::deque<uint64_t> announced_;  // Where events begin whose headers are still to come.
  uint64_t position_ = 4;           // Where the next event begins.
  uint64_t event_begin_ = 0;
  enum class Kind : uint8_t { kNone, kGtid, kGtidList, kStatement, kOther };
  Kind kind_ = Kind::kNone;
  std::string gtid_list_;
  bool in_gtid_list_ = false;
  std::vector<std::string> statement_;  // The lines of a statement that are not settings.
  std::optional<Group> group_;
};

// Runs mariadb-binlog (`program`; looked for in PATH when it has no directory) on `path`. A record
// that a crash cut off at the end is left out. Errors: those of the parser, kInvalidArgument (no
// such file), kCorruption (damaged before its end), kIoError (the program cannot be run).
Result<BinaryLog> ReadBinaryLog(const std::string& program, const std::string& path);

}  // namespace cairn
