// The fuzz target of what else is read from files: those of our own beside RocksDB's, records in
// RocksDB's logs, properties of table files, and what compactions look at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "engine/codec/dictionary_record.h"
#include "engine/codec/index_statistics.h"
#include "engine/codec/value_sample.h"
#include "engine/sst/auto_increment_merge.h"
#include "engine/sst/compaction_filter.h"
#include "engine/sst/file_sums.h"
#include "engine/sst/statistics_collector.h"
#include "engine/store/directory_marker.h"
#include "engine/store/sort_directories.h"
#include "engine/store/stored_log_directory.h"
#include "engine/txn/lock_list.h"
#include "engine/txn/transaction_id.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "tests/fuzz/fuzzer.h"

namespace cairn::testing {
namespace {

using rocksdb::Slice;

constexpr char kDirectory[] = "/data";

class NoLog final : public Log {
 public:
  void Write(Severity, std::string_view message) override { EXPECT_FALSE(message.empty()); }
};

std::unique_ptr<rocksdb::Env> NewDisk() {
  std::unique_ptr<rocksdb::Env> disk(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  EXPECT_TRUE(disk->CreateDirIfMissing(kDirectory).ok());
  return disk;
}

std::string In(std::string_view name) { return std::string(kDirectory) + "/" + std::string(name); }

void WriteFile(rocksdb::Env* disk, std::string_view name, std::string_view bytes) {
  EXPECT_TRUE(rocksdb::WriteStringToFile(disk, bytes, In(name)).ok());
}

// What decodes encodes to something that decodes to the same.
void CheckLockList(std::string_view bytes) {
  const auto locks = DecodeLockList(bytes);
  if (!locks.ok()) {
    EXPECT_EQ(locks.status().code(), StatusCode::kCorruption);
    return;
  }
  const auto again = DecodeLockList(EncodeLockList(*locks));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(*again == *locks);
}

// The names of prepared transactions that are known are the same bytes again.
void CheckTransactionName(std::string_view bytes) {
  const auto id = DecodeTransactionName(bytes);
  if (!id.ok()) {
    EXPECT_EQ(id.status().code(), StatusCode::kCorruption);
    return;
  }
  EXPECT_EQ(EncodeTransactionName(*id), bytes);
}

void CheckMarker(std::string_view bytes) {
  const auto disk = NewDisk();
  WriteFile(disk.get(), kDirectoryMarkerName, bytes);
  const Status checked = CheckDirectoryMarker(disk.get(), kDirectory);
  const std::string known = std::to_string(kDirectoryMarkerVersion);
  const std::string_view text = bytes.substr(0, bytes.find_last_not_of("\r\n") + 1);
  if (!checked.ok()) {
    EXPECT_TRUE(checked.code() == StatusCode::kCorruption ||
                checked.code() == StatusCode::kNotSupported);
    EXPECT_NE(text, known);
    return;
  }
  EXPECT_TRUE(text.ends_with(known));
  EXPECT_EQ(text.find_first_not_of('0'), text.size() - known.size());
}

// Of an OPTIONS file with these bytes, and of one behind whose first line they are the directory.
void CheckOptionsFile(std::string_view bytes) {
  for (const bool is_line : {false, true}) {
    const auto disk = NewDisk();
    const std::string begin = is_line ? "[DBOptions]\n  wal_dir=" : "";
    WriteFile(disk.get(), "OPTIONS-000012", begin + std::string(bytes));
    const auto stored = StoredLogDirectory(disk.get(), kDirectory);
    ASSERT_TRUE(stored.ok()) << stored.status().ToString();
    const Status forgotten = ForgetStoredLogDirectory(disk.get(), kDirectory);
    ASSERT_TRUE(forgotten.ok()) << forgotten.ToString();
    const auto left = StoredLogDirectory(disk.get(), kDirectory);
    ASSERT_TRUE(left.ok()) << left.status().ToString();
    EXPECT_EQ(*left, "");
  }
}

// Whatever the file says, only runs of this database are removed, and of what stays the next start
// knows.
void CheckSortDirectories(std::string_view bytes) {
  const auto disk = NewDisk();
  SortDirectories directories(disk.get(), kDirectory, "identity");
  const std::string run = directories.run_prefix() + "1" + std::string(kUnfinishedFileSuffix);
  const std::string other = "cairn_other_1" + std::string(kUnfinishedFileSuffix);
  EXPECT_TRUE(disk->CreateDirIfMissing("/runs").ok());
  for (const std::string& name : {run, other}) {
    EXPECT_TRUE(rocksdb::WriteStringToFile(disk.get(), "", "/runs/" + name).ok());
    WriteFile(disk.get(), name, "");
  }
  WriteFile(disk.get(), "CURRENT", "");
  WriteFile(disk.get(), kSortDirectoriesName, bytes);
  NoLog log;
  directories.RemoveLeftRuns(&log);
  EXPECT_TRUE(disk->FileExists("/runs/" + other).ok());
  EXPECT_TRUE(disk->FileExists(In(other)).ok());
  EXPECT_TRUE(disk->FileExists(In("CURRENT")).ok());
  const bool names_runs = bytes.substr(0, bytes.find('\0')) == "/runs";
  if (names_runs) {
    EXPECT_TRUE(disk->FileExists("/runs/" + run).IsNotFound());
  }
  EXPECT_TRUE(directories.Remember("/runs").ok());
  SortDirectories next(disk.get(), kDirectory, "identity");
  next.RemoveLeftRuns(&log);
  EXPECT_TRUE(disk->FileExists("/runs/" + run).IsNotFound());
}

// The operator refuses what does not decode and keeps the larger one of what does.
void CheckMergeOperator(std::string_view bytes) {
  const auto merge = MakeAutoIncrementMerge();
  const std::string key = IndexKey(DictionaryRecordType::kAutoIncrement, IndexId{0, 256});
  const std::string_view existing = bytes.substr(0, bytes.size() / 2);
  const std::string_view operand = bytes.substr(bytes.size() / 2);
  for (const Slice merged_key : {Slice(key), Slice(bytes)}) {  // The operator borrows it.
    for (const bool exists : {false, true}) {
      const Slice there = existing;
      const std::vector<Slice> operands = {operand};
      std::string merged;
      Slice same;
      const rocksdb::MergeOperator::MergeOperationInput input(merged_key, exists ? &there : nullptr,
                                                              operands, /*logger=*/nullptr);
      rocksdb::MergeOperator::MergeOperationOutput output(merged, same);
      const bool done = merge->FullMergeV2(input, &output);
      const auto a = DecodeAutoIncrement(existing);
      const auto b = DecodeAutoIncrement(operand);
      EXPECT_EQ(done, IsMergeableKey(merged_key.ToStringView()) && b.ok() && (!exists || a.ok()));
      if (!done) continue;
      const auto result = DecodeAutoIncrement(merged);
      ASSERT_TRUE(result.ok()) << result.status().ToString();
      EXPECT_EQ(*result, exists ? std::max(*a, *b) : *b);
    }
  }
}

constexpr uint32_t kDropped = 256;
constexpr uint32_t kExpiring = 257;

// A compaction removes no entry but those of a dropped index and those with a stamp that is old.
void CheckCompaction(std::string_view bytes) {
  static NoLog log;
  const auto dropped = std::make_shared<DroppedIndexes>();
  const auto expiry = std::make_shared<Expiry>();
  dropped->Add(IndexId{0, kDropped});
  expiry->Add({{IndexId{0, kExpiring}, {100, IndexKind::kSecondary}}});
  const auto factory = MakeCompactionFilterFactory(dropped, expiry, &log);
  const auto filter = factory->CreateCompactionFilter({});
  const std::string_view key = bytes.substr(0, bytes.size() / 2);
  const std::string_view value = bytes.substr(bytes.size() / 2);
  std::string index_key;
  for (const uint32_t number : {uint32_t{0}, kDropped, kExpiring}) {
    index_key.clear();
    if (number != 0) AppendBigEndian(number, &index_key);
    index_key.append(key);
    const uint32_t in_key =
        index_key.size() < kIndexNumberBytes ? 0 : LoadBigEndian<uint32_t>(index_key.data());
    std::string new_value;
    std::string skip_until;
    const auto decision = filter->FilterV2(
        1, index_key, rocksdb::CompactionFilter::ValueType::kValue, value, &new_value, &skip_until);
    // Without a database it is the beginning of time.
    const auto expected = in_key == kDropped ? rocksdb::CompactionFilter::Decision::kRemove
                                             : rocksdb::CompactionFilter::Decision::kKeep;
    EXPECT_EQ(decision, expected);
  }
}

// Entries of keys with these bytes, each behind its size, are counted while a file is written.
void CheckCollector(std::string_view input) {
  const auto factory = MakeStatisticsCollectorFactory(std::make_shared<CollectorControl>(),
                                                      std::make_shared<KeyLayouts>());
  const std::unique_ptr<rocksdb::TablePropertiesCollector> collector(
      factory->CreateTablePropertiesCollector({}));
  int64_t counted = 0;
  while (!input.empty()) {
    const size_t bytes = static_cast<unsigned char>(input.front()) % 16;
    input.remove_prefix(1);
    const std::string_view key = input.substr(0, bytes);
    input.remove_prefix(key.size());
    EXPECT_TRUE(collector->AddUserKey(key, "value", rocksdb::kEntryPut, 1, /*file_size=*/0).ok());
    counted += key.size() >= kIndexNumberBytes ? 1 : 0;
  }
  rocksdb::UserCollectedProperties properties;
  EXPECT_TRUE(collector->Finish(&properties).ok());
  const auto statistics = DecodeIndexStatistics(properties[std::string(kIndexStatisticsProperty)]);
  ASSERT_TRUE(statistics.ok()) << statistics.status().ToString();
  for (const IndexStatistics& index : *statistics) counted -= index.row_count;
  EXPECT_EQ(counted, 0);
}

rocksdb::DB* EmptyDatabase() {
  static const std::unique_ptr<rocksdb::Env> disk(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  static const std::unique_ptr<rocksdb::DB> database = [] {
    rocksdb::Options options;
    options.env = disk.get();
    options.create_if_missing = true;
    std::unique_ptr<rocksdb::DB> opened;
    EXPECT_TRUE(rocksdb::DB::Open(options, kDirectory, &opened).ok());
    return opened;
  }();
  return database.get();
}

// The properties of two files, each with statistics and samples of any bytes: the sums have what
// can be decoded, and no count that is not one.
void CheckProperties(std::string_view input) {
  rocksdb::TablePropertiesCollection files;
  for (const char* const name : {"/data/000012.sst", "/data/000013.sst"}) {
    auto properties = std::make_shared<rocksdb::TableProperties>();
    std::string_view parts[2];
    for (std::string_view& part : parts) {
      const size_t bytes = input.empty() ? 0 : static_cast<unsigned char>(input.front());
      input.remove_prefix(std::min<size_t>(input.size(), 1));
      part = input.substr(0, bytes);
      input.remove_prefix(part.size());
    }
    auto& collected = properties->user_collected_properties;
    collected.emplace(kIndexStatisticsProperty, parts[0]);
    collected.emplace(kValueSamplesProperty, parts[1]);
    properties->data_size = uint64_t{1} << 40;
    files.emplace(name, std::move(properties));
  }
  rocksdb::DB* const database = EmptyDatabase();
  NoLog log;
  const FileSums sums =
      SumFiles(database, database->DefaultColumnFamily(), files, KeyLayouts(), &log);
  for (const auto& [id, index] : sums.indexes) {
    EXPECT_EQ(index.sums.id, id);
    ASSERT_NE(index.values, nullptr);
    EXPECT_EQ(index.values->size(), index.sums.distinct_prefix_counts.size());
    EXPECT_TRUE(std::is_sorted(index.sums.distinct_prefix_counts.begin(),
                               index.sums.distinct_prefix_counts.end()));
    for (const int64_t count : index.sums.distinct_prefix_counts) EXPECT_GE(count, 0);
  }
}

}  // namespace

void CheckInput(uint8_t kind, std::string_view input) {
  constexpr void (*kChecks[])(std::string_view) = {
      CheckLockList,    CheckTransactionName, CheckMarker,
      CheckOptionsFile, CheckSortDirectories, CheckMergeOperator,
      CheckCompaction,  CheckCollector,       CheckProperties};
  kChecks[kind % std::size(kChecks)](input);
}

}  // namespace cairn::testing
