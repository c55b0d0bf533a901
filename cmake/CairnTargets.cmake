# How Cairn's own targets are compiled: one place for warnings, visibility and sanitizers.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

add_library(cairn_build_options INTERFACE)
target_include_directories(cairn_build_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(cairn_build_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>
  $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-march=x86-64-v2>)
if(NOT CAIRN_SANITIZE)
  # So that two checkouts make the same bytes.
  target_compile_options(cairn_build_options INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
  # So that the linker can put functions in the order of mariadb/function_order.ld; and calls of other libraries go
  # straight to them, as all are bound at the start anyway (-z now).
  target_compile_options(cairn_build_options INTERFACE
    "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:RelWithDebInfo>>:-ffunction-sections;-fno-plt>")
endif()
# Of engine/base/assert.h: of debug and sanitizer builds.
target_compile_definitions(cairn_build_options INTERFACE $<$<CONFIG:Debug>:CAIRN_ASSERTIONS>)
if(CAIRN_SANITIZE)
  # RelWithDebInfo has it.
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  # What the sanitizers' reports need of debug information; all of it takes a quarter of the compilation.
  foreach(flags CMAKE_CXX_FLAGS_DEBUG CMAKE_CXX_FLAGS_RELWITHDEBINFO)
    string(REGEX REPLACE "(^| )-g( |$)" "\\1-g1\\2" ${flags} "${${flags}}")
  endforeach()
  target_compile_definitions(cairn_build_options INTERFACE CAIRN_ASSERTIONS)
  target_compile_options(cairn_build_options INTERFACE
    "-fsanitize=${CAIRN_SANITIZE}" -fno-omit-frame-pointer)
  target_link_options(cairn_build_options INTERFACE "-fsanitize=${CAIRN_SANITIZE}")
endif()

# Most of what a compiler does for a small source is reading headers: in a unity build, several sources
# share that, and two file-local names that are the same in one of them do not compile. The plug-in's own
# sources are compiled one by one outside sanitizer builds, so that each is known to include what it needs.
set(CAIRN_UNITY_SOURCES 8)

add_library(cairn_warnings INTERFACE)
target_compile_options(cairn_warnings INTERFACE
  -Wall -Wextra -Wno-unused-parameter $<$<BOOL:${CAIRN_WERROR}>:-Werror>)

# cairn_engine_library(NAME SOURCES ... LIBRARIES ...): one folder of engine/.
function(cairn_engine_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  if(CAIRN_ENGINE_ROOT)
    if(NOT EXISTS "${CAIRN_ENGINE_ROOT}/lib${name}.a")
      message(FATAL_ERROR "CAIRN_ENGINE_ROOT='${CAIRN_ENGINE_ROOT}' holds no lib${name}.a")
    endif()
    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${CAIRN_ENGINE_ROOT}/lib${name}.a")
    target_link_libraries(${name} INTERFACE cairn_build_options ${arg_LIBRARIES})
    return()
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC cairn_build_options ${arg_LIBRARIES} PRIVATE cairn_warnings)
  cairn_profile(${name})
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    UNITY_BUILD_BATCH_SIZE ${CAIRN_UNITY_SOURCES})
  if(CAIRN_SANITIZE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  endif()
endfunction()

# cairn_unit_test(NAME SOURCES ... LIBRARIES ... [THREADS FILTER] [LONG]): one GoogleTest program.
# LONG: under the address sanitizer its tests take minutes: they begin first, as two halves side by side.
# THREADS names the tests in which threads meet: the thread sanitizer, which makes everything slow, looks at them alone.
function(cairn_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LONG" "THREADS" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD ON
    UNITY_BUILD_BATCH_SIZE ${CAIRN_UNITY_SOURCES})
  target_compile_options(${name} PRIVATE -g1)
  target_link_libraries(${name} PRIVATE
    ${arg_LIBRARIES} cairn_warnings GTest::gmock GTest::gtest GTest::gtest_main)
  if(arg_LONG AND CAIRN_SANITIZE MATCHES "address")
    foreach(half 0 1)
      add_test(NAME ${name}_${half} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}_${half} PROPERTIES
        COST 100
        ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
    endforeach()
  elseif(NOT CAIRN_SANITIZE STREQUAL "thread")
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  elseif(arg_THREADS)
    target_link_libraries(${name} PRIVATE mutex_with_clock)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 "--gtest_filter=${arg_THREADS}")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "TSAN_OPTIONS=second_deadlock_stack=1")
  else()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
