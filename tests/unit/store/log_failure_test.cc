#include "engine/store/log_failure.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

using rocksdb::BackgroundErrorReason;

class LogFailureTest : public ::testing::Test {
 protected:
  void Report(BackgroundErrorReason reason, rocksdb::Status error) {
    listener_->OnBackgroundError(reason, &error);
  }
  void EndRecovery(const rocksdb::Status& now) {
    rocksdb::BackgroundErrorRecoveryInfo info;
    info.new_bg_error = now;
    listener_->OnErrorRecoveryEnd(info);
  }

  std::shared_ptr<LogFailure> failure_ = std::make_shared<LogFailure>();
  std::shared_ptr<rocksdb::EventListener> listener_ = MakeLogFailureListener(failure_);
};

TEST_F(LogFailureTest, LastsFromTheErrorToTheEndOfTheRecovery) {
  EXPECT_TRUE(failure_->Check().ok());
  Report(BackgroundErrorReason::kWriteCallback, rocksdb::Status::NoSpace("full"));
  EXPECT_EQ(failure_->Check().code(), StatusCode::kNoSpace);
  EndRecovery(rocksdb::Status::NoSpace("still full"));
  EXPECT_EQ(failure_->Check().code(), StatusCode::kNoSpace);
  EndRecovery(rocksdb::Status());
  EXPECT_TRUE(failure_->Check().ok());
}

TEST_F(LogFailureTest, IsTheFirstError) {
  Report(BackgroundErrorReason::kWriteCallback, rocksdb::Status::NoSpace("full"));
  Report(BackgroundErrorReason::kWriteCallback, rocksdb::Status::IOError("previous error"));
  EXPECT_EQ(failure_->Check().code(), StatusCode::kNoSpace);
}

TEST_F(LogFailureTest, OfDataFilesIsNoneOfTheLog) {
  EXPECT_FALSE(failure_->any());
  Report(BackgroundErrorReason::kFlush, rocksdb::Status::NoSpace("full"));
  Report(BackgroundErrorReason::kCompaction, rocksdb::Status::NoSpace("full"));
  EXPECT_TRUE(failure_->Check().ok());
  EXPECT_TRUE(failure_->any());
  EndRecovery(rocksdb::Status::NoSpace("still full"));
  EXPECT_TRUE(failure_->any());
  EndRecovery(rocksdb::Status());
  EXPECT_FALSE(failure_->any());
}

}  // namespace
}  // namespace cairn
