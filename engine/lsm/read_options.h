// All that a read may be asked for.
#pragma once

#include "rocksdb/options.h"

namespace cairn::lsm {

// Names every member of ReadOptions, so that a RocksDB with more or fewer does not compile: readers
// of ours would ignore what a new one asks for. Whatever they do not know is for
// IsForForwardIterator() (forward_iterator.cc) and IsForReader() (point_lookup.cc) to leave to
// RocksDB.
inline void NameReadOptions(const rocksdb::ReadOptions& options) {
  [[maybe_unused]] const auto& [snapshot, timestamp, iter_start_ts, deadline, io_timeout, read_tier,
                                rate_limiter_priority, value_size_soft_limit,
                                merge_operand_count_threshold, verify_checksums, fill_cache,
                                ignore_range_deletions, async_io, optimize_multiget_for_io,
                                readahead_size, max_skippable_internal_keys, iterate_lower_bound,
                                iterate_upper_bound, tailing, total_order_seek, auto_prefix_mode,
                                prefix_same_as_start, pin_data, adaptive_readahead,
                                background_purge_on_iterator_cleanup, table_filter,
                                auto_readahead_size, allow_unprepared_value,
                                auto_refresh_iterator_with_snapshot, table_index_factory,
                                read_scoped_block_buffer_provider, io_activity, request_id] =
      options;
}

}  // namespace cairn::lsm
