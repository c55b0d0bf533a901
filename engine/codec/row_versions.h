// Rows of tables whose layout has changed: the extension behind the base columns, and what a column
// is in rows of older versions (docs/on-disk-format.md, Rows of several layouts).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/column_set.h"
#include "engine/codec/damage.h"
#include "engine/codec/layout_history.h"
#include "engine/codec/row_codec.h"
#include "engine/codec/table_layout.h"

namespace cairn {

class VersionedReads;

// Compiled once for a primary key with a history. Immutable; any number of threads may use it.
class RowVersions {
 public:
  // The history fits the table.
  RowVersions(const TableLayout& table, std::shared_ptr<const LayoutHistory> history);

  // Appends the extension of the current version; nothing, if it has no columns.
  void AppendExtension(const uint8_t* record, std::string* value) const;

  // Whether one of the columns (of the table) lies in the extension of the current version.
  bool HasAnyInExtension(const ColumnSet& wanted) const;
  // Reads those of `wanted`. The result borrows this.
  std::unique_ptr<VersionedReads> MakeReads(const ColumnSet& wanted, RowCodec::Extent extent) const;

 private:
  friend class VersionedReads;

  struct ExtensionColumn {
    uint32_t logical = 0;
    uint32_t table_column = 0;
    ColumnStep step;  // Of the current version.
  };

  std::shared_ptr<const LayoutHistory> history_;
  std::vector<ExtensionColumn> extension_;  // Of the current version, by number.
  std::vector<ColumnStep> write_steps_;     // The same, runs merged.
  size_t null_count_ = 0;                   // Nullable ones among them.
  std::vector<std::shared_ptr<const std::string>> null_images_;  // That steps point to.
};

// What follows the base columns of a row, for one set of wanted columns. Used by one thread at a
// time: the steps of an old version are compiled when its first row comes.
class VersionedReads {
 public:
  // Takes the extension, if there is one, off `*value` and fills the wanted columns. `null_bits`
  // and `base`: those of the base columns, `base` starting with the first of them. BLOB images
  // point into the value or into the history.
  Damage Decode(std::string_view null_bits, ByteReader base, ByteReader* value, uint8_t* record);

  // Empties the images of the wanted BLOBs.
  void ClearWantedBlobs(uint8_t* record) const { ClearBlobs(wanted_steps_, record); }

 private:
  friend class RowVersions;

  // Takes a column as some version has it and stores it as the table has it.
  struct Conversion {
    enum class Fill : uint8_t { kZeros, kSpaces, kSign };  // Behind data shorter than the image.
    ColumnStep from{};
    ColumnStep to{};
    Fill fill = Fill::kZeros;
  };
  // A column that rows of some version have not: what the record has instead is always the same.
  struct AbsentColumn {
    uint32_t record_null_offset = 0;
    uint8_t record_null_mask = 0;
    bool is_null = false;
    uint32_t image_offset = 0;
    std::string image{};  // A BLOB's points into the history.
    Damage damage = Damage::kNone;
  };
  struct Version {
    bool has_extension = false;
    size_t null_count = 0;
    std::vector<Conversion> base;  // Through the last base column that is a wanted predecessor.
    std::vector<Conversion> extension;
    std::vector<AbsentColumn> absent;
  };
  using Sources = std::vector<const RowVersions::ExtensionColumn*>;  // By number, less one.

  VersionedReads(const RowVersions& rows, const ColumnSet& wanted, RowCodec::Extent extent);

  const Version& StepsOf(uint16_t version);
  Version Compile(uint16_t version) const;
  Conversion Convert(const ColumnShape& from, const RowVersions::ExtensionColumn* to) const;
  static AbsentColumn CompileAbsent(const Conversion& conversion, const AbsentImage& image);
  void CompileBase(const Sources& wanted, Version* steps) const;
  void CompileExtension(uint16_t version, const Sources& wanted, Version* steps) const;
  Damage DecodeOther(uint16_t version, std::string_view null_bits, ByteReader base,
                     ByteReader* value, uint8_t* record);
  static Damage DecodeColumn(const Conversion& conversion, std::string_view null_bits,
                             ByteReader* value, uint8_t* record);

  const RowVersions& rows_;
  const bool walks_whole_;
  // The current version, which no row has if it has no extension.
  int32_t current_version_ = -1;
  size_t current_null_count_ = 0;
  std::vector<ColumnStep> current_steps_;
  std::vector<const RowVersions::ExtensionColumn*> wanted_;
  std::vector<ColumnStep> wanted_steps_;
  std::map<uint16_t, Version> versions_;  // Those met so far.
  size_t kept_bytes_ = 0;                 // Of their absent columns' images.
  const Version* last_ = nullptr;         // The one met last, and its number.
  uint16_t last_version_ = 0;
};

}  // namespace cairn
