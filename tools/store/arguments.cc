#include "tools/store/arguments.h"

#include <algorithm>

#include "tools/store/xid.h"

namespace cairn {

const char* const kUsage = R"(usage: cairn-store prepared DIR [options]

Lists the prepared transactions in the engine's directory DIR (DATADIR/#rocksdb), which no server
may have open. Nothing is changed without --decide, --commit or --rollback.

  --binlog FILE...       says which of the server's own transactions these files of its binary log
                         have committed: all files from the one that was written when the server
                         was killed, and those before and after it that are there
  --decide               commits those, and rolls back the server's others; what is not certain,
                         and users' XA transactions, stay prepared
  --commit XID           commits one, as the list names it: 'gtrid','bqual',format
  --rollback XID         rolls one back
  --run FILE             the transactions were prepared while the server wrote FILE or the files
                         around it, from one start to the next: where several would fit
  --wal-dir DIR          where RocksDB's logs are, if not where the server had them last
  --mariadb-binlog FILE  the program to read binary logs with
  --json                 prints JSON

Exit status: 0 done, 1 an error, 2 wrong arguments, 3 the binary logs leave it open what becomes of
some transactions, which stay prepared.
)";

namespace {

Status Wrong(std::string text) { return {StatusCode::kInvalidArgument, std::move(text)}; }

bool IsOption(const std::string& word) { return word.starts_with("--"); }

// Files beside a binary log that a pattern of the shell matches as well.
bool IsBesideBinaryLog(const std::string& path) {
  return path.ends_with(".index") || path.ends_with(".state");
}

Status Check(const PreparedArguments& arguments) {
  if (arguments.directory.empty()) return Wrong("the engine's directory is not named");
  const bool has_logs = !arguments.binary_logs.empty();
  if (arguments.decide && !has_logs) return Wrong("--decide needs --binlog");
  if (!arguments.run.empty() && !has_logs) return Wrong("--run needs --binlog");
  for (const TransactionId& id : arguments.commit) {
    if (std::find(arguments.rollback.begin(), arguments.rollback.end(), id) !=
        arguments.rollback.end()) {
      return Wrong(ToXidText(id) + " is to be committed and to be rolled back");
    }
  }
  return Status();
}

// The options that take one word.
Status TakeValue(const std::string& option, const std::string& value,
                 PreparedArguments* arguments) {
  if (option == "--commit" || option == "--rollback") {
    CAIRN_ASSIGN_OR_RETURN(const TransactionId id, ParseXid(value));
    (option == "--commit" ? arguments->commit : arguments->rollback).push_back(id);
    return Status();
  }
  std::string* const target = option == "--run"              ? &arguments->run
                              : option == "--wal-dir"        ? &arguments->log_directory
                              : option == "--mariadb-binlog" ? &arguments->mariadb_binlog
                                                             : nullptr;
  if (target == nullptr) return Wrong("there is no option " + option);
  *target = value;
  return Status();
}

// "--option=value" as two words.
std::vector<std::string> Split(const std::vector<std::string>& words) {
  std::vector<std::string> split;
  for (const std::string& word : words) {
    const size_t equals = IsOption(word) ? word.find('=') : std::string::npos;
    split.push_back(word.substr(0, equals));
    if (equals != std::string::npos) split.push_back(word.substr(equals + 1));
  }
  return split;
}

}  // namespace

Result<PreparedArguments> ParsePrepared(const std::vector<std::string>& given) {
  const std::vector<std::string> words = Split(given);
  PreparedArguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!IsOption(word)) {
      if (!arguments.directory.empty()) {
        return Wrong("\"" + word + "\" is one directory too many");
      }
      arguments.directory = word;
    } else if (word == "--decide") {
      arguments.decide = true;
    } else if (word == "--json") {
      arguments.json = true;
    } else if (i + 1 == words.size() || IsOption(words[i + 1])) {
      return Wrong(word + " is no option, or lacks what belongs to it");
    } else if (word == "--binlog") {
      for (; i + 1 < words.size() && !IsOption(words[i + 1]); ++i) {
        if (!IsBesideBinaryLog(words[i + 1])) arguments.binary_logs.push_back(words[i + 1]);
      }
    } else {
      CAIRN_RETURN_IF_ERROR(TakeValue(word, words[++i], &arguments));
    }
  }
  CAIRN_RETURN_IF_ERROR(Check(arguments));
  return arguments;
}

}  // namespace cairn
