#include "engine/store/log_names.h"

#include <string>

#include "rocksdb/file_system.h"

namespace cairn {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOStatus;

class LogNames final : public rocksdb::FileSystemWrapper {
 public:
  explicit LogNames(const std::shared_ptr<rocksdb::FileSystem>& target)
      : FileSystemWrapper(target) {}

  static const char* kClassName() { return "CairnLogNames"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    return Keep(name, FileSystemWrapper::NewWritableFile(name, options, file, debug), file, debug);
  }

  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                             const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                             IODebugContext* debug) override {
    return Keep(name, FileSystemWrapper::ReuseWritableFile(name, old_name, options, file, debug),
                file, debug);
  }

 private:
  IOStatus Keep(const std::string& name, IOStatus made, std::unique_ptr<FSWritableFile>* file,
                IODebugContext* debug) {
    if (!made.ok() || !name.ends_with(".log")) return made;
    std::unique_ptr<rocksdb::FSDirectory> directory;
    IOStatus synced =
        NewDirectory(name.substr(0, name.rfind('/')), rocksdb::IOOptions(), &directory, debug);
    if (synced.ok()) {
      synced = directory->FsyncWithDirOptions(
          rocksdb::IOOptions(), debug,
          rocksdb::DirFsyncOptions(rocksdb::DirFsyncOptions::FsyncReason::kNewFileSynced));
    }
    if (!synced.ok()) file->reset();
    return synced;
  }
};

class EnvOfLogNames final : public rocksdb::EnvWrapper {
 public:
  explicit EnvOfLogNames(rocksdb::Env* env) : EnvWrapper(env) {
    file_system_ = std::make_shared<LogNames>(env->GetFileSystem());
    system_clock_ = env->GetSystemClock();
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> KeepLogNames(rocksdb::Env* env) {
  return std::make_unique<EnvOfLogNames>(env);
}

}  // namespace cairn
