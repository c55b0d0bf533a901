// How tables of accounts are altered.
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/codec/layout_history.h"
#include "engine/table/index_build.h"
#include "tests/unit/concurrency/accounts.h"

namespace cairn::testing {
namespace {

// Little enough that an index is built of several runs.
constexpr uint64_t kSortBytes = 8 << 10;

IndexBuildSettings BuildSettings(const Database& database) {
  IndexBuildSettings settings;
  settings.sort.directory = database.directory();
  settings.sort.buffer_bytes = kSortBytes;
  return settings;
}

// Rows that were written before there was a branch are of none.
AbsentImage NoBranch() {
  const int32_t branch = Account::kNoBranch;
  return {AbsentImage::Kind::kBytes,
          std::string(reinterpret_cast<const char*>(&branch), sizeof branch)};
}

}  // namespace

std::vector<NewIndex> AccountTable::MoreIndexes() const {
  std::vector<NewIndex> indexes;
  for (const uint32_t position : {kByNote, kByNumberAgain}) {
    indexes.push_back({IndexKind::kSecondary, families_[position % families_.size()]});
  }
  return indexes;
}

Result<AccountTable::Altered> AccountTable::OpenWith(const std::vector<IndexDefinition>& added,
                                                     Database* database) const {
  auto definition = std::make_shared<TableDefinition>(table_->definition());
  definition->build = nullptr;
  definition->indexes.insert(definition->indexes.end(), added.begin(), added.end());
  const TestTable& description = Description(has_branch_, /*has_more_indexes=*/true);
  CAIRN_ASSIGN_OR_RETURN(Altered altered, Table::Open(std::move(definition), description.layout(),
                                                      description.indexes()));
  Table::RegisterKeyLayouts(altered, database);
  return altered;
}

Dictionary::TableChange AccountTable::Unchanged() const {
  Dictionary::TableChange change;
  change.table_name = name_;
  for (const TableIndex& index : table_->indexes()) change.indexes.push_back(index.definition.id);
  return change;
}

Status AccountTable::Change(Dictionary* dictionary, const Dictionary::TableChange& change) {
  CAIRN_RETURN_IF_ERROR(dictionary->ChangeTables({change}));
  Reopen(*dictionary);
  return Status();
}

Status AccountTable::AddIndexesAlone(Database* database, Dictionary* dictionary) {
  const std::unique_lock rows(gate_.rows);
  Dictionary::TableChange change = Unchanged();
  CAIRN_ASSIGN_OR_RETURN(change.added, dictionary->BeginIndexes(MoreIndexes()));
  const auto build_indexes = [&]() -> Status {
    CAIRN_ASSIGN_OR_RETURN(const Altered altered, OpenWith(change.added, database));
    Record record(Description(has_branch_, /*has_more_indexes=*/true));
    IndexBuild build(database, altered.get(), {kByNote, kByNumberAgain}, BuildSettings(*database),
                     record.data(), /*virtual_columns=*/nullptr);
    CAIRN_RETURN_IF_ERROR(build.Run());
    for (IndexDefinition& index : change.added) {
      index.built_at = build.built_at();
      change.indexes.push_back(index.id);
    }
    return Status();
  };
  const Status built = build_indexes();
  if (!built.ok()) {
    dictionary->AbandonIndexes(change.added);
    return built;
  }
  const std::unique_lock definition(gate_.definition);
  return Change(dictionary, change);
}

Status AccountTable::AddIndexesBesideWriters(Database* database, Dictionary* dictionary, End end,
                                             uint64_t* merged) {
  Dictionary::TableChange change;
  Altered altered;
  {
    const std::unique_lock rows(gate_.rows);
    const std::unique_lock definition(gate_.definition);
    CAIRN_RETURN_IF_ERROR(IndexBuild::CheckNoRowsWillChange(database, *table_));
    change = Unchanged();
    const std::vector<IndexLayout>& indexes = Description(has_branch_, true).indexes();
    CAIRN_ASSIGN_OR_RETURN(
        change.build,
        dictionary->BeginBuild(name_, MoreIndexes(), {indexes.begin() + kByNote, indexes.end()}));
    for (const BuildingIndex& index : change.build->indexes()) {
      change.indexes.push_back(index.definition.id);
      change.added.push_back(index.definition);
    }
    CAIRN_ASSIGN_OR_RETURN(altered, OpenWith(change.added, database));
    Reopen(*dictionary);
  }
  Record record(Description(has_branch_, /*has_more_indexes=*/true));
  IndexBuild build(database, altered.get(), {kByNote, kByNumberAgain}, BuildSettings(*database),
                   record.data(), /*virtual_columns=*/nullptr, change.build.get());
  Status built = build.Run();
  if (built.ok() && end == End::kPublish) {
    const std::unique_lock rows(gate_.rows);
    const std::unique_lock definition(gate_.definition);
    built = build.Finish();
    *merged += build.figures().Sum(&NewIndexFigures::delta_merged);
    for (IndexDefinition& index : change.added) index.built_at = build.built_at();
    if (built.ok()) built = Change(dictionary, change);
    if (built.ok()) return built;
  }
  // Whoever writes now may have begun before.
  dictionary->AbandonBuild(change.build.get());
  const std::unique_lock definition(gate_.definition);
  Reopen(*dictionary);
  return built;
}

Status AccountTable::RemoveIndexes(Dictionary* dictionary) {
  const std::unique_lock rows(gate_.rows);
  const std::unique_lock definition(gate_.definition);
  Dictionary::TableChange change = Unchanged();
  change.indexes.resize(kByNote);
  return Change(dictionary, change);
}

Status AccountTable::ToggleBranch(Dictionary* dictionary) {
  const std::unique_lock rows(gate_.rows);
  const std::unique_lock definition(gate_.definition);
  const IndexDefinition& primary = table_->index(kById).definition;
  const auto row_of = [](const TestTable& description) {
    return IndexCodec::DescribeRow(description.layout(), description.primary());
  };
  std::optional<LayoutHistory> before;
  if (primary.history != nullptr) {
    before = *primary.history;
  } else {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<StoredColumn> row, row_of(description()));
    CAIRN_ASSIGN_OR_RETURN(before, LayoutHistory::Begin(row));
  }
  std::vector<ColumnOrigin> origins;
  for (uint32_t column = kId; column < kBranch; ++column) origins.push_back({column});
  if (!has_branch_) origins.push_back({std::nullopt, NoBranch()});
  CAIRN_ASSIGN_OR_RETURN(const std::vector<StoredColumn> row,
                         row_of(Description(!has_branch_, has_more_indexes_)));
  CAIRN_ASSIGN_OR_RETURN(LayoutHistory after, before->Next(row, origins));
  Dictionary::TableChange change = Unchanged();
  change.history = std::make_shared<const LayoutHistory>(std::move(after));
  IndexInfo info = primary.info;
  info.features |= kFeatureRowLayouts;
  change.infos.emplace(primary.id, info);
  return Change(dictionary, change);
}

}  // namespace cairn::testing
