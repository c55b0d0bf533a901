# cairn_server_headers(TARGET ROOT): a server's headers as an imported target.
function(cairn_server_headers target root)
  if(NOT EXISTS "${root}/sql/handler.h")
    message(FATAL_ERROR
      "CAIRN_SERVER_ROOT='${root}' holds no sql/handler.h; run ./cairn build, which fetches the headers of the "
      "server's version and passes their place on.")
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE
    "${root}/generated"
    "${root}/include"
    "${root}/sql"
    "${root}/wsrep-lib/include"
    "${root}/wsrep-lib/wsrep-API/v26")
  # The distribution's server is built without the debug library; the layout of its classes depends on it.
  target_compile_definitions(${target} INTERFACE DBUG_OFF)
  target_link_libraries(${target} INTERFACE "${root}/lib/libmysqlservices.a")
endfunction()
