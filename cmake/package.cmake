# `cpack -G DEB` in a build folder makes a Debian package: program, library, headers, the CMake
# package, and the machine files and run files to begin with.
set(CPACK_PACKAGE_NAME troupe)
set(CPACK_PACKAGE_CONTACT "Troupe's maintainers <troupe@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs computation graphs on devices and links as actors")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})  # of libtroupe.so
set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0)  # loaded when a product is computed
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)    # and ldconfig is run
include(bundle)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/bundle_only.cmake)
include(CPack)
