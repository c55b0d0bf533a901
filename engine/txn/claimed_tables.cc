#include "engine/txn/claimed_tables.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "engine/base/assert.h"
#include "engine/base/bytes.h"
#include "engine/store/index_range.h"

namespace cairn {
namespace {

// To look for the locks in one table, RocksDB copies all that there are and stops everybody else
// meanwhile.
constexpr uint64_t kMostLockBytes = 4 << 20;

// Of a note, before the key.
constexpr size_t kNoteBytes = sizeof(uint8_t) + 2 * sizeof(uint32_t);

// A lock that is about to be given back is gone long before.
constexpr std::chrono::seconds kLongestGiveBack(60);

// A table that looks empty after so many deleted entries is not looked at any further.
constexpr uint64_t kMostDeletedEntries = 1000;

}  // namespace

ClaimedTables::~ClaimedTables() {
  const Held held = Hold();
  Drop();
}

bool ClaimedTables::Claim(rocksdb::Transaction* holder, const TableDefinition& table) {
  std::vector<ClaimedIndex> indexes;
  for (const IndexDefinition& index : table.indexes) {
    const bool locks_all = index.info.kind != IndexKind::kHiddenPrimary;
    indexes.push_back({index.id.index_number, index.family, locks_all, {}});
  }
  return ClaimAll(holder, std::move(indexes));
}

bool ClaimedTables::ClaimForeignKeyValues(rocksdb::Transaction* holder,
                                          const std::vector<uint32_t>& numbers) {
  std::vector<ClaimedIndex> indexes;
  indexes.reserve(numbers.size());
  for (const uint32_t number : numbers) {
    indexes.push_back({number, &database_->system_family(), /*was_empty=*/false, {}});
  }
  return ClaimAll(holder, std::move(indexes));
}

bool ClaimedTables::ClaimAll(rocksdb::Transaction* holder, std::vector<ClaimedIndex> indexes) {
  if (database_->options().transaction.write_policy != rocksdb::TxnDBWritePolicy::WRITE_COMMITTED ||
      database_->memory_accounts().Bytes(MemoryPart::kRowLocks) > kMostLockBytes) {
    return false;
  }
  std::vector<uint32_t> numbers;
  numbers.reserve(indexes.size());
  for (const ClaimedIndex& index : indexes) numbers.push_back(index.number);
  if (claimant_ == nullptr) {
    claimant_ = std::make_shared<TableClaims::Claimant>([this] { LockNoted(); });
  }
  const std::shared_ptr<TableClaims::Claimant> claimant = claimant_;
  {
    const std::lock_guard guard(claimant->mutex());
    if (!indexes_.empty() && !Stand()) return false;  // Somebody came.
    if (!database_->table_claims().Claim(claimant, numbers)) {
      if (indexes_.empty()) Forget();
      return false;
    }
    holder_ = holder;
  }
  // Rows that a transaction has written, and not yet committed, are locked; those that are
  // committed can be seen.
  const bool alone = LookAround(&indexes);
  const std::lock_guard guard(claimant->mutex());
  if (!alone) ExchangeForLocks();
  if (!alone || !Stand()) return false;
  std::move(indexes.begin(), indexes.end(), std::back_inserter(indexes_));
  return true;
}

// Whether nobody else has a lock there; completes what is known of the indexes.
bool ClaimedTables::LookAround(std::vector<ClaimedIndex>* indexes) const {
  for (const auto& [family, lock] : database_->rocksdb()->GetLockStatusData()) {
    ClaimedIndex* const index = Find(lock.key, indexes);
    if (index == nullptr) continue;
    if (lock.ids.size() != 1 || lock.ids.front() != holder_->GetID()) return false;
    index->highest = std::max(index->highest, lock.key);
  }
  for (ClaimedIndex& index : *indexes) index.was_empty = index.was_empty && IsEmpty(index);
  return true;
}

bool ClaimedTables::IsEmpty(const ClaimedIndex& index) const {
  const IndexRange range(*index.family, index.number);
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &range.lower();
  options.iterate_upper_bound = &range.upper();
  options.total_order_seek = true;  // A number alone is no prefix that a filter has seen.
  options.max_skippable_internal_keys = kMostDeletedEntries;
  const std::unique_ptr<rocksdb::Iterator> entries(
      database_->rocksdb()->NewIterator(options, index.family->handle));
  entries->SeekToFirst();
  return !entries->Valid() && entries->status().ok();
}

ClaimedTables::ClaimedIndex* ClaimedTables::Find(std::string_view key,
                                                 std::vector<ClaimedIndex>* indexes) {
  const uint32_t number = TableClaims::IndexNumberOf(key);
  const auto found =
      std::find_if(indexes->begin(), indexes->end(),
                   [number](const ClaimedIndex& index) { return index.number == number; });
  return found == indexes->end() ? nullptr : &*found;
}

ClaimedTables::Cover ClaimedTables::Note(std::string_view key, LockMode mode) {
  const Held held = Hold();
  ClaimedIndex* const index = Stand() ? Find(key, &indexes_) : nullptr;
  if (index == nullptr) {
    ExchangeForLocks();
    return Cover::kNone;
  }
  last_noted_ = noted_.size();
  noted_.push_back(static_cast<char>(mode));
  AppendBigEndian(static_cast<uint32_t>(index - indexes_.data()), &noted_);
  AppendBigEndian(static_cast<uint32_t>(key.size()), &noted_);
  noted_.append(key);
  ++noted_count_;
  if (!index->was_empty) return Cover::kNoted;
  if (key <= index->highest) return Cover::kOwn;
  index->highest.assign(key);
  return Cover::kUnused;
}

void ClaimedTables::TakeBack(std::string_view key) {
  if (last_noted_ + kNoteBytes + key.size() != noted_.size() || !noted_.ends_with(key)) return;
  noted_.resize(last_noted_);
  --noted_count_;
}

// Nobody keeps a lock here: others may have taken one without knowing of the claim, and give it
// back when they see it.
void ClaimedTables::LockNoted() {
  holder_->SetLockTimeout(0);
  ByteReader reader(noted_);
  uint8_t mode = 0;
  uint32_t index = 0;
  uint32_t length = 0;
  std::string_view key;
  while (reader.ReadBigEndian(&mode) && reader.ReadBigEndian(&index) &&
         reader.ReadBigEndian(&length) && reader.ReadBytes(length, &key)) {
    LockKey(*indexes_[index].family, key, static_cast<LockMode>(mode));
  }
}

void ClaimedTables::LockKey(const ColumnFamily& family, std::string_view key, LockMode mode) {
  const auto give_up = std::chrono::steady_clock::now() + kLongestGiveBack;
  while (true) {
    const rocksdb::Status locked = holder_->GetForUpdate(
        rocksdb::ReadOptions(), family.handle, rocksdb::Slice(key.data(), key.size()),
        static_cast<rocksdb::PinnableSlice*>(nullptr), mode == LockMode::kExclusive,
        /*do_validate=*/false);
    if (locked.ok()) return;
    if (!locked.IsTimedOut() || std::chrono::steady_clock::now() > give_up) {
      database_->log().Write(Severity::kError,
                             "locking a row of a claimed table: " + locked.ToString());
      return;
    }
    std::this_thread::yield();
  }
}

void ClaimedTables::Forget() {
  claimant_.reset();
  holder_ = nullptr;
  indexes_.clear();
  std::string().swap(noted_);  // An assignment would keep the buffer.
  noted_count_ = last_noted_ = 0;
}

void ClaimedTables::Drop() {
  if (claimant_ == nullptr) return;
  database_->table_claims().Drop(claimant_.get());
  Forget();
}

void ClaimedTables::ExchangeForLocks() {
  if (claimant_ == nullptr) return;
  database_->table_claims().Exchange(claimant_.get());
  Forget();
}

}  // namespace cairn
