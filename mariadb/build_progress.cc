#include "mariadb/build_progress.h"

#include <algorithm>

namespace cairn {
namespace {

using Stage = IndexBuildFigures::Stage;

// Numbers as thd_progress_init() counts them, from 0.
uint NumberOf(Stage stage) {
  switch (stage) {
    case Stage::kScan:
      return 0;
    case Stage::kSort:
      return 1;
    case Stage::kMerge:
    case Stage::kWait:
      return 2;
    case Stage::kLastMerge:
      return 3;
  }
  return 0;
}

}  // namespace

BuildProgress::BuildProgress(THD* thd, WaitObserver* waits, const IndexBuildFigures* figures,
                             Writers writers)
    : thd_(thd),
      waits_(waits),
      figures_(figures),
      stages_(1 + NumberOf(writers == Writers::kGoOn ? Stage::kLastMerge : Stage::kSort)) {
  thd_progress_end(thd_);  // Of another partition.
  thd_progress_init(thd_, stages_);
  Show();
}

BuildProgress::~BuildProgress() { thd_progress_end(thd_); }

// The server shows no stage whose end is at 0.
void BuildProgress::Show() {
  const Stage stage = figures_->stage;
  for (const uint number = std::min(NumberOf(stage), stages_ - 1); shown_stage_ < number;) {
    ++shown_stage_;
    thd_progress_next_stage(thd_);
  }
  const uint64_t rows = figures_->rows_read;
  uint64_t done = 0;
  uint64_t all = 0;
  if (shown_stage_ == NumberOf(Stage::kScan)) {
    done = rows;
    all = std::max<uint64_t>(rows, figures_->rows_estimated);
  } else if (shown_stage_ == NumberOf(Stage::kSort)) {
    done = figures_->Sum(&NewIndexFigures::entries_written);
    all = rows * figures_->indexes().size();
  } else {
    done = figures_->Sum(&NewIndexFigures::delta_merged);
    all = done;
    for (const NewIndexFigures& index : figures_->indexes()) all += index.DeltaLeft();
  }
  thd_progress_report(thd_, std::min(done, all), std::max<uint64_t>(all, 1));
}

bool BuildProgress::Interrupted() {
  Show();
  return waits_->Interrupted();
}

}  // namespace cairn
