#include "tools/store/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

TEST(PreparedArguments, AreRead) {
  const auto arguments =
      ParsePrepared({"dir", "--binlog", "b.000001", "b.000002", "b.index", "--decide", "--binlog",
                     "b.000003", "--commit", "'g'", "--rollback='h'", "--run=b.000002", "--json"});
  ASSERT_TRUE(arguments.ok()) << arguments.status().ToString();
  EXPECT_EQ(arguments->directory, "dir");
  EXPECT_THAT(arguments->binary_logs, ElementsAre("b.000001", "b.000002", "b.000003"));
  EXPECT_THAT(arguments->commit, ElementsAre(TransactionId{1, "g", ""}));
  EXPECT_THAT(arguments->rollback, ElementsAre(TransactionId{1, "h", ""}));
  EXPECT_EQ(arguments->run, "b.000002");
  EXPECT_TRUE(arguments->decide);
  EXPECT_TRUE(arguments->json);
}

TEST(PreparedArguments, WrongOnesAreRefused) {
  for (const Words& words :
       {Words{}, Words{"dir", "other"}, Words{"dir", "--decide"}, Words{"dir", "--run", "b.000001"},
        Words{"dir", "--binlog"}, Words{"dir", "--binlog", "--decide"},
        Words{"dir", "--comit", "'g'"}, Words{"dir", "--commit", "g"},
        Words{"dir", "--commit", "'g'", "--rollback", "'g'"},
        Words{"dir", "--decide=yes", "--binlog", "b.000001"}}) {
    EXPECT_EQ(ParsePrepared(words).status().code(), StatusCode::kInvalidArgument)
        << ::testing::PrintToString(words);
  }
}

TEST(PreparedArguments, AMisspelledOptionIsNamed) {
  EXPECT_THAT(std::string(ParsePrepared({"dir", "--decided"}).status().message()),
              HasSubstr("--decided"));
}

}  // namespace
}  // namespace cairn
