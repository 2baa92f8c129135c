# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Libraries, headers, the program, and what find_package and pkg-config look for. The components become packages of their own:
# sonde (what running needs), dev (what building against it needs), torch, python.

include(CMakePackageConfigHelpers)
set(SONDE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Sonde)

install(TARGETS sonde_record sonde EXPORT SondeTargets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sonde
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sonde NAMELINK_COMPONENT dev
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET sonde_cli)
  install(TARGETS sonde_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sonde)
endif()
# Manual pages and completions, which the program writes itself.
if(TARGET sonde_cli)
  find_program(SONDE_GZIP gzip)
  mark_as_advanced(SONDE_GZIP)
  # Debian's zsh has another folder for packages: the preset `package` names it.
  set(SONDE_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")
  set(help_files ${PROJECT_BINARY_DIR}/help)
  set(compress_pages)
  if(SONDE_GZIP)
    set(compress_pages COMMAND ${SONDE_GZIP} -9nr ${help_files}/man1)
  endif()
  add_custom_command(OUTPUT ${help_files}/commands.md
                     COMMAND ${CMAKE_COMMAND} -E rm -rf ${help_files}
                     COMMAND sonde_cli help --write-files ${help_files}
                     ${compress_pages} DEPENDS sonde_cli VERBATIM COMMENT "Writing manual pages and completions")
  add_custom_target(sonde_help_files ALL DEPENDS ${help_files}/commands.md)
  install(DIRECTORY ${help_files}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT sonde)
  install(FILES ${help_files}/sonde.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sonde COMPONENT sonde)
  install(FILES ${help_files}/_sonde DESTINATION ${SONDE_ZSH_DIR} COMPONENT sonde)
  install(FILES ${help_files}/sonde.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT sonde)
endif()
# The guide, and the traces and programs that its pages use.
if(TARGET sonde_cli)
  set(example_traces ${PROJECT_SOURCE_DIR}/tests/data/torch-2.11-h200)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sonde/guide COMPONENT sonde
          FILES_MATCHING PATTERN "*.md" PATTERN "pictures/*.png" PATTERN "pictures/*.svg" PATTERN "snippets" EXCLUDE)
  install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sonde/guide COMPONENT sonde)
  install(FILES ${example_traces}/transformer.pt.trace.json.gz ${PROJECT_SOURCE_DIR}/tests/data/memory/cnn-sgd.snapshot.pickle.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/sonde/examples COMPONENT sonde)
  install(DIRECTORY ${example_traces}/ranks4 DESTINATION ${CMAKE_INSTALL_DATADIR}/sonde/examples COMPONENT sonde)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sonde/examples COMPONENT sonde
          FILES_MATCHING PATTERN "*.cpp" PATTERN "*.py")
endif()
# What `sonde run` opens, and nobody links.
foreach(plugin sonde_agent sonde_nvtx sonde_preload sonde_opencl)
  if(TARGET ${plugin})
    if(NOT plugin STREQUAL "sonde_preload")
      set_target_properties(${plugin} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
    endif()
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sonde COMPONENT sonde)
  endif()
endforeach()
if(TARGET sonde_cuda)
  install(TARGETS sonde_cuda EXPORT SondeTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sonde)  # `sonde run --gpu` opens it by its plain name
endif()
# What `sonde mpi build` compiles for a cluster's MPI.
if(TARGET sonde_cli)
  install(FILES ${PROJECT_SOURCE_DIR}/src/mpi/sonde_mpi.cpp ${PROJECT_SOURCE_DIR}/src/mpi/sonde_mpi.h
          DESTINATION ${CMAKE_INSTALL_DATADIR}/sonde/mpi COMPONENT sonde)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sonde ${PROJECT_BINARY_DIR}/include/sonde
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
# A separate export: only this one depends on the torch that Sonde was built with.
if(TARGET sonde_torch)
  # The library contains the path of that torch, because loaders may not search there.
  set_target_properties(sonde_torch PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS sonde_torch EXPORT SondeTorchTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT torch NAMELINK_COMPONENT torch
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT SondeTorchTargets NAMESPACE Sonde:: DESTINATION ${SONDE_CMAKE_DIR} COMPONENT torch)
endif()
# What `sonde torch build` compiles for another torch, whether or not Sonde was built with one.
if(TARGET sonde_cli AND TARGET sonde_agent)
  set(SONDE_ADAPTER_DIR ${CMAKE_INSTALL_DATADIR}/sonde/adapter)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/collect/torch DESTINATION ${SONDE_ADAPTER_DIR}/src/collect COMPONENT sonde
          FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "*_test.cpp" EXCLUDE PATTERN "*_bench.cpp" EXCLUDE)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sonde ${PROJECT_BINARY_DIR}/include/sonde
          DESTINATION ${SONDE_ADAPTER_DIR}/include COMPONENT sonde FILES_MATCHING PATTERN "*.h")
endif()
# The package for Python, where Debian's interpreter looks for it. The prefix is known when it is installed, and all
# folders are equally deep, so that the libraries lie in one place as seen from them.
if(TARGET sonde_python)
  install(CODE "
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(SONDE_PYTHON_PACKAGES lib/python3/dist-packages)
    elseif(CMAKE_INSTALL_PREFIX STREQUAL \"/usr/local\")
      set(SONDE_PYTHON_PACKAGES lib/${SONDE_PYTHON_FOLDER}/dist-packages)
    else()
      set(SONDE_PYTHON_PACKAGES lib/${SONDE_PYTHON_FOLDER}/site-packages)
    endif()" COMPONENT python)
  file(RELATIVE_PATH sonde_libraries_from_package ${CMAKE_INSTALL_PREFIX}/lib/python/packages/sonde ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(sonde_python PROPERTIES INSTALL_RPATH "$ORIGIN/${sonde_libraries_from_package}")
  install(TARGETS sonde_python LIBRARY DESTINATION "\${SONDE_PYTHON_PACKAGES}/sonde" COMPONENT python)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/sonde DESTINATION "\${SONDE_PYTHON_PACKAGES}" COMPONENT python
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sonde COMPONENT sonde)

# What the tarball and the wheel need built: all but the adapter for the torch of this machine.
if(TARGET sonde_cli)
  set(portable_parts sonde sonde_record sonde_cli sonde_help_files)
  foreach(part sonde_agent sonde_nvtx sonde_preload sonde_opencl sonde_cuda sonde_python)
    if(TARGET ${part})
      list(APPEND portable_parts ${part})
    endif()
  endforeach()
  add_custom_target(portable DEPENDS ${portable_parts})
endif()

# The user of a static libsonde links its dependencies; a shared one brings its own.
get_target_property(SONDE_LIBRARY_TYPE sonde TYPE)
if(SONDE_LIBRARY_TYPE STREQUAL "STATIC_LIBRARY")
  set(SONDE_IS_STATIC TRUE)
else()
  set(SONDE_IS_STATIC FALSE)
endif()

install(EXPORT SondeTargets NAMESPACE Sonde:: DESTINATION ${SONDE_CMAKE_DIR} COMPONENT dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SondeConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/SondeConfig.cmake
                              INSTALL_DESTINATION ${SONDE_CMAKE_DIR})
# Until 1.0 a minor version may break its users.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SondeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SondeConfig.cmake ${PROJECT_BINARY_DIR}/SondeConfigVersion.cmake
        DESTINATION ${SONDE_CMAKE_DIR} COMPONENT dev)

# pkg-config files find their prefix from their own place, so that an installed tree may be moved.
file(RELATIVE_PATH SONDE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SONDE_PC_PREFIX "${SONDE_PC_PREFIX}")
if(SONDE_IS_STATIC)
  set(SONDE_PC_REQUIRES "sonde-record, libzstd, zlib")
  if(SONDE_HAS_ISAL)
    string(APPEND SONDE_PC_REQUIRES ", libisal")
  endif()
  set(SONDE_PC_LIBS "-lsonde -pthread")
  if(SONDE_HAS_SQLITE)
    string(APPEND SONDE_PC_LIBS " -lsqlite3")
  endif()
  # C programs link the recorder too, and it is written in C++.
  set(SONDE_PC_RECORD_LIBS "-lsonde_record -pthread -lstdc++ -lm")
else()
  set(SONDE_PC_REQUIRES "sonde-record")
  set(SONDE_PC_LIBS "-lsonde")
  set(SONDE_PC_RECORD_LIBS "-lsonde_record")
endif()
foreach(package sonde sonde-record)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()
