#include "tools/store/xid.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

constexpr std::string_view kOwnPrefix = "MySQLXid";
constexpr size_t kServerIdAt = 8;
constexpr size_t kNumberAt = 16;
constexpr size_t kOwnBytes = 24;
constexpr size_t kMostPartBytes = 64;

// In the order of bytes of the machine that wrote it: all that MariaDB packages are for today.
uint64_t LoadLittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 8; i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

bool IsPlain(std::string_view part) {
  return std::all_of(part.begin(), part.end(), [](char byte) {
    return byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\';
  });
}

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

bool DecodeHex(std::string_view digits, std::string* bytes) {
  if (digits.size() % 2 != 0) return false;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = HexDigit(digits[i]);
    const int low = HexDigit(digits[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes->push_back(static_cast<char>(high << 4 | low));
  }
  return true;
}

// Takes 'text' or X'hex' off the front.
bool ConsumePart(std::string_view* text, std::string* part) {
  const bool hex = text->starts_with('X') || text->starts_with('x');
  if (hex) text->remove_prefix(1);
  if (!text->starts_with('\'')) return false;
  text->remove_prefix(1);
  const size_t end = text->find('\'');
  if (end == std::string_view::npos) return false;
  const std::string_view inside = text->substr(0, end);
  text->remove_prefix(end + 1);
  if (!hex) *part = inside;
  return (!hex || DecodeHex(inside, part)) && part->size() <= kMostPartBytes;
}

bool ConsumeComma(std::string_view* text) {
  if (!text->starts_with(',')) return false;
  text->remove_prefix(1);
  return true;
}

bool Parse(std::string_view text, TransactionId* id) {
  id->format = 1;
  if (!ConsumePart(&text, &id->global)) return false;
  if (text.empty()) return true;
  if (!ConsumeComma(&text) || !ConsumePart(&text, &id->branch)) return false;
  if (text.empty()) return true;
  if (!ConsumeComma(&text)) return false;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id->format);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

std::optional<OwnXid> AsOwnXid(const TransactionId& id) {
  if (id.global.size() != kOwnBytes || !id.branch.empty() || !id.global.starts_with(kOwnPrefix)) {
    return std::nullopt;
  }
  const std::string_view bytes = id.global;
  return OwnXid{LoadLittleEndian(bytes.substr(kServerIdAt)),
                LoadLittleEndian(bytes.substr(kNumberAt))};
}

std::string ToXidText(const TransactionId& id) {
  const bool plain = IsPlain(id.global) && IsPlain(id.branch);
  const auto part = [plain](const std::string& bytes) {
    return plain ? "'" + bytes + "'" : "X'" + ToHex(bytes) + "'";
  };
  return part(id.global) + "," + part(id.branch) + "," + std::to_string(id.format);
}

Result<TransactionId> ParseXid(std::string_view text) {
  TransactionId id;
  if (Parse(text, &id)) return id;
  return Status(StatusCode::kInvalidArgument,
                "\"" + std::string(text) +
                    "\" is no XID: expected is 'gtrid','bqual',format or X'hex',X'hex',format, as "
                    "the list shows it, with each part of at most 64 bytes");
}

}  // namespace cairn
