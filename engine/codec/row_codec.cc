#include "engine/codec/row_codec.h"

#include <algorithm>
#include <cstring>

#include "engine/codec/image_length.h"
#include "engine/codec/null_image.h"

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

inline bool IsNullInRecord(const ColumnStep& step, const uint8_t* record) {
  return step.record_null_mask != 0 &&
         (record[step.record_null_offset] & step.record_null_mask) != 0;
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

ColumnStep MakeStep(const ColumnLayout& column, bool trims_chars) {
  ColumnStep step;
  step.record_null_offset = column.null_offset;
  step.record_null_mask = column.null_mask;
  step.image_offset = column.offset;
  step.image_bytes = column.image_bytes;
  step.null_image = column.null_image.get();
  if (column.type == ColumnType::kVarchar || column.type == ColumnType::kBlob) {
    step.kind = column.type == ColumnType::kVarchar ? Kind::kVarchar : Kind::kBlob;
    step.length_bytes = static_cast<uint8_t>(column.length_bytes);
    step.capacity = column.image_bytes - column.length_bytes;
  } else if (trims_chars && TrimsInRow(column)) {
    step.kind = Kind::kTrimmedChar;
    step.length_bytes = column.image_bytes <= UINT8_MAX ? 1 : 2;
    step.capacity = column.image_bytes;
  }
  return step;
}

// Appends the step or, when both are NOT NULL images that lie side by side, extends the last one.
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

}  // namespace

bool TrimsInRow(const ColumnLayout& column) {
  constexpr uint32_t kMostFixedBytes = 32;  // Persisted.
  if (column.type != ColumnType::kChar || column.is_virtual) return false;
  const Collation::Traits& traits = column.collation->traits();
  return traits.kind != CollationKind::kBinary && traits.space_char_bytes == 1 &&
         column.image_bytes != 0 &&
         (traits.max_char_bytes > 1 || column.image_bytes > kMostFixedBytes);
}

RowCodec::RowCodec(const TableLayout& table, const ColumnSet& in_key, bool trims_chars)
    : stored_(table.columns.size(), false) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].is_virtual) continue;  // Neither its NULL bit nor its image is stored.
    ColumnStep step = MakeStep(table.columns[i], trims_chars);
    if (table.columns[i].nullable()) {
      step.value_null_offset = static_cast<uint32_t>(null_columns_.size() / 8);
      step.value_null_mask = static_cast<uint8_t>(1u << (null_columns_.size() % 8));
      null_columns_.push_back(step);
      if (step.null_image != nullptr) null_images_.push_back(table.columns[i].null_image);
    }
    if (in_key[i]) continue;
    stored_[i] = true;
    columns_.push_back(step);
    column_numbers_.push_back(static_cast<uint32_t>(i));
    if (step.image_bytes != 0) AppendStep(step, &write_steps_);
  }
  null_bytes_ = (null_columns_.size() + 7) / 8;
}

void RowCodec::AppendNullBits(const uint8_t* record, std::string* value) const {
  if (null_bytes_ == 0) return;
  const size_t start = value->size();
  value->append(null_bytes_, '\0');
  char* const bits = value->data() + start;
  for (const ColumnStep& column : null_columns_) {
    if (IsNullInRecord(column, record)) {
      bits[column.value_null_offset] =
          static_cast<char>(bits[column.value_null_offset] | column.value_null_mask);
    }
  }
}

void RowCodec::AppendColumns(const uint8_t* record, std::string* value) const {
  size_t bytes = 0;
  for (const ColumnStep& step : write_steps_) {
    if (IsNullInRecord(step, record)) continue;
    switch (step.kind) {
      case Kind::kFixed:
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
  for (const ColumnStep& step : write_steps_) {
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
  const size_t used = null_columns_.size() % 8;
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
