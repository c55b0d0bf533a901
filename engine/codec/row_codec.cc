#include "engine/codec/row_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/codec/image_length.h"
#include "engine/codec/null_image.h"
#include "engine/codec/row_versions.h"

namespace cairn {
namespace {

using Kind = ColumnStep::Kind;
using Use = ColumnStep::Use;

// Columns are short: a constant size lets the compiler copy in registers.
inline void CopyImage(void* to, const void* from, size_t bytes) {
  switch (bytes) {
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 3:
      std::memcpy(to, from, 3);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 5:
      std::memcpy(to, from, 5);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    case 16:
      std::memcpy(to, from, 16);
      return;
    default:
      std::memcpy(to, from, bytes);
  }
}

// The bytes of a CHAR's image but for the spaces that fill it up.
uint32_t TrimmedCharBytes(const ColumnStep& step, const uint8_t* record) {
  constexpr uint64_t kSpaces = 0x2020202020202020;
  const uint8_t* const image = record + step.image_offset;
  uint32_t bytes = step.image_bytes;
  for (uint64_t word; bytes >= sizeof word; bytes -= sizeof word) {
    std::memcpy(&word, image + bytes - sizeof word, sizeof word);
    if (word != kSpaces) break;
  }
  while (bytes != 0 && image[bytes - 1] == ' ') --bytes;
  return bytes;
}

// Data bytes behind the length of a VARCHAR in a record; a record never holds more than fits.
inline uint32_t VarcharDataBytes(const ColumnStep& step, const uint8_t* record) {
  return std::min(LoadImageLength(record + step.image_offset, step.length_bytes), step.capacity);
}

// `kPlaceholders`: whether steps may be of the kind kZeros.
template <bool kPlaceholders>
inline void Append(const std::vector<ColumnStep>& steps, const uint8_t* record,
                   std::string* value) {
  size_t bytes = 0;
  for (const ColumnStep& step : steps) {
    if (IsNullInRecord(step, record)) continue;
    switch (step.kind) {
      case Kind::kFixed:
      case Kind::kZeros:
        bytes += step.image_bytes;
        break;
      case Kind::kTrimmedChar:
        bytes += step.length_bytes + step.image_bytes;  // At most; to look for spaces takes longer.
        break;
      case Kind::kVarchar:
        bytes += step.length_bytes + VarcharDataBytes(step, record);
        break;
      case Kind::kBlob:
        bytes += step.length_bytes + LoadImageLength(record + step.image_offset, step.length_bytes);
        break;
    }
  }
  const size_t start = value->size();
  value->resize(start + bytes);
  char* to = value->data() + start;
  for (const ColumnStep& step : steps) {
    if (IsNullInRecord(step, record)) continue;
    const uint8_t* image = record + step.image_offset;
    if (step.kind == Kind::kFixed) {
      CopyImage(to, image, step.image_bytes);
      to += step.image_bytes;
      continue;
    }
    if (step.kind == Kind::kTrimmedChar) {
      const uint32_t data_bytes = TrimmedCharBytes(step, record);
      StoreImageLength(data_bytes, step.length_bytes, to);
      std::memcpy(to + step.length_bytes, image, data_bytes);
      to += step.length_bytes + data_bytes;
      continue;
    }
    if (step.kind == Kind::kVarchar) {
      const size_t image_bytes = step.length_bytes + VarcharDataBytes(step, record);
      std::memcpy(to, image, image_bytes);
      to += image_bytes;
      continue;
    }
    if constexpr (kPlaceholders) {
      if (step.kind == Kind::kZeros) {
        std::memset(to, 0, step.image_bytes);
        to += step.image_bytes;
        continue;
      }
    }
    const uint32_t data_bytes = LoadImageLength(image, step.length_bytes);
    StoreImageLength(data_bytes, step.length_bytes, to);
    to += step.length_bytes;
    if (data_bytes == 0) continue;
    const char* data;
    std::memcpy(&data, image + step.length_bytes, sizeof data);
    std::memcpy(to, data, data_bytes);
    to += data_bytes;
  }
  value->resize(to - value->data());
}

// Extends the last step by zeros.
void AppendZeros(uint32_t bytes, std::vector<ColumnStep>* steps) {
  if (steps->empty() || steps->back().kind != Kind::kZeros) {
    steps->push_back({.kind = Kind::kZeros});
  }
  steps->back().image_bytes += bytes;
}

}  // namespace

ColumnStep StepOf(const ColumnShape& shape) {
  ColumnStep step;
  step.length_bytes = shape.length_bytes;
  step.image_bytes = shape.image_bytes;
  if (shape.type == ColumnType::kVarchar || shape.type == ColumnType::kBlob) {
    step.kind = shape.type == ColumnType::kVarchar ? Kind::kVarchar : Kind::kBlob;
    step.capacity = shape.image_bytes - shape.length_bytes;
  } else if (shape.is_trimmed) {
    step.kind = Kind::kTrimmedChar;
    step.capacity = shape.image_bytes;
  }
  return step;
}

void PlaceInRecord(const ColumnLayout& column, ColumnStep* step) {
  step->record_null_offset = column.null_offset;
  step->record_null_mask = column.null_mask;
  step->image_offset = column.offset;
  step->null_image = column.null_image.get();
}

void AppendStep(const ColumnStep& step, std::vector<ColumnStep>* steps) {
  if (!steps->empty() && step.kind == Kind::kFixed && step.value_null_mask == 0) {
    ColumnStep& last = steps->back();
    const bool adjacent =
        step.use == Use::kPass || last.image_offset + last.image_bytes == step.image_offset;
    if (last.kind == Kind::kFixed && last.value_null_mask == 0 && last.use == step.use &&
        adjacent) {
      last.image_bytes += step.image_bytes;
      return;
    }
  }
  steps->push_back(step);
}

void AppendImages(const std::vector<ColumnStep>& steps, const uint8_t* record, std::string* value) {
  Append<false>(steps, record, value);
}

bool TrimsInRow(const ColumnLayout& column) {
  constexpr uint32_t kMostFixedBytes = 32;  // Persisted.
  if (column.type != ColumnType::kChar || column.is_virtual) return false;
  const Collation::Traits& traits = column.collation->traits();
  return traits.kind != CollationKind::kBinary && traits.space_char_bytes == 1 &&
         column.image_bytes != 0 &&
         (traits.max_char_bytes > 1 || column.image_bytes > kMostFixedBytes);
}

ColumnShape ShapeOf(const ColumnLayout& column, bool is_in_key, bool trims_chars) {
  ColumnShape shape = {.type = column.type,
                       .length_bytes = static_cast<uint8_t>(column.length_bytes),
                       .image_bytes = column.image_bytes,
                       .is_nullable = column.nullable(),
                       .is_trimmed = trims_chars && TrimsInRow(column),
                       .is_in_key = is_in_key};
  if (column.type == ColumnType::kVarchar || column.type == ColumnType::kChar) {
    shape.max_bytes = column.image_bytes - column.length_bytes;
  }
  if (shape.is_trimmed) shape.length_bytes = column.image_bytes <= UINT8_MAX ? 1 : 2;
  if (column.collation != nullptr) {
    shape.collation = static_cast<uint16_t>(column.collation->traits().id);
  }
  return shape;
}

std::vector<StoredColumn> StoredColumnsOf(const TableLayout& table, const ColumnSet& in_key,
                                          bool trims_chars) {
  std::vector<StoredColumn> stored;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnLayout& column = table.columns[i];
    if (column.is_virtual) continue;  // Neither its NULL bit nor its image is stored.
    const uint32_t space_bytes =
        column.collation == nullptr ? 1 : column.collation->traits().space_char_bytes;
    stored.push_back({ShapeOf(column, in_key[i], trims_chars), space_bytes});
  }
  return stored;
}

Result<AbsentImage> AbsentImageOf(const ColumnLayout& column, bool trims_chars,
                                  const uint8_t* record) {
  ColumnStep step = StepOf(ShapeOf(column, /*is_in_key=*/false, trims_chars));
  PlaceInRecord(column, &step);
  AbsentImage absent;
  if (IsNullInRecord(step, record)) {
    absent.kind = AbsentImage::Kind::kNull;
    return absent;
  }
  absent.kind = AbsentImage::Kind::kBytes;
  if (step.image_bytes != 0) AppendImages({step}, record, &absent.bytes);
  if (absent.bytes.size() <= LayoutHistory::kMostAbsentBytes) return absent;
  return Status(StatusCode::kNotSupported, "the default of column `" + column.name +
                                               "` is too long for rows that do not have it");
}

RowCodec::RowCodec(const TableLayout& table, const ColumnSet& in_key, bool trims_chars,
                   std::shared_ptr<const LayoutHistory> history) {
  if (history != nullptr) {
    AddHistory(table, std::move(history));
  } else {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const ColumnLayout& column = table.columns[i];
      if (column.is_virtual) continue;  // Neither its NULL bit nor its image is stored.
      const ColumnShape shape = ShapeOf(column, in_key[i], trims_chars);
      ColumnStep step = StepOf(shape);
      PlaceInRecord(column, &step);
      AddColumn(step, shape, static_cast<uint32_t>(i));
    }
  }
  for (const ColumnLayout& column : table.columns) {
    if (column.null_image != nullptr) null_images_.push_back(column.null_image);
  }
}

void RowCodec::AddHistory(const TableLayout& table, std::shared_ptr<const LayoutHistory> history) {
  std::vector<uint32_t> table_columns(history->columns().size(), kNoColumn);
  size_t logical = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].is_virtual) continue;
    table_columns[history->logical()[logical++] - 1] = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < history->columns().size(); ++i) {
    const PhysicalColumn& column = history->columns()[i];
    if (column.place != PhysicalColumn::Place::kBase) break;
    ColumnStep step = StepOf(column.shape);
    if (table_columns[i] != kNoColumn) PlaceInRecord(table.columns[table_columns[i]], &step);
    AddColumn(step, column.shape, table_columns[i]);
  }
  versions_ = std::make_shared<const RowVersions>(table, std::move(history));
}

void RowCodec::AddColumn(ColumnStep step, const ColumnShape& shape, uint32_t number) {
  const bool lives = number != kNoColumn;
  if (shape.is_nullable) {
    step.value_null_offset = static_cast<uint32_t>(null_count_ / 8);
    step.value_null_mask = static_cast<uint8_t>(1u << (null_count_ % 8));
    if (null_count_++ % 8 == 0) null_bits_.push_back('\0');
    if (lives) {
      null_columns_.push_back(step);
    } else {
      null_bits_.back() = static_cast<char>(null_bits_.back() | step.value_null_mask);
    }
  }
  if (shape.is_in_key) return;
  columns_.push_back(step);
  column_numbers_.push_back(number);
  if (lives) {
    if (step.image_bytes != 0) AppendStep(step, &write_steps_);
  } else if (!shape.is_nullable) {
    AppendZeros(shape.length_bytes != 0 ? shape.length_bytes : shape.image_bytes, &write_steps_);
  }
}

void RowCodec::AppendNullBits(const uint8_t* record, std::string* value) const {
  if (null_bits_.empty()) return;
  const size_t start = value->size();
  value->append(null_bits_);
  char* const bits = value->data() + start;
  for (const ColumnStep& column : null_columns_) {
    if (IsNullInRecord(column, record)) {
      bits[column.value_null_offset] =
          static_cast<char>(bits[column.value_null_offset] | column.value_null_mask);
    }
  }
}

void RowCodec::AppendColumns(const uint8_t* record, std::string* value) const {
  if (versions_ == nullptr) [[likely]] {
    Append<false>(write_steps_, record, value);
    return;
  }
  Append<true>(write_steps_, record, value);
  versions_->AppendExtension(record, value);
}

std::vector<ColumnStep> RowCodec::CompileSteps(const ColumnSet& wanted, Extent extent) const {
  const auto is_wanted = [&](size_t i) {
    return column_numbers_[i] < wanted.size() && wanted[column_numbers_[i]];
  };
  size_t end = columns_.size();
  if (extent == Extent::kToLastWanted) {
    while (end != 0 && !is_wanted(end - 1)) --end;
  }
  std::vector<ColumnStep> steps;
  for (size_t i = 0; i < end; ++i) {
    ColumnStep step = columns_[i];
    step.use = is_wanted(i) ? Use::kFill : Use::kPass;
    // A column without bytes (CHAR(0)) still has its NULL bit to fill.
    if (step.image_bytes != 0 || step.value_null_mask != 0) AppendStep(step, &steps);
  }
  return steps;
}

bool RowCodec::NullBitsAreValid(std::string_view null_bits) const {
  const size_t used = null_count_ % 8;
  return used == 0 || (static_cast<uint8_t>(null_bits.back()) >> used) == 0;
}

Damage DecodeColumns(const std::vector<ColumnStep>& steps, std::string_view null_bits,
                     ByteReader* value, uint8_t* record) {
  for (const ColumnStep& step : steps) {
    uint8_t* const image = record + step.image_offset;
    const bool fill = step.use == Use::kFill;
    if (step.value_null_mask != 0) {
      const bool is_null =
          (static_cast<uint8_t>(null_bits[step.value_null_offset]) & step.value_null_mask) != 0;
      if (is_null) {
        if (fill) {
          record[step.record_null_offset] |= step.record_null_mask;
          FillNull(step.null_image,
                   step.kind == Kind::kVarchar ? step.length_bytes : step.image_bytes, image);
        }
        continue;
      }
      if (fill) record[step.record_null_offset] &= static_cast<uint8_t>(~step.record_null_mask);
    }
    std::string_view bytes;
    if (step.kind == Kind::kFixed) {
      if (!value->ReadBytes(step.image_bytes, &bytes)) return Damage::kShortValue;
      if (fill) CopyImage(image, bytes.data(), step.image_bytes);
      continue;
    }
    if (!value->ReadBytes(step.length_bytes, &bytes)) return Damage::kShortValue;
    const char* const start = bytes.data();
    const uint32_t data_bytes = LoadImageLength(start, step.length_bytes);
    if (step.kind != Kind::kBlob && data_bytes > step.capacity) return Damage::kTooLongColumn;
    if (!value->ReadBytes(data_bytes, &bytes)) return Damage::kShortValue;
    if (!fill) continue;
    if (step.kind == Kind::kVarchar) {
      std::memcpy(image, start, step.length_bytes + size_t{data_bytes});
    } else if (step.kind == Kind::kTrimmedChar) {
      std::memcpy(image, bytes.data(), data_bytes);
      std::memset(image + data_bytes, ' ', step.image_bytes - data_bytes);
    } else {
      StoreImageLength(data_bytes, step.length_bytes, image);
      const char* const data = bytes.data();
      std::memcpy(image + step.length_bytes, &data, sizeof data);
    }
  }
  return Damage::kNone;
}

void ClearBlobs(const std::vector<ColumnStep>& steps, uint8_t* record) {
  for (const ColumnStep& step : steps) {
    if (step.kind != Kind::kBlob || step.use != Use::kFill) continue;
    std::memset(record + step.image_offset, 0, step.image_bytes);
  }
}

}  // namespace cairn
