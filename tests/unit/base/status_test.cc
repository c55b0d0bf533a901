#include "engine/base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace cairn {
namespace {

TEST(Status, AnOkStatusSaysSo) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.ToString(), "ok");
  EXPECT_EQ(status.message(), "");
}

TEST(Status, CodeAndMessageComeOutTogether) {
  const Status status(StatusCode::kCorruption, "index 260: short key");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.ToString(), "corruption: index 260: short key");
  EXPECT_EQ(Status(StatusCode::kDeadlock).ToString(), "deadlock");
}

TEST(Status, ContextGoesInFrontAndKeepsTheCode) {
  const Status status = Status(StatusCode::kIoError, "disk").WithContext("table a.b");
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_EQ(status.message(), "table a.b: disk");
  EXPECT_EQ(Status(StatusCode::kBusy).WithContext("here").message(), "here");
  EXPECT_TRUE(Status().WithContext("anything").ok());
}

TEST(Status, CopiesAreIndependentAndMovesKeepTheMessage) {
  Status original(StatusCode::kNoSpace, "full");
  const Status copy = original;
  const Status moved = std::move(original);
  EXPECT_EQ(copy.message(), "full");
  EXPECT_EQ(moved.message(), "full");
  Status assigned(StatusCode::kBusy, "other");
  assigned = copy;
  EXPECT_EQ(assigned.ToString(), "no space left: full");
  assigned = Status();
  EXPECT_TRUE(assigned.ok());
}

TEST(Status, EveryCodeHasANameOfItsOwn) {
  std::string names;
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    const std::string name(ToString(static_cast<StatusCode>(code)));
    EXPECT_NE(name, "unknown status");
    EXPECT_EQ(names.find("|" + name + "|"), std::string::npos) << name;
    names += "|" + name + "|";
  }
}

Result<int> Half(int number) {
  if (number % 2 != 0) return Status(StatusCode::kInvalidArgument, "odd");
  return number / 2;
}

Status CheckQuarter(int number, int* quarter) {
  CAIRN_ASSIGN_OR_RETURN(const int half, Half(number));
  CAIRN_ASSIGN_OR_RETURN(*quarter, Half(half));
  CAIRN_RETURN_IF_ERROR(Status());
  return Status();
}

TEST(Result, HoldsAValueOrAStatus) {
  EXPECT_EQ(*Half(4), 2);
  EXPECT_TRUE(Half(4).status().ok());
  EXPECT_EQ(Half(3).status().message(), "odd");
}

TEST(Result, MacrosPassErrorsOn) {
  int quarter = 0;
  EXPECT_TRUE(CheckQuarter(8, &quarter).ok());
  EXPECT_EQ(quarter, 2);
  EXPECT_EQ(CheckQuarter(6, &quarter).code(), StatusCode::kInvalidArgument);
}

TEST(Result, MovesOutWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 7);
}

}  // namespace
}  // namespace cairn
