// A file in the database's directory that says which Cairn may open it.
//
// A directory of a newer Cairn has to stay as it is, and opening it with RocksDB changes it
// already. So its version also stands in a file beside RocksDB's, which is read first. RocksDB
// keeps files whose names it does not know, and the stock plug-in ignores this one.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "rocksdb/env.h"

namespace cairn {

// Persisted: the file's name and the number in it.
inline constexpr std::string_view kDirectoryMarkerName = "CAIRN_FORMAT";
inline constexpr int kDirectoryMarkerVersion = 1;

// Reads only. A directory without the file, or that does not exist, is fine. Errors: kNotSupported
// (a version that this release does not know), kCorruption (no number), kIoError.
Status CheckDirectoryMarker(rocksdb::Env* env, const std::string& directory);
// Writes the file, in one step and synced, unless it is there.
Status WriteDirectoryMarker(rocksdb::Env* env, const std::string& directory);

// A directory in which transactions were once written before they committed (WRITE_PREPARED) has a
// file of this name. RocksDB takes back what a prepared transaction has written by writing what was
// there before; where the transaction had removed a key and put it again, two values of it lie
// above each other then, of which a SingleDelete would remove the upper one and uncover the other.
inline constexpr std::string_view kWritePreparedMarkName = "CAIRN_WRITE_PREPARED";
// Whether the file is there. Errors: kIoError.
Result<bool> HasWritePreparedMark(rocksdb::Env* env, const std::string& directory);
// Writes the file, in one step and synced, unless it is there.
Status WriteWritePreparedMark(rocksdb::Env* env, const std::string& directory);

// Whether the stock plug-in left its mark that it met damaged data in this directory.
inline constexpr std::string_view kCorruptionMarkName = "ROCKSDB_CORRUPTED";
bool IsMarkedCorrupted(rocksdb::Env* env, const std::string& directory);

}  // namespace cairn
