#include "engine/metrics/perf_context.h"

#include "rocksdb/iostats_context.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace cairn {
namespace {

rocksdb::PerfLevel ToRocksDb(PerfLevel level) {
  switch (level) {
    case PerfLevel::kOff:
      return rocksdb::kDisable;
    case PerfLevel::kCounts:
      return rocksdb::kEnableCount;
    case PerfLevel::kTimes:
      return rocksdb::kEnableTimeExceptForMutex;
    case PerfLevel::kCpuTimes:
      return rocksdb::kEnableTimeAndCPUTimeExceptForMutex;
    case PerfLevel::kMutexTimes:
      return rocksdb::kEnableTime;
  }
  return rocksdb::kDisable;
}

PerfFigures ReadThread() {
  const rocksdb::PerfContext& context = *rocksdb::get_perf_context();
  const rocksdb::IOStatsContext& io = *rocksdb::get_iostats_context();
  return {
#define FIGURE(name, member) context.member,
#define IO_FIGURE(name, member) io.member,
#define NO_FIGURE(name) 0,
#include "engine/metrics/perf_figures.def"
  };
}

}  // namespace

const std::array<std::string_view, kPerfFigures> kPerfFigureNames = {
#define FIGURE(name, ...) #name,
#define IO_FIGURE(name, ...) #name,
#define NO_FIGURE(name) #name,
#include "engine/metrics/perf_figures.def"
};

void PerfSums::Add(const PerfFigures& figures) {
  for (size_t i = 0; i < kPerfFigures; ++i) {
    if (figures[i] != 0) sums_[i].fetch_add(figures[i], std::memory_order_relaxed);
  }
}

PerfFigures PerfSums::Read() const {
  PerfFigures figures;
  for (size_t i = 0; i < kPerfFigures; ++i) figures[i] = sums_[i].load(std::memory_order_relaxed);
  return figures;
}

void PerfCollection::Begin(PerfLevel level) {
  if (collects_) return;
  rocksdb::SetPerfLevel(ToRocksDb(level));
  if (level == PerfLevel::kOff) return;
  rocksdb::get_perf_context()->Reset();
  rocksdb::get_iostats_context()->Reset();
  collects_ = true;
}

PerfFigures PerfCollection::End() {
  if (!collects_) return PerfFigures{};
  collects_ = false;
  rocksdb::SetPerfLevel(rocksdb::kDisable);
  return ReadThread();
}

}  // namespace cairn
