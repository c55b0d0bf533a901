// A dictionary whose foreign keys are under test, on a disk that can fail.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/catalog/dictionary.h"
#include "tests/unit/store/memory_database.h"

namespace cairn::testing {

class ForeignKeyTest : public ::testing::Test {
 protected:
  ForeignKeyTest() { Reopen(); }

  void Reopen() {
    dictionary_.reset();
    database_.reset();
    database_ = disk_.Open();
    auto dictionary = Dictionary::Load(database_.get());
    ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
    dictionary_ = std::move(dictionary).value();
  }

  static ForeignKeyRecord Record(const std::string& name, const std::string& child,
                                 const std::string& parent) {
    return {.name = name, .child = child, .parent = parent, .columns = {{"a", "x"}}};
  }
  static ForeignKeyRecord ToAdd(const std::string& name, const std::string& copy,
                                const std::string& parent) {
    ForeignKeyRecord record = Record(name, copy, parent);
    record.state = ForeignKeyState::kToAdd;
    return record;
  }
  static ForeignKeyRecord ToDrop(uint32_t number, const std::string& copy) {
    return {.state = ForeignKeyState::kToDrop, .other = number, .child = copy};
  }
  static ForeignKeyRecord Replaces(const std::string& copy, const std::string& table) {
    return {.state = ForeignKeyState::kReplaces, .child = copy, .parent = table};
  }

  Status Create(const std::string& name, const std::vector<ForeignKeyRecord>& foreign_keys = {}) {
    return dictionary_
        ->CreateTable(name, {{IndexKind::kPrimary}, {IndexKind::kSecondary}}, std::nullopt,
                      TableLifetime::kPermanent, foreign_keys)
        .status();
  }

  uint32_t NumberOf(const std::string& name) {
    const auto found = dictionary_->foreign_keys().FindByName("db", name);
    EXPECT_NE(found, nullptr) << name;
    return found == nullptr ? 0 : found->number;
  }

  // "name: child -> parent (state)" of all, in the order of names, and "guard table" of the tables.
  std::vector<std::string> State() {
    std::vector<std::string> lines;
    for (const auto& each : dictionary_->foreign_keys().All()) {
      const ForeignKeyRecord& record = each->record;
      std::string line = record.name + ": " + record.child + " -> " + record.parent;
      if (record.state != ForeignKeyState::kActive) {
        line += " (" + std::to_string(static_cast<int>(record.state)) + ")";
      }
      lines.push_back(line);
    }
    for (const auto& table : dictionary_->Tables()) {
      const uint32_t guards = table->indexes[0].info.features & kForeignKeyGuards;
      EXPECT_EQ(table->counters->foreign_key_guards.load(), guards) << table->name;
      EXPECT_EQ(table->indexes[1].info.features, 0u);
      std::string line = table->name + ":";
      if ((guards & kFeatureForeignKeyChild) != 0) line += " child";
      if ((guards & kFeatureForeignKeyParent) != 0) line += " parent";
      if (guards != 0) lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  // The same now and after a restart, which has nothing to repair.
  void ExpectState(std::vector<std::string> expected) {
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(State(), expected);
    const size_t messages = disk_.log().messages().size();
    const std::vector<std::string> records = Records();
    Reopen();
    EXPECT_EQ(State(), expected) << "after a restart";
    EXPECT_EQ(Records(), records);
    for (size_t i = messages; i < disk_.log().messages().size(); ++i) {
      EXPECT_EQ(disk_.log().messages()[i].find("foreign key"), std::string::npos)
          << disk_.log().messages()[i];
    }
  }

  std::vector<std::string> Records() {
    std::vector<std::string> records;
    std::unique_ptr<rocksdb::Iterator> iterator(
        database_->rocksdb()->NewIterator(rocksdb::ReadOptions(), system()));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      records.push_back(ToHex(iterator->key().ToStringView()) + " => " +
                        ToHex(iterator->value().ToStringView()));
    }
    return records;
  }

  rocksdb::ColumnFamilyHandle* system() { return database_->system_family().handle; }
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(database_->rocksdb()->Put(rocksdb::WriteOptions(), system(), key, value).ok());
  }
  void Delete(const std::string& key) {
    ASSERT_TRUE(database_->rocksdb()->Delete(rocksdb::WriteOptions(), system(), key).ok());
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
};

}  // namespace cairn::testing
