# How often the branches of our own code are taken, as a training run has counted them (./cairn train). The compiler puts
# code that runs together, and compiles functions that have changed since as without.
set(profile_archive "${PROJECT_SOURCE_DIR}/cmake/profile.tar.xz")
set(profile_directory "${PROJECT_BINARY_DIR}/profile")
set(profile_options "")
# Counts are of one compiler.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\." AND EXISTS "${profile_archive}"
   AND CMAKE_GENERATOR STREQUAL "Ninja" AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT CAIRN_TRAINING
   AND NOT CAIRN_SANITIZE AND NOT CAIRN_ENGINE_ROOT)
  file(REMOVE_RECURSE "${profile_directory}")
  file(ARCHIVE_EXTRACT INPUT "${profile_archive}" DESTINATION "${profile_directory}")
  # The number has sources compiled anew when there are other counts. Two options are in a file, as ccache knows them by no
  # other name; it tells that file by its time, which is the same in every checkout so that all share what is compiled.
  # -fprofile-correction keeps the compiler from warning of a function that has changed while its callers have not.
  configure_file("${PROJECT_SOURCE_DIR}/cmake/profile.specs" "${profile_directory}/profile.specs" COPYONLY)
  execute_process(COMMAND touch -d @0 "${profile_directory}/profile.specs" COMMAND_ERROR_IS_FATAL ANY)
  file(SHA256 "${profile_archive}" profile_number)
  file(SHA256 "${PROJECT_SOURCE_DIR}/cmake/profile.specs" specs_number)
  set(profile_options -fprofile-use -specs=profile/profile.specs -Wno-coverage-mismatch
    -Wno-missing-profile "-DCAIRN_PROFILE_NUMBER=${profile_number}${specs_number}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${profile_archive}" "${PROJECT_SOURCE_DIR}/cmake/profile.specs")
endif()

# Compiles a target by what is known of its sources, or so that it counts. The compiler looks for counts beside the object
# file. ccache knows -fprofile-update=prefer-atomic only as a part of -pthread.
function(cairn_profile target)
  if(CAIRN_TRAINING)
    target_compile_options(${target} PRIVATE -fprofile-generate -pthread)
    return()
  elseif(NOT profile_options)
    return()
  endif()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    set(counts "${profile_directory}/${folder}/${source}.gcda")
    if(EXISTS "${counts}")
      configure_file("${counts}" "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/${source}.gcda" COPYONLY)
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS "${profile_options}")
    endif()
  endforeach()
endfunction()

# Counts name file-local functions by the path of their file as the compiler was told it: a target that ccache does not
# compile is told paths that are the same in every checkout. The same goes for what a compiler makes of it.
# Paths count from where Ninja calls the compiler.
set(CAIRN_RELATIVE_COMPILER "")
if(CMAKE_GENERATOR STREQUAL "Ninja")
  file(RELATIVE_PATH root_from_build "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
  set(CAIRN_RELATIVE_COMPILER sh "${PROJECT_SOURCE_DIR}/cmake/relative_source.sh" "${PROJECT_SOURCE_DIR}"
    "${root_from_build}")
endif()
