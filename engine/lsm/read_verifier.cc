#include "engine/lsm/read_verifier.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace cairn::lsm {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

// For the log: the first bytes in hexadecimal digits.
std::string Shown(const Slice& bytes) {
  constexpr size_t kMost = 64;
  std::string text = Slice(bytes.data(), std::min(bytes.size(), kMost)).ToString(/*hex=*/true);
  if (bytes.size() > kMost) text += "... (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

std::string Described(const ReadVerifier::Answer& answer) {
  if (!answer.has_entry) return "nothing";
  return "key " + Shown(answer.key) + " value " + Shown(answer.value);
}

class VerifiedIterator final : public rocksdb::Iterator {
 public:
  VerifiedIterator(std::unique_ptr<rocksdb::Iterator> ours,
                   std::unique_ptr<rocksdb::Iterator> theirs, ReadVerifier* verifier,
                   std::string_view family)
      : ours_(std::move(ours)), theirs_(std::move(theirs)), verifier_(verifier), family_(family) {}

  bool Valid() const override { return status_.ok() && ours_->Valid(); }
  Slice key() const override { return ours_->key(); }
  Slice value() const override { return ours_->value(); }
  const rocksdb::WideColumns& columns() const override { return ours_->columns(); }
  Status status() const override { return status_; }

  void Seek(const Slice& target) override {
    Move([&](rocksdb::Iterator* iterator) { iterator->Seek(target); });
  }
  void SeekForPrev(const Slice& target) override {
    Move([&](rocksdb::Iterator* iterator) { iterator->SeekForPrev(target); });
  }
  void SeekToFirst() override { Move(&rocksdb::Iterator::SeekToFirst); }
  void SeekToLast() override { Move(&rocksdb::Iterator::SeekToLast); }
  void Next() override { Move(&rocksdb::Iterator::Next); }
  void Prev() override { Move(&rocksdb::Iterator::Prev); }

 private:
  static ReadVerifier::Answer AnswerOf(const rocksdb::Iterator& iterator) {
    ReadVerifier::Answer answer;
    answer.status = iterator.status();
    if (iterator.Valid()) answer.SetEntry(iterator.key(), iterator.value());
    return answer;
  }

  template <typename MoveOne>
  void Move(const MoveOne& move) {
    std::invoke(move, ours_.get());
    std::invoke(move, theirs_.get());
    status_ = verifier_->Compare(family_, AnswerOf(*ours_), AnswerOf(*theirs_));
  }

  const std::unique_ptr<rocksdb::Iterator> ours_;
  const std::unique_ptr<rocksdb::Iterator> theirs_;
  ReadVerifier* const verifier_;
  const std::string family_;
  Status status_;
};

}  // namespace

rocksdb::Status ReadVerifier::Compare(std::string_view family, const Answer& ours,
                                      const Answer& theirs) {
  compared_.fetch_add(1, std::memory_order_relaxed);
  if (!theirs.status.ok()) return theirs.status;
  if (!ours.status.ok()) return ours.status;
  if (ours.has_entry == theirs.has_entry &&
      (!ours.has_entry || (ours.key == theirs.key && ours.value == theirs.value))) {
    return Status::OK();
  }
  differing_.fetch_add(1, std::memory_order_relaxed);
  log_->Write(Severity::kError, "two readers of the column family " + std::string(family) +
                                    " differ (cairn_verify_reads): this one finds " +
                                    Described(ours) + ", RocksDB's " + Described(theirs) +
                                    ". Please report it with the files of the database");
  return Status::Corruption("two readers of the column family " + std::string(family) +
                            " differ; the error log has both answers");
}

std::unique_ptr<rocksdb::Iterator> NewVerifiedIterator(std::unique_ptr<rocksdb::Iterator> ours,
                                                       std::unique_ptr<rocksdb::Iterator> theirs,
                                                       ReadVerifier* verifier,
                                                       std::string_view family) {
  return std::make_unique<VerifiedIterator>(std::move(ours), std::move(theirs), verifier, family);
}

}  // namespace cairn::lsm
