#include "engine/table/bulk_load.h"

#include <gmock/gmock.h>

#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BulkLoadTest : public TableFixture {
 protected:
  explicit BulkLoadTest(std::string family = "default") : TableFixture(std::move(family)) {}

  std::unique_ptr<BulkLoad> Begin(bool sort_rows = false, uint64_t buffer_bytes = 1 << 20) {
    BulkLoadSettings settings;
    settings.sort_rows = sort_rows;
    settings.sort.directory = database_->directory();
    settings.sort.buffer_bytes = buffer_bytes;
    settings.trace = true;
    return std::make_unique<BulkLoad>(database_.get(), dictionary_.get(), table_, settings);
  }

  Status LoadRow(BulkLoad* load, const Row& row) {
    const Record record(description_, row);
    return writer_->Load(load, record.data());
  }

  Status Load(BulkLoad* load, const std::vector<int>& ids) {
    for (const int id : ids) {
      CAIRN_RETURN_IF_ERROR(LoadRow(load, {id, "a" + std::to_string(id % 3), -id, "c"}));
    }
    return Status();
  }

  std::vector<int> IdsBy(uint32_t index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    return Ids(transaction, index);
  }

  std::vector<std::string> UnfinishedFiles() {
    std::vector<std::string> names;
    EXPECT_TRUE(disk_.env()->GetChildren(database_->directory(), &names).ok());
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".tmp"); });
    return names;
  }
};

class ReverseBulkLoadTest : public BulkLoadTest {
 protected:
  ReverseBulkLoadTest() : BulkLoadTest("rev:cf") {}
};

TEST_F(BulkLoadTest, RowsAppearWhenItIsFinishedThroughEveryIndex) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {1, 2, 5}).ok());
  EXPECT_THAT(IdsBy(kById), IsEmpty());
  EXPECT_THAT(IdsBy(kByB), IsEmpty());
  ASSERT_TRUE(load->Finish().ok());
  EXPECT_THAT(IdsBy(kById), ElementsAre(1, 2, 5));
  EXPECT_THAT(IdsBy(kByB), ElementsAre(5, 2, 1));
  EXPECT_THAT(IdsBy(kByA), ElementsAre(1, 2, 5));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  EXPECT_TRUE(load->Finish().ok());
  EXPECT_EQ(Load(load.get(), {9}).code(), StatusCode::kShutdown);
}

TEST_F(BulkLoadTest, DescendingRowsAreReversed) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {7, 3, 1}).ok());
  EXPECT_GT(load->buffered_bytes(), 0u);
  ASSERT_TRUE(load->Finish().ok());
  EXPECT_EQ(load->buffered_bytes(), 0u);
  EXPECT_THAT(IdsBy(kById), ElementsAre(1, 3, 7));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ReverseBulkLoadTest, BothDirectionsInAReverseFamily) {
  const auto upward = Begin();
  ASSERT_TRUE(Load(upward.get(), {1, 2, 3}).ok());
  ASSERT_TRUE(upward->Finish().ok());
  const auto downward = Begin();
  ASSERT_TRUE(Load(downward.get(), {13, 12, 11}).ok());
  ASSERT_TRUE(downward->Finish().ok());
  EXPECT_THAT(IdsBy(kById), ElementsAre(1, 2, 3, 11, 12, 13));
  const auto between = Begin();
  ASSERT_TRUE(Load(between.get(), {4, 13, 14}).ok());
  EXPECT_EQ(between->Finish().code(), StatusCode::kOverlap);
  const auto beside = Begin();
  ASSERT_TRUE(Load(beside.get(), {4, 10}).ok());
  EXPECT_TRUE(beside->Finish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BulkLoadTest, ARowOutOfOrderIsRefusedAndTheOthersStay) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {10, 11}).ok());
  EXPECT_EQ(Load(load.get(), {9}).code(), StatusCode::kOutOfOrder);
  EXPECT_EQ(Load(load.get(), {11}).code(), StatusCode::kOutOfOrder);
  ASSERT_TRUE(Load(load.get(), {12}).ok());
  ASSERT_TRUE(load->Finish().ok());
  EXPECT_THAT(IdsBy(kById), ElementsAre(10, 11, 12));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BulkLoadTest, TwoEqualKeysAreOutOfOrder) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {1}).ok());
  EXPECT_EQ(Load(load.get(), {1}).code(), StatusCode::kOutOfOrder);
}

TEST_F(BulkLoadTest, ADescendingLoadThatIsNotOneLosesAllOfItsRows) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {13, 2, 14}).ok());
  EXPECT_EQ(load->Finish().code(), StatusCode::kOutOfOrder);
  EXPECT_THAT(IdsBy(kById), IsEmpty());
  EXPECT_THAT(IdsBy(kByB), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

TEST_F(BulkLoadTest, RowsInMemtablesAndInFilesMayNotLieAmongTheLoaded) {
  InsertCommitted({10, "a", 10, "x"});
  for (const bool flush : {false, true}) {
    SCOPED_TRACE(flush);
    if (flush) {
      ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    }
    const auto around = Begin();
    ASSERT_TRUE(Load(around.get(), {1, 2, 20}).ok());
    EXPECT_EQ(around->Finish().code(), StatusCode::kOverlap);
    const auto equal = Begin();
    ASSERT_TRUE(Load(equal.get(), {10}).ok());
    EXPECT_EQ(equal->Finish().code(), StatusCode::kOverlap);
  }
  EXPECT_THAT(IdsBy(kById), ElementsAre(10));
  EXPECT_THAT(IdsBy(kByB), ElementsAre(10));
  EXPECT_THAT(Problems(), IsEmpty());
}

// The entries of its secondary indexes lie among those that are there, in files and in memtables.
TEST_F(BulkLoadTest, RowsFollowThoseOfTheTable) {
  for (int id = 1; id <= 30; ++id) InsertCommitted({id, "a" + std::to_string(id % 7), 2 * id, "x"});
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  for (int id = 31; id <= 60; ++id) InsertCommitted({id, "b", 2 * id, "x"});
  const auto load = Begin();
  for (int id = 61; id <= 90; ++id) {
    ASSERT_TRUE(
        LoadRow(load.get(), {id, "a" + std::to_string(id % 7), 2 * (id - 60) + 1, "x"}).ok());
  }
  ASSERT_TRUE(load->Finish().ok());
  EXPECT_EQ(IdsBy(kById).size(), 90u);
  EXPECT_EQ(IdsBy(kByA).size(), 90u);
  EXPECT_EQ(IdsBy(kByB).size(), 90u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BulkLoadTest, RemovedRowsAreNotInTheWay) {
  InsertCommitted({10, "a", 10, "x"});
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  const Record record(description_, {10, "a", 10, "x"});
  ASSERT_TRUE(writer_->Delete(&transaction, record.data(), 0).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {9, 10, 11}).ok());
  ASSERT_TRUE(load->Finish().ok());
  EXPECT_THAT(IdsBy(kById), ElementsAre(9, 10, 11));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BulkLoadTest, SortsRowsThatComeInAnyOrder) {
  for (const uint64_t buffer_bytes : {uint64_t{1} << 20, uint64_t{5'000}}) {
    SCOPED_TRACE(buffer_bytes);
    const int base = buffer_bytes == 5'000 ? 1'000'000 : 0;
    const auto load = Begin(/*sort_rows=*/true, buffer_bytes);
    for (int i = 0; i < 1'000; ++i) {
      const int id = base + (i * 7'919) % 1'000;
      ASSERT_TRUE(LoadRow(load.get(), {id, "a", id, "x"}).ok());
    }
    ASSERT_TRUE(load->Finish().ok());
  }
  EXPECT_EQ(IdsBy(kById).size(), 2'000u);
  EXPECT_TRUE(std::ranges::is_sorted(IdsBy(kByB)));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BulkLoadTest, ADuplicateAmongUnsortedRowsIsRefused) {
  const auto load = Begin(/*sort_rows=*/true);
  ASSERT_TRUE(Load(load.get(), {3, 1}).ok());
  EXPECT_EQ(Load(load.get(), {3}).code(), StatusCode::kDuplicateKey);
  ASSERT_TRUE(load->Finish().ok());
  EXPECT_THAT(IdsBy(kById), ElementsAre(1, 3));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BulkLoadTest, ADiscardedLoadLeavesNothing) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {1, 2, 3}).ok());
  EXPECT_FALSE(UnfinishedFiles().empty());
  load->Discard();
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  EXPECT_TRUE(load->Finish().ok());
  EXPECT_THAT(IdsBy(kById), IsEmpty());
}

TEST_F(BulkLoadTest, NothingGoesToATableThatWasEmptiedMeanwhile) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {1, 2, 3}).ok());
  ASSERT_TRUE(dictionary_->TruncateTables({table().definition().name}).ok());
  EXPECT_TRUE(load->Finish().ok());
  EXPECT_THAT(IdsBy(kById), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

// Whoever changes them finishes loads first; else entries would be missing or too many.
TEST_F(BulkLoadTest, RowsOfOtherIndexesAreRefused) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {1, 2, 3}).ok());
  const TableDefinition& before = table().definition();
  Dictionary::TableChange change;
  change.table_name = before.name;
  for (const IndexDefinition& index : before.indexes) change.indexes.push_back(index.id);
  change.indexes.pop_back();
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  const Status finished = load->Finish();
  EXPECT_EQ(finished.code(), StatusCode::kAborted);
  EXPECT_THAT(finished.ToString(), ::testing::HasSubstr("its indexes are others"));
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

// As when a foreign key begins to name the table.
TEST_F(BulkLoadTest, RowsGoToATableWhoseDefinitionWasReplaced) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {1, 2, 3}).ok());
  const auto before = dictionary_->Find(table().definition().name);
  Dictionary::TableChange change;
  change.table_name = before->name;
  for (const IndexDefinition& index : before->indexes) change.indexes.push_back(index.id);
  ASSERT_TRUE(dictionary_->ChangeTables({change}).ok());
  ASSERT_NE(dictionary_->Find(before->name), before);
  EXPECT_TRUE(load->Finish().ok());
  EXPECT_THAT(IdsBy(kById), ElementsAre(1, 2, 3));
}

// A crash in the middle: the next start removes what is left.
TEST_F(BulkLoadTest, FilesOfAnInterruptedLoadAreRemovedAtStart) {
  std::unique_ptr<rocksdb::WritableFile> file;
  const std::string path = database_->directory() + "/db.t_PRIMARY_0_0.bulk_load.tmp";
  ASSERT_TRUE(disk_.env()->NewWritableFile(path, &file, rocksdb::EnvOptions()).ok());
  ASSERT_TRUE(file->Close().ok());
  ASSERT_EQ(UnfinishedFiles().size(), 1u);
  dictionary_.reset();
  writer_.reset();
  database_.reset();
  database_ = disk_.Open();
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

TEST_F(BulkLoadTest, TracesItsSteps) {
  const auto load = Begin();
  ASSERT_TRUE(Load(load.get(), {1, 2}).ok());
  ASSERT_TRUE(load->Finish().ok());
  EXPECT_THAT(
      disk_.log().messages(),
      ::testing::IsSupersetOf({::testing::HasSubstr("SST Tracing: Open("),
                               ::testing::HasSubstr("SST Tracing: Finish returned ok"),
                               ::testing::HasSubstr("num_entries: 2"),
                               ::testing::HasSubstr("IngestExternalFile '3' files returned ok")}));
}

}  // namespace
}  // namespace cairn
