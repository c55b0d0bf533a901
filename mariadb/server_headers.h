// The server's headers, in the one order that works, and the one place for what differs between
// server versions. Every file of mariadb/ includes the engine's and the standard library's headers
// first: the server's define macros.
#pragma once

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

}  // namespace cairn
