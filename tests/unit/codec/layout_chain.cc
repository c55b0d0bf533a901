#include "tests/unit/codec/layout_chain.h"

#include <algorithm>
#include <utility>

#include "engine/codec/row_codec.h"
#include "tests/unit/codec/random_table.h"

namespace cairn::testing {
namespace {

// Columns have their NULL bits in the first bytes of the record.
constexpr size_t kMostColumns = 24;

bool IsInteger(ColumnType type) {
  return type == ColumnType::kSignedInteger || type == ColumnType::kUnsignedInteger ||
         type == ColumnType::kEnum;
}

// A value of `from` as one of `to`, which it became.
Cell Convert(const Cell& cell, const ColumnLayout& from, const ColumnLayout& to) {
  if (cell.is_null() || !IsInteger(from.type)) return cell;
  std::string image = cell.data->substr(0, from.image_bytes);
  const bool is_negative =
      from.type == ColumnType::kSignedInteger && (static_cast<uint8_t>(image.back()) & 0x80) != 0;
  image.resize(to.image_bytes, is_negative ? '\xff' : '\0');
  return Cell(std::move(image));
}

// Makes the type of a column wider, where there is a wider one.
void Widen(ColumnLayout* column, Random* random) {
  switch (column->type) {
    case ColumnType::kSignedInteger:
    case ColumnType::kUnsignedInteger:
    case ColumnType::kEnum:
      if (column->image_bytes == 8) return;
      column->image_bytes = column->image_bytes == 4 || random->OneIn(2) ? 8 : 4;
      if (column->type == ColumnType::kUnsignedInteger && random->OneIn(2)) {
        column->type = ColumnType::kSignedInteger;
      }
      return;
    case ColumnType::kChar:
      column->image_bytes += static_cast<uint32_t>(random->Between(1, 40)) *
                             column->collation->traits().max_char_bytes;
      column->max_bytes = column->image_bytes;
      return;
    case ColumnType::kVarchar:
      column->max_bytes += static_cast<uint32_t>(random->Between(1, 80)) *
                           column->collation->traits().max_char_bytes;
      column->length_bytes = column->max_bytes > UINT8_MAX ? 2 : column->length_bytes;
      column->image_bytes = column->max_bytes + column->length_bytes;
      return;
    case ColumnType::kBlob:
      if (column->length_bytes == 4) return;
      ++column->length_bytes;
      ++column->image_bytes;
      return;
    default:
      return;
  }
}

}  // namespace

LayoutChain::LayoutChain(Random* random) : random_(random) {
  const TestTable first = RandomTable(random);
  primary_ = first.primary();
  for (const ColumnLayout& layout : first.layout().columns) {
    columns_.push_back({.id = next_id_++, .layout = layout});
  }
  for (const KeyPartLayout& part : primary_.parts) {
    columns_[part.column].in_primary = true;
    primary_ids_.push_back(columns_[part.column].id);
  }
  for (Column& column : columns_) {
    if (!column.in_primary) column.layout.is_virtual = random->OneIn(8);
  }
  Rebuild();
}

void LayoutChain::Alter() {
  log_.emplace_back("ALTER");
  uint32_t stored = 0;
  for (Column& column : columns_) {
    column.from.reset();
    if (!column.layout.is_virtual) column.from = stored++;
  }
  const bool is_first = history() == nullptr;
  LayoutHistory before = [&] {
    if (!is_first) return *history();
    auto begun = LayoutHistory::Begin(*IndexCodec::DescribeRow(table_->layout(), primary_));
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return *std::move(begun);
  }();
  for (size_t count = random_->Between(1, 3); count != 0; --count) {
    switch (random_->Below(5)) {
      case 0:
        Drop();
        break;
      case 1:
        Move();
        break;
      case 2:
        Grow();
        break;
      default:
        Add();
    }
  }
  primary_.history = nullptr;
  Rebuild();
  const auto row = IndexCodec::DescribeRow(table_->layout(), primary_);
  ASSERT_TRUE(row.ok()) << row.status().ToString();
  std::vector<ColumnOrigin> origins;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].layout.is_virtual) continue;
    origins.push_back({columns_[i].from});
    if (!columns_[i].from.has_value()) origins.back().absent = AbsentOf(columns_[i], i);
  }
  auto next = before.Next(*row, origins);
  ASSERT_TRUE(next.ok()) << next.status().ToString() << Describe();
  primary_.history = std::make_shared<const LayoutHistory>(*std::move(next));
  Rebuild();
}

void LayoutChain::Add() {
  if (columns_.size() >= kMostColumns) return;
  const TestTable other = RandomTable(random_);
  Column column = {.id = next_id_++};
  column.layout = other.layout().columns[random_->Below(other.layout().columns.size())];
  column.layout.name = "c" + std::to_string(column.id);
  column.added_as = column.layout;
  column.absent = column.layout.nullable() && random_->OneIn(2)
                      ? Cell(nullptr)
                      : RandomValue(column.layout, random_);
  log_.push_back("add " + column.layout.name);
  const size_t at = random_->Below(columns_.size() + 1);
  columns_.insert(columns_.begin() + static_cast<ptrdiff_t>(at), std::move(column));
}

LayoutChain::Column* LayoutChain::Choose() {
  Column& column = columns_[random_->Below(columns_.size())];
  return column.in_primary || column.layout.is_virtual ? nullptr : &column;
}

void LayoutChain::Drop() {
  const Column* const column = Choose();
  if (column == nullptr || columns_.size() == 1) return;
  log_.push_back("drop " + column->layout.name);
  columns_.erase(columns_.begin() + (column - columns_.data()));
}

void LayoutChain::Move() {
  const size_t from = random_->Below(columns_.size());
  Column column = std::move(columns_[from]);
  columns_.erase(columns_.begin() + static_cast<ptrdiff_t>(from));
  log_.push_back("move " + column.layout.name);
  const size_t to = random_->Below(columns_.size() + 1);
  columns_.insert(columns_.begin() + static_cast<ptrdiff_t>(to), std::move(column));
}

void LayoutChain::Grow() {
  Column* const column = Choose();
  // An added one has the type that its absent image has.
  if (column == nullptr || !column->from.has_value()) return;
  if (random_->OneIn(3)) {
    log_.push_back("nullable " + column->layout.name);
    column->layout.null_mask = 1;  // Rebuild() says which.
  } else {
    log_.push_back("widen " + column->layout.name);
    Widen(&column->layout, random_);
  }
}

void LayoutChain::Rebuild() {
  table_ = std::make_unique<TestTable>();
  for (Column& column : columns_) {
    table_->Column(column.layout.name, column.layout.type, column.layout.image_bytes);
    if (column.layout.nullable()) table_->Nullable();
    ColumnLayout& layout = table_->mutable_layout().columns.back();
    layout.length_bytes = column.layout.length_bytes;
    layout.max_bytes = column.layout.max_bytes;
    layout.collation = column.layout.collation;
    layout.is_virtual = column.layout.is_virtual;
    column.layout = layout;
  }
  for (size_t i = 0; i < primary_ids_.size(); ++i) {
    const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const Column& column) {
      return column.id == primary_ids_[i];
    });
    primary_.parts[i].column = static_cast<uint32_t>(found - columns_.begin());
  }
  auto codec = IndexCodec::Make(table_->layout(), primary_, primary_);
  ASSERT_TRUE(codec.ok()) << codec.status().ToString() << Describe();
  codec_ = *std::move(codec);
}

AbsentImage LayoutChain::AbsentOf(const Column& column, size_t position) const {
  Row row;
  for (const Column& other : columns_) {
    row.push_back(other.layout.nullable() ? Cell(nullptr)
                                          : Cell(std::string(other.layout.image_bytes, '\0')));
    // Of a string: no bytes.
    if (other.layout.collation != nullptr && !row.back().is_null()) row.back() = Cell("");
  }
  row[position] = *column.absent;
  const Record record(*table_, row);
  auto absent =
      AbsentImageOf(table_->layout().columns[position], primary_.trims_chars, record.data());
  EXPECT_TRUE(absent.ok()) << absent.status().ToString();
  return *absent;
}

LayoutChain::StoredRow LayoutChain::Write() {
  StoredRow row;
  row.hidden_key = random_->Below(1000);
  row.version = history() == nullptr ? 0 : history()->version();
  for (const Column& column : columns_) {
    row.ids.push_back(column.id);
    row.columns.push_back(column.layout);
  }
  row.values = RandomRow(*table_, random_);
  const Record record(*table_, row.values);
  row.entry =
      Encode(*codec_, record, {.hidden_key = row.hidden_key, .checksums = random_->OneIn(2)});
  return row;
}

Row LayoutChain::Expect(const StoredRow& row) const {
  Row expected;
  for (const Column& column : columns_) {
    const auto found = std::find(row.ids.begin(), row.ids.end(), column.id);
    if (found == row.ids.end()) {
      expected.push_back(Convert(*column.absent, *column.added_as, column.layout));
      continue;
    }
    const auto i = static_cast<size_t>(found - row.ids.begin());
    expected.push_back(Convert(row.values[i], row.columns[i], column.layout));
  }
  return expected;
}

ColumnSet LayoutChain::Stored() const { return table_->Covered(*codec_); }

std::string LayoutChain::Describe() const {
  std::string text;
  for (const std::string& line : log_) text += "\n  " + line;
  for (const Column& column : columns_) {
    text += "\n  " + column.layout.name + " type " +
            std::to_string(static_cast<int>(column.layout.type)) + ", " +
            std::to_string(column.layout.image_bytes) + " bytes" +
            (column.layout.nullable() ? "" : " NOT NULL") + (column.in_primary ? " PRIMARY" : "") +
            (column.layout.is_virtual ? " VIRTUAL" : "");
  }
  if (history() != nullptr) text += "\n  version " + std::to_string(history()->version());
  return text;
}

}  // namespace cairn::testing
