#include "engine/lsm/comparator.h"

#include <string>

namespace cairn::lsm {
namespace {

class OrderedBytes final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "RocksDB_SE_v3.10"; }  // Persisted.
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return a.compare(b);
  }
  bool Equal(const rocksdb::Slice& a, const rocksdb::Slice& b) const override { return a == b; }
  void FindShortestSeparator(std::string* start, const rocksdb::Slice& limit) const override {
    rocksdb::BytewiseComparator()->FindShortestSeparator(start, limit);
  }
  void FindShortSuccessor(std::string* key) const override {
    rocksdb::BytewiseComparator()->FindShortSuccessor(key);
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return false; }
};

class ReverseOrderedBytes final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "rev:RocksDB_SE_v3.10"; }  // Persisted.
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return b.compare(a);
  }
  bool Equal(const rocksdb::Slice& a, const rocksdb::Slice& b) const override { return a == b; }
  void FindShortestSeparator(std::string* start, const rocksdb::Slice& limit) const override {
    rocksdb::ReverseBytewiseComparator()->FindShortestSeparator(start, limit);
  }
  void FindShortSuccessor(std::string* key) const override {
    rocksdb::ReverseBytewiseComparator()->FindShortSuccessor(key);
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return false; }
};

}  // namespace

bool IsReverseColumnFamily(std::string_view name) {
  return name.starts_with(kReverseColumnFamilyPrefix);
}

const rocksdb::Comparator* ForwardComparator() {
  static const OrderedBytes comparator;
  return &comparator;
}

const rocksdb::Comparator* ReverseComparator() {
  static const ReverseOrderedBytes comparator;
  return &comparator;
}

std::optional<KeyOrder> OrderOf(const rocksdb::Comparator& comparator) {
  if (&comparator == ForwardComparator()) return KeyOrder::kAscending;
  if (&comparator == ReverseComparator()) return KeyOrder::kDescending;
  return std::nullopt;
}

}  // namespace cairn::lsm
