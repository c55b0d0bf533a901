// Foreign keys through CREATE, DROP, TRUNCATE, RENAME and ALTER in place, each followed by a
// restart.
#include "engine/catalog/foreign_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/catalog/foreign_key_test.h"

namespace cairn {
namespace {

class ForeignKeysTest : public testing::ForeignKeyTest {
 protected:
  Dictionary::TableChange Keep(const std::string& name) {
    Dictionary::TableChange change{name, {}};
    for (const IndexDefinition& index : dictionary_->Find(name)->indexes) {
      change.indexes.push_back(index.id);
      change.infos[index.id] = index.info;
    }
    return change;
  }

  std::vector<std::string> NamesOfChild(const std::string& table) {
    std::vector<std::string> names;
    for (const auto& each : dictionary_->foreign_keys().OfChild(table)) {
      names.push_back(each->record.name);
    }
    return names;
  }
};

TEST_F(ForeignKeysTest, CreatedWithTheChildAndGuardsBothTables) {
  ASSERT_TRUE(Create("db.p").ok());
  const auto parent_before = dictionary_->Find("db.p");
  const uint64_t generation = dictionary_->foreign_keys().generation();
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  EXPECT_GT(dictionary_->foreign_keys().generation(), generation);
  EXPECT_NE(dictionary_->Find("db.p"), parent_before);
  EXPECT_EQ(dictionary_->Find("db.p")->counters, parent_before->counters);
  EXPECT_EQ(NumberOf("f"), 260u) << "behind the four indexes";
  EXPECT_THAT(Records(), ::testing::Contains("000000020000000000000100 => "
                                             "430201000d00000000000000000000000000000400"));
  ExpectState({"f: db.c -> db.p", "db.c: child", "db.p: parent"});
  const auto of_parent = dictionary_->foreign_keys().OfParent("db.p");
  ASSERT_EQ(of_parent.size(), 1u);
  EXPECT_EQ(of_parent[0]->record, Record("f", "db.c", "db.p"));
  EXPECT_EQ(of_parent[0]->number, 260u);
  EXPECT_TRUE(dictionary_->foreign_keys().OfChild("db.p").empty());
}

TEST_F(ForeignKeysTest, NumbersAreNeverUsedAgain) {
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  const uint32_t number = NumberOf("f");
  ASSERT_TRUE(dictionary_->DropTable("db.c").ok());
  Reopen();
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  EXPECT_GT(NumberOf("f"), number);
  EXPECT_GT(dictionary_->Find("db.c")->indexes[0].id.index_number, number);
  const uint32_t last = NumberOf("f");
  EXPECT_EQ(dictionary_->max_index_number(), last);
  Delete(MaxIndexNumberKey());
  Reopen();
  EXPECT_EQ(dictionary_->max_index_number(), last) << "the numbers of foreign keys count";
  EXPECT_EQ(NumberOf("f"), last);
}

TEST_F(ForeignKeysTest, ATableThatComesToANameThatIsWaitedForIsTheParent) {
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  ExpectState({"f: db.c -> db.p", "db.c: child"});
  const uint64_t generation = dictionary_->foreign_keys().generation();
  ASSERT_TRUE(Create("db.p").ok());
  EXPECT_GT(dictionary_->foreign_keys().generation(), generation);
  ExpectState({"f: db.c -> db.p", "db.c: child", "db.p: parent"});
  ASSERT_TRUE(dictionary_->DropTable("db.p").ok());
  ExpectState({"f: db.c -> db.p", "db.c: child"});
  ASSERT_TRUE(Create("db.q").ok());
  ASSERT_TRUE(dictionary_->RenameTable("db.q", "db.p").ok());
  ExpectState({"f: db.c -> db.p", "db.c: child", "db.p: parent"});
}

TEST_F(ForeignKeysTest, GuardsFallWithTheLastForeignKey) {
  ASSERT_TRUE(Create("db.p").ok());
  const std::vector<std::string> without = Records();
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p"), Record("g", "db.c", "db.c")}).ok());
  ASSERT_TRUE(Create("db.d", {Record("h", "db.d", "db.p")}).ok());
  ExpectState({"f: db.c -> db.p", "g: db.c -> db.c", "h: db.d -> db.p", "db.c: child parent",
               "db.d: child", "db.p: parent"});
  ASSERT_TRUE(dictionary_->DropTable("db.c").ok());
  ExpectState({"h: db.d -> db.p", "db.d: child", "db.p: parent"});
  ASSERT_TRUE(dictionary_->DropTables({"db.d"}).ok());
  ExpectState({});
  for (const std::string& record : without) {
    if (record.starts_with("00000002")) {
      EXPECT_THAT(Records(), ::testing::Contains(record));
    }
  }
}

TEST_F(ForeignKeysTest, ChildAndParentGoTogether) {
  ASSERT_TRUE(Create("db.p").ok());
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  ASSERT_TRUE(dictionary_->DropTables({"db.p", "db.c"}).ok());
  ExpectState({});
}

TEST_F(ForeignKeysTest, NamesAreUniqueInADatabaseWithoutRegardToCase) {
  ASSERT_TRUE(Create("db.c", {Record("Name", "db.c", "db.p")}).ok());
  EXPECT_EQ(Create("db.d", {Record("nAME", "db.d", "db.p")}).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(dictionary_->Find("db.d"), nullptr);
  EXPECT_EQ(Create("db.d", {Record("a", "db.d", "db.p"), Record("A", "db.d", "db.p")}).code(),
            StatusCode::kAlreadyExists);
  EXPECT_TRUE(Create("other.d", {Record("NAME", "other.d", "db.p")}).ok());
  ASSERT_NE(dictionary_->foreign_keys().FindByName("db", "NAME"), nullptr);
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("db", "NAME")->record.child, "db.c");
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("Db", "NAME"), nullptr);
  EXPECT_EQ(dictionary_->RenameTable("other.d", "db.d").code(), StatusCode::kAlreadyExists);
  ExpectState({"Name: db.c -> db.p", "NAME: other.d -> db.p", "db.c: child", "other.d: child"});
}

TEST_F(ForeignKeysTest, OthersThanTheTablesOwnAreRefused) {
  const auto refused = [&](const ForeignKeyRecord& record) {
    EXPECT_EQ(Create("db.c", {record}).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(dictionary_->Find("db.c"), nullptr);
  };
  refused(Record("f", "db.d", "db.p"));
  refused(Record("", "db.c", "db.p"));
  refused(Record("f", "db.c", "p"));
  refused(Record(std::string(70000, 'n'), "db.c", "db.p"));
  refused(Replaces("db.c", "db.p"));
  EXPECT_EQ(Create("db.t#P#p0", {Record("f", "db.t#P#p0", "db.p")}).code(),
            StatusCode::kInvalidArgument);
  ForeignKeyRecord without_columns = Record("f", "db.c", "db.p");
  without_columns.columns.clear();
  refused(without_columns);
  EXPECT_EQ(dictionary_
                ->CreateTable("db.c", {{IndexKind::kPrimary}}, std::nullopt,
                              TableLifetime::kTemporary, {Record("f", "db.c", "db.p")})
                .status()
                .code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(dictionary_->SetFormat(DirectoryFormat::kStock).ok());
  EXPECT_EQ(Create("db.c", {Record("f", "db.c", "db.p")}).code(), StatusCode::kNotSupported);
  ExpectState({});
}

TEST_F(ForeignKeysTest, ReadersSeeThemInTheOrderOfTheirNamesByBytes) {
  ASSERT_TRUE(Create("db.c", {Record("b", "db.c", "db.p"), Record("C", "db.c", "db.p"),
                              Record("A", "db.c", "db.p")})
                  .ok());
  EXPECT_THAT(NamesOfChild("db.c"), ::testing::ElementsAre("A", "C", "b"));
  Reopen();
  EXPECT_THAT(NamesOfChild("db.c"), ::testing::ElementsAre("A", "C", "b"));
}

TEST_F(ForeignKeysTest, TheLargestGeneratedNumberIsThatOfTheTablesNames) {
  ASSERT_TRUE(
      Create("db.c", {Record("c_ibfk_7", "db.c", "db.p"), Record("C_IBFK_12", "db.c", "db.p"),
                      Record("c_ibfk_99x", "db.c", "db.p"), Record("d_ibfk_50", "db.c", "db.p"),
                      Record("c_ibfk_", "db.c", "db.p")})
          .ok());
  EXPECT_EQ(dictionary_->foreign_keys().LargestGeneratedNumber("db.c"), 12u);
  EXPECT_EQ(dictionary_->foreign_keys().LargestGeneratedNumber("db.d"), 0u);
}

TEST_F(ForeignKeysTest, StayWhenATableIsEmptied) {
  ASSERT_TRUE(Create("db.p").ok());
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  for (const char* name : {"db.p", "db.c"}) {
    const uint64_t generation = dictionary_->foreign_keys().generation();
    ASSERT_TRUE(dictionary_->TruncateTable(name).ok());
    EXPECT_GT(dictionary_->foreign_keys().generation(), generation);
    for (const IndexId id : dictionary_->PendingDrops()) {
      ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
    }
    ExpectState({"f: db.c -> db.p", "db.c: child", "db.p: parent"});
  }
}

TEST_F(ForeignKeysTest, TheGenerationStaysWhereNoForeignKeyIsConcerned) {
  ASSERT_TRUE(Create("db.p").ok());
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  const uint64_t generation = dictionary_->foreign_keys().generation();
  ASSERT_TRUE(Create("db.x").ok());
  ASSERT_TRUE(dictionary_->TruncateTable("db.x").ok());
  ASSERT_TRUE(dictionary_->RenameTable("db.x", "db.y").ok());
  ASSERT_TRUE(dictionary_->ChangeTables({Keep("db.y")}).ok());
  ASSERT_TRUE(dictionary_->DropTable("db.y").ok());
  EXPECT_EQ(dictionary_->foreign_keys().generation(), generation);
  ASSERT_TRUE(dictionary_->ChangeTables({Keep("db.p")}).ok());
  EXPECT_GT(dictionary_->foreign_keys().generation(), generation);
}

TEST_F(ForeignKeysTest, GuardsComeAndGoWhileIndexesAreBuilt) {
  ASSERT_TRUE(Create("db.p").ok());
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  uint64_t generation = dictionary_->foreign_keys().generation();
  const auto build = dictionary_->BeginBuild("db.p", {{IndexKind::kSecondary}}, {IndexLayout()});
  ASSERT_TRUE(build.ok());
  EXPECT_GT(dictionary_->foreign_keys().generation(), generation) << "its writers have more to do";
  ASSERT_TRUE(dictionary_->DropTable("db.c").ok());
  EXPECT_EQ(dictionary_->Find("db.p")->build, *build);
  EXPECT_EQ(State(), std::vector<std::string>());
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  EXPECT_EQ(dictionary_->Find("db.p")->build, *build);
  generation = dictionary_->foreign_keys().generation();
  dictionary_->AbandonBuild(build->get());
  EXPECT_GT(dictionary_->foreign_keys().generation(), generation);
  EXPECT_EQ(dictionary_->Find("db.p")->build, nullptr);
  EXPECT_EQ(State(), (std::vector<std::string>{"db.c: child", "db.p: parent", "f: db.c -> db.p"}));
}

TEST_F(ForeignKeysTest, GoAlongWithRenamedTables) {
  ASSERT_TRUE(Create("db.p").ok());
  ASSERT_TRUE(
      Create("db.c", {Record("c_ibfk_1", "db.c", "db.p"), Record("f", "db.c", "db.c")}).ok());
  const uint32_t number = NumberOf("f");
  ASSERT_TRUE(dictionary_->RenameTable("db.c", "db.d").ok());
  ExpectState({"d_ibfk_1: db.d -> db.p", "f: db.d -> db.d", "db.d: child parent", "db.p: parent"});
  ASSERT_TRUE(dictionary_->RenameTable("db.p", "two.q").ok());
  ExpectState(
      {"d_ibfk_1: db.d -> two.q", "f: db.d -> db.d", "db.d: child parent", "two.q: parent"});
  ASSERT_TRUE(dictionary_->RenameTable("db.d", "two.d").ok());
  ExpectState(
      {"d_ibfk_1: two.d -> two.q", "f: two.d -> two.d", "two.d: child parent", "two.q: parent"});
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("db", "f"), nullptr);
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("two", "f")->number, number);
}

TEST_F(ForeignKeysTest, ARenameThatWouldGiveANameTwiceChangesNothing) {
  ASSERT_TRUE(Create("db.c", {Record("c_ibfk_1", "db.c", "db.p")}).ok());
  ASSERT_TRUE(Create("db.x", {Record("D_IBFK_1", "db.x", "db.p")}).ok());
  EXPECT_EQ(dictionary_->RenameTable("db.c", "db.d").code(), StatusCode::kAlreadyExists);
  ExpectState({"c_ibfk_1: db.c -> db.p", "D_IBFK_1: db.x -> db.p", "db.c: child", "db.x: child"});
}

TEST_F(ForeignKeysTest, ChangeInPlaceWithTheTable) {
  ASSERT_TRUE(Create("db.p").ok());
  ASSERT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
  const uint32_t dropped = NumberOf("f");
  Dictionary::TableChange change = Keep("db.c");
  change.dropped_foreign_keys = {dropped};
  change.added_foreign_keys = {Record("F", "db.c", "db.q"), Record("g", "db.c", "db.c")};
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  EXPECT_EQ(*dictionary_->LoadTableVersion("./db/c"), 1u);
  ExpectState({"F: db.c -> db.q", "g: db.c -> db.c", "db.c: child parent"});
  change = Keep("db.c");
  change.dropped_foreign_keys = {dropped};
  EXPECT_EQ(dictionary_->ChangeTables({change}).code(), StatusCode::kNotFound);
  change.dropped_foreign_keys = {NumberOf("F"), NumberOf("g")};
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok()) << "the guards in infos are of no account";
  ExpectState({});
  change = Keep("db.p");
  change.dropped_foreign_keys = {dropped};
  EXPECT_EQ(dictionary_->ChangeTables({change}).code(), StatusCode::kNotFound);
}

TEST_F(ForeignKeysTest, FollowTheNamesOfTheirColumns) {
  ASSERT_TRUE(Create("db.p").ok());
  ForeignKeyRecord record = Record("f", "db.c", "db.p");
  record.columns = {{"a", "x"}, {"b", "y"}};
  ForeignKeyRecord own = Record("g", "db.c", "db.c");
  own.columns = {{"a", "id"}};
  ASSERT_TRUE(Create("db.c", {record, own}).ok());
  Dictionary::TableChange change = Keep("db.c");
  change.renamed_columns = {{"A", "b"}, {"b", "a"}, {"id", "key"}, {"x", "never"}};
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  change = Keep("db.p");
  change.renamed_columns = {{"y", "z"}, {"a", "never"}};
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  using Columns = std::vector<ForeignKeyRecord::ColumnPair>;
  for (int i = 0; i < 2; ++i) {
    const ForeignKeys& foreign_keys = dictionary_->foreign_keys();
    EXPECT_EQ(foreign_keys.FindByName("db", "f")->record.columns,
              (Columns{{"b", "x"}, {"a", "z"}}));
    EXPECT_EQ(foreign_keys.FindByName("db", "g")->record.columns, (Columns{{"b", "key"}}));
    Reopen();
  }
}

TEST_F(ForeignKeysTest, TheNamesOfTheServerAreFollowed) {
  ForeignKeyNames names;
  names.fold = [](std::string_view name) {
    std::string folded = FoldAscii(name);
    for (size_t at; (at = folded.find("\u00c4")) != std::string::npos;)
      folded.replace(at, 2, "\u00e4");
    return folded;
  };
  names.table_text = [](std::string_view name) {
    const std::string table(name.substr(name.find('.') + 1));
    return table == "a@0020b" ? std::string("a b") : table;
  };
  dictionary_ = std::move(Dictionary::Load(database_.get(), names)).value();
  ASSERT_TRUE(Create("db.a@0020b", {Record("a b_ibfk_3", "db.a@0020b", "db.p"),
                                    Record("\u00c4", "db.a@0020b", "db.p")})
                  .ok());
  EXPECT_EQ(Create("db.d", {Record("\u00e4", "db.d", "db.p")}).code(), StatusCode::kAlreadyExists);
  EXPECT_NE(dictionary_->foreign_keys().FindByName("db", "\u00e4"), nullptr);
  EXPECT_EQ(dictionary_->foreign_keys().LargestGeneratedNumber("db.a@0020b"), 3u);
  ASSERT_TRUE(dictionary_->RenameTable("db.a@0020b", "db.c").ok());
  EXPECT_NE(dictionary_->foreign_keys().FindByName("db", "c_ibfk_3"), nullptr);
}

}  // namespace
}  // namespace cairn
