// Parents of foreign keys that a transaction knows to be there, so that it need not look again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace cairn {

// Values that have been looked for, found and kept (by a lock on the value, or because the
// transaction has written the parent): a cache of fixed size in which a value displaces another.
// Whatever may take a parent away again, and is done by the transaction itself, calls Forget().
// Used by one thread at a time.
class FoundParents {
 public:
  // `value` identifies it within the foreign key `number`: equal bytes, equal value. `generation`
  // is the one of the definitions by which it was found (ForeignKeys::generation()): what was found
  // by other ones is forgotten.
  bool Has(uint32_t number, std::string_view value, uint64_t generation) const;
  void Add(uint32_t number, std::string_view value, uint64_t generation);
  void Forget() { ++round_; }

  // The transaction has written rows of a table that is a parent, whose primary key has this index
  // number: perhaps the one that is looked for.
  void NoteWritten(uint32_t index_number);
  bool HasWritten(uint32_t index_number) const;

  // The transaction is over.
  void Clear() {
    Forget();
    written_.clear();
  }

 private:
  struct Entry {
    static constexpr size_t kMostBytes = 51;  // Longer values are not kept.

    uint64_t round = 0;  // Those of other rounds are forgotten.
    uint32_t number = 0;
    uint8_t bytes = 0;
    std::array<char, kMostBytes> value;

    bool Holds(uint32_t of, std::string_view wanted) const;
  };
  static constexpr size_t kEntries = 256;
  using Entries = std::array<Entry, kEntries>;

  static size_t PlaceOf(uint32_t number, std::string_view value);

  std::unique_ptr<Entries> entries_;  // Null until there is a first one.
  uint64_t round_ = 1;
  uint64_t generation_ = 0;
  std::vector<uint32_t> written_;
};

}  // namespace cairn
