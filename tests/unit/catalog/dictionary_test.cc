#include "engine/catalog/dictionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "engine/codec/layout_history_record.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

const std::vector<NewIndex> kPrimaryAndSecondary = {{IndexKind::kPrimary}, {IndexKind::kSecondary}};

class DictionaryTest : public ::testing::Test {
 protected:
  DictionaryTest() { Reopen(); }

  void Reopen() {
    dictionary_.reset();
    database_.reset();
    database_ = disk_.Open();
    auto dictionary = Dictionary::Load(database_.get());
    ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
    dictionary_ = std::move(dictionary).value();
  }

  // Records of `__system__` as "key => value" in hex, in key order.
  std::vector<std::string> Records() {
    std::vector<std::string> records;
    std::unique_ptr<rocksdb::Iterator> iterator(database_->rocksdb()->NewIterator(
        rocksdb::ReadOptions(), database_->system_family().handle));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      records.push_back(ToHex(iterator->key().ToStringView()) + " => " +
                        ToHex(iterator->value().ToStringView()));
    }
    return records;
  }

  // Loads the dictionary a second time, beside dictionary_.
  Status LoadAfterWriting(std::string_view key, std::string_view value) {
    EXPECT_TRUE(database_->rocksdb()
                    ->Put(rocksdb::WriteOptions(), database_->system_family().handle,
                          rocksdb::Slice(key.data(), key.size()),
                          rocksdb::Slice(value.data(), value.size()))
                    .ok());
    return Dictionary::Load(database_.get()).status();
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
};

TEST_F(DictionaryTest, FirstStartWritesTheTwoFamilies) {  // Vector D1.
  EXPECT_THAT(Records(),
              ::testing::ElementsAre("0000000300000000 => 000100000000",
                                     "0000000300000001 => 000100000000", "00000043 => 00010002"));
}

TEST_F(DictionaryTest,
       CreatedTableHasTheRecordsOfTheFormat) {  // As vector D2, from number 0x100 on.
  ASSERT_TRUE(dictionary_->CreateTable("fmt.s1", kPrimaryAndSecondary, std::nullopt).ok());
  EXPECT_THAT(Records(),
              ::testing::ElementsAre(
                  "00000001666d742e7331 => 000100000000000001000000000000000101",
                  "000000020000000000000100 => 000601000d000000000000000000000000",
                  "000000020000000000000101 => 000602000d000000000000000000000000",
                  "0000000300000000 => 000100000000", "0000000300000001 => 000100000000",
                  "00000007 => 000100000101",
                  "000000144d6172696144423a7461626c652d76657273696f6e3a2e2f666d742f7331 => "
                  "0000000000000000",
                  "00000043 => 00010002"));
}

TEST_F(DictionaryTest, TablesSurviveReopening) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t1", kPrimaryAndSecondary, 50).ok());
  ASSERT_TRUE(dictionary_->CreateTable("db.t2", {{IndexKind::kHiddenPrimary}}, std::nullopt).ok());
  Reopen();
  const auto table = dictionary_->Find("db.t1");
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->indexes.size(), 2u);
  EXPECT_EQ(table->indexes[1].id, (IndexId{0, 257}));
  EXPECT_EQ(table->indexes[1].info.kind, IndexKind::kSecondary);
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*table), 50u);
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*dictionary_->Find("db.t2")), 0u);
  EXPECT_EQ(dictionary_->max_index_number(), 258u);
}

TEST_F(DictionaryTest, IndexNumbersAreNeverUsedTwice) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).ok());
  ASSERT_TRUE(dictionary_->DropTable("db.t").ok());
  for (const IndexId id : dictionary_->PendingDrops()) {
    ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  }
  Reopen();
  const auto table = dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->indexes[0].id.index_number, 258u);
}

TEST_F(DictionaryTest, DroppedIndexesStayPendingOverReopeningUntilForgotten) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, 7).ok());
  ASSERT_TRUE(dictionary_->DropTable("db.t").ok());
  EXPECT_EQ(dictionary_->Find("db.t"), nullptr);
  Reopen();
  EXPECT_EQ(dictionary_->Find("db.t"), nullptr);
  ASSERT_THAT(dictionary_->PendingDrops(),
              ::testing::ElementsAre(IndexId{0, 256}, IndexId{0, 257}));
  for (const IndexId id : dictionary_->PendingDrops()) {
    ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  }
  Reopen();
  EXPECT_TRUE(dictionary_->PendingDrops().empty());
  EXPECT_EQ(Records().size(), 4u)
      << "families, the largest index number and the directory's format remain";
}

TEST_F(DictionaryTest, RenameMovesTheTableAndItsCounters) {
  ASSERT_TRUE(dictionary_->CreateTable("db.a", kPrimaryAndSecondary, 9).ok());
  ASSERT_TRUE(dictionary_->CreateTable("db.b", kPrimaryAndSecondary, std::nullopt).ok());
  EXPECT_EQ(dictionary_->RenameTable("db.a", "db.b").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(dictionary_->RenameTable("db.nothing", "db.c").code(), StatusCode::kNotFound);
  const auto before = dictionary_->Find("db.a");
  ASSERT_TRUE(dictionary_->RenameTable("db.a", "db.c").ok());
  EXPECT_EQ(dictionary_->Find("db.a"), nullptr);
  ASSERT_NE(dictionary_->Find("db.c"), nullptr);
  EXPECT_EQ(dictionary_->Find("db.c")->counters, before->counters);
  Reopen();
  ASSERT_NE(dictionary_->Find("db.c"), nullptr);
  EXPECT_EQ(dictionary_->Find("db.c")->indexes[0].id, before->indexes[0].id);
}

TEST_F(DictionaryTest, RenameMovesTheVersionRecord) {
  ASSERT_TRUE(dictionary_->CreateTable("db.a", kPrimaryAndSecondary, std::nullopt).ok());
  const size_t records = Records().size();
  ASSERT_TRUE(dictionary_->RenameTable("db.a", "other.b").ok());
  EXPECT_EQ(Records().size(), records);
  EXPECT_THAT(Records(), ::testing::Contains(::testing::HasSubstr(ToHex("./other/b"))));
  EXPECT_THAT(Records(),
              ::testing::Not(::testing::Contains(::testing::HasSubstr(ToHex("./db/a")))));
}

class PartitionsTest : public DictionaryTest {
 protected:
  PartitionsTest() {
    for (const char* name : {"db.t#P#p0", "db.t#P#p1", "db.t2", "db.t2#P#p0"}) {
      EXPECT_TRUE(dictionary_->CreateTable(name, kPrimaryAndSecondary, std::nullopt).ok());
    }
  }

  static std::string VersionKey(std::string_view path) { return ToHex(TableVersionKey(path)); }
};

TEST_F(PartitionsTest, EntriesOfATableAreItsOwnOrThoseOfItsPartitions) {
  EXPECT_THAT(dictionary_->EntriesOf("db.t"), ::testing::ElementsAre("db.t#P#p0", "db.t#P#p1"));
  EXPECT_THAT(dictionary_->EntriesOf("db.t2"), ::testing::ElementsAre("db.t2", "db.t2#P#p0"));
  EXPECT_THAT(dictionary_->EntriesOf("db.nothing"), ::testing::IsEmpty());
}

TEST_F(PartitionsTest, AllPartitionsAreRenamedAtOnceOrNone) {
  ASSERT_TRUE(dictionary_->CreateTable("db.u#P#p1", kPrimaryAndSecondary, std::nullopt).ok());
  EXPECT_EQ(dictionary_->RenamePartitions("db.t", "db.u").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(dictionary_->RenamePartitions("db.nothing", "db.v").code(), StatusCode::kNotFound);
  EXPECT_EQ(dictionary_->EntriesOf("db.t").size(), 2u);
  ASSERT_TRUE(dictionary_->RenamePartitions("db.t", "db.v").ok());
  Reopen();
  EXPECT_THAT(dictionary_->EntriesOf("db.t"), ::testing::IsEmpty());
  EXPECT_THAT(dictionary_->EntriesOf("db.v"), ::testing::ElementsAre("db.v#P#p0", "db.v#P#p1"));
}

TEST_F(PartitionsTest, TheVersionRecordStaysAsLongAsOnePartition) {
  const auto has_version = ::testing::Contains(::testing::HasSubstr(VersionKey("./db/t")));
  ASSERT_TRUE(dictionary_->DropTable("db.t2").ok());
  ASSERT_TRUE(dictionary_->DropTable("db.t2#P#p0").ok());
  ASSERT_TRUE(dictionary_->DropTable("db.t#P#p0").ok());
  EXPECT_THAT(Records(), has_version);
  ASSERT_TRUE(dictionary_->DropTable("db.t#P#p1").ok());
  EXPECT_THAT(Records(), ::testing::Not(has_version));
}

TEST_F(PartitionsTest, SeveralTablesAreDroppedOrEmptiedTogetherOrNotAtAll) {
  EXPECT_EQ(dictionary_->DropTables({"db.t#P#p0", "db.nothing"}).code(), StatusCode::kNotFound);
  EXPECT_EQ(dictionary_->TruncateTables({"db.t#P#p0", "db.nothing"}).code(), StatusCode::kNotFound);
  EXPECT_TRUE(dictionary_->PendingDrops().empty());
  ASSERT_TRUE(dictionary_->TruncateTables({"db.t#P#p0", "db.t#P#p1"}).ok());
  EXPECT_EQ(dictionary_->PendingDrops().size(), 4u);
  ASSERT_TRUE(dictionary_->DropTables({"db.t#P#p0", "db.t#P#p1"}).ok());
  EXPECT_THAT(dictionary_->EntriesOf("db.t"), ::testing::IsEmpty());
  EXPECT_EQ(dictionary_->PendingDrops().size(), 8u);
}

TEST_F(DictionaryTest, TruncateGivesFreshNumbersAndCounters) {
  const auto before = *dictionary_->CreateTable("db.t", kPrimaryAndSecondary, 100);
  ASSERT_TRUE(dictionary_->TruncateTable("db.t").ok());
  const auto after = dictionary_->Find("db.t");
  EXPECT_EQ(after->indexes[0].id.index_number, 258u);
  EXPECT_EQ(after->counters->next_auto_increment, 1u);
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*after), 0u);
  EXPECT_EQ(dictionary_->PendingDrops().size(), 2u);
  EXPECT_EQ(before->indexes[0].id.index_number, 256u) << "readers of the old definition keep it";
}

TEST_F(DictionaryTest, AHistoryOfRowLayoutsGoesWithThePrimaryKey) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).ok());
  const auto history = LayoutHistory::Make(7, {{.shape = {.image_bytes = 4}}}, {1});
  const std::string key = IndexKey(DictionaryRecordType::kLayoutHistory, {0, 256});
  ASSERT_TRUE(LoadAfterWriting(IndexKey(DictionaryRecordType::kIndex, {0, 256}),
                               EncodeIndexInfo({.features = kFeatureRowLayouts}))
                  .ok());
  ASSERT_TRUE(LoadAfterWriting(key, EncodeLayoutHistory(*history)).ok());
  Reopen();
  ASSERT_TRUE(dictionary_->RenameTable("db.t", "db.u").ok());
  Reopen();
  const auto table = dictionary_->Find("db.u");
  ASSERT_NE(table, nullptr);
  ASSERT_NE(table->indexes[0].history, nullptr);
  EXPECT_EQ(*table->indexes[0].history, *history);
  EXPECT_EQ(table->indexes[1].history, nullptr);

  ASSERT_TRUE(dictionary_->TruncateTable("db.u").ok());
  EXPECT_EQ(dictionary_->Find("db.u")->indexes[0].history, nullptr);
  EXPECT_EQ(dictionary_->Find("db.u")->indexes[0].info, IndexInfo());
  const std::string prefix = ToHex(key) + " => ";
  const auto has_history = ::testing::Contains(::testing::StartsWith(prefix));
  EXPECT_THAT(Records(), has_history) << "its rows are still there";
  EXPECT_THAT(Records(), ::testing::Contains("000000020000000000000100 => "
                                             "000601000d000000000000000000000000"))
      << "which the stock plug-in can remove";
  for (const IndexId id : dictionary_->PendingDrops()) {
    ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  }
  EXPECT_THAT(Records(), ::testing::Not(has_history));
  Reopen();
  EXPECT_NE(dictionary_->Find("db.u"), nullptr);
}

TEST_F(DictionaryTest, SecondTableOfTheSameNameIsRefused) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).ok());
  EXPECT_EQ(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).status().code(),
            StatusCode::kAlreadyExists);
}

TEST_F(DictionaryTest, SystemFamilyHoldsNoIndex) {
  EXPECT_EQ(dictionary_->CreateTable("db.t", {{IndexKind::kPrimary, "__system__"}}, std::nullopt)
                .status()
                .code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(dictionary_->Find("db.t"), nullptr);
}

TEST_F(DictionaryTest, FamilyFlagsAreWrittenWithItsFirstIndex) {  // Vector D4.
  ASSERT_TRUE(
      dictionary_
          ->CreateTable("db.t#P#p0",
                        {{IndexKind::kPrimary, "rev:cf1"}, {IndexKind::kSecondary, "cf2", true}},
                        std::nullopt)
          .ok());
  EXPECT_THAT(Records(), ::testing::IsSupersetOf({"0000000300000002 => 000100000001",
                                                  "0000000300000003 => 000100000004"}));
}

TEST_F(DictionaryTest, UnfinishedIndexBuildIsRemovedBehind) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).ok());
  ASSERT_TRUE(dictionary_->DropTable("db.t").ok());
  for (const IndexId id : dictionary_->PendingDrops()) {
    ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  }
  ASSERT_TRUE(LoadAfterWriting(IndexKey(DictionaryRecordType::kIndexCreateOngoing, IndexId{0, 257}),
                               EncodeOngoingMark())
                  .ok());
  EXPECT_THAT(dictionary_->PendingDrops(), ::testing::ElementsAre(IndexId{0, 257}));
}

TEST_F(DictionaryTest, TemporaryTableIsInMemoryAloneAndACrashRemovesItsEntries) {
  ASSERT_TRUE(dictionary_
                  ->CreateTable("tmp.#sql-temptable-1", kPrimaryAndSecondary, std::nullopt,
                                TableLifetime::kTemporary)
                  .ok());
  ASSERT_NE(dictionary_->Find("tmp.#sql-temptable-1"), nullptr);
  EXPECT_TRUE(dictionary_->Tables().empty());
  EXPECT_EQ(dictionary_->DropTable("tmp.#sql-temptable-1").code(), StatusCode::kNotFound);
  Reopen();
  EXPECT_EQ(dictionary_->Find("tmp.#sql-temptable-1"), nullptr);
  EXPECT_THAT(dictionary_->PendingDrops(),
              ::testing::ElementsAre(IndexId{0, 256}, IndexId{0, 257}));
}

TEST_F(DictionaryTest, TemporaryTableGoesInTwoSteps) {
  const auto created = dictionary_->CreateTable("tmp.#sql-temptable-1", kPrimaryAndSecondary, 5,
                                                TableLifetime::kTemporary);
  ASSERT_TRUE(created.ok());
  ASSERT_TRUE(dictionary_->TruncateTable("tmp.#sql-temptable-1").ok());
  EXPECT_THAT(dictionary_->PendingDrops(),
              ::testing::ElementsAre(IndexId{0, 256}, IndexId{0, 257}));
  const auto forgotten = dictionary_->ForgetTemporaryTable("tmp.#sql-temptable-1");
  ASSERT_NE(forgotten, nullptr);
  EXPECT_EQ(dictionary_->Find("tmp.#sql-temptable-1"), nullptr);
  EXPECT_EQ(dictionary_->ForgetTemporaryTable("tmp.#sql-temptable-1"), nullptr);
  EXPECT_EQ(dictionary_->PendingDrops().size(), 2u) << "its transaction may still be open";
  ASSERT_TRUE(dictionary_->DropForgottenTable(*forgotten).ok());
  EXPECT_EQ(dictionary_->PendingDrops().size(), 4u);
  for (const IndexId id : dictionary_->PendingDrops()) {
    ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  }
  EXPECT_EQ(Records().size(), 4u)
      << "families, the largest index number and the directory's format remain";
}

class ChangeTablesTest : public DictionaryTest {
 protected:
  static Dictionary::TableChange Keep(const TableDefinition& table, size_t position) {
    return {table.name, {table.indexes[position].id}};
  }
  uint64_t Version(std::string_view path) { return *dictionary_->LoadTableVersion(path); }
};

TEST_F(ChangeTablesTest, LeavesTheIndexesThatAreNamedAsTheyAre) {
  NewIndex kept{IndexKind::kSecondary};
  kept.format_version = kCairnFormatVersion;
  kept.features = kFeatureDescendingPart;
  NewIndex primary{IndexKind::kPrimary};
  primary.ttl_seconds = 60;
  kept.ttl_seconds = 60;
  NewIndex dropped = kept;
  ASSERT_TRUE(dictionary_->CreateTable("db.t", {dropped, primary, kept}, 7).ok());
  const auto before = dictionary_->Find("db.t");
  const uint64_t version = Version("./db/t");
  const Dictionary::TableChange change = {"db.t", {before->indexes[1].id, before->indexes[2].id}};
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  EXPECT_EQ(Version("./db/t"), version + 1);
  for (int i = 0; i < 2; ++i) {
    const auto after = dictionary_->Find("db.t");
    ASSERT_EQ(after->indexes.size(), 2u);
    for (size_t index = 0; index < 2; ++index) {
      EXPECT_EQ(after->indexes[index].id, before->indexes[index + 1].id);
      EXPECT_EQ(after->indexes[index].info, before->indexes[index + 1].info);
    }
    EXPECT_EQ(*dictionary_->LoadAutoIncrement(*after), 7u);
    EXPECT_THAT(dictionary_->PendingDrops(), ::testing::ElementsAre(before->indexes[0].id));
    EXPECT_TRUE(database_->expiry().Get()->contains(before->indexes[2].id));
    Reopen();
  }
}

TEST_F(ChangeTablesTest, ChangesAllPartitionsOrNone) {
  const std::string names[] = {"db.t#P#p0", "db.t#P#p1"};
  std::vector<Dictionary::TableChange> changes;
  for (const std::string& name : names) {
    const auto created = dictionary_->CreateTable(name, kPrimaryAndSecondary, std::nullopt);
    ASSERT_TRUE(created.ok());
    changes.push_back(Keep(**created, 0));
  }
  const uint64_t version = Version("./db/t");
  changes.push_back({"db.nothing", {}});
  EXPECT_EQ(dictionary_->ChangeTables(changes).code(), StatusCode::kNotFound);
  for (const std::string& name : names) {
    EXPECT_EQ(dictionary_->Find(name)->indexes.size(), 2u);
  }
  EXPECT_EQ(Version("./db/t"), version);
  changes.pop_back();
  ASSERT_TRUE(dictionary_->ChangeTables(changes).ok());
  for (const std::string& name : names) {
    EXPECT_EQ(dictionary_->Find(name)->indexes.size(), 1u);
  }
  EXPECT_EQ(Version("./db/t"), version + 1);
}

TEST_F(ChangeTablesTest, RefusesTemporaryTablesAndForeignIndexes) {
  const auto temporary = dictionary_->CreateTable("tmp.t", kPrimaryAndSecondary, std::nullopt,
                                                  TableLifetime::kTemporary);
  ASSERT_TRUE(temporary.ok());
  EXPECT_EQ(dictionary_->ChangeTables({Keep(**temporary, 0)}).code(), StatusCode::kNotFound);
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).ok());
  EXPECT_EQ(dictionary_->ChangeTables({{"db.t", {(*temporary)->indexes[0].id}}}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(dictionary_->Find("db.t")->indexes.size(), 2u);
  EXPECT_TRUE(dictionary_->PendingDrops().empty());
}

TEST_F(ChangeTablesTest, RecordsOfIndexesThatStayMayTellMore) {
  const NewIndex primary{.kind = IndexKind::kPrimary,
                         .format_version = kCairnFormatVersion,
                         .features = kFeatureTrimmedChar,
                         .ttl_seconds = 1000};
  const NewIndex secondary{.kind = IndexKind::kSecondary, .ttl_seconds = 1000};
  const auto table = dictionary_->CreateTable("db.ttl", {primary, secondary}, std::nullopt);
  ASSERT_TRUE(table.ok());
  const std::vector<IndexDefinition> before = (*table)->indexes;
  Dictionary::TableChange change{"db.ttl", {before[0].id, before[1].id}};
  change.infos[before[0].id] = before[0].info;
  change.infos[before[0].id].ttl_seconds = 20;
  change.infos[before[0].id].features |= kFeatureGeneratedColumn;
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  EXPECT_EQ(database_->expiry().Get()->at(before[0].id).duration_seconds, 20u);
  EXPECT_EQ(database_->expiry().Get()->at(before[1].id).duration_seconds, 1000u);
  Reopen();
  const auto found = dictionary_->Find("db.ttl");
  EXPECT_EQ(found->indexes[0].info, change.infos[before[0].id]);
  EXPECT_EQ(found->indexes[1].info, before[1].info);
  EXPECT_EQ(*dictionary_->LoadTableVersion("./db/ttl"), 1u);

  change.infos[before[0].id].format_version = kStockFormatVersion;
  EXPECT_EQ(dictionary_->ChangeTables({change}).code(), StatusCode::kInvalidArgument);
}

TEST_F(ChangeTablesTest, MovesTheAutoIncrementValueWithTheRest) {
  const auto table = dictionary_->CreateTable("db.a", kPrimaryAndSecondary, 50);
  ASSERT_TRUE(table.ok());
  TableCounters& counters = *(*table)->counters;
  Dictionary::TableChange change = Keep(**table, 0);
  change.next_auto_increment = 7;
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  EXPECT_EQ(counters.next_auto_increment.load(), 7u);
  // Rows may have the values between.
  EXPECT_GE(counters.largest_given_value.load(), 50u);
  Reopen();
  const auto found = dictionary_->Find("db.a");
  EXPECT_EQ(found->indexes.size(), 1u);
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*found), 7u);
}

TEST_F(ChangeTablesTest, AVersionCanBeginAnew) {
  const auto table = dictionary_->CreateTable("db.a#P#p", kPrimaryAndSecondary, std::nullopt);
  ASSERT_TRUE(table.ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(dictionary_->ResetTableVersion("db.a#P#p").ok());
    EXPECT_EQ(Version("./db/a"), 0u);
    ASSERT_TRUE(dictionary_->ChangeTables({Keep(*dictionary_->Find("db.a#P#p"), 0)}).ok());
    EXPECT_EQ(Version("./db/a"), 1u);
    Reopen();
  }
}

TEST_F(ChangeTablesTest, StoresTheAutoIncrementValueThatWasReached) {
  const auto table = dictionary_->CreateTable("db.a", kPrimaryAndSecondary, 50);
  ASSERT_TRUE(table.ok());
  (*table)->counters->next_auto_increment = 60;
  ASSERT_TRUE(dictionary_->ChangeTables({Keep(**table, 0)}).ok());
  Reopen();
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*dictionary_->Find("db.a")), 60u);
}

TEST_F(ChangeTablesTest, AddsWhatWasBegun) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).ok());
  const auto before = dictionary_->Find("db.t");
  NewIndex added{IndexKind::kSecondary, "cf"};
  added.ttl_seconds = 60;
  auto begun = dictionary_->BeginIndexes({added});
  ASSERT_TRUE(begun.ok());
  const IndexId id = begun->front().id;
  const std::string mark = ToHex(IndexKey(DictionaryRecordType::kIndexCreateOngoing, id));
  EXPECT_THAT(Records(), ::testing::Contains(mark + " => 0001"));
  EXPECT_EQ(dictionary_->Find("db.t")->indexes.size(), 2u);
  const uint64_t version = Version("./db/t");
  begun->front().built_at = 5;
  ASSERT_TRUE(dictionary_->ChangeTables({{"db.t", {id, before->indexes[0].id}, *begun}}).ok());
  EXPECT_EQ(dictionary_->Find("db.t")->indexes[0].built_at, 5u);
  EXPECT_EQ(Version("./db/t"), version + 1);
  for (int i = 0; i < 2; ++i) {
    const auto after = dictionary_->Find("db.t");
    ASSERT_EQ(after->indexes.size(), 2u);
    EXPECT_EQ(after->indexes[0].id, id);
    EXPECT_EQ(after->indexes[0].info, begun->front().info);
    EXPECT_THAT(dictionary_->PendingDrops(), ::testing::ElementsAre(before->indexes[1].id));
    EXPECT_THAT(Records(), ::testing::Not(::testing::Contains(::testing::StartsWith(mark))));
    EXPECT_TRUE(database_->expiry().Get()->contains(id));
    Reopen();
  }
}

TEST_F(ChangeTablesTest, WhatWasBegunAndNotAddedIsDropped) {
  ASSERT_TRUE(dictionary_->CreateTable("db.t", kPrimaryAndSecondary, std::nullopt).ok());
  const auto begun = dictionary_->BeginIndexes({NewIndex{IndexKind::kSecondary, "cf"}});
  ASSERT_TRUE(begun.ok());
  const IndexId id = begun->front().id;
  for (const bool crash : {false, true}) {
    SCOPED_TRACE(crash);
    EXPECT_TRUE(dictionary_->PendingDrops().empty());
    if (crash) {
      Reopen();
      EXPECT_THAT(disk_.log().messages(),
                  ::testing::Contains(::testing::HasSubstr("Removing incomplete create index")));
    } else {
      dictionary_->AbandonIndexes(*begun);
    }
    EXPECT_THAT(dictionary_->PendingDrops(), ::testing::ElementsAre(id));
    database_->dropped_indexes().Remove(id);
  }
  const std::vector<std::string> records = Records();
  ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  EXPECT_EQ(Records().size(), records.size() - 1);
  EXPECT_EQ(dictionary_->Find("db.t")->indexes.size(), 2u);
}

TEST_F(ChangeTablesTest, AddsToAllPartitionsOrNone) {
  const auto first = dictionary_->CreateTable("db.t#P#p0", kPrimaryAndSecondary, std::nullopt);
  ASSERT_TRUE(first.ok());
  const auto begun = dictionary_->BeginIndexes({NewIndex{IndexKind::kSecondary}});
  ASSERT_TRUE(begun.ok());
  std::vector<Dictionary::TableChange> changes = {
      {"db.t#P#p0", {(*first)->indexes[0].id, begun->front().id}, *begun}, {"db.t#P#p1", {}}};
  EXPECT_EQ(dictionary_->ChangeTables(changes).code(), StatusCode::kNotFound);
  Reopen();
  EXPECT_EQ(dictionary_->Find("db.t#P#p0")->indexes.size(), 2u);
  EXPECT_THAT(dictionary_->PendingDrops(), ::testing::ElementsAre(begun->front().id));
}

TEST(TableVersionPath, LeavesThePartitionOut) {
  EXPECT_EQ(TableVersionPath("db.t"), "./db/t");
  EXPECT_EQ(TableVersionPath("db.t#P#p0#SP#s1"), "./db/t");
  EXPECT_EQ(TableVersionPath("d@002eb.t@0020x"), "./d@002eb/t@0020x");
}

}  // namespace
}  // namespace cairn
