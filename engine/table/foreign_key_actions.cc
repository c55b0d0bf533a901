#include "engine/table/foreign_key_actions.h"

#include <algorithm>
#include <cstring>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/foreign_key_binding.h"
#include "engine/table/long_unique_check.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/table_writer.h"

namespace cairn {
namespace {

// Of a foreign key that has a name.
bool IsRefusal(StatusCode code) {
  return code == StatusCode::kNoReferencedRow || code == StatusCode::kRowIsReferenced ||
         code == StatusCode::kForeignKeyDepth || code == StatusCode::kForeignDuplicateKey;
}

constexpr size_t kMostAbove = 15;
// Rows that are found before the first of them is changed, so that no iterator stands over what is
// written meanwhile.
constexpr size_t kBatchRows = 256;

std::string_view ImageOf(const ColumnLayout& column, const uint8_t* record) {
  return {reinterpret_cast<const char*>(record) + column.offset, column.image_bytes};
}

// When a row of a table with versions was replaced by the new record; empty: there is no telling.
std::string_view TimeOfChange(const TableLayout& layout, const uint8_t* old_record,
                              const uint8_t* new_record) {
  if (layout.validity == nullptr || new_record == nullptr) return {};
  const bool ends = layout.IsPast(new_record);
  const ColumnLayout& column = layout.columns[ends ? layout.validity->end : layout.validity->start];
  const std::string_view time = ImageOf(column, new_record);
  return time == ImageOf(column, old_record) ? std::string_view() : time;
}

// Gives a column of fixed size another image.
void SetImage(const ColumnLayout& column, std::string_view image, uint8_t* record) {
  CAIRN_ASSERT(image.size() == column.image_bytes);
  std::memcpy(record + column.offset, image.data(), image.size());
}

// Whether a column has another value in the other record, as far as its bytes tell.
bool Differs(const ColumnLayout& column, const uint8_t* record, const uint8_t* other) {
  if (column.nullable() &&
      ((record[column.null_offset] ^ other[column.null_offset]) & column.null_mask) != 0) {
    return true;
  }
  return std::memcmp(record + column.offset, other + column.offset, column.image_bytes) != 0;
}

bool HasVirtualIndex(const Table& table) {
  return std::any_of(table.indexes().begin(), table.indexes().end(),
                     [](const TableIndex& index) { return index.has_virtual_part; });
}

}  // namespace

struct ForeignKeyActions::Child {
  explicit Child(std::shared_ptr<const Table> of)
      : table(std::move(of)), has_virtual_index(HasVirtualIndex(*table)), uniques(table.get()) {}

  const std::shared_ptr<const Table> table;
  const bool has_virtual_index;
  std::unique_ptr<TableWriter> writer;
  std::unique_ptr<const DecodePlan> plan;  // Of whole rows.
  std::vector<uint8_t> record;
  std::vector<uint8_t> new_record;
  // Of the rows that are to be changed.
  std::string prefix;
  std::string resume;  // The entry behind which the search goes on; empty: at the begin.
  std::vector<std::string> keys;
  std::string row_key;
  std::string new_row_key;
  bool moved = false;  // The last row got another primary key.
  std::string unpack_info;
  // The columns of the foreign key of this number, one by one.
  struct Column {
    ForeignKeyColumns of_parent;
    ForeignKeyColumns of_child;
  };
  uint32_t columns_of = 0;
  std::vector<Column> columns;
  // Where an index has a virtual column, else null and empty.
  ChildColumns* made = nullptr;
  std::vector<std::string> blobs;
  std::vector<std::string> new_blobs;
  // Of the foreign key of this number: its columns, and the long unique keys that have one.
  uint32_t assigned_of = 0;
  std::vector<uint32_t> assigned;
  std::vector<uint32_t> long_uniques;
  LongUniqueCheck uniques;
};

struct ForeignKeyActions::Action {
  Transaction* transaction;
  ForeignKeyChecks* checks;  // Of the parent.
  const Table& parent;
  const BoundForeignKey& key;
  const uint8_t* old_record;
  const uint8_t* new_record;  // Null: the parent's row is gone.

  ForeignKeyAction what() const {
    return new_record == nullptr ? key.key->record.on_delete : key.key->record.on_update;
  }
  bool deletes_children() const {
    return new_record == nullptr && what() == ForeignKeyAction::kCascade;
  }
  bool gives_new_values() const {
    return new_record != nullptr && what() == ForeignKeyAction::kCascade;
  }
};

ForeignKeyActions::ForeignKeyActions(Database* database, const ForeignKeys* known, Bind bind,
                                     OpenColumns open_columns, Now now)
    : database_(database),
      known_(known),
      bind_(std::move(bind)),
      open_columns_(std::move(open_columns)),
      now_(std::move(now)) {}

ForeignKeyActions::~ForeignKeyActions() = default;

void ForeignKeyActions::BeginStatement() {
  EndStatement();
  changed_.clear();
  if (known_->generation() == generation_) return;
  children_.clear();
  generation_ = known_->generation();
}

void ForeignKeyActions::EndStatement() {
  if (columns_.empty()) return;
  for (const auto& [place, child] : children_) {
    if (child != nullptr) child->made = nullptr;
  }
  columns_.clear();
}

Result<ChildColumns*> ForeignKeyActions::ColumnsOf(const Table& table) {
  const std::string& name = table.definition().name;
  auto found = columns_.find(name);
  if (found == columns_.end()) {
    CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<ChildColumns> columns, open_columns_(table));
    found = columns_.emplace(name, std::move(columns)).first;
  }
  return found->second.get();
}

Result<ForeignKeyActions::Child*> ForeignKeyActions::ChildOf(
    const std::shared_ptr<const Table>& table) {
  std::unique_ptr<Child>& place = children_[{chain_.size(), table->definition().name}];
  // Others may have opened the same table for themselves.
  if (place == nullptr || &place->table->definition() != &table->definition()) {
    CAIRN_ASSIGN_OR_RETURN(place, MakeChild(table));
  }
  Child* const child = place.get();
  if (child->has_virtual_index && child->made == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(child->made, ColumnsOf(*table));
    child->writer->SetVirtualColumns(child->made);
  }
  return child;
}

Result<std::unique_ptr<ForeignKeyActions::Child>> ForeignKeyActions::MakeChild(
    const std::shared_ptr<const Table>& table) {
  auto child = std::make_unique<Child>(table);
  child->writer = std::make_unique<TableWriter>(database_, table.get());
  CAIRN_ASSIGN_OR_RETURN(
      child->plan, table->primary().codec->MakePlan(ColumnSet(table->layout().columns.size(), true),
                                                    IndexCodec::Checksums::kIgnore));
  child->record.resize(table->layout().record_bytes);
  CAIRN_ASSIGN_OR_RETURN(Keys keys, bind_(table));
  // The next statement may find what is missing.
  if (!keys->is_complete) generation_ = 0;
  child->writer->foreign_keys().Bind(std::move(keys));
  child->writer->foreign_keys().RebindWith(known_, [this, table] { return bind_(table); });
  child->writer->SetActions(this);
  return child;
}

void ForeignKeyActions::NoteChanged(const std::shared_ptr<const Table>& table) {
  const auto is_same = [&](const std::shared_ptr<const Table>& other) {
    return other->definition().counters == table->definition().counters;
  };
  if (std::none_of(changed_.begin(), changed_.end(), is_same)) changed_.push_back(table);
}

Status ForeignKeyActions::Follow(Transaction* transaction, ForeignKeyChecks* checks,
                                 const Table& table, const uint8_t* old_record,
                                 const uint8_t* new_record) {
  const std::string_view time = TimeOfChange(table.layout(), old_record, new_record);
  // For children it has gone.
  if (new_record != nullptr && table.layout().IsPast(new_record)) new_record = nullptr;
  chain_.push_back({&table.definition().name, new_record != nullptr, time});
  Status followed = FollowKeys(transaction, checks, table, old_record, new_record);
  chain_.pop_back();
  return followed;
}

Status ForeignKeyActions::FollowKeys(Transaction* transaction, ForeignKeyChecks* checks,
                                     const Table& table, const uint8_t* old_record,
                                     const uint8_t* new_record) {
  const Keys keys = checks->keys();
  for (const BoundForeignKey& key : keys->as_parent) {
    if (key.columns.HasNull(old_record)) continue;
    if (new_record != nullptr && !key.columns.BytesDiffer(old_record, new_record)) continue;
    const Action action{transaction, checks, table, key, old_record, new_record};
    // The row itself was a child of its own, and its entries are gone already: it may be deleted
    // with its parent, and nothing else.
    const bool was_own_child =
        key.key->record.child == key.key->record.parent && key.other != nullptr &&
        HaveEqualValues(key.columns, old_record, key.other_columns, old_record);
    if (was_own_child && (new_record != nullptr || !ActsOn(action.what()))) return Refuse(action);
    CAIRN_RETURN_IF_ERROR(ActsOn(action.what())
                              ? Run(action)
                              : checks->CheckChildrenBy(transaction, key, old_record));
  }
  return Status();
}

void ForeignKeyActions::NoteRefusal(const Action& action) {
  ForeignKeyCounters::Count(&action.key.key->counters->refusals);
  action.checks->SetFailed(action.key.key, action.old_record);
}

// Another row of the child has a value that is unique in this index.
Status ForeignKeyActions::RefuseDuplicate(const Action& action, const Child& child,
                                          uint32_t index) {
  NoteRefusal(action);
  duplicate_table_ = child.table;
  duplicate_index_ = index;
  return Status(StatusCode::kForeignDuplicateKey);
}

// A row of the child is in the way.
Status ForeignKeyActions::Refuse(const Action& action) {
  NoteRefusal(action);
  return Status(StatusCode::kRowIsReferenced);
}

// Children that come to the value while others are waited for come by those who have it locked
// already, or who check nothing.
Status ForeignKeyActions::Run(const Action& action) {
  CAIRN_RETURN_IF_ERROR(
      action.checks->LockParentValue(action.transaction, action.key, action.old_record));
  if (action.gives_new_values() && !action.key.columns.HasNull(action.new_record)) {
    CAIRN_RETURN_IF_ERROR(
        action.checks->LockNewParentValue(action.transaction, action.key, action.new_record));
  }
  CAIRN_RETURN_IF_ERROR(ForeignKeyChecks::RequireOther(action.key));
  ForeignKeyCounters::Count(&action.key.key->counters->child_lookups);
  CAIRN_ASSIGN_OR_RETURN(Child* const child, ChildOf(action.key.other));
  if (!action.key.search->EncodePrefix(action.old_record, &child->prefix)) return Status();
  bool changed;
  do {
    changed = false;
    child->resume.clear();
    bool has_more = true;
    while (has_more) {
      CAIRN_ASSIGN_OR_RETURN(has_more, CollectRows(action, child));
      CAIRN_RETURN_IF_ERROR(RunBatch(action, child, &changed));
    }
  } while (changed);
  return Status();
}

// Finds the next children that have the value. False: there are no more behind them.
Result<bool> ForeignKeyActions::CollectRows(const Action& action, Child* child) {
  const BoundForeignKey& key = action.key;
  const Table& table = *child->table;
  const TableIndex& index = table.index(key.other_index);
  child->keys.clear();
  OrderedIterator iterator(index.definition, action.transaction, kForeignKeyView,
                           {child->prefix, child->prefix});
  iterator.SeekAtOrAfter(child->resume.empty() ? child->prefix : child->resume);
  if (!child->resume.empty() && iterator.Valid() && iterator.key() == child->resume) {
    iterator.Next();
  }
  for (; iterator.Valid() && iterator.key().starts_with(child->prefix); iterator.Next()) {
    if (child->keys.size() == kBatchRows) return true;
    if (action.transaction->HidesExpired(iterator.value(), table.ttl_seconds(), kForeignKeyView))
      continue;
    CAIRN_RETURN_IF_ERROR(RowKeyOf(table, index, iterator.key(), &child->row_key));
    child->keys.push_back(child->row_key);
    child->resume.assign(iterator.key());
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

// `*changed`: a row was changed or has gone between its being found and its being locked, and may
// have come to a place where the search has been.
Status ForeignKeyActions::RunBatch(const Action& action, Child* child, bool* changed) {
  const BoundForeignKey& key = action.key;
  const IndexCodec& codec = *child->table->primary().codec;
  const ColumnFamily& rows = child->table->primary().family();
  for (const std::string& row_key : child->keys) {
    if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
    if (child->table->layout().validity != nullptr && !key.search->is_exact()) {
      CAIRN_ASSIGN_OR_RETURN(const bool is_past, IsPast(action, child, row_key));
      if (is_past) continue;
    }
    rocksdb::PinnableSlice value;
    Status read;
    {
      const CountedWait wait(*key.key);
      read = action.transaction->GetForUpdate(rows, row_key, LockMode::kExclusive, &value);
    }
    if (read.code() == StatusCode::kNotFound) {
      *changed = true;
      continue;
    }
    CAIRN_RETURN_IF_ERROR(read);
    CAIRN_RETURN_IF_ERROR(
        codec.Decode(*child->plan, row_key, value.ToStringView(), child->record.data()));
    if (!HaveEqualValues(key.columns, action.old_record, key.other_columns, child->record.data())) {
      *changed = *changed || key.search->is_exact();
      continue;
    }
    CAIRN_RETURN_IF_ERROR(ChangeChild(action, child, row_key));
  }
  return Status();
}

// Whether the row is one of the past, which it stays: it needs no lock.
Result<bool> ForeignKeyActions::IsPast(const Action& action, Child* child, std::string_view key) {
  const TableIndex& rows = child->table->primary();
  rocksdb::PinnableSlice value;
  const Status read = action.transaction->Get(rows.family(), key, kForeignKeyView, &value);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  CAIRN_RETURN_IF_ERROR(
      rows.codec->Decode(*child->plan, key, value.ToStringView(), child->record.data()));
  return child->table->layout().IsPast(child->record.data());
}

// The row is locked, and decoded into child->record.
Status ForeignKeyActions::ChangeChild(const Action& action, Child* child, std::string_view key) {
  if (chain_.size() >= kMostAbove) {
    NoteRefusal(action);
    return Status(StatusCode::kForeignKeyDepth);
  }
  Status written = WriteChild(action, child, key);
  if (written.ok()) {
    NoteChanged(child->table);
    action.transaction->actions().Note(child->table->primary().definition.id.index_number,
                                       child->moved);
    ForeignKeyCounters::Count(&action.key.key->counters->rows_followed);
  }
  if (written.code() == StatusCode::kUnchanged) return Status();
  if (written.code() == StatusCode::kDuplicateKey) {
    return RefuseDuplicate(action, *child, child->writer->duplicate_index());
  }
  const ForeignKeyChecks& checks = child->writer->foreign_keys();
  if (IsRefusal(written.code()) && checks.failed_key() != nullptr) {
    action.checks->SetFailedAs(checks);
  }
  return written;
}

// Gives child->new_record the values that have changed in the parent, and leaves others as the
// child has them, in other letters perhaps. False: one does not fit.
Result<bool> ForeignKeyActions::AssignChanged(const Action& action, Child* child) {
  const ForeignKey& key = *action.key.key;
  if (child->columns_of != key.number) {
    child->columns.clear();
    child->columns_of = key.number;
    for (const ForeignKeyRecord::ColumnPair& pair : key.record.columns) {
      const ForeignKeyBinding of_parent = BindForeignKeyColumns(action.parent, {pair.parent});
      const ForeignKeyBinding of_child = BindForeignKeyColumns(*child->table, {pair.child});
      Child::Column column;
      CAIRN_ASSIGN_OR_RETURN(column.of_parent,
                             ForeignKeyColumns::Make(action.parent.layout(), of_parent.columns));
      CAIRN_ASSIGN_OR_RETURN(column.of_child,
                             ForeignKeyColumns::Make(child->table->layout(), of_child.columns));
      child->columns.push_back(std::move(column));
    }
  }
  return std::all_of(child->columns.begin(), child->columns.end(),
                     [&](const Child::Column& column) {
                       return !column.of_parent.BytesDiffer(action.old_record, action.new_record) ||
                              column.of_child.Assign(column.of_parent, action.new_record,
                                                     child->new_record.data());
                     });
}

void ForeignKeyActions::BindAssigned(const Action& action, Child* child) {
  const ForeignKey& key = *action.key.key;
  if (child->assigned_of == key.number) return;
  std::vector<std::string> names;
  for (const auto& pair : key.record.columns) names.push_back(pair.child);
  child->assigned = BindForeignKeyColumns(*child->table, names).columns;
  if (child->made != nullptr) child->long_uniques = child->made->LongUniques(child->assigned);
  child->assigned_of = key.number;
}

// When the row was changed that actions go back to.
const std::string& ForeignKeyActions::Time(const Child& child) {
  const auto link = std::find_if(chain_.rbegin(), chain_.rend(),
                                 [](const Link& each) { return !each.time.empty(); });
  const TableLayout& layout = child.table->layout();
  const std::string_view start =
      ImageOf(layout.columns[layout.validity->start], child.record.data());
  time_ = link == chain_.rend() ? now_(start) : std::string(link->time);
  return time_;
}

// Makes the virtual columns of child->new_record, whose stored ones are complete, and sees whether
// it may have its long unique values.
Status ForeignKeyActions::MakeNewColumns(const Action& action, Child* child, std::string_view key) {
  std::vector<uint32_t> changed = child->assigned;
  const ValidityColumns* const validity = child->table->layout().validity.get();
  if (validity != nullptr) changed.push_back(validity->start);
  CAIRN_RETURN_IF_ERROR(
      child->made->MakeChanged(changed, child->new_record.data(), &child->new_blobs));
  CAIRN_ASSIGN_OR_RETURN(const auto taken, TakenLongUnique(action, child, child->long_uniques,
                                                           child->new_record.data(), key));
  return taken.has_value() ? RefuseDuplicate(action, *child, *taken) : Status();
}

// The first of these long unique keys in which another row has the value of the record.
Result<std::optional<uint32_t>> ForeignKeyActions::TakenLongUnique(
    const Action& action, Child* child, const std::vector<uint32_t>& indexes, const uint8_t* record,
    std::string_view key) {
  for (const uint32_t index : indexes) {
    const Status unique = child->uniques.Check(action.transaction, child->made, index, record, key);
    if (unique.code() == StatusCode::kDuplicateKey) return std::optional(index);
    CAIRN_RETURN_IF_ERROR(unique);
  }
  return std::optional<uint32_t>();
}

// `key`: the row's primary key, index number first.
Status ForeignKeyActions::WriteChild(const Action& action, Child* child, std::string_view key) {
  uint64_t hidden_key = 0;
  if (child->table->has_hidden_key()) {
    CAIRN_ASSIGN_OR_RETURN(hidden_key, child->table->primary().codec->HiddenKey(key));
  }
  if (child->made != nullptr) {
    CAIRN_RETURN_IF_ERROR(child->made->MakeAll(child->record.data(), &child->blobs));
  }
  TableWriter& writer = *child->writer;
  writer.foreign_keys().Except(action.key.key->number);
  writer.foreign_keys().SetFailed(nullptr);
  child->moved = false;
  if (action.deletes_children()) {
    return child->table->layout().validity == nullptr
               ? writer.Delete(action.transaction, child->record.data(), hidden_key)
               : EndChild(action, child, key, hidden_key);
  }
  return UpdateChild(action, child, key, hidden_key);
}

// The row of a table with versions becomes one of the past.
Status ForeignKeyActions::EndChild(const Action& action, Child* child, std::string_view key,
                                   uint64_t hidden_key) {
  const TableLayout& layout = child->table->layout();
  const uint32_t end = layout.validity->end;
  child->new_record = child->record;
  SetImage(layout.columns[end], Time(*child), child->new_record.data());
  std::optional<uint32_t> taken;
  if (child->made != nullptr) {
    CAIRN_RETURN_IF_ERROR(
        child->made->MakeChanged({end}, child->new_record.data(), &child->new_blobs));
    CAIRN_ASSIGN_OR_RETURN(taken, TakenLongUnique(action, child, child->made->LongUniques({end}),
                                                  child->new_record.data(), key));
  }
  if (!taken.has_value()) {
    Status ended = child->writer->Update(action.transaction, child->record.data(),
                                         child->new_record.data(), hidden_key);
    if (ended.code() != StatusCode::kDuplicateKey) return ended;
  }
  // A change at the same time has left one with that end behind.
  return child->writer->Delete(action.transaction, child->record.data(), hidden_key);
}

// Gives the row what SET NULL or CASCADE says.
Status ForeignKeyActions::UpdateChild(const Action& action, Child* child, std::string_view key,
                                      uint64_t hidden_key) {
  const std::string& name = child->table->definition().name;
  if (std::any_of(chain_.begin(), chain_.end(),
                  [&name](const Link& link) { return link.is_update && *link.table == name; })) {
    return Refuse(action);
  }
  child->new_record = child->record;
  bool fits = false;
  if (action.what() == ForeignKeyAction::kSetNull) {
    fits = action.key.other_columns.SetNull(child->new_record.data());
  } else {
    CAIRN_ASSIGN_OR_RETURN(fits, AssignChanged(action, child));
  }
  if (!fits) return Refuse(action);
  BindAssigned(action, child);
  const TableLayout& layout = child->table->layout();
  const bool leaves_past = BeginVersion(child);
  if (child->made != nullptr) CAIRN_RETURN_IF_ERROR(MakeNewColumns(action, child, key));
  const IndexCodec& primary = *child->table->primary().codec;
  if (!child->table->has_hidden_key()) {
    primary.EncodeKey(child->record.data(), 0, &child->row_key, &child->unpack_info);
    primary.EncodeKey(child->new_record.data(), 0, &child->new_row_key, &child->unpack_info);
    child->moved = child->row_key != child->new_row_key;
    if (child->moved) {
      child->table->definition().counters->GiveUntoldValues();
    }
  }
  CAIRN_RETURN_IF_ERROR(child->writer->Update(action.transaction, child->record.data(),
                                              child->new_record.data(), hidden_key));
  if (!leaves_past) return Status();
  const uint32_t end = layout.validity->end;
  const ColumnLayout& start = layout.columns[layout.validity->start];
  SetImage(layout.columns[end], ImageOf(start, child->new_record.data()), child->record.data());
  if (child->made != nullptr) {
    CAIRN_RETURN_IF_ERROR(child->made->MakeChanged({end}, child->record.data(), &child->blobs));
    CAIRN_ASSIGN_OR_RETURN(
        const auto taken,
        TakenLongUnique(action, child, child->made->LongUniques({end}), child->record.data(), key));
    if (taken.has_value()) return RefuseDuplicate(action, *child, *taken);
  }
  return child->writer->Insert(action.transaction, child->record.data());
}

// In a table with versions, the new record is valid from now on, if something has changed of which
// that is to be known. True: what was is to be kept as a row of the past.
bool ForeignKeyActions::BeginVersion(Child* child) {
  const TableLayout& layout = child->table->layout();
  if (layout.validity == nullptr) return false;
  const bool is_watched =
      std::any_of(child->assigned.begin(), child->assigned.end(), [&](uint32_t column) {
        return !layout.validity->unwatched[column] &&
               Differs(layout.columns[column], child->record.data(), child->new_record.data());
      });
  if (!is_watched) return false;
  const ColumnLayout& start = layout.columns[layout.validity->start];
  const std::string& time = Time(*child);
  const bool leaves_past = ImageOf(start, child->record.data()) < time;
  SetImage(start, time, child->new_record.data());
  return leaves_past;
}

}  // namespace cairn
