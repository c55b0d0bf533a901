#include "engine/table/unique_suspects.h"

#include "tests/unit/table/index_merge_fixture.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UniqueSuspectsTest : public IndexMergeTest {};

TEST_F(UniqueSuspectsTest, DuplicatesThatStayAreFound) {
  InsertRows(4);
  Begin(/*unique=*/true);
  Do([&](RowSession& s) { return s.Insert(RowOf(9, "c2")); });
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(build_->Finish().code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(build_->duplicate_index(), kByC);
  EXPECT_EQ(record_.Data(3), "c2");
}

TEST_F(UniqueSuspectsTest, DuplicatesThatRoundsBringTogetherAreFound) {
  InsertRows(4);
  for (const bool in_one_round : {false, true}) {
    SCOPED_TRACE(in_one_round);
    Begin(/*unique=*/true);
    ASSERT_TRUE(build_->Run().ok());
    if (in_one_round) Do([&](RowSession& s) { return s.Insert(RowOf(10, "twin")); });
    Do([&](RowSession& s) { return s.Insert(RowOf(11, in_one_round ? "twin" : "c2")); });
    EXPECT_EQ(build_->Finish().code(), StatusCode::kDuplicateKey);
    EXPECT_EQ(record_.Data(3), in_one_round ? "twin" : "c2");
    Abandon();
    Do([&](RowSession& s) { return s.Delete(11); });
    description_ = cairn::testing::TestTable();
    description_.Int("id")
        .Varchar("a", 20, cairn::testing::Latin1Swedish())
        .Nullable()
        .Int("b")
        .Nullable()
        .Varchar("c", 30, cairn::testing::Utf8mb4General());
    description_.PrimaryKey(256, {"id"}).UniqueKey(257, {"b"}).Key(258, {"a"});
  }
}

TEST_F(UniqueSuspectsTest, DuplicatesThatAreGoneInTimeDoNoHarm) {
  InsertRows(4);
  InsertCommitted(RowOf(5, "c4"));
  Begin(/*unique=*/true);
  Do([&](RowSession& s) { return s.Insert(RowOf(6, "c1")); });
  Do([&](RowSession& s) { return s.Insert(RowOf(7, "c1")); });
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_GT(build_->figures().Sum(&NewIndexFigures::suspects), 0u);
  Do([&](RowSession& s) { return s.Delete(6); });
  Do([&](RowSession& s) { return s.Update(7, RowOf(7, "c7")); });
  Do([&](RowSession& s) { return s.Delete(4); });
  const Status published = Publish();
  ASSERT_TRUE(published.ok()) << published.ToString();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(UniqueSuspectsTest, ASwapOfTwoValuesIsNoDuplicate) {
  InsertRows(4);
  Begin(/*unique=*/true);
  ASSERT_TRUE(build_->Run().ok());
  Do([&](RowSession& s) {
    CAIRN_RETURN_IF_ERROR(s.Update(1, RowOf(1, "c2")));
    return s.Update(2, RowOf(2, "c1"));
  });
  const Status published = Publish();
  ASSERT_TRUE(published.ok()) << published.ToString();
  EXPECT_THAT(IdsBy(kByC), ElementsAre(2, 1, 3, 4));
}

}  // namespace
}  // namespace cairn
