# TROUPE_CUDA says whether the backend for NVIDIA's GPUs is built: ON, OFF, or AUTO for "if the CUDA
# Toolkit is here". Sets TROUPE_HAS_CUDA, and enables CUDA as a language.
set(TROUPE_CUDA AUTO CACHE STRING "Build the backend for NVIDIA's GPUs: AUTO, ON or OFF")
set_property(CACHE TROUPE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TROUPE_HAS_CUDA FALSE)
set(troupe_cuda_version 13.0)  # its libraries' names are known to the tests

include(CheckLanguage)

# Sets `problem` to the reason why the backend can't be built; empty: it can.
function(troupe_find_cuda problem)
  set(${problem} "" PARENT_SCOPE)
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND)
    set(${problem} "no CUDA Toolkit was found" PARENT_SCOPE)
  elseif(CUDAToolkit_VERSION VERSION_LESS troupe_cuda_version)
    set(${problem} "the CUDA Toolkit found is ${CUDAToolkit_VERSION}" PARENT_SCOPE)
  elseif(NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(${problem} "the CUDA Toolkit found has no nvcc" PARENT_SCOPE)
  elseif(NOT (TARGET CUDA::cudart AND TARGET CUDA::cublas AND TARGET CUDA::cusolver))
    set(${problem} "the CUDA Toolkit found has no cuBLAS or no cuSOLVER" PARENT_SCOPE)
  elseif(NOT TARGET CUDA::nvtx3)
    set(${problem} "the CUDA Toolkit found has no NVTX" PARENT_SCOPE)
  else()
    set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})
    if(NOT CMAKE_CUDA_HOST_COMPILER)
      set(ENV{CUDAHOSTCXX} ${CMAKE_CXX_COMPILER})
    endif()
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
      set(${problem} "its nvcc can't use ${CMAKE_CXX_COMPILER}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

if(TROUPE_CUDA STREQUAL "AUTO" OR TROUPE_CUDA)
  troupe_find_cuda(problem)
  if(NOT problem)
    set(TROUPE_HAS_CUDA TRUE)
  elseif(TROUPE_CUDA STREQUAL "AUTO")
    message(STATUS "GPUs: not built, ${problem} (${troupe_cuda_version} or newer is needed)")
  else()
    message(FATAL_ERROR
      "TROUPE_CUDA is ${TROUPE_CUDA}, and ${problem}. Install the CUDA Toolkit "
      "${troupe_cuda_version} or newer with cuBLAS, cuSOLVER and NVTX, say where it is with "
      "-D CUDAToolkit_ROOT=FOLDER, or leave GPUs out with -D TROUPE_CUDA=OFF.")
  endif()
else()
  message(STATUS "GPUs: not built, as TROUPE_CUDA says")
endif()

if(TROUPE_HAS_CUDA)
  find_package(CUDAToolkit QUIET)  # its targets, here too
  # Machine code for the GPUs of most clusters (A100, H100), which those of the same first digit run
  # as well, and PTX, which drivers compile for all others. Each architecture takes as long to
  # compile as the other ones.
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;75-virtual" CACHE STRING
      "The GPUs to compile for, as CMake names them")
  enable_language(CUDA)
  message(STATUS "GPUs: built with CUDA ${CUDAToolkit_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
endif()

# troupe_cuda_options(target): as troupe_options(), for a target of which nvcc compiles some files.
function(troupe_cuda_options target)
  troupe_options(${target})
  set_target_properties(${target} PROPERTIES
    CUDA_RUNTIME_LIBRARY Shared
    POSITION_INDEPENDENT_CODE ON)
  # The language is given as an option because CMake 3.25 doesn't know that nvcc has C++20.
  # constexpr functions may run on the device. Sums and products are rounded one by one, as on CPUs:
  # see troupe_options().
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr --fmad=false
                               -Werror=all-warnings
                               -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror,-ffp-contract=off>)
endfunction()
