#include "engine/codec/row_versions.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/assert.h"
#include "engine/codec/checksum_chunk.h"
#include "engine/codec/image_length.h"
#include "engine/codec/null_image.h"

namespace cairn {
namespace {

using Kind = ColumnStep::Kind;
using Place = PhysicalColumn::Place;
using Use = ColumnStep::Use;

constexpr char kExtensionTag = 0x45;                            // Persisted.
constexpr size_t kExtensionHeaderBytes = 1 + sizeof(uint16_t);  // Persisted: tag and version.
// Steps of so many versions are kept at a time, as a table may have 65,535.
constexpr size_t kMostKeptVersions = 256;
constexpr size_t kMostKeptBytes = 256 << 10;  // Of their images.

size_t NullBytes(size_t null_count) { return (null_count + 7) / 8; }

// Gives a nullable column the next of the NULL bits.
void AssignNullBit(const ColumnShape& shape, size_t* null_count, ColumnStep* step) {
  if (!shape.is_nullable) return;
  step->value_null_offset = static_cast<uint32_t>(*null_count / 8);
  step->value_null_mask = static_cast<uint8_t>(1u << (*null_count % 8));
  ++*null_count;
}

// Takes the NULL bits of an extension off `*value`.
Damage ReadNullBits(size_t null_count, ByteReader* value, std::string_view* bits) {
  if (!value->ReadBytes(NullBytes(null_count), bits)) return Damage::kShortValue;
  const size_t used = null_count % 8;
  const bool is_valid = used == 0 || (static_cast<uint8_t>(bits->back()) >> used) == 0;
  return is_valid ? Damage::kNone : Damage::kBadNullBits;
}

// Not of a column that has become NOT NULL since.
Damage SetNull(const ColumnStep& to, uint8_t* record) {
  if (to.record_null_mask == 0) return Damage::kMissingValue;
  record[to.record_null_offset] |= to.record_null_mask;
  FillNull(to.null_image, to.kind == Kind::kVarchar ? to.length_bytes : to.image_bytes,
           record + to.image_offset);
  return Damage::kNone;
}

}  // namespace

RowVersions::RowVersions(const TableLayout& table, std::shared_ptr<const LayoutHistory> history)
    : history_(std::move(history)) {
  std::vector<ExtensionColumn> by_number(history_->columns().size());
  uint32_t logical = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnLayout& column = table.columns[i];
    if (column.is_virtual) continue;
    const uint32_t number = history_->logical()[logical];
    ExtensionColumn& extension = by_number[number - 1];
    extension = {logical++, static_cast<uint32_t>(i), StepOf(history_->column(number).shape)};
    PlaceInRecord(column, &extension.step);
    if (column.null_image != nullptr) null_images_.push_back(column.null_image);
  }
  for (size_t i = 0; i < by_number.size(); ++i) {
    const PhysicalColumn& column = history_->columns()[i];
    if (column.place != Place::kExtension || !column.LivesIn(history_->version())) continue;
    AssignNullBit(column.shape, &null_count_, &by_number[i].step);
    extension_.push_back(by_number[i]);
    if (by_number[i].step.image_bytes != 0) AppendStep(by_number[i].step, &write_steps_);
  }
}

void RowVersions::AppendExtension(const uint8_t* record, std::string* value) const {
  if (extension_.empty()) return;
  value->push_back(kExtensionTag);
  AppendBigEndian(history_->version(), value);
  const size_t start = value->size();
  value->append(NullBytes(null_count_), '\0');
  char* const bits = value->data() + start;
  for (const ExtensionColumn& column : extension_) {
    const ColumnStep& step = column.step;
    if (step.value_null_mask == 0 || !IsNullInRecord(step, record)) continue;
    bits[step.value_null_offset] =
        static_cast<char>(bits[step.value_null_offset] | step.value_null_mask);
  }
  AppendImages(write_steps_, record, value);
}

bool RowVersions::HasAnyInExtension(const ColumnSet& wanted) const {
  return std::any_of(extension_.begin(), extension_.end(), [&](const ExtensionColumn& column) {
    return column.table_column < wanted.size() && wanted[column.table_column];
  });
}

std::unique_ptr<VersionedReads> RowVersions::MakeReads(const ColumnSet& wanted,
                                                       RowCodec::Extent extent) const {
  return std::unique_ptr<VersionedReads>(new VersionedReads(*this, wanted, extent));
}

VersionedReads::VersionedReads(const RowVersions& rows, const ColumnSet& wanted,
                               RowCodec::Extent extent)
    : rows_(rows), walks_whole_(extent == RowCodec::Extent::kWhole) {
  if (!rows.extension_.empty()) current_version_ = rows.history_->version();
  current_null_count_ = rows.null_count_;
  size_t end = 0;
  std::vector<ColumnStep> steps;
  for (const RowVersions::ExtensionColumn& column : rows.extension_) {
    steps.push_back(column.step);
    const bool fills = column.table_column < wanted.size() && wanted[column.table_column];
    steps.back().use = fills ? Use::kFill : Use::kPass;
    if (!fills) continue;
    end = steps.size();
    wanted_.push_back(&column);
    wanted_steps_.push_back(steps.back());
  }
  if (!walks_whole_) steps.resize(end);
  for (const ColumnStep& step : steps) {
    // A column without bytes (CHAR(0)) still has its NULL bit to fill.
    if (step.image_bytes != 0 || step.value_null_mask != 0) AppendStep(step, &current_steps_);
  }
}

Damage VersionedReads::Decode(std::string_view null_bits, ByteReader base, ByteReader* value,
                              uint8_t* record) {
  const std::string_view rest = value->rest();
  if (rest.empty() || rest[0] != kExtensionTag) {
    if (!rest.empty() && !IsChecksumChunk(rest)) return Damage::kBadExtension;
    return DecodeOther(0, null_bits, base, value, record);
  }
  if (!value->Skip(kExtensionHeaderBytes)) return Damage::kShortValue;
  const auto version = LoadBigEndian<uint16_t>(rest.data() + 1);
  if (version == current_version_) [[likely]] {
    std::string_view bits;
    CAIRN_RETURN_IF_DAMAGED(ReadNullBits(current_null_count_, value, &bits));
    return DecodeColumns(current_steps_, bits, value, record);
  }
  if (version == 0 || version > rows_.history_->version()) return Damage::kBadRowVersion;
  return DecodeOther(version, null_bits, base, value, record);
}

Damage VersionedReads::DecodeOther(uint16_t version, std::string_view null_bits, ByteReader base,
                                   ByteReader* value, uint8_t* record) {
  const Version& steps = StepsOf(version);
  if (version != 0 && !steps.has_extension) return Damage::kBadRowVersion;
  for (const Conversion& column : steps.base) {
    CAIRN_RETURN_IF_DAMAGED(DecodeColumn(column, null_bits, &base, record));
  }
  std::string_view bits;
  CAIRN_RETURN_IF_DAMAGED(ReadNullBits(steps.null_count, value, &bits));
  for (const Conversion& column : steps.extension) {
    CAIRN_RETURN_IF_DAMAGED(DecodeColumn(column, bits, value, record));
  }
  for (const AbsentColumn& column : steps.absent) {
    CAIRN_RETURN_IF_DAMAGED(column.damage);
    uint8_t& null_byte = record[column.record_null_offset];
    null_byte = static_cast<uint8_t>(column.is_null ? null_byte | column.record_null_mask
                                                    : null_byte & ~column.record_null_mask);
    std::copy(column.image.begin(), column.image.end(), record + column.image_offset);
  }
  return Damage::kNone;
}

const VersionedReads::Version& VersionedReads::StepsOf(uint16_t version) {
  if (last_ != nullptr && last_version_ == version) return *last_;
  auto found = versions_.find(version);
  if (found == versions_.end()) {
    if (versions_.size() >= kMostKeptVersions || kept_bytes_ >= kMostKeptBytes) {
      versions_.clear();
      kept_bytes_ = 0;
    }
    found = versions_.emplace(version, Compile(version)).first;
    for (const AbsentColumn& column : found->second.absent) kept_bytes_ += column.image.size();
  }
  last_ = &found->second;
  last_version_ = version;
  return *last_;
}

VersionedReads::Version VersionedReads::Compile(uint16_t version) const {
  const LayoutHistory& history = *rows_.history_;
  Version steps;
  Sources sources(history.columns().size(), nullptr);
  for (const RowVersions::ExtensionColumn* column : wanted_) {
    const uint32_t number = history.Find(column->logical, version);
    const PhysicalColumn& source = history.column(number);
    if (source.LivesIn(version)) {
      sources[number - 1] = column;
    } else {
      steps.absent.push_back(CompileAbsent(Convert(source.shape, column), source.absent));
    }
  }
  CompileBase(sources, &steps);
  CompileExtension(version, sources, &steps);
  return steps;
}

// `to`: null if the column is only passed over.
VersionedReads::Conversion VersionedReads::Convert(const ColumnShape& from,
                                                   const RowVersions::ExtensionColumn* to) const {
  Conversion conversion = {.from = StepOf(from)};
  conversion.from.use = to == nullptr ? Use::kPass : Use::kFill;
  if (to == nullptr) return conversion;
  conversion.to = to->step;
  CAIRN_ASSERT(conversion.from.kind == Kind::kBlob ||
               conversion.from.image_bytes <= conversion.to.image_bytes);
  if (from.type == ColumnType::kSignedInteger) {
    conversion.fill = Conversion::Fill::kSign;
  } else if (from.type == ColumnType::kChar && !IsBinary(from)) {
    conversion.fill = Conversion::Fill::kSpaces;
  }
  return conversion;
}

VersionedReads::AbsentColumn VersionedReads::CompileAbsent(const Conversion& conversion,
                                                           const AbsentImage& image) {
  const ColumnStep& to = conversion.to;
  AbsentColumn absent = {.record_null_offset = to.record_null_offset,
                         .record_null_mask = to.record_null_mask,
                         .is_null = image.kind == AbsentImage::Kind::kNull,
                         .image_offset = to.image_offset};
  // A record that has nothing but its byte of NULL bits and the column.
  Conversion alone = conversion;
  alone.to.record_null_offset = 0;
  alone.to.image_offset = 1;
  std::vector<uint8_t> record(1 + to.image_bytes);
  if (absent.is_null) {
    absent.damage = SetNull(alone.to, record.data());
  } else {
    ByteReader reader(image.bytes);
    absent.damage = DecodeColumn(alone, {}, &reader, record.data());
  }
  size_t bytes = to.image_bytes;
  if (to.kind == Kind::kVarchar) {
    bytes = to.length_bytes;
    const char* const length = reinterpret_cast<const char*>(record.data() + 1);
    if (!absent.is_null) bytes += LoadImageLength(length, to.length_bytes);
  }
  absent.image.assign(record.begin() + 1, record.begin() + 1 + static_cast<ptrdiff_t>(bytes));
  return absent;
}

void VersionedReads::CompileBase(const Sources& wanted, Version* steps) const {
  size_t null_count = 0;
  size_t end = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const PhysicalColumn& column = rows_.history_->columns()[i];
    if (column.place != Place::kBase) break;
    Conversion conversion = Convert(column.shape, wanted[i]);
    AssignNullBit(column.shape, &null_count, &conversion.from);
    if (column.shape.is_in_key) continue;
    steps->base.push_back(conversion);
    if (wanted[i] != nullptr) end = steps->base.size();
  }
  steps->base.resize(end);
}

void VersionedReads::CompileExtension(uint16_t version, const Sources& wanted,
                                      Version* steps) const {
  size_t end = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const PhysicalColumn& column = rows_.history_->columns()[i];
    if (column.place != Place::kExtension || !column.LivesIn(version)) continue;
    steps->has_extension = true;
    Conversion conversion = Convert(column.shape, wanted[i]);
    AssignNullBit(column.shape, &steps->null_count, &conversion.from);
    steps->extension.push_back(conversion);
    if (wanted[i] != nullptr) end = steps->extension.size();
  }
  if (!walks_whole_) steps->extension.resize(end);
}

Damage VersionedReads::DecodeColumn(const Conversion& conversion, std::string_view null_bits,
                                    ByteReader* value, uint8_t* record) {
  const ColumnStep& from = conversion.from;
  const ColumnStep& to = conversion.to;
  const bool fill = from.use == Use::kFill;
  if (from.value_null_mask != 0 &&
      (static_cast<uint8_t>(null_bits[from.value_null_offset]) & from.value_null_mask) != 0) {
    return fill ? SetNull(to, record) : Damage::kNone;
  }
  std::string_view data;
  if (from.kind == Kind::kFixed) {
    if (!value->ReadBytes(from.image_bytes, &data)) return Damage::kShortValue;
  } else {
    if (!value->ReadBytes(from.length_bytes, &data)) return Damage::kShortValue;
    const uint32_t data_bytes = LoadImageLength(data.data(), from.length_bytes);
    if (from.kind != Kind::kBlob && data_bytes > from.capacity) return Damage::kTooLongColumn;
    if (!value->ReadBytes(data_bytes, &data)) return Damage::kShortValue;
  }
  if (!fill) return Damage::kNone;
  record[to.record_null_offset] &= static_cast<uint8_t>(~to.record_null_mask);
  uint8_t* const image = record + to.image_offset;
  if (to.kind == Kind::kFixed || to.kind == Kind::kTrimmedChar) {
    const bool is_negative =
        conversion.fill == Conversion::Fill::kSign && (data.back() & 0x80) != 0;
    const int filler = conversion.fill == Conversion::Fill::kSpaces ? ' ' : is_negative ? 0xff : 0;
    std::memcpy(image, data.data(), data.size());
    std::memset(image + data.size(), filler, to.image_bytes - data.size());
    return Damage::kNone;
  }
  StoreImageLength(static_cast<uint32_t>(data.size()), to.length_bytes, image);
  if (to.kind == Kind::kVarchar) {
    std::memcpy(image + to.length_bytes, data.data(), data.size());
  } else {
    const char* const start = data.data();
    std::memcpy(image + to.length_bytes, &start, sizeof start);
  }
  return Damage::kNone;
}

}  // namespace cairn
