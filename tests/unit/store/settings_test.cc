#include "engine/store/settings.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "rocksdb/advanced_cache.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

TEST(BlockCache, KeepsTheFilterOfALargeFile) {
  const std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / "settings_test";
  StoreSettings settings;
  settings.directory = directory;
  settings.block_cache_bytes = 64 << 20;
  TestLog log;
  const auto options = MakeStoreOptions(settings, &log);
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  rocksdb::Cache& cache = *options->block_cache;

  const rocksdb::Cache::CacheItemHelper no_object(rocksdb::CacheEntryRole::kFilterBlock);
  ASSERT_TRUE(cache.Insert("a filter", nullptr, &no_object, 20 << 20).ok());
  rocksdb::Cache::Handle* const found = cache.Lookup("a filter");
  ASSERT_NE(found, nullptr);
  cache.Release(found);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cairn
