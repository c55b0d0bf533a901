// Where the engine's messages go. The adapter writes them to the server's error log.
#pragma once

#include <string_view>

namespace cairn {

enum class Severity { kNote, kWarning, kError };

// Thread-safe. Outlives the engine.
class Log {
 public:
  virtual ~Log() = default;
  // `message` is one line without a line end.
  virtual void Write(Severity severity, std::string_view message) = 0;
};

}  // namespace cairn
