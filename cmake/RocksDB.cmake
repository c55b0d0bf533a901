# The pinned RocksDB as the target RocksDB::rocksdb.

if(NOT EXISTS "${CAIRN_ROCKSDB_ROOT}/lib/librocksdb.a")
  message(FATAL_ERROR
    "CAIRN_ROCKSDB_ROOT='${CAIRN_ROCKSDB_ROOT}' holds no lib/librocksdb.a; run ./cairn build, which "
    "builds the pinned RocksDB and passes its place on.")
endif()

# They are for the engine alone.
if(NOT CAIRN_ENGINE_ROOT AND NOT EXISTS "${CAIRN_ROCKSDB_SOURCES}/db/db_impl/db_impl.h")
  message(FATAL_ERROR
    "CAIRN_ROCKSDB_SOURCES='${CAIRN_ROCKSDB_SOURCES}' holds no db/db_impl/db_impl.h; run ./cairn build, "
    "which fetches the sources of the pinned RocksDB and passes their place on.")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/rocksdb/definitions.cmake")

find_library(CAIRN_LZ4_LIBRARY lz4 REQUIRED)
find_library(CAIRN_ZSTD_LIBRARY zstd REQUIRED)
find_library(CAIRN_SNAPPY_LIBRARY snappy REQUIRED)

add_library(RocksDB::rocksdb STATIC IMPORTED GLOBAL)
set_target_properties(RocksDB::rocksdb PROPERTIES
  IMPORTED_LOCATION "${CAIRN_ROCKSDB_ROOT}/lib/librocksdb.a"
  INTERFACE_INCLUDE_DIRECTORIES "${CAIRN_ROCKSDB_ROOT}/include")
target_link_libraries(RocksDB::rocksdb INTERFACE
  ${CAIRN_SNAPPY_LIBRARY} ${CAIRN_LZ4_LIBRARY} ${CAIRN_ZSTD_LIBRARY} ZLIB::ZLIB
  Threads::Threads ${CMAKE_DL_LIBS})
if(CAIRN_TRAINING)
  target_link_options(RocksDB::rocksdb INTERFACE -fprofile-generate)
endif()
