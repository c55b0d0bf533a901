#include "engine/lsm/read_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/lsm/forward_iterator.h"
#include "engine/lsm/point_lookup.h"
#include "rocksdb/memtablerep.h"
#include "tests/unit/lsm/random_database.h"

namespace cairn::lsm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Messages final : public Log {
 public:
  void Write(Severity severity, std::string_view message) override {
    EXPECT_EQ(severity, Severity::kError);
    texts.emplace_back(message);
  }
  std::vector<std::string> texts;
};

// An iterator over entries in memory that ends with a status.
class ListIterator final : public rocksdb::Iterator {
 public:
  using Entries = std::vector<std::pair<std::string, std::string>>;
  explicit ListIterator(Entries entries, rocksdb::Status end = {})
      : entries_(std::move(entries)), end_(std::move(end)), at_(entries_.size()) {}

  bool Valid() const override { return at_ < entries_.size(); }
  rocksdb::Slice key() const override { return entries_[at_].first; }
  rocksdb::Slice value() const override { return entries_[at_].second; }
  const rocksdb::WideColumns& columns() const override {
    columns_.assign(1, {rocksdb::kDefaultWideColumnName, value()});
    return columns_;
  }
  rocksdb::Status status() const override { return Valid() ? rocksdb::Status::OK() : end_; }
  void SeekToFirst() override { at_ = 0; }
  void SeekToLast() override { at_ = entries_.size() - 1; }
  void Next() override { ++at_; }
  void Prev() override { --at_; }
  void Seek(const rocksdb::Slice& target) override {
    at_ = 0;
    while (Valid() && key().compare(target) < 0) ++at_;
  }
  void SeekForPrev(const rocksdb::Slice& target) override {
    Seek(target);
    if (!Valid() || key() != target) --at_;
  }

 private:
  const Entries entries_;
  const rocksdb::Status end_;
  size_t at_;
  mutable rocksdb::WideColumns columns_;
};

class ReadVerifierTest : public ::testing::Test {
 protected:
  std::unique_ptr<rocksdb::Iterator> Verified(ListIterator::Entries ours,
                                              ListIterator::Entries theirs,
                                              rocksdb::Status their_end = {}) {
    return NewVerifiedIterator(std::make_unique<ListIterator>(std::move(ours)),
                               std::make_unique<ListIterator>(std::move(theirs), their_end),
                               &verifier_, "rev:cf");
  }

  Messages log_;
  ReadVerifier verifier_{&log_};
};

TEST_F(ReadVerifierTest, PassesWhatAgrees) {
  const auto iterator =
      Verified({{"a", "1"}, {"b", "2"}, {"c", "3"}}, {{"a", "1"}, {"b", "2"}, {"c", "3"}});
  std::string seen;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    seen += iterator->key().ToString() + iterator->value().ToString();
  }
  EXPECT_EQ(seen, "a1b2c3");
  EXPECT_TRUE(iterator->status().ok());
  iterator->Seek("b");
  EXPECT_EQ(iterator->key(), "b");
  iterator->Prev();
  EXPECT_EQ(iterator->key(), "a");
  iterator->SeekForPrev("bb");
  EXPECT_EQ(iterator->key(), "b");
  iterator->SeekToLast();
  EXPECT_EQ(iterator->key(), "c");
  EXPECT_EQ(verifier_.compared(), 8u);
  EXPECT_EQ(verifier_.differing(), 0u);
  EXPECT_THAT(log_.texts, IsEmpty());
}

TEST_F(ReadVerifierTest, TellsEachKindOfDifference) {
  const ListIterator::Entries right = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  const ListIterator::Entries wrong[] = {
      {{"a", "1"}, {"c", "3"}},                           // An entry is missing,
      {{"a", "1"}, {"aa", "9"}, {"b", "2"}, {"c", "3"}},  // there is one too many,
      {{"a", "1"}, {"b", "7"}, {"c", "3"}},               // has another value,
      {{"a", "1"}},                                       // or all are missing behind it.
  };
  uint64_t differing = 0;
  for (const ListIterator::Entries& ours : wrong) {
    const auto iterator = Verified(ours, right);
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid());
    iterator->Next();
    EXPECT_FALSE(iterator->Valid());
    EXPECT_TRUE(iterator->status().IsCorruption());
    EXPECT_EQ(verifier_.differing(), ++differing);
  }
  ASSERT_EQ(log_.texts.size(), 4u);
  EXPECT_THAT(log_.texts[0], HasSubstr("rev:cf"));
  EXPECT_THAT(log_.texts[0], HasSubstr("key 63 value 33"));
  EXPECT_THAT(log_.texts[0], HasSubstr("key 62 value 32"));
  EXPECT_THAT(log_.texts[3], HasSubstr("this one finds nothing"));
}

TEST_F(ReadVerifierTest, GivesAnErrorOfRocksDbAsItIs) {
  const auto iterator =
      Verified({{"a", "1"}, {"b", "2"}}, {{"a", "1"}}, rocksdb::Status::IOError("a disk"));
  iterator->SeekToFirst();
  EXPECT_TRUE(iterator->Valid());
  iterator->Next();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(iterator->status().IsIOError());
  EXPECT_EQ(verifier_.differing(), 0u);
}

// A memtable that, while it is told so, has nothing to say to look-ups and to new iterators.
class ForgetfulMemtable final : public rocksdb::MemTableRep {
 public:
  ForgetfulMemtable(rocksdb::Allocator* allocator, rocksdb::MemTableRep* real,
                    rocksdb::MemTableRep* empty)
      : MemTableRep(allocator), real_(real), empty_(empty) {}

  static inline int forgotten_iterators = 0;    // The next ones.
  static inline bool looks_up_wrongly = false;  // Single keys alone.

  rocksdb::KeyHandle Allocate(size_t length, char** buffer) override {
    return real_->Allocate(length, buffer);
  }
  void Insert(rocksdb::KeyHandle handle) override { real_->Insert(handle); }
  bool InsertKey(rocksdb::KeyHandle handle) override { return real_->InsertKey(handle); }
  bool Contains(const char* key) const override { return real_->Contains(key); }
  size_t ApproximateMemoryUsage() override { return real_->ApproximateMemoryUsage(); }
  void Get(const rocksdb::LookupKey& key, void* arguments,
           bool (*found)(void* arguments, const char* entry)) override {
    (looks_up_wrongly ? empty_ : real_)->Get(key, arguments, found);
  }
  Iterator* GetIterator(rocksdb::Arena* arena) override {
    return (forgotten_iterators-- > 0 ? empty_ : real_)->GetIterator(arena);
  }

 private:
  const std::unique_ptr<rocksdb::MemTableRep> real_;
  const std::unique_ptr<rocksdb::MemTableRep> empty_;
};

class ForgetfulFactory final : public rocksdb::MemTableRepFactory {
 public:
  const char* Name() const override { return "Forgetful"; }
  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& compare,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform* prefix,
                                          rocksdb::Logger* logger) override {
    return new ForgetfulMemtable(allocator,
                                 lists_.CreateMemTableRep(compare, allocator, prefix, logger),
                                 lists_.CreateMemTableRep(compare, allocator, prefix, logger));
  }

 private:
  rocksdb::SkipListFactory lists_;
};

class VerifiedDatabaseTest : public RandomDatabase {
 protected:
  ~VerifiedDatabaseTest() override {
    ForgetfulMemtable::forgotten_iterators = 0;
    ForgetfulMemtable::looks_up_wrongly = false;
  }

  Messages log_;
  ReadVerifier verifier_{&log_};
};

class WrongReadTest : public VerifiedDatabaseTest {};

TEST_P(WrongReadTest, OfOneKeyIsAnError) {
  ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), "key", "value").ok());
  rocksdb::PinnableSlice value;
  const rocksdb::ReadOptions options;
  EXPECT_TRUE(LookUp(database_, family_, options, "key", &value, &verifier_).ok());
  EXPECT_EQ(value, "value");
  EXPECT_TRUE(LookUp(database_, family_, options, "none", &value, &verifier_).IsNotFound());
  EXPECT_EQ(verifier_.compared(), 2u);
  // RocksDB's iterator is asked, which looks into the real list.
  ForgetfulMemtable::looks_up_wrongly = true;
  EXPECT_TRUE(LookUp(database_, family_, options, "key", &value).IsNotFound());
  EXPECT_TRUE(LookUp(database_, family_, options, "key", &value, &verifier_).IsCorruption());
  EXPECT_EQ(verifier_.differing(), 1u);
  EXPECT_THAT(log_.texts, ElementsAre(HasSubstr("this one finds nothing")));

  const std::vector<rocksdb::Slice> keys = {"key", "none"};
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> outcomes(keys.size());
  LookUpMany(database_, family_, options, keys.size(), keys.data(), values.data(), outcomes.data(),
             &verifier_);
  EXPECT_TRUE(outcomes[0].IsCorruption());
  EXPECT_TRUE(outcomes[1].IsNotFound());
  EXPECT_EQ(verifier_.differing(), 2u);
}

TEST_P(WrongReadTest, OfARangeIsAnError) {
  for (const char* const key : {"a", "b", "c"}) {
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), key, "value").ok());
  }
  const auto right = NewForwardIterator(database_, family_, {}, {}, &verifier_);
  right->Seek("b");
  ASSERT_TRUE(right->Valid());
  EXPECT_EQ(right->key(), "b");
  const auto wrong = NewForwardIterator(database_, family_, {}, {}, &verifier_);
  // Ours is the first to search.
  ForgetfulMemtable::forgotten_iterators = 1;
  wrong->Seek("b");
  EXPECT_FALSE(wrong->Valid());
  EXPECT_TRUE(wrong->status().IsCorruption());
  EXPECT_EQ(verifier_.differing(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, WrongReadTest,
                         ::testing::Values(Layout{.name = "ForgetfulMemtable",
                                                  .change =
                                                      [](auto* options, auto*) {
                                                        options->memtable_factory =
                                                            std::make_shared<ForgetfulFactory>();
                                                        options->allow_concurrent_memtable_write =
                                                            false;
                                                      }}),
                         [](const auto& info) { return info.param.name; });

class VerifiedRandomDatabaseTest : public VerifiedDatabaseTest {};

// Both readers see one state, whatever changes behind them.
TEST_P(VerifiedRandomDatabaseTest, ReadersAgreeWhileTheDatabaseChanges) {
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 40; ++i) ASSERT_NO_FATAL_FAILURE(ChangeSomething(/*everything=*/true));
    const auto iterator =
        NewForwardIterator(database_, family_, AnyView(), /*figures=*/{}, &verifier_);
    iterator->Seek(AnyKey());
    while (iterator->Valid() && Below(30) != 0) {
      if (Below(20) == 0) {
        ASSERT_NO_FATAL_FAILURE(ChangeSomething(/*everything=*/true));
      }
      if (Below(12) == 0) {
        iterator->Prev();
      } else {
        iterator->Next();
      }
    }
    ASSERT_TRUE(iterator->status().ok()) << iterator->status().ToString();
    rocksdb::PinnableSlice value;
    const rocksdb::Status found =
        LookUp(database_, family_, AnyView(), AnyKey(), &value, &verifier_);
    ASSERT_TRUE(found.ok() || found.IsNotFound()) << found.ToString();
  }
  EXPECT_GT(verifier_.compared(), 100u);
  EXPECT_EQ(verifier_.differing(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, VerifiedRandomDatabaseTest, AllLayouts(),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cairn::lsm
