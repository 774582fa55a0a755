# Run at install time, see bundle.cmake: copies `programs` and the modules `beside` them to bin,
# `libraries` and all that these need to lib, and lets them find each other from where they are.
# They have no debug information, which is large.
find_program(PATCHELF patchelf)
find_program(STRIP strip)
if(NOT PATCHELF OR NOT STRIP)
  message(FATAL_ERROR
    "A bundle needs the programs patchelf and strip; install them (Debian: patchelf, binutils)")
endif()
set(root $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})

# Where CUDA's libraries usually are; LD_LIBRARY_PATH comes first, the system's folders last.
string(JOIN ":" cuda_folders
  /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib /usr/local/cuda-13/lib64
  /opt/cuda/lib64)

# bundle_file(file folder runpath): copies a file to a folder, under the name by which the loader
# looks for it.
function(bundle_file file folder runpath)
  file(REAL_PATH ${file} from)
  get_filename_component(name ${from} NAME)
  execute_process(COMMAND ${PATCHELF} --print-soname ${from}
    OUTPUT_VARIABLE soname OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(soname)
    set(name ${soname})
  endif()
  file(COPY_FILE ${from} ${root}/${folder}/${name})
  # Before patchelf, whose results strip may spoil.
  execute_process(COMMAND ${STRIP} --strip-unneeded ${root}/${folder}/${name}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${PATCHELF} --set-rpath ${runpath} ${root}/${folder}/${name}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${programs}
  LIBRARIES ${libraries} ${TROUPE_OPENBLAS}
  MODULES ${beside}
  RESOLVED_DEPENDENCIES_VAR needed
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES
    "^ld-linux" "^lib(c|m|mvec|pthread|dl|rt|util|resolv|anl)[.]so[.]"
    "^lib(cudart|cublas|cublasLt|cusolver|cusparse|nvJitLink)[.]so[.]"
  POST_INCLUDE_REGEXES "^/"
  POST_EXCLUDE_REGEXES "/libtroupe[^/]*$")
if(missing)
  message(FATAL_ERROR "The bundle needs libraries that aren't here: ${missing}")
endif()

file(MAKE_DIRECTORY ${root}/bin ${root}/lib)
foreach(file ${programs} ${beside})
  bundle_file(${file} bin "$ORIGIN/../lib:${cuda_folders}")
endforeach()
foreach(file ${libraries})
  bundle_file(${file} lib "$ORIGIN:${cuda_folders}")
endforeach()
foreach(file ${needed} ${TROUPE_OPENBLAS})
  bundle_file(${file} lib "$ORIGIN")
endforeach()
file(WRITE ${root}/README
"Troupe, which runs computation graphs on CPUs, GPUs and links. Everything runs from this folder,
wherever it is; glibc 2.36 or newer is needed. For GPUs, so are NVIDIA's driver and the libraries of
CUDA 13 (cudart, cuBLAS, cuSOLVER): in /usr/local/cuda, or in a folder of LD_LIBRARY_PATH.

  bin/troupe machine                             what this machine is
  bin/troupe run FILE                            runs a file; see share/troupe/runs
  bin/gpu_check [--quick] [--large] [FOLDER]     tests and measures the GPUs of this machine
")
