#include "engine/codec/layout_history.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/codec/image_length.h"
#include "engine/codec/layout_check.h"

namespace cairn {
namespace {

using Place = PhysicalColumn::Place;

constexpr uint16_t kBinaryCollation = 63;  // The server's number of `binary`.
constexpr char kNoKeyColumn[] = "Cannot add, drop or change a column of the primary key";

Status Invalid(std::string text) { return Status(StatusCode::kInvalidArgument, std::move(text)); }
Status Unsupported(std::string text) { return Status(StatusCode::kNotSupported, std::move(text)); }

bool HasPossibleCharSizes(const ColumnShape& shape) {
  if (shape.max_bytes != shape.image_bytes) return false;
  if (!shape.is_trimmed) return shape.length_bytes == 0;
  return shape.image_bytes != 0 && !IsBinary(shape) &&
         shape.length_bytes == (shape.image_bytes <= UINT8_MAX ? 1 : 2);
}

bool HasPossibleSizes(const ColumnShape& shape) {
  if (shape.image_bytes > LayoutHistory::kMostImageBytes) return false;
  switch (shape.type) {
    case ColumnType::kChar:
      return HasPossibleCharSizes(shape);
    case ColumnType::kVarchar:
      return (shape.length_bytes == 1 || shape.length_bytes == 2) &&
             shape.image_bytes == shape.max_bytes + shape.length_bytes &&
             (shape.length_bytes == 2 || shape.max_bytes <= UINT8_MAX);
    case ColumnType::kBlob:
      return shape.length_bytes >= 1 && shape.length_bytes <= 4 && shape.max_bytes == 0 &&
             shape.image_bytes == shape.length_bytes + sizeof(const char*);
    case ColumnType::kSignedInteger:
    case ColumnType::kUnsignedInteger:
    case ColumnType::kEnum:
      if (!IsIntegerWidth(shape.image_bytes)) return false;
      break;
    case ColumnType::kFloat:
    case ColumnType::kDouble:
    case ColumnType::kFixedImage:
    case ColumnType::kDate:
    case ColumnType::kOldTimestamp:
    case ColumnType::kOldTime:
    case ColumnType::kOldTimeFraction:
    case ColumnType::kOpaqueFixed:
      break;
  }
  return shape.length_bytes == 0 && shape.max_bytes == 0;
}

bool IsPossible(const ColumnShape& shape) {
  return HasPossibleSizes(shape) && !(shape.is_trimmed && shape.type != ColumnType::kChar) &&
         !(shape.is_in_key && shape.is_nullable);
}

// Whether rows have the same bytes for each value that fits the narrower column `from`.
bool KeepsBytes(const ColumnShape& from, const ColumnShape& to) {
  if (from == to) return true;
  if (from.is_in_key || to.is_in_key || from.type != to.type ||
      from.length_bytes != to.length_bytes || from.is_nullable != to.is_nullable ||
      from.is_trimmed != to.is_trimmed || IsBinary(from) != IsBinary(to)) {
    return false;
  }
  return from.type == ColumnType::kVarchar ? from.max_bytes <= to.max_bytes
                                           : from.image_bytes == to.image_bytes;
}

// Whether a value of `from` makes one of `to`, whatever it is, but for NULL.
bool Widens(const ColumnShape& from, const ColumnShape& to) {
  if (from.is_in_key || to.is_in_key) return false;
  if (from.type == ColumnType::kUnsignedInteger && to.type == ColumnType::kSignedInteger) {
    return from.image_bytes < to.image_bytes;
  }
  if (from.type != to.type || IsBinary(from) != IsBinary(to)) return false;
  switch (from.type) {
    case ColumnType::kSignedInteger:
    case ColumnType::kUnsignedInteger:
    case ColumnType::kEnum:
    case ColumnType::kChar:
      return from.image_bytes <= to.image_bytes;
    case ColumnType::kVarchar:
      return from.max_bytes <= to.max_bytes && from.length_bytes <= to.length_bytes;
    case ColumnType::kBlob:
      return from.length_bytes <= to.length_bytes;
    default:
      return from.image_bytes == to.image_bytes;
  }
}

Status CheckChange(const ColumnShape& from, const StoredColumn& to) {
  // Where a space has several bytes, the codec does not know which.
  const bool pads_unknown = to.shape.type == ColumnType::kChar && to.space_bytes != 1 &&
                            to.shape.image_bytes != from.image_bytes;
  return Widens(from, to.shape) && !pads_unknown ? Status()
                                                 : Unsupported("Cannot change column type");
}

// Whether the absent image is a value of the column.
bool IsValue(const AbsentImage& absent, const ColumnShape& shape) {
  if (absent.kind == AbsentImage::Kind::kNull) return shape.is_nullable && absent.bytes.empty();
  if (absent.bytes.size() > LayoutHistory::kMostAbsentBytes) return false;
  if (shape.length_bytes == 0) return absent.bytes.size() == shape.image_bytes;
  if (absent.bytes.size() < shape.length_bytes) return false;
  const uint32_t data_bytes = LoadImageLength(absent.bytes.data(), shape.length_bytes);
  return data_bytes == absent.bytes.size() - shape.length_bytes &&
         (shape.type == ColumnType::kBlob || data_bytes <= shape.max_bytes);
}

Status CheckBase(const PhysicalColumn& column) {
  if (column.added_in != 0 || column.predecessor != 0 ||
      column.absent.kind != AbsentImage::Kind::kNone) {
    return Invalid("a column of the base was not always there");
  }
  if (column.shape.is_in_key && column.dropped_in != 0) {
    return Invalid("a column of the primary key was dropped");
  }
  return Status();
}

// `before`: the columns with smaller numbers.
Status CheckExtension(const PhysicalColumn& column, const std::vector<PhysicalColumn>& before,
                      std::vector<bool>* has_successor) {
  if (column.added_in == 0 || column.shape.is_in_key) {
    return Invalid("a column of the extension was always there");
  }
  if (column.predecessor == 0) {
    return column.absent.kind != AbsentImage::Kind::kNone && IsValue(column.absent, column.shape)
               ? Status()
               : Invalid("an absent image is no value of its column");
  }
  if (column.predecessor > before.size() || (*has_successor)[column.predecessor - 1]) {
    return Invalid("a predecessor does not exist or has two successors");
  }
  (*has_successor)[column.predecessor - 1] = true;
  const PhysicalColumn& predecessor = before[column.predecessor - 1];
  if (predecessor.dropped_in != column.added_in || column.absent.kind != AbsentImage::Kind::kNone) {
    return Invalid("a predecessor does not live until its successor does");
  }
  return Widens(predecessor.shape, column.shape) ? Status()
                                                 : Invalid("a predecessor has another type");
}

Status CheckColumns(uint16_t version, const std::vector<PhysicalColumn>& columns) {
  if (columns.size() > LayoutHistory::kMostColumns) return Invalid("there are too many columns");
  std::vector<PhysicalColumn> before;
  std::vector<bool> has_successor(columns.size(), false);
  for (const PhysicalColumn& column : columns) {
    if (!IsPossible(column.shape)) return Invalid("a column has impossible sizes for its type");
    if (column.added_in > version || column.dropped_in > version ||
        (column.dropped_in != 0 && column.dropped_in <= column.added_in)) {
      return Invalid("a column lives in versions that there are not");
    }
    if (!before.empty() &&
        (column.place < before.back().place || column.added_in < before.back().added_in)) {
      return Invalid("the numbers of columns are not in the order of time");
    }
    CAIRN_RETURN_IF_ERROR(column.place == Place::kBase
                              ? CheckBase(column)
                              : CheckExtension(column, before, &has_successor));
    before.push_back(column);
  }
  return Status();
}

Status CheckLogical(const std::vector<PhysicalColumn>& columns,
                    const std::vector<uint32_t>& logical) {
  std::vector<bool> seen(columns.size(), false);
  for (const uint32_t number : logical) {
    if (number == 0 || number > columns.size() || seen[number - 1] ||
        columns[number - 1].dropped_in != 0) {
      return Invalid("a column of the table is none of the living ones");
    }
    seen[number - 1] = true;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].dropped_in == 0 && !seen[i])
      return Invalid("a living column is not the table's");
  }
  return Status();
}

Status CheckOrigins(size_t column_count, size_t present_count,
                    const std::vector<ColumnOrigin>& origins) {
  if (origins.size() != column_count) return Invalid("the origin of a column is missing");
  std::vector<bool> seen(present_count, false);
  for (const ColumnOrigin& origin : origins) {
    if (!origin.from.has_value()) continue;
    if (*origin.from >= present_count || seen[*origin.from]) {
      return Invalid("two columns have the same origin, or one that there is not");
    }
    seen[*origin.from] = true;
  }
  return Status();
}

}  // namespace

bool IsBinary(const ColumnShape& shape) { return shape.collation == kBinaryCollation; }

Result<LayoutHistory> LayoutHistory::Begin(const std::vector<StoredColumn>& row) {
  if (row.size() > kMostColumns) return Unsupported(LayoutHistory::kTooMany);
  std::vector<PhysicalColumn> columns;
  std::vector<uint32_t> logical;
  for (const StoredColumn& column : row) {
    columns.push_back({.shape = column.shape});
    logical.push_back(static_cast<uint32_t>(columns.size()));
  }
  return Make(0, std::move(columns), std::move(logical));
}

Result<LayoutHistory> LayoutHistory::Make(uint16_t version, std::vector<PhysicalColumn> columns,
                                          std::vector<uint32_t> logical) {
  CAIRN_RETURN_IF_ERROR(CheckColumns(version, columns));
  CAIRN_RETURN_IF_ERROR(CheckLogical(columns, logical));
  LayoutHistory history;
  history.version_ = version;
  history.columns_ = std::move(columns);
  history.logical_ = std::move(logical);
  return history;
}

Result<LayoutHistory> LayoutHistory::Next(const std::vector<StoredColumn>& row,
                                          const std::vector<ColumnOrigin>& origins) const {
  CAIRN_RETURN_IF_ERROR(CheckOrigins(row.size(), logical_.size(), origins));
  const auto next_version = static_cast<uint16_t>(version_ + 1);  // Looked at below.
  std::vector<PhysicalColumn> columns = columns_;
  std::vector<uint32_t> logical;
  std::vector<bool> stays(columns.size(), false);
  for (size_t i = 0; i < row.size(); ++i) {
    PhysicalColumn added = {.place = Place::kExtension,
                            .added_in = next_version,
                            .shape = row[i].shape,
                            .absent = origins[i].absent};
    if (origins[i].from.has_value()) {
      const uint32_t number = logical_[*origins[i].from];
      ColumnShape& present = columns[number - 1].shape;
      if (KeepsBytes(present, added.shape)) {
        present = added.shape;
        stays[number - 1] = true;
        logical.push_back(number);
        continue;
      }
      CAIRN_RETURN_IF_ERROR(CheckChange(present, row[i]));
      added.predecessor = number;
      added.absent = {};
    }
    if (added.shape.is_in_key) return Unsupported(kNoKeyColumn);
    columns.push_back(std::move(added));
    logical.push_back(static_cast<uint32_t>(columns.size()));
  }
  bool drops = false;
  for (const uint32_t number : logical_) {
    if (stays[number - 1]) continue;
    if (columns[number - 1].shape.is_in_key) return Unsupported(kNoKeyColumn);
    columns[number - 1].dropped_in = next_version;
    drops = true;
  }
  if (!drops && columns.size() == columns_.size()) {
    return Make(version_, std::move(columns), std::move(logical));
  }
  if (version_ == kLastVersion || columns.size() > kMostColumns)
    return Unsupported(LayoutHistory::kTooMany);
  return Make(next_version, std::move(columns), std::move(logical));
}

Status LayoutHistory::CheckFits(const std::vector<StoredColumn>& row) const {
  if (row.size() != logical_.size()) {
    return Status(StatusCode::kMetadataMismatch,
                  "the history of row layouts has " + std::to_string(logical_.size()) +
                      " columns, the table stores " + std::to_string(row.size()));
  }
  for (size_t i = 0; i < row.size(); ++i) {
    if (column(logical_[i]).shape == row[i].shape) continue;
    return Status(StatusCode::kMetadataMismatch,
                  "the history of row layouts has another type for stored column " +
                      std::to_string(i + 1) + " of the table");
  }
  return Status();
}

uint32_t LayoutHistory::Find(uint32_t logical, uint16_t version) const {
  uint32_t number = logical_[logical];
  while (!column(number).LivesIn(version) && column(number).predecessor != 0) {
    number = column(number).predecessor;
  }
  return number;
}

}  // namespace cairn
