# The bodies of the CUDA kernels, compiled for the CPU: see kernel_bodies.hpp. What links with them
# must export their symbols.
add_library(troupe_emulated_kernels STATIC
  support/cuda/block_threads.cpp support/cuda/kernel_bodies.cpp)
target_link_libraries(troupe_emulated_kernels PUBLIC troupe_ops ${CMAKE_DL_LIBS})
troupe_options(troupe_emulated_kernels)
troupe_optimise_for_tests(troupe_emulated_kernels)
# GCC 12 doesn't see that a lambda uses a static variable.
target_compile_options(troupe_emulated_kernels PRIVATE -Wno-unused-but-set-variable)
set_target_properties(troupe_emulated_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
