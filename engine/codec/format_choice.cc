#include "engine/codec/format_choice.h"

#include <algorithm>

#include "engine/codec/dictionary_record.h"
#include "engine/codec/key_part_compile.h"
#include "engine/codec/restorable.h"
#include "engine/codec/row_codec.h"

namespace cairn {
namespace {

static_assert(kIndispensableFeatures ==
              (kFeatureNoPadCollation | kFeatureDescendingPart | kFeatureGeneratedColumn |
               kFeatureSequence | kFeatureGeometry));

// Collations whose stock keys order or end otherwise than the server's values.
bool StockOrderIsExact(const ColumnLayout& column, bool is_prefix) {
  if (column.type == ColumnType::kBlob) return false;  // Search keys end at its parts.
  const Collation::Traits& traits = column.collation->traits();
  if (traits.kind == CollationKind::kBinary) return true;
  if (traits.kind == CollationKind::kMultiLevel || traits.weight_multiplier > 1) return false;
  return is_prefix || column.type != ColumnType::kVarchar ||
         traits.kind != CollationKind::kSimple8Bit || !SharesWeightOfSpace(*column.collation);
}

uint32_t CharacterFeatures(const ColumnLayout& column, bool is_prefix, bool in_row) {
  const Collation::Traits& traits = column.collation->traits();
  uint32_t features = 0;
  if (traits.kind != CollationKind::kBinary && traits.trailing_spaces == TrailingSpaces::kCount) {
    features |= kFeatureNoPadCollation;
  }
  if (!StockOrderIsExact(column, is_prefix)) features |= kFeatureExactOrder;
  const bool may_restore =
      column.type != ColumnType::kBlob && !is_prefix && (!in_row || traits.byte_order);
  if (may_restore && !ColumnIsRestorable(column.type, column.collation)) {
    features |= kFeatureRestorableKey;
  }
  return features;
}

// Whether a row has a CHAR column that it could have without trailing spaces: not one that the
// stock format, too, gives back from the primary key.
bool TrimsAnyChar(const TableLayout& table, const IndexLayout& primary) {
  ColumnSet in_key(table.columns.size());
  for (const KeyPartLayout& part : primary.parts) {
    const ColumnLayout& column = table.columns[part.column];
    if (!part.is_prefix && ColumnIsRestorable(column.type, column.collation)) {
      in_key[part.column] = true;
    }
  }
  for (size_t i = 0; i < in_key.size(); ++i) {
    if (!in_key[i] && TrimsInRow(table.columns[i])) return true;
  }
  return false;
}

// Whether stock keys of a prefix of the column hold weights of what follows it, though no character
// is weighed with others. A VARCHAR of several bytes a character is cut by characters.
bool StockHoldsMoreThanPrefix(const ColumnLayout& column) {
  if (column.collation == nullptr) return false;
  const Collation::Traits& traits = column.collation->traits();
  return traits.kind == CollationKind::kMultiLevel &&
         (column.type != ColumnType::kVarchar || traits.max_char_bytes == 1);
}

}  // namespace

uint32_t IndispensableFeatures(const TableLayout& table, const IndexLayout& index,
                               uint32_t features) {
  const bool lets_equal_in =
      index.unique && std::any_of(index.parts.begin(), index.parts.end(), [&](const auto& part) {
        return part.is_prefix && StockHoldsMoreThanPrefix(table.columns[part.column]);
      });
  const uint32_t indispensable = features & kIndispensableFeatures;
  return lets_equal_in ? indispensable | kFeatureExactOrder : indispensable;
}

uint32_t IndexFeaturesOf(const TableLayout& table, const IndexLayout& index) {
  // A row holds the columns that its key does not give back: only those that could be left out
  // count.
  const bool in_row = index.kind != IndexKind::kSecondary;
  uint32_t features = 0;
  if (in_row && TrimsAnyChar(table, index)) features |= kFeatureTrimmedChar;
  for (const KeyPartLayout& part : index.parts) {
    const ColumnLayout& column = table.columns[part.column];
    if (part.descending) features |= kFeatureDescendingPart;
    if (column.collation != nullptr) {
      features |= CharacterFeatures(column, part.is_prefix, in_row);
    } else if (!ColumnIsRestorable(column.type, nullptr)) {
      features |= kFeatureRestorableKey;
    }
  }
  return features;
}

}  // namespace cairn
