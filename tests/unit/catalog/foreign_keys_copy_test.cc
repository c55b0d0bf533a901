// What ALTER TABLE that copies makes of foreign keys: the copy, the table that is put aside, the
// change of places, and the ways back; each step followed by a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/catalog/foreign_key_test.h"

namespace cairn {
namespace {

const char kCopy[] = "db.#sql-alter-1";
const char kBackup[] = "db.#sql-backup-1";

// db.t has f to db.p and is the parent of g of db.c.
class ForeignKeysCopyTest : public testing::ForeignKeyTest {
 protected:
  ForeignKeysCopyTest() {
    EXPECT_TRUE(Create("db.p").ok());
    EXPECT_TRUE(Create("db.t", {Record("f", "db.t", "db.p")}).ok());
    EXPECT_TRUE(Create("db.c", {Record("g", "db.c", "db.t")}).ok());
  }

  // Of ALTER TABLE t DROP FOREIGN KEY f, ADD CONSTRAINT h ... REFERENCES q, ALGORITHM=COPY.
  void MakeCopy() {
    ASSERT_TRUE(Create("db.q").ok());
    ASSERT_TRUE(Create(kCopy, {ToAdd("h", kCopy, "db.q"), ToDrop(NumberOf("f"), kCopy),
                               Replaces(kCopy, "db.t")})
                    .ok());
  }
  void Rename(const char* from, const char* to) {
    const Status renamed = dictionary_->RenameTable(from, to);
    ASSERT_TRUE(renamed.ok()) << renamed.ToString();
  }
  void Drop(const char* name) { ASSERT_TRUE(dictionary_->DropTable(name).ok()); }

  const std::vector<std::string> kBefore = {"f: db.t -> db.p", "g: db.c -> db.t", "db.p: parent",
                                            "db.t: child parent", "db.c: child"};
  const std::vector<std::string> kAfter = {"h: db.t -> db.q", "g: db.c -> db.t", "db.q: parent",
                                           "db.t: child parent", "db.c: child"};
};

TEST_F(ForeignKeysCopyTest, ACopyHasIntentsAndGuards) {
  MakeCopy();
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("db", "h"), nullptr);
  EXPECT_EQ(dictionary_->foreign_keys().IntentsOf(kCopy).size(), 3u);
  EXPECT_EQ(dictionary_->foreign_keys().IntentsOf(kCopy)[0]->record.name, "h");
  ExpectState({"f: db.t -> db.p", "g: db.c -> db.t", "h: db.#sql-alter-1 -> db.q (1)",
               ": db.#sql-alter-1 ->  (2)", ": db.#sql-alter-1 -> db.t (3)", "db.p: parent",
               "db.q: parent", "db.t: child parent", "db.c: child",
               "db.#sql-alter-1: child parent"});
}

TEST_F(ForeignKeysCopyTest, ADroppedCopyLeavesNothing) {
  MakeCopy();
  Drop(kCopy);
  ExpectState(kBefore);
}

TEST_F(ForeignKeysCopyTest, APutAsideTableStandsForItsNameAndLosesNothing) {
  MakeCopy();
  Rename("db.t", kBackup);
  EXPECT_EQ(dictionary_->Find("db.t"), nullptr);
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(dictionary_->FindForForeignKeys("db.t"), nullptr);
    EXPECT_EQ(dictionary_->FindForForeignKeys("db.t")->name, kBackup);
    EXPECT_EQ(dictionary_->foreign_keys().OfParent("db.t").size(), 1u);
    EXPECT_EQ(dictionary_->foreign_keys().OfChild("db.t").size(), 1u);
    Reopen();
  }
  EXPECT_EQ(dictionary_->FindForForeignKeys("db.nothing"), nullptr);
  ExpectState({"f: db.t -> db.p", "g: db.c -> db.t", "h: db.#sql-alter-1 -> db.q (1)",
               ": db.#sql-alter-1 ->  (2)", ": db.#sql-alter-1 -> db.t (3)",
               ": db.#sql-backup-1 -> db.t (4)", "db.p: parent", "db.q: parent", "db.c: child",
               "db.#sql-alter-1: child parent", "db.#sql-backup-1: child parent"});
}

TEST_F(ForeignKeysCopyTest, TheTableComesBackWithWhatItHad) {
  for (const bool drops_copy_first : {true, false}) {
    if (dictionary_->Find("db.q") != nullptr) Drop("db.q");
    MakeCopy();
    Rename("db.t", kBackup);
    Reopen();
    if (drops_copy_first) Drop(kCopy);
    Reopen();
    Rename(kBackup, "db.t");
    Reopen();
    if (!drops_copy_first) Drop(kCopy);
    ExpectState(kBefore);
  }
}

TEST_F(ForeignKeysCopyTest, TheCopyTakesThePlaceWithWhatIsIntended) {
  MakeCopy();
  const uint32_t number = dictionary_->foreign_keys().IntentsOf(kCopy)[0]->number;
  const uint64_t generation = dictionary_->foreign_keys().generation();
  Rename("db.t", kBackup);
  Rename(kCopy, "db.t");
  EXPECT_GT(dictionary_->foreign_keys().generation(), generation);
  EXPECT_EQ(dictionary_->FindForForeignKeys("db.t"), dictionary_->Find("db.t"));
  EXPECT_EQ(NumberOf("h"), number);
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("db", "f"), nullptr);
  Reopen();
  Drop(kBackup);
  ExpectState(kAfter);
}

TEST_F(ForeignKeysCopyTest, TheChangeOfPlacesCanBeTakenBack) {
  for (const bool drops_new_table : {true, false}) {
    if (dictionary_->Find("db.q") != nullptr) Drop("db.q");
    MakeCopy();
    const uint32_t number = NumberOf("f");
    Rename("db.t", kBackup);
    Rename(kCopy, "db.t");
    Reopen();
    if (drops_new_table) {
      Drop("db.t");
    } else {
      Rename("db.t", kCopy);
    }
    Reopen();
    Rename(kBackup, "db.t");
    Reopen();
    if (!drops_new_table) Drop(kCopy);
    ExpectState(kBefore);
    EXPECT_EQ(NumberOf("f"), number);
  }
}

TEST_F(ForeignKeysCopyTest, AndDoneAgain) {
  MakeCopy();
  for (int i = 0; i < 3; ++i) {
    Rename("db.t", kBackup);
    Rename(kCopy, "db.t");
    Reopen();
    if (i == 2) break;
    Rename("db.t", kCopy);
    Rename(kBackup, "db.t");
    Reopen();
  }
  Drop(kBackup);
  ExpectState(kAfter);
}

TEST_F(ForeignKeysCopyTest, ADroppedNameCanBeGivenAgain) {
  ASSERT_TRUE(Create(kCopy, {ToAdd("F", kCopy, "db.t"), ToDrop(NumberOf("f"), kCopy),
                             Replaces(kCopy, "db.t")})
                  .ok());
  Rename("db.t", kBackup);
  Rename(kCopy, "db.t");
  Reopen();
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("db", "f")->record.name, "F");
  Drop(kBackup);
  ExpectState({"F: db.t -> db.t", "g: db.c -> db.t", "db.t: child parent", "db.c: child"});
}

// The server's recovery does so where the crash came before the old table was put aside.
TEST_F(ForeignKeysCopyTest, TheOldTableMayBeDroppedBeforeTheCopyHasItsName) {
  MakeCopy();
  Drop("db.t");
  Reopen();
  Rename(kCopy, "db.t");
  ExpectState(kAfter);
}

TEST_F(ForeignKeysCopyTest, NothingIsLeftOfATableThatIsDroppedWithItsCopy) {
  MakeCopy();
  Drop("db.t");
  Drop(kCopy);
  ExpectState({"g: db.c -> db.t", "db.c: child"});
}

TEST_F(ForeignKeysCopyTest, WhatIsIntendedHoldsItsName) {
  MakeCopy();
  EXPECT_EQ(Create("db.x", {Record("H", "db.x", "db.p")}).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Create("db.x", {Record("f", "db.x", "db.p")}).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Create("db.#sql-alter-2",
                   {ToAdd("g", "db.#sql-alter-2", "db.p"), Replaces("db.#sql-alter-2", "db.t")})
                .code(),
            StatusCode::kAlreadyExists);
}

TEST_F(ForeignKeysCopyTest, IntentsThatMakeNoSenseAreRefused) {
  const uint32_t f = NumberOf("f");
  const uint32_t g = NumberOf("g");
  EXPECT_EQ(Create(kCopy, {ToAdd("h", kCopy, "db.p")}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Create(kCopy, {ToDrop(f, kCopy)}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Create(kCopy, {Record("h", kCopy, "db.p"), Replaces(kCopy, "db.t")}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Create(kCopy, {Replaces(kCopy, "db.t"), Replaces(kCopy, "db.p")}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Create(kCopy, {ToDrop(g, kCopy), Replaces(kCopy, "db.t")}).code(),
            StatusCode::kNotFound);
  EXPECT_EQ(Create(kCopy, {ToDrop(9999, kCopy), Replaces(kCopy, "db.t")}).code(),
            StatusCode::kNotFound);
  ExpectState(kBefore);
}

// ALTER TABLE ... RENAME puts nothing aside: the old table is dropped in the end.
TEST_F(ForeignKeysCopyTest, TheCopyMayGetAnotherName) {
  ASSERT_TRUE(Create("db.x", {Record("x_ibfk_1", "db.x", "db.x")}).ok());
  for (const bool gives_up : {true, false}) {
    ASSERT_TRUE(Create(kCopy, {ToAdd("x_ibfk_2", kCopy, "db.p"), Replaces(kCopy, "db.x")}).ok());
    Rename(kCopy, "db.y");
    Reopen();
    EXPECT_EQ(dictionary_->foreign_keys().OfChild("db.y").size(), 2u);
    EXPECT_TRUE(dictionary_->foreign_keys().OfChild("db.x").empty());
    Drop(gives_up ? "db.y" : "db.x");
    const std::string first = gives_up ? "x_ibfk_1: db.x -> db.x" : "y_ibfk_1: db.y -> db.y";
    std::vector<std::string> expected = kBefore;
    expected.push_back(first);
    expected.push_back(gives_up ? "db.x: child parent" : "db.y: child parent");
    if (!gives_up) expected.push_back("y_ibfk_2: db.y -> db.p");
    ExpectState(expected);
  }
}

TEST_F(ForeignKeysCopyTest, TheCopyMayGetAnotherNameWithTheTablePutAside) {
  MakeCopy();
  Rename("db.t", kBackup);
  Rename(kCopy, "two.u");
  Reopen();
  EXPECT_EQ(dictionary_->foreign_keys().OfParent("two.u").size(), 1u);
  Drop(kBackup);
  ExpectState({"h: two.u -> db.q", "g: db.c -> two.u", "db.q: parent", "two.u: child parent",
               "db.c: child"});
}

TEST_F(ForeignKeysCopyTest, ThatIsTakenBackToo) {
  MakeCopy();
  Rename("db.t", kBackup);
  Rename(kCopy, "two.u");
  Drop("two.u");
  Reopen();
  Rename(kBackup, "db.t");
  ExpectState(kBefore);
}

// A crash without the server's log leaves the table aside, perhaps for good.
TEST_F(ForeignKeysCopyTest, ANewTableOfTheNameDoesNotInheritTheForeignKeysOfItsChild) {
  Rename("db.t", kBackup);
  ASSERT_TRUE(Create("db.t").ok());
  ExpectState({"f: db.#sql-backup-1 -> db.p", "g: db.c -> db.t", "db.p: parent", "db.t: parent",
               "db.c: child", "db.#sql-backup-1: child"});
  Rename(kBackup, "db.u");
  ExpectState({"f: db.u -> db.p", "g: db.c -> db.t", "db.p: parent", "db.t: parent", "db.c: child",
               "db.u: child"});
}

TEST_F(ForeignKeysCopyTest, ACopyWithoutIntentsLosesNothing) {
  ASSERT_TRUE(Create(kCopy).ok());
  Rename("db.t", kBackup);
  Rename(kCopy, "db.t");
  Reopen();
  Drop(kBackup);
  ExpectState(kBefore);
}

TEST_F(ForeignKeysCopyTest, WhatWasPutAsideTakesItsForeignKeysWithIt) {
  Rename("db.t", kBackup);
  Drop(kBackup);
  ExpectState({"g: db.c -> db.t", "db.c: child"});
}

TEST_F(ForeignKeysCopyTest, TablesWithoutForeignKeysHaveNoRecordsOfIt) {
  ASSERT_TRUE(Create("db.x").ok());
  ASSERT_TRUE(Create("db.#sql-alter-2").ok());
  Rename("db.x", "db.#sql-backup-2");
  Rename("db.#sql-alter-2", "db.x");
  Drop("db.#sql-backup-2");
  ExpectState(kBefore);
}

}  // namespace
}  // namespace cairn
