// Compiling an IndexCodec from layouts and a DecodePlan from a set of columns.
#include <algorithm>
#include <string>

#include "engine/codec/compiled_index.h"
#include "engine/codec/format_version.h"
#include "engine/codec/layout_check.h"
#include "engine/codec/layout_history.h"

namespace cairn {
namespace {

std::string Label(const TableLayout& table, const IndexLayout& index) {
  return "table " + table.name + ", index `" + index.name + "` (" +
         std::to_string(index.index_number) + ")";
}

// Whether a part of the stored key has the very bytes that a part of the primary key has.
bool HasSameBytes(const KeyPart& part, const KeyPart& primary_part) {
  return part.encoding == primary_part.encoding && part.descending == primary_part.descending &&
         part.variable_format == primary_part.variable_format &&
         part.cuts_chars == primary_part.cuts_chars;
}

// The position among `own` of the part that has the same values as a part of the primary key, or
// kNoPart.
uint32_t FindSameValues(const std::vector<KeyPart>& own, const KeyPart& primary_part) {
  const auto found = std::find_if(own.begin(), own.end(), [&](const KeyPart& part) {
    return part.column == primary_part.column && part.length_bytes == primary_part.length_bytes;
  });
  return found == own.end() ? KeyPart::kNoPart : static_cast<uint32_t>(found - own.begin());
}

// In the stock format every part of the same column and length stands for the primary key's.
bool IsSuffixNeeded(const std::vector<KeyPart>& own, const KeyPart& primary_part, bool cairn) {
  return std::none_of(own.begin(), own.end(), [&](const KeyPart& part) {
    return part.column == primary_part.column && part.length_bytes == primary_part.length_bytes &&
           (!cairn || HasSameBytes(part, primary_part));
  });
}

bool IsConstantTail(const std::vector<KeyPart>& parts, size_t first, uint32_t* bytes) {
  *bytes = 0;
  for (size_t i = first; i < parts.size(); ++i) {
    if (parts[i].constant_bytes() == 0) return false;
    *bytes += parts[i].constant_bytes();
  }
  return true;
}

void AppendSkip(const KeyPart& part, std::vector<KeyStep>* steps) {
  const uint32_t bytes = part.constant_bytes();
  if (bytes == 0) {
    steps->push_back({.kind = KeyStep::Kind::kSkip, .part = &part});
  } else if (!steps->empty() && steps->back().kind == KeyStep::Kind::kSkipBytes) {
    steps->back().bytes += bytes;
  } else {
    steps->push_back({.kind = KeyStep::Kind::kSkipBytes, .bytes = bytes});
  }
}

}  // namespace

Result<std::vector<KeyPart>> CompileKeyParts(const TableLayout& table, const IndexLayout& primary,
                                             const IndexLayout& index) {
  const bool cairn = index.format_version == kCairnFormatVersion;
  std::vector<KeyPart> parts;
  for (const KeyPartLayout& layout : index.parts) {
    CAIRN_ASSIGN_OR_RETURN(KeyPart part, MakeKeyPart(table, layout, index.format_version));
    parts.push_back(std::move(part));
  }
  if (primary.kind == IndexKind::kHiddenPrimary) {
    parts.push_back(MakeHiddenKeyPart());
  } else if (index.kind == IndexKind::kSecondary) {
    const std::vector<KeyPart> own = parts;
    // The Cairn format has the primary key's own bytes, whatever their format.
    const uint16_t suffix_format = cairn ? primary.format_version : index.format_version;
    for (const KeyPartLayout& layout : primary.parts) {
      CAIRN_ASSIGN_OR_RETURN(KeyPart part, MakeKeyPart(table, layout, suffix_format));
      if (!IsSuffixNeeded(own, part, cairn)) continue;
      if (cairn) MakeRestorable(table.columns[part.column], &part);
      part.same_value_as = FindSameValues(own, part);
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

std::vector<KeyStep> CompileSkips(const std::vector<KeyPart>& parts, size_t first, size_t last) {
  std::vector<KeyStep> steps;
  for (size_t i = first; i < last; ++i) AppendSkip(parts[i], &steps);
  return steps;
}

// Decides which part restores which column. unpack_info holds a column's data only once, only where
// no key part gives it back by itself, and never in a row, which holds it anyway.
void IndexCodec::Compiled::AssignColumns(size_t column_count) {
  part_of_column.assign(column_count, kNoPart);
  for (const bool whole_in_info : {false, true}) {
    for (size_t i = 0; i < parts.size(); ++i) {
      KeyPart& part = parts[i];
      if (!part.restorable || part.info.whole != whole_in_info) continue;
      if (part_of_column[part.column] == kNoPart && !(whole_in_info && is_primary())) {
        part_of_column[part.column] = static_cast<uint32_t>(i);
      } else if (whole_in_info) {
        part.restorable = part.info.whole = false;
      }
    }
  }
}

// Those that the key restores.
ColumnSet IndexCodec::Compiled::ColumnsInKey() const {
  ColumnSet in_key(part_of_column.size());
  for (size_t i = 0; i < in_key.size(); ++i) in_key[i] = part_of_column[i] != kNoPart;
  return in_key;
}

// Members that follow from the parts alone.
void IndexCodec::Compiled::DescribeParts(size_t column_count) {
  max_key_bytes = kIndexNumberBytes;
  AssignColumns(column_count);
  for (const KeyPart& part : parts) {
    has_primary_block |= is_primary() && part.restorable && part.UsesUnpackInfo();
    max_key_bytes += part.max_key_bytes;
    scratch_bytes = std::max<size_t>(scratch_bytes, part.weight_capacity);
  }
  for (KeyPart& part : parts) {
    // A primary key without block has no place for the counters of its parts either.
    if (is_primary() && !has_primary_block) part.info.counter_bytes = 0;
    writes_unpack_info |= part.UsesUnpackInfo();
    may_leave_codes |= part.HasCodes() && part.simple->CodeBits(part.simple->Weight(' ')) != 0;
  }
}

void IndexCodec::Compiled::CompileRow(const ColumnSet& columns, DecodePlan::Steps* steps) const {
  using Extent = RowCodec::Extent;
  const Extent extent = steps->verifies ? Extent::kWhole : Extent::kToLastWanted;
  const RowVersions* const versions = row.versions();
  if (versions != nullptr && (steps->verifies || versions->HasAnyInExtension(columns))) {
    steps->versions = versions->MakeReads(columns, extent);
  }
  // The extension lies behind all of the base.
  steps->column_steps =
      row.CompileSteps(columns, steps->versions != nullptr ? Extent::kWhole : extent);
}

void IndexCodec::Compiled::LocatePrimaryKey(const IndexLayout& primary) {
  primary_number = primary.index_number;
  hidden_primary = primary.kind == IndexKind::kHiddenPrimary;
  primary_segment_format = SegmentFormatOf(primary.format_version);
  if (hidden_primary) primary_parts.push_back(static_cast<uint32_t>(parts.size() - 1));
  for (const KeyPartLayout& primary_part : primary.parts) {
    for (size_t i = parts.size(); i-- > 0;) {
      if (parts[i].column != primary_part.column) continue;
      primary_parts.push_back(static_cast<uint32_t>(i));
      break;
    }
  }
  const size_t first = parts.size() - std::min(parts.size(), primary_parts.size());
  primary_is_tail = true;
  for (size_t i = 0; i < primary_parts.size(); ++i) {
    const KeyPart& part = parts[primary_parts[i]];
    const bool same_bytes =
        part.variable_format == primary_segment_format || !part.IsVariableSegments();
    primary_is_tail = primary_is_tail && primary_parts[i] == first + i && same_bytes;
  }
  head_steps = CompileSkips(parts, 0, first);
  tail_steps = CompileSkips(parts, first, parts.size());
}

Result<std::unique_ptr<IndexCodec>> IndexCodec::Make(const TableLayout& table,
                                                     const IndexLayout& primary,
                                                     const IndexLayout& index) {
  auto compiled = std::make_unique<Compiled>();
  compiled->label = Label(table, index);
  compiled->layout = index;
  Status checked = CheckTableLayout(table);
  if (checked.ok()) checked = CheckIndexLayout(table, primary, index);
  CAIRN_RETURN_IF_ERROR(checked.WithContext(compiled->label));
  Result<std::vector<KeyPart>> parts = CompileKeyParts(table, primary, index);
  CAIRN_RETURN_IF_ERROR(parts.status().WithContext(compiled->label));
  compiled->parts = std::move(parts).value();
  if (compiled->parts.size() > Compiled::kMaxStoredParts) {
    return Status(StatusCode::kInvalidArgument, compiled->label + ": too many key parts");
  }
  compiled->own_part_count = index.parts.size();
  compiled->DescribeParts(table.columns.size());
  compiled->LocatePrimaryKey(primary);
  if (compiled->is_primary()) {
    const ColumnSet in_key = compiled->ColumnsInKey();
    if (index.history != nullptr) {
      checked = index.history->CheckFits(StoredColumnsOf(table, in_key, index.trims_chars));
      CAIRN_RETURN_IF_ERROR(checked.WithContext(compiled->label));
    }
    compiled->row = RowCodec(table, in_key, index.trims_chars, index.history);
  }
  return std::unique_ptr<IndexCodec>(new IndexCodec(std::move(compiled)));
}

Result<std::vector<StoredColumn>> IndexCodec::DescribeRow(const TableLayout& table,
                                                          const IndexLayout& primary) {
  IndexLayout without_history = primary;
  without_history.history = nullptr;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<IndexCodec> codec,
                         Make(table, without_history, without_history));
  return StoredColumnsOf(table, codec->compiled_->ColumnsInKey(), primary.trims_chars);
}

Result<std::unique_ptr<DecodePlan>> IndexCodec::MakePlan(const ColumnSet& columns,
                                                         Checksums checksums) const {
  const Compiled& index = *compiled_;
  auto steps = std::make_unique<DecodePlan::Steps>();
  steps->verifies = checksums == Checksums::kVerify;

  // The parts that are wanted, and how far the key and the unpack_info must be walked for them.
  std::vector<bool> wanted_parts(index.parts.size());
  size_t parts_end = 0;
  size_t info_end = 0;
  for (size_t column = 0; column < columns.size(); ++column) {
    if (!columns[column]) continue;
    if (!Covers(static_cast<uint32_t>(column))) {
      return Status(StatusCode::kInvalidArgument,
                    index.label + " does not cover column " + std::to_string(column));
    }
    const uint32_t part = index.part_of_column[column];
    if (part == Compiled::kNoPart) continue;
    wanted_parts[part] = true;
    parts_end = std::max<size_t>(parts_end, part + 1);
    if (index.parts[part].UsesUnpackInfo()) info_end = std::max<size_t>(info_end, part + 1);
  }
  if (steps->verifies) parts_end = info_end = index.parts.size();

  for (size_t i = 0; i < parts_end; ++i) {
    const KeyPart& part = index.parts[i];
    if (wanted_parts[i]) {
      steps->key_steps.push_back({.kind = KeyStep::Kind::kFill, .part = &part});
    } else if (i < info_end && part.UsesUnpackInfo()) {
      steps->key_steps.push_back({.kind = KeyStep::Kind::kSkipWithInfo, .part = &part});
    } else {
      AppendSkip(part, &steps->key_steps);
    }
  }
  steps->walks_key = parts_end != 0;
  steps->checks_key_end =
      steps->walks_key && IsConstantTail(index.parts, parts_end, &steps->key_tail_bytes);
  if (index.is_primary()) index.CompileRow(columns, steps.get());
  steps->reads_on = steps->verifies || steps->versions != nullptr;
  steps->reads_value = steps->reads_on || info_end != 0 || !steps->column_steps.empty();
  return std::unique_ptr<DecodePlan>(new DecodePlan(std::move(steps)));
}

bool IndexCodec::Covers(uint32_t column) const {
  if (column >= compiled_->part_of_column.size()) return false;
  return compiled_->is_primary() || compiled_->part_of_column[column] != Compiled::kNoPart;
}

bool IndexCodec::PartIsRestorable(uint32_t part) const {
  return part < compiled_->own_part_count && compiled_->parts[part].restorable;
}

const IndexLayout& IndexCodec::layout() const { return compiled_->layout; }

const std::string& IndexCodec::label() const { return compiled_->label; }

uint32_t IndexCodec::key_part_count() const {
  return static_cast<uint32_t>(compiled_->parts.size());
}

size_t IndexCodec::max_key_bytes() const { return compiled_->max_key_bytes; }

IndexCodec::IndexCodec(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
IndexCodec::~IndexCodec() = default;

DecodePlan::DecodePlan(std::unique_ptr<Steps> steps) : steps_(std::move(steps)) {}
DecodePlan::~DecodePlan() = default;

}  // namespace cairn
