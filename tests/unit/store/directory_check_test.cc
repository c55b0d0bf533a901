#include "engine/store/directory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/database.h"
#include "engine/store/stored_log_directory.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class DirectoryCheck : public ::testing::Test {
 protected:
  rocksdb::Env* env() { return disk_.env(); }

  Result<std::unique_ptr<Database>> Open(const std::string& log_directory = "") {
    DatabaseOptions options = disk_.Options();
    options.db.wal_dir = log_directory;
    return Database::Open(std::move(options), &disk_.log());
  }

  // A database with a row in a table file, or in the log alone.
  void Fill(bool flush) {
    const auto database = Open();
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        (*database)
            ->rocksdb()
            ->Put(rocksdb::WriteOptions(), (*database)->default_family().handle, "key", "row")
            .ok());
    if (flush) {
      ASSERT_TRUE((*database)->maintenance().FlushMemtables().ok());
    }
  }

  std::string Row(Database* database) {
    std::string value;
    const rocksdb::Status read = database->rocksdb()->Get(
        rocksdb::ReadOptions(), database->default_family().handle, "key", &value);
    return read.ok() ? value : read.ToString();
  }

  std::vector<std::string> Files() {
    std::vector<std::string> names;
    EXPECT_TRUE(env()->GetChildren("/memory", &names).ok());
    std::erase_if(names, [](const std::string& name) {
      return name == "LOCK" || name.starts_with("LOG") || name.front() == '.';
    });
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<std::string> Logs() {
    std::vector<std::string> logs = Files();
    std::erase_if(logs, [](const std::string& name) { return !name.ends_with(".log"); });
    return logs;
  }

  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(env()->CreateDirIfMissing("/memory").ok());
    ASSERT_TRUE(rocksdb::WriteStringToFile(env(), bytes, "/memory/" + name).ok());
  }

  MemoryDisk disk_;
};

TEST_F(DirectoryCheck, DatabaseWithoutCurrentIsRefusedAndKept) {
  Fill(/*flush=*/true);
  std::string current;
  ASSERT_TRUE(rocksdb::ReadFileToString(env(), "/memory/CURRENT", &current).ok());
  ASSERT_TRUE(env()->DeleteFile("/memory/CURRENT").ok());
  for (const std::string& log : Logs()) ASSERT_TRUE(env()->DeleteFile("/memory/" + log).ok());
  const std::vector<std::string> before = Files();

  const auto refused = Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kCorruption);
  current.pop_back();
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("/memory has files of a database (" + current + ", "),
                    HasSubstr(" table file"), HasSubstr("but no CURRENT"),
                    HasSubstr("write the line " + current + " into a new file CURRENT")));
  EXPECT_EQ(Files(), before);

  Write("CURRENT", current + "\n");
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(Row(opened->get()), "row");
}

TEST_F(DirectoryCheck, AnyFileOfADatabaseWithoutCurrentIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"000012.sst", "1 table file"},
      {"000012.blob", "1 blob file"},
      {"000012.log", "1 log"},
      {"CAIRN_FORMAT", "CAIRN_FORMAT"},
      {"MANIFEST-000005", "MANIFEST-000005"}};
  for (const auto& [name, said] : files) {
    Write(name, "1\n");
    const Status checked = CheckDirectory(env(), "/memory", "", &disk_.log());
    EXPECT_EQ(checked.code(), StatusCode::kCorruption) << name;
    EXPECT_THAT(checked.ToString(), HasSubstr("(" + said + ")"));
    ASSERT_TRUE(env()->DeleteFile("/memory/" + name).ok());
    EXPECT_TRUE(CheckDirectory(env(), "/memory", "", &disk_.log()).ok());
  }
}

TEST_F(DirectoryCheck, WhatAFailedStartLeavesIsNoDatabase) {
  EXPECT_TRUE(CheckDirectory(env(), "/nowhere", "", &disk_.log()).ok());
  for (const char* name : {"LOG", "IDENTITY", "OPTIONS-000007", "000001.dbtmp"}) {
    Write(name, "1\n");
  }
  Write("MANIFEST-000001", std::string(50, 'x'));
  EXPECT_TRUE(CheckDirectory(env(), "/memory", "", &disk_.log()).ok());
  const auto opened = Open();
  EXPECT_TRUE(opened.ok()) << opened.status().ToString();
}

TEST_F(DirectoryCheck, FirstManifestIsDataWhereItIsLargeOrNotAlone) {
  Write("MANIFEST-000001", std::string(5000, 'x'));
  EXPECT_EQ(CheckDirectory(env(), "/memory", "", &disk_.log()).code(), StatusCode::kCorruption);
  Write("MANIFEST-000001", std::string(50, 'x'));
  Write("CAIRN_FORMAT", "1\n");
  EXPECT_EQ(CheckDirectory(env(), "/memory", "", &disk_.log()).code(), StatusCode::kCorruption);
}

TEST_F(DirectoryCheck, NewestManifestIsNamedBeyondTheMillionth) {
  for (const char* name : {"MANIFEST-999999", "MANIFEST-1000003"}) {
    ASSERT_TRUE(rocksdb::WriteStringToFile(env(), "records", std::string("/memory/") + name).ok());
  }
  const auto opened = Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.status().ToString(), HasSubstr("write the line MANIFEST-1000003 into"));
}

TEST_F(DirectoryCheck, NewestOptionsAreReadBeyondTheMillionth) {
  const auto write = [&](const std::string& name, const std::string& logs) {
    return rocksdb::WriteStringToFile(env(), "[DBOptions]\n  wal_dir=" + logs + "\n",
                                      "/memory/" + name);
  };
  ASSERT_TRUE(write("OPTIONS-999999", "/before").ok());
  ASSERT_TRUE(write("OPTIONS-1000003", "/now").ok());
  const auto stored = StoredLogDirectory(env(), "/memory");
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(*stored, "/now");
}

TEST_F(DirectoryCheck, LogsThatNobodyWouldReadAreRefusedUntilTheyAreMoved) {
  Fill(/*flush=*/false);
  const std::vector<std::string> before = Files();
  const auto refused = Open("/logs");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr(".log lies in the data directory, but rocksdb_wal_dir is /logs"),
                    HasSubstr("after a restore move it there"), HasSubstr("nothing was changed")));
  EXPECT_EQ(Files(), before);

  ASSERT_TRUE(env()->CreateDirIfMissing("/logs").ok());
  for (const std::string& log : Logs()) {
    ASSERT_TRUE(env()->RenameFile("/memory/" + log, "/logs/" + log).ok());
  }
  const auto opened = Open("/logs");
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(Row(opened->get()), "row");
}

TEST_F(DirectoryCheck, LogsWhereTheOptionHasPointedAreRefusedUntilTheyAreMoved) {
  ASSERT_TRUE(env()->CreateDirIfMissing("/#logs").ok());
  {
    const auto database = Open("/#logs");
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    ASSERT_TRUE(
        (*database)
            ->rocksdb()
            ->Put(rocksdb::WriteOptions(), (*database)->default_family().handle, "key", "row")
            .ok());
  }
  const auto refused = Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("/memory was last opened with rocksdb_wal_dir=/#logs, where /#logs/"),
                    HasSubstr("now the logs are looked for in /memory: set the option again")));

  std::vector<std::string> names;
  ASSERT_TRUE(env()->GetChildren("/#logs", &names).ok());
  for (const std::string& name : names) {
    if (!name.ends_with(".log")) continue;
    ASSERT_TRUE(env()->RenameFile("/#logs/" + name, "/memory/" + name).ok());
  }
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(Row(opened->get()), "row");
}

TEST_F(DirectoryCheck, EmptyLogIsLeftAloneWithANote) {
  Fill(/*flush=*/true);
  for (const std::string& log : Logs()) Write(log, "");
  Write("000999.log", "");
  ASSERT_TRUE(env()->CreateDirIfMissing("/logs").ok());
  const auto opened = Open("/logs");
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(Row(opened->get()), "row");
  EXPECT_THAT(Files(), Contains("000999.log"));
  EXPECT_THAT(disk_.log().messages(),
              Contains(HasSubstr("/memory/000999.log is left alone: it is empty")));
}

TEST_F(DirectoryCheck, DataDirectoryByAnotherNameHasItsLogs) {
  Fill(/*flush=*/false);
  for (const char* name : {"/memory", "/memory/", "/memory/.", "/logs/../memory"}) {
    EXPECT_TRUE(CheckDirectory(env(), "/memory", name, &disk_.log()).ok()) << name;
  }
}

}  // namespace
}  // namespace cairn
