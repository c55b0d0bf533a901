// Running mariadb-binlog.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "tools/store/binary_log.h"

extern char** environ;

namespace cairn {
namespace {

constexpr size_t kHeaderBytes = 19;
constexpr size_t kLengthAt = 9;
// Of a line; nothing that matters is longer.
constexpr size_t kLineBytes = 4096;

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// A process whose output is read line by line.
class Child {
 public:
  ~Child() { (void)Wait(); }

  Status Start(const std::vector<std::string>& arguments) {
    std::array<int, 2> pipe{};
    complaints_.reset(std::tmpfile());
    if (complaints_ == nullptr || pipe2(pipe.data(), O_CLOEXEC) != 0) return Failed(errno);
    output_.reset(fdopen(pipe[0], "r"));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fileno(complaints_.get()), 2);
    std::vector<char*> pointers;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): as the interface wants it.
    for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    std::vector<char*> environment = Environment();
    const int failure =
        posix_spawnp(&pid_, pointers[0], &actions, nullptr, pointers.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    (void)close(pipe[1]);
    if (failure == 0) return Status();
    pid_ = 0;
    return Failed(failure).WithContext("running " + arguments[0]);
  }

  // False: there is none any more. What a line has beyond kLineBytes is dropped.
  bool NextLine(std::string* line) {
    line->clear();
    for (int byte = getc_unlocked(output_.get()); byte != EOF;
         byte = getc_unlocked(output_.get())) {
      if (byte == '\n') return true;
      if (line->size() < kLineBytes) line->push_back(static_cast<char>(byte));
    }
    return !line->empty();
  }

  // Whether it ended well.
  bool Wait() {
    if (pid_ == 0) return ended_well_;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    ended_well_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return ended_well_;
  }

  // What it complained of; one line.
  std::string Complaints() {
    std::array<char, 1000> text{};
    std::rewind(complaints_.get());
    const size_t bytes = std::fread(text.data(), 1, text.size(), complaints_.get());
    std::string all(text.data(), bytes);
    while (!all.empty() && all.back() == '\n') all.pop_back();
    std::replace(all.begin(), all.end(), '\n', ' ');
    return all;
  }

 private:
  static Status Failed(int number) { return {StatusCode::kIoError, std::strerror(number)}; }

  // Times are shown in UTC.
  std::vector<char*> Environment() {
    std::vector<char*> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!std::string_view(*variable).starts_with("TZ=")) variables.push_back(*variable);
    }
    variables.push_back(time_zone_.data());
    variables.push_back(nullptr);
    return variables;
  }

  std::string time_zone_ = "TZ=UTC";
  pid_t pid_ = 0;
  bool ended_well_ = false;
  File output_;
  File complaints_;
};

Status CheckIsBinaryLog(const std::string& path) {
  constexpr std::string_view kMagic =
      "\xfe"
      "bin";
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status(StatusCode::kInvalidArgument, path + " cannot be read: " + std::strerror(errno));
  }
  std::string bytes(kMagic.size(), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (bytes == kMagic) return Status();
  return Status(StatusCode::kInvalidArgument, path + " is no binary log");
}

// Whether what is left of a file has nothing but zeros.
bool IsUnwritten(std::ifstream* file, uint64_t begin) {
  file->clear();
  file->seekg(static_cast<std::streamoff>(begin));
  for (char byte = 0; file->get(byte);) {
    if (byte != '\0') return false;
  }
  return true;
}

// Whether a crash has cut off what lies behind the last event that was shown: there are only the
// begin of a statement, and after it an event that lacks its end or was never written.
bool IsCutOff(const BinaryLog& log, uint64_t size) {
  std::ifstream file(log.path, std::ios::binary);
  auto not_shown = log.not_shown.begin();
  for (uint64_t at = log.end_position; at < size;) {
    std::string head(std::min<uint64_t>(kHeaderBytes, size - at), '\0');
    file.seekg(static_cast<std::streamoff>(at));
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    if (!file) return false;
    if (head.size() < kHeaderBytes) return true;
    uint32_t length = 0;
    for (size_t i = 4; i > 0; --i) {
      length = length << 8 | static_cast<unsigned char>(head[kLengthAt + i - 1]);
    }
    if (length > size - at) return true;
    if (length < kHeaderBytes) return IsUnwritten(&file, at);
    if (not_shown == log.not_shown.end() || *not_shown != at) return false;
    ++not_shown;
    at += length;
  }
  return not_shown == log.not_shown.end();
}

}  // namespace

Result<BinaryLog> ReadBinaryLog(const std::string& program, const std::string& path) {
  CAIRN_RETURN_IF_ERROR(CheckIsBinaryLog(path));
  Child child;
  CAIRN_RETURN_IF_ERROR(child.Start({program, "--no-defaults", "--base64-output=decode-rows",
                                     "--verify-binlog-checksum", "--", path}));
  BinaryLogParser parser(path);
  for (std::string line; child.NextLine(&line);) parser.AddLine(line);
  const bool ended_well = child.Wait();
  const std::string complaints = child.Complaints();
  Result<BinaryLog> log = parser.Finish();
  if (!log.ok()) {
    const bool known = log.status().code() == StatusCode::kNotSupported;
    return known || complaints.empty()
               ? log.status()
               : log.status().WithContext("mariadb-binlog said: " + complaints);
  }
  std::error_code failure;
  const uint64_t size = std::filesystem::file_size(path, failure);
  if (failure) return Status(StatusCode::kIoError, path + ": " + failure.message());
  if (log->end_position == size && log->not_shown.empty() && ended_well) return log;
  if (log->end_position < size && IsCutOff(*log, size)) return log;
  return Status(StatusCode::kCorruption,
                path + " is damaged behind byte " + std::to_string(log->end_position) +
                    (complaints.empty() ? "" : "; mariadb-binlog said: " + complaints));
}

}  // namespace cairn
