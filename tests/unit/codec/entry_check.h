// Checks that hold for every entry of every row: what the vectors and the properties share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/codec/test_table.h"

namespace cairn::testing {

struct EntryOptions {
  uint64_t hidden_key = 1;
  uint64_t ttl_stamp = 0;
  bool checksums = false;
};

struct Entry {
  std::string key;
  std::string value;
};

// The entry of `record` in the index of `codec`.
Entry Encode(const IndexCodec& codec, const Record& record, const EntryOptions& options);

// That the entry decodes to the record (all columns it covers, each column alone, with and without
// verification), that its key splits into its parts and holds the primary key, and that search keys
// and unique prefixes made of the record lead to it.
void ExpectEntryDecodes(const TestTable& table, const IndexCodec& codec, const Entry& entry,
                        const Record& record, const EntryOptions& options);

}  // namespace cairn::testing
