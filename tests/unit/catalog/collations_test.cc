#include <gtest/gtest.h>

#include <string>

#include "engine/catalog/dictionary.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using IndexWeights = Dictionary::IndexWeights;

// Has the weights that a test says.
class ChangingCollation final : public Collation {
 public:
  explicit ChangingCollation(uint32_t id, CollationKind kind = CollationKind::kSingleLevel) {
    traits_.id = id;
    traits_.kind = kind;
    traits_.name = "changing_ci";
  }
  void SetBuiltIn(bool is_built_in) { traits_.is_built_in = is_built_in; }

  uint64_t HashWeights() const override {
    ++hashed;
    return weights;
  }
  size_t WriteWeights(std::string_view, size_t, Padding, uint8_t*, size_t) const override {
    return 0;
  }
  size_t WriteLevel(std::string_view, uint32_t, uint8_t*, size_t) const override { return 0; }
  size_t MaxLevelBytes(size_t) const override { return 0; }
  size_t MaxWeightBytes(size_t) const override { return 0; }
  size_t TrimmedLength(std::string_view value) const override { return value.size(); }
  size_t CharPrefixLength(std::string_view value, size_t) const override { return value.size(); }

  uint64_t weights = 1;
  mutable int hashed = 0;
};

class CollationsTest : public ::testing::Test {
 protected:
  CollationsTest() { Reopen(); }

  void Reopen() {
    dictionary_.reset();
    database_.reset();
    database_ = disk_.Open();
    auto dictionary = Dictionary::Load(database_.get());
    ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
    dictionary_ = std::move(dictionary).value();
  }

  // As a server of this version does before it makes an index or looks at one.
  void Start(const std::string& server) {
    Reopen();
    Note(server);
  }
  void Note(const std::string& server) {
    const Status noted = dictionary_->NoteWeights(collation_, server);
    ASSERT_TRUE(noted.ok()) << noted.ToString();
  }

  uint32_t MakeIndex() {
    const auto made = dictionary_->CreateTable("d.t" + std::to_string(++tables_),
                                               {{IndexKind::kPrimary}}, std::nullopt);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? (*made)->indexes[0].id.index_number : 0;
  }

  IndexWeights Of(uint32_t index) const { return dictionary_->WeightsOf(collation_, index); }

  void PutRecord(const std::string& value) {
    ASSERT_TRUE(database_->rocksdb()
                    ->Put(rocksdb::WriteOptions(), database_->system_family().handle,
                          CollationKey(collation_.traits().id), value)
                    .ok());
  }
  std::string StoredRecord() const {
    std::string value;
    EXPECT_TRUE(database_->rocksdb()
                    ->Get(rocksdb::ReadOptions(), database_->system_family().handle,
                          CollationKey(collation_.traits().id), &value)
                    .ok());
    return value;
  }

  ChangingCollation collation_{300};
  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  int tables_ = 0;
};

TEST_F(CollationsTest, IndexesOfBeforeTheFirstNoteAreCurrent) {
  const uint32_t index = MakeIndex();
  EXPECT_EQ(Of(index), IndexWeights::kCurrent);
  Start("1");
  EXPECT_EQ(Of(index), IndexWeights::kCurrent);
}

TEST_F(CollationsTest, OtherWeightsMakeOlderIndexesOldAndNewOnesCurrent) {
  Start("1");
  const uint32_t old = MakeIndex();
  collation_.weights = 2;
  Start("2");
  EXPECT_EQ(Of(old), IndexWeights::kOld);
  const uint32_t current = MakeIndex();
  EXPECT_EQ(Of(current), IndexWeights::kCurrent);
  Start("2");
  EXPECT_EQ(Of(old), IndexWeights::kOld) << "it stays so";
  EXPECT_EQ(Of(current), IndexWeights::kCurrent);
}

TEST_F(CollationsTest, TheWayBackMakesThemCurrentAgain) {
  Start("1");
  const uint32_t first = MakeIndex();
  collation_.weights = 2;
  Start("2");
  const uint32_t second = MakeIndex();
  collation_.weights = 1;
  Start("1");
  const uint32_t third = MakeIndex();
  EXPECT_EQ(Of(first), IndexWeights::kCurrent);
  EXPECT_EQ(Of(second), IndexWeights::kOld);
  EXPECT_EQ(Of(third), IndexWeights::kCurrent);
}

// Without an index between, a generation would have no number of its own.
TEST_F(CollationsTest, WeightsMayChangeTwiceWithoutAnIndexBetween) {
  Start("1");
  const uint32_t first = MakeIndex();
  for (const uint64_t weights : {2, 3, 4}) {
    collation_.weights = weights;
    Start(std::to_string(weights));
    EXPECT_EQ(Of(first), IndexWeights::kOld);
  }
  const auto record = DecodeCollationRecord(StoredRecord());
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_EQ(record->generations.size(), 2u);
  EXPECT_EQ(Of(MakeIndex()), IndexWeights::kCurrent);
  collation_.weights = 1;
  Start("1");
  EXPECT_EQ(Of(first), IndexWeights::kCurrent);
}

TEST_F(CollationsTest, ValuesThatComeBackByWeightsAreTold) {
  collation_ = ChangingCollation(300, CollationKind::kSimple8Bit);
  Start("1");
  const uint32_t simple = MakeIndex();
  collation_ = ChangingCollation(300, CollationKind::kSingleLevel);
  collation_.weights = 2;
  Start("2");
  EXPECT_EQ(Of(simple), IndexWeights::kOldInValues) << "its keys were made so";
}

TEST_F(CollationsTest, OneServerHashesABuiltInCollationOnce) {
  Start("1");
  Note("1");
  Start("1");
  EXPECT_EQ(collation_.hashed, 1);
  Start("2");
  EXPECT_EQ(collation_.hashed, 2);
  Start("2");
  EXPECT_EQ(collation_.hashed, 2);
}

TEST_F(CollationsTest, AnotherCollationIsHashedAtEachStart) {
  collation_.SetBuiltIn(false);
  Start("1");
  const uint32_t index = MakeIndex();
  collation_.weights = 2;
  Start("1");
  EXPECT_EQ(collation_.hashed, 2);
  EXPECT_EQ(Of(index), IndexWeights::kOld);
}

TEST_F(CollationsTest, ADamagedRecordIsKeptAndSaid) {
  Start("1");
  const uint32_t index = MakeIndex();
  PutRecord("damage");
  collation_.weights = 2;
  Start("2");
  EXPECT_EQ(Of(index), IndexWeights::kCurrent) << "nobody knows";
  EXPECT_EQ(StoredRecord(), "damage");
  const auto messages = disk_.log().messages();
  ASSERT_FALSE(messages.empty());
  EXPECT_NE(messages.back().find("collation changing_ci is ignored and kept"), std::string::npos)
      << messages.back();
}

}  // namespace
}  // namespace cairn
