// The dictionary's record of a table's row layouts (docs/on-disk-format.md, Rows of several
// layouts). Its key is IndexKey(DictionaryRecordType::kLayoutHistory, primary key).
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/codec/layout_history.h"

namespace cairn {

std::string EncodeLayoutHistory(const LayoutHistory& history);

// Errors: kNotSupported (another version of the record), kCorruption (anything else that
// EncodeLayoutHistory does not write), with what was found.
Result<LayoutHistory> DecodeLayoutHistory(std::string_view value);

}  // namespace cairn
