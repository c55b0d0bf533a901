// Whether a statement checks that the rows it writes are unique.
#pragma once

class THD;

namespace cairn {

class Table;

// unique_checks=0 lets rows of a table with a single index overwrite each other; other tables are
// checked all the same, because an overwritten row would leave entries of other indexes behind.
bool UniqueChecksAreOff(THD* thd, const Table& table);

// REPLACE and ON DUPLICATE KEY UPDATE need the checks. Reports with my_error that the statement is
// refused when it is one of them; returns a handler error code.
int RefuseToReplaceUnchecked(THD* thd);

}  // namespace cairn
