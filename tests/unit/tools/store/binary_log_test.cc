#include "tools/store/binary_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace cairn {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Pair;

// As mariadb-binlog 10.11.18 prints it.
constexpr char kBegin[] = R"(DELIMITER /*!*/;
# at 4
#261128 17:37:53 server id 3  end_log_pos 256 CRC32 0xcec71453 	Start: binlog v 4, server v 10.11.18-MariaDB-log created 261128 17:37:53 at startup
ROLLBACK/*!*/;
# at 256
#261128 17:37:53 server id 3  end_log_pos 299 CRC32 0x98300ec8 	Gtid list [0-3-9,
# 1-4-100]
# at 299
#261128 17:37:53 server id 3  end_log_pos 339 CRC32 0x54828dd3 	Binlog checkpoint binlog.000001
)";

constexpr char kTransaction[] = R"(# at 339
#261128 17:37:54 server id 3  end_log_pos 381 CRC32 0x70ade05d 	GTID 0-3-10 trans
/*M!100001 SET @@session.gtid_seq_no=10*//*!*/;
START TRANSACTION
/*!*/;
# at 381
#261128 17:37:54 server id 3  end_log_pos 755 CRC32 0x5f4fb5c5 	Query	thread_id=6	exec_time=0	error_code=0	xid=0
SET TIMESTAMP=1795887473/*!*/;
)";

constexpr char kXid[] = R"(/*!*/;
# at 755
#261128 17:37:54 server id 3  end_log_pos 786 CRC32 0xf7f70a12 	Xid = 9
COMMIT/*!*/;
)";

Result<BinaryLog> Parse(const std::string& text) {
  BinaryLogParser parser("/data/binlog.000001");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) parser.AddLine(line);
  return parser.Finish();
}

TEST(BinaryLogText, HasRunAndTransactions) {
  const auto log = Parse(std::string(kBegin) + kTransaction + "INSERT INTO t VALUES (1)\n" + kXid);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  EXPECT_EQ(log->name, "binlog.000001");
  EXPECT_EQ(log->begun_s, 1795887473);
  EXPECT_TRUE(log->at_startup);
  EXPECT_FALSE(log->in_use);
  EXPECT_THAT(log->server_ids, ElementsAre(3));
  EXPECT_EQ(log->checkpoint, "binlog.000001");
  EXPECT_THAT(log->first_state, ElementsAre(Pair(Pair(0, 3), 9), Pair(Pair(1, 4), 100)));
  EXPECT_THAT(log->last_state, ElementsAre(Pair(Pair(0, 3), 10), Pair(Pair(1, 4), 100)));
  EXPECT_THAT(log->xids,
              ElementsAre(AllOf(Field(&XidEvent::number, 9), Field(&XidEvent::position, 755))));
  EXPECT_EQ(log->end_position, 786u);
  EXPECT_EQ(log->end, BinaryLog::End::kNone);
}

TEST(BinaryLogText, AGroupWithoutItsEndCountsForNothing) {
  const auto log = Parse(std::string(kBegin) + kTransaction + "INSERT INTO t VALUES (1)\n/*!*/;\n");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(log->last_state, log->first_state);
  EXPECT_TRUE(log->xids.empty());
}

TEST(BinaryLogText, ACommitOfTheStatementCountsAsTheEnd) {
  const auto log = Parse(std::string(kBegin) + kTransaction + "COMMIT\n/*!*/;\n");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(log->last_state, ElementsAre(Pair(Pair(0, 3), 10), Pair(Pair(1, 4), 100)));
}

TEST(BinaryLogText, CommitInsideAStatementIsNone) {
  const auto log =
      Parse(std::string(kBegin) + kTransaction + "INSERT INTO t VALUES ('\nCOMMIT\n')\n/*!*/;\n");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(log->last_state, log->first_state);
}

TEST(BinaryLogText, TextOfAStatementThatLooksLikeAnEventIsRefused) {
  for (const std::string at : {"381", "755", "1234"}) {
    const auto log = Parse(
        std::string(kBegin) + kTransaction + "INSERT INTO t VALUES ('\n# at " + at +
        "\n#261128 17:00:00 server id 3  end_log_pos 786 CRC32 0x12345678 \tXid = 77\n')\n" + kXid);
    EXPECT_EQ(log.status().code(), StatusCode::kCorruption) << at;
  }
}

TEST(BinaryLogText, OtherTextOfAStatementIsNothing) {
  const auto log = Parse(std::string(kBegin) + kTransaction +
                         "INSERT INTO t VALUES ('\n# at x\nXid = 77\n#261128 17:00:00 server id 3  "
                         "end_log_pos 786 CRC32 0x12345678 \tXid = 77\n')\n" +
                         kXid);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  EXPECT_THAT(log->xids, ElementsAre(Field(&XidEvent::number, 9)));
}

TEST(BinaryLogText, EventsOfRowsAreAnnouncedTogether) {
  const auto log = Parse(std::string(kBegin) + R"(# at 339
#261128 17:37:54 server id 3  end_log_pos 381 CRC32 0x70ade05d 	GTID 0-3-10 trans
START TRANSACTION
/*!*/;
# at 381
# at 500
#261128 17:37:54 server id 3  end_log_pos 500 CRC32 0x06f9f68d 	Annotate_rows:
#Q> INSERT INTO t VALUES (1)
#261128 17:37:54 server id 3  end_log_pos 540 CRC32 0x8689ea94 	Table_map: `d`.`t` mapped to number 18
# at 540
#261128 17:37:54 server id 3  end_log_pos 755 CRC32 0x4758a39d 	Write_rows: table id 18 flags: STMT_END_F
# Number of rows: 1
)" + std::string(kXid).substr(7));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  EXPECT_THAT(log->xids, ElementsAre(Field(&XidEvent::number, 9)));
  EXPECT_EQ(log->end_position, 786u);
}

TEST(BinaryLogText, UsersTransactionsAreListed) {
  const auto log = Parse(std::string(kBegin) + R"(# at 339
#261128 17:37:53 server id 3  end_log_pos 381 CRC32 0x7d0d5de9 	XID = X'67',X'62',7
XA PREPARE X'67',X'62',7
/*!*/;
# at 381
#261128 17:37:53 server id 3  end_log_pos 400 CRC32 0x3260ecd6 	Query	thread_id=7	exec_time=0	error_code=0	xid=0
SET TIMESTAMP=1795887473/*!*/;
XA COMMIT X'67',X'62',7
/*!*/;
# at 400
#261128 17:37:53 server id 3  end_log_pos 444 CRC32 0xf1836269 	Rotate to binlog.000002  pos: 4
)");
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  ASSERT_EQ(log->xa.size(), 2u);
  EXPECT_EQ(log->xa[0].kind, XaEvent::Kind::kPrepare);
  EXPECT_EQ(log->xa[1].kind, XaEvent::Kind::kCommit);
  EXPECT_EQ(log->xa[1].xid, "X'67',X'62',7");
  EXPECT_EQ(log->end, BinaryLog::End::kRotate);
  EXPECT_EQ(log->next_name, "binlog.000002");
}

TEST(BinaryLogText, WithoutChecksumsAndInUse) {
  const auto log = Parse(
      "# at 4\n"
      "#261128  7:37:53 server id 3  end_log_pos 256 \tStart: binlog v 4, server v 10.11.18 "
      "created "
      "261128  7:37:53\n"
      "# Warning: this binlog is either in use or was not closed properly.\n"
      "# at 256\n#261128  7:38:53 server id 3  end_log_pos 275 \tStop\n");
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  EXPECT_FALSE(log->at_startup);
  EXPECT_TRUE(log->in_use);
  EXPECT_EQ(log->end, BinaryLog::End::kStop);
  EXPECT_EQ(log->last_event_s, log->begun_s + 60);
}

TEST(BinaryLogText, AnEncryptedFileIsRefused) {
  const auto log = Parse(
      "# at 4\n"
      "#261128  7:37:53 server id 3  end_log_pos 256 \tStart: binlog v 4, server v 10.11.18 "
      "created "
      "261128  7:37:53\n"
      "# at 256\n"
      "# Encryption scheme: 1, key_version: 1, nonce: ec8846789792a019c652845a\n"
      "# The rest of the binlog is encrypted!\n");
  EXPECT_EQ(log.status().code(), StatusCode::kNotSupported);
  EXPECT_THAT(std::string(log.status().message()), HasSubstr("encrypted"));
}

TEST(BinaryLogText, WhatIsNoneIsRefused) {
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse("DELIMITER /*!*/;\n").ok());
  EXPECT_FALSE(Parse("# at 4\nsomething else\n").ok());
}

TEST(BinaryLogFile, IsLookedAtFirst) {
  EXPECT_EQ(ReadBinaryLog("true", "/nowhere/binlog.000001").status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ReadBinaryLog("true", "/proc/self/exe").status().message()),
              HasSubstr("no binary log"));
}

}  // namespace
}  // namespace cairn
