// What others see of a build of indexes while it goes on.
#include <set>

#include "tests/unit/table/index_merge_fixture.h"

namespace cairn {
namespace {

using Stage = IndexBuildFigures::Stage;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class IndexBuildFiguresTest : public IndexMergeTest {
 protected:
  std::vector<std::string> Listed() const {
    std::vector<std::string> names;
    for (const auto& build : database_->index_builds().Running()) {
      for (const NewIndexFigures& index : build->indexes()) {
        names.push_back(build->table_name() + "." + index.name);
      }
    }
    return names;
  }
  const NewIndexFigures& ByC() const { return build_->figures().indexes()[1]; }
};

TEST_F(IndexBuildFiguresTest, ABuildIsListedAsLongAsItLives) {
  InsertRows(3);
  Begin();
  const std::string by_ac = "db.t." + altered_->index(kByAC).layout().name;
  const std::string by_c = "db.t." + altered_->index(kByC).layout().name;
  EXPECT_THAT(Listed(), ElementsAre(by_ac, by_c));
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_THAT(Listed(), ElementsAre(by_ac, by_c));
  ASSERT_TRUE(Publish().ok());
  build_->NotePublished();
  build_.reset();
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(database_->index_builds().finished(), 1u);
  EXPECT_EQ(database_->index_builds().abandoned(), 0u);
}

TEST_F(IndexBuildFiguresTest, AKilledBuildIsNotListed) {
  InsertRows(3);
  Begin();
  AtEachLook killer([] {});
  killer.End();
  {
    const ScopedWaitObserver observer(&killer);
    EXPECT_EQ(build_->Run().code(), StatusCode::kInterrupted);
  }
  Abandon();
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(database_->index_builds().finished(), 0u);
  EXPECT_EQ(database_->index_builds().abandoned(), 1u);
}

TEST_F(IndexBuildFiguresTest, SoIsOneThatShutsWritersOut) {
  InsertRows(3);
  Begin();
  build_.reset();
  IndexBuildSettings settings;
  settings.sort.directory = database_->directory();
  settings.estimated_rows = 7;
  IndexBuild build(database_.get(), altered_.get(), positions_, settings, record_.data(),
                   /*virtual_columns=*/nullptr);
  EXPECT_EQ(Listed().size(), 2u);
  EXPECT_EQ(build.figures().rows_estimated, 7u);
  ASSERT_TRUE(build.Run().ok());
  EXPECT_EQ(build.figures().rows_read, 3u);
  EXPECT_EQ(build.figures().Sum(&NewIndexFigures::entries_written), 6u);
}

TEST_F(IndexBuildFiguresTest, EachStageShows) {
  InsertRows(600);
  Begin();
  NewBuild(/*buffer_bytes=*/4000);
  Do([&](RowSession& s) { return s.Insert(RowOf(601, "c601")); });
  std::set<Stage> seen;
  bool has_seen_runs = false;
  AtEachLook look([&] {
    seen.insert(build_->figures().stage);
    has_seen_runs = has_seen_runs || ByC().temporary_bytes > 0;
  });
  {
    const ScopedWaitObserver observer(&look);
    ASSERT_TRUE(build_->Run().ok());
    EXPECT_THAT(seen, UnorderedElementsAre(Stage::kScan, Stage::kSort, Stage::kMerge));
    EXPECT_EQ(build_->figures().stage, Stage::kWait);
    ASSERT_TRUE(build_->Finish().ok());
  }
  EXPECT_THAT(seen,
              UnorderedElementsAre(Stage::kScan, Stage::kSort, Stage::kMerge, Stage::kLastMerge));
  EXPECT_TRUE(has_seen_runs);
  EXPECT_EQ(build_->figures().Sum(&NewIndexFigures::temporary_bytes), 0u) << "they are RocksDB's";
  EXPECT_EQ(build_->figures().rows_read, 601u);
  EXPECT_EQ(ByC().entries_written, 601u);
  EXPECT_EQ(ByC().delta_merged, 1u);
}

TEST_F(IndexBuildFiguresTest, WhatIsLeftOfADelta) {
  InsertRows(4);
  Begin(/*unique=*/true);
  Do([&](RowSession& s) { return s.Update(1, RowOf(1, "x")); });
  Do([&](RowSession& s) { return s.Update(2, RowOf(2, "x")); });
  EXPECT_EQ(ByC().delta_written, 4u) << "two go, two come";
  EXPECT_EQ(ByC().DeltaLeft(), 4u);
  {
    RowSession undone = NewSession();
    ASSERT_TRUE(undone.Update(3, RowOf(3, "y")).ok());
    ASSERT_TRUE(undone.transaction().Rollback().ok());
  }
  EXPECT_EQ(ByC().DeltaLeft(), 6u) << "nobody has looked";
  RowSession holder = NewSession();
  ASSERT_TRUE(holder.Update(1, RowOf(1, "z")).ok());
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(ByC().DeltaLeft(), 0u) << "what is not committed counts as looked at";
  EXPECT_EQ(ByC().delta_merged, 4u);
  ASSERT_TRUE(holder.transaction().Rollback().ok());
  EXPECT_EQ(build_->Finish().code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(ByC().DeltaLeft(), 0u);
  EXPECT_EQ(ByC().delta_merged, 4u);
  EXPECT_GT(ByC().suspects, 0u);
}

}  // namespace
}  // namespace cairn
