# Fails unless PROGRAM, with ARGUMENTS, succeeds and prints exactly the contents of the file
# EXPECTED, in which # stands for a rate in GFLOP/s.
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} OUTPUT_VARIABLE actual RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
file(READ ${EXPECTED} expected)
string(REGEX REPLACE " +[0-9.]+ GFLOP/s" " # GFLOP/s" actual "${actual}")
string(REGEX REPLACE " +# GFLOP/s" " # GFLOP/s" expected "${expected}")
if(NOT actual STREQUAL expected)
  message(FATAL_ERROR "expected:\n${expected}\nbut got:\n${actual}")
endif()
