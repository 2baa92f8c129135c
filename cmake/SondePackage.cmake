# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Debian packages of the components that SondeInstall.cmake names, made by `tools/package deb`.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sonde)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler for tensor programs")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(SONDE_PACKAGE_CONTACT "Sonde developers <sonde@packages.invalid>" CACHE STRING "Who maintains the Debian packages")
set(CPACK_PACKAGE_CONTACT "${SONDE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL sonde dev)
if(TARGET sonde_torch)
  list(APPEND CPACK_COMPONENTS_ALL torch)
endif()
if(TARGET sonde_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# So that the packages that link libsonde find it while their dependencies are listed.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

# What Debian wants of every package: who may copy it, and what changed.
set(SONDE_PACKAGE_FILES ${PROJECT_BINARY_DIR}/package-files)
file(WRITE ${SONDE_PACKAGE_FILES}/triggers "activate-noawait ldconfig\n")
file(READ ${PROJECT_SOURCE_DIR}/LICENSE sonde_license)
string(REGEX REPLACE ".*(--- LLVM Exceptions)" "\\1" sonde_exceptions "${sonde_license}")
file(WRITE ${SONDE_PACKAGE_FILES}/copyright "Copyright (C) 2026 the Sonde developers\n\n"
     "Licensed under the Apache License, Version 2.0, with LLVM Exceptions. The licence is in\n"
     "/usr/share/common-licenses/Apache-2.0.\n\n${sonde_exceptions}")
string(TIMESTAMP sonde_today "%a, %d %b %Y 00:00:00 +0000" UTC)

# sonde_package(COMPONENT NAME SECTION [DEPENDS…] TEXT description)
function(sonde_package component name section)
  cmake_parse_arguments(PARSE_ARGV 3 package "" "TEXT" "DEPENDS")
  string(TOUPPER ${component} upper)
  list(JOIN package_DEPENDS ", " depends)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${package_TEXT}" PARENT_SCOPE)
  if(component STREQUAL sonde OR component STREQUAL torch)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${SONDE_PACKAGE_FILES}/triggers PARENT_SCOPE)
  endif()
  set(files ${SONDE_PACKAGE_FILES}/${name})
  file(WRITE ${files}/changelog.Debian "${name} (${PROJECT_VERSION}-1) unstable; urgency=medium\n\n"
       "  * Version ${PROJECT_VERSION}; /usr/share/doc/sonde/guide/CHANGELOG.md says what is new.\n\n -- ${SONDE_PACKAGE_CONTACT}  ${sonde_today}\n")
  execute_process(COMMAND gzip -9nf ${files}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${SONDE_PACKAGE_FILES}/copyright ${files}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(this_version "(= ${PROJECT_VERSION}-1)")
sonde_package(sonde sonde devel
  DEPENDS libdw1  # which is opened, not linked
  TEXT "Sonde records LibTorch, PyTorch, CUDA and OpenCL programs as they are,
and opens the traces of PyTorch's profiler. It shows operator tables,
timelines, memory, and what could be faster.")
sonde_package(dev libsonde-dev libdevel
  DEPENDS "sonde ${this_version}"
  TEXT "Headers, CMake and pkg-config files: for programs that mark what they do,
profile themselves or read traces.")
sonde_package(torch sonde-torch devel
  DEPENDS "sonde ${this_version}"
  TEXT "What records the operators of programs that use Debian's LibTorch.
`sonde torch build` makes the same for any other torch.")
sonde_package(python python3-sonde python
  DEPENDS "sonde ${this_version}" "python3 (>= 3.11)"
  TEXT "PyTorch's profiler interface under the same names, Python's own lines in
traces, and every analysis of the program sonde.")
include(CPack)
