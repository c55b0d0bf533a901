#include "tools/store/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

using ::testing::HasSubstr;
using Outcome = Verdict::Outcome;

constexpr uint64_t kServer = 3;
constexpr uint64_t kLog = 7;

std::string NameOf(uint64_t number) {
  std::string global = "MySQLXid";
  for (const uint64_t value : {kServer, number}) {
    for (int shift = 0; shift < 64; shift += 8) global.push_back(static_cast<char>(value >> shift));
  }
  return EncodeTransactionName({1, global, ""});
}

// A server that wrote binlog.000001 and .000002 and was killed at 150, and was then up without the
// engine, which wrote binlog.000003.
class Verdicts : public ::testing::Test {
 protected:
  Verdicts() {
    files_ = {File(1, 100, true), File(2, 120, false), File(3, 200, true)};
    files_[0].end = BinaryLog::End::kRotate;
    files_[0].next_name = files_[1].name;
    files_[0].xids = {{10, 400}};
    files_[1].xids = {{20, 500}, {30, 600}};
    files_[1].checkpoint = files_[1].name;
    files_[1].in_use = true;
    files_[1].last_state = {{{0, kServer}, 9}};
    files_[2].first_state = files_[1].last_state;
    files_[2].checkpoint = files_[2].name;
    files_[2].end = BinaryLog::End::kStop;
    files_[2].last_event_s = 210;
    logs_ = {{.number = kLog,
              .path = "/data/000007.log",
              .written_s = 150,
              .committed = {NameOf(10), NameOf(20)}}};
  }

  static BinaryLog File(int number, int64_t begun_s, bool at_startup) {
    BinaryLog file;
    file.name = "binlog.00000" + std::to_string(number);
    file.path = "/data/" + file.name;
    file.begun_s = begun_s;
    file.at_startup = at_startup;
    file.server_ids = {kServer};
    return file;
  }

  Verdict Of(uint64_t number, const std::string& chosen = "") {
    const auto files = InOrder(files_);
    EXPECT_TRUE(files.ok()) << files.status().ToString();
    Judge judge(*files, logs_);
    if (!chosen.empty()) {
      EXPECT_TRUE(judge.Choose(chosen).ok());
    }
    return judge.Own({.name = NameOf(number), .log_number = kLog}, {kServer, number});
  }

  std::vector<BinaryLog> files_;
  std::vector<TransactionLog> logs_;
};

TEST_F(Verdicts, AnXidEventCommits) {
  const Verdict verdict = Of(30);
  EXPECT_EQ(verdict.outcome, Outcome::kCommitted) << verdict.why;
  EXPECT_EQ(verdict.why, "binlog.000002, position 600");
}

TEST_F(Verdicts, WithoutOneItIsNotCommitted) {
  const Verdict verdict = Of(31);
  EXPECT_EQ(verdict.outcome, Outcome::kNotCommitted) << verdict.why;
}

TEST_F(Verdicts, ANumberOfALaterRunCountsForNothing) {
  files_[2].xids = {{31, 400}};
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCommitted);
}

TEST_F(Verdicts, ANumberOfAnEarlierRunCountsForNothing) {
  files_[1].at_startup = true;  // A run that lacks 10, which the engine has committed.
  files_[0].end = BinaryLog::End::kStop;
  files_[0].xids.push_back({31, 450});
  logs_[0].committed = {NameOf(20)};
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCommitted);
}

TEST_F(Verdicts, RunsThatFitAlikeAndDifferAreNotCertain) {
  files_[1].at_startup = true;
  files_[0].end = BinaryLog::End::kStop;
  files_[0].checkpoint = files_[0].name;
  files_[0].xids = {{20, 400}, {31, 450}};
  logs_[0].committed = {NameOf(20)};
  const Verdict verdict = Of(31);
  EXPECT_EQ(verdict.outcome, Outcome::kNotCertain);
  EXPECT_THAT(verdict.why, HasSubstr("--run"));
  EXPECT_EQ(Of(31, "/elsewhere/binlog.000002").outcome, Outcome::kNotCommitted);
  EXPECT_EQ(Of(31, "binlog.000001").outcome, Outcome::kCommitted);
}

TEST_F(Verdicts, AMissingFileIsNotCertain) {
  files_.erase(files_.begin() + 1, files_.end());
  const Verdict verdict = Of(31);
  EXPECT_EQ(verdict.outcome, Outcome::kNotCertain);
}

TEST_F(Verdicts, TheOldestFileThatRecoveryReadsIsNeeded) {
  files_[1].checkpoint = files_[0].name;
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCommitted);
  EXPECT_EQ(Of(10).outcome, Outcome::kCommitted);
  files_.erase(files_.begin());
  const Verdict verdict = Of(31);
  EXPECT_EQ(verdict.outcome, Outcome::kNotCertain);
  EXPECT_THAT(verdict.why, HasSubstr("binlog.000001"));
  EXPECT_EQ(Of(30).outcome, Outcome::kCommitted) << "what is found needs no other file";
}

TEST_F(Verdicts, AnEventBeforeThatFileIsNotCertain) {
  EXPECT_EQ(Of(10).outcome, Outcome::kNotCertain);
}

TEST_F(Verdicts, AFileThatIsCutOffIsNotCertain) {
  files_[1].last_state = {{{0, kServer}, 8}};
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCertain);
  EXPECT_EQ(Of(30).outcome, Outcome::kCommitted);
}

TEST_F(Verdicts, WithoutALaterStartTheServerDecides) {
  files_.pop_back();
  const Verdict verdict = Of(31);
  EXPECT_EQ(verdict.outcome, Outcome::kNotCertain);
  EXPECT_THAT(verdict.why, HasSubstr("start the server"));
}

TEST_F(Verdicts, ARunThatWasShutDownNeedsNone) {
  files_.pop_back();
  files_[1].end = BinaryLog::End::kStop;
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCommitted);
}

TEST_F(Verdicts, AnotherServersFilesAreNotCertain) {
  for (BinaryLog& file : files_) file.server_ids = {kServer + 1};
  const Verdict verdict = Of(30);
  EXPECT_EQ(verdict.outcome, Outcome::kNotCertain);
  EXPECT_THAT(verdict.why, HasSubstr("nothing of server 3"));
}

TEST_F(Verdicts, FilesThatLackWhatTheEngineHasCommittedAreNotCertain) {
  logs_[0].committed.push_back(NameOf(25));
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCertain);
  EXPECT_EQ(Of(31, "binlog.000002").outcome, Outcome::kNotCommitted) << "somebody knows it";
  logs_[0].committed = {NameOf(25)};
  EXPECT_EQ(Of(31, "binlog.000002").outcome, Outcome::kNotCertain) << "and is wrong";
}

TEST_F(Verdicts, WhatCameBeforeTheFirstFileMayBeMissing) {
  files_.erase(files_.begin());
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCommitted);
  logs_[0].committed = {NameOf(20), NameOf(10)};
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCertain) << "10 came later";
}

TEST_F(Verdicts, WithoutCommittedOnesTheTimeOfTheLogSaysTheRun) {
  logs_[0].committed.clear();
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCommitted);
  logs_[0].written_s = 201;  // It may be of that run, or be a copy.
  files_[2].xids = {{31, 400}};
  EXPECT_EQ(Of(31).outcome, Outcome::kCommitted) << "of the last run";
  logs_[0].written_s = 900;
  EXPECT_EQ(Of(31).outcome, Outcome::kNotCertain);
}

TEST_F(Verdicts, FilesThatDoNotFollowEachOtherAreRefused) {
  const auto refused = [](std::vector<BinaryLog> files) {
    return InOrder(std::move(files)).status();
  };
  EXPECT_TRUE(refused({files_[2], files_[0], files_[1]}).ok());
  EXPECT_THAT(std::string(refused({files_[0], files_[2]}).message()), HasSubstr("missing"));
  EXPECT_THAT(std::string(refused({files_[0], files_[0]}).message()), HasSubstr("twice"));
  files_[0].end = BinaryLog::End::kNone;
  EXPECT_THAT(std::string(refused({files_[0], files_[1]}).message()), HasSubstr("cut off"));
  files_[0].name = "other.000001";
  EXPECT_THAT(std::string(refused({files_[0], files_[1]}).message()), HasSubstr("different logs"));
  files_[0].name = "binlog";
  EXPECT_THAT(std::string(refused({files_[0]}).message()), HasSubstr("no number"));
}

}  // namespace
}  // namespace cairn
