// Tables that the engine has and the server does not know, because their .frm files are lost: how
// they are found, and brought back from the copies of these files (cairn_restore_definition).
#pragma once

#include <string>
#include <string_view>

class THD;
struct st_mysql_sys_var;

namespace cairn {

// Whether a table of the dictionary ("db.table", without partition) has no .frm file. Not while
// a statement that holds the table moves its files, nor for names of the server's making.
bool LacksDefinition(THD* thd, std::string_view table);

// What to do about such a table: for messages.
std::string RemedyForLackingDefinition(std::string_view table);

// SET GLOBAL cairn_restore_definition = 'db.table', or 'db.*' for all of a database: writes the
// files. The variable stays empty.
void RestoreDefinitionNow(THD* thd, st_mysql_sys_var*, void*, const void* value);

}  // namespace cairn
