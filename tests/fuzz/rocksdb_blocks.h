// Blocks as RocksDB itself writes and reads them, to compare with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/lsm/key_order.h"

namespace cairn::testing {

// Keys with their footers, and values.
using BlockEntries = std::vector<std::pair<std::string, std::string>>;

struct DataBlockLayout {
  int restart_interval = 1;
  bool shares_prefixes = true;
  bool has_hash_index = false;
  bool separates_values = false;
};

std::string BuildDataBlock(const BlockEntries& entries, const DataBlockLayout& layout);

struct IndexPlace {
  std::string key;  // Where keys have versions, with its footer.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct IndexBlockLayout {
  int restart_interval = 1;
  bool keys_have_versions = true;
  bool values_have_sizes = true;
  bool marks_uniform_keys = false;
};

// What lies between two blocks of a file.
inline constexpr uint64_t kBetweenBlocks = 5;

// Without sizes, each block begins kBetweenBlocks behind the one before.
std::string BuildIndexBlock(const std::vector<IndexPlace>& places, const IndexBlockLayout& layout);

// A data block; `bytes` outlive it.
class ReadDataBlock {
 public:
  // With `file_sequence` all entries have that number instead of their own.
  ReadDataBlock(std::string_view bytes, lsm::KeyOrder order, const uint64_t* file_sequence);
  ~ReadDataBlock();
  ReadDataBlock(const ReadDataBlock&) = delete;
  ReadDataBlock& operator=(const ReadDataBlock&) = delete;

  const BlockEntries& entries() const { return entries_; }
  // The number of the first entry that is not before a key with that footer; that of entries when
  // there is none.
  size_t Seek(std::string_view key_with_footer);

 private:
  struct Iterator;
  std::unique_ptr<Iterator> iterator_;
  BlockEntries entries_;
};

// Where RocksDB looks for a key with that footer: null, behind all blocks.
std::unique_ptr<IndexPlace> SeekInIndex(std::string_view bytes, lsm::KeyOrder order,
                                        const IndexBlockLayout& layout,
                                        std::string_view key_with_footer);

}  // namespace cairn::testing
