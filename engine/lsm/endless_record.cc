#include "engine/lsm/endless_record.h"

#include <memory>
#include <optional>
#include <string_view>

#include "engine/lsm/log_record.h"
#include "engine/lsm/rocksdb_status.h"

namespace cairn::lsm {
namespace {

// Goes through a log as RocksDB's reader does.
class ReaderPath {
 public:
  // Whether records of reused files are taken for that.
  bool is_reused() const { return is_reused_; }

  // Where in the block an endless record begins, if the reader comes to one.
  std::optional<size_t> Follow(std::string_view block) {
    for (size_t at = 0; at + kRecordHeadBytes <= block.size();) {
      const LogRecord record = ReadRecord(block.substr(at));
      if (IsOfReusedFile(record.type)) {
        if (has_records_) return at;
        is_reused_ = true;
        return std::nullopt;
      }
      if (!record.whole) return std::nullopt;
      // Of one in several parts it has nothing before the last.
      has_records_ = has_records_ || record.type == kFull || record.type == kLast;
      at += record.bytes;
    }
    return std::nullopt;
  }

 private:
  bool has_records_ = false;
  bool is_reused_ = false;
};

}  // namespace

Result<std::vector<uint64_t>> FindEndlessRecords(rocksdb::Env* env, const std::string& path) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(env->NewSequentialFile(path, &file, rocksdb::EnvOptions())).WithContext(path));
  const auto buffer = std::make_unique_for_overwrite<char[]>(kLogBlockBytes);
  std::vector<uint64_t> places;
  ReaderPath reader;
  rocksdb::Slice block;
  for (uint64_t begin = 0; !reader.is_reused(); begin += block.size()) {
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(file->Read(kLogBlockBytes, &block, buffer.get())).WithContext(path));
    if (block.empty()) break;
    const std::optional<size_t> place = reader.Follow({block.data(), block.size()});
    if (place.has_value()) places.push_back(begin + *place);
  }
  return places;
}

Status EndRecords(rocksdb::Env* env, const std::string& path, const std::vector<uint64_t>& places) {
  if (places.empty()) return Status();
  std::unique_ptr<rocksdb::RandomRWFile> file;
  rocksdb::Status written = env->NewRandomRWFile(path, &file, rocksdb::EnvOptions());
  const char no_type = static_cast<char>(kZero);
  for (const uint64_t place : places) {
    if (written.ok()) written = file->Write(place + kRecordTypeAt, rocksdb::Slice(&no_type, 1));
  }
  if (written.ok()) written = file->Sync();
  if (written.ok()) written = file->Close();
  return FromRocksDb(written).WithContext("writing " + path);
}

}  // namespace cairn::lsm
