#include "engine/store/column_family_options.h"

#include <utility>
#include <vector>

#include "engine/store/auto_increment_merge.h"
#include "engine/store/comparator.h"
#include "engine/store/option_text.h"

namespace cairn {

Result<std::vector<std::pair<std::string, std::string>>> SplitFamilyOptions(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> families;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  size_t at = 0;
  while (true) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at == text.size()) return families;
    if (!families.empty()) {
      if (text[at] != ';') {
        return Status(StatusCode::kInvalidArgument, "expected ; between column families at \"" +
                                                        std::string(text.substr(at)) + "\"");
      }
      ++at;
      while (at < text.size() && is_blank(text[at])) ++at;
      if (at == text.size()) return families;
    }
    const size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) {
      return Status(StatusCode::kInvalidArgument, "expected <column family>={<options>} at \"" +
                                                      std::string(text.substr(at)) + "\"");
    }
    std::string name(text.substr(at, equals - at));
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.pop_back();
    if (name.find_first_of(";{}") != std::string::npos) {
      return Status(StatusCode::kInvalidArgument,
                    "\"" + name + "\" stands where the name of a column family is expected");
    }
    at = equals + 1;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (name.empty() || at == text.size() || text[at] != '{') {
      return Status(StatusCode::kInvalidArgument,
                    "expected {<options>} after the column family \"" + name + "\"");
    }
    const size_t begin = ++at;
    for (int depth = 1; depth > 0; ++at) {
      if (at == text.size()) {
        return Status(StatusCode::kInvalidArgument,
                      "the options of the column family \"" + name + "\" lack their closing brace");
      }
      if (text[at] == '{') ++depth;
      if (text[at] == '}') --depth;
    }
    for (const auto& family : families) {
      if (family.first == name) {
        return Status(StatusCode::kInvalidArgument,
                      "the column family \"" + name + "\" stands twice");
      }
    }
    families.emplace_back(std::move(name), std::string(text.substr(begin, at - 1 - begin)));
  }
}

Result<ColumnFamilyOptionSource> ColumnFamilyOptionSource::Parse(
    rocksdb::ColumnFamilyOptions base, std::string_view default_text,
    std::string_view override_text,
    std::shared_ptr<rocksdb::CompactionFilterFactory> filter_factory) {
  ColumnFamilyOptionSource source;
  Result<rocksdb::ColumnFamilyOptions> defaults = ApplyOptionText(base, default_text);
  if (!defaults.ok()) return defaults.status().WithContext("rocksdb_default_cf_options");
  source.default_options_ = std::move(defaults).value();

  auto families = SplitFamilyOptions(override_text);
  if (!families.ok()) return families.status().WithContext("rocksdb_override_cf_options");
  for (auto& [name, text] : *families) {
    Result<rocksdb::ColumnFamilyOptions> options = ApplyOptionText(source.default_options_, text);
    if (!options.ok()) {
      return options.status().WithContext("rocksdb_override_cf_options, column family \"" + name +
                                          "\"");
    }
    source.overrides_.emplace(name, std::move(options).value());
  }
  source.collector_factories_ = base.table_properties_collector_factories;
  source.filter_factory_ = std::move(filter_factory);
  return source;
}

rocksdb::ColumnFamilyOptions ColumnFamilyOptionSource::For(std::string_view name) const {
  const auto found = overrides_.find(name);
  rocksdb::ColumnFamilyOptions options =
      found == overrides_.end() ? default_options_ : found->second;
  options.comparator = IsReverseColumnFamily(name) ? ReverseComparator() : ForwardComparator();
  options.merge_operator = name == kSystemColumnFamily ? MakeAutoIncrementMerge() : nullptr;
  options.compaction_filter_factory = filter_factory_;
  options.table_properties_collector_factories = collector_factories_;
  return options;
}

}  // namespace cairn
