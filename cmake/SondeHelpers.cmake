# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the lists of the tree share: dependencies, flags, and a module's sources beside its tests.

function(sonde_find_zstd)
  find_path(SONDE_ZSTD_INCLUDE_DIR zstd.h)
  find_library(SONDE_ZSTD_LIBRARY zstd)
  mark_as_advanced(SONDE_ZSTD_INCLUDE_DIR SONDE_ZSTD_LIBRARY)
  if(NOT SONDE_ZSTD_INCLUDE_DIR OR NOT SONDE_ZSTD_LIBRARY)
    message(FATAL_ERROR "zstd was not found: install libzstd-dev")
  endif()
endfunction()

function(sonde_find_fmt)
  find_path(SONDE_FMT_INCLUDE_DIR fmt/format.h)
  mark_as_advanced(SONDE_FMT_INCLUDE_DIR)
  if(NOT SONDE_FMT_INCLUDE_DIR)
    message(FATAL_ERROR "fmt was not found: install libfmt-dev")
  endif()
endfunction()

# Only its headers: src/base/format.cpp compiles the implementation.
function(sonde_use_fmt target)
  target_include_directories(${target} SYSTEM PRIVATE ${SONDE_FMT_INCLUDE_DIR})
endfunction()

# sonde_optional(NAME PACKAGE FOUND WHAT): decides SONDE_HAS_<NAME> from SONDE_WITH_<NAME> (AUTO, ON, OFF).
function(sonde_optional name package found what)
  set(SONDE_WITH_${name} AUTO CACHE STRING "${what}: AUTO, ON or OFF")
  set_property(CACHE SONDE_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  if(SONDE_WITH_${name} STREQUAL "AUTO")
    set(has ${found})
  elseif(SONDE_WITH_${name} AND NOT found)
    message(FATAL_ERROR "SONDE_WITH_${name} is on and it was not found: install ${package}, "
                        "or configure with -DSONDE_WITH_${name}=OFF")
  else()
    set(has ${SONDE_WITH_${name}})
  endif()
  if(has)
    set(SONDE_HAS_${name} 1 PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY SONDE_OPTIONAL_PARTS "${what}: on")
  else()
    set(SONDE_HAS_${name} 0 PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY SONDE_OPTIONAL_PARTS "${what}: off (${package})")
  endif()
endfunction()

# What `convert` uses if it is installed. Programs under test build without any of it.
macro(sonde_find_convert_libraries)
  find_package(simdjson QUIET)
  sonde_optional(SIMDJSON libsimdjson-dev "${simdjson_FOUND}" "a second JSON reader, for tests and bench")
  find_path(SONDE_ISAL_INCLUDE_DIR isa-l/igzip_lib.h)
  find_library(SONDE_ISAL_LIBRARY isal)
  mark_as_advanced(SONDE_ISAL_INCLUDE_DIR SONDE_ISAL_LIBRARY)
  set(sonde_isal_found FALSE)
  if(SONDE_ISAL_INCLUDE_DIR AND SONDE_ISAL_LIBRARY)
    set(sonde_isal_found TRUE)
  endif()
  sonde_optional(ISAL libisal-dev ${sonde_isal_found} "fast gzip")
  find_path(SONDE_PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp)
  mark_as_advanced(SONDE_PROTOZERO_INCLUDE_DIR)
  set(sonde_protozero_found FALSE)
  if(SONDE_PROTOZERO_INCLUDE_DIR)
    set(sonde_protozero_found TRUE)
  endif()
  sonde_optional(PROTOZERO libprotozero-dev ${sonde_protozero_found} "writing Perfetto traces")
  find_path(SONDE_SQLITE_INCLUDE_DIR sqlite3.h)
  find_library(SONDE_SQLITE_LIBRARY sqlite3)
  mark_as_advanced(SONDE_SQLITE_INCLUDE_DIR SONDE_SQLITE_LIBRARY)
  set(sonde_sqlite_found FALSE)
  if(SONDE_SQLITE_INCLUDE_DIR AND SONDE_SQLITE_LIBRARY)
    set(sonde_sqlite_found TRUE)
  endif()
  sonde_optional(SQLITE libsqlite3-dev ${sonde_sqlite_found} "databases of nvprof and Nsight Systems, and SQL")
endmacro()

# Probes that perf and bpftrace find in the recorder.
macro(sonde_find_sdt)
  find_path(SONDE_SDT_INCLUDE_DIR sys/sdt.h)
  mark_as_advanced(SONDE_SDT_INCLUDE_DIR)
  set(sonde_sdt_found FALSE)
  if(SONDE_SDT_INCLUDE_DIR AND CMAKE_CXX_BYTE_ORDER STREQUAL LITTLE_ENDIAN)
    set(sonde_sdt_found TRUE)
  endif()
  sonde_optional(SDT systemtap-sdt-dev ${sonde_sdt_found} "probes for perf and bpftrace")
endmacro()

# Names and lines of native stacks.
# Only its headers: the library is opened when it is first used, because it takes long to load.
macro(sonde_find_libdw)
  find_path(SONDE_LIBDW_INCLUDE_DIR elfutils/libdwfl.h)
  mark_as_advanced(SONDE_LIBDW_INCLUDE_DIR)
  set(sonde_libdw_found FALSE)
  if(SONDE_LIBDW_INCLUDE_DIR)
    set(sonde_libdw_found TRUE)
  endif()
  sonde_optional(LIBDW libdw-dev ${sonde_libdw_found} "names and lines of native stacks")
endmacro()

# OpenCL's headers, and for the tests a loader of it.
macro(sonde_find_opencl)
  find_path(SONDE_OPENCL_INCLUDE_DIR CL/cl_layer.h)
  find_library(SONDE_OPENCL_LIBRARY OpenCL)
  mark_as_advanced(SONDE_OPENCL_INCLUDE_DIR SONDE_OPENCL_LIBRARY)
  set(sonde_opencl_found FALSE)
  if(SONDE_OPENCL_INCLUDE_DIR)
    set(sonde_opencl_found TRUE)
  endif()
  sonde_optional(OPENCL opencl-headers ${sonde_opencl_found} "OpenCL's kernels and copies")
endmacro()

# Beast, which `sonde view` serves its page with.
macro(sonde_find_boost)
  find_path(SONDE_BOOST_INCLUDE_DIR boost/beast/http.hpp)
  mark_as_advanced(SONDE_BOOST_INCLUDE_DIR)
  set(sonde_boost_found FALSE)
  if(SONDE_BOOST_INCLUDE_DIR)
    set(sonde_boost_found TRUE)
  endif()
  sonde_optional(BOOST libboost1.81-dev ${sonde_boost_found} "serving the viewer to a browser")
endmacro()

# LibTorch: Debian's, or the one that CMAKE_PREFIX_PATH names. Its CUDA parts are not looked for.
macro(sonde_find_torch)
  find_package(Torch QUIET)
  set(sonde_torch_found FALSE)
  if(Torch_FOUND)
    get_filename_component(sonde_torch_folder "${TORCH_LIBRARY}" DIRECTORY)
    find_library(SONDE_TORCH_CPU_LIBRARY torch_cpu HINTS ${sonde_torch_folder} ${TORCH_INSTALL_PREFIX}/lib)
    find_library(SONDE_TORCH_C10_LIBRARY c10 HINTS ${sonde_torch_folder} ${TORCH_INSTALL_PREFIX}/lib)
    mark_as_advanced(SONDE_TORCH_CPU_LIBRARY SONDE_TORCH_C10_LIBRARY)
    if(SONDE_TORCH_CPU_LIBRARY AND SONDE_TORCH_C10_LIBRARY)
      set(sonde_torch_found TRUE)
    endif()
  endif()
  sonde_optional(TORCH libtorch-dev ${sonde_torch_found} "LibTorch's operators")
  # Programs that use torch: its libraries are not sanitized, and clang refuses torch.h of 1.13 as C++20.
  set(SONDE_TORCH_PROGRAMS FALSE)
  if(SONDE_HAS_TORCH AND NOT SONDE_SANITIZE AND NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(SONDE_TORCH_PROGRAMS TRUE)
  endif()
endmacro()

# CPython's headers, of any version from 3.11 on: what is built with them serves 3.9 too. Debian's own interpreter comes
# first: others on the PATH come and go.
macro(sonde_find_python)
  set(sonde_python_found FALSE)
  if(NOT DEFINED SONDE_PYTHON_INCLUDE_DIR)
    file(GLOB sonde_python_folders /usr/include/python3.[1-9][0-9])
    list(SORT sonde_python_folders COMPARE NATURAL ORDER DESCENDING)
    find_path(SONDE_PYTHON_INCLUDE_DIR Python.h PATHS ${sonde_python_folders} NO_DEFAULT_PATH)
    mark_as_advanced(SONDE_PYTHON_INCLUDE_DIR)
  endif()
  # The folder below lib/ that its packages are in.
  set(SONDE_PYTHON_FOLDER python3)
  if(SONDE_PYTHON_INCLUDE_DIR MATCHES "(python3\\.[0-9]+)")
    set(SONDE_PYTHON_FOLDER ${CMAKE_MATCH_1})
  endif()
  # The module shares the recorder with whatever it records, and answers as the program does. The interpreter can be told
  # of the address sanitizer, but not of the thread sanitizer.
  if(SONDE_PYTHON_INCLUDE_DIR AND SONDE_BUILD_CLI AND BUILD_SHARED_LIBS AND NOT SONDE_SANITIZE MATCHES thread)
    set(sonde_python_found TRUE)
  endif()
  sonde_optional(PYTHON libpython3-dev ${sonde_python_found} "the package sonde for Python")
endmacro()

# Flags for our own code; PRIVATE, so that nothing leaks to users.
function(sonde_private_flags target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                                           -fno-omit-frame-pointer)
  # std::stable_sort of libstdc++ 12 uses what it calls deprecated, which clang reports at us.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
  if(SONDE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(SONDE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SONDE_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${SONDE_SANITIZE})
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/uninstrumented.txt>)
    # With g++ 12's sanitizer instrumentation these two give false warnings.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-tsan>)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
endfunction()

# sonde_loaded_when_linked(TARGET NAME): a program that links this shared library, called Sonde::NAME, loads it even if it
# uses no symbol of it and the linker runs with --as-needed.
function(sonde_loaded_when_linked target name)
  target_link_options(${target} INTERFACE
    LINKER:--push-state,--no-as-needed,$<TARGET_LINKER_FILE:Sonde::${name}>,--pop-state)
endfunction()

# sonde_precompile(TARGET [HEADER…]): with SONDE_PRECOMPILE, for targets of many sources.
function(sonde_precompile target)
  if(SONDE_PRECOMPILE)
    # g++ 12 forgets which precompiled headers are system headers, and warns about them.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
    target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <memory> <optional> <span> <string>
                                                <unordered_map> <vector> ${ARGN})
  endif()
endfunction()

# sonde_sources(TARGET [GROUP name] a.cpp …): adds sources to a target. With SONDE_UNITY those of one folder are compiled
# as one, so names in it are unique. Sources with a GROUP are compiled with the others of that group instead: a large
# folder has several, and small folders share one.
function(sonde_sources target)
  cmake_parse_arguments(ARG "" "GROUP" "" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SONDE_UNITY} UNITY_BUILD_MODE GROUP)
  # g++ takes a source that another includes for a header.
  if(SONDE_UNITY)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  foreach(source ${ARG_UNPARSED_ARGUMENTS})
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH group ${PROJECT_SOURCE_DIR} ${folder})
    if(ARG_GROUP)
      set(group ${ARG_GROUP})
    endif()
    string(REPLACE "/" "_" group "${group}")
    target_sources(${target} PRIVATE ${source})
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# sonde_module(TARGET SOURCES a.cpp … TESTS a_test.cpp … [LABELS threads])
# Adds a folder's sources to a library and its tests to one executable named after the folder.
function(sonde_module target)
  cmake_parse_arguments(ARG "" "" "SOURCES;TESTS;LABELS;TEST_LIBS" ${ARGN})
  sonde_sources(${target} ${ARG_SOURCES})
  if(SONDE_BUILD_UNIT_TESTS AND ARG_TESTS)
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    sonde_test(${folder}_test SOURCES ${ARG_TESTS} LABELS ${ARG_LABELS} LIBS ${ARG_TEST_LIBS})
  endif()
endfunction()

# sonde_test(NAME SOURCES … [LABELS label…] [LIBS …]): a GoogleTest executable, which is one ctest case: its tests run in
# one process. Its output names the test that failed or was running last.
function(sonde_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LABELS;LIBS" ${ARGN})
  add_executable(${name})
  sonde_private_flags(${name})
  sonde_sources(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sonde sonde_testing ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SONDE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  # A header that is precompiled for one or two objects costs more than it saves.
  set(objects ${ARG_SOURCES})
  if(SONDE_UNITY)
    list(TRANSFORM objects REPLACE "[^/]+$" "")
    list(REMOVE_DUPLICATES objects)
  endif()
  list(LENGTH objects count)
  if(count GREATER 3)
    sonde_precompile(${name} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  # The tested code is optimised. The tests themselves need not be, which halves the time to compile them.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
  if(threads IN_LIST ARG_LABELS)
    set_property(GLOBAL APPEND PROPERTY SONDE_THREAD_TESTS ${name})
  endif()
endfunction()

# sonde_slow_clock_test(NAME [ARGUMENT…]): runs it again as where there is no counter to read, and every record goes the
# slow way. Its memory is that of the first run, so the address sanitizer looks at it only by night.
function(sonde_slow_clock_test name)
  set(labels threads)
  if(SONDE_SANITIZE MATCHES address)
    list(APPEND labels deep)
  endif()
  add_test(NAME ${name}.SlowClock COMMAND ${name} ${ARGN})
  set_tests_properties(${name}.SlowClock PROPERTIES ENVIRONMENT SONDE_CLOCK=monotonic LABELS "${labels}" TIMEOUT 600)
endfunction()

function(sonde_print_summary)
  message(STATUS "Sonde ${PROJECT_VERSION}")
  foreach(part TESTS CLI EXAMPLES BENCH FUZZERS)
    if(SONDE_BUILD_${part})
      message(STATUS "  ${part}: on")
    else()
      message(STATUS "  ${part}: off")
    endif()
  endforeach()
  get_property(parts GLOBAL PROPERTY SONDE_OPTIONAL_PARTS)
  foreach(part ${parts})
    message(STATUS "  ${part}")
  endforeach()
endfunction()
