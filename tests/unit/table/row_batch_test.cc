// Rows that are fetched together have each its own outcome.
#include "engine/table/row_batch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "rocksdb/file_system.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

constexpr int kRowsOfTable = 8;

// Which data file cannot be read; none when empty.
struct DamagedFile {
  std::string name;
};

class FileThatMayFail final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FileThatMayFail(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::string name,
                  const DamagedFile* damaged)
      : FSRandomAccessFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        damaged_(damaged) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* debug) const override {
    if (fails()) return rocksdb::IOStatus::IOError("cannot be read");
    return FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, debug);
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override {
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& request = requests[i];
      request.status =
          Read(request.offset, request.len, options, &request.result, request.scratch, debug);
    }
    return rocksdb::IOStatus::OK();
  }

 private:
  bool fails() const { return !damaged_->name.empty() && name_.ends_with(damaged_->name); }

  const std::string name_;
  const DamagedFile* const damaged_;
};

class FileSystemThatMayFail final : public rocksdb::FileSystemWrapper {
 public:
  FileSystemThatMayFail(std::shared_ptr<rocksdb::FileSystem> target, const DamagedFile* damaged)
      : FileSystemWrapper(std::move(target)), damaged_(damaged) {}
  const char* Name() const override { return "FileSystemThatMayFail"; }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus opened =
        FileSystemWrapper::NewRandomAccessFile(name, options, file, debug);
    if (opened.ok()) *file = std::make_unique<FileThatMayFail>(std::move(*file), name, damaged_);
    return opened;
  }

 private:
  const DamagedFile* const damaged_;
};

// Rows with the numbers 0 to kRowsOfTable - 1, each in a file of its own.
class RowBatchTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    env_ = rocksdb::NewCompositeEnv(
        std::make_shared<FileSystemThatMayFail>(disk_.env()->GetFileSystem(), &damaged_));
    DatabaseOptions options = disk_.Options();
    options.db.env = env_.get();
    options.column_family.disable_auto_compactions = true;
    auto opened = Database::Open(std::move(options), &disk_.log());
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = std::move(opened).value();
    family_ = *database_->families().FindOrCreate(GetParam());
    for (int row = 0; row < kRowsOfTable; ++row) {
      ASSERT_TRUE(
          db()->Put(rocksdb::WriteOptions(), family_->handle, KeyOf(row), ValueOf(row)).ok());
      ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    }
  }

  rocksdb::DB* db() const { return database_->rocksdb(); }

  static std::string KeyOf(int row) {
    std::string key;
    AppendBigEndian(uint32_t{256}, &key);
    AppendBigEndian(static_cast<uint32_t>(row), &key);
    return key;
  }
  static std::string ValueOf(int row) { return std::string(1000, 'v') + std::to_string(row); }

  // The name of the file that has the row.
  std::string FileOf(int row) const {
    std::vector<rocksdb::LiveFileMetaData> files;
    db()->GetLiveFilesMetaData(&files);
    for (const rocksdb::LiveFileMetaData& file : files) {
      if (file.smallestkey == KeyOf(row)) return file.name;
    }
    ADD_FAILURE() << "row " << row << " has no file";
    return "none";
  }

  DamagedFile damaged_;
  MemoryDisk disk_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Database> database_;
  const ColumnFamily* family_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Families, RowBatchTest, ::testing::Values("default", "rev:cf"));

TEST_P(RowBatchTest, ARowThatCannotBeReadIsAnErrorOfItsOwn) {
  constexpr int kDamaged = 3;
  constexpr int kAbsent = kRowsOfTable + 5;
  damaged_.name = FileOf(kDamaged);
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings());
  // As a scan finds them, and the other way; the second time the others are cached.
  for (const std::vector<int>& rows :
       {std::vector<int>{0, 2, kDamaged, 4, kAbsent, 7}, {kAbsent, 7, kDamaged, 1, 0}}) {
    RowBatch batch;
    for (const int row : rows) {
      *batch.NextKey() = KeyOf(row);
      batch.KeyAdded();
    }
    batch.Fetch(&transaction, *family_, Transaction::View::kSnapshot);
    for (size_t i = 0; i < rows.size(); ++i) {
      const StatusCode expected = rows[i] == kDamaged  ? StatusCode::kIoError
                                  : rows[i] == kAbsent ? StatusCode::kNotFound
                                                       : StatusCode::kOk;
      ASSERT_EQ(batch.status(i).code(), expected)
          << "row " << rows[i] << ": " << batch.status(i).ToString();
      if (expected == StatusCode::kOk) {
        EXPECT_EQ(batch.value(i), ValueOf(rows[i]));
      }
    }
  }
}

// The next batch knows nothing of an error that is over.
TEST_P(RowBatchTest, ARowThatCanBeReadAgainIsThere) {
  damaged_.name = FileOf(3);
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings());
  RowBatch batch;
  for (const bool fails : {true, false}) {
    if (!fails) damaged_.name.clear();
    batch.Clear();
    for (const int row : {2, 3}) {
      *batch.NextKey() = KeyOf(row);
      batch.KeyAdded();
    }
    batch.Fetch(&transaction, *family_, Transaction::View::kSnapshot);
    EXPECT_EQ(batch.status(0).code(), StatusCode::kOk);
    EXPECT_EQ(batch.status(1).code(), fails ? StatusCode::kIoError : StatusCode::kOk);
  }
  EXPECT_EQ(batch.value(1), ValueOf(3));
}

// With changes of its own a transaction reads one by one.
TEST_P(RowBatchTest, AnErrorIsOfItsOwnBesideChangesOfTheTransaction) {
  damaged_.name = FileOf(3);
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings());
  ASSERT_TRUE(transaction.Put(*family_, KeyOf(2), "mine").ok());
  RowBatch batch;
  for (const int row : {2, 3, 4}) {
    *batch.NextKey() = KeyOf(row);
    batch.KeyAdded();
  }
  batch.Fetch(&transaction, *family_, Transaction::View::kSnapshot);
  EXPECT_EQ(batch.value(0), "mine");
  EXPECT_EQ(batch.status(1).code(), StatusCode::kIoError);
  EXPECT_EQ(batch.value(2), ValueOf(4));
}

}  // namespace
}  // namespace cairn
