// A damaged or newer record takes the tables that it concerns away, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "engine/catalog/dictionary.h"
#include "engine/codec/layout_history_record.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::HasSubstr;

// Two tables: db.good has the indexes 256 and 257, db.bad 258 and 259.
class QuarantineTest : public ::testing::Test {
 protected:
  QuarantineTest() {
    EXPECT_TRUE(Load().ok());
    for (const char* name : {"db.good", "db.bad"}) {
      EXPECT_TRUE(
          dictionary_
              ->CreateTable(name, {{IndexKind::kPrimary}, {IndexKind::kSecondary}}, std::nullopt)
              .ok());
    }
  }

  Status Load() {
    dictionary_.reset();
    database_.reset();
    database_ = disk_.Open();
    auto loaded = Dictionary::Load(database_.get());
    if (loaded.ok()) dictionary_ = std::move(loaded).value();
    return loaded.status();
  }

  rocksdb::ColumnFamilyHandle* system() { return database_->system_family().handle; }

  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(database_->rocksdb()->Put(rocksdb::WriteOptions(), system(), key, value).ok());
  }

  void Delete(const std::string& key) {
    ASSERT_TRUE(database_->rocksdb()->Delete(rocksdb::WriteOptions(), system(), key).ok());
  }

  bool Exists(const std::string& key) {
    std::string value;
    return database_->rocksdb()->Get(rocksdb::ReadOptions(), system(), key, &value).ok();
  }

  // Only db.bad is gone, for a reason that contains `reason`; it can be dropped, and its name and
  // its numbers are then as good as new.
  void ExpectBadIsQuarantined(const std::string& reason) {
    ASSERT_TRUE(Load().ok());
    EXPECT_NE(dictionary_->Find("db.good"), nullptr);
    EXPECT_EQ(dictionary_->Find("db.bad"), nullptr);
    ASSERT_TRUE(dictionary_->FindQuarantined("db.bad").has_value());
    EXPECT_THAT(dictionary_->FindQuarantined("db.bad")->reason, HasSubstr(reason));
    EXPECT_EQ(dictionary_->QuarantinedTables().size(), 1u);
    EXPECT_TRUE(dictionary_->PendingDrops().empty());
    EXPECT_EQ(CreateBad().code(), StatusCode::kQuarantined);
    EXPECT_EQ(dictionary_->RenameTable("db.bad", "db.c").code(), StatusCode::kQuarantined);
    EXPECT_EQ(dictionary_->ChangeTables({{"db.bad", {}}}).code(), StatusCode::kQuarantined);
    EXPECT_EQ(dictionary_->RenameTable("db.good", "db.bad").code(), StatusCode::kQuarantined);

    ASSERT_TRUE(dictionary_->DropTable("db.bad").ok());
    EXPECT_TRUE(dictionary_->QuarantinedTables().empty());
    ASSERT_TRUE(Load().ok());
    EXPECT_TRUE(dictionary_->QuarantinedTables().empty());
    ASSERT_TRUE(CreateBad().ok());
    EXPECT_GT(dictionary_->Find("db.bad")->indexes[0].id.index_number, 259u);
    for (const IndexId id : dictionary_->PendingDrops()) {
      EXPECT_TRUE(id.index_number == 258 || id.index_number == 259) << id.index_number;
      ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
    }
    EXPECT_NE(dictionary_->Find("db.good"), nullptr);
  }

  Status CreateBad() {
    return dictionary_->CreateTable("db.bad", {{IndexKind::kPrimary}}, std::nullopt).status();
  }

  static std::string Index(uint32_t number) {
    return IndexKey(DictionaryRecordType::kIndex, IndexId{0, number});
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
};

TEST_F(QuarantineTest, TableEntryOfUnknownVersion) {
  Put(TableKey("db.bad"), std::string("\0\x02", 2));
  ExpectBadIsQuarantined("version 2");
}

TEST_F(QuarantineTest, TableEntryOfWrongLength) {
  Put(TableKey("db.bad"), EncodeTable({IndexId{0, 258}}) + "x");
  ExpectBadIsQuarantined("length");
}

TEST_F(QuarantineTest, IndexWithoutRecord) {
  Delete(Index(259));
  ExpectBadIsQuarantined("index 259 in column family 0 has no record");
}

TEST_F(QuarantineTest, IndexRecordOfUnknownVersion) {
  Put(Index(258), std::string("\0\x63", 2) + std::string(15, '\0'));
  ExpectBadIsQuarantined("version 99");
}

TEST_F(QuarantineTest, IndexRecordOfWrongLength) {
  Put(Index(258), EncodeIndexInfo(IndexInfo{}) + "x");
  ExpectBadIsQuarantined("length");
}

TEST_F(QuarantineTest, IndexRecordWithUnknownFeatures) {
  IndexInfo info;
  info.format_version = kCairnFormatVersion;
  info.features = 1u << 30;
  Put(Index(259), EncodeIndexInfo(info));
  ExpectBadIsQuarantined("unknown features 1073741824");
}

std::string RowLayouts() {
  return EncodeLayoutHistory(*LayoutHistory::Make(0, {{.shape = {.image_bytes = 4}}}, {1}));
}

std::string WithRowLayouts() { return EncodeIndexInfo(IndexInfo{.features = kFeatureRowLayouts}); }

TEST_F(QuarantineTest, RowsOfSeveralLayoutsWithoutTheirHistory) {
  Put(Index(258), WithRowLayouts());
  ExpectBadIsQuarantined("index 258 in column family 0 has no history of its row layouts");
}

TEST_F(QuarantineTest, DamagedHistoryOfRowLayouts) {
  Put(Index(258), WithRowLayouts());
  Put(IndexKey(DictionaryRecordType::kLayoutHistory, {0, 258}), RowLayouts() + "x");
  ExpectBadIsQuarantined("does not have its checksum");
}

TEST_F(QuarantineTest, HistoryOfRowLayoutsThatTheIndexRecordDoesNotKnow) {
  Put(IndexKey(DictionaryRecordType::kLayoutHistory, {0, 258}), RowLayouts());
  ExpectBadIsQuarantined("has a history of row layouts that its record does not know");
}

TEST_F(QuarantineTest, IndexInAFamilyThatDoesNotExist) {
  const IndexId id{77, 259};
  Put(TableKey("db.bad"), EncodeTable({IndexId{0, 258}, id}));
  Put(IndexKey(DictionaryRecordType::kIndex, id),
      EncodeIndexInfo(IndexInfo{.kind = IndexKind::kSecondary}));
  ExpectBadIsQuarantined("the column family does not exist");
}

TEST_F(QuarantineTest, IndexNumberAboveTheLargest) {
  const IndexId id{0, 70000};
  Put(TableKey("db.bad"), EncodeTable({id}));
  Put(IndexKey(DictionaryRecordType::kIndex, id), EncodeIndexInfo(IndexInfo{}));
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(dictionary_->max_index_number(), 259u) << "one damaged number wastes no others";
  ExpectBadIsQuarantined("above the largest number handed out, 259");
}

TEST_F(QuarantineTest, NumbersOfDamagedRecordsAreLeftOut) {
  const IndexId id{0, 261};
  Put(TableKey("db.bad"), EncodeTable({id}));
  Put(IndexKey(DictionaryRecordType::kIndex, id), EncodeIndexInfo(IndexInfo{}));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(Load().ok());
    const std::string name = "db.new" + std::to_string(round);
    const auto table = dictionary_->CreateTable(
        name, {{IndexKind::kPrimary}, {IndexKind::kSecondary}}, std::nullopt);
    ASSERT_TRUE(table.ok());
    for (const IndexDefinition& index : (*table)->indexes) EXPECT_NE(index.id.index_number, 261u);
    if (round == 0) {
      ASSERT_TRUE(dictionary_->DropTable("db.bad").ok());
    }
  }
}

TEST_F(QuarantineTest, IndexOfTheDictionarysOwnFamily) {
  const IndexId id{database_->system_family().id, 258};
  Put(TableKey("db.bad"), EncodeTable({id}));
  Put(IndexKey(DictionaryRecordType::kIndex, id), EncodeIndexInfo(IndexInfo{}));
  ExpectBadIsQuarantined("where no index can be");
}

TEST_F(QuarantineTest, TableWithoutPrimaryKey) {
  Put(TableKey("db.bad"), EncodeTable({IndexId{0, 259}}));
  ExpectBadIsQuarantined("0 of its indexes are primary keys");
}

TEST_F(QuarantineTest, IndexThatIsMarkedAsDroppedKeepsItsEntries) {
  Put(IndexKey(DictionaryRecordType::kIndexDropOngoing, IndexId{0, 259}), EncodeOngoingMark());
  ExpectBadIsQuarantined("marked as dropped");
}

TEST_F(QuarantineTest, AutoIncrementRecordOfUnknownVersion) {
  Put(IndexKey(DictionaryRecordType::kAutoIncrement, IndexId{0, 258}),
      std::string("\0\x02", 2) + std::string(8, '\0'));
  ExpectBadIsQuarantined("auto-increment");
}

TEST_F(QuarantineTest, TwoTablesWithOneIndexNumberAreBothQuarantinedAndLoseNothing) {
  Put(TableKey("db.bad"), EncodeTable({IndexId{0, 256}}));
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(dictionary_->QuarantinedTables().size(), 2u);
  ASSERT_TRUE(dictionary_->DropTable("db.bad").ok());
  EXPECT_TRUE(dictionary_->PendingDrops().empty()) << "256 is claimed by db.good";
  ASSERT_TRUE(Load().ok());
  EXPECT_NE(dictionary_->Find("db.good"), nullptr) << "with the other claim gone it is whole again";
}

TEST_F(QuarantineTest, FamilyRecordOfUnknownVersionQuarantinesItsTables) {
  ASSERT_TRUE(dictionary_->DropTable("db.bad").ok());
  const std::vector<NewIndex> in_family = {{IndexKind::kPrimary, "rev:other"}};
  ASSERT_TRUE(dictionary_->CreateTable("db.bad", in_family, std::nullopt).ok());
  Put(ColumnFamilyKey(2), std::string("\0\x02\0\0\0\x01", 6));
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(dictionary_->FindQuarantined("db.bad").has_value());
  EXPECT_THAT(dictionary_->FindQuarantined("db.bad")->reason, HasSubstr("version 2"));
  EXPECT_NE(dictionary_->Find("db.good"), nullptr);
  EXPECT_EQ(dictionary_->CreateTable("db.c", in_family, std::nullopt).status().code(),
            StatusCode::kQuarantined);
}

TEST_F(QuarantineTest, UnreadableKeysAndMarksAreKept) {
  const std::string keys[] = {
      DictionaryPrefix(DictionaryRecordType::kTable),                             // No name.
      DictionaryPrefix(DictionaryRecordType::kIndex) + "short",                   //
      IndexKey(DictionaryRecordType::kIndexDropOngoing, IndexId{0, 4000000000}),  //
  };
  for (const std::string& key : keys) Put(key, EncodeOngoingMark());
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(dictionary_->Tables().size(), 2u);
  EXPECT_TRUE(dictionary_->PendingDrops().empty());
  for (const std::string& key : keys) EXPECT_TRUE(Exists(key)) << ToHex(key);
  EXPECT_THAT(disk_.log().messages(), ::testing::Contains(HasSubstr(ToHex(keys[1]))));
}

TEST_F(QuarantineTest, LostLargestNumberIsFoundInRecordsAndData) {
  std::string key;
  AppendBigEndian(uint32_t{300}, &key);
  ASSERT_TRUE(database_->rocksdb()
                  ->Put(rocksdb::WriteOptions(), database_->default_family().handle, key + "k", "v")
                  .ok());
  Delete(MaxIndexNumberKey());
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(dictionary_->max_index_number(), 300u);
  EXPECT_EQ(dictionary_->Tables().size(), 2u);

  Put(MaxIndexNumberKey(), std::string("\0\x01\0", 3));
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(dictionary_->max_index_number(), 300u);
}

// Recovery may go back to before a table was made whose rows are in files that it does not take
// back.
TEST_F(QuarantineTest, NumbersOfDataThatOutlivedItsTableAreNotHandedOutAgain) {
  std::string key;
  AppendBigEndian(uint32_t{300}, &key);
  ASSERT_TRUE(database_->rocksdb()
                  ->Put(rocksdb::WriteOptions(), database_->default_family().handle, key + "k", "v")
                  .ok());
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(dictionary_->max_index_number(), 259u) << "a key that nobody knows is damage";
  Put("something", "to be damaged");
  dictionary_.reset();
  database_.reset();
  std::vector<std::string> names;
  ASSERT_TRUE(disk_.env()->GetChildren("/memory", &names).ok());
  std::string log;
  for (const std::string& name : names) {
    if (name.ends_with(".log")) log = std::max(log, "/memory/" + name);
  }
  std::string bytes;
  ASSERT_TRUE(rocksdb::ReadFileToString(disk_.env(), log, &bytes).ok());
  ASSERT_FALSE(bytes.empty());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_TRUE(rocksdb::WriteStringToFile(disk_.env(), bytes, log).ok());
  DatabaseOptions options = disk_.Options();
  options.db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  auto database = Database::Open(std::move(options), &disk_.log());
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  database_ = std::move(database).value();
  ASSERT_TRUE(database_->has_left_out_changes());
  {
    const auto loaded = Dictionary::Load(database_.get());
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ((*loaded)->max_index_number(), 300u);
  }
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(dictionary_->max_index_number(), 300u) << "by the record";
}

TEST_F(QuarantineTest, LargestNumberOfANewerVersionRefusesTheStart) {
  Put(MaxIndexNumberKey(), std::string("\0\x63\0\0\x01\x04", 6));
  const Status status = Load();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_THAT(status.ToString(), HasSubstr("version 99"));
}

}  // namespace
}  // namespace cairn
