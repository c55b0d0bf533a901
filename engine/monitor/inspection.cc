#include "engine/monitor/inspection.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/compaction_filter.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

namespace cairn {
namespace {

template <typename T>
std::string NameOf(const T& object) {
  return object == nullptr ? "NULL" : object->Name();
}

std::string Switch(bool on) { return on ? "ON" : "OFF"; }

std::string Number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Compression(rocksdb::CompressionType type) {
  std::string name;
  return rocksdb::GetStringFromCompressionType(&name, type).ok() ? name : "NULL";
}

template <typename List, typename ToText>
std::string Join(const List& list, ToText to_text) {
  std::string text;
  for (const auto& element : list) {
    if (!text.empty()) text.push_back(':');
    text += to_text(element);
  }
  return text.empty() ? "NULL" : text;
}

std::string CompactionStyle(rocksdb::CompactionStyle style) {
  switch (style) {
    case rocksdb::kCompactionStyleLevel:
      return "kCompactionStyleLevel";
    case rocksdb::kCompactionStyleUniversal:
      return "kCompactionStyleUniversal";
    case rocksdb::kCompactionStyleFIFO:
      return "kCompactionStyleFIFO";
    case rocksdb::kCompactionStyleNone:
      return "kCompactionStyleNone";
  }
  return "NULL";
}

std::string Universal(const rocksdb::CompactionOptionsUniversal& options) {
  return "{SIZE_RATIO=" + std::to_string(options.size_ratio) +
         "; MIN_MERGE_WIDTH=" + std::to_string(options.min_merge_width) +
         "; MAX_MERGE_WIDTH=" + std::to_string(options.max_merge_width) +
         "; MAX_SIZE_AMPLIFICATION_PERCENT=" +
         std::to_string(options.max_size_amplification_percent) +
         "; COMPRESSION_SIZE_PERCENT=" + std::to_string(options.compression_size_percent) +
         "; STOP_STYLE=" +
         (options.stop_style == rocksdb::kCompactionStopStyleSimilarSize
              ? "kCompactionStopStyleSimilarSize"
              : "kCompactionStopStyleTotalSize") +
         "}";
}

// The table format prints its options as lines "  name: value".
void AppendTableOptions(const rocksdb::TableFactory& factory,
                        std::vector<std::pair<std::string, std::string>>* rows) {
  const std::string printable = factory.GetPrintableOptions();
  std::string_view text = printable;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    const size_t begin = line.find_first_not_of(' ');
    if (colon == std::string_view::npos || begin >= colon) continue;
    std::string name = "TABLE_FACTORY::" + std::string(line.substr(begin, colon - begin));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const size_t value = line.find_first_not_of(' ', colon + 1);
    rows->emplace_back(std::move(name), value == std::string_view::npos
                                            ? std::string()
                                            : std::string(line.substr(value)));
  }
}

}  // namespace

Result<std::vector<DataFile>> ListDataFiles(const Database& database) {
  std::vector<DataFile> files;
  for (const ColumnFamily* family : database.families().All()) {
    rocksdb::TablePropertiesCollection properties;
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(database.rocksdb()->GetPropertiesOfAllTables(family->handle, &properties)));
    for (auto& [path, file_properties] : properties) {
      files.push_back({path.substr(path.rfind('/') + 1), family->id, file_properties});
    }
  }
  return files;
}

std::vector<std::pair<std::string, std::string>> DescribeFamilyOptions(const Database& database,
                                                                       const ColumnFamily& family) {
  const rocksdb::Options options = database.rocksdb()->GetOptions(family.handle);
  // Options that RocksDB no longer has are not listed.
  std::vector<std::pair<std::string, std::string>> rows = {
      {"COMPARATOR", NameOf(options.comparator)},
      {"MERGE_OPERATOR", NameOf(options.merge_operator)},
      {"COMPACTION_FILTER", NameOf(options.compaction_filter)},
      {"COMPACTION_FILTER_FACTORY", NameOf(options.compaction_filter_factory)},
      {"WRITE_BUFFER_SIZE", std::to_string(options.write_buffer_size)},
      {"MAX_WRITE_BUFFER_NUMBER", std::to_string(options.max_write_buffer_number)},
      {"MIN_WRITE_BUFFER_NUMBER_TO_MERGE",
       std::to_string(options.min_write_buffer_number_to_merge)},
      {"NUM_LEVELS", std::to_string(options.num_levels)},
      {"LEVEL0_FILE_NUM_COMPACTION_TRIGGER",
       std::to_string(options.level0_file_num_compaction_trigger)},
      {"LEVEL0_SLOWDOWN_WRITES_TRIGGER", std::to_string(options.level0_slowdown_writes_trigger)},
      {"LEVEL0_STOP_WRITES_TRIGGER", std::to_string(options.level0_stop_writes_trigger)},
      {"TARGET_FILE_SIZE_BASE", std::to_string(options.target_file_size_base)},
      {"TARGET_FILE_SIZE_MULTIPLIER", std::to_string(options.target_file_size_multiplier)},
      {"MAX_BYTES_FOR_LEVEL_BASE", std::to_string(options.max_bytes_for_level_base)},
      {"LEVEL_COMPACTION_DYNAMIC_LEVEL_BYTES",
       Switch(options.level_compaction_dynamic_level_bytes)},
      {"MAX_BYTES_FOR_LEVEL_MULTIPLIER", std::to_string(options.max_bytes_for_level_multiplier)},
      {"ARENA_BLOCK_SIZE", std::to_string(options.arena_block_size)},
      {"DISABLE_AUTO_COMPACTIONS", Switch(options.disable_auto_compactions)},
      {"MAX_SEQUENTIAL_SKIP_IN_ITERATIONS",
       std::to_string(options.max_sequential_skip_in_iterations)},
      {"MEMTABLE_FACTORY", NameOf(options.memtable_factory)},
      {"INPLACE_UPDATE_SUPPORT", Switch(options.inplace_update_support)},
      {"INPLACE_UPDATE_NUM_LOCKS", std::to_string(options.inplace_update_num_locks)},
      {"MEMTABLE_PREFIX_BLOOM_BITS_RATIO", Number(options.memtable_prefix_bloom_size_ratio)},
      {"MEMTABLE_PREFIX_BLOOM_HUGE_PAGE_TLB_SIZE", std::to_string(options.memtable_huge_page_size)},
      {"BLOOM_LOCALITY", std::to_string(options.bloom_locality)},
      {"MAX_SUCCESSIVE_MERGES", std::to_string(options.max_successive_merges)},
      {"OPTIMIZE_FILTERS_FOR_HITS", Switch(options.optimize_filters_for_hits)},
      {"MAX_BYTES_FOR_LEVEL_MULTIPLIER_ADDITIONAL",
       Join(options.max_bytes_for_level_multiplier_additional,
            [](int multiplier) { return std::to_string(multiplier); })},
      {"COMPRESSION_TYPE", Compression(options.compression)},
      {"COMPRESSION_PER_LEVEL", Join(options.compression_per_level, Compression)},
      {"COMPRESSION_OPTS", std::to_string(options.compression_opts.window_bits) + ":" +
                               std::to_string(options.compression_opts.level) + ":" +
                               std::to_string(options.compression_opts.strategy)},
      {"BOTTOMMOST_COMPRESSION", Compression(options.bottommost_compression)},
      {"PREFIX_EXTRACTOR",
       options.prefix_extractor == nullptr ? "NULL" : options.prefix_extractor->GetId()},
      {"COMPACTION_STYLE", CompactionStyle(options.compaction_style)},
      {"COMPACTION_OPTIONS_UNIVERSAL", Universal(options.compaction_options_universal)},
      {"COMPACTION_OPTION_FIFO::MAX_TABLE_FILES_SIZE",
       std::to_string(options.compaction_options_fifo.max_table_files_size)},
  };
  if (options.table_factory != nullptr) AppendTableOptions(*options.table_factory, &rows);
  return rows;
}

}  // namespace cairn
