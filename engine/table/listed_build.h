// A build of indexes that the database lists as long as it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/metrics/index_builds.h"
#include "engine/store/database.h"
#include "engine/table/table.h"

namespace cairn {

// Figures without anything done, of the indexes of `table` at these positions.
std::shared_ptr<IndexBuildFigures> NewFigures(const Table& table,
                                              const std::vector<uint32_t>& positions);

class ListedBuild {
 public:
  // `database` outlives this. Any thread may read the figures, and finds them in
  // Database::index_builds().
  ListedBuild(Database* database, std::shared_ptr<IndexBuildFigures> figures,
              uint64_t estimated_rows);
  ~ListedBuild();
  ListedBuild(const ListedBuild&) = delete;
  ListedBuild& operator=(const ListedBuild&) = delete;

  // The indexes are the table's: otherwise the build counts as abandoned when it goes.
  void NotePublished() { published_ = true; }
  IndexBuildFigures& figures() const { return *figures_; }

 private:
  Database* const database_;
  const std::shared_ptr<IndexBuildFigures> figures_;
  bool published_ = false;
};

}  // namespace cairn
