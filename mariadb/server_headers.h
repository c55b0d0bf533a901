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
