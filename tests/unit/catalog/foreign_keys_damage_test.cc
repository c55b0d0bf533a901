// Records of foreign keys that are damaged or do not fit the tables, and changes that cannot be
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/base/crc32c.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/unit/catalog/foreign_key_test.h"

namespace cairn {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// db.c has f to db.p, db.d has g to db.q; db.x has none.
class ForeignKeysDamageTest : public testing::ForeignKeyTest {
 protected:
  ForeignKeysDamageTest() {
    for (const char* name : {"db.p", "db.q", "db.x"}) EXPECT_TRUE(Create(name).ok());
    EXPECT_TRUE(Create("db.c", {Record("f", "db.c", "db.p")}).ok());
    EXPECT_TRUE(Create("db.d", {Record("g", "db.d", "db.q")}).ok());
  }

  std::string KeyOf(const std::string& name) { return ForeignKeyKey(NumberOf(name)); }

  std::vector<std::string> Quarantined() {
    std::vector<std::string> names;
    for (const QuarantinedTable& table : dictionary_->QuarantinedTables()) {
      EXPECT_THAT(table.reason, HasSubstr("the record 00000046"));
      names.push_back(table.name);
    }
    return names;
  }

  // Gives a record to another state, one that does not exist.
  static std::string Senseless(const ForeignKeyRecord& record) {
    std::string value = EncodeForeignKey(record);
    value.resize(value.size() - sizeof(uint32_t));
    value[2] = 9;
    AppendBigEndian(Crc32c(value), &value);
    return value;
  }
  // What the primary key of a table has in its record.
  void PutGuards(const std::string& table, uint32_t guards) {
    IndexDefinition index = dictionary_->Find(table)->indexes[0];
    index.info.features = guards;
    Put(IndexKey(DictionaryRecordType::kIndex, index.id), EncodeIndexInfo(index.info));
  }

  const std::vector<std::string> kBefore = {"f: db.c -> db.p", "g: db.d -> db.q", "db.c: child",
                                            "db.d: child",     "db.p: parent",    "db.q: parent"};
};

TEST_F(ForeignKeysDamageTest, ARecordThatMakesNoSenseQuarantinesItsTables) {
  Put(KeyOf("f"), Senseless(Record("f", "db.c", "db.p")));
  Reopen();
  EXPECT_THAT(Quarantined(), ::testing::ElementsAre("db.c", "db.p"));
  EXPECT_EQ(State(), (std::vector<std::string>{"db.d: child", "db.q: parent", "g: db.d -> db.q"}));
  EXPECT_EQ(Create("db.y", {Record("h", "db.y", "db.q")}).code(), StatusCode::kQuarantined);
  EXPECT_TRUE(Create("db.y").ok());
  ASSERT_TRUE(dictionary_->DropTable("db.c").ok());
  Reopen();
  EXPECT_TRUE(Quarantined().empty());
  ExpectState({"db.d: child", "db.q: parent", "g: db.d -> db.q"});
  EXPECT_TRUE(Create("db.z", {Record("h", "db.z", "db.q")}).ok());
}

TEST_F(ForeignKeysDamageTest, WhereItsTablesCannotBeToldAllGuardedOnesAreQuarantined) {
  const std::string key = KeyOf("f");
  std::string damaged = EncodeForeignKey(Record("f", "db.c", "db.p"));
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  for (const std::string& value :
       {damaged, std::string("\0\2", 2) + damaged.substr(2), std::string()}) {
    Put(key, value);
    Reopen();
    EXPECT_THAT(Quarantined(), ::testing::ElementsAre("db.c", "db.d", "db.p", "db.q"));
    EXPECT_NE(dictionary_->Find("db.x"), nullptr);
  }
  for (const char* name : {"db.c", "db.d", "db.p"}) {
    ASSERT_TRUE(dictionary_->DropTable(name).ok());
    Reopen();
  }
  EXPECT_THAT(Quarantined(), ::testing::ElementsAre("db.q"));
  ASSERT_TRUE(dictionary_->DropTable("db.q").ok());
  EXPECT_TRUE(Create("db.z", {Record("h", "db.z", "db.x")}).ok()) << "the damaged record is gone";
  ExpectState({"h: db.z -> db.x", "db.z: child", "db.x: parent"});
}

TEST_F(ForeignKeysDamageTest, AKeyOfAnotherLengthIsDamageOfAnyTable) {
  Put(DictionaryPrefix(DictionaryRecordType::kForeignKey) + "x", "y");
  Reopen();
  EXPECT_THAT(Quarantined(), ::testing::ElementsAre("db.c", "db.d", "db.p", "db.q"));
}

TEST_F(ForeignKeysDamageTest, DamageThatConcernsNoTableIsRemoved) {
  ASSERT_TRUE(dictionary_->DropTables({"db.c", "db.d"}).ok());
  Put(ForeignKeyKey(1), "y");
  Reopen();
  EXPECT_TRUE(Quarantined().empty());
  EXPECT_THAT(disk_.log().messages(), Contains(HasSubstr("no table that it can concern")));
  ExpectState({});
}

TEST_F(ForeignKeysDamageTest, AForeignKeyWithoutItsChildIsRemoved) {
  const uint32_t number = dictionary_->max_index_number();
  Put(ForeignKeyKey(number), EncodeForeignKey(Record("h", "db.gone", "db.x")));
  Put(ForeignKeyKey(number - 100), EncodeForeignKey(ToAdd("i", "db.#sql-alter-3", "db.x")));
  Reopen();
  EXPECT_THAT(disk_.log().messages(), Contains(HasSubstr("db.gone does not exist")));
  EXPECT_THAT(disk_.log().messages(), Contains(HasSubstr("db.#sql-alter-3 does not exist")));
  ExpectState({"f: db.c -> db.p", "db.c: child", "db.p: parent"});
}

TEST_F(ForeignKeysDamageTest, GuardsAreMadeToFit) {
  PutGuards("db.p", 0);
  PutGuards("db.c", kForeignKeyGuards);
  PutGuards("db.x", kFeatureForeignKeyChild | kFeatureGeneratedColumn);
  Reopen();
  EXPECT_EQ(State(), [this] {
    std::vector<std::string> sorted = kBefore;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }());
  EXPECT_EQ(dictionary_->Find("db.x")->indexes[0].info.features, kFeatureGeneratedColumn);
  EXPECT_THAT(disk_.log().messages(), Contains(HasSubstr("table db.p: its record said")));
  ExpectState(kBefore);
}

TEST_F(ForeignKeysDamageTest, AQuarantinedTableIsDroppedWithItsForeignKeys) {
  Put(TableKey("db.c"), "damaged");
  Reopen();
  ASSERT_TRUE(dictionary_->FindQuarantined("db.c").has_value());
  EXPECT_EQ(dictionary_->foreign_keys().OfChild("db.c").size(), 1u);
  ASSERT_TRUE(dictionary_->DropTable("db.c").ok());
  ExpectState({"g: db.d -> db.q", "db.d: child", "db.q: parent"});
}

TEST_F(ForeignKeysDamageTest, NumbersOfDamagedRecordsAreNotUsedAgain) {
  Put(ForeignKeyKey(dictionary_->max_index_number() + 2), "damaged");
  Reopen();
  const uint32_t before = dictionary_->max_index_number();
  ASSERT_TRUE(Create("db.y").ok());
  for (const IndexDefinition& index : dictionary_->Find("db.y")->indexes) {
    EXPECT_NE(index.id.index_number, before + 2);
  }
}

// Fails all appends to RocksDB's logs once so many were done.
struct AppendLimit {
  std::atomic<int> left{INT_MAX};
};

class LimitedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LimitedFile(std::unique_ptr<rocksdb::FSWritableFile> file, AppendLimit* limit)
      : FSWritableFileOwnerWrapper(std::move(file)), limit_(limit) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (limit_->left.fetch_sub(1) <= 0) return rocksdb::IOStatus::IOError("no more");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }

 private:
  AppendLimit* const limit_;
};

class LimitedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  LimitedFileSystem(std::shared_ptr<rocksdb::FileSystem> target, AppendLimit* limit)
      : FileSystemWrapper(std::move(target)), limit_(limit) {}
  const char* Name() const override { return "LimitedFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus opened = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (opened.ok() && name.ends_with(".log")) {
      *file = std::make_unique<LimitedFile>(std::move(*file), limit_);
    }
    return opened;
  }

 private:
  AppendLimit* const limit_;
};

// Whichever of its writes fails, a change is not done: neither now nor after a restart.
class FailingForeignKeysTest : public ForeignKeysDamageTest {
 protected:
  void OpenLimited() {
    dictionary_.reset();
    database_.reset();
    DatabaseOptions options = disk_.Options();
    options.db.env = env_.get();
    auto database = Database::Open(std::move(options), &disk_.log());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
    dictionary_ = std::move(Dictionary::Load(database_.get())).value();
  }

  void FailEachWriteOf(const std::function<Status(Dictionary&)>& change) {
    for (int writes = 0;; ++writes) {
      SCOPED_TRACE(writes);
      limit_.left = INT_MAX;
      OpenLimited();
      const std::vector<std::string> before = State();
      const uint64_t generation = dictionary_->foreign_keys().generation();
      limit_.left = writes;
      const Status changed = change(*dictionary_);
      limit_.left = INT_MAX;
      if (changed.ok()) {
        EXPECT_GT(writes, 0);
        ExpectState(State());
        return;
      }
      ASSERT_LT(writes, 10) << changed.ToString();
      EXPECT_EQ(State(), before);
      EXPECT_EQ(dictionary_->foreign_keys().generation(), generation);
      Reopen();
      EXPECT_EQ(State(), before);
    }
  }

  AppendLimit limit_;
  std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(
      std::make_shared<LimitedFileSystem>(disk_.env()->GetFileSystem(), &limit_));
};

TEST_F(FailingForeignKeysTest, Create) {
  FailEachWriteOf([](Dictionary& dictionary) {
    return dictionary
        .CreateTable("db.n", {{IndexKind::kPrimary}, {IndexKind::kSecondary}}, std::nullopt,
                     TableLifetime::kPermanent,
                     {Record("h", "db.n", "db.x"), Record("i", "db.n", "db.c")})
        .status();
  });
  EXPECT_EQ(dictionary_->foreign_keys().OfChild("db.n").size(), 2u);
}

TEST_F(FailingForeignKeysTest, Drop) {
  FailEachWriteOf([](Dictionary& dictionary) { return dictionary.DropTables({"db.c", "db.q"}); });
  EXPECT_EQ(State(), (std::vector<std::string>{"db.d: child", "g: db.d -> db.q"}));
}

TEST_F(FailingForeignKeysTest, Truncate) {
  FailEachWriteOf([](Dictionary& dictionary) { return dictionary.TruncateTable("db.c"); });
}

TEST_F(FailingForeignKeysTest, Rename) {
  FailEachWriteOf([](Dictionary& dictionary) { return dictionary.RenameTable("db.c", "two.c"); });
  FailEachWriteOf([](Dictionary& dictionary) { return dictionary.RenameTable("db.p", "two.p"); });
  EXPECT_EQ(dictionary_->foreign_keys().FindByName("two", "f")->record.parent, "two.p");
}

TEST_F(FailingForeignKeysTest, ChangeInPlace) {
  const uint32_t number = NumberOf("f");
  FailEachWriteOf([number](Dictionary& dictionary) {
    Dictionary::TableChange change{"db.c", {}};
    for (const IndexDefinition& index : dictionary.Find("db.c")->indexes) {
      change.indexes.push_back(index.id);
    }
    change.dropped_foreign_keys = {number};
    change.added_foreign_keys = {Record("h", "db.c", "db.x")};
    return dictionary.ChangeTables({change});
  });
  EXPECT_EQ(dictionary_->foreign_keys().OfParent("db.x").size(), 1u);
  EXPECT_TRUE(dictionary_->foreign_keys().OfParent("db.p").empty());
}

TEST_F(FailingForeignKeysTest, EachStepOfACopy) {
  const std::string copy = "db.#sql-alter-1";
  const std::string backup = "db.#sql-backup-1";
  const uint32_t number = NumberOf("f");
  FailEachWriteOf([&](Dictionary& dictionary) {
    return dictionary
        .CreateTable(copy, {{IndexKind::kPrimary}, {IndexKind::kSecondary}}, std::nullopt,
                     TableLifetime::kPermanent,
                     {ToAdd("h", copy, "db.x"), ToDrop(number, copy), Replaces(copy, "db.c")})
        .status();
  });
  FailEachWriteOf([&](Dictionary& dictionary) { return dictionary.RenameTable("db.c", backup); });
  FailEachWriteOf([&](Dictionary& dictionary) { return dictionary.RenameTable(copy, "db.c"); });
  FailEachWriteOf([&](Dictionary& dictionary) { return dictionary.DropTable(backup); });
  ExpectState({"h: db.c -> db.x", "g: db.d -> db.q", "db.c: child", "db.d: child", "db.q: parent",
               "db.x: parent"});
}

}  // namespace
}  // namespace cairn
