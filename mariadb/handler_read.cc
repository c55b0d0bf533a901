// Reading rows: translate the arguments, ask the cursor, translate the answer.
#include <algorithm>
#include <utility>

#include "engine/codec/index_codec.h"
#include "engine/table/ordered_iterator.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/key_parts.h"
#include "mariadb/table_guards.h"
#include "mariadb/variables.h"

using cairn::Cursor;
using cairn::Status;
using cairn::StatusCode;
using cairn::Work;

namespace cairn {
namespace {

constexpr uint64_t kRowsCountedAtOnce = 100;

// How the server's find flags start a read of a cursor.
Cursor::Start ToStart(ha_rkey_function find_flag) {
  switch (find_flag) {
    case HA_READ_KEY_EXACT:
    case HA_READ_PREFIX:
      return Cursor::Start::kExact;
    case HA_READ_KEY_OR_NEXT:
      return Cursor::Start::kAtOrAfter;
    case HA_READ_AFTER_KEY:
      return Cursor::Start::kAfter;
    case HA_READ_BEFORE_KEY:
      return Cursor::Start::kBefore;
    case HA_READ_KEY_OR_PREV:
    case HA_READ_PREFIX_LAST_OR_PREV:
      return Cursor::Start::kAtOrBefore;
    case HA_READ_PREFIX_LAST:
      return Cursor::Start::kLastExact;
    default:
      return Cursor::Start::kExact;  // The spatial ones never come: no such index exists.
  }
}

}  // namespace

}  // namespace cairn

// Sees to it that a read which the server makes no virtual columns for has those by which the index
// is sorted: the server compares them with the ends of ranges, and the rows of one partition with
// those of the others. True: its entries do not give all of them back, and they are to be made from
// the row.
bool ha_rocksdb::WantVirtualParts(uint32_t index) {
  const cairn::TableIndex& engine_index = engine_table_->index(index);
  if (!engine_index.has_virtual_part) return false;
  bool makes_some = false;
  for (const cairn::KeyPartLayout& part : engine_index.layout().parts) {
    if (!engine_table_->layout().columns[part.column].is_virtual) continue;
    columns_.set[part.column] = engine_index.codec->Covers(part.column);
    makes_some = makes_some || !columns_.set[part.column];
  }
  for (uint i = 0; makes_some && i < table->s->fields; ++i) {
    columns_.set[i] = columns_.set[i] || !engine_table_->layout().columns[i].is_virtual;
  }
  return makes_some;
}

// Binds the cursor to an index, or to other columns when the server changed its mind about them.
int ha_rocksdb::PrepareCursor(uint32_t index) {
  const bool rebind = !cursor_->is_open() || cursor_->index() != index;
  if (!rebind && !columns_.changed) return 0;
  // A row that is locked is needed whole: to see whether it still belongs at its index entry, and,
  // when it is changed, for its other entries and the binary log.
  const bool whole_row = statement_.locks_rows();
  const bool index_only = keyread_enabled() && keyread == index;
  const cairn::IndexCodec& codec = *engine_table_->index(index).codec;
  for (uint i = 0; i < table->s->fields; ++i) {
    const bool is_virtual = engine_table_->layout().columns[i].is_virtual;
    columns_.set[i] = (whole_row && !is_virtual) || bitmap_is_set(table->read_set, i);
    if (index_only) columns_.set[i] = columns_.set[i] && (whole_row || codec.Covers(i));
    // The server makes virtual columns from others, but not while it expects some index to answer
    // alone, which may be another one than it reads: to merge several indexes it names the first of
    // them only.
    if (is_virtual) columns_.set[i] = columns_.set[i] && keyread_enabled() && codec.Covers(i);
  }
  const bool merges_partitions = table->part_info != nullptr;
  columns_.makes_virtual_parts =
      (keyread_enabled() || merges_partitions) && WantVirtualParts(index);
  if (index_only) {
    // The server may expect any part of the index, and of the primary key that its entries end
    // with; one that they do not give back comes from the row.
    for (const uint32_t expected : {index, engine_table_->primary_position()}) {
      for (const cairn::KeyPartLayout& part : engine_table_->index(expected).layout().parts) {
        if (engine_table_->layout().columns[part.column].is_virtual) continue;
        columns_.set[part.column] =
            columns_.set[part.column] || bitmap_is_set(table->read_set, part.column);
      }
    }
  }
  if (engine_table_->index(index).search_keys_end_early) {  // They are compared with search keys.
    for (const cairn::KeyPartLayout& part : engine_table_->index(index).layout().parts) {
      columns_.set[part.column] = true;
    }
  }
  columns_.changed = false;
  if (!rebind) return OperationError(cursor_->ChangeColumns(&columns_.set));
  cairn::CursorAccess access;
  access.index = index;
  access.columns = &columns_.set;
  if (conflict_.checks_key || scan_.is_whole_statement) {
    access.latest = true;
  } else {
    access.skip_locked = statement_.skips_locked();
  }
  if (!access.latest || conflict_.locks_rows) access.lock = statement_.lock();
  access.refuse_waits = conflict_.locks_rows;
  access.shows_expired = conflict_.reads_duplicate;
  access.checksums = cairn::SessionVerifiesChecksums(ha_thd())
                         ? cairn::IndexCodec::Checksums::kVerify
                         : cairn::IndexCodec::Checksums::kIgnore;
  access.ask_prefix_filters = cairn::SessionAsksPrefixFilters(ha_thd());
  if (pushed_idx_cond != nullptr && pushed_idx_cond_keyno == index)
    access.condition = &pushed_condition_;
  if (pushed_rowid_filter != nullptr && rowid_filter_is_active && !statement_.locks_rows() &&
      index != engine_table_->primary_position()) {
    access.filter = &pushed_filter_;
  }
  if (cursor_->is_suspended() && cursor_->index() == index) {
    return OperationError(cursor_->Resume(&transaction(), access));
  }
  return OperationError(cursor_->Open(&transaction(), access));
}

// Waits for row locks end, and long searches, when the statement is killed.
template <typename ReadFunction>
int ha_rocksdb::ReadWith(uint32_t index, uchar* record, ReadFunction read) {
  cairn::Session& session = cairn::Session::Of(ha_thd());
  if (session.Interrupted()) return OperationError(Status(StatusCode::kInterrupted));
  cairn::ScopedWaitObserver observer(&session);
  // HANDLER goes on with scans of statements before.
  const bool begins = !cursor_->is_open() && !cursor_->is_suspended();
  if (const int error = PrepareCursor(index)) return error;
  Status status = read();
  while (status.code() == StatusCode::kSnapshotConflict && begins && session.MayForgetSnapshot()) {
    // The first row that the transaction meets has changed while it was waited for.
    cursor_->Close();
    transaction().ForgetSnapshot();
    if (session.Interrupted()) return OperationError(Status(StatusCode::kInterrupted));
    if (const int error = PrepareCursor(index)) return error;
    status = read();
  }
  session.NoteRead();
  return AfterRead(status, record);
}

// The next row of a scan that needs none of that: it takes no locks and passes over no expired
// rows. A kill is looked for once in a while.
template <typename ReadFunction>
int ha_rocksdb::MoveWith(uint32_t index, uchar* record, ReadFunction read) {
  constexpr uint64_t kRowsBetweenChecks = 16;
  const bool settled = cursor_->is_open() && cursor_->index() == index && !columns_.changed &&
                       !statement_.locks_rows() && engine_table_->ttl_seconds() == 0 &&
                       counted_.read % kRowsBetweenChecks != 0;
  return settled ? AfterRead(read(), record) : ReadWith(index, record, read);
}

int ha_rocksdb::AfterRead(const Status& status, uchar* record) {
  if (!status.ok()) [[unlikely]] {
    if (conflict_.locks_rows && status.code() == StatusCode::kLockTimeout) return kRowIsLocked;
    return OperationError(status);
  }
  if (columns_.makes_virtual_parts) [[unlikely]] {
    if (const int error = FillVirtualParts(record)) return error;
  }
  counted_.covered += cursor_->reads_entries_alone();
  if (++counted_.read == cairn::kRowsCountedAtOnce) CountReads();
  return 0;
}

[[gnu::noinline]] int ha_rocksdb::FillVirtualParts(uchar* record) {
  const cairn::MovedFields moved(table, record);
  return OperationError(ComputeVirtualParts(engine_table_->index(cursor_->index()).layout()));
}

void ha_rocksdb::CountReads() {
  if (counted_.read == 0) return;
  cairn::WorkCounters& work = cairn::RunningEngine()->database().work();
  work.Count(counted_.of_system_table ? Work::kSystemRowsRead : Work::kRowsRead, counted_.read);
  if (counted_.covered != 0) work.Count(Work::kCoveredReads, counted_.covered);
  counted_.read = counted_.covered = 0;
}

void ha_rocksdb::PrintSnapshotConflict() {
  char query[1024];
  thd_query_safe(ha_thd(), query, sizeof(query));
  const char* const user = ha_thd()->security_ctx->user;
  sql_print_warning("RocksDB: Got snapshot conflict errors: User: %s Query: %s",
                    user == nullptr ? "" : user, query);
}

int ha_rocksdb::ReportOperationError(const Status& status) {
  if (status.code() == StatusCode::kSnapshotConflict &&
      cairn::global_variables.print_snapshot_conflict_queries) {
    PrintSnapshotConflict();
  }
  if (status.code() == StatusCode::kDeadlock ||
      (status.code() == StatusCode::kLockTimeout && cairn::global_variables.rollback_on_timeout)) {
    ha_thd()->mark_transaction_to_rollback(/*all=*/true);
  }
  if (status.code() == StatusCode::kNoReferencedRow ||
      status.code() == StatusCode::kRowIsReferenced ||
      status.code() == StatusCode::kForeignDuplicateKey ||
      status.code() == StatusCode::kForeignKeyDepth) {
    return cairn::HandlerError(DescribeRefusal(status.code()));
  }
  const int error = cairn::HandlerError(status);
  // A kill too: a sort takes what was not reported for its own failure (1028), and a replica that
  // is to apply a transaction again knows by the number that it was killed.
  if (!cairn::IsExpected(status.code())) ReportAtOnce(error);
  return error;
}

// The server takes an error from some places, such as the beginning of a merge of several indexes,
// for one that the client has been told of, and goes on to say that all is well. So the client is
// told here; print_error() is silent when the server asks for the same again.
void ha_rocksdb::ReportAtOnce(int error) {
  if (ha_thd()->is_error()) return;
  print_error(error, MYF(0));
  cairn::Session::Of(ha_thd()).NoteReportedError(ha_thd()->query_id);
}

// The row that kept out the last one that was written, and that the writer has locked: by its own
// key, as it may be newer than what the statement sees.
int ha_rocksdb::ReadDuplicate(uchar* record) {
  search_.key.assign(writer_->duplicate_row_key());
  conflict_.reads_duplicate = true;
  const int error = ReadSoughtRow(record);
  conflict_.reads_duplicate = false;
  return error;
}

ha_rows ha_rocksdb::CountFewRows(ha_rows estimate) {
  constexpr ha_rows kFew = 1000;
  if (estimate > 10 * kFew) return estimate;
  // The statement has not begun yet; the transaction may have.
  cairn::Transaction reader(&cairn::RunningEngine()->database());
  cairn::Transaction& session = transaction();
  if (!session.has_writes()) reader.Start(cairn::TransactionSettings());
  cairn::OrderedIterator rows(engine_table_->primary().definition,
                              session.has_writes() ? &session : &reader,
                              cairn::Transaction::View::kLatest);
  ha_rows count = 0;
  for (rows.SeekToFirst(); rows.Valid() && count < kFew; rows.Next()) ++count;
  return rows.Valid() || !rows.status().ok() ? std::max(count, estimate) : count;
}

int ha_rocksdb::index_init(uint index, bool) {
  active_index = index;
  statement_.ForgetScan();
  conflict_.ForgetScan();
  sought_.BeginScan();
  scan_.row_is_unread = false;
  scan_.range_prefix.clear();
  scan_.range_end.clear();
  cursor_->Close();
  return 0;
}

int ha_rocksdb::index_end() {
  cursor_->EndScan();
  conflict_.ForgetScan();
  active_index = MAX_KEY;
  return 0;
}

// Fills in the virtual columns of an index where the fields point. BLOBs go where `place` says; the
// value that a BLOB has in the other record stays where it is.
Status ha_rocksdb::ComputeVirtualParts(const cairn::IndexLayout& index, BlobPlace place) const {
  const cairn::KeptTemporarySet kept(table);
  // To make a column, the server makes others that it is made of.
  if (place == BlobPlace::kReadValue) SwapVirtualBlobs();
  bool failed = false;
  for (const cairn::KeyPartLayout& part : index.parts) {
    Field* const field = table->field[part.column];
    if (failed || field->stored_in_db()) continue;
    failed = table->update_virtual_field(field, /*ignore_warnings=*/true) != 0;
  }
  if (place == BlobPlace::kReadValue) SwapVirtualBlobs();
  return failed ? Status(StatusCode::kInvalidArgument,
                         "a generated column of the row cannot be computed")
                : Status();
}

// Each BLOB field holds the values of two records: exchanges their places.
void ha_rocksdb::SwapVirtualBlobs() const {
  for (Field** field = table->vfield; *field != nullptr; ++field) {
    if (!cairn::IsVirtualBlob(**field)) continue;
    static_cast<Field_blob*>(*field)->swap_value_and_read_value();
  }
}

cairn::Result<int> ha_rocksdb::CompareKey(uint32_t index, uchar* record, const uchar* key,
                                          uint key_bytes) const {
  const cairn::MovedFields moved(table, record);
  const cairn::TableIndex& engine_index = engine_table_->index(index);
  Status made =
      engine_index.has_virtual_part ? ComputeVirtualParts(engine_index.layout()) : Status();
  if (!made.ok()) return made;
  return key_cmp(table->key_info[index].key_part, key, key_bytes);
}

// The cursor gives the rows around the place, in order of the part that could be encoded; those
// that do not stand to the whole key as the server asked are passed over.
int ha_rocksdb::ReadComparing(uchar* record, const uchar* key, uint key_bytes,
                              ha_rkey_function find_flag) {
  const Cursor::Start start = cairn::ToStart(find_flag);
  const bool backward = start == Cursor::Start::kLastExact || start == Cursor::Start::kAtOrBefore ||
                        start == Cursor::Start::kBefore;
  const bool exact = start == Cursor::Start::kExact || start == Cursor::Start::kLastExact;
  // "Behind" and "before" the key begin among the rows that share its encoded part.
  const Cursor::Start first = start == Cursor::Start::kAfter    ? Cursor::Start::kAtOrAfter
                              : start == Cursor::Start::kBefore ? Cursor::Start::kAtOrBefore
                                                                : start;
  int error =
      ReadWith(active_index, record, [&] { return cursor_->Read(search_.key, first, record); });
  while (error == 0) {
    const cairn::Result<int> compared = CompareKey(active_index, record, key, key_bytes);
    if (!compared.ok()) return OperationError(compared.status());
    const int order = *compared;
    const bool wanted = exact                                ? order == 0
                        : start == Cursor::Start::kAfter     ? order > 0
                        : start == Cursor::Start::kBefore    ? order < 0
                        : start == Cursor::Start::kAtOrAfter ? order >= 0
                                                             : order <= 0;
    if (wanted) return 0;
    cursor_->UnlockRow();
    error = ReadWith(active_index, record, [&] {
      if (exact)
        return backward ? cursor_->ReadPreviousExact(record) : cursor_->ReadNextExact(record);
      return backward ? cursor_->ReadPrevious(record) : cursor_->ReadNext(record);
    });
  }
  return error == HA_ERR_END_OF_FILE ? HA_ERR_KEY_NOT_FOUND : error;
}

// The row is taken to exist. Its lock keeps the order of changes that others have begun.
int ha_rocksdb::TakeUnread(uchar* record, const uchar* key, key_part_map key_parts) {
  key_restore(record, key, &table->key_info[active_index],
              calculate_key_len(table, active_index, key, key_parts));
  cairn::Session& session = cairn::Session::Of(ha_thd());
  cairn::ScopedWaitObserver observer(&session);
  scan_.row_is_unread = true;
  const Status known = engine_table_->CheckDefinition(transaction(), active_index);
  if (!known.ok()) return OperationError(known);
  return OperationError(transaction().Lock(engine_table_->primary().family(), search_.key,
                                           cairn::LockMode::kExclusive));
}

// Whether a read of one row is all that the statement does with the database, so that it needs no
// snapshot.
bool ha_rocksdb::ReadsOnce() const {
  const bool is_all = table->file == this && cairn::ReadsOneRow(ha_thd(), *table);
  if (!is_all || statement_.locks_rows() || own_transaction_ != nullptr) return false;
  const cairn::Transaction& reader = cairn::Session::Of(ha_thd()).transaction();
  return !reader.RepeatsReads() && !reader.has_writes();
}

int ha_rocksdb::index_read_idx_map(uchar* record, uint index, const uchar* key,
                                   key_part_map key_parts, ha_rkey_function find_flag) {
  if (const int error = index_init(index, /*sorted=*/false)) return error;
  // By another index it takes two reads, of the entry and of the row.
  if (std::exchange(conflict_.meets_duplicate, false) && index == writer_->duplicate_index()) {
    const int error = ReadDuplicate(record);
    index_end();
    return error;
  }
  scan_.is_whole_statement =
      find_flag == HA_READ_KEY_EXACT && index == engine_table_->primary_position() && ReadsOnce();
  const int error = index_read_map(record, key, key_parts, find_flag);
  scan_.is_whole_statement = false;
  index_end();
  return error;
}

int ha_rocksdb::index_read_map(uchar* record, const uchar* key, key_part_map key_parts,
                               ha_rkey_function find_flag) {
  conflict_.checks_key = ChecksForConflict(key);
  scan_.row_is_unread = false;
  if (find_flag == HA_READ_KEY_EXACT && active_index == engine_table_->primary_position() &&
      statement_.locks_exclusively() &&
      statement_.DeletesUnread(ha_thd(), *table, *engine_table_)) {
    const uint32_t part_count = cairn::CountParts(table->key_info[active_index], key_parts);
    const cairn::IndexCodec& codec = *engine_table_->primary().codec;
    if (codec.EncodeSearchKey(key, part_count, &search_.key) == search_.whole_key_parts) {
      return TakeUnread(record, key, key_parts);
    }
  }
  if (!conflict_.checks_key) {
    const bool may_come_later = find_flag == HA_READ_KEY_EXACT && statement_.rows_may_come_later();
    if (may_come_later) NoteSought(key, key_parts);
    const int error = ReadKey(record, key, key_parts, find_flag);
    return may_come_later && error == HA_ERR_KEY_NOT_FOUND ? SeekAgain(record) : error;
  }
  conflict_.locks_rows = cairn::ChangesDuplicates(ha_thd()) &&
                         table->key_info[active_index].algorithm == HA_KEY_ALG_LONG_HASH;
  return ReadConflict(record, key, key_parts, find_flag);
}

// The read of index_read_map, where it takes one.
int ha_rocksdb::ReadKey(uchar* record, const uchar* key, key_part_map key_parts,
                        ha_rkey_function find_flag) {
  if (engine_table_->index(active_index).search_keys_end_early) {
    const cairn::IndexCodec& codec = *engine_table_->index(active_index).codec;
    codec.EncodeSearchKey(key, cairn::CountParts(table->key_info[active_index], key_parts),
                          &search_.key);
    const uint key_bytes = calculate_key_len(table, active_index, key, key_parts);
    return ReadComparing(record, key, key_bytes, find_flag);
  }
  return ReadWith(active_index, record, [&]() -> Status {
    const cairn::TableIndex& index = engine_table_->index(active_index);
    const uint32_t part_count = cairn::CountParts(table->key_info[active_index], key_parts);
    const uint32_t encoded = index.codec->EncodeSearchKey(key, part_count, &search_.key);
    if (find_flag == HA_READ_KEY_EXACT && active_index == engine_table_->primary_position() &&
        encoded == search_.whole_key_parts) {
      return cursor_->ReadRow(search_.key, record);
    }
    cairn::ReadRange range;
    if (search_.key.starts_with(scan_.range_prefix)) range.common_bytes = scan_.range_prefix.size();
    scan_.range_prefix.clear();
    range.prefix_is_key = encoded == index.codec->key_part_count() &&
                          !index.search_keys_end_early &&
                          !engine_table_->primary().search_keys_end_early;
    range.end = scan_.range_end;
    range.any_order = scan_.takes_any_order ||
                      (find_flag == HA_READ_KEY_EXACT && statement_.locks_rows() &&
                       !index.search_keys_end_early && statement_.WantsPlainRows(ha_thd()));
    return cursor_->Read(search_.key, cairn::ToStart(find_flag), record, range);
  });
}

// Notes what the keys of all rows between two search keys start with, for the read that comes next.
int ha_rocksdb::prepare_range_scan(const key_range* start, const key_range* end) {
  scan_.range_prefix.clear();
  const cairn::TableIndex& index = engine_table_->index(active_index);
  if (start == nullptr || end == nullptr || index.search_keys_end_early ||
      index.family().prefix_extractor.current() == nullptr) {
    return 0;
  }
  const auto encode = [&](const key_range& bound, std::string* key) {
    index.codec->EncodeSearchKey(
        bound.key, cairn::CountParts(table->key_info[active_index], bound.keypart_map), key);
  };
  encode(*start, &search_.key);
  encode(*end, &scan_.range_prefix);
  const auto differ = std::mismatch(search_.key.begin(), search_.key.end(),
                                    scan_.range_prefix.begin(), scan_.range_prefix.end());
  scan_.range_prefix.resize(differ.second - scan_.range_prefix.begin());
  return 0;
}

int ha_rocksdb::read_range_first(const key_range* start, const key_range* end, bool equal,
                                 bool sorted) {
  if (!equal) {
    prepare_range_scan(start, end);
    // Rows behind it are not to be locked, nor fetched ahead.
    const bool looks_ahead = active_index != engine_table_->primary_position();
    if (end != nullptr && (statement_.locks_rows() || looks_ahead)) NoteRangeEnd(*end);
  }
  const int error = handler::read_range_first(start, end, equal, sorted);
  scan_.range_end.clear();
  return error;
}

// Notes what the keys of all rows up to the end of a range lie before.
void ha_rocksdb::NoteRangeEnd(const key_range& end) {
  const cairn::TableIndex& index = engine_table_->index(active_index);
  const uint32_t parts = cairn::CountParts(table->key_info[active_index], end.keypart_map);
  const uint32_t encoded = index.codec->EncodeSearchKey(end.key, parts, &scan_.range_end);
  if (end.flag == HA_READ_BEFORE_KEY && encoded == parts && !index.search_keys_end_early) return;
  const std::string last = scan_.range_end;
  if (!cairn::PrefixSuccessor(last, &scan_.range_end)) scan_.range_end.clear();
}

int ha_rocksdb::index_next(uchar* record) {
  const int error = MoveWith(active_index, record, [&] { return cursor_->ReadNext(record); });
  if (error != HA_ERR_END_OF_FILE || !sought_.has_key()) return error;
  const int found = SeekAgain(record);
  return found == HA_ERR_KEY_NOT_FOUND ? HA_ERR_END_OF_FILE : found;
}

int ha_rocksdb::index_prev(uchar* record) {
  return MoveWith(active_index, record, [&] { return cursor_->ReadPrevious(record); });
}

int ha_rocksdb::index_first(uchar* record) {
  scan_.range_prefix.clear();
  cairn::ReadRange range;
  range.end = scan_.range_end;
  range.any_order = scan_.takes_any_order;
  return ReadWith(active_index, record, [&] { return cursor_->ReadFirst(record, range); });
}

int ha_rocksdb::index_last(uchar* record) {
  scan_.range_prefix.clear();
  return ReadWith(active_index, record, [&] { return cursor_->ReadLast(record); });
}

int ha_rocksdb::index_next_same(uchar* record, const uchar* key, uint key_bytes) {
  if (scan_.row_is_unread) return HA_ERR_END_OF_FILE;
  // The cursor knows the key of the last read, or as much of it as could be encoded.
  while (true) {
    int error = MoveWith(active_index, record, [&] { return cursor_->ReadNextExact(record); });
    if (conflict_.checks_key) error = AfterConflict(error, record);
    if (error == kRowIsLocked) {
      if (const int failed = WaitForConflict(key)) return failed;
      return ReadConflict(record, key, HA_WHOLE_KEY, HA_READ_KEY_EXACT);
    }
    if (error != 0 || !engine_table_->index(active_index).search_keys_end_early) return error;
    const cairn::Result<int> order = CompareKey(active_index, record, key, key_bytes);
    if (!order.ok()) return OperationError(order.status());
    if (*order == 0) return 0;
    cursor_->UnlockRow();
  }
}

int ha_rocksdb::ReadSoughtRow(uchar* record) {
  return ReadWith(scan_index(), record, [&] { return cursor_->ReadRow(search_.key, record); });
}

int ha_rocksdb::ReadRowOfRanges(size_t row, uchar* record) {
  const bool is_gathered = active_index != engine_table_->primary_position();
  return ReadWith(active_index, record, [&] {
    return is_gathered ? cursor_->ReadGathered(multi_range_.rows(), row, record)
                       : cursor_->ReadFetched(multi_range_.rows(), row, record);
  });
}

int ha_rocksdb::rnd_init(bool) {
  if (cairn::MayRedefineTable(ha_thd())) {
    if (const int error = RefuseToCopyPrepared()) return error;
    // Under LOCK TABLES no statement has begun that would have done it.
    if (const int error = FinishLoadsForAlter(ha_thd())) return error;
  }
  cursor_->Close();
  if (own_transaction_ != nullptr)
    own_transaction_->EndStatement();  // Sequences are read as they are now.
  scan_.has_begun = false;
  sought_.BeginScan();
  return 0;
}

int ha_rocksdb::rnd_end() {
  cursor_->EndScan();
  return 0;
}

// Each row of a scan comes through here: its one caller has it inlined.
[[gnu::always_inline]] inline int ha_rocksdb::ReadNextOfTable(uchar* record) {
  const bool first = !std::exchange(scan_.has_begun, true);
  return MoveWith(scan_index(), record, [&] {
    if (scans_backwards()) {
      return first ? cursor_->ReadLast(record) : cursor_->ReadPrevious(record);
    }
    return first ? cursor_->ReadFirst(record) : cursor_->ReadNext(record);
  });
}

int ha_rocksdb::rnd_next(uchar* record) {
  for (bool again = false;; again = true) {
    const int error = ReadNextOfTable(record);
    if (error != HA_ERR_END_OF_FILE || again || !statement_.rows_may_come_later() ||
        sought_.looked_again())
      return error;
    if (const int failed = WaitForPriorCommit()) return failed;
    scan_.has_begun = false;
  }
}
