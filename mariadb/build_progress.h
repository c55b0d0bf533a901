// How far a build of indexes is, in SHOW PROCESSLIST and for clients that ask for reports.
#pragma once

#include "engine/locks/interruptible_mutex.h"
#include "engine/metrics/index_builds.h"
#include "mariadb/server_headers.h"

namespace cairn {

// Belongs to the statement's thread. While it is the thread's observer, the figures are shown
// whenever the build looks whether the statement was killed; `waits` is asked about that. A build
// waits for no lock.
class BuildProgress final : public WaitObserver {
 public:
  enum class Writers : uint8_t { kShutOut, kGoOn };

  // All outlive this. The stages of a build with writers are reading, writing files, merging and
  // the end; without them there are the first two.
  BuildProgress(THD* thd, WaitObserver* waits, const IndexBuildFigures* figures, Writers writers);
  // Nothing is shown any more.
  ~BuildProgress() override;
  BuildProgress(const BuildProgress&) = delete;
  BuildProgress& operator=(const BuildProgress&) = delete;

  // Another one of the statement's builds goes on: its figures are shown, in the stage that this
  // one has come to or in a later one.
  void Follow(const IndexBuildFigures* figures) { figures_ = figures; }
  void Show();

  bool Interrupted() override;
  void WaitBegins() override { waits_->WaitBegins(); }
  void WaitEnds() override { waits_->WaitEnds(); }

 private:
  THD* const thd_;
  WaitObserver* const waits_;
  const IndexBuildFigures* figures_;
  const uint stages_;
  uint shown_stage_ = 0;
};

}  // namespace cairn
