#include "engine/table/moved_rows.h"

#include "engine/table/ordered_iterator.h"

namespace cairn {

void MovedRows::BeginRange(std::string_view prefix, ReadStart start, const ReadRange& range) {
  range_ = Range{};
  Range& begun = *range_;
  begun.exact = start == ReadStart::kExact;
  begun.first.assign(prefix);
  if (start == ReadStart::kExact) {
    if (!PrefixSuccessor(prefix, &begun.end)) begun.end.clear();
    return;
  }
  if (start == ReadStart::kAfter && !PrefixSuccessor(prefix, &begun.first)) {
    range_.reset();  // The range is empty.
    return;
  }
  begun.end.assign(range.end);
}

}  // namespace cairn
