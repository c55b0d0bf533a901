#include "engine/lsm/memtable_tree.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <unordered_set>

#include "engine/lsm/comparator.h"
#include "engine/lsm/rocksdb_internals.h"
#include "engine/lsm/version_tree.h"
#include "rocksdb/memtablerep.h"

namespace cairn::lsm {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using Validation = std::function<Status(const char* record, bool allow_data_in_errors)>;

VersionTree::Entry EntryOf(const Slice& internal_key, const char* record) {
  return record != nullptr ? VersionTree::ParseRecord(record)
                           : VersionTree::ParseInternalKey(internal_key.ToStringView());
}

// A memtable's pieces, which are RocksDB's to give and to take back.
class MemtableMemory final : public VersionTree::Memory {
 public:
  explicit MemtableMemory(rocksdb::Allocator* allocator) : allocator_(allocator) {}
  char* Allocate(size_t bytes) noexcept override { return allocator_->AllocateAligned(bytes); }

 private:
  rocksdb::Allocator* const allocator_;
};

class TreeIterator final : public rocksdb::MemTableRep::Iterator {
 public:
  TreeIterator(const VersionTree& tree, const rocksdb::MemTableRep::KeyComparator& order)
      : order_(order), place_(tree) {}

  bool Valid() const override { return place_.Valid(); }
  const char* key() const override { return place_.record(); }
  void Next() override { place_.Next(); }
  void Prev() override { place_.Prev(); }
  void Seek(const Slice& internal_key, const char* record) override {
    place_.Seek(EntryOf(internal_key, record));
  }
  void SeekForPrev(const Slice& internal_key, const char* record) override {
    Seek(internal_key, record);
    if (!Valid()) SeekToLast();
    const Slice target = record != nullptr ? rocksdb::GetLengthPrefixedSlice(record) : internal_key;
    // Others may insert something in between.
    while (Valid() && order_(key(), target) > 0) Prev();
  }
  void SeekToFirst() override { place_.SeekToFirst(); }
  void SeekToLast() override { place_.SeekToLast(); }

  // With paranoid_memory_checks or memtable_verify_per_key_checksum_on_seek. Nodes are not looked
  // at again: what is compared is the entry with the one before, or with what was looked for.
  Status NextAndValidate(bool allow_data_in_errors) override {
    const char* const before = key();
    Next();
    return !Valid() ? Status::OK() : CheckOrder(before, key(), allow_data_in_errors);
  }
  Status PrevAndValidate(bool allow_data_in_errors) override {
    const char* const behind = key();
    Prev();
    return !Valid() ? Status::OK() : CheckOrder(key(), behind, allow_data_in_errors);
  }
  Status SeekAndValidate(const Slice& internal_key, const char* record, bool allow_data_in_errors,
                         bool detect_key_out_of_order, const Validation& validate) override {
    Seek(internal_key, record);
    if (!Valid()) return Status::OK();
    const Slice target = record != nullptr ? rocksdb::GetLengthPrefixedSlice(record) : internal_key;
    if (detect_key_out_of_order && order_(key(), target) < 0) {
      return OutOfOrder(key(), allow_data_in_errors);
    }
    return validate != nullptr ? validate(key(), allow_data_in_errors) : Status::OK();
  }

 private:
  Status CheckOrder(const char* before, const char* behind, bool allow_data_in_errors) const {
    return order_(before, behind) < 0 ? Status::OK() : OutOfOrder(behind, allow_data_in_errors);
  }
  Status OutOfOrder(const char* record, bool allow_data_in_errors) const {
    std::string text = "keys of a memtable are out of order";
    if (allow_data_in_errors) {
      text += " at " + rocksdb::GetLengthPrefixedSlice(record).ToString(/*hex=*/true);
    }
    return Status::Corruption(text);
  }

  const rocksdb::MemTableRep::KeyComparator& order_;
  VersionTree::Iterator place_;
};

class MemtableTree final : public rocksdb::MemTableRep {
 public:
  MemtableTree(KeyOrder order, const KeyComparator& comparator, rocksdb::Allocator* allocator)
      : MemTableRep(allocator),
        comparator_(comparator),
        memory_(allocator),
        tree_(order, &memory_) {}

  rocksdb::KeyHandle Allocate(size_t bytes, char** record) override {
    *record = memory_.Allocate(bytes);
    return *record;
  }

  void Insert(rocksdb::KeyHandle record) override { InsertKey(record); }
  bool InsertKey(rocksdb::KeyHandle record) override {
    return tree_.Insert(static_cast<const char*>(record));
  }
  bool InsertKeyWithHint(rocksdb::KeyHandle record, void** /*hint*/) override {
    return InsertKey(record);
  }
  void InsertConcurrently(rocksdb::KeyHandle record) override { InsertKey(record); }
  bool InsertKeyConcurrently(rocksdb::KeyHandle record) override { return InsertKey(record); }
  bool InsertKeyWithHintConcurrently(rocksdb::KeyHandle record, void** /*hint*/) override {
    return InsertKey(record);
  }

  bool Contains(const char* record) const override {
    const VersionTree::Entry target = VersionTree::ParseRecord(record);
    VersionTree::Iterator place(tree_);
    place.Seek(target);
    if (!place.Valid()) return false;
    const VersionTree::Entry found = VersionTree::ParseRecord(place.record());
    return found.key == target.key && found.version == target.version;
  }

  void Get(const rocksdb::LookupKey& key, void* argument,
           bool (*callback)(void* argument, const char* record)) override {
    VersionTree::Iterator place(tree_);
    for (place.Seek(VersionTree::ParseInternalKey(key.internal_key().ToStringView()));
         place.Valid() && callback(argument, place.record()); place.Next()) {
    }
  }
  Status GetAndValidate(const rocksdb::LookupKey& key, void* argument,
                        bool (*callback)(void* argument, const char* record),
                        bool allow_data_in_errors, bool detect_key_out_of_order,
                        const Validation& validate) override {
    TreeIterator place(tree_, comparator_);
    Status status = place.SeekAndValidate(key.internal_key(), nullptr, allow_data_in_errors,
                                          detect_key_out_of_order, validate);
    for (; status.ok() && place.Valid() && callback(argument, place.key());
         status = place.NextAndValidate(allow_data_in_errors)) {
    }
    return status;
  }

  // Keys rather than entries: rows are what the optimizer wants to know, and what would be left of
  // them in a file.
  uint64_t ApproximateNumEntries(const Slice& begin, const Slice& end) override {
    return tree_.EstimateKeys(VersionTree::ParseInternalKey(begin.ToStringView()).key,
                              VersionTree::ParseInternalKey(end.ToStringView()).key);
  }
  // Each entry is as likely to be taken as any other; RocksDB asks for it where it may spare itself
  // a flush (experimental_mempurge_threshold).
  void UniqueRandomSample(uint64_t entries, uint64_t wanted,
                          std::unordered_set<const char*>* sample) override {
    sample->clear();
    VersionTree::Iterator place(tree_);
    rocksdb::Random64 random(entries);
    uint64_t left = entries;
    for (place.SeekToFirst(); place.Valid() && left > 0 && sample->size() < wanted; place.Next()) {
      if (random.Uniform(left) < wanted - sample->size()) sample->insert(place.record());
      --left;
    }
  }

  // All of it is the allocator's.
  size_t ApproximateMemoryUsage() override { return 0; }

  Iterator* GetIterator(rocksdb::Arena* arena) override {
    void* const place = arena != nullptr ? arena->AllocateAligned(sizeof(TreeIterator)) :
                                         operator new(sizeof(TreeIterator));
    return new (place) TreeIterator(tree_, comparator_);
  }

 private:
  const KeyComparator& comparator_;
  MemtableMemory memory_;
  VersionTree tree_;
};

// RocksDB's own for what is in no order of ours.
class MemtableTreeFactory final : public rocksdb::SkipListFactory {
 public:
  using rocksdb::SkipListFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& comparator,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform* prefix,
                                          rocksdb::Logger* log) override {
    const std::optional<KeyOrder> order =
        OrderOf(*static_cast<const rocksdb::MemTable::KeyComparator&>(comparator)
                     .comparator.user_comparator());
    if (!order.has_value()) {
      return SkipListFactory::CreateMemTableRep(comparator, allocator, prefix, log);
    }
    return new MemtableTree(*order, comparator, allocator);
  }
};

}  // namespace

void UseMemtableTrees(rocksdb::ColumnFamilyOptions* options) {
  options->memtable_factory = std::make_shared<MemtableTreeFactory>();
}

bool MakesTrees(const rocksdb::MemTableRepFactory& factory) {
  return typeid(factory) == typeid(MemtableTreeFactory);
}

}  // namespace cairn::lsm
