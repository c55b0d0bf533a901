// cairn-store: looks after the engine's directory while no server has it open.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/store/arguments.h"
#include "tools/store/prepared.h"

namespace {

class ErrorOutput final : public cairn::Log {
 public:
  void Write(cairn::Severity severity, std::string_view message) override {
    if (severity == cairn::Severity::kNote) return;
    (void)std::fprintf(stderr, "%s: %.*s\n",
                       severity == cairn::Severity::kError ? "error" : "warning",
                       static_cast<int>(message.size()), message.data());
  }
};

int Tell(const cairn::Status& status, int exit_status) {
  (void)std::fprintf(stderr, "cairn-store: %s\n", std::string(status.message()).c_str());
  return exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kError = 1;
  constexpr int kWrongArguments = 2;
  constexpr int kNotCertain = 3;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && (words[0] == "--help" || words.back() == "--help")) {
    (void)std::fputs(cairn::kUsage, stdout);
    return 0;
  }
  if (words.empty() || words[0] != "prepared") {
    (void)std::fputs(cairn::kUsage, stderr);
    return kWrongArguments;
  }
  const auto arguments = cairn::ParsePrepared({words.begin() + 1, words.end()});
  if (!arguments.ok()) return Tell(arguments.status(), kWrongArguments);
  ErrorOutput log;
  const auto report = cairn::RunPrepared(*arguments, &log);
  if (!report.ok()) return Tell(report.status(), kError);
  (void)std::fputs((arguments->json ? cairn::AsJson(*report) : cairn::AsText(*report)).c_str(),
                   stdout);
  if (std::fflush(stdout) != 0) return kError;
  return cairn::CountNotCertain(*report) > 0 ? kNotCertain : 0;
}
