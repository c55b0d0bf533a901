// What RocksDB itself reads from a write-ahead log and writes into a manifest, to compare with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace cairn::testing {

struct LogContent {
  std::vector<std::string> records;
  std::vector<std::string> reports;  // Of damage.
};

LogContent ReadLog(rocksdb::Env* env, const std::string& path, uint64_t number,
                   rocksdb::WALRecoveryMode mode);

// What a record of a manifest changes.
struct FamilyEdit {
  uint32_t family = 0;
  bool drops_family = false;  // And nothing else.
  std::optional<uint64_t> oldest_needed_log;
  std::optional<uint64_t> oldest_log_of_all;
  std::vector<uint64_t> added_files;  // By number.
  std::vector<uint64_t> removed_files;
};

std::string ManifestRecord(const FamilyEdit& edit);

}  // namespace cairn::testing
