// The fuzz target of what looks at write-ahead logs and the manifest before RocksDB does
// (engine/store/log_check.h, engine/lsm/manifest.h, endless_record.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/crc32c.h"
#include "engine/base/log.h"
#include "engine/lsm/log_record.h"
#include "engine/lsm/manifest.h"
#include "engine/store/log_check.h"
#include "rocksdb/env.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/rocksdb_logs.h"
#include "tests/unit/codec/random.h"
#include "tests/unit/lsm/block_bytes.h"

namespace cairn::testing {
namespace {

using lsm::kLogBlockBytes;
using lsm::kRecordHeadBytes;
using lsm::kRecordTypeAt;
using rocksdb::WALRecoveryMode;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr uint8_t kReusedFull = 5;
constexpr uint8_t kPredecessor = 130;
constexpr size_t kPredecessorBytes = 24;
constexpr uint64_t kFirstNumber = 7;
constexpr char kDirectory[] = "/data";

class NoLog final : public Log {
 public:
  void Write(Severity, std::string_view) override {}
};

std::string LogPath(uint64_t number) {
  return std::string(kDirectory) + "/00000" + std::to_string(number) + ".log";
}

// A log as RocksDB writes it.
struct WrittenLog {
  uint64_t number = 0;
  std::string bytes;
  std::vector<size_t> begins;         // Of the parts of records.
  std::vector<std::string> contents;  // Of the records with changes.
  bool is_reused = false;

  // What is left of the last block.
  size_t Left() const { return kLogBlockBytes - bytes.size() % kLogBlockBytes; }

  // A record, or a part of one, that fits into the block.
  void AddPart(uint8_t type, std::string_view content) {
    begins.push_back(bytes.size());
    std::string checked(1, static_cast<char>(type));
    if (lsm::IsOfReusedFile(type)) lsm::Append(static_cast<uint32_t>(number), &checked);
    checked.append(content);
    const uint32_t crc = Crc32c(checked);
    lsm::Append((crc >> 15 | crc << 17) + 0xA282EAD8u, &bytes);
    lsm::Append(static_cast<uint16_t>(content.size()), &bytes);
    bytes.append(checked);
  }

  void Add(std::string_view content) {
    const size_t head = kRecordHeadBytes + (is_reused ? sizeof(uint32_t) : 0);
    contents.emplace_back(content);
    bool begins_record = true;
    do {
      if (Left() < head) bytes.append(Left(), '\0');
      const std::string_view part = content.substr(0, Left() - head);
      content.remove_prefix(part.size());
      const uint8_t type = content.empty() ? (begins_record ? lsm::kFull : lsm::kLast)
                                           : (begins_record ? lsm::kFirst : lsm::kMiddle);
      AddPart(is_reused ? static_cast<uint8_t>(type + kReusedFull - lsm::kFull) : type, part);
      begins_record = false;
    } while (!content.empty());
  }
};

// Records of a few bytes up to some blocks; some end where a block does.
WrittenLog SomeLog(uint64_t number, Random* random) {
  WrittenLog log;
  log.number = number;
  log.is_reused = random->Below(16) == 15;
  if (random->Below(8) == 7 && !log.is_reused) {
    log.AddPart(kPredecessor, std::string(kPredecessorBytes, 'p'));
  }
  for (size_t i = random->Below(8); i > 0; --i) {
    size_t bytes = random->Below(32);
    switch (random->Below(4)) {
      case 1:
        bytes *= 64;
        break;
      case 2:
        bytes = log.Left() - std::min(log.Left(), bytes);
        break;
      case 3:
        bytes *= 2048;
        break;
    }
    std::string content = std::to_string(number) + "." + std::to_string(i);
    content.resize(std::max(content.size(), bytes), static_cast<char>('a' + i));
    log.Add(content);
  }
  return log;
}

// What has become of the logs.
struct Changes {
  bool any = false;
  bool single_bit = true;  // Nothing more.
  bool displaced = false;  // Whole blocks lie where they were not written.
};

size_t SomePlace(const WrittenLog& log, Random* random) {
  const size_t size = log.bytes.size();
  switch (random->Below(4)) {
    case 0:
    case 1:
      if (!log.begins.empty()) {
        const size_t begin = log.begins[random->Below(log.begins.size())];
        return std::min(begin + random->Below(16), size - 1);
      }
      break;
    case 2:
      return size - 1 - std::min(size - 1, random->Below(256));
  }
  return random->Bits() % size;
}

// Mostly a few, else up to two blocks.
size_t SomeZeros(Random* random) {
  const size_t count = random->Below(256);
  return random->Below(2) == 0 ? count : 256 * count;
}

void Change(std::vector<WrittenLog>* logs, Random* random, Changes* changes) {
  WrittenLog& log = (*logs)[random->Below(logs->size())];
  std::string& bytes = log.bytes;
  if (bytes.empty()) return;
  const size_t place = SomePlace(log, random);
  const size_t kind = random->Below(5);
  changes->single_bit = kind == 0 && !changes->any;
  changes->any = true;
  switch (kind) {
    case 0:
      bytes[place] = static_cast<char>(bytes[place] ^ 1 << random->Below(8));
      break;
    case 1: {
      const size_t count = std::min(SomeZeros(random), bytes.size() - place);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(place), count, '\0');
      break;
    }
    case 2:
      bytes.resize(place);
      break;
    case 3:
      bytes.append(SomeZeros(random), '\0');
      break;
    default: {
      const WrittenLog& other = (*logs)[random->Below(logs->size())];
      const size_t blocks = other.bytes.size() / kLogBlockBytes;
      if (blocks == 0 || bytes.size() < kLogBlockBytes) return;
      const std::string block =
          other.bytes.substr(random->Below(blocks) * kLogBlockBytes, kLogBlockBytes);
      bytes.replace(place / kLogBlockBytes * kLogBlockBytes, kLogBlockBytes, block);
      changes->displaced = true;
    }
  }
}

// A manifest as RocksDB writes it, and what it says.
struct KnownManifest {
  WrittenLog file;
  lsm::Manifest content;
};

KnownManifest SomeManifest(Random* random) {
  struct Family {
    uint64_t oldest_needed_log = 0;
    std::set<uint64_t> files;
  };
  const auto some_log = [random] { return kFirstNumber - 1 + random->Below(5); };
  std::map<uint32_t, Family> families;
  KnownManifest manifest;
  uint64_t next_file = 100;
  for (size_t i = random->Below(8); i > 0; --i) {
    FamilyEdit edit;
    edit.family = static_cast<uint32_t>(random->Below(3));
    edit.drops_family = random->Below(16) == 15;
    if (edit.drops_family) {
      families.erase(edit.family);
      manifest.file.Add(ManifestRecord(edit));
      continue;
    }
    Family& family = families[edit.family];
    if (random->Below(2) == 1) {
      edit.oldest_needed_log = some_log();
      family.oldest_needed_log = std::max(family.oldest_needed_log, *edit.oldest_needed_log);
    }
    if (random->Below(8) == 7) {
      edit.oldest_log_of_all = some_log();
      manifest.content.oldest_needed_log =
          std::max(manifest.content.oldest_needed_log, *edit.oldest_log_of_all);
    }
    if (random->Below(4) == 3 && !family.files.empty()) {
      edit.removed_files.push_back(*family.files.begin());
      family.files.erase(family.files.begin());
    }
    for (size_t added = random->Below(3); added > 0; --added) {
      edit.added_files.push_back(next_file);
      family.files.insert(next_file++);
    }
    manifest.file.Add(ManifestRecord(edit));
  }
  for (const auto& [number, family] : families) {
    manifest.content.families.push_back({family.oldest_needed_log, family.files.size()});
  }
  return manifest;
}

class Directory {
 public:
  explicit Directory(const KnownManifest& manifest = {})
      : env_(rocksdb::NewMemEnv(rocksdb::Env::Default())), manifest_(manifest.content) {
    EXPECT_TRUE(env_->CreateDirIfMissing(kDirectory).ok());
    Write("CURRENT", "MANIFEST-000005\n");
    Write("MANIFEST-000005", manifest.file.bytes);
  }

  rocksdb::Env* env() const { return env_.get(); }
  const lsm::Manifest& manifest() const { return manifest_; }
  std::string Path(const std::string& name) const { return std::string(kDirectory) + "/" + name; }

  void Write(const std::string& name, std::string_view bytes) {
    const rocksdb::Status written = rocksdb::WriteStringToFile(
        env_.get(), rocksdb::Slice(bytes.data(), bytes.size()), Path(name));
    EXPECT_TRUE(written.ok()) << written.ToString();
  }
  void WriteLogs(const std::vector<WrittenLog>& logs) {
    for (const WrittenLog& log : logs) {
      const rocksdb::Status written =
          rocksdb::WriteStringToFile(env_.get(), log.bytes, LogPath(log.number));
      EXPECT_TRUE(written.ok()) << written.ToString();
    }
  }
  bool Holds(const std::vector<WrittenLog>& logs) const {
    return std::all_of(logs.begin(), logs.end(), [this](const WrittenLog& log) {
      std::string bytes;
      EXPECT_TRUE(rocksdb::ReadFileToString(env_.get(), LogPath(log.number), &bytes).ok());
      return bytes == log.bytes;
    });
  }

  std::vector<LogDamage> FindDamage() const {
    auto damages = FindLogDamage(env_.get(), kDirectory);
    EXPECT_TRUE(damages.ok()) << damages.status().ToString();
    for (const LogDamage& damage : *damages) EXPECT_LE(damage.offset, damage.size);
    return std::move(damages).value();
  }

 private:
  const std::unique_ptr<rocksdb::Env> env_;
  const lsm::Manifest manifest_;
};

bool IsPrefix(const std::vector<std::string>& records, const std::vector<std::string>& all) {
  return records.size() <= all.size() && std::equal(records.begin(), records.end(), all.begin());
}

bool IsDamaged(const WrittenLog& log, const std::vector<LogDamage>& damages) {
  return std::any_of(damages.begin(), damages.end(),
                     [&](const LogDamage& damage) { return damage.path == LogPath(log.number); });
}

// Of logs in which no damage is found RocksDB reads what was written, without a report.
void CheckSilence(const Directory& directory, const std::vector<WrittenLog>& logs,
                  const Changes& changes, const std::vector<LogDamage>& damages) {
  for (const WrittenLog& log : logs) {
    if (IsDamaged(log, damages)) continue;
    const LogContent read = ReadLog(directory.env(), LogPath(log.number), log.number,
                                    WALRecoveryMode::kTolerateCorruptedTailRecords);
    // What lies behind the end of a reused file is older.
    if (!log.is_reused) {
      EXPECT_THAT(read.reports, IsEmpty());
    }
    if (changes.displaced) continue;
    EXPECT_TRUE(IsPrefix(read.records, log.contents));
    if (!changes.any || (changes.single_bit && !log.is_reused)) {
      EXPECT_EQ(read.records.size(), log.contents.size());
    }
  }
}

// Whether a crash may have cut off what is damaged: nothing follows it, neither in logs nor in
// files beside others that have not come so far.
bool IsTorn(const LogDamage& damage, const lsm::Manifest& manifest) {
  bool ahead = false;
  bool behind = false;
  for (const lsm::FamilyFiles& family : manifest.families) {
    ahead = ahead || (family.oldest_needed_log > damage.number && family.files > 0);
    behind = behind || family.oldest_needed_log <= damage.number;
  }
  return damage.kind == LogDamage::Kind::kCutOff && !damage.followed && !(ahead && behind);
}

bool FilesAreAhead(const LogDamage& damage, const lsm::Manifest& manifest) {
  return std::any_of(manifest.families.begin(), manifest.families.end(),
                     [&](const lsm::FamilyFiles& family) {
                       return family.oldest_needed_log > damage.number && family.files > 0;
                     });
}

// What `mode` says of damage in logs that are read.
bool IsRefused(const LogDamage& damage, const lsm::Manifest& manifest, WALRecoveryMode mode) {
  switch (mode) {
    case WALRecoveryMode::kTolerateCorruptedTailRecords:
      return !IsTorn(damage, manifest);
    case WALRecoveryMode::kAbsoluteConsistency:
      return true;
    case WALRecoveryMode::kPointInTimeRecovery:
      return !IsTorn(damage, manifest) && FilesAreAhead(damage, manifest);
    case WALRecoveryMode::kSkipAnyCorruptedRecords:
      break;
  }
  return false;
}

// What RocksDB reads of the logs by `mode`, after a start has let them pass.
void CheckReads(const Directory& directory, const std::vector<WrittenLog>& logs,
                const Changes& changes, const std::vector<LogDamage>& damages,
                WALRecoveryMode mode) {
  bool is_behind = false;
  for (const WrittenLog& written : logs) {
    if (written.number < directory.manifest().oldest_needed_log) continue;
    const LogContent read = ReadLog(directory.env(), LogPath(written.number), written.number, mode);
    if (changes.displaced) continue;
    if (mode == WALRecoveryMode::kSkipAnyCorruptedRecords) {
      for (const std::string& record : read.records) {
        EXPECT_THAT(written.contents, Contains(record));
      }
      continue;
    }
    EXPECT_TRUE(IsPrefix(read.records, written.contents));
    if (is_behind) {
      EXPECT_THAT(read.records, IsEmpty());
    }
    if (mode == WALRecoveryMode::kTolerateCorruptedTailRecords && changes.single_bit &&
        !written.is_reused) {
      EXPECT_EQ(read.records.size(), written.contents.size());
    }
    is_behind = is_behind || IsDamaged(written, damages);
  }
}

// What a start by `mode` leaves of them, where an attempt to open the database gives `trial`.
void CheckStart(Directory* directory, const std::vector<WrittenLog>& logs, const Changes& changes,
                std::vector<LogDamage> damages, WALRecoveryMode mode, const Status& trial) {
  const lsm::Manifest& manifest = directory->manifest();
  const auto is_read = [&](const LogDamage& damage) {
    return damage.number >= manifest.oldest_needed_log;
  };
  std::erase_if(damages, [&](const LogDamage& damage) { return !is_read(damage); });
  const bool leaves_out = std::any_of(damages.begin(), damages.end(),
                                      [&](const LogDamage& it) { return !IsTorn(it, manifest); });
  const bool is_refused = std::any_of(damages.begin(), damages.end(), [&](const LogDamage& damage) {
    return IsRefused(damage, manifest, mode);
  });
  const bool needs_trial = leaves_out && mode == WALRecoveryMode::kPointInTimeRecovery;
  NoLog log;
  const Result<bool> prepared =
      PrepareLogs(directory->env(), {.database = kDirectory, .logs = kDirectory}, mode, &log, [&] {
        EXPECT_TRUE(needs_trial);
        EXPECT_TRUE(directory->Holds(logs));
        return trial;
      });
  if (is_refused || (needs_trial && !trial.ok())) {
    EXPECT_EQ(prepared.status().code(), is_refused ? StatusCode::kCorruption : trial.code());
    EXPECT_TRUE(directory->Holds(logs));
    return;
  }
  ASSERT_TRUE(prepared.ok()) << prepared.status().ToString();
  EXPECT_EQ(*prepared, leaves_out);
  if (damages.empty()) {
    EXPECT_TRUE(directory->Holds(logs));
  }
  for (const LogDamage& left : directory->FindDamage()) {
    if (!is_read(left)) continue;
    EXPECT_EQ(mode, WALRecoveryMode::kSkipAnyCorruptedRecords) << left.path;
    EXPECT_TRUE(left.followed) << left.path;
  }
  CheckReads(*directory, logs, changes, damages, mode);
}

Status SomeTrial(Random* random) {
  return random->Below(4) == 3 ? Status(StatusCode::kIoError, "the trial") : Status();
}

// Logs to which something has happened.
void CheckChangedLogs(Random* random) {
  std::vector<WrittenLog> logs;
  for (size_t i = 0, count = random->Between(1, 3); i < count; ++i) {
    logs.push_back(SomeLog(kFirstNumber + i, random));
  }
  Changes changes;
  for (size_t i = random->Below(4); i > 0; --i) Change(&logs, random, &changes);

  Directory directory(random->Below(2) == 1 ? SomeManifest(random) : KnownManifest());
  directory.WriteLogs(logs);
  const auto damages = directory.FindDamage();
  if (!changes.any) {
    EXPECT_THAT(damages, IsEmpty());
  }
  CheckSilence(directory, logs, changes, damages);
  const auto mode = static_cast<WALRecoveryMode>(random->Below(4));
  CheckStart(&directory, logs, changes, damages, mode, SomeTrial(random));
}

// Parts of records of any type in any order, all whole.
void CheckAnyParts(Random* random) {
  WrittenLog log;
  log.number = kFirstNumber;
  std::string begun;
  for (size_t i = random->Below(16); i > 0; --i) {
    constexpr uint8_t kCompression = 9;
    constexpr uint8_t kTimestampSizes = 10;
    auto type = static_cast<uint8_t>(random->Below(3) == 2 ? random->Below(256)
                                                           : lsm::kFull + random->Below(4));
    // RocksDB looks at what these have, and of no type nothing is whole.
    if (type == kCompression || type == kTimestampSizes || type == lsm::kZero) type = kPredecessor;
    std::string content(random->Below(40), static_cast<char>('a' + i));
    if (type == kPredecessor) content.resize(kPredecessorBytes, 'p');
    if (log.bytes.empty()) log.is_reused = lsm::IsOfReusedFile(type);
    log.AddPart(type, content);
    if (type == lsm::kFull) log.contents.push_back(content);
    if (type == lsm::kFirst) begun = content;
    if (type == lsm::kMiddle || type == lsm::kLast) begun += content;
    if (type == lsm::kLast) log.contents.push_back(begun);
  }
  Directory directory;
  directory.WriteLogs({log});
  const auto damages = directory.FindDamage();
  if (!log.is_reused) CheckSilence(directory, {log}, Changes{}, damages);
  const Changes unknown{.any = true, .single_bit = false, .displaced = true};
  const auto mode = static_cast<WALRecoveryMode>(random->Below(4));
  CheckStart(&directory, {log}, unknown, damages, mode, SomeTrial(random));
}

void CheckAnyLog(std::string_view bytes) {
  Directory directory;
  WrittenLog log;
  log.number = kFirstNumber;
  log.bytes = bytes;
  directory.WriteLogs({log});
  const auto damages = directory.FindDamage();
  const auto found = FindLogs(directory.env(), kDirectory);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  const Changes unknown{.any = true, .single_bit = false, .displaced = true};
  for (const auto mode :
       {WALRecoveryMode::kAbsoluteConsistency, WALRecoveryMode::kTolerateCorruptedTailRecords,
        WALRecoveryMode::kSkipAnyCorruptedRecords, WALRecoveryMode::kPointInTimeRecovery}) {
    directory.WriteLogs({log});
    CheckStart(&directory, {log}, unknown, damages, mode, Status());
  }
}

// A manifest with these bytes either says what it has or why not, and RocksDB's reader, which gets
// to its end, finds damage in no other.
void CheckManifestBytes(std::string_view bytes) {
  Directory directory;
  directory.Write("MANIFEST-000005", bytes);
  const Status checked = lsm::CheckManifest(directory.env(), kDirectory);
  const auto content = lsm::ReadManifest(directory.env(), kDirectory);
  if (!checked.ok()) {
    EXPECT_EQ(checked.code(), StatusCode::kCorruption);
    EXPECT_FALSE(content.ok());
    return;
  }
  const LogContent read = ReadLog(directory.env(), directory.Path("MANIFEST-000005"), 0,
                                  WALRecoveryMode::kTolerateCorruptedTailRecords);
  if (!content.ok()) {
    EXPECT_FALSE(content.status().message().empty());
  } else {
    EXPECT_THAT(read.reports, IsEmpty());
  }
}

// A manifest of whole records with these contents, each behind its size, but for a bit or none.
void CheckManifestRecords(std::string_view input) {
  const std::string_view head = input.substr(0, 4);
  input.remove_prefix(head.size());
  WrittenLog manifest;
  while (!input.empty()) {
    const size_t bytes = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    manifest.Add(input.substr(0, bytes));
    input.remove_prefix(std::min(bytes, input.size()));
  }
  Random random(head);
  if (random.Below(2) == 1 && !manifest.bytes.empty()) {
    const size_t begin = manifest.begins[random.Below(manifest.begins.size())];
    char& byte = manifest.bytes[begin + random.Below(kRecordHeadBytes)];
    byte = static_cast<char>(byte ^ 1 << random.Below(8));
  }
  CheckManifestBytes(manifest.bytes);
}

std::vector<std::pair<uint64_t, uint64_t>> LogsAndFiles(const lsm::Manifest& manifest) {
  std::vector<std::pair<uint64_t, uint64_t>> families;
  for (const lsm::FamilyFiles& family : manifest.families) {
    families.emplace_back(family.oldest_needed_log, family.files);
  }
  return families;
}

// What RocksDB writes is read as it is meant.
void CheckKnownManifest(Random* random) {
  const KnownManifest manifest = SomeManifest(random);
  const Directory directory(manifest);
  const auto content = lsm::ReadManifest(directory.env(), kDirectory);
  ASSERT_TRUE(content.ok()) << content.status().ToString();
  EXPECT_EQ(content->oldest_needed_log, manifest.content.oldest_needed_log);
  EXPECT_THAT(LogsAndFiles(*content), UnorderedElementsAreArray(LogsAndFiles(manifest.content)));
}

void CheckCurrent(std::string_view text) {
  Directory directory;
  directory.Write("CURRENT", text);
  EXPECT_TRUE(lsm::CheckManifest(directory.env(), kDirectory).ok());
  const auto content = lsm::ReadManifest(directory.env(), kDirectory);
  EXPECT_TRUE(content.ok() || !content.status().message().empty());
}

}  // namespace

void CheckInput(uint8_t kind, std::string_view input) {
  Random random(input);
  switch (kind % 8) {
    case 0:
      CheckAnyLog(input);
      break;
    case 1:
      CheckAnyParts(&random);
      break;
    case 2:
      CheckManifestBytes(input);
      break;
    case 3:
      CheckManifestRecords(input);
      break;
    case 4:
      CheckCurrent(input);
      break;
    case 5:
      CheckKnownManifest(&random);
      break;
    default:
      CheckChangedLogs(&random);
  }
}

}  // namespace cairn::testing
