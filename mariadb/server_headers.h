// The server's headers, in the one order that works, and the one place for what differs between
// 10.11 and 11.8; costs, which differ altogether, are in handler_costs.cc. Every file of mariadb/
// includes the engine's and the standard library's headers first: the server's define macros.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#define MYSQL_SERVER 1

#include <my_global.h>
#include <mysql/plugin.h>

#include "field.h"
#include "handler.h"
#include "key.h"
#include "log.h"
#include "sql_class.h"
#include "sql_partition.h"
#include "sql_table.h"
#include "sql_type.h"
#include "table.h"

// How my_printf_error is told to quote a name.
#if MYSQL_VERSION_ID >= 110800
#define CAIRN_QUOTED_NAME "%sQ"
#else
#define CAIRN_QUOTED_NAME "%`s"
#endif

namespace cairn {

// What the server calls the copy of a table: by one of two names, depending on the patch level.
struct CopyOperations {
  ha_extra_function begin;
  ha_extra_function end;
  ha_extra_function abort;
};

template <typename Extra>
constexpr CopyOperations NamedCopyOperations() {
  if constexpr (requires { Extra::HA_EXTRA_BEGIN_COPY; }) {
    return {Extra::HA_EXTRA_BEGIN_COPY, Extra::HA_EXTRA_END_COPY, Extra::HA_EXTRA_ABORT_COPY};
  } else {
    return {Extra::HA_EXTRA_BEGIN_ALTER_COPY, Extra::HA_EXTRA_END_ALTER_COPY,
            Extra::HA_EXTRA_ABORT_ALTER_COPY};
  }
}

inline constexpr CopyOperations kCopyOperations = NamedCopyOperations<ha_extra_function>();

// A function that the server calls for a transaction: 10.11 names the engine first, 11.8 does not.
// It is written without, and becomes the pointer that is assigned to.
template <auto kFunction>
struct TransactionCallback;

template <typename Answer, typename... Arguments, Answer (*kFunction)(Arguments...)>
struct TransactionCallback<kFunction> {
  using WithEngine = Answer (*)(handlerton*, Arguments...);
  using WithoutEngine = Answer (*)(Arguments...);

  operator WithEngine() const {  // NOLINT(google-explicit-constructor)
    return [](handlerton*, Arguments... arguments) { return kFunction(arguments...); };
  }
  operator WithoutEngine() const { return kFunction; }  // NOLINT(google-explicit-constructor)
};

// A flag of table_flags() that refuses to have applied to the copy of ALTER TABLE what others write
// meanwhile: since 11.2 the server does so unless an engine says otherwise.
#ifdef HA_NO_ONLINE_ALTER
inline constexpr ulonglong kNoWritesDuringCopy = HA_NO_ONLINE_ALTER;
#else
inline constexpr ulonglong kNoWritesDuringCopy = 0;
#endif

// What says of a clustered index that it holds all columns: to 11.8 that goes without saying, and
// the flag of other indexes must not be set.
#if MYSQL_VERSION_ID >= 110000
inline constexpr ulong kClusteredIndexCovers = 0;
#else
inline constexpr ulong kClusteredIndexCovers = HA_KEYREAD_ONLY;
#endif

// Tells a table's optimizer what its indexes can do for the statement that begins: 11.8 asks for
// that when the table is opened, 10.11 whenever it wants to know.
template <typename Key = KEY>
void RenewIndexFlags(const TABLE& table) {
  if constexpr (requires(Key key) { key.index_flags; }) {
    for (uint i = 0; i < table.s->keys; ++i) {
      static_cast<Key&>(table.key_info[i]).index_flags = table.file->index_flags(i, 0, true);
    }
  }
}

// Whether a table has a VECTOR index, which the server keeps in a hidden table of the same engine.
template <typename Share = TABLE_SHARE>
bool HasVectorIndex(const Share& share) {
  if constexpr (requires { share.total_keys; }) {
    return share.total_keys != share.keys;
  } else {
    return false;
  }
}

// Whether rows of a table WITH SYSTEM VERSIONING may have the end of time that the server knew
// which has made its definition, and not that of this one: 2038 up to 11.4, 2106 since.
inline bool HasOtherEndOfTime(const TABLE& table) {
  return TIMESTAMP_MAX_VALUE != INT_MAX32 && table.versioned(VERS_TIMESTAMP) &&
         table.s->mysql_version < 110500;
}

// The text of a name, a pointer in 10.11 and a string with its length in 11.8.
inline const char* NameText(const char* name) { return name; }
inline const char* NameText(const LEX_CSTRING& name) { return name.str; }

// Whether two names of columns, indexes or partitions are the same one to the server.
inline bool IsSameName(const char* one, const char* other) {
#if MYSQL_VERSION_ID >= 110800
  return Lex_ident_ci(one, strlen(one)).streq(LEX_CSTRING{other, strlen(other)});
#else
  return my_strcasecmp(system_charset_info, one, other) == 0;
#endif
}

// Makes the name of a database or table what it is in the file system of a server with
// lower_case_table_names other than 0.
inline void LowerFileName(std::string* name) {
#if MYSQL_VERSION_ID >= 110800
  std::string lower(name->size() * files_charset_info->casedn_multiply() + 1, '\0');
  lower.resize(
      files_charset_info->casedn_z(name->data(), name->size(), lower.data(), lower.size()));
  *name = std::move(lower);
#else
  name->resize(my_casedn_str(files_charset_info, name->data()));
#endif
}

// The members of an ENUM or SET; null: the type has none.
template <typename EnumField>
const TYPELIB* MembersOf(const EnumField& field) {
  if constexpr (requires { field.interval; }) {
    return field.interval;
  } else if constexpr (std::is_member_function_pointer_v<decltype(&EnumField::typelib)>) {
    return field.typelib();
  } else {
    return field.typelib;
  }
}

// A table's definition that the server's cache of definitions does not know.
template <typename Share>
void InitOwnShare(THD* thd, Share* share, const char* schema, const char* name, const char* path) {
  if constexpr (requires { init_tmp_table_share(thd, share, schema, 0, name, path); }) {
    init_tmp_table_share(thd, share, schema, 0, name, path);
  } else {
    init_tmp_table_share(thd, share, schema, 0, name, path, /*thread_specific=*/false);
  }
}

}  // namespace cairn
