#include "engine/txn/transaction_id.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

TEST(TransactionName, IsThatOfTheFormat) {  // docs/stock-format.md, 1.4.
  const TransactionId id{7, "gt", "bq"};
  const std::string name = EncodeTransactionName(id);
  EXPECT_EQ(ToHex(name),
            "0000000000000007"
            "02"
            "02"
            "6774"
            "6271");
  EXPECT_EQ(*DecodeTransactionName(name), id);
}

TEST(TransactionName, NegativeFormatAndLongestPartsComeBack) {
  const TransactionId id{-1, std::string(64, 'g'), std::string(64, '\0')};
  EXPECT_EQ(*DecodeTransactionName(EncodeTransactionName(id)), id);
}

TEST(TransactionName, EveryTruncationIsCorruption) {
  const std::string name = EncodeTransactionName({7, "gtrid", "bqual"});
  for (size_t length = 0; length < name.size(); ++length) {
    EXPECT_EQ(DecodeTransactionName(name.substr(0, length)).status().code(),
              StatusCode::kCorruption);
  }
  EXPECT_EQ(DecodeTransactionName(name + "x").status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace cairn
