#include "engine/store/option_text.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"

namespace cairn {
namespace {

using OptionMap = std::unordered_map<std::string, std::string>;

constexpr std::string_view kTableFactory = "block_based_table_factory";
// Options that RocksDB reads but leaves out when it writes options down.
constexpr std::string_view kNotDescribed[] = {kTableFactory, "compression_per_level"};

// Names of values that RocksDB had when the stock plug-in was made, and what they are called now.
// What is written with Zstandard has been final for long.
constexpr std::pair<std::string_view, std::string_view> kRenamedValues[] = {
    {"kZSTDNotFinalCompression", "kZSTD"}};

std::string WithNamesOfToday(std::string_view text) {
  std::string renamed(text);
  for (const auto& [old_name, new_name] : kRenamedValues) {
    for (size_t at = 0; (at = renamed.find(old_name, at)) != std::string::npos;) {
      renamed.replace(at, old_name.size(), new_name);
    }
  }
  return renamed;
}

// The least number of letters to insert, remove or replace.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// Names and values of all options, as RocksDB writes them down.
OptionMap Describe(const rocksdb::ColumnFamilyOptions& options) {
  std::string text;
  OptionMap map;
  const bool described =
      rocksdb::GetStringFromColumnFamilyOptions(rocksdb::ConfigOptions(), options, &text).ok() &&
      rocksdb::StringToMap(text, &map).ok();
  if (!described) map.clear();
  return map;
}

OptionMap Describe(const rocksdb::TableFactory* factory) {
  std::string text;
  OptionMap map;
  const bool described = factory != nullptr &&
                         factory->GetOptionString(rocksdb::ConfigOptions(), &text).ok() &&
                         rocksdb::StringToMap(text, &map).ok();
  if (!described) map.clear();
  return map;
}

Status Unknown(const std::string& name, const OptionMap& known) {
  std::string nearest;
  size_t least = SIZE_MAX;
  for (const auto& [candidate, value] : known) {
    const size_t distance = Distance(name, candidate);
    if (distance > least || (distance == least && candidate > nearest)) continue;
    least = distance;
    nearest = candidate;
  }
  // The name first: it is what people look for.
  std::string text = (name.size() > 80 ? Quote(name) : name) + ": RocksDB has no such option";
  if (!nearest.empty()) text += "; the nearest is " + nearest;
  return Status(StatusCode::kInvalidArgument, std::move(text));
}

// Whether a value is a whole number below 0, with or without a unit.
bool IsNegative(std::string_view value) {
  if (value.size() < 2 || value[0] != '-') return false;
  value.remove_prefix(1);
  if (std::string_view("kKmMgGtT").find(value.back()) != std::string_view::npos) {
    value.remove_suffix(1);
  }
  return !value.empty() &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// RocksDB reads a negative number for an unsigned option as one close to 2^64.
Status CheckSign(const std::string& name, const std::string& value, const OptionMap& result) {
  const auto taken = result.find(name);
  if (!IsNegative(value) || taken == result.end() || taken->second.starts_with('-')) {
    return Status();
  }
  return Status(StatusCode::kInvalidArgument, name + "=" + value + ": must not be negative");
}

// With that option RocksDB's own iterators write down deletions of ranges that they have found row
// by row. Compactions then forget the rows' own, and reads here look for no deletions of ranges.
Status CheckRangeConversion(const rocksdb::ColumnFamilyOptions& options) {
  if (options.min_tombstones_for_range_conversion == 0) return Status();
  return Status(StatusCode::kInvalidArgument,
                "min_tombstones_for_range_conversion: must be 0, as deleted rows would come back");
}

Status CheckTableOptions(const std::string& text, const rocksdb::TableFactory* factory) {
  OptionMap options;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(rocksdb::StringToMap(text, &options)).WithContext(std::string(kTableFactory)));
  const OptionMap known = Describe(factory);
  for (const auto& [name, value] : std::map(options.begin(), options.end())) {
    const Status checked =
        known.contains(name) ? CheckSign(name, value, known) : Unknown(name, known);
    if (!checked.ok()) return checked.WithContext(std::string(kTableFactory));
  }
  return Status();
}

// RocksDB's status is the same for a bad name and a bad value; its text is not.
bool IsUnknown(const rocksdb::Status& refused) {
  const std::string text = refused.ToString();
  return text.find("Could not find option") != std::string::npos ||
         text.find("Unrecognized option") != std::string::npos ||
         text.find("Extra option not recognized") != std::string::npos;
}

// Why RocksDB refuses an option.
Status Explain(const std::string& name, const std::string& value, const rocksdb::Status& refused,
               const rocksdb::ColumnFamilyOptions& base) {
  if (name == kTableFactory) {
    CAIRN_RETURN_IF_ERROR(CheckTableOptions(value, base.table_factory.get()));
  } else if (IsUnknown(refused)) {
    OptionMap known = Describe(base);
    for (const std::string_view other : kNotDescribed) known.emplace(other, "");
    return Unknown(name, known);
  }
  return Status(StatusCode::kInvalidArgument,
                name + "=" + value.substr(0, 80) + ": " + refused.ToString());
}

}  // namespace

std::string Quote(std::string_view text) {
  constexpr size_t kShown = 80;
  const bool cut = text.size() > kShown;
  return "\"" + std::string(text.substr(0, kShown)) + (cut ? "...\"" : "\"");
}

Result<rocksdb::ColumnFamilyOptions> ApplyOptionText(const rocksdb::ColumnFamilyOptions& base,
                                                     std::string_view text) {
  OptionMap map;
  const Status split = FromRocksDb(rocksdb::StringToMap(WithNamesOfToday(text), &map));
  if (!split.ok()) return split.WithContext(Quote(text));
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  rocksdb::ColumnFamilyOptions options = base;
  // One by one, so that an error is about one; in an order of its own, so that it is always the
  // same one.
  for (const auto& [name, value] : std::map(map.begin(), map.end())) {
    rocksdb::ColumnFamilyOptions next;
    const rocksdb::Status applied =
        rocksdb::GetColumnFamilyOptionsFromMap(config, options, {{name, value}}, &next);
    if (!applied.ok()) return Explain(name, value, applied, options);
    if (name == kTableFactory) {
      CAIRN_RETURN_IF_ERROR(CheckTableOptions(value, next.table_factory.get()));
    } else if (IsNegative(value)) {
      CAIRN_RETURN_IF_ERROR(CheckSign(name, value, Describe(next)));
    }
    CAIRN_RETURN_IF_ERROR(CheckRangeConversion(next));
    options = std::move(next);
  }
  return options;
}

}  // namespace cairn
