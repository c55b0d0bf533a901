// Feeds the fuzz target the files of the directories and the files named on the command line.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

size_t Replay(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      count += Replay(entry.path());
    }
    return count;
  }
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  // Without a newline behind it: what stands last when the process ends is the input that ended it.
  std::printf("\r%s", path.filename().c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  size_t count = 0;
  for (int i = 1; i < argc; ++i) count += Replay(argv[i]);
  std::printf("\r%zu inputs\n", count);
  return count == 0 ? 1 : 0;
}
