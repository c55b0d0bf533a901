// The places in a transaction's changes to which it can be rolled back: the user's savepoints and
// the beginnings of statements.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/status.h"
#include "rocksdb/utilities/write_batch_with_index.h"

namespace cairn {

// Savepoints compare as they were set; no number comes twice from one object.
enum class Savepoint : uint64_t { kBegin = 0 };  // kBegin: where the transaction began.

// The savepoints of one transaction at a time, in any order of rolling back and releasing.
//
// RocksDB's batch has a stack of savepoints that know no names, and undoing to one costs as much as
// the batch is large. So a savepoint is a number, and the first write after it puts a mark on that
// stack, which stands for all savepoints that were set since the mark below it. A savepoint without
// changes behind it costs nothing, to set or to go back to.
class Savepoints {
 public:
  enum class Later : uint8_t { kKeep, kRelease };

  Savepoint Set();
  // The last one that is held.
  Savepoint newest() const { return held_.empty() ? Savepoint::kBegin : held_.back(); }

  // To be called before each write to the transaction's batch, which is the same in all calls.
  void BeforeWrite(rocksdb::WriteBatchWithIndex* batch) {
    if (newest() > newest_mark()) Mark(batch);
  }
  // Takes back what was written since; later savepoints are gone, this one stays. Errors:
  // kInternal, when it is not held or the batch is damaged.
  Status RollbackTo(Savepoint savepoint, rocksdb::WriteBatchWithIndex* batch);
  // Forgets a savepoint, and those that were set later if so wished; nothing is undone. Returns the
  // savepoint before it, which now is the last one before the changes that came after it.
  Savepoint Release(Savepoint savepoint, Later later, rocksdb::WriteBatchWithIndex* batch);

  // What the batch held was committed and the transaction goes on with an empty one.
  void BatchCommitted();
  // Whether changes since a savepoint were committed, so that RollbackTo leaves them.
  bool CommittedSince(Savepoint savepoint) const { return savepoint <= committed_mark_; }

  // The transaction is over.
  void Clear();

 private:
  Savepoint newest_mark() const { return marks_.empty() ? Savepoint::kBegin : marks_.back(); }
  void Mark(rocksdb::WriteBatchWithIndex* batch);
  bool NewestMarkIsNeeded() const;

  uint64_t set_count_ = 0;
  std::vector<Savepoint> held_;   // Ascending.
  std::vector<Savepoint> marks_;  // The batch's stack: each the last savepoint that it stands for.
  Savepoint committed_mark_ = Savepoint::kBegin;
};

}  // namespace cairn
