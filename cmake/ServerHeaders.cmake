# The server's headers as the target MariaDB::headers.

if(NOT EXISTS "${CAIRN_SERVER_ROOT}/sql/handler.h")
  message(FATAL_ERROR
    "CAIRN_SERVER_ROOT='${CAIRN_SERVER_ROOT}' holds no sql/handler.h; run ./cairn build, which fetches "
    "the headers of the server's version and passes their place on.")
endif()

add_library(MariaDB::headers INTERFACE IMPORTED GLOBAL)
target_include_directories(MariaDB::headers SYSTEM INTERFACE
  "${CAIRN_SERVER_ROOT}/generated"
  "${CAIRN_SERVER_ROOT}/include"
  "${CAIRN_SERVER_ROOT}/sql"
  "${CAIRN_SERVER_ROOT}/wsrep-lib/include"
  "${CAIRN_SERVER_ROOT}/wsrep-lib/wsrep-API/v26")
# The distribution's server is built without the debug library; the layout of its classes depends on it.
target_compile_definitions(MariaDB::headers INTERFACE DBUG_OFF)
target_link_libraries(MariaDB::headers INTERFACE "${CAIRN_SERVER_ROOT}/lib/libmysqlservices.a")
