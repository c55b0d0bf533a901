#include "engine/lsm/log_batches.h"

#include "engine/lsm/log_records.h"

namespace cairn::lsm {

Status ForEachBatch(rocksdb::Env* env, const std::string& path, uint64_t number,
                    const std::function<Status(const rocksdb::WriteBatch&)>& use) {
  return ForEachRecord(env, path, number, [&use](const rocksdb::Slice& record) {
    return use(rocksdb::WriteBatch(record.ToString()));
  });
}

}  // namespace cairn::lsm
