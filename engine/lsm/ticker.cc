#include "engine/lsm/ticker.h"

#include <typeinfo>

#include "engine/lsm/private_member.h"
#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {

struct FiguresTag {
  friend auto MemberOf(FiguresTag);
};
template struct PrivateMember<FiguresTag, &rocksdb::StatisticsImpl::per_core_stats_>;

Ticker::Ticker(rocksdb::Statistics* statistics) {
  if (statistics == nullptr ||
      statistics->get_stats_level() <= rocksdb::StatsLevel::kExceptTickers) {
    return;
  }
  const rocksdb::Statistics& known = *statistics;
  // One that passes on what it counts is to be asked, too.
  if (typeid(known) != typeid(rocksdb::StatisticsImpl) || known.Inner() != nullptr) {
    statistics_ = statistics;
    return;
  }
  const auto& by_processor =
      static_cast<const rocksdb::StatisticsImpl&>(known).*MemberOf(FiguresTag());
  figures_ = by_processor.Access()->tickers_;
}

}  // namespace cairn::lsm
