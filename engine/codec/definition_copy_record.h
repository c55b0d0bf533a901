// The dictionary's records of the files by which the server knows a table (docs/on-disk-format.md,
// Copies of definitions).
//
// Two records for each table: a large one has the files as they are, a small one says which
// entries of the dictionary they describe. So a change of these entries, such as one more
// partition, does not write the files again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace cairn {

// Type 0x47.
struct DefinitionMark {
  std::string version;   // The server's name of this state of the definition: at most 255 bytes.
  uint64_t entries = 0;  // The sum of the digests of the table's entries (DigestOfEntry()).
  bool operator==(const DefinitionMark&) const = default;
};

// Type 0x48.
struct DefinitionCopy {
  std::string version;     // That of the mark.
  std::string definition;  // The server's .frm file; not empty.
  std::string partitions;  // Its .par file; empty: the table has no partitions.
  bool operator==(const DefinitionCopy&) const = default;
};

// `table` is "db.table", file-name encoded and without partition.
std::string DefinitionMarkKey(std::string_view table);
std::string DefinitionCopyKey(std::string_view table);
Result<std::string> DecodeDefinitionMarkKey(std::string_view key);  // kCorruption

std::string EncodeDefinitionMark(const DefinitionMark& mark);
std::string EncodeDefinitionCopy(const DefinitionCopy& copy);
// Errors: kNotSupported (a version that is not known), kCorruption (a checksum or length is wrong).
Result<DefinitionMark> DecodeDefinitionMark(std::string_view value);
Result<DefinitionCopy> DecodeDefinitionCopy(std::string_view value);

}  // namespace cairn
