#include "engine/store/log_check.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/base/crc32c.h"
#include "engine/lsm/endless_record.h"
#include "engine/lsm/log_record.h"
#include "engine/lsm/manifest.h"
#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

using lsm::IsOfReusedFile;
using lsm::ReadRecord;
using Record = lsm::LogRecord;

using Logs = std::map<uint64_t, std::string>;  // Paths by number.

constexpr size_t kBlockBytes = lsm::kLogBlockBytes;
constexpr size_t kHeaderBytes = lsm::kRecordHeadBytes;
constexpr size_t kLengthAt = lsm::kRecordLengthAt;
constexpr size_t kTypeAt = lsm::kRecordTypeAt;

// A record or a part of one, in a new or a reused file; the others are about the log.
bool HoldsChanges(uint8_t type) {
  constexpr uint8_t kLastWithChanges = 8;
  return type >= lsm::kFull && type <= kLastWithChanges;
}

constexpr uint8_t kCompression = 9;  // Of all the records behind it.

// Of those that RocksDB knows or passes over. By some numbers its reader says what is wrong with a
// record.
bool IsAboutLog(uint8_t type) {
  constexpr uint8_t kTimestampSizes = 10;
  constexpr uint8_t kMayBePassed = 0x80;
  constexpr uint8_t kFirstOfReader = 132;
  constexpr uint8_t kLastOfReader = 137;
  if (IsOfReusedFile(type) || (type >= kFirstOfReader && type <= kLastOfReader)) return false;
  return type == kTimestampSizes || (type & kMayBePassed) != 0;
}

bool IsZeros(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Whether a whole record with changes begins anywhere in `bytes`, a part of a block.
bool HasRecord(std::string_view bytes) {
  for (; bytes.size() >= kHeaderBytes; bytes.remove_prefix(1)) {
    const size_t begin = bytes.find_first_not_of('\0');
    if (begin == std::string_view::npos) return false;
    // A checksum may begin with zeros.
    constexpr size_t kBefore = sizeof(uint32_t);
    if (begin > kBefore) bytes.remove_prefix(begin - kBefore);
    // Most places are told by the type, without a checksum over what follows.
    if (bytes.size() >= kHeaderBytes && HoldsChanges(static_cast<uint8_t>(bytes[kTypeAt])) &&
        ReadRecord(bytes).whole) {
      return true;
    }
  }
  return false;
}

// Reads one log, block by block.
class LogScan {
 public:
  static Result<LogScan> Open(rocksdb::Env* env, const std::string& path) {
    LogScan scan;
    scan.damage_.path = path;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(env->GetFileSize(path, &scan.damage_.size)));
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(env->NewSequentialFile(path, &scan.file_, rocksdb::EnvOptions())));
    return scan;
  }

  Status Run() {
    while (true) {
      CAIRN_RETURN_IF_ERROR(NextBlock());
      if (block_.empty()) break;
      if (!ScanBlock()) return Judge();
    }
    if (!in_record_) return Status();
    // The file ends between the parts of a record.
    found_ = true;
    damage_.kind = LogDamage::Kind::kCutOff;
    damage_.offset = record_begin_;
    return Status();
  }

  bool has_records() const { return has_records_; }
  // Records with changes, or what may have been one.
  bool has_changes() const { return has_changes_ || found_; }
  bool found() const { return found_; }
  LogDamage& damage() { return damage_; }

 private:
  LogScan() : buffer_(new char[kBlockBytes]) {}

  Status NextBlock() {
    block_begin_ += block_.size();
    rocksdb::Slice read;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(file_->Read(kBlockBytes, &read, buffer_.get())));
    block_ = std::string_view(read.data(), read.size());
    position_ = 0;
    return Status();
  }

  // Goes to the end of the block. False: something is wrong at position_.
  bool ScanBlock() {
    while (position_ + kHeaderBytes <= block_.size()) {
      const std::string_view rest = block_.substr(position_);
      const Record record = ReadRecord(rest);
      // What follows the last record in a file that is used again is older. A record that is not
      // whole may have any type.
      if (record.whole && IsOfReusedFile(record.type) && !has_records_) {
        has_records_ = has_changes_ = reused_ = true;
      }
      if (reused_) {
        position_ = block_.size();
        return true;
      }
      if (!record.whole || !Fits(record.type)) return false;
      has_records_ = true;
      has_changes_ = has_changes_ || HoldsChanges(record.type);
      position_ += record.bytes;
    }
    // A head does not fit into what is left of a whole block, which is zeros; elsewhere the file is
    // cut off.
    return block_.size() == kBlockBytes || position_ == block_.size();
  }

  // Whether a record of this type may come here.
  bool Fits(uint8_t type) {
    switch (type) {
      case lsm::kFull:
        return !in_record_;
      case lsm::kFirst:
        if (in_record_) return false;
        in_record_ = true;
        record_begin_ = block_begin_ + position_;
        return true;
      case lsm::kMiddle:
        return in_record_;
      case lsm::kLast:
        return std::exchange(in_record_, false);
      case kCompression:
        return !in_record_ && !has_changes_;
      default:
        return !in_record_ && IsAboutLog(type);
    }
  }

  // What is wrong at position_, by all that follows.
  Status Judge() {
    const std::string_view rest = block_.substr(position_);
    const uint64_t begin = block_begin_ + position_;
    uint64_t end = begin + kHeaderBytes;  // Of the record, as its head has it.
    bool shortened = false;
    bool zeros = false;  // RocksDB passes over the rest of the block.
    if (rest.size() >= kHeaderBytes) {
      const Record record = ReadRecord(rest);
      zeros = IsZeros(rest.substr(kLengthAt, kHeaderBytes - kLengthAt));
      end = begin + kHeaderBytes + record.length;  // The type, which may be altered, has no say.
      // The content is whole, so that its length is what was altered.
      shortened = end > damage_.size && EndsAsWhole(rest);
      // A whole record that cannot come here.
      if (record.whole) followed_ = true;
    }
    if (!followed_ && rest.size() > 1) followed_ = HasRecord(rest.substr(1));
    uint64_t data_end = begin + DataBytes(rest);
    while (true) {
      CAIRN_RETURN_IF_ERROR(NextBlock());
      if (block_.empty()) break;
      if (!IsZeros(block_)) data_end = block_begin_ + DataBytes(block_);
      if (!followed_) followed_ = HasRecord(block_);
    }
    has_records_ = has_records_ || followed_;
    damage_.offset = in_record_ ? record_begin_ : begin;
    const bool lacks_end = end > damage_.size || IsFilledUp(begin, data_end, end);
    if (!followed_ && data_end == begin && !in_record_) return Status();  // Room that was not used.
    found_ = true;
    if (!followed_ && lacks_end && !shortened) {
      damage_.kind = LogDamage::Kind::kCutOff;
    } else {
      damage_.kind = zeros && !in_record_ ? LogDamage::Kind::kZeros : LogDamage::Kind::kDamaged;
    }
    damage_.followed = damage_.followed_here = followed_;
    return Status();
  }

  // Whether the end of a record was never written and a file system has filled it with zeros, which
  // it does from a sector on, or from the end of an earlier write. A record may itself end in
  // zeros: these alone do not say that a crash cut it off.
  static bool IsFilledUp(uint64_t begin, uint64_t data_end, uint64_t end) {
    constexpr uint64_t kSectorBytes = 512;
    if (data_end >= end) return false;
    const uint64_t sector = (data_end + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
    return sector < end || data_end <= begin + kHeaderBytes;
  }

  // Whether `rest`, to the end of the file, is the whole content of a record whose length says
  // otherwise.
  static bool EndsAsWhole(std::string_view rest) {
    uint32_t stored = 0;
    std::memcpy(&stored, rest.data(), sizeof stored);
    return Crc32c(rest.substr(kTypeAt)) == lsm::Unmasked(stored);
  }

  // Bytes up to the last that is not zero.
  static size_t DataBytes(std::string_view bytes) {
    const size_t last = bytes.find_last_not_of('\0');
    return last == std::string_view::npos ? 0 : last + 1;
  }

  std::unique_ptr<rocksdb::SequentialFile> file_;
  std::unique_ptr<char[]> buffer_;
  std::string_view block_;
  uint64_t block_begin_ = 0;
  size_t position_ = 0;  // In the block.
  uint64_t record_begin_ = 0;
  bool in_record_ = false;  // A record has begun whose last part has not come yet.
  bool has_records_ = false;
  bool has_changes_ = false;
  bool reused_ = false;
  bool followed_ = false;
  bool found_ = false;
  LogDamage damage_;
};

Result<Logs> ListLogs(rocksdb::Env* env, const std::string& directory) {
  constexpr std::string_view kSuffix = ".log";
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(env->GetChildren(directory, &names)));
  Logs logs;
  for (const std::string& name : names) {
    if (!name.ends_with(kSuffix)) continue;
    const std::string digits = name.substr(0, name.size() - kSuffix.size());
    constexpr size_t kMostDigits = 18;
    if (digits.empty() || digits.size() > kMostDigits ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    logs.emplace(std::stoull(digits), directory + "/" + name);
  }
  return logs;
}

std::string Described(const LogDamage& damage) {
  std::string text = damage.path;
  switch (damage.kind) {
    case LogDamage::Kind::kCutOff:
      text += " ends within a record";
      break;
    case LogDamage::Kind::kZeros:
      text += " has zeros between records";
      break;
    case LogDamage::Kind::kDamaged:
      text += " is damaged";
      break;
  }
  text += " (byte " + std::to_string(damage.offset) + " of " + std::to_string(damage.size) + ")";
  if (damage.followed) text += ", and later transactions follow";
  return text;
}

Status Refused(const LogDamage& damage, std::string_view remedy) {
  return Status(
      StatusCode::kCorruption,
      Described(damage) + ". Nothing was changed; copy the directory, then " + std::string(remedy));
}

// Where table files stand beside the damage of a log.
struct FilesBeside {
  bool ahead = false;   // Those of some column family have changes of later logs.
  bool behind = false;  // Those of some other lack changes of this one.
};

FilesBeside FilesBesideDamage(const lsm::Manifest& manifest, const LogDamage& damage) {
  FilesBeside files;
  for (const lsm::FamilyFiles& family : manifest.families) {
    if (family.oldest_needed_log <= damage.number) {
      files.behind = true;
    } else if (family.files > 0) {
      files.ahead = true;
    }
  }
  return files;
}

// What a crash leaves. A log is synced before a flush makes table files that have all of it, so
// that these do not stand beside others that lack its end.
bool IsTornTail(const LogDamage& damage, FilesBeside files) {
  return damage.kind == LogDamage::Kind::kCutOff && !damage.followed &&
         !(files.ahead && files.behind);
}

Status Check(const LogDamage& damage, FilesBeside files, rocksdb::WALRecoveryMode mode) {
  const bool torn = IsTornTail(damage, files);
  const std::string_view remedy =
      files.ahead
          ? "start once with rocksdb_wal_recovery_mode=3 to leave out what is damaged: recovery "
            "cannot go back to before it, as table files have later changes"
          : "start once with rocksdb_wal_recovery_mode=2 to go back to before the damage, or with "
            "3 to leave out what is damaged";
  switch (mode) {
    case rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords:
      return torn ? Status() : Refused(damage, remedy);
    case rocksdb::WALRecoveryMode::kAbsoluteConsistency:
      return Refused(damage, torn ? "start with rocksdb_wal_recovery_mode=0, which leaves out a "
                                    "record that a crash cut off"
                                  : remedy);
    case rocksdb::WALRecoveryMode::kPointInTimeRecovery:
      return torn || !files.ahead ? Status() : Refused(damage, remedy);
    case rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords:
      break;
  }
  return Status();
}

// File systems know the one way or the other.
Status CutOff(rocksdb::Env* env, const std::string& path, uint64_t size) {
  rocksdb::EnvOptions options;
  options.use_mmap_writes = false;
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status cut = env->ReopenWritableFile(path, &file, options);
  if (cut.IsNotSupported()) return FromRocksDb(env->Truncate(path, size));
  if (cut.ok()) cut = file->Truncate(size);
  if (cut.ok()) cut = file->Sync();
  if (cut.ok()) cut = file->Close();
  return FromRocksDb(cut);
}

// Leaves nothing of the logs behind `size` bytes of the one with this number. The newest goes
// first: after a crash in between, the damage is still found.
Status GoBackTo(rocksdb::Env* env, const Logs& logs, uint64_t number, uint64_t size, Log* log) {
  for (auto later = logs.rbegin(); later != logs.rend() && later->first > number; ++later) {
    uint64_t bytes = 0;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(env->GetFileSize(later->second, &bytes)));
    if (bytes == 0) continue;
    log->Write(Severity::kWarning,
               later->second + " is left out, as it follows (rocksdb_wal_recovery_mode=2)");
    CAIRN_RETURN_IF_ERROR(CutOff(env, later->second, 0));
  }
  return CutOff(env, logs.at(number), size);
}

Status SyncLogs(rocksdb::Env* env, const Logs& logs) {
  rocksdb::EnvOptions options;
  options.use_mmap_writes = false;
  for (const auto& [number, path] : logs) {
    std::unique_ptr<rocksdb::WritableFile> file;
    rocksdb::Status synced = env->ReopenWritableFile(path, &file, options);
    if (synced.IsNotSupported()) continue;
    if (synced.ok()) synced = file->Sync();
    if (synced.ok()) synced = file->Close();
    CAIRN_RETURN_IF_ERROR(FromRocksDb(synced).WithContext("syncing " + path));
  }
  return Status();
}

// RocksDB's reader has to get to the end of what it is to replay.
Status LetReadersPass(rocksdb::Env* env, const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const auto places, lsm::FindEndlessRecords(env, path));
  return lsm::EndRecords(env, path, places);
}

Result<std::vector<LogDamage>> FindDamage(rocksdb::Env* env, const Logs& logs) {
  std::vector<LogDamage> damages;
  for (const auto& [number, path] : logs) {
    CAIRN_ASSIGN_OR_RETURN(LogScan scan, LogScan::Open(env, path));
    CAIRN_RETURN_IF_ERROR(scan.Run().WithContext("reading " + path));
    if (scan.has_records()) {
      for (LogDamage& earlier : damages) earlier.followed = true;
    }
    if (!scan.found()) continue;
    scan.damage().number = number;
    damages.push_back(std::move(scan.damage()));
  }
  return damages;
}

}  // namespace

Result<std::vector<FoundLog>> FindLogs(rocksdb::Env* env, const std::string& directory) {
  CAIRN_ASSIGN_OR_RETURN(const auto logs, ListLogs(env, directory));
  std::vector<FoundLog> found;
  for (const auto& [number, path] : logs) {
    CAIRN_ASSIGN_OR_RETURN(LogScan scan, LogScan::Open(env, path));
    CAIRN_RETURN_IF_ERROR(scan.Run().WithContext("reading " + path));
    found.push_back({path, number, scan.has_changes()});
  }
  return found;
}

Result<std::vector<LogDamage>> FindLogDamage(rocksdb::Env* env, const std::string& directory) {
  CAIRN_ASSIGN_OR_RETURN(const auto logs, ListLogs(env, directory));
  return FindDamage(env, logs);
}

namespace {

// What was not cut off by a crash and is left out, if anything is.
Result<bool> LeaveOut(rocksdb::Env* env, const Logs& logs, const std::vector<LogDamage>& damages,
                      const lsm::Manifest& manifest, rocksdb::WALRecoveryMode mode, Log* log) {
  bool leaves_out = false;
  for (const LogDamage& damage : damages) {
    if (IsTornTail(damage, FilesBesideDamage(manifest, damage))) {
      log->Write(Severity::kNote, Described(damage) + ", which a crash cut off: it is left out");
    } else if (mode == rocksdb::WALRecoveryMode::kPointInTimeRecovery) {
      log->Write(
          Severity::kWarning,
          Described(damage) + ": all from there on is left out (rocksdb_wal_recovery_mode=2)");
      CAIRN_RETURN_IF_ERROR(GoBackTo(env, logs, damage.number, damage.offset, log)
                                .WithContext("cutting off the logs from " + damage.path + " on"));
      return true;
    } else {
      leaves_out = true;
      log->Write(Severity::kWarning,
                 Described(damage) + ": what is damaged is left out (rocksdb_wal_recovery_mode=3)");
    }
    if (damage.followed_here) {
      CAIRN_RETURN_IF_ERROR(LetReadersPass(env, damage.path));
      continue;
    }
    // A prepared transaction may keep the log for long, and later ones then follow it.
    CAIRN_RETURN_IF_ERROR(CutOff(env, damage.path, damage.offset)
                              .WithContext("cutting off the end of " + damage.path));
  }
  return leaves_out;
}

}  // namespace

Result<bool> PrepareLogs(rocksdb::Env* env, const LogPlaces& places, rocksdb::WALRecoveryMode mode,
                         Log* log, const std::function<Status()>& try_to_open) {
  CAIRN_ASSIGN_OR_RETURN(const Logs logs, ListLogs(env, places.logs));
  CAIRN_ASSIGN_OR_RETURN(std::vector<LogDamage> damages, FindDamage(env, logs));
  bool leaves_out = false;
  if (!damages.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const lsm::Manifest manifest, lsm::ReadManifest(env, places.database));
    // RocksDB does not read them, and removes them.
    std::erase_if(damages, [&](const LogDamage& damage) {
      return damage.number < manifest.oldest_needed_log;
    });
    bool goes_back = false;
    for (const LogDamage& damage : damages) {
      const FilesBeside files = FilesBesideDamage(manifest, damage);
      CAIRN_RETURN_IF_ERROR(Check(damage, files, mode));
      goes_back = goes_back || (mode == rocksdb::WALRecoveryMode::kPointInTimeRecovery &&
                                !IsTornTail(damage, files));
    }
    if (goes_back) CAIRN_RETURN_IF_ERROR(try_to_open());
    CAIRN_ASSIGN_OR_RETURN(leaves_out, LeaveOut(env, logs, damages, manifest, mode, log));
  }
  CAIRN_RETURN_IF_ERROR(SyncLogs(env, logs));
  return leaves_out;
}

}  // namespace cairn
