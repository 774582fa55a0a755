# troupe_options(target): language level, warnings and sanitizers, the same for every target.
function(troupe_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  # Not for files in CUDA: see troupe_cuda_options() in troupe_cuda.cmake.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                              -Werror>)
  get_target_property(joined ${target} UNITY_BUILD)
  if(joined)
    # Joined files see each other's names, and GCC takes them for headers.
    target_compile_options(${target} PRIVATE -Wno-shadow -Wno-subobject-linkage)
  endif()
  if(TROUPE_SANITIZE)
    target_compile_options(${target} PUBLIC
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer
                                -fno-sanitize-recover=all>)
    target_link_options(${target} PUBLIC -fsanitize=${TROUPE_SANITIZE})
  endif()
endfunction()

# troupe_join_files(): the targets of this folder that follow compile a few files as one, in every
# build: what a program includes takes longer to compile than the program.
macro(troupe_join_files)
  if(NOT CMAKE_UNITY_BUILD)
    set(CMAKE_UNITY_BUILD ON)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 5)
  endif()
endmacro()

# troupe_room(name SOURCES files... USES targets...): a room is one static library, troupe_<name>.
# All rooms together are also libtroupe.so.
function(troupe_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(troupe_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(troupe_${name} PUBLIC ${ROOM_USES})
  troupe_options(troupe_${name})
  # GCC would load two neighbouring members at once. Such a load waits where the two were stored
  # one by one just before (5 ns an op).
  target_compile_options(troupe_${name} PRIVATE -fno-tree-slp-vectorize)
  # Programs don't replace functions of the library, so GCC may inline them.
  target_compile_options(troupe_${name} PRIVATE -fno-semantic-interposition)
  set_target_properties(troupe_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY troupe_rooms troupe_${name})
endfunction()
