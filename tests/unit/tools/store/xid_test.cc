#include "tools/store/xid.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

using std::string_literals::operator""s;

TEST(OwnXid, HasServerAndNumber) {
  const TransactionId id{1, "MySQLXid\x03\0\0\0\0\0\0\0\x2c\x01\0\0\0\0\0\0"s, ""};
  const auto own = AsOwnXid(id);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->server_id, 3u);
  EXPECT_EQ(own->number, 300u);
}

TEST(OwnXid, IsOfOneFormOnly) {
  const std::string own = "MySQLXid\x03\0\0\0\0\0\0\0\x2c\x01\0\0\0\0\0\0"s;
  EXPECT_FALSE(AsOwnXid({1, own, "branch"}).has_value());
  EXPECT_FALSE(AsOwnXid({1, own + "x", ""}).has_value());
  EXPECT_FALSE(AsOwnXid({1, own.substr(1), ""}).has_value());
  EXPECT_FALSE(AsOwnXid({1, "mysqlXid" + own.substr(8), ""}).has_value());
}

TEST(XidText, ComesBack) {
  for (const TransactionId& id : {TransactionId{1, "g", ""}, TransactionId{-7, "g t", "b"},
                                  TransactionId{1, "it's", "\\"}, TransactionId{3, "\0\xff"s, ""},
                                  TransactionId{1, std::string(64, 'g'), std::string(64, '\n')}}) {
    EXPECT_EQ(*ParseXid(ToXidText(id)), id) << ToXidText(id);
  }
  EXPECT_EQ(ToXidText({1, "g", "b"}), "'g','b',1");
  EXPECT_EQ(ToXidText({1, "\x01", "b"}), "X'01',X'62',1");
}

TEST(XidText, MayLackBranchAndFormat) {
  EXPECT_EQ(*ParseXid("'g'"), (TransactionId{1, "g", ""}));
  EXPECT_EQ(*ParseXid("X'67',X'62'"), (TransactionId{1, "g", "b"}));
}

TEST(XidText, WrongOnesAreRefused) {
  for (const std::string text : {"", "g", "'g", "X'6'", "X'6g'", "'g',", "'g','b',", "'g','b',1x",
                                 "'g','b',1,", "'g'b'", "'g','b',99999999999999999999"}) {
    EXPECT_EQ(ParseXid(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(ParseXid("'" + std::string(65, 'g') + "'").ok());
}

}  // namespace
}  // namespace cairn
