// Which formats a directory allows, and what a newer Cairn's is refused for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/catalog/dictionary.h"
#include "engine/codec/index_feature.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

class DirectoryFormatTest : public ::testing::Test {
 protected:
  // As the stock plug-in leaves it: families have records, the format has none.
  void MakeStockDirectory() {
    const auto database = disk_.Open();
    for (uint32_t family : {0, 1}) Put(*database, ColumnFamilyKey(family), EncodeColumnFamily(0));
  }

  void Put(const Database& database, const std::string& key, const std::string& value) {
    ASSERT_TRUE(database.rocksdb()
                    ->Put(rocksdb::WriteOptions(), database.system_family().handle, key, value)
                    .ok());
  }

  std::string Get(const Database& database, const std::string& key) {
    std::string value;
    const auto status = database.rocksdb()->Get(rocksdb::ReadOptions(),
                                                database.system_family().handle, key, &value);
    return status.ok() ? value : status.ToString();
  }

  MemoryDisk disk_;
};

TEST_F(DirectoryFormatTest, NewDirectoryIsCairns) {
  const auto database = disk_.Open();
  const auto dictionary = Dictionary::Load(database.get());
  ASSERT_TRUE(dictionary.ok());
  EXPECT_EQ((*dictionary)->format(), DirectoryFormat::kCairn);
  EXPECT_TRUE(disk_.env()->FileExists("/memory/CAIRN_FORMAT").ok());
}

TEST_F(DirectoryFormatTest, DirectoryOfTheStockPluginStaysStocksAndUnmarked) {
  MakeStockDirectory();
  const auto database = disk_.Open();
  const auto dictionary = Dictionary::Load(database.get());
  ASSERT_TRUE(dictionary.ok());
  EXPECT_EQ((*dictionary)->format(), DirectoryFormat::kStock);
  EXPECT_TRUE(disk_.env()->FileExists("/memory/CAIRN_FORMAT").IsNotFound());
  EXPECT_THAT(Get(*database, DirectoryFormatKey()), ::testing::HasSubstr("NotFound"));
}

TEST_F(DirectoryFormatTest, SetFormatSurvivesReopening) {
  MakeStockDirectory();
  for (const DirectoryFormat format : {DirectoryFormat::kCairn, DirectoryFormat::kStock}) {
    auto database = disk_.Open();
    {
      auto dictionary = Dictionary::Load(database.get());
      ASSERT_TRUE((*dictionary)->SetFormat(format).ok());
    }
    database.reset();
    database = disk_.Open();
    EXPECT_EQ((*Dictionary::Load(database.get()))->format(), format);
  }
  EXPECT_TRUE(disk_.env()->FileExists("/memory/CAIRN_FORMAT").ok());
}

TEST_F(DirectoryFormatTest, NewerRecordIsRefusedAndNothingIsWritten) {
  MakeStockDirectory();
  const auto database = disk_.Open();
  for (const std::string& value :
       {std::string("\0\x02\0\x01", 4), std::string("\0\x01\0\x03", 4)}) {
    Put(*database, DirectoryFormatKey(), value);
    const auto sequence = database->rocksdb()->GetLatestSequenceNumber();
    EXPECT_EQ(Dictionary::Load(database.get()).status().code(), StatusCode::kNotSupported);
    EXPECT_EQ(database->rocksdb()->GetLatestSequenceNumber(), sequence);
  }
}

TEST_F(DirectoryFormatTest, DamagedRecordAllowsTheStockFormatOnly) {
  MakeStockDirectory();
  const auto database = disk_.Open();
  Put(*database, DirectoryFormatKey(), std::string("\0\x01\0\x02\0", 5));
  const auto dictionary = Dictionary::Load(database.get());
  ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
  EXPECT_EQ((*dictionary)->format(), DirectoryFormat::kStock);
}

TEST_F(DirectoryFormatTest, IndexOfTheCairnFormatNeedsADirectoryThatAllowsIt) {
  const auto database = disk_.Open();
  const auto dictionary = std::move(Dictionary::Load(database.get())).value();
  const std::vector<NewIndex> indexes = {
      {.format_version = kCairnFormatVersion, .features = kFeatureDescendingPart}};
  ASSERT_TRUE(dictionary->CreateTable("db.t1", indexes, std::nullopt).ok());
  ASSERT_TRUE(dictionary->SetFormat(DirectoryFormat::kStock).ok());
  EXPECT_EQ(dictionary->CreateTable("db.t2", indexes, std::nullopt).status().code(),
            StatusCode::kNotSupported);
  EXPECT_NE(dictionary->Find("db.t1"), nullptr) << "what exists stays";
}

TEST(NameFeatures, NamesEveryBit) {
  EXPECT_EQ(NameFeatures(0), "");
  EXPECT_EQ(NameFeatures(kFeatureDescendingPart | kFeatureNoPadCollation),
            "NO PAD collation, descending key part");
  EXPECT_EQ(NameFeatures(kFeatureTrimmedChar), "CHAR column without trailing spaces");
  EXPECT_EQ(NameFeatures(kFeatureSequence | (1u << 31)), "sequence, feature 2147483648");
}

}  // namespace
}  // namespace cairn
