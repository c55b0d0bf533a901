#include "engine/table/moved_rows.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr ReadRange kAnyOrder = {.any_order = true};

TEST(MovedRows, TheRangeOfAPrefixHasTheKeysThatStartWithIt) {
  MovedRows moved;
  EXPECT_FALSE(moved.IsInRange("ab")) << "no read takes rows in any order";
  moved.BeginRange("ab", ReadStart::kExact, kAnyOrder);
  EXPECT_TRUE(moved.any_order());
  EXPECT_FALSE(moved.IsInRange("aa"));
  EXPECT_TRUE(moved.IsInRange("ab"));
  EXPECT_TRUE(moved.IsInRange("ab\xff"));
  EXPECT_FALSE(moved.IsInRange("ac"));
}

TEST(MovedRows, TheRangeBehindAPrefixGoesUpToItsEnd) {
  MovedRows moved;
  moved.BeginRange("ab", ReadStart::kAfter, {.end = "b", .any_order = true});
  EXPECT_FALSE(moved.IsInRange("ab\xff"));
  EXPECT_TRUE(moved.IsInRange("ac"));
  EXPECT_FALSE(moved.IsInRange("b"));
  moved.BeginRange("ab", ReadStart::kAtOrAfter, kAnyOrder);
  EXPECT_TRUE(moved.IsInRange("ab"));
  EXPECT_TRUE(moved.IsInRange("b")) << "without an end";
}

TEST(MovedRows, NothingLiesBehindTheLastPrefix) {
  MovedRows moved;
  moved.BeginRange("\xff\xff", ReadStart::kAfter, kAnyOrder);
  EXPECT_FALSE(moved.any_order());
  moved.BeginRange("\xff\xff", ReadStart::kExact, kAnyOrder);
  EXPECT_TRUE(moved.IsInRange("\xff\xff\x01"));
}

TEST(MovedRows, TheRangeEndsWithAMoveOfAnotherKind) {
  MovedRows moved;
  moved.BeginRange("ab", ReadStart::kExact, kAnyOrder);
  moved.MoveOn(/*exact=*/true);
  EXPECT_TRUE(moved.any_order());
  moved.MoveOn(/*exact=*/false);
  EXPECT_FALSE(moved.any_order());
}

TEST(MovedRows, ARowThatWasGivenIsKnownAtItsNewEntry) {
  MovedRows moved;
  moved.BeginRange("ab", ReadStart::kExact, kAnyOrder);
  moved.NoteGiven("row 1");
  EXPECT_FALSE(moved.WasGiven("row 1")) << "the snapshot has its old entry alone";
  moved.NoteChange();
  EXPECT_TRUE(moved.TakeChange());
  EXPECT_TRUE(moved.WasGiven("row 1"));
  EXPECT_FALSE(moved.WasGiven("row 2"));
  moved.BeginRange("ab", ReadStart::kExact, kAnyOrder);
  EXPECT_FALSE(moved.WasGiven("row 1")) << "another read";
}

TEST(MovedRows, AChangeIsTakenOnce) {
  MovedRows moved;
  EXPECT_FALSE(moved.TakeChange());
  moved.NoteChange();
  EXPECT_TRUE(moved.TakeChange());
  EXPECT_FALSE(moved.TakeChange());
  moved.NoteChange();
  moved.ForgetChange();
  EXPECT_FALSE(moved.TakeChange());
}

TEST(MovedRows, TheNextReadFollowsARowThatHasLeft) {
  MovedRows moved;
  EXPECT_FALSE(moved.BeginRead());
  moved.NoteLeft();
  EXPECT_TRUE(moved.BeginRead());
  EXPECT_FALSE(moved.BeginRead()) << "it shows what is committed already";
  moved.NoteLeft();
  moved.Reset();
  EXPECT_FALSE(moved.BeginRead()) << "another statement";
}

}  // namespace
}  // namespace cairn
