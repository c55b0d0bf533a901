// Table files that a compaction could not read, and what keeps them from stopping all writes.
//
// RocksDB takes damage that a compaction meets for a reason to refuse every write to every table
// until a restart. But such a compaction changes nothing: its files stay as they are, and RocksDB
// tries it again a second later, while others go on. So exactly this is taken back: damage, or a
// file that is missing, met by a compaction or by the opening of files in the background. Errors of
// flushes, of the log and of the MANIFEST stop writes as ever.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/log.h"
#include "rocksdb/listener.h"
#include "rocksdb/status.h"

namespace cairn {

struct DamagedFile {
  std::string name;  // "000024.sst"; empty when RocksDB does not say which.
  std::string text;  // What RocksDB says: what is wrong, and where in the file.
  int64_t found_us = 0;
  uint64_t attempts = 0;  // Of compactions to read it.
};

// Thread-safe; mutex_ guards files_.
class DamagedFiles {
 public:
  // True when the file was not known before.
  bool Note(const std::string& text, int64_t now_us);
  void Forget(std::string_view name);
  // What is there, the first found first.
  std::vector<DamagedFile> List() const;
  size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, DamagedFile, std::less<>> files_;
};

// The name of the table file that a text of RocksDB's mentions; empty when it mentions none.
std::string TableFileIn(std::string_view text);

// Goes before every other listener: it turns the errors that are no reason to stop writes into Ok.
// `log` is told once of each file.
std::shared_ptr<rocksdb::EventListener> MakeDamageListener(std::shared_ptr<DamagedFiles> files,
                                                           std::function<int64_t()> now_us,
                                                           Log* log);

}  // namespace cairn
