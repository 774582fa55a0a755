# The target `bundle`, or `cpack -G TGZ` in a folder where all is built, makes a bundle for machines
# where nothing can be installed: programs, benchmarks, the tests of GPUs and the shared libraries
# that they need. It runs from any folder of any x86-64 Linux with glibc 2.36 or newer.
#
# Not in it: glibc, which belongs to the system's loader; CUDA's libraries, which are large and
# belong to the machine; PMIx and UCX's plug-ins, which belong to the cluster. The C++ run-time
# libraries are in it, since those of the machine may be older.
find_library(TROUPE_OPENBLAS openblas REQUIRED)  # loaded when a product is computed

set(bundle_programs troupe)
set(bundle_beside)  # modules in the folder of the program that loads them
set(bundle_libraries troupe_library troupe_ucx)
foreach(program task_bench gpu_overlap test_gpu_runs test_gpu_kernels example_mlp)
  if(TARGET ${program})
    list(APPEND bundle_programs ${program})
  endif()
endforeach()
if(TARGET gpu_overlap_bare)
  list(APPEND bundle_beside gpu_overlap_bare)
endif()
if(TARGET troupe_cuda)
  list(APPEND bundle_libraries troupe_cuda)
endif()
add_custom_target(bundle_parts
  DEPENDS ${bundle_programs} ${bundle_beside} ${bundle_libraries})
if(TARGET test_bundle)
  add_dependencies(test_bundle bundle_parts)
endif()

set(code "set(TROUPE_OPENBLAS \"${TROUPE_OPENBLAS}\")\n")
foreach(list programs beside libraries)
  set(files ${bundle_${list}})
  list(TRANSFORM files REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  string(APPEND code "set(${list} \"${files}\")\n")
endforeach()
install(CODE "${code}include(\"${CMAKE_CURRENT_LIST_DIR}/fill_bundle.cmake\")"
        COMPONENT bundle EXCLUDE_FROM_ALL)
if(TARGET gpu_overlap)
  install(PROGRAMS tools/gpu DESTINATION bin RENAME gpu_check COMPONENT bundle EXCLUDE_FROM_ALL)
  install(PROGRAMS bench/overlap_torch.py DESTINATION bin COMPONENT bundle EXCLUDE_FROM_ALL)
endif()
install(DIRECTORY config/ DESTINATION share/troupe COMPONENT bundle EXCLUDE_FROM_ALL)
install(FILES examples/mlp/digits.csv examples/mlp/README.md DESTINATION share/troupe/mlp
        COMPONENT bundle EXCLUDE_FROM_ALL)

# Makes troupe-VERSION-Linux-x86_64.tar.gz in the build folder.
add_custom_target(bundle
  COMMAND ${CMAKE_CPACK_COMMAND} -G TGZ
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
  DEPENDS bundle_parts
  VERBATIM)
