// RocksDB's internal headers, which engine/lsm includes here alone. Outside of it only tests/fuzz
// includes them, to compare with RocksDB's own.
#pragma once

#include "rocksdb/version.h"

// These headers promise nothing from one version to the next, and what we read by their layouts
// would be wrong without a word.
static_assert(ROCKSDB_MAJOR == 11 && ROCKSDB_MINOR == 8 && ROCKSDB_PATCH == 1,
              "engine/lsm was read against RocksDB 11.8.1: go through the checklist of "
              "engine/lsm/README.md, and then name the new version here");

// The library is compiled with NDEBUG in every build, and the layout of its classes depends on it.
// Our own assertions do not: <cassert> means again what it meant before once it is included behind
// these.
// clang-format off
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define NDEBUG 1
#include <cassert>
#include "cache/cache_key.h"
#include "db/arena_wrapped_db_iter.h"
#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "db/dbformat.h"
#include "db/internal_stats.h"
#include "db/log_reader.h"
#include "db/lookup_key.h"
#include "db/memtable.h"
#include "db/merge_context.h"
#include "db/table_cache.h"
#include "db/version_edit.h"
#include "db/version_set.h"
#include "file/sequence_file_reader.h"
#include "memory/allocator.h"
#include "memory/arena.h"
#include "monitoring/file_read_sample.h"
#include "monitoring/statistics_impl.h"
#include "options/cf_options.h"
#include "port/mmap.h"
#include "table/block_based/binary_search_index_reader.h"
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_factory.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/block_builder.h"
#include "table/block_based/block_cache.h"
#include "table/block_based/filter_block_reader_common.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/block_based/full_filter_block.h"
#include "table/block_based/parsed_full_filter_block.h"
#include "table/internal_iterator.h"
#include "table/iterator_wrapper.h"
#include "table/merging_iterator.h"
#include "table/table_reader.h"
#include "util/random.h"
#include "util/stop_watch.h"
#include "utilities/transactions/lock/point/point_lock_manager.h"
#include "utilities/transactions/pessimistic_transaction.h"
#include "utilities/transactions/write_prepared_txn_db.h"
#pragma pop_macro("NDEBUG")
#include <cassert>
// clang-format on
