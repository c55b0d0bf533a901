#include "engine/codec/foreign_key_search.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/compiled_index.h"
#include "engine/codec/format_version.h"
#include "engine/codec/index_codec.h"

namespace cairn {
namespace {

bool ComparesAsString(const ColumnLayout& column) {
  return column.type == ColumnType::kChar || column.type == ColumnType::kVarchar;
}

Status Unsuitable(const ColumnLayout& column, std::string_view what) {
  return Status(StatusCode::kInvalidArgument,
                "foreign key column `" + column.name + "`: " + std::string(what));
}

Status CheckTypes(const ColumnLayout& from, const ColumnLayout& to) {
  const bool strings = ComparesAsString(from) && ComparesAsString(to);
  const bool fit = strings ? from.collation != nullptr && to.collation != nullptr &&
                                 from.collation->traits().id == to.collation->traits().id
                           : from.type == to.type && from.image_bytes == to.image_bytes;
  return fit ? Status() : Unsuitable(to, "its type does not fit the other side");
}

uint16_t FormatOfPart(const IndexLayout& primary, const IndexLayout& index, size_t stored) {
  const bool is_own = stored < index.parts.size();
  return is_own || index.format_version != kCairnFormatVersion ? index.format_version
                                                               : primary.format_version;
}

// The part as it would be if the column had `max_bytes` bytes. Used only where that changes none of
// the bytes of values that fit the column as it is.
Result<KeyPart> WidenedPart(const ColumnLayout& column, const KeyPart& part, uint32_t max_bytes,
                            uint16_t format) {
  TableLayout table;
  table.columns.push_back(column);
  table.columns[0].max_bytes = max_bytes;
  KeyPartLayout layout;
  layout.length_bytes = max_bytes;
  layout.descending = part.descending;
  return MakeKeyPart(table, layout, format);
}

}  // namespace

bool IndexStartsWith(const IndexLayout& primary, const IndexLayout& index,
                     const std::vector<uint32_t>& columns) {
  size_t matched = 0;
  const auto match = [&](const KeyPartLayout& part) {
    if (part.is_prefix || part.column != columns[matched]) return false;
    ++matched;
    return true;
  };
  for (const KeyPartLayout& part : index.parts) {
    if (matched == columns.size()) return true;
    if (!match(part)) return false;
  }
  if (index.kind != IndexKind::kSecondary || primary.kind == IndexKind::kHiddenPrimary) {
    return matched == columns.size();
  }
  for (const KeyPartLayout& part : primary.parts) {
    if (matched == columns.size()) return true;
    const auto end = columns.begin() + static_cast<ptrdiff_t>(matched);
    const bool repeats = !part.is_prefix && std::find(columns.begin(), end, part.column) != end;
    if (!repeats && !match(part)) return false;
  }
  return matched == columns.size();
}

// Collations of weights.
void ForeignKeySearch::ChooseWeights(const ColumnLayout& column, Part* part) {
  const Collation::Traits& traits = column.collation->traits();
  const bool is_char = column.type == ColumnType::kChar;
  const bool one_weight_a_character =
      traits.kind != CollationKind::kMultiLevel && traits.weight_multiplier == 1;
  part->fit = one_weight_a_character ? Fit::kAtMostWeights : Fit::kAny;
  // A space of several bytes is never needed: such CHARs are padded as weights.
  part->fills_up = is_char && traits.space_char_bytes == 1;
  if (part->part.encoding == KeyEncoding::kLevels) {
    if (!is_char || part->part.trims) {
      part->fit = Fit::kAny;
      part->fills_up = false;
      part->widens = part->exact = true;
      return;
    }
    // The column is weighed with the spaces that fill it up. How many these are depends on the
    // letters of the value.
    part->covers = one_weight_a_character && part->part.levels.count == 1 &&
                   traits.space_char_bytes == 1 && !traits.weighs_trailing_spaces;
  } else {
    // The stock format cuts weights off, takes NO PAD for PAD SPACE, and weighs levels with what
    // does not count. tis620_thai_nopad_ci, which it never indexes, moves marks behind spaces.
    part->covers = traits.kind != CollationKind::kMultiLevel && !traits.weighs_trailing_spaces &&
                   (one_weight_a_character || traits.trailing_spaces != TrailingSpaces::kCount);
  }
  part->exact = false;
}

void ForeignKeySearch::ChooseString(const ColumnLayout& column, Part* part) {
  const Collation::Traits& traits = column.collation->traits();
  const bool is_char = column.type == ColumnType::kChar;
  if (traits.kind == CollationKind::kBinary) {
    part->fit = is_char ? Fit::kSameBytes : Fit::kAtMostBytes;
    return;
  }
  part->exact = traits.trailing_spaces == TrailingSpaces::kPad;
  switch (part->part.encoding) {
    case KeyEncoding::kCopy:
    case KeyEncoding::kPaddedBytes:
      part->fit = Fit::kAtMostBytes;
      part->trims = true;
      part->fills_up = part->part.encoding == KeyEncoding::kCopy;
      // By weights, a value that ends in a space may equal one that ends in another character.
      part->refuses_spaces = is_char && traits.trailing_spaces == TrailingSpaces::kCount;
      part->exact = part->exact || is_char;
      return;
    case KeyEncoding::kVariableBytes:
      part->fit = Fit::kAtMostBytes;
      part->exact = true;
      return;
    case KeyEncoding::kCharSimple:
    case KeyEncoding::kCharUtf8mb3:
      part->fit = Fit::kAtMostWeights;
      part->fills_up = true;
      return;
    case KeyEncoding::kPaddedSimple:
    case KeyEncoding::kPaddedUtf8mb3:
      part->fit = Fit::kAtMostWeights;
      return;
    default:
      ChooseWeights(column, part);
  }
}

Result<ForeignKeySearch::Part> ForeignKeySearch::MakePart(const Side& from, const Side& to,
                                                          const KeyPart& stored, size_t position) {
  const ColumnLayout& column = to.table.columns[to.columns[position]];
  Part part;
  part.part = stored;
  part.position = position;
  CAIRN_RETURN_IF_ERROR(CheckTypes(from.table.columns[from.columns[position]], column));
  if (ComparesAsString(column)) ChooseString(column, &part);
  return part;
}

Result<ForeignKeySearch> ForeignKeySearch::Make(const Side& from, const Side& to,
                                                const IndexLayout& primary,
                                                const IndexLayout& index) {
  if (from.columns.size() != to.columns.size() || !IndexStartsWith(primary, index, to.columns)) {
    return Status(StatusCode::kInvalidArgument,
                  "index `" + index.name + "` does not start with the foreign key's columns");
  }
  ForeignKeySearch search;
  CAIRN_ASSIGN_OR_RETURN(search.from_, ForeignKeyColumns::Make(from.table, from.columns));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<KeyPart> stored,
                         CompileKeyParts(to.table, primary, index));
  search.index_number_ = index.index_number;
  search.max_bytes_ = kIndexNumberBytes;
  size_t positions = 0;
  size_t i = 0;
  for (; i < stored.size() && positions < to.columns.size(); ++i) {
    // The suffix may repeat a column.
    const auto begin = to.columns.begin();
    const auto end = begin + static_cast<ptrdiff_t>(positions);
    const auto before = std::find(begin, end, stored[i].column);
    const auto position = static_cast<size_t>(before - begin);
    if (before == end) ++positions;
    CAIRN_ASSIGN_OR_RETURN(Part part, MakePart(from, to, stored[i], position));
    if (part.widens) {
      const ColumnLayout& column = to.table.columns[to.columns[position]];
      const uint32_t max_bytes =
          std::max(column.max_bytes, from.table.columns[from.columns[position]].max_bytes);
      CAIRN_ASSIGN_OR_RETURN(
          part.part, WidenedPart(column, stored[i], max_bytes, FormatOfPart(primary, index, i)));
    }
    search.exact_ = search.exact_ && part.exact && part.covers;
    search.covers_ = search.covers_ && part.covers;
    search.max_bytes_ += part.part.max_key_bytes;
    search.scratch_bytes_ = std::max<size_t>(search.scratch_bytes_, part.part.weight_capacity);
    search.parts_.push_back(std::move(part));
  }
  if (to.table.validity != nullptr) search.LeavePastOut(to.table, index, i, stored);
  const size_t end_parts = search.valid_end_.empty() ? 0 : 1;
  search.unique_ = (index.unique || index.kind == IndexKind::kPrimary) && search.covers_ &&
                   index.parts.size() == to.columns.size() + end_parts;
  search.whole_key_ = search.unique_ && index.kind == IndexKind::kPrimary;
  return search;
}

// Unique keys of a table with versions have the end of their rows behind what is unique: it is the
// same for all that are valid. Without it, the rows tell.
void ForeignKeySearch::LeavePastOut(const TableLayout& table, const IndexLayout& index,
                                    size_t value_parts, const std::vector<KeyPart>& stored) {
  const bool has_end = covers_ && value_parts < index.parts.size() &&
                       index.parts[value_parts].column == table.validity->end;
  if (!has_end) {
    exact_ = false;
    return;
  }
  const KeyPart& end = stored[value_parts];
  std::vector<uint8_t> bytes(size_t{1} + end.max_key_bytes + end.weight_capacity);
  uint8_t* to = bytes.data();
  if (end.nullable()) *to++ = 1;
  to = EncodePart(end, table.validity->never, to, bytes.data() + 1 + end.max_key_bytes, nullptr);
  if (end.descending) ComplementBytes(bytes.data(), to);
  valid_end_.assign(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<size_t>(to - bytes.data()));
  max_bytes_ += valid_end_.size();
}

// Whether the value is equal to its first `kept` bytes.
bool ForeignKeySearch::RestWeighsAsSpaces(const Part& part, std::string_view data,
                                          size_t kept) const {
  std::string whole;
  std::string start;
  from_.AppendCanonical(part.position, data, &whole);
  from_.AppendCanonical(part.position, data.substr(0, kept), &start);
  return whole == start;
}

// Sets `*fitted` to what of `data` is encoded, in `*buffer` where it was filled up. False: no value
// of the column is equal to it.
bool ForeignKeySearch::FitValue(const Part& part, std::string_view data, std::string* buffer,
                                std::string_view* fitted) const {
  const KeyPart& column = part.part;
  if (part.refuses_spaces && column.collation->TrimmedLength(data) != data.size()) return false;
  if (part.trims) data = data.substr(0, column.collation->TrimmedLength(data));
  switch (part.fit) {
    case Fit::kImage:
    case Fit::kAny:
      break;
    case Fit::kSameBytes:
      if (data.size() != column.length_bytes) return false;
      break;
    case Fit::kAtMostBytes:
      if (data.size() > column.length_bytes) return false;
      break;
    case Fit::kAtMostWeights: {
      const size_t kept = column.collation->CharPrefixLength(data, column.indexed_chars);
      if (kept < data.size() && !RestWeighsAsSpaces(part, data, kept)) return false;
      data = data.substr(0, kept);
    }
  }
  if (part.fills_up && data.size() < column.length_bytes) {
    buffer->assign(data);
    buffer->resize(column.length_bytes, ' ');
    data = *buffer;
  }
  *fitted = data;
  return true;
}

uint8_t* ForeignKeySearch::WriteParts(const uint8_t* record, uint8_t* to, bool* fits) const {
  thread_local std::string filled_of_thread;  // As long as the longest CHAR so far.
  std::string* const filled = &filled_of_thread;
  uint8_t* const scratch = to + max_bytes_;
  StoreBigEndian(to, index_number_);
  to += kIndexNumberBytes;
  bool ended = false;
  for (const Part& part : parts_) {
    std::string_view data;
    *fits = FitValue(part, from_.Data(part.position, record), filled, &data);
    if (!*fits) break;
    // What does not fit a later column is still told.
    ended = ended || !part.covers;
    if (ended) continue;
    uint8_t* const start = to;
    if (part.part.nullable()) *to++ = 1;
    to = EncodePart(part.part, data, to, scratch, nullptr);
    if (part.part.descending) ComplementBytes(start, to);
  }
  return std::copy(valid_end_.begin(), valid_end_.end(), to);
}

bool ForeignKeySearch::EncodePrefix(const uint8_t* record, std::string* prefix) const {
  thread_local std::string buffer_of_thread;  // As long as the longest key so far.
  std::string& buffer = buffer_of_thread;
  if (buffer.size() < max_bytes_ + scratch_bytes_) buffer.resize(max_bytes_ + scratch_bytes_);
  auto* const begin = reinterpret_cast<uint8_t*>(buffer.data());
  bool fits = true;
  const uint8_t* const end = WriteParts(record, begin, &fits);
  CAIRN_ASSERT(end <= begin + max_bytes_);
  if (fits) prefix->assign(buffer.data(), static_cast<size_t>(end - begin));
  return fits;
}

}  // namespace cairn
