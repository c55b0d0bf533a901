#include "engine/store/column_family_options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/lsm/block_prefetch.h"
#include "engine/lsm/comparator.h"
#include "engine/lsm/mapped_memtables.h"
#include "engine/lsm/memtable_tree.h"
#include "engine/sst/auto_increment_merge.h"
#include "engine/store/option_text.h"

namespace cairn {

namespace {

Status Invalid(std::string text) { return Status(StatusCode::kInvalidArgument, std::move(text)); }

void SkipBlanks(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(" \t\n"), text->size()));
}

// Takes "name={" off the front.
Result<std::string> ConsumeName(std::string_view* text) {
  const size_t equals = text->find('=');
  if (equals == std::string_view::npos) {
    return Invalid("Invalid cf options, '=' expected: expected <column family>={<options>} at " +
                   Quote(*text));
  }
  std::string name(text->substr(0, equals));
  while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.pop_back();
  if (name.find_first_of(";{}") != std::string::npos) {
    return Invalid("No column family found: the name of a column family is expected at " +
                   Quote(*text));
  }
  text->remove_prefix(equals + 1);
  SkipBlanks(text);
  if (name.empty()) {
    return Invalid("No column family found: a name is expected before = at " + Quote(*text));
  }
  if (!text->starts_with('{')) {
    return Invalid(
        "Invalid cf options, '{' expected: expected {<options>} after the column family " +
        Quote(name));
  }
  text->remove_prefix(1);
  return name;
}

// Takes the options and the brace that ends them off the front.
Result<std::string> ConsumeOptions(const std::string& name, std::string_view* text) {
  int depth = 1;
  for (size_t at = 0; at < text->size(); ++at) {
    if ((*text)[at] == '{') ++depth;
    if ((*text)[at] == '}' && --depth == 0) {
      std::string options(text->substr(0, at));
      text->remove_prefix(at + 1);
      return options;
    }
  }
  return Invalid("Mismatched cf options, '}' expected: the options of the column family " +
                 Quote(name) + " lack their closing brace");
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> SplitFamilyOptions(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> families;
  for (SkipBlanks(&text); !text.empty(); SkipBlanks(&text)) {
    CAIRN_ASSIGN_OR_RETURN(std::string name, ConsumeName(&text));
    CAIRN_ASSIGN_OR_RETURN(std::string options, ConsumeOptions(name, &text));
    for (const auto& family : families) {
      if (family.first == name) {
        return Invalid("Duplicate entry for " + Quote(name) + ": the column family stands twice");
      }
    }
    families.emplace_back(std::move(name), std::move(options));
    SkipBlanks(&text);
    if (text.empty()) break;
    if (!text.starts_with(';')) {
      return Invalid("Invalid cf options, ';' expected: expected ; between column families at " +
                     Quote(text));
    }
    text.remove_prefix(1);
  }
  return families;
}

Result<ColumnFamilyOptionSource> ColumnFamilyOptionSource::Parse(
    const rocksdb::ColumnFamilyOptions& base, std::string_view default_text,
    std::string_view override_text,
    std::shared_ptr<rocksdb::CompactionFilterFactory> filter_factory) {
  ColumnFamilyOptionSource source;
  Result<rocksdb::ColumnFamilyOptions> defaults = ApplyOptionText(base, default_text);
  if (!defaults.ok()) {
    return defaults.status().WithContext(
        "rocksdb_default_cf_options: Invalid default column family config");
  }
  source.default_options_ = std::move(defaults).value();

  auto families = SplitFamilyOptions(override_text);
  if (!families.ok()) return families.status().WithContext("rocksdb_override_cf_options");
  for (auto& [name, text] : *families) {
    Result<rocksdb::ColumnFamilyOptions> options = ApplyOptionText(source.default_options_, text);
    if (!options.ok()) {
      return options.status().WithContext("rocksdb_override_cf_options: Invalid cf config for " +
                                          Quote(name) + " in override options");
    }
    source.overrides_.emplace(name, std::move(options).value());
  }
  source.unchosen_memtables_ = base.memtable_factory;
  source.collector_factories_ = base.table_properties_collector_factories;
  source.filter_factory_ = std::move(filter_factory);
  return source;
}

rocksdb::ColumnFamilyOptions ColumnFamilyOptionSource::For(std::string_view name) const {
  const auto found = overrides_.find(name);
  rocksdb::ColumnFamilyOptions options =
      found == overrides_.end() ? default_options_ : found->second;
  options.comparator =
      lsm::IsReverseColumnFamily(name) ? lsm::ReverseComparator() : lsm::ForwardComparator();
  options.merge_operator = name == kSystemColumnFamily ? MakeAutoIncrementMerge() : nullptr;
  options.compaction_filter_factory = filter_factory_;
  options.table_properties_collector_factories = collector_factories_;
  options.table_factory = lsm::WithBlockPrefetch(options.table_factory);
  if (options.memtable_factory == unchosen_memtables_) lsm::UseMemtableTrees(&options);
  lsm::MapMemtables(&options);
  return options;
}

}  // namespace cairn
