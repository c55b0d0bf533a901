#include "engine/table/listed_build.h"

#include <string>
#include <utility>

namespace cairn {

std::shared_ptr<IndexBuildFigures> NewFigures(const Table& table,
                                              const std::vector<uint32_t>& positions) {
  std::vector<std::string> names;
  names.reserve(positions.size());
  for (const uint32_t position : positions) names.push_back(table.index(position).layout().name);
  return std::make_shared<IndexBuildFigures>(table.definition().name, names);
}

ListedBuild::ListedBuild(Database* database, std::shared_ptr<IndexBuildFigures> figures,
                         uint64_t estimated_rows)
    : database_(database), figures_(std::move(figures)) {
  figures_->rows_estimated = estimated_rows;
  database_->index_builds().Add(figures_);
}

ListedBuild::~ListedBuild() {
  database_->index_builds().Remove(figures_.get(), published_ ? IndexBuildList::End::kFinished
                                                              : IndexBuildList::End::kAbandoned);
}

}  // namespace cairn
