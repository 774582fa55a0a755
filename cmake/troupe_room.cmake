# troupe_options(target): language level, warnings and sanitizers, the same for every target.
function(troupe_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  # Sums and products are rounded one by one, so that results, plans and simulated times don't
  # depend on whether a processor has an instruction for both.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  # Not for files in CUDA: see troupe_cuda_options() in troupe_cuda.cmake.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                              -Wsuggest-override -Werror>
    # Clang 14 warns of it where C++ compares with 0 what a default operator<=> returns.
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wzero-as-null-pointer-constant>)
  get_target_property(joined ${target} UNITY_BUILD)
  if(joined)
    # Joined files see each other's names, and GCC takes them for headers.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-shadow -Wshadow=local -Wno-subobject-linkage>
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)
  endif()
  # Where little is optimised, Clang complains of each loop that asks for vectors.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>)
  if(TROUPE_SANITIZE)
    target_compile_options(${target} PUBLIC
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer
                                -fno-sanitize-recover=all>)
    target_link_options(${target} PUBLIC -fsanitize=${TROUPE_SANITIZE})
    # For tests: TROUPE_SANITIZE_ADDRESS and so on. Each compiler says it in another way.
    string(TOUPPER ${TROUPE_SANITIZE} sanitizers)
    string(REPLACE "," ";" sanitizers ${sanitizers})
    list(TRANSFORM sanitizers PREPEND TROUPE_SANITIZE_)
    target_compile_definitions(${target} PUBLIC ${sanitizers})
  endif()
endfunction()

# troupe_optimise_for_tests(target): under a sanitizer, tests take most of their time in code that
# isn't optimised at all; to do so takes less to compile than it saves, for most.
function(troupe_optimise_for_tests target)
  if(TROUPE_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  endif()
endfunction()

# troupe_exports(target script): a shared library shows what this version script names, and nothing
# else, and lacks nothing. (Clang keeps the functions of a sanitizer in the program.)
function(troupe_exports target script)
  target_link_options(${target} PRIVATE -Wl,--version-script=${script})
  if(NOT TROUPE_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

# troupe_room(name [APART] [COLD] SOURCES files... USES targets...): a room is one static library,
# troupe_<name>. All rooms together are also libtroupe.so. APART: its files are never joined. COLD:
# tests gain less than it takes to optimise it for them.
function(troupe_room name)
  cmake_parse_arguments(ROOM "APART;COLD" "" "SOURCES;USES" ${ARGN})
  add_library(troupe_${name} STATIC ${ROOM_SOURCES})
  if(ROOM_APART)
    set_target_properties(troupe_${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_link_libraries(troupe_${name} PUBLIC ${ROOM_USES})
  troupe_options(troupe_${name})
  if(NOT ROOM_COLD)
    troupe_optimise_for_tests(troupe_${name})
  endif()
  # GCC would load two neighbouring members at once. Such a load waits where the two were stored
  # one by one just before (5 ns an op).
  target_compile_options(troupe_${name} PRIVATE -fno-tree-slp-vectorize)
  # Programs don't replace functions of the library, so GCC may inline them.
  target_compile_options(troupe_${name} PRIVATE -fno-semantic-interposition)
  set_target_properties(troupe_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY troupe_rooms troupe_${name})
endfunction()
