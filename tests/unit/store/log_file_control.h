// A file system that lets a test count the syncs of RocksDB's log, and take away the room for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/file_system.h"

namespace cairn {

struct LogFileControl {
  std::atomic<bool> full{false};
  std::atomic<int> syncs{0};
  std::atomic<uint64_t> free_bytes{0};  // 0: the file system does not tell.
};

class ControlledFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ControlledFile(std::unique_ptr<rocksdb::FSWritableFile> file, LogFileControl* control)
      : FSWritableFileOwnerWrapper(std::move(file)), control_(control) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (control_->full) return rocksdb::IOStatus::NoSpace("full");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    ++control_->syncs;
    return FSWritableFileOwnerWrapper::Sync(options, debug);
  }
  bool IsSyncThreadSafe() const override { return true; }

 private:
  LogFileControl* const control_;
};

class ControlledFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  ControlledFileSystem(std::shared_ptr<rocksdb::FileSystem> target, LogFileControl* control)
      : FileSystemWrapper(std::move(target)), control_(control) {}
  const char* Name() const override { return "ControlledFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus opened = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (opened.ok() && name.ends_with(".log")) {
      *file = std::make_unique<ControlledFile>(std::move(*file), control_);
    }
    return opened;
  }

  rocksdb::IOStatus GetFreeSpace(const std::string&, const rocksdb::IOOptions&, uint64_t* bytes,
                                 rocksdb::IODebugContext*) override {
    *bytes = control_->free_bytes;
    return *bytes == 0 ? rocksdb::IOStatus::NotSupported() : rocksdb::IOStatus::OK();
  }

 private:
  LogFileControl* const control_;
};

}  // namespace cairn
