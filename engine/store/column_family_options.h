// Options of column families: what every family gets, and what the user's option strings add.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "rocksdb/compaction_filter.h"
#include "rocksdb/options.h"
#include "rocksdb/table_properties.h"

namespace cairn {

inline constexpr std::string_view kDefaultColumnFamily = "default";
inline constexpr std::string_view kSystemColumnFamily = "__system__";

// Splits "a={x=1;y={z=2}};b={...}" into names and the texts inside the outer braces.
// Errors: kInvalidArgument, saying where.
Result<std::vector<std::pair<std::string, std::string>>> SplitFamilyOptions(std::string_view text);

// Immutable after construction, so any thread may ask.
class ColumnFamilyOptionSource {
 public:
  // `base` holds the table factory and what else the caller decided; `default_text` is a list of
  // RocksDB options for every family ("write_buffer_size=64m;compression=kLZ4Compression"),
  // `override_text` one for single families ("cf1={write_buffer_size=8m};cf2={...}"). Errors:
  // kInvalidArgument, naming the option or the family.
  static Result<ColumnFamilyOptionSource> Parse(
      const rocksdb::ColumnFamilyOptions& base, std::string_view default_text,
      std::string_view override_text,
      std::shared_ptr<rocksdb::CompactionFilterFactory> filter_factory);

  // The options of the family `name`: comparator by its name, merge operator for `__system__`.
  rocksdb::ColumnFamilyOptions For(std::string_view name) const;

 private:
  rocksdb::ColumnFamilyOptions default_options_;
  std::map<std::string, rocksdb::ColumnFamilyOptions, std::less<>> overrides_;
  std::shared_ptr<rocksdb::MemTableRepFactory>
      unchosen_memtables_;  // Of options that say nothing of them.
  std::shared_ptr<rocksdb::CompactionFilterFactory> filter_factory_;
  std::vector<std::shared_ptr<rocksdb::TablePropertiesCollectorFactory>> collector_factories_;
};

}  // namespace cairn
