# Read by CPack for each package: the archive is the bundle (see bundle.cmake), other packages are
# all else.
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(TRANSFORM CPACK_INSTALL_CMAKE_PROJECTS REPLACE "^ALL$" "bundle")
  set(CPACK_STRIP_FILES OFF)  # is done
  set(CPACK_PACKAGE_FILE_NAME "${CPACK_PACKAGE_NAME}-${CPACK_PACKAGE_VERSION}-Linux-x86_64")
endif()
