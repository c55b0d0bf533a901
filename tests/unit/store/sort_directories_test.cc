#include "engine/store/sort_directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class SortDirectoriesTest : public ::testing::Test {
 protected:
  SortDirectoriesTest() {
    for (const char* directory : {"/home", "/other", "/sort"}) {
      EXPECT_TRUE(disk_.env()->CreateDirIfMissing(directory).ok());
    }
  }

  SortDirectories Start(const std::string& home = "/home", const char* identity = "one") {
    return SortDirectories(disk_.env(), home, identity);
  }

  void Write(const std::string& path) {
    ASSERT_TRUE(rocksdb::WriteStringToFile(disk_.env(), "run", path).ok());
  }

  std::vector<std::string> Files(const std::string& directory) const {
    std::vector<std::string> names;
    EXPECT_TRUE(disk_.env()->GetChildren(directory, &names).ok());
    return names;
  }

  MemoryDisk disk_;
};

TEST_F(SortDirectoriesTest, LeftRunsGoAtTheNextStartAndNoOtherFiles) {
  std::string run;
  {
    SortDirectories before = Start();
    ASSERT_TRUE(before.Remember("/sort/").ok());
    run = before.run_prefix() + "260_0_0";
  }
  Write("/sort/" + run + ".bulk_load.tmp");
  Write("/sort/" + run);
  Write("/sort/t_k_0_0.bulk_load.tmp");
  Write("/sort/" + Start("/other").run_prefix() + "260_0_0.bulk_load.tmp");
  SortDirectories after = Start();
  after.RemoveLeftRuns(&disk_.log());
  EXPECT_THAT(Files("/sort"),
              UnorderedElementsAre(run, "t_k_0_0.bulk_load.tmp",
                                   Start("/other").run_prefix() + "260_0_0.bulk_load.tmp"));
  EXPECT_THAT(Files("/home"), IsEmpty());
  EXPECT_THAT(disk_.log().messages(), IsEmpty());
}

TEST_F(SortDirectoriesTest, NamesDifferWithTheDirectoryAndTheIdentity) {
  EXPECT_EQ(Start().run_prefix(), Start("/home").run_prefix());
  EXPECT_NE(Start().run_prefix(), Start("/other").run_prefix());
  EXPECT_NE(Start().run_prefix(), Start("/home", "two").run_prefix());
}

TEST_F(SortDirectoriesTest, TheDatabasesOwnDirectoryIsNotRemembered) {
  SortDirectories directories = Start();
  ASSERT_TRUE(directories.Remember("/home").ok());
  EXPECT_THAT(Files("/home"), IsEmpty());
}

TEST_F(SortDirectoriesTest, DirectoriesOfAllSortsAreRemembered) {
  std::string name;
  {
    SortDirectories before = Start();
    ASSERT_TRUE(before.Remember("/sort").ok());
    ASSERT_TRUE(before.Remember("/other").ok());
    ASSERT_TRUE(before.Remember("/sort").ok());
    name = before.run_prefix() + "1_1_1.bulk_load.tmp";
  }
  Write("/sort/" + name);
  Write("/other/" + name);
  Start().RemoveLeftRuns(&disk_.log());
  EXPECT_THAT(Files("/sort"), IsEmpty());
  EXPECT_THAT(Files("/other"), IsEmpty());
}

TEST_F(SortDirectoriesTest, ADirectoryThatIsGoneIsForgotten) {
  ASSERT_TRUE(Start().Remember("/never_made").ok());
  Start().RemoveLeftRuns(&disk_.log());
  EXPECT_THAT(Files("/home"), Not(Contains(HasSubstr("CAIRN"))));
  EXPECT_THAT(disk_.log().messages(), IsEmpty());
}

TEST_F(SortDirectoriesTest, AFileThatIsCutOffNamesTheDirectoriesBeforeTheCut) {
  Write("/sort/" + Start().run_prefix() + "1_1_1.bulk_load.tmp");
  ASSERT_TRUE(rocksdb::WriteStringToFile(disk_.env(), std::string("/sort\0/ot", 9),
                                         "/home/" + std::string(kSortDirectoriesName))
                  .ok());
  Start().RemoveLeftRuns(&disk_.log());
  EXPECT_THAT(Files("/sort"), IsEmpty());
  EXPECT_THAT(Files("/home"), IsEmpty());
}

}  // namespace
}  // namespace cairn
