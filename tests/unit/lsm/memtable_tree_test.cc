// Which families keep their memtables as trees, and that such memtables answer what RocksDB asks of
// them beside reads and writes, which the tests of everything above do all the time.
#include "engine/lsm/memtable_tree.h"

#include <gtest/gtest.h>

#include <string>

#include "rocksdb/db.h"
#include "tests/unit/store/memory_database.h"

namespace cairn::lsm {
namespace {

class MemtableTreeTest : public ::testing::Test {
 protected:
  // Opens a database whose families have `text` as their options.
  void Open(const std::string& text) {
    DatabaseOptions options = disk_.Options();
    options.default_column_family_text = text;
    auto opened = Database::Open(std::move(options), &disk_.log());
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = std::move(opened).value();
    db_ = database_->rocksdb();
    family_ = database_->default_family().handle;
  }

  const rocksdb::MemTableRepFactory& MemtablesOf(const std::string& family) {
    return *db_->GetOptions((*database_->families().FindOrCreate(family))->handle).memtable_factory;
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  rocksdb::DB* db_ = nullptr;
  rocksdb::ColumnFamilyHandle* family_ = nullptr;
};

TEST_F(MemtableTreeTest, FamiliesOfBothOrdersHaveTrees) {
  Open("write_buffer_size=8m");
  EXPECT_TRUE(MakesTrees(MemtablesOf("default")));
  EXPECT_TRUE(MakesTrees(MemtablesOf("rev:other")));
  EXPECT_TRUE(MakesTrees(MemtablesOf("__system__")));
}

TEST_F(MemtableTreeTest, OptionsThatNameMemtablesGetThem) {
  Open("memtable=skip_list:16");
  EXPECT_FALSE(MakesTrees(MemtablesOf("default")));
}

// Other programs read the options that RocksDB keeps beside the data.
TEST_F(MemtableTreeTest, GoesByANameThatOthersKnow) {
  Open("");
  EXPECT_STREQ(MemtablesOf("default").Name(), "SkipListFactory");
  EXPECT_TRUE(MemtablesOf("default").IsInstanceOf("SkipListFactory"));
}

TEST_F(MemtableTreeTest, IsReadWhereMemoryIsChecked) {
  Open("paranoid_memory_checks=true;memtable_protection_bytes_per_key=8");
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(
        db_->Put(rocksdb::WriteOptions(), family_, "key" + std::to_string(i * 7919 % 2000), "v")
            .ok());
  }
  std::string value;
  ASSERT_TRUE(db_->Get(rocksdb::ReadOptions(), family_, "key77", &value).ok());
  EXPECT_TRUE(db_->Get(rocksdb::ReadOptions(), family_, "kez", &value).IsNotFound());
  const std::unique_ptr<rocksdb::Iterator> walk(db_->NewIterator(rocksdb::ReadOptions(), family_));
  int met = 0;
  for (walk->SeekToFirst(); walk->Valid(); walk->Next()) ++met;
  for (walk->SeekToLast(); walk->Valid(); walk->Prev()) --met;
  walk->SeekForPrev("key1000x");
  ASSERT_TRUE(walk->Valid());
  EXPECT_EQ(walk->key().ToString(), "key1000");
  EXPECT_TRUE(walk->status().ok()) << walk->status().ToString();
  EXPECT_EQ(met, 0);
}

// A sample of the memtable says whether its garbage is worth to be thrown away in memory.
TEST_F(MemtableTreeTest, IsSampledBeforeItIsPurged) {
  Open("experimental_mempurge_threshold=10");
  for (int version = 0; version < 20; ++version) {
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(db_->Put(rocksdb::WriteOptions(), family_, "key" + std::to_string(i),
                           std::to_string(version))
                      .ok());
    }
  }
  ASSERT_TRUE(db_->Flush(rocksdb::FlushOptions(), family_).ok());
  for (int i = 0; i < 50; ++i) {
    std::string value;
    ASSERT_TRUE(db_->Get(rocksdb::ReadOptions(), family_, "key" + std::to_string(i), &value).ok());
    EXPECT_EQ(value, "19");
  }
}

// RocksDB refuses what it has already when it replays a log.
TEST_F(MemtableTreeTest, WhatIsReplayedFromTheLogIsThereOnce) {
  Open("");
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(db_->Put(rocksdb::WriteOptions(), family_, "key" + std::to_string(i % 100),
                         std::to_string(i))
                    .ok());
  }
  database_.reset();
  Open("");
  const std::unique_ptr<rocksdb::Iterator> walk(db_->NewIterator(rocksdb::ReadOptions(), family_));
  int met = 0;
  for (walk->SeekToFirst(); walk->Valid(); walk->Next(), ++met) {
    const int number = std::stoi(walk->key().ToString().substr(3));
    EXPECT_EQ(walk->value().ToString(), std::to_string(200 + number));
  }
  EXPECT_EQ(met, 100);
}

}  // namespace
}  // namespace cairn::lsm
