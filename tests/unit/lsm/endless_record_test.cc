#include "engine/lsm/endless_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/crc32c.h"
#include "engine/lsm/log_record.h"
#include "rocksdb/env.h"
#include "tests/unit/lsm/block_bytes.h"

namespace cairn::lsm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint8_t kReusedFull = 5;

void AppendRecord(uint8_t type, std::string_view content, std::string* log) {
  std::string checked(1, static_cast<char>(type));
  checked.append(content);
  const uint32_t crc = Crc32c(checked);
  Append((crc >> 15 | crc << 17) + 0xA282EAD8u, log);
  Append(static_cast<uint16_t>(content.size()), log);
  log->append(checked);
}

class EndlessRecord : public ::testing::Test {
 protected:
  std::vector<uint64_t> Find(const std::string& log) {
    EXPECT_TRUE(rocksdb::WriteStringToFile(env_.get(), log, kPath).ok());
    const auto places = FindEndlessRecords(env_.get(), kPath);
    EXPECT_TRUE(places.ok()) << places.status().ToString();
    return *places;
  }

  static constexpr char kPath[] = "/000007.log";
  const std::unique_ptr<rocksdb::Env> env_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
};

TEST_F(EndlessRecord, IsOneOfAReusedFileBehindOthers) {
  std::string log;
  AppendRecord(kFull, "the first", &log);
  const uint64_t second = log.size();
  AppendRecord(kFull, "the second", &log);
  EXPECT_THAT(Find(log), IsEmpty());
  log[second + kRecordTypeAt] = kReusedFull;
  EXPECT_THAT(Find(log), ElementsAre(second));

  ASSERT_TRUE(EndRecords(env_.get(), kPath, {second}).ok());
  std::string ended;
  ASSERT_TRUE(rocksdb::ReadFileToString(env_.get(), kPath, &ended).ok());
  log[second + kRecordTypeAt] = kZero;
  EXPECT_EQ(ended, log);
  EXPECT_THAT(Find(log), IsEmpty());
}

TEST_F(EndlessRecord, IsLookedForInEachBlock) {
  std::string log;
  AppendRecord(kFull, "the first", &log);
  const uint64_t second = log.size();
  AppendRecord(kReusedFull, "another", &log);
  log.resize(kLogBlockBytes);
  AppendRecord(kFull, "the third", &log);
  const uint64_t fourth = log.size();
  AppendRecord(kReusedFull, "", &log);
  EXPECT_THAT(Find(log), ElementsAre(second, fourth));
}

TEST_F(EndlessRecord, IsNoneInAReusedFile) {
  std::string log;
  AppendRecord(kReusedFull, "number and content", &log);
  AppendRecord(kFull, "older", &log);
  AppendRecord(kReusedFull, "older", &log);
  EXPECT_THAT(Find(log), IsEmpty());
}

TEST_F(EndlessRecord, IsNoneWhereTheReaderHasLeftTheBlock) {
  std::string log;
  AppendRecord(kFull, "the first", &log);
  AppendRecord(kFull, "the second", &log);
  log.back() ^= 1;
  AppendRecord(kReusedFull, "behind the damage", &log);
  EXPECT_THAT(Find(log), IsEmpty());
}

}  // namespace
}  // namespace cairn::lsm
