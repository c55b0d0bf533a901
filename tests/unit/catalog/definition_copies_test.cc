#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "engine/catalog/dictionary.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

const std::vector<NewIndex> kTwoIndexes = {{IndexKind::kPrimary}, {IndexKind::kSecondary}};

class DefinitionCopiesTest : public ::testing::Test {
 protected:
  DefinitionCopiesTest() { Reopen(); }

  void Reopen() {
    dictionary_.reset();
    database_.reset();
    database_ = disk_.Open();
    auto dictionary = Dictionary::Load(database_.get());
    ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
    dictionary_ = std::move(dictionary).value();
  }

  static DefinitionCopy Copy(const std::string& version) {
    return {version, "definition " + version, ""};
  }

  void Create(const std::string& name, const std::string& version) {
    const DefinitionCopy copy = Copy(version);
    ASSERT_TRUE(dictionary_
                    ->CreateTable(name, kTwoIndexes, std::nullopt, TableLifetime::kPermanent, {},
                                  version.empty() ? nullptr : &copy)
                    .ok());
  }

  // The version of the copy that may be used, in memory and after a start; else why there is none.
  std::string VersionOf(const std::string& table) {
    const std::string now = LoadedVersion(table);
    Reopen();
    EXPECT_EQ(LoadedVersion(table), now) << "a start must not change it";
    EXPECT_EQ(dictionary_->HasDefinitionCopy(table, now), now.starts_with("v") || now.size() == 1);
    return now;
  }

  std::string LoadedVersion(const std::string& table) {
    const auto copy = dictionary_->LoadDefinitionCopy(table);
    if (!copy.ok()) return std::string(ToString(copy.status().code()));
    EXPECT_EQ(copy->definition, "definition " + copy->version);
    EXPECT_FALSE(dictionary_->HasDefinitionCopy(table, copy->version + "x"));
    return copy->version;
  }

  // How many records of the two kinds there are.
  int CountRecords() {
    int count = 0;
    std::unique_ptr<rocksdb::Iterator> iterator(database_->rocksdb()->NewIterator(
        rocksdb::ReadOptions(), database_->system_family().handle));
    for (const auto type :
         {DictionaryRecordType::kDefinitionMark, DictionaryRecordType::kDefinitionCopy}) {
      const std::string prefix = DictionaryPrefix(type);
      for (iterator->Seek(prefix); iterator->Valid() && iterator->key().starts_with(prefix);
           iterator->Next()) {
        ++count;
      }
    }
    return count;
  }

  // As another engine would: without a look at the copies.
  void PutRecord(const std::string& key, const std::string& value) {
    ASSERT_TRUE(database_->rocksdb()
                    ->Put(rocksdb::WriteOptions(), database_->system_family().handle, key, value)
                    .ok());
    Reopen();
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
};

const std::string kNone(ToString(StatusCode::kNotFound));
const std::string kOutdated(ToString(StatusCode::kMetadataMismatch));
const std::string kDamaged(ToString(StatusCode::kCorruption));

TEST_F(DefinitionCopiesTest, CreateWritesOneAndDropRemovesIt) {
  Create("db.t", "v1");
  EXPECT_EQ(VersionOf("db.t"), "v1");
  EXPECT_EQ(VersionOf("db.other"), kNone);
  ASSERT_TRUE(dictionary_->DropTable("db.t").ok());
  EXPECT_EQ(VersionOf("db.t"), kNone);
  EXPECT_EQ(CountRecords(), 0);
}

// The sums are those of the format page.
TEST_F(DefinitionCopiesTest, TheMarkHasTheSumOfTheEntriesDigests) {
  const DefinitionCopy copy{"\x01\x02\x03\x04", "definition", "partitions"};
  const auto create = [&](const std::string& name, const std::vector<NewIndex>& indexes) {
    ASSERT_TRUE(
        dictionary_->CreateTable(name, indexes, std::nullopt, TableLifetime::kPermanent, {}, &copy)
            .ok());
  };
  create("db.t", kTwoIndexes);  // 0x100, 0x101
  create("db.p#P#p0", {{IndexKind::kHiddenPrimary}});
  create("db.p#P#p1", {{IndexKind::kHiddenPrimary}});
  const auto mark = [this](const std::string& table) {
    std::string value;
    EXPECT_TRUE(database_->rocksdb()
                    ->Get(rocksdb::ReadOptions(), database_->system_family().handle,
                          DefinitionMarkKey(table), &value)
                    .ok());
    return ToHex(value);
  };
  EXPECT_EQ(mark("db.t"),
            "00010401020304"
            "67ca375a8ab120fe"
            "ee54cf4f");
  EXPECT_EQ(mark("db.p"),
            "00010401020304"
            "51a2c3a5dabede89"
            "839f09eb");
}

TEST_F(DefinitionCopiesTest, ATableMadeWithoutOneGetsItLater) {
  Create("db.t", "");
  EXPECT_EQ(VersionOf("db.t"), kNone);
  ASSERT_TRUE(dictionary_->PutDefinitionCopy("db.t", Copy("v1")).ok());
  EXPECT_EQ(VersionOf("db.t"), "v1");
  EXPECT_EQ(dictionary_->PutDefinitionCopy("db.other", Copy("v1")).code(), StatusCode::kNotFound);
}

TEST_F(DefinitionCopiesTest, RenameTakesItAlong) {
  Create("db.t", "v1");
  Create("db.other", "v2");
  ASSERT_TRUE(dictionary_->RenameTable("db.t", "db.aside").ok());
  ASSERT_TRUE(dictionary_->RenameTable("db.other", "db.t").ok());
  EXPECT_EQ(VersionOf("db.t"), "v2");
  EXPECT_EQ(VersionOf("db.aside"), "v1");
  EXPECT_EQ(VersionOf("db.other"), kNone);
  EXPECT_EQ(CountRecords(), 4);
}

TEST_F(DefinitionCopiesTest, TruncateKeepsIt) {
  Create("db.t", "v1");
  ASSERT_TRUE(dictionary_->TruncateTable("db.t").ok());
  EXPECT_EQ(VersionOf("db.t"), "v1");
}

TEST_F(DefinitionCopiesTest, AChangeBringsItsOwnOrLeavesNone) {
  Create("db.t", "v1");
  Dictionary::TableChange change;
  change.table_name = "db.t";
  change.indexes = {dictionary_->Find("db.t")->indexes[0].id};
  change.definition = std::make_shared<DefinitionCopy>(Copy("v2"));
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  EXPECT_EQ(VersionOf("db.t"), "v2");
  change.definition = nullptr;
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  EXPECT_EQ(VersionOf("db.t"), kNone);
  EXPECT_EQ(CountRecords(), 0);
}

TEST_F(DefinitionCopiesTest, PartitionsShareOne) {
  for (const char* const part : {"p0", "p1", "p2"}) Create(std::string("db.t#P#") + part, "v1");
  EXPECT_EQ(VersionOf("db.t"), "v1");
  EXPECT_EQ(CountRecords(), 2);
  ASSERT_TRUE(dictionary_->TruncateTables({"db.t#P#p1"}).ok());
  EXPECT_EQ(VersionOf("db.t"), "v1");
  ASSERT_TRUE(dictionary_->RenamePartitions("db.t", "db.u").ok());
  EXPECT_EQ(VersionOf("db.u"), "v1");
  EXPECT_EQ(VersionOf("db.t"), kNone);
  ASSERT_TRUE(dictionary_->DropTables({"db.u#P#p0", "db.u#P#p1", "db.u#P#p2"}).ok());
  EXPECT_EQ(CountRecords(), 0);
}

TEST_F(DefinitionCopiesTest, OtherPartitionsThanItKnowsMakeItOutdated) {
  for (const char* const part : {"p0", "p1"}) Create(std::string("db.t#P#") + part, "v1");
  Create("db.t#P#p2", "");
  EXPECT_EQ(VersionOf("db.t"), kOutdated);
  EXPECT_FALSE(dictionary_->HasDefinitionCopy("db.t", "v1"));
  ASSERT_TRUE(dictionary_->DropTable("db.t#P#p2").ok());
  EXPECT_EQ(VersionOf("db.t"), "v1") << "as after a crash, whose statement is taken back";
  ASSERT_TRUE(dictionary_->DropTable("db.t#P#p1").ok());
  EXPECT_EQ(VersionOf("db.t"), kOutdated);
  ASSERT_TRUE(dictionary_->PutDefinitionCopy("db.t", Copy("v2")).ok());
  ASSERT_TRUE(dictionary_->RenameTable("db.t#P#p0", "db.t#P#p9").ok());
  EXPECT_EQ(VersionOf("db.t"), kOutdated);
  EXPECT_EQ(CountRecords(), 2);
}

TEST_F(DefinitionCopiesTest, APartitionOfAnotherVersionReplacesIt) {
  Create("db.t#P#p0", "v1");
  Create("db.t#P#p1", "v2");
  EXPECT_EQ(VersionOf("db.t"), "v2");
}

// EXCHANGE PARTITION: the table leaves for a name of the server's, the partition becomes the table.
TEST_F(DefinitionCopiesTest, TablesAndPartitionsThatChangePlacesGetTheirs) {
  Create("db.t#P#p0", "t");
  Create("db.t#P#p1", "t");
  Create("db.u", "u");
  const DefinitionCopy of_t = Copy("t");
  const DefinitionCopy of_u = Copy("u");
  ASSERT_TRUE(dictionary_->RenameTable("db.u", "db.#sqlx-1").ok());
  ASSERT_TRUE(dictionary_->RenameTable("db.t#P#p0", "db.u", &of_u).ok());
  EXPECT_EQ(VersionOf("db.t"), kOutdated);
  ASSERT_TRUE(dictionary_->RenameTable("db.#sqlx-1", "db.t#P#p0", &of_t).ok());
  EXPECT_EQ(VersionOf("db.t"), "t");
  EXPECT_EQ(VersionOf("db.u"), "u");
  EXPECT_EQ(CountRecords(), 4);
}

TEST_F(DefinitionCopiesTest, ATableThatBecomesAPartitionLeavesNone) {
  Create("db.t#P#p0", "t");
  Create("db.u", "u");
  ASSERT_TRUE(dictionary_->RenameTable("db.u", "db.t#P#p1").ok());
  EXPECT_EQ(VersionOf("db.u"), kNone);
  EXPECT_EQ(VersionOf("db.t"), kOutdated);
  ASSERT_TRUE(dictionary_->RenameTable("db.t#P#p1", "db.u").ok());
  EXPECT_EQ(VersionOf("db.u"), kNone);
}

TEST_F(DefinitionCopiesTest, TemporaryTablesHaveNone) {
  const DefinitionCopy copy = Copy("v1");
  ASSERT_TRUE(
      dictionary_
          ->CreateTable("db.t", kTwoIndexes, std::nullopt, TableLifetime::kTemporary, {}, &copy)
          .ok());
  ASSERT_TRUE(dictionary_->TruncateTable("db.t").ok());
  EXPECT_EQ(CountRecords(), 0);
}

// Another engine drops the table and makes another one of the name.
TEST_F(DefinitionCopiesTest, OtherIndexNumbersMakeItOutdated) {
  Create("db.t", "v1");
  Create("db.other", "v2");
  std::vector<IndexId> of_other;
  for (const IndexDefinition& index : dictionary_->Find("db.other")->indexes) {
    of_other.push_back(index.id);
  }
  ASSERT_TRUE(
      database_->rocksdb()
          ->Delete(rocksdb::WriteOptions(), database_->system_family().handle, TableKey("db.other"))
          .ok());
  PutRecord(TableKey("db.t"), EncodeTable(of_other));
  EXPECT_EQ(VersionOf("db.t"), kOutdated);
}

TEST_F(DefinitionCopiesTest, ThoseOfNoTableGoWhenTheStartIsSettled) {
  Create("db.t", "v1");
  Create("db.u", "v2");
  ASSERT_TRUE(
      database_->rocksdb()
          ->Delete(rocksdb::WriteOptions(), database_->system_family().handle, TableKey("db.t"))
          .ok());
  Reopen();
  EXPECT_EQ(CountRecords(), 4);
  ASSERT_TRUE(dictionary_->SettleDefinitionCopies().ok());
  EXPECT_EQ(CountRecords(), 2);
  EXPECT_EQ(VersionOf("db.u"), "v2");
}

TEST_F(DefinitionCopiesTest, ThatOfAQuarantinedTableStaysUntilItIsDropped) {
  Create("db.t", "v1");
  PutRecord(TableKey("db.t"), "\x01");
  ASSERT_TRUE(dictionary_->FindQuarantined("db.t").has_value());
  ASSERT_TRUE(dictionary_->SettleDefinitionCopies().ok());
  EXPECT_EQ(VersionOf("db.t"), kOutdated);
  ASSERT_TRUE(dictionary_->DropTable("db.t").ok());
  EXPECT_EQ(CountRecords(), 0);
}

TEST_F(DefinitionCopiesTest, DamagedRecordsHarmNobodyAndAreReplaced) {
  Create("db.t", "v1");
  PutRecord(DefinitionCopyKey("db.t"), "damaged");
  EXPECT_NE(dictionary_->Find("db.t"), nullptr);
  EXPECT_EQ(dictionary_->LoadDefinitionCopy("db.t").status().code(), StatusCode::kNotSupported);
  PutRecord(DefinitionCopyKey("db.t"), EncodeDefinitionCopy(Copy("v2")));
  EXPECT_EQ(LoadedVersion("db.t"), kDamaged) << "it is not the one of the mark";
  PutRecord(DefinitionMarkKey("db.t"), "");
  EXPECT_EQ(VersionOf("db.t"), kNone);
  ASSERT_TRUE(dictionary_->PutDefinitionCopy("db.t", Copy("v3")).ok());
  EXPECT_EQ(VersionOf("db.t"), "v3");
}

}  // namespace
}  // namespace cairn
