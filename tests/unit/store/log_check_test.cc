#include "engine/store/log_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/base/crc32c.h"
#include "engine/store/database.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using rocksdb::WALRecoveryMode;
using ::testing::HasSubstr;

constexpr int kRows = 12;
constexpr size_t kBlockBytes = 32 * 1024;
constexpr size_t kSectorBytes = 512;
constexpr size_t kTypeAt = 6;  // In a record.

// Some rows fill blocks of the log, or cross them.
std::string ValueOf(int row) {
  return std::string(row % 4 == 3 ? 70'000 + row : 500 * row + 1, 'x');
}

std::string KeyOf(int row) { return "row" + std::to_string(100 + row); }

std::string WholeRecord(uint8_t type, const std::string& content) {
  const std::string record = static_cast<char>(type) + content;
  const uint32_t crc = Crc32c(record);
  const uint32_t masked = (crc >> 15 | crc << 17) + 0xA282EAD8u;
  std::string head(reinterpret_cast<const char*>(&masked), sizeof masked);
  head.push_back(static_cast<char>(content.size() & 0xFF));
  head.push_back(static_cast<char>(content.size() >> 8));
  return head + record;
}

// A database of which a crash left nothing but the log.
class Logs : public ::testing::Test {
 protected:
  Logs() {
    const auto database = disk_.Open();
    for (int row = 0; row < kRows; ++row) {
      EXPECT_TRUE(database->rocksdb()
                      ->Put(rocksdb::WriteOptions(), database->default_family().handle, KeyOf(row),
                            ValueOf(row))
                      .ok());
      ends_.push_back(Size(NewestLog()));
    }
    log_ = NewestLog();
    good_ = Read(log_);
    for (const std::string& name : Children()) files_.emplace_back(name, Read("/memory/" + name));
  }

  std::vector<std::string> Children() {
    std::vector<std::string> names;
    EXPECT_TRUE(disk_.env()->GetChildren("/memory", &names).ok());
    std::erase_if(names, [](const std::string& name) {
      return name == "LOCK" || name.starts_with("LOG") || name.front() == '.';
    });
    return names;
  }

  std::string NewestLog() {
    std::string newest;
    for (const std::string& name : Children()) {
      if (name.ends_with(".log")) newest = std::max(newest, "/memory/" + name);
    }
    return newest;
  }

  uint64_t Size(const std::string& path) {
    uint64_t size = 0;
    EXPECT_TRUE(disk_.env()->GetFileSize(path, &size).ok());
    return size;
  }

  std::string Read(const std::string& path) {
    std::string bytes;
    EXPECT_TRUE(rocksdb::ReadFileToString(disk_.env(), path, &bytes).ok());
    return bytes;
  }

  void Write(const std::string& path, const std::string& bytes) {
    EXPECT_TRUE(rocksdb::WriteStringToFile(disk_.env(), bytes, path).ok());
  }

  // The directory as the crash left it, but for the log.
  void Restore(const std::string& log) {
    for (const std::string& name : Children()) {
      EXPECT_TRUE(disk_.env()->DeleteFile("/memory/" + name).ok());
    }
    for (const auto& [name, bytes] : files_) Write("/memory/" + name, bytes);
    Write(log_, log);
  }

  Result<std::unique_ptr<Database>> Open(WALRecoveryMode mode) {
    DatabaseOptions options = disk_.Options();
    options.db.wal_recovery_mode = mode;
    return Database::Open(std::move(options), &disk_.log());
  }

  // Whether changes are left out.
  Result<bool> Prepare(WALRecoveryMode mode) {
    return PrepareLogs(disk_.env(), {.database = "/memory", .logs = "/memory"}, mode, &disk_.log(),
                       [] { return Status(); });
  }

  static std::vector<int> RowsIn(Database& database) {
    std::vector<int> rows;
    for (int row = 0; row < kRows; ++row) {
      std::string value;
      const rocksdb::Status found = database.rocksdb()->Get(
          rocksdb::ReadOptions(), database.default_family().handle, KeyOf(row), &value);
      if (!found.ok()) continue;
      EXPECT_EQ(value, ValueOf(row));
      rows.push_back(row);
    }
    return rows;
  }

  // The rows before a byte of the log.
  std::vector<int> RowsBefore(uint64_t byte) const {
    std::vector<int> rows;
    for (int row = 0; row < kRows && ends_[static_cast<size_t>(row)] <= byte; ++row) {
      rows.push_back(row);
    }
    return rows;
  }

  // Bytes of interest: around the ends of records and of blocks, and some others.
  std::vector<uint64_t> Positions() const {
    std::vector<uint64_t> positions;
    const auto add_around = [&](uint64_t byte) {
      for (uint64_t at = byte < 9 ? 0 : byte - 9; at < byte + 9; ++at) positions.push_back(at);
    };
    for (const int row : {0, 2, 3, 6, 7, kRows - 2, kRows - 1}) {
      add_around(ends_[static_cast<size_t>(row)]);
    }
    for (uint64_t byte = kBlockBytes; byte < good_.size(); byte += kBlockBytes) add_around(byte);
    std::mt19937 chance(4711);
    for (int i = 0; i < 20; ++i) positions.push_back(chance());
    for (uint64_t& position : positions) position %= good_.size();
    return positions;
  }

  MemoryDisk disk_;
  std::string log_;
  std::string good_;
  std::vector<uint64_t> ends_;  // Of the rows, in the log.
  std::vector<std::pair<std::string, std::string>> files_;
};

TEST_F(Logs, ThatAreWholeHaveNoDamage) {
  const auto damages = FindLogDamage(disk_.env(), "/memory");
  ASSERT_TRUE(damages.ok());
  EXPECT_TRUE(damages->empty());
}

TEST_F(Logs, CutOffAnywhereGiveTheWholeRowsBefore) {
  for (const uint64_t position : Positions()) {
    SCOPED_TRACE(position);
    Restore(good_.substr(0, position));
    const auto database = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    EXPECT_EQ(RowsIn(**database), RowsBefore(position));
  }
}

// A file system fills up sectors, or what follows the end of a record.
TEST_F(Logs, ZeroFilledGiveTheWholeRowsBefore) {
  std::vector<uint64_t> positions = Positions();
  for (uint64_t& position : positions) position -= position % kSectorBytes;
  positions.insert(positions.end(), ends_.begin(), ends_.end() - 1);
  for (const uint64_t position : positions) {
    SCOPED_TRACE(position);
    std::string filled = good_;
    std::fill(filled.begin() + static_cast<std::ptrdiff_t>(position), filled.end(), '\0');
    Restore(filled);
    for (const auto mode :
         {WALRecoveryMode::kTolerateCorruptedTailRecords, WALRecoveryMode::kPointInTimeRecovery}) {
      const auto database = Open(mode);
      ASSERT_TRUE(database.ok()) << database.status().ToString();
      EXPECT_EQ(RowsIn(**database), RowsBefore(position));
    }
  }
}

TEST_F(Logs, WithAnAlteredByteAreRefusedUntouched) {
  for (const uint64_t position : Positions()) {
    SCOPED_TRACE(position);
    for (const char flip : {'\x01', '\x80'}) {
      std::string altered = good_;
      altered[position] = static_cast<char>(altered[position] ^ flip);
      Restore(altered);
      const auto database = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
      if (database.ok()) {  // The byte was one of those that fill up a block.
        EXPECT_EQ(RowsIn(**database).size(), static_cast<size_t>(kRows));
        continue;
      }
      EXPECT_EQ(database.status().code(), StatusCode::kCorruption);
      EXPECT_THAT(database.status().ToString(), HasSubstr(log_));
      EXPECT_THAT(database.status().ToString(), HasSubstr("rocksdb_wal_recovery_mode"));
      EXPECT_EQ(Read(log_), altered);
      EXPECT_EQ(Children().size(), files_.size());
    }
  }
}

// The length of a value that is not there is a zero at the end of what a statement writes.
TEST_F(Logs, WhoseLastRecordEndsInZerosAndHasAnAlteredByteAreRefusedUntouched) {
  const std::string before = good_.substr(0, ends_[0]);
  for (const size_t zeros : {1, 4}) {
    const std::string log =
        before + WholeRecord(1, std::string(700, 'x') + std::string(zeros, '\0'));
    Restore(log);
    EXPECT_TRUE(FindLogDamage(disk_.env(), "/memory")->empty());
    for (size_t byte = before.size(); byte < log.size(); ++byte) {
      SCOPED_TRACE(byte);
      std::string altered = log;
      altered[byte] ^= 1;
      Restore(altered);
      EXPECT_EQ(Prepare(WALRecoveryMode::kTolerateCorruptedTailRecords).status().code(),
                StatusCode::kCorruption);
      EXPECT_EQ(Read(log_), altered);
    }
  }
}

// With one bit of it RocksDB takes the log for a reused file of which nothing has been written yet.
TEST_F(Logs, WithADamagedTypeOfTheFirstRecordAreRefused) {
  for (int bit = 0; bit < 8; ++bit) {
    SCOPED_TRACE(bit);
    std::string altered = good_;
    altered[kTypeAt] = static_cast<char>(altered[kTypeAt] ^ 1 << bit);
    Restore(altered);
    EXPECT_EQ(Open(WALRecoveryMode::kTolerateCorruptedTailRecords).status().code(),
              StatusCode::kCorruption);
    EXPECT_EQ(Read(log_), altered);
  }
}

TEST_F(Logs, WithZerosInTheMiddleAreRefusedOrGoneBackBehind) {
  for (const uint64_t position : Positions()) {
    if (position + 600 > ends_[kRows - 2]) continue;
    SCOPED_TRACE(position);
    std::string altered = good_;
    altered.replace(position, 512, 512, '\0');
    Restore(altered);
    const auto database = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
    ASSERT_FALSE(database.ok());
    EXPECT_THAT(database.status().ToString(), HasSubstr("later transactions follow"));
    EXPECT_EQ(Read(log_), altered);
    const auto back = Open(WALRecoveryMode::kPointInTimeRecovery);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(RowsIn(**back), RowsBefore(position));
  }
}

// Without this RocksDB would take the rows of the later log for those that follow.
TEST_F(Logs, ThatFollowDamageAreLeftOutWhereRecoveryGoesBack) {
  for (const bool zeros : {false, true}) {
    SCOPED_TRACE(zeros);
    std::string altered = good_.substr(0, ends_[10]);
    if (zeros) {
      const auto begin = altered.begin() + static_cast<std::ptrdiff_t>(ends_[4]);
      std::fill(begin, begin + 512, '\0');
    } else {
      altered[ends_[4] + 20] ^= 1;
    }
    Restore(altered);
    std::string later = log_;
    later[later.size() - 5] = '9';
    Write(later, good_);
    EXPECT_EQ(Open(WALRecoveryMode::kTolerateCorruptedTailRecords).status().code(),
              StatusCode::kCorruption);
    EXPECT_EQ(Read(later), good_);
    {
      const auto back = Open(WALRecoveryMode::kPointInTimeRecovery);
      ASSERT_TRUE(back.ok()) << back.status().ToString();
      EXPECT_EQ(RowsIn(**back), (std::vector<int>{0, 1, 2, 3, 4}));
    }
    const auto again = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ(RowsIn(**again), (std::vector<int>{0, 1, 2, 3, 4}));
  }
}

TEST_F(Logs, AreRecoveredByTheModeThatTheyAreOpenedWith) {
  std::string altered = good_;
  altered[ends_[4] + 20] ^= 1;  // In row 5.
  Restore(altered);
  EXPECT_EQ(Open(WALRecoveryMode::kTolerateCorruptedTailRecords).status().code(),
            StatusCode::kCorruption);
  EXPECT_EQ(Open(WALRecoveryMode::kAbsoluteConsistency).status().code(), StatusCode::kCorruption);
  {
    const auto back = Open(WALRecoveryMode::kPointInTimeRecovery);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(RowsIn(**back), (std::vector<int>{0, 1, 2, 3, 4}));
  }
  Restore(altered);
  const auto skipped = Open(WALRecoveryMode::kSkipAnyCorruptedRecords);
  ASSERT_TRUE(skipped.ok()) << skipped.status().ToString();
  EXPECT_THAT(RowsIn(**skipped), ::testing::Not(::testing::Contains(5)));
  EXPECT_THAT(RowsIn(**skipped), ::testing::Contains(kRows - 1));
}

// RocksDB's reader would stay for ever at a record that says that it is one of a reused file.
TEST_F(Logs, WithADamagedTypeAreReplayedWithoutTheRecord) {
  std::string altered = good_;
  altered[ends_[4] + kTypeAt] ^= 4;
  Restore(altered);
  const auto database = Open(WALRecoveryMode::kSkipAnyCorruptedRecords);
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_THAT(RowsIn(**database), ::testing::Not(::testing::Contains(5)));
  EXPECT_THAT(RowsIn(**database), ::testing::Contains(kRows - 1));
}

TEST_F(Logs, OfADatabaseWhoseManifestDoesNotEndAreNotReplayed) {
  Restore(good_);
  std::string current = Read("/memory/CURRENT");
  current.pop_back();
  const std::string manifest = "/memory/" + current;
  std::string altered = Read(manifest);
  const size_t second = 7 + static_cast<uint8_t>(altered[4]);
  altered[second + kTypeAt] ^= 4;
  Write(manifest, altered);
  const auto database = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.status().code(), StatusCode::kCorruption);
  EXPECT_THAT(database.status().ToString(), HasSubstr(manifest));
}

// RocksDB stops there, or gives a record that lacks its begin.
TEST_F(Logs, WithWholeRecordsWhereNoneOfTheirTypeIsWrittenAreRefused) {
  const auto about_log = [](uint8_t type) { return WholeRecord(type, std::string(24, 'x')); };
  const std::string first = good_.substr(0, ends_[0]);
  // The third row's last part lies behind it.
  const std::string parts = good_.substr(0, 2 * kBlockBytes);
  for (const std::string& altered :
       {first + about_log(9), first + about_log(12), first + about_log(131), first + about_log(132),
        parts + about_log(130) + good_.substr(parts.size())}) {
    Restore(altered);
    EXPECT_EQ(FindLogDamage(disk_.env(), "/memory")->size(), 1u);
    EXPECT_EQ(Prepare(WALRecoveryMode::kTolerateCorruptedTailRecords).status().code(),
              StatusCode::kCorruption);
  }
  for (const uint8_t type : {130, 200}) {
    Restore(first + about_log(type));
    EXPECT_TRUE(FindLogDamage(disk_.env(), "/memory")->empty());
  }
}

// A log that a prepared transaction keeps is looked at again by later starts, with others behind
// it.
TEST_F(Logs, WhoseEndWasLeftOutAreWholeForLaterStarts) {
  for (const auto mode :
       {WALRecoveryMode::kPointInTimeRecovery, WALRecoveryMode::kSkipAnyCorruptedRecords}) {
    for (const bool zeros : {false, true}) {
      // The last row is in one piece.
      std::string altered = good_.substr(0, ends_[10]);
      if (zeros) {
        const auto begin = altered.begin() + static_cast<std::ptrdiff_t>(ends_[9]);
        std::fill(begin, begin + 512, '\0');
      } else {
        altered[ends_[9] + 20] ^= 1;
      }
      Restore(altered);
      ASSERT_EQ(FindLogDamage(disk_.env(), "/memory")->size(), 1u);
      ASSERT_TRUE(*Prepare(mode));
      EXPECT_EQ(Read(log_), good_.substr(0, ends_[9]));
      EXPECT_TRUE(FindLogDamage(disk_.env(), "/memory")->empty());
    }
  }
}

TEST_F(Logs, WithDamageThatTransactionsFollowAreNotCutOffWhereTheseAreKept) {
  std::string altered = good_;
  altered[ends_[4] + 20] ^= 1;
  Restore(altered);
  ASSERT_TRUE(*Prepare(WALRecoveryMode::kSkipAnyCorruptedRecords));
  EXPECT_EQ(Read(log_), altered);
}

// So that later starts do not meet it, however long a prepared transaction keeps the log.
TEST_F(Logs, WithDamageAtTheirEndAreCutOffBeforeLaterOnes) {
  std::string altered = good_.substr(0, ends_[10]);
  altered[ends_[9] + 20] ^= 1;
  Restore(altered);
  std::string later = log_;
  later[later.size() - 5] = '9';
  Write(later, good_.substr(0, ends_[0]));
  ASSERT_TRUE(*Prepare(WALRecoveryMode::kSkipAnyCorruptedRecords));
  EXPECT_EQ(Read(log_), good_.substr(0, ends_[9]));
  EXPECT_EQ(Read(later), good_.substr(0, ends_[0]));
  EXPECT_FALSE(*Prepare(WALRecoveryMode::kAbsoluteConsistency));
}

TEST_F(Logs, CutOffAreRefusedWhereNothingMayBeLost) {
  Restore(good_.substr(0, good_.size() - 1));
  const auto database = Open(WALRecoveryMode::kAbsoluteConsistency);
  ASSERT_FALSE(database.ok());
  EXPECT_THAT(database.status().ToString(), HasSubstr("rocksdb_wal_recovery_mode=0"));
  EXPECT_EQ(Read(log_).size(), good_.size() - 1);
}

// RocksDB would take the older one for a tail that a crash cut off.
TEST_F(Logs, CutOffBeforeLaterOnesAreRefused) {
  Restore(good_.substr(0, ends_[5] + 3));
  std::string later = log_;
  later[later.size() - 5] = '9';
  Write(later, good_.substr(0, ends_[0]));
  const auto database = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
  ASSERT_FALSE(database.ok());
  EXPECT_THAT(database.status().ToString(), HasSubstr(log_));
  EXPECT_EQ(Read(log_).size(), ends_[5] + 3);
}

TEST_F(Logs, CutOffBeforeAnEmptyOneAreTheTail) {
  Restore(good_.substr(0, ends_[5] + 3));
  std::string later = log_;
  later[later.size() - 5] = '9';
  Write(later, "");
  const auto database = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_EQ(RowsIn(**database).size(), 6u);
}

TEST_F(Logs, CutOffBeforeADamagedOneStayAsTheyAreWhereTheDatabaseCannotBeOpened) {
  const std::string cut_off = good_.substr(0, good_.size() - 1);
  Restore(cut_off);
  std::string damaged = good_.substr(0, ends_[0]);
  damaged[20] ^= 1;
  Write("/memory/999999.log", damaged);
  const auto prepared = PrepareLogs(disk_.env(), {.database = "/memory", .logs = "/memory"},
                                    WALRecoveryMode::kPointInTimeRecovery, &disk_.log(), [] {
                                      return Status(StatusCode::kIoError, "a file is missing");
                                    });
  EXPECT_EQ(prepared.status().code(), StatusCode::kIoError);
  EXPECT_EQ(Read(log_), cut_off);
}

TEST_F(Logs, OfADirectoryInUseAreLeftAlone) {
  Restore(good_.substr(0, good_.size() - 1));
  rocksdb::FileLock* lock = nullptr;
  ASSERT_TRUE(disk_.env()->LockFile("/memory/LOCK", &lock).ok());
  const auto database = Open(WALRecoveryMode::kTolerateCorruptedTailRecords);
  EXPECT_FALSE(database.ok());
  EXPECT_EQ(Read(log_).size(), good_.size() - 1);
  ASSERT_TRUE(disk_.env()->UnlockFile(lock).ok());
}

// Transactions of two column families of which the one is written out, and the other has its
// changes in the older log alone.
class LogsBesideFiles : public Logs {
 protected:
  LogsBesideFiles() {
    Restore("");
    const auto database = disk_.Open();
    for (const int row : {0, 1, 2}) {
      rocksdb::WriteBatch batch;
      EXPECT_TRUE(batch.Put(database->default_family().handle, KeyOf(row), ValueOf(row)).ok());
      EXPECT_TRUE(batch.Put(database->system_family().handle, KeyOf(row), "").ok());
      EXPECT_TRUE(database->rocksdb()->Write(rocksdb::WriteOptions(), &batch).ok());
      log_ = NewestLog();
      ends_[static_cast<size_t>(row)] = Size(log_);
    }
    EXPECT_TRUE(database->rocksdb()
                    ->Flush(rocksdb::FlushOptions(), database->default_family().handle)
                    .ok());
    EXPECT_NE(NewestLog(), log_);
    good_ = Read(log_);
    files_.clear();
    for (const std::string& name : Children()) files_.emplace_back(name, Read("/memory/" + name));
  }
};

TEST_F(LogsBesideFiles, StartWhenTheyAreWhole) {
  Restore(good_);
  const auto database = Open(WALRecoveryMode::kAbsoluteConsistency);
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_EQ(RowsIn(**database), (std::vector<int>{0, 1, 2}));
}

TEST_F(LogsBesideFiles, ThatRocksDbDoesNotReadAreNotJudged) {
  Restore(good_);
  {
    const auto database = disk_.Open();
    for (const ColumnFamily* family : database->families().All()) {
      ASSERT_TRUE(database->rocksdb()
                      ->Put(rocksdb::WriteOptions(), family->handle, KeyOf(3), ValueOf(3))
                      .ok());
    }
    ASSERT_TRUE(database->maintenance().FlushMemtables().ok());  // Removes the older logs.
  }
  Write(log_, good_.substr(0, ends_[1] + 3) + std::string(600, 'x'));
  const auto database = Open(WALRecoveryMode::kAbsoluteConsistency);
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_EQ(RowsIn(**database), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(LogsBesideFiles, StayAsTheyAreWhereTheDatabaseCannotBeOpened) {
  Restore(good_);
  {
    const auto database = disk_.Open();
    ASSERT_TRUE(database->maintenance().FlushMemtables().ok());
    ASSERT_TRUE(
        database->rocksdb()
            ->Put(rocksdb::WriteOptions(), database->default_family().handle, KeyOf(3), ValueOf(3))
            .ok());
    log_ = NewestLog();
  }
  std::string altered = Read(log_);
  altered[20] ^= 1;
  Write(log_, altered);
  std::string missing;
  for (const std::string& name : Children()) {
    if (name.ends_with(".sst")) missing = "/memory/" + name;
  }
  const std::string file = Read(missing);
  ASSERT_TRUE(disk_.env()->DeleteFile(missing).ok());
  EXPECT_FALSE(Open(WALRecoveryMode::kPointInTimeRecovery).ok());
  EXPECT_EQ(Read(log_), altered);
  Write(missing, file);
  const auto database = Open(WALRecoveryMode::kPointInTimeRecovery);
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_TRUE((*database)->has_left_out_changes());
  EXPECT_EQ(RowsIn(**database), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(Read(log_).size(), 0u);
}

// Files that are ahead are no reason where nothing else needs the log.
TEST_F(LogsBesideFiles, MayEndWithinARecordThatAllFilesHave) {
  Restore(good_);
  {
    const auto database = disk_.Open();
    for (const ColumnFamily* family : database->families().All()) {
      ASSERT_TRUE(database->rocksdb()->Flush(rocksdb::FlushOptions(), family->handle).ok());
    }
  }
  Write(log_, good_.substr(0, good_.size() - 3));
  EXPECT_TRUE(Open(WALRecoveryMode::kTolerateCorruptedTailRecords).ok());
}

// A start would give the one half of a transaction.
TEST_F(LogsBesideFiles, AreRefusedWhereTheseAreAhead) {
  std::string zeros = good_;
  std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(ends_[1]), zeros.end() - 5, '\0');
  std::string flipped = good_;
  flipped[ends_[1] + 20] ^= 1;
  for (const std::string& altered : {good_.substr(0, good_.size() - 3), zeros, flipped}) {
    for (const auto mode :
         {WALRecoveryMode::kTolerateCorruptedTailRecords, WALRecoveryMode::kAbsoluteConsistency,
          WALRecoveryMode::kPointInTimeRecovery}) {
      Restore(altered);
      const auto database = Open(mode);
      ASSERT_FALSE(database.ok());
      EXPECT_EQ(database.status().code(), StatusCode::kCorruption);
      EXPECT_THAT(database.status().ToString(), HasSubstr("rocksdb_wal_recovery_mode=3"));
      EXPECT_EQ(Read(log_), altered);
    }
    EXPECT_TRUE(Open(WALRecoveryMode::kSkipAnyCorruptedRecords).ok());
  }
}

}  // namespace
}  // namespace cairn
