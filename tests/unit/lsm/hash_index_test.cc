// Files whose index hashes prefixes, which RocksDB searches wrongly: they are read in full, and
// none is written.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/lsm/block_prefetch.h"
#include "engine/lsm/comparator.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

namespace cairn::lsm {
namespace {

constexpr int kPrefixes = 600;

std::string EightBytes(int number) {
  const std::string digits = std::to_string(number);
  return std::string(8 - digits.size(), '0') + digits;
}

enum class Tables { kOfRocksDb, kOfCairn };

class HashIndexTest : public ::testing::Test {
 protected:
  void Open(Tables tables) {
    database_.reset();
    rocksdb::BlockBasedTableOptions table;
    table.index_type = rocksdb::BlockBasedTableOptions::kHashSearch;
    table.block_size = 128;
    rocksdb::Options options;
    options.env = environment_.get();
    options.create_if_missing = true;
    options.disable_auto_compactions = true;
    options.comparator = comparator_;
    options.prefix_extractor = extractor_;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    if (tables == Tables::kOfCairn) {
      options.table_factory = WithBlockPrefetch(options.table_factory);
    }
    ASSERT_TRUE(rocksdb::DB::Open(options, "/db", &database_).ok());
  }

  void Put(const std::string& key) {
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), key, "a value of some bytes").ok());
  }

  // How many of the prefixes have no entry for a search for what lies before them, which is in
  // order where keys descend.
  int LostBackward() {
    rocksdb::ReadOptions options;
    options.prefix_same_as_start = true;
    int lost = 0;
    for (int number = 0; number < kPrefixes; ++number) {
      const std::unique_ptr<rocksdb::Iterator> iterator(database_->NewIterator(options));
      iterator->SeekForPrev(EightBytes(number));
      EXPECT_TRUE(iterator->status().ok());
      if (!iterator->Valid() || iterator->key() != EightBytes(number) + "a") ++lost;
    }
    return lost;
  }

  int LostByKey() {
    std::vector<std::string> keys;
    for (int number = 0; number < kPrefixes; ++number) keys.push_back(EightBytes(number));
    const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
    std::vector<std::string> values;
    int lost = 0;
    for (const rocksdb::Status& found :
         database_->MultiGet(rocksdb::ReadOptions(), slices, &values)) {
      lost += found.ok() ? 0 : 1;
    }
    int lost_alone = 0;
    std::string value;
    for (const std::string& key : keys) {
      lost_alone += database_->Get(rocksdb::ReadOptions(), key, &value).ok() ? 0 : 1;
    }
    EXPECT_EQ(lost, lost_alone);
    return lost;
  }

  // Behind the newest version of a key there are more of it than a block holds, so that the file's
  // index tells them apart.
  void WriteEntriesWithPrefixes() {
    std::vector<const rocksdb::Snapshot*> snapshots;
    for (int versions = 0; versions < 8; ++versions) {
      Put(EightBytes(0) + "a");
      snapshots.push_back(database_->GetSnapshot());
    }
    for (int number = 0; number < kPrefixes; ++number) {
      for (const char* rest : {"a", "b"}) Put(EightBytes(number) + rest);
    }
    ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
    for (const rocksdb::Snapshot* snapshot : snapshots) database_->ReleaseSnapshot(snapshot);
  }

  uint8_t IndexTypeOfTheFile() {
    rocksdb::TablePropertiesCollection files;
    EXPECT_TRUE(database_->GetPropertiesOfAllTables(&files).ok());
    EXPECT_EQ(files.size(), 1U);
    return static_cast<uint8_t>(files.begin()->second->user_collected_properties.at(
        rocksdb::BlockBasedTablePropertyNames::kIndexType)[0]);
  }

  const std::unique_ptr<rocksdb::Env> environment_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  const rocksdb::Comparator* comparator_ = ForwardComparator();
  std::shared_ptr<const rocksdb::SliceTransform> extractor_{rocksdb::NewCappedPrefixTransform(8)};
  std::unique_ptr<rocksdb::DB> database_;
};

// What is expected of RocksDB's tables is why this is done at all: where it fails, RocksDB has been
// mended.
TEST_F(HashIndexTest, SearchesForWhatLiesBeforeAKeyLoseNothing) {
  comparator_ = ReverseComparator();
  Open(Tables::kOfRocksDb);
  WriteEntriesWithPrefixes();
  EXPECT_GT(LostBackward(), 0);
  Open(Tables::kOfCairn);
  EXPECT_EQ(IndexTypeOfTheFile(), rocksdb::BlockBasedTableOptions::kHashSearch);
  EXPECT_EQ(LostBackward(), 0);
}

// Likewise.
TEST_F(HashIndexTest, KeysThatAreShorterThanAPrefixAreFound) {
  extractor_.reset(rocksdb::NewFixedPrefixTransform(12));
  Open(Tables::kOfRocksDb);
  for (int number = 0; number < kPrefixes; ++number) Put(EightBytes(number));
  ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
  EXPECT_GT(LostByKey(), 0);
  Open(Tables::kOfCairn);
  EXPECT_EQ(IndexTypeOfTheFile(), rocksdb::BlockBasedTableOptions::kHashSearch);
  EXPECT_EQ(LostByKey(), 0);
}

TEST_F(HashIndexTest, NewFilesHaveNone) {
  Open(Tables::kOfCairn);
  WriteEntriesWithPrefixes();
  EXPECT_EQ(IndexTypeOfTheFile(), rocksdb::BlockBasedTableOptions::kBinarySearch);
  // The option stays what it is.
  const rocksdb::Options options = database_->GetOptions();
  const auto* const table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->index_type, rocksdb::BlockBasedTableOptions::kHashSearch);
}

}  // namespace
}  // namespace cairn::lsm
