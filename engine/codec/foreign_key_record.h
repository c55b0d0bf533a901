// The dictionary's record of a foreign key (docs/on-disk-format.md, Foreign keys).
//
// A foreign key names its tables and columns; it names no index numbers, because either table may
// be copied, emptied, dropped and made anew while the foreign key stays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace cairn {

// What a change of the parent's row does to its children. Persisted.
enum class ForeignKeyAction : uint8_t {
  kRestrict = 0,
  kNoAction = 1,  // The same as kRestrict, but shown by its name.
  kCascade = 2,
  kSetNull = 3,
};

// Whether it changes the children, rather than keep the parent.
inline bool ActsOn(ForeignKeyAction action) {
  return action == ForeignKeyAction::kCascade || action == ForeignKeyAction::kSetNull;
}

// Persisted. All but kActive are intents: they belong to the table `child`, which an ALTER TABLE
// has made as a copy or has put aside. They are carried out when it comes to a name of the user's,
// and vanish with it.
enum class ForeignKeyState : uint8_t {
  kActive = 0,
  kToAdd = 1,     // The table will have it.
  kToDrop = 2,    // The table will not have the foreign key of the number `other`.
  kReplaces = 3,  // A copy: it takes over the foreign keys that name `parent`.
  kPutAside = 4,  // It had the name `parent`, and may come back to take over what names that.
};

// Whether the table of the record has a claim to the foreign keys of another name.
constexpr bool IsClaim(ForeignKeyState state) {
  return state == ForeignKeyState::kReplaces || state == ForeignKeyState::kPutAside;
}

struct ForeignKeyRecord {
  struct ColumnPair {
    std::string child;
    std::string parent;
    bool operator==(const ColumnPair&) const = default;
  };

  ForeignKeyState state = ForeignKeyState::kActive;
  ForeignKeyAction on_delete = ForeignKeyAction::kRestrict;
  ForeignKeyAction on_update = ForeignKeyAction::kRestrict;
  bool name_is_generated = false;     // The statement named none.
  uint32_t other = 0;                 // kToDrop: the number of a foreign key; else 0.
  std::string name{};                 // Without its database; UTF-8; empty where no columns are.
  std::string child{};                // "db.table" of the dictionary, file-name encoded.
  std::string parent{};               // The same; empty for kToDrop.
  std::vector<ColumnPair> columns{};  // UTF-8; none for kToDrop and claims.

  // kActive or kToAdd: there are columns.
  bool is_constraint() const {
    return state == ForeignKeyState::kActive || state == ForeignKeyState::kToAdd;
  }
  bool operator==(const ForeignKeyRecord&) const = default;
};

// Of the largest key that the server makes.
inline constexpr size_t kMostForeignKeyColumns = 32;

// `number` comes from the counter of index numbers and is never used twice.
std::string ForeignKeyKey(uint32_t number);
// Errors: kCorruption.
Result<uint32_t> DecodeForeignKeyKey(std::string_view key);

std::string EncodeForeignKey(const ForeignKeyRecord& record);

// Errors: kNotSupported (another version of the record), kCorruption (anything else that
// EncodeForeignKey does not write, or of which no sense can be made), with what was found.
Result<ForeignKeyRecord> DecodeForeignKey(std::string_view value);

// The child and the parent of a record that DecodeForeignKey refuses although it has its checksum
// and all its parts; the parent may be empty. Errors: kCorruption, kNotSupported: what names it has
// cannot be told.
struct ForeignKeyTables {
  std::string child;
  std::string parent;
};
Result<ForeignKeyTables> TablesOfDamagedForeignKey(std::string_view value);

}  // namespace cairn
