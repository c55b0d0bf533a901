#include "engine/table/row_prefetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;

class RowPrefetchTest : public ::testing::Test {
 protected:
  RowPrefetchTest() : database_(disk_.Open()), transaction_(database_.get()) {
    transaction_.Start(TransactionSettings());
  }

  static std::string KeyOf(size_t row) {
    std::string key;
    AppendBigEndian(uint32_t{256}, &key);
    AppendBigEndian(static_cast<uint32_t>(row), &key);
    return key;
  }

  // Adds the next row.
  void Add(size_t row) {
    prefetched_.rows()->NextKey()->assign(KeyOf(row));
    prefetched_.rows()->KeyAdded();
    prefetched_.NoteRow("entry " + std::to_string(row));
  }

  Status Fetch() {
    return prefetched_.Fetch(&transaction_, database_->default_family(),
                             Transaction::View::kSnapshot);
  }

  // How many rows the next batch wants.
  size_t FillBatch() {
    prefetched_.Begin(/*exact=*/false);
    size_t rows = 0;
    while (prefetched_.WantsMore()) Add(rows++);
    return rows;
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  Transaction transaction_;
  RowPrefetch prefetched_;
};

TEST_F(RowPrefetchTest, BatchesGrow) {
  std::vector<size_t> sizes;
  for (int batch = 0; batch < 5; ++batch) sizes.push_back(FillBatch());
  EXPECT_THAT(sizes, ElementsAre(4, 8, 16, 32, 32));
  prefetched_.Forget();
  EXPECT_EQ(FillBatch(), 4u);
}

TEST_F(RowPrefetchTest, EachRowHasItsEntryAndItsOutcome) {
  for (const size_t row : {0, 2}) {
    ASSERT_TRUE(database_->rocksdb()
                    ->Put(rocksdb::WriteOptions(), database_->default_family().handle, KeyOf(row),
                          "value " + std::to_string(row))
                    .ok());
  }
  EXPECT_FALSE(prefetched_.active());
  EXPECT_FALSE(prefetched_.Step());
  prefetched_.Begin(/*exact=*/true);
  for (size_t row = 0; row < 3; ++row) Add(row);
  ASSERT_TRUE(Fetch().ok());
  EXPECT_TRUE(prefetched_.exact());
  for (size_t row = 0; row < 3; ++row) {
    ASSERT_TRUE(prefetched_.active());
    EXPECT_EQ(prefetched_.primary_key(), KeyOf(row));
    EXPECT_EQ(prefetched_.entry(), "entry " + std::to_string(row));
    EXPECT_EQ(prefetched_.status().code(), row == 1 ? StatusCode::kNotFound : StatusCode::kOk);
    if (row != 1) {
      EXPECT_EQ(prefetched_.value(), "value " + std::to_string(row));
    }
    EXPECT_EQ(prefetched_.Step(), row < 2);
  }
  EXPECT_FALSE(prefetched_.active());
}

TEST_F(RowPrefetchTest, RowsBeforeAnErrorComeFirst) {
  prefetched_.Begin(/*exact=*/false);
  Add(1);
  prefetched_.NoteEnd(Status(StatusCode::kIoError));
  EXPECT_FALSE(prefetched_.WantsMore());
  EXPECT_TRUE(Fetch().ok());
  EXPECT_TRUE(prefetched_.active());
  EXPECT_FALSE(prefetched_.Step());
  prefetched_.Begin(/*exact=*/false);
  EXPECT_FALSE(prefetched_.WantsMore());
  EXPECT_EQ(Fetch().code(), StatusCode::kIoError);
  EXPECT_FALSE(prefetched_.active());
  EXPECT_EQ(FillBatch(), 16u) << "after an error the scan may be tried again";
}

}  // namespace
}  // namespace cairn
