# Collects the headers that a program needs, as they are installed: troupe/troupe.hpp, and whatever
# it includes, directly or not.
#   cmake -D INTO=FOLDER -P cmake/public_headers.cmake
# writes them to FOLDER/troupe. There they include each other as <troupe/...>: a program may have
# folders called core or actors of its own.
cmake_minimum_required(VERSION 3.24)
if(NOT INTO)
  message(FATAL_ERROR "public_headers.cmake needs -D INTO=FOLDER")
endif()
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)

set(found troupe/troupe.hpp)
set(waiting ${found})
while(waiting)
  list(POP_FRONT waiting header)
  file(READ "${root}/${header}" text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  list(TRANSFORM includes REPLACE "#include \"(.+)\"" "\\1")
  list(REMOVE_ITEM includes ${found})
  list(APPEND found ${includes})
  list(APPEND waiting ${includes})
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <troupe/\\1>" text "${text}")
  if(NOT header MATCHES "^troupe/")
    set(header troupe/${header})
  endif()
  file(WRITE "${INTO}/${header}" "${text}")
endwhile()
