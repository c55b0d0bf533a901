// Columns by position in TableLayout::columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

// Sets are compared by each statement, a word of 64 columns at a time.
class ColumnSet {
 public:
  // One position, as it can be assigned to.
  class Reference {
   public:
    Reference& operator=(bool is_in) {
      *word_ = is_in ? *word_ | mask_ : *word_ & ~mask_;
      return *this;
    }
    Reference& operator=(const Reference& other) {
      if (this == &other) return *this;
      return *this = static_cast<bool>(other);
    }
    operator bool() const { return (*word_ & mask_) != 0; }  // NOLINT: reads like the set.

   private:
    friend class ColumnSet;
    Reference(uint64_t* word, uint64_t mask) : word_(word), mask_(mask) {}

    uint64_t* word_;
    uint64_t mask_;
  };

  ColumnSet() = default;
  // None of `size` columns, or all.
  explicit ColumnSet(size_t size, bool all = false) { assign(size, all); }

  void assign(size_t size, bool all) {
    size_ = size;
    words_.assign((size + kWordBits - 1) / kWordBits, all ? ~uint64_t{0} : 0);
    // Behind the last column there is nothing, so that words can be compared.
    if (all && size % kWordBits != 0) words_.back() >>= kWordBits - size % kWordBits;
  }

  size_t size() const { return size_; }
  // `column` < size().
  bool operator[](size_t column) const { return (words_[column / kWordBits] & Mask(column)) != 0; }
  Reference operator[](size_t column) { return {&words_[column / kWordBits], Mask(column)}; }

  bool operator==(const ColumnSet&) const = default;

 private:
  static constexpr size_t kWordBits = 64;
  static uint64_t Mask(size_t column) { return uint64_t{1} << (column % kWordBits); }

  size_t size_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace cairn
