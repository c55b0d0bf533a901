// Keys and values of one index: from record images to bytes and back (docs/stock-format.md, 3 to
// 9).
//
// An IndexCodec is compiled once for each index of an open table and is immutable afterwards, so
// any number of threads may use it. A DecodePlan is compiled once for each set of wanted columns.
// The functions called for each row allocate nothing beyond the growth of the buffers handed in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/checksum_chunk.h"
#include "engine/codec/column_set.h"
#include "engine/codec/table_layout.h"

namespace cairn {

struct StoredColumn;

inline constexpr size_t kIndexNumberBytes = 4;  // Persisted.
inline constexpr size_t kHiddenKeyBytes = 8;    // Persisted.
inline constexpr size_t kTtlStampBytes = 8;     // Persisted.

// Which bytes of an entry go where in a record, for one index and one set of columns. Borrows
// nothing from the ColumnSet it was made of, but must not outlive its IndexCodec. Used by one
// thread at a time: for rows of several layouts it remembers those that it has met.
class DecodePlan {
 public:
  ~DecodePlan();

 private:
  friend class IndexCodec;
  struct Steps;
  explicit DecodePlan(std::unique_ptr<Steps> steps);
  std::unique_ptr<Steps> steps_;
};

class IndexCodec {
 public:
  // Compiles the codec of `index`. `primary` describes the table's primary (or hidden primary) key;
  // for the primary key itself pass the same description twice. Copies what it needs of the
  // layouts; borrows the Collations.
  // Errors: kNotSupported (format version unknown), kInvalidArgument (a column out of range, a BLOB
  // part without prefix, ...), kMetadataMismatch (the history of row layouts is another table's),
  // with the index named.
  static Result<std::unique_ptr<IndexCodec>> Make(const TableLayout& table,
                                                  const IndexLayout& primary,
                                                  const IndexLayout& index);
  // The stored columns of a table as LayoutHistory takes them; `primary.history` is not looked at.
  // Errors: those of Make.
  static Result<std::vector<StoredColumn>> DescribeRow(const TableLayout& table,
                                                       const IndexLayout& primary);
  ~IndexCodec();

  const IndexLayout& layout() const;
  // "table db.t, index `k` (260)", for messages.
  const std::string& label() const;
  // Parts of the stored key: the index's own and, for a secondary index, the suffix (section 3.1).
  // A hidden key counts as one part.
  uint32_t key_part_count() const;
  // The most bytes a key takes, index number included.
  size_t max_key_bytes() const;
  // Whether this column comes back from this index without visiting the row (section 7).
  bool Covers(uint32_t column) const;
  // Whether rows may have several layouts: rows of the same values may then differ, also in length,
  // and their values may have been overwritten.
  bool has_history() const { return layout().history != nullptr; }
  // Whether this own part (0 .. layout().parts.size()-1) can be restored from the key.
  bool PartIsRestorable(uint32_t part) const;

  // --- Writing ----------------------------------------

  // Replaces `*key` by the entry's key. `hidden_key` is used only when the table's primary key is
  // hidden. `*unpack_info` receives the data of the unpack_info block, without header (section 4).
  void EncodeKey(const uint8_t* record, uint64_t hidden_key, std::string* key,
                 std::string* unpack_info) const;

  // Whether the entries of two records with the same hidden key may differ: false if each column of
  // the stored key is NULL in both or has the same bytes. Reads less than EncodeKey does.
  bool MayDiffer(const uint8_t* record, const uint8_t* other_record) const;

  // Replaces `*value` by the row of a primary or hidden primary key. `unpack_info` is what
  // EncodeKey gave for the same record; `ttl_stamp` is used only when the index has stamps.
  void EncodeRow(const uint8_t* record, std::string_view unpack_info, uint64_t ttl_stamp,
                 std::string* value) const;

  // Replaces `*value` by the value of a secondary index entry.
  void EncodeSecondaryValue(std::string_view unpack_info, uint64_t ttl_stamp,
                            std::string* value) const;

  // Appends the checksum chunk to a complete value (section 9).
  static void AppendChecksums(std::string_view key, std::string* value);

  // For a UNIQUE index: replaces `*prefix` by index number and the bytes that all entries with the
  // same unique value start with. Returns false when a part is NULL, so that nothing can collide.
  // For BLOB parts the prefix ends after the indexed bytes (without the value's length, unless the
  // value is shorter than they are, and for TEXT after the weights of the indexed characters).
  bool EncodeUniquePrefix(const uint8_t* record, std::string* prefix) const;

  // Whether every entry that starts with the unique prefix has the same unique value. Not so with a
  // BLOB part or when parts follow a TEXT part: then HasUniqueValueOf tells.
  bool UniquePrefixIsExact() const;

  // Whether the entry `key` has the same unique value as `record`, no part of which is NULL.
  // Allocates: meant for candidates that EncodeUniquePrefix found. Errors: kCorruption.
  Result<bool> HasUniqueValueOf(const uint8_t* record, std::string_view key) const;

  // Replaces `*prefix` by index number and the encoding of the first `part_count` own parts (and,
  // for a secondary index, of suffix parts when the server counts further: extended keys) of a key
  // in the server's search format: for each part a NULL byte (1 = NULL) if the column is nullable,
  // then the image; VARCHAR and BLOB as 2 bytes LE length and room for length_bytes data bytes.
  // Entries that match the search key are among those that start with `*prefix`; for BLOB parts
  // these are more than match, and encoding stops after such a part. So do prefixes of CHAR columns
  // whose collation gives a character several weights. After such a part no bound is exclusive:
  // entries that start with `*prefix` may lie on either side of the search key.
  // Returns the number of parts encoded, the one at which encoding stopped included.
  // The order of parts beyond the own ones is that of the stored suffix (section 3.1), without
  // columns that the own ones have in the same length, which the suffix repeats where their bytes
  // differ.
  uint32_t EncodeSearchKey(const uint8_t* search_key, uint32_t part_count,
                           std::string* prefix) const;
  // How many keys there can be in [first, end), both as EncodeSearchKey or PrefixSuccessor gave
  // them, in a unique index: no more than there are integers, where they differ in the last part
  // alone and that is one. Nothing: any number.
  std::optional<uint64_t> MostKeysBetween(std::string_view first, std::string_view end) const;
  // Whether encoding may stop at a part as said above, so that entries found by a search key are
  // candidates only.
  bool SearchKeysEndEarly() const;

  // --- Reading ----------------------------------------

  // Compiles the plan that fills `columns`. For a secondary index every column asked for must be
  // covered, else kInvalidArgument. For a primary key any column will do. `verify_checksums`:
  // a row whose checksum chunk does not match gives kChecksumMismatch.
  enum class Checksums : uint8_t { kIgnore, kVerify };
  Result<std::unique_ptr<DecodePlan>> MakePlan(const ColumnSet& columns, Checksums checksums) const;

  // Fills the plan's columns of `record` from one entry; the other columns' images stay as they
  // are. NULL bits of the plan's columns are set or cleared; the image of a NULL column becomes
  // zero bytes (of a VARCHAR its length alone: what lies behind it is not read). BLOB images point
  // into `value`, never into `key`: valid as long as its bytes are; or, of rows that lack the
  // column, into the history of row layouts, which lives as long as this.
  // Errors: kCorruption (truncated, leftover or impossible bytes; the message names the index and
  // has the key in hex), kChecksumMismatch. The record is then unspecified but safe: no dangling
  // pointers.
  Status Decode(const DecodePlan& plan, std::string_view key, std::string_view value,
                uint8_t* record) const;
  // The same; says what became of the row's checksums, if the plan verifies them.
  Status Decode(const DecodePlan& plan, std::string_view key, std::string_view value,
                uint8_t* record, ChecksumFinding* checksums) const;

  // Replaces `*primary_key` by the full primary key (index number first) of a secondary entry.
  // Errors: kCorruption.
  Status ExtractPrimaryKey(std::string_view secondary_key, std::string* primary_key) const;

  // The hidden primary key at the end of a key of a hidden primary or of a secondary index.
  Result<uint64_t> HiddenKey(std::string_view key) const;

  // Splits a stored key into parts: replaces `*part_ends` by the end offset of each part.
  // Used for distinct-prefix statistics and CHECK. Errors: kCorruption.
  Status SplitKey(std::string_view key, std::vector<uint32_t>* part_ends) const;

  // The end offset of one part of a stored key, which starts at `start`; 0 when the bytes there are
  // no such part.
  uint32_t PartEnd(std::string_view key, size_t part, uint32_t start) const;

  // The stamp in front of a value, and whether the value is long enough. Only with has_ttl_stamp.
  Result<uint64_t> TtlStamp(std::string_view value) const;

 private:
  friend class DecodePlan;
  struct Compiled;
  explicit IndexCodec(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace cairn
