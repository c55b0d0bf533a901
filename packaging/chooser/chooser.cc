// The library ha_rocksdb.so of the package: loads the build of Cairn that is for exactly this
// server.
//
// A plug-in of a storage engine fits one version of the server alone: it calls the server's classes
// by the places of their members. So each build lies in a directory named after the version that it
// is for, as the server tells it (`mariadbd --version`) up to the first space ("11.8.6-MariaDB-0+
// deb13u1 from Debian"):
//
//     lib/mysql/plugin/ha_rocksdb.so                      this library
//     lib/cairn/10.11.18-MariaDB-0+deb12u1/adapter.so     Cairn for that server
//     lib/cairn/10.11.18-MariaDB-0+deb12u1/abi            sizes of the server's classes (below)
//
// When the server opens this library, a constructor reads the server's version, compares the sizes
// of its classes' virtual tables with those in `abi`, opens the adapter and hands its declarations
// of plug-ins on. Where that fails it declares one plug-in, ROCKSDB, that says why and does not
// start; with rocksdb=FORCE_PLUS_PERMANENT the server then does not start either, and no
// transaction is decided without the engine.
//
// `abi` is text, a line for each class: its mangled name and the bytes of its virtual table; the
// last line is "classes" and their number. Cairn's package tool writes it from the server's
// symbols.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

// What the server reads of a plug-in library. Unchanged since MariaDB 5.2
// (include/mysql/plugin.h, struct st_maria_plugin).
struct Declaration {
  int type;
  void* info;
  const char* name;
  const char* author;
  const char* description;
  int license;
  int (*init)(void*);
  int (*deinit)(void*);
  unsigned int version;
  void* status_variables;
  void* system_variables;
  const char* version_text;
  unsigned int maturity;
};

constexpr int kInterfaceVersion = 0x010F;  // MARIA_PLUGIN_INTERFACE_VERSION of 10.11 and 11.8.
// The type of the plug-in that is declared without an adapter: MariaDB_PASSWORD_VALIDATION_PLUGIN,
// as the version of its interface (0x0101) does not change with the server, which the option
// "version" may hide.
constexpr int kPasswordValidation = 8;
constexpr int kPasswordValidationVersion = 0x0101;
constexpr int kLicenseGpl = 1;
constexpr unsigned int kStable = 5;  // MariaDB_PLUGIN_MATURITY_STABLE

// Cairn declares 20; the server takes those before the first that is all zero.
constexpr size_t kMostDeclarations = 63;

// Suffixes that the server appends to its version by its options, for the same program.
constexpr std::string_view kOptionSuffixes[] = {"", "-log"};

// A build comes with the one package or, made by cairn-adapters, with the other.
constexpr std::string_view kInstallAgain =
    "Install its package, mariadb-plugin-cairn or mariadb-plugin-cairn-adapter, again.";

#if defined(__x86_64__) && defined(__SSE3__)
#error "compile this for any x86-64: it runs before a processor that lacks more is refused"
#endif

// The last feature that a processor must have; a test names one that none has.
#ifndef CAIRN_LAST_FEATURE
#define CAIRN_LAST_FEATURE "pclmul"
#endif

// Why there is no adapter. Belongs to the thread that loads the library, and is not changed later.
std::string& Problem() {
  static std::string problem;
  return problem;
}

// What the server looks at of such a plug-in before it is initialized.
struct RefusedInfo {
  int interface_version;
  void* functions[4];
};

RefusedInfo refused_info = {kPasswordValidationVersion, {}};

int SayWhyNot(void* /*plugin*/) {
  // Reaches the client of INSTALL SONAME, and the log of a server that starts.
  using Printer = void (*)(unsigned int error, const char* format, unsigned long flags, ...);
  constexpr unsigned int kUnknownError = 1105;
  constexpr unsigned long kToLogAsWell = 64;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  const auto print = reinterpret_cast<Printer>(dlsym(RTLD_DEFAULT, "my_printf_error"));
  if (print != nullptr) {
    print(kUnknownError, "%s", kToLogAsWell, Problem().c_str());
  } else {
    fprintf(stderr, "[ERROR] %s\n", Problem().c_str());
  }
  return 1;
}

// The server's class `name` (mangled), or 0: bytes of its virtual table.
uint64_t VirtualTableBytes(const std::string& name) {
  void* const address = dlsym(RTLD_DEFAULT, ("_ZTV" + name).c_str());
  if (address == nullptr) return 0;
  Dl_info info;
  void* symbol = nullptr;
  if (dladdr1(address, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return 0;
  return static_cast<const ElfW(Sym)*>(symbol)->st_size;
}

// The directory lib/cairn beside lib/mysql/plugin, where this library lies.
std::filesystem::path AdaptersDirectory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&SayWhyNot), &info) == 0) return {};
  std::error_code error;
  const std::filesystem::path self = std::filesystem::canonical(info.dli_fname, error);
  if (error) return {};
  return self.parent_path().parent_path().parent_path() / "cairn";
}

// "in DIRECTORY: A, B", or why none are seen.
std::string InstalledVersions(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  std::error_code unknown;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (std::filesystem::exists(entry->path() / "adapter.so", unknown)) {
      names.push_back(entry->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  if (text.empty()) text = error ? "none to be read: " + error.message() : "none";
  return "in " + directory.string() + ": " + text;
}

// Whether the server's classes are those that the adapter was compiled for; sets Problem().
bool ClassesAreAsCompiled(const std::filesystem::path& abi, const std::string& version) {
  std::ifstream file(abi);
  std::string name;
  uint64_t expected = 0;
  uint64_t count = 0;
  while (file >> name >> expected) {
    if (name == "classes") {
      if (count > 0 && expected == count && !(file >> name)) return true;
      break;
    }
    ++count;
    const uint64_t found = VirtualTableBytes(name);
    if (found == expected) continue;
    Problem() = "Cairn: the build for server " + version +
                " does not fit this server, which calls itself " + version + " too: its class " +
                name + " has a virtual table of " + std::to_string(found) + " bytes, not " +
                std::to_string(expected) +
                ". Install the Cairn that was built for this server, or the distribution's server.";
    return false;
  }
  Problem() = "Cairn: " + abi.string() +
              " is missing or damaged, so that nothing tells whether the build fits this server. ";
  Problem() += kInstallAgain;
  return false;
}

// Whether the file has all that the loader would map: what is cut off would end the server by a
// signal.
bool IsWhole(const std::filesystem::path& library) {
  std::ifstream file(library, std::ios::binary);
  ElfW(Ehdr) header;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return false;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(library, error);
  if (error || header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0) return false;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return false;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return false;
  }
  return true;
}

// Whether the processor has what the builds are compiled for: x86-64-v2 (cmake/CairnTargets.cmake),
// and PCLMUL. This library is compiled for any, as the first instruction that is missing would end
// the server by a signal.
bool ProcessorFits() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") &&
         __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
         __builtin_cpu_supports("popcnt") && __builtin_cpu_supports(CAIRN_LAST_FEATURE);
#else
  return true;
#endif
}

void* OpenAdapter(const std::filesystem::path& directory, const std::string& version) {
  if (!ProcessorFits()) {
    Problem() =
        "Cairn: the processor lacks SSE 4.2 or PCLMUL. A virtual machine may have been given an "
        "older model than its host has.";
    return nullptr;
  }
  if (!ClassesAreAsCompiled(directory / "abi", version)) return nullptr;
  if (!IsWhole(directory / "adapter.so")) {
    Problem() = "Cairn: " + (directory / "adapter.so").string() + " is cut off or cannot be read. ";
    Problem() += kInstallAgain;
    return nullptr;
  }
  void* const adapter = dlopen((directory / "adapter.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (adapter == nullptr) {
    const char* const reason = dlerror();
    Problem() = std::string("Cairn: its build for this server cannot be loaded: ") +
                (reason == nullptr ? "no reason given" : reason) + ". ";
    Problem() += kInstallAgain;
  }
  return adapter;
}

// The adapter for the running server; null: Problem() says why not.
void* FindAdapter(const std::string& version) {
  const std::filesystem::path directory = AdaptersDirectory();
  std::error_code error;
  for (const std::string_view suffix : kOptionSuffixes) {
    if (!std::string_view(version).ends_with(suffix)) continue;
    const std::string name = version.substr(0, version.size() - suffix.size());
    // It names one directory.
    if (name.empty() || name.find('/') != std::string::npos || name[0] == '.') continue;
    if (std::filesystem::exists(directory / name / "adapter.so", error)) {
      return OpenAdapter(directory / name, name);
    }
  }
  Problem() = "Cairn: no build for server " + version + "; installed " +
              InstalledVersions(directory) + ". ";
  const auto* const is_custom =
      static_cast<const bool*>(dlsym(RTLD_DEFAULT, "using_custom_server_version"));
  // 11.8 does not tell whether the option is set.
  if (is_custom == nullptr) Problem() += "If the option \"version\" is set, remove it. ";
  Problem() +=
      is_custom != nullptr && *is_custom
          ? "The option \"version\" hides which server this is: remove it."
          : "Install a mariadb-plugin-cairn that has one, or a server that has one; or make "
            "one with cairn-adapters build.";
  return nullptr;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int _maria_plugin_interface_version_ = kInterfaceVersion;
__attribute__((visibility("default"))) int _maria_sizeof_struct_st_plugin_ = sizeof(Declaration);
__attribute__((visibility("default")))
Declaration _maria_plugin_declarations_[kMostDeclarations + 1] = {};
}

namespace {

void* adapter = nullptr;

// Copies the adapter's declarations; sets Problem() where that cannot be.
bool HandDeclarationsOn() {
  const auto* const size =
      static_cast<const int*>(dlsym(adapter, "_maria_sizeof_struct_st_plugin_"));
  const auto* const interface =
      static_cast<const int*>(dlsym(adapter, "_maria_plugin_interface_version_"));
  const auto* const declared =
      static_cast<const Declaration*>(dlsym(adapter, "_maria_plugin_declarations_"));
  size_t count = 0;
  if (size != nullptr && *size == sizeof(Declaration) && interface != nullptr &&
      declared != nullptr) {
    while (count <= kMostDeclarations && declared[count].info != nullptr) ++count;
  }
  if (count == 0 || count > kMostDeclarations) {
    Problem() =
        "Cairn: its build for this server declares no plug-ins that this library can read. ";
    Problem() += kInstallAgain;
    return false;
  }
  _maria_plugin_interface_version_ = *interface;
  std::copy_n(declared, count, _maria_plugin_declarations_);
  return true;
}

__attribute__((constructor)) void Choose() {
  // An array of the server's; what else has such a name would have to be a server as well.
  const auto* const name = static_cast<const char*>(dlsym(RTLD_DEFAULT, "server_version"));
  const std::string text = name == nullptr ? "" : name;
  const std::string version = text.substr(0, text.find(' '));
  adapter = FindAdapter(version.empty() ? "of unknown version" : version);
  if (adapter != nullptr && HandDeclarationsOn()) return;
  Declaration& refused = _maria_plugin_declarations_[0];
  refused.type = kPasswordValidation;
  refused.info = &refused_info;
  refused.name = "ROCKSDB";
  refused.author = "Cairn";
  refused.description = "Cairn without a build for this server";
  refused.license = kLicenseGpl;
  refused.init = SayWhyNot;
  refused.version = 0x0100;
  refused.version_text = "1.0";
  refused.maturity = kStable;
}

__attribute__((destructor)) void Close() {
  if (adapter != nullptr) dlclose(adapter);
}

}  // namespace
