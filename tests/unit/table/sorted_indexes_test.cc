#include "engine/table/sorted_indexes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/listed_build.h"
#include "engine/table/table_check.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::Not;

class SortedIndexesTest : public TableFixture {
 protected:
  explicit SortedIndexesTest(std::string family = "default", Key key = Key::kPrimary)
      : TableFixture(std::move(family), key), record_(description_) {}

  // Of all indexes of the table. A buffer of kFewRows holds some 20 rows.
  static constexpr uint64_t kFewRows = 2000;
  std::unique_ptr<SortedIndexes> Begin(uint64_t buffer_bytes = kFewRows) {
    IndexBuildSettings settings;
    settings.sort.directory = database_->directory();
    settings.sort.buffer_bytes = buffer_bytes;
    std::vector<uint32_t> positions(table().indexes().size());
    std::iota(positions.begin(), positions.end(), 0);
    figures_.push_back(NewFigures(table(), positions));
    auto sorted = std::make_unique<SortedIndexes>(database_.get(), table_.get(), positions,
                                                  settings, /*virtual_columns=*/nullptr,
                                                  /*suspects=*/nullptr, figures_.back().get());
    sorted->RowsTendToComeInOrder();
    return sorted;
  }

  Status Add(SortedIndexes* sorted, const std::vector<int>& ids) {
    for (const int id : ids) {
      const Record record(description_, {id, "a" + std::to_string(id % 3), -id, TextOf(id)});
      CAIRN_RETURN_IF_ERROR(writer_->Sort(sorted, record.data()));
    }
    return Status();
  }
  static std::string TextOf(int id) {
    const std::string digits = std::to_string(id);
    return "c" + std::string(5 - digits.size(), '0') + digits;
  }

  Status End(SortedIndexes* sorted) {
    CAIRN_RETURN_IF_ERROR(sorted->WriteFiles());
    return sorted->Ingest();
  }

  // The id of the row that is said to be a duplicate.
  int Duplicate(SortedIndexes* sorted) {
    const Status loaded = sorted->LoadDuplicate(record_.data());
    EXPECT_TRUE(loaded.ok()) << loaded.ToString();
    return IdOf(record_);
  }

  std::vector<int> IdsBy(uint32_t index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    return Ids(transaction, index);
  }

  // Of the primary key and of runs.
  std::vector<std::string> UnfinishedFiles(const std::string& part = "") {
    std::vector<std::string> names;
    EXPECT_TRUE(disk_.env()->GetChildren(database_->directory(), &names).ok());
    std::erase_if(names, [&part](const std::string& name) {
      return !name.ends_with(".tmp") || name.find(part) == std::string::npos;
    });
    return names;
  }

  static std::vector<int> Range(int first, int last) {
    std::vector<int> ids(last - first + 1);
    std::iota(ids.begin(), ids.end(), first);
    return ids;
  }

  Record record_;
  std::vector<std::shared_ptr<IndexBuildFigures>> figures_;  // Of what Begin() returned.
};

class ReverseSortedIndexesTest : public SortedIndexesTest {
 protected:
  ReverseSortedIndexesTest() : SortedIndexesTest("rev:cf") {}
};

class HiddenSortedIndexesTest : public SortedIndexesTest {
 protected:
  HiddenSortedIndexesTest() : SortedIndexesTest("default", Key::kHidden) {}
};

class TextSortedIndexesTest : public SortedIndexesTest {
 protected:
  TextSortedIndexesTest() : SortedIndexesTest("default", Key::kText) {}
};

TEST_F(SortedIndexesTest, RowsInOrderGoToFilesByTheBufferful) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
  EXPECT_EQ(UnfinishedFiles("db.t_PRIMARY").size(), 1u);
  ASSERT_TRUE(End(sorted.get()).ok());
  EXPECT_THAT(IdsBy(kById), ElementsAreArray(Range(1, 200)));
  EXPECT_EQ(IdsBy(kByB).front(), 200);
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

TEST_F(SortedIndexesTest, DisorderWithinABufferIsNone) {
  const auto sorted = Begin();
  std::vector<int> ids = Range(1, 200);
  for (size_t i = 1; i < ids.size(); i += 2) std::swap(ids[i - 1], ids[i]);
  ASSERT_TRUE(Add(sorted.get(), ids).ok());
  EXPECT_EQ(UnfinishedFiles("db.t_PRIMARY").size(), 1u);
  ASSERT_TRUE(End(sorted.get()).ok());
  EXPECT_THAT(IdsBy(kById), ElementsAreArray(Range(1, 200)));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SortedIndexesTest, RowsThatBelongBetweenThoseInFilesAreSorted) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(101, 300)).ok());
  ASSERT_TRUE(Add(sorted.get(), Range(1, 100)).ok());
  EXPECT_THAT(UnfinishedFiles("db.t_PRIMARY"), IsEmpty());
  ASSERT_TRUE(Add(sorted.get(), Range(301, 400)).ok());
  ASSERT_TRUE(End(sorted.get()).ok());
  EXPECT_THAT(IdsBy(kById), ElementsAreArray(Range(1, 400)));
  EXPECT_EQ(IdsBy(kByA).size(), 400u);
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

TEST_F(SortedIndexesTest, TheLastRowsMayBeTheFirst) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(10, 200)).ok());
  ASSERT_TRUE(Add(sorted.get(), {3}).ok());
  ASSERT_TRUE(End(sorted.get()).ok());
  EXPECT_EQ(IdsBy(kById).front(), 3);
  EXPECT_EQ(IdsBy(kById).size(), 192u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SortedIndexesTest, RowsInAnyOrderComeOutSorted) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int first = static_cast<int>(seed) * 1000;
    std::vector<int> ids = Range(first, first + 499);
    // Ever more of them lie elsewhere.
    for (unsigned i = 0; i < seed * seed; ++i) {
      std::swap(ids[random() % ids.size()], ids[random() % ids.size()]);
    }
    const auto sorted = Begin(500 + random() % 5000);
    if (seed % 2 == 0) sorted->WorkInBackground();
    ASSERT_TRUE(Add(sorted.get(), ids).ok());
    ASSERT_TRUE(End(sorted.get()).ok());
    EXPECT_EQ(IdsBy(kById).size(), 500u * seed);
    EXPECT_EQ(IdsBy(kByB).size(), 500u * seed);
  }
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

TEST_F(SortedIndexesTest, AKeyThatIsInAFileAlreadyIsADuplicate) {
  for (const int again : {7, 200, 40}) {
    const auto sorted = Begin();
    if (again == 40) sorted->WorkInBackground();
    ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
    ASSERT_TRUE(
        writer_->Sort(sorted.get(), Record(description_, {again, "second", 1, "c"}).data()).ok());
    EXPECT_EQ(End(sorted.get()).code(), StatusCode::kDuplicateKey);
    ASSERT_TRUE(sorted->duplicate().has_value());
    EXPECT_EQ(sorted->duplicate()->position, kById);
    EXPECT_EQ(Duplicate(sorted.get()), again);
    EXPECT_EQ(record_.Data(1), "second");
  }
  EXPECT_THAT(IdsBy(kById), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

// Then the entries of secondary indexes are alike as well, those of a run among them.
TEST_F(SortedIndexesTest, TwoRowsThatAreAlikeAreADuplicateOfThePrimaryKey) {
  for (const bool in_background : {false, true}) {
    const auto sorted = Begin();
    if (in_background) sorted->WorkInBackground();
    ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
    for (int i = 0; i < 2; ++i) {
      const Record twin(description_, {500, "a", nullptr, "c"});
      ASSERT_TRUE(writer_->Sort(sorted.get(), twin.data()).ok());
    }
    Status ended = Add(sorted.get(), Range(201, 400));
    if (ended.ok()) ended = End(sorted.get());
    EXPECT_EQ(ended.code(), StatusCode::kDuplicateKey) << ended.ToString();
    EXPECT_EQ(Duplicate(sorted.get()), 500);
  }
}

TEST_F(SortedIndexesTest, ADuplicateWithinABufferIsToldWhenThatIsFull) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), {1, 2, 2}).ok());
  EXPECT_EQ(Add(sorted.get(), Range(3, 200)).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(writer_->duplicate_index(), kById);
  EXPECT_EQ(Duplicate(sorted.get()), 2);
}

TEST_F(SortedIndexesTest, ADuplicateOfASecondaryIndexIsLoadedWithItsRow) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
  ASSERT_TRUE(
      writer_->Sort(sorted.get(), Record(description_, {201, "second", -50, "c"}).data()).ok());
  EXPECT_EQ(End(sorted.get()).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(sorted->duplicate()->position, kByB);
  EXPECT_EQ(Duplicate(sorted.get()), 201);
}

TEST_F(TextSortedIndexesTest, KeysThatAreEqualByTheirCollationAreDuplicates) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
  ASSERT_TRUE(
      writer_->Sort(sorted.get(), Record(description_, {500, "a", 1, "C00150"}).data()).ok());
  EXPECT_EQ(End(sorted.get()).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(Duplicate(sorted.get()), 500);
}

TEST_F(ReverseSortedIndexesTest, TakesBothOrders) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
  ASSERT_TRUE(End(sorted.get()).ok());
  std::vector<int> descending = Range(201, 400);
  std::reverse(descending.begin(), descending.end());
  const auto backward = Begin();
  ASSERT_TRUE(Add(backward.get(), descending).ok());
  EXPECT_EQ(UnfinishedFiles("db.t_PRIMARY").size(), 1u) << "it is the order of the family";
  ASSERT_TRUE(End(backward.get()).ok());
  EXPECT_THAT(IdsBy(kById), ElementsAreArray(Range(1, 400)));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(HiddenSortedIndexesTest, EachRowHasAKeyForItself) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(1, 100)).ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(
        writer_->Sort(sorted.get(), Record(description_, {1, "a1", nullptr, "c"}).data()).ok());
  }
  ASSERT_TRUE(End(sorted.get()).ok());
  EXPECT_EQ(IdsBy(kHiddenKey).size(), 200u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SortedIndexesTest, EntriesGetChecksumsWhenThatIsAsked) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), {1}).ok());
  writer_->AppendChecksums(true);
  ASSERT_TRUE(Add(sorted.get(), {2, 3}).ok());
  writer_->AppendChecksums(false);
  ASSERT_TRUE(End(sorted.get()).ok());
  Transaction reader(database_.get());
  reader.Start(Autocommit());
  const auto report = CheckTable(table(), &reader, record_.data());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rows_with_checksums, 2u);
}

TEST_F(SortedIndexesTest, FewEntriesMayGoThroughATransaction) {
  const auto sorted = Begin(1 << 20);
  ASSERT_TRUE(Add(sorted.get(), {3, 1, 2}).ok());
  EXPECT_TRUE(sorted->AreFew());
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  ASSERT_TRUE(sorted->PutInto(&transaction).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_THAT(IdsBy(kById), ElementsAreArray(Range(1, 3)));
  EXPECT_THAT(Problems(), IsEmpty());
  const auto more = Begin();
  ASSERT_TRUE(Add(more.get(), Range(10, 200)).ok());
  EXPECT_FALSE(more->AreFew()) << "some are in files";
}

TEST_F(SortedIndexesTest, ADuplicateAmongFewIsLoadedFromTheTransaction) {
  const auto sorted = Begin(1 << 20);
  ASSERT_TRUE(Add(sorted.get(), {3, 1, 2}).ok());
  ASSERT_TRUE(writer_->Sort(sorted.get(), Record(description_, {4, "x", -2, "c"}).data()).ok());
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  EXPECT_EQ(sorted->PutInto(&transaction).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(sorted->duplicate()->position, kByB);
  EXPECT_EQ(Duplicate(sorted.get()), 4);
}

TEST_F(SortedIndexesTest, NothingIsLeftOfRowsThatAreGivenUp) {
  auto sorted = Begin();
  sorted->WorkInBackground();
  ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
  EXPECT_THAT(UnfinishedFiles(), Not(IsEmpty()));
  sorted.reset();
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  EXPECT_THAT(IdsBy(kById), IsEmpty());
}

TEST_F(SortedIndexesTest, AKillEndsIt) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(1, 200)).ok());
  Killer killer(0);
  const ScopedWaitObserver observer(&killer);
  EXPECT_EQ(Add(sorted.get(), Range(201, 400)).code(), StatusCode::kInterrupted);
  EXPECT_EQ(sorted->WriteFiles().code(), StatusCode::kInterrupted);
}

TEST_F(SortedIndexesTest, SharersStayWithinTheirMemory) {
  constexpr uint64_t kMostBytes = 3 * kFewRows;
  const auto memory = std::make_shared<SortMemory>(kMostBytes);
  std::vector<std::unique_ptr<SortedIndexes>> partitions;
  for (int i = 0; i < 5; ++i) {
    partitions.push_back(Begin());
    partitions.back()->Share(memory);
  }
  uint64_t most = 0;
  for (int id = 0; id < 500; ++id) {
    ASSERT_TRUE(Add(partitions[id % 5].get(), {id}).ok());
    most = std::max(most, memory->bytes());
  }
  EXPECT_LE(most, kMostBytes);
  EXPECT_GT(most, kMostBytes / 2);
  partitions.pop_back();  // Its rows are given up.
  for (const auto& partition : partitions) ASSERT_TRUE(End(partition.get()).ok());
  partitions.clear();
  EXPECT_EQ(memory->bytes(), 0u);
  EXPECT_EQ(IdsBy(kById).size(), 400u);
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
}

TEST_F(SortedIndexesTest, OneOfTheSharersHasAFileOpen) {
  const auto memory = std::make_shared<SortMemory>(uint64_t{1} << 30);
  const auto first = Begin();
  const auto second = Begin();
  first->Share(memory);
  second->Share(memory);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Add(first.get(), Range(round * 50, round * 50 + 49)).ok());
    ASSERT_TRUE(Add(second.get(), Range(1000 + round * 50, 1000 + round * 50 + 49)).ok());
  }
  EXPECT_GE(UnfinishedFiles("db.t_PRIMARY").size(), 4u) << "each goes on in a file of its own";
  ASSERT_TRUE(End(first.get()).ok());
  ASSERT_TRUE(End(second.get()).ok());
  EXPECT_EQ(IdsBy(kById).size(), 300u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SortedIndexesTest, SharersTellTheirOwnDuplicates) {
  constexpr uint64_t kMostBytes = uint64_t{32} << 20;
  const auto memory = std::make_shared<SortMemory>(kMostBytes);
  const auto first = Begin(kMostBytes);
  const auto second = Begin(kMostBytes);
  first->Share(memory);
  second->Share(memory);
  // The primary key has the most bytes.
  std::string text;
  for (int i = 0; i < 30; ++i) text += "\u20ac";
  const auto add_long = [&](SortedIndexes* sorted, int id) {
    const Record record(description_, {id, "a", -id, text});
    return writer_->Sort(sorted, record.data());
  };
  for (int id = 1; id <= 60'000; ++id) ASSERT_TRUE(add_long(first.get(), id).ok());
  ASSERT_TRUE(add_long(first.get(), 60'000).ok());
  for (int id = 1; id <= 60'000; ++id) ASSERT_TRUE(add_long(second.get(), id).ok()) << id;
  EXPECT_LE(memory->bytes(), kMostBytes);
  EXPECT_TRUE(first->duplicate().has_value());
  ASSERT_TRUE(End(second.get()).ok());
  EXPECT_EQ(End(first.get()).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(Duplicate(first.get()), 60'000);
}

TEST_F(SortedIndexesTest, EntriesInFilesAreCountedUntilTheyAreTakenBack) {
  const auto sorted = Begin();
  ASSERT_TRUE(Add(sorted.get(), Range(101, 300)).ok());
  const NewIndexFigures& rows = figures_.back()->indexes()[kById];
  EXPECT_GT(rows.entries_written, 100u);
  ASSERT_TRUE(Add(sorted.get(), Range(1, 100)).ok());
  EXPECT_EQ(rows.entries_written, 0u);
  sorted->CountMemory();
  EXPECT_GT(rows.temporary_bytes, 0u);
  ASSERT_TRUE(End(sorted.get()).ok());
  for (const NewIndexFigures& index : figures_.back()->indexes()) {
    EXPECT_EQ(index.entries_written, 300u);
    EXPECT_EQ(index.temporary_bytes, 0u);
  }
}

// The file that has the key is complete, and would not tell.
TEST_F(SortedIndexesTest, AKeyInAFileThatASharerHasClosedIsADuplicate) {
  const auto memory = std::make_shared<SortMemory>(uint64_t{1} << 30);
  const auto first = Begin();
  const auto second = Begin();
  first->Share(memory);
  second->Share(memory);
  ASSERT_TRUE(Add(first.get(), Range(100, 200)).ok());
  ASSERT_TRUE(Add(second.get(), Range(1000, 1100)).ok());
  Status ended = Add(first.get(), Range(100, 200));
  if (ended.ok()) ended = End(first.get());
  EXPECT_EQ(ended.code(), StatusCode::kDuplicateKey);
}

}  // namespace
}  // namespace cairn
