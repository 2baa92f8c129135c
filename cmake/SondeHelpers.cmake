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

# fmt is used header-only, so that a program under test needs no further shared library.
function(sonde_find_fmt)
  find_path(SONDE_FMT_INCLUDE_DIR fmt/format.h)
  mark_as_advanced(SONDE_FMT_INCLUDE_DIR)
  if(NOT SONDE_FMT_INCLUDE_DIR)
    message(FATAL_ERROR "fmt was not found: install libfmt-dev")
  endif()
endfunction()

# Flags for code of ours; PRIVATE, so that nothing leaks to those who link us.
function(sonde_private_flags target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                                           -fno-omit-frame-pointer)
  if(SONDE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(SONDE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SONDE_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${SONDE_SANITIZE})
    # g++ 12's sanitizer instrumentation makes these two see what is not there.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-tsan>)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
endfunction()

# sonde_module(TARGET SOURCES a.cpp … TESTS a_test.cpp … [LABELS threads])
# Adds a folder's sources to a library and its tests to one executable named after the folder.
function(sonde_module target)
  cmake_parse_arguments(ARG "" "" "SOURCES;TESTS;LABELS;TEST_LIBS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(${target} PRIVATE ${ARG_SOURCES})
  if(SONDE_BUILD_TESTS AND ARG_TESTS)
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    sonde_test(${folder}_test SOURCES ${ARG_TESTS} LABELS ${ARG_LABELS} LIBS ${ARG_TEST_LIBS})
  endif()
endfunction()

# sonde_test(NAME SOURCES … [LABELS label] [LIBS …]): a GoogleTest executable; each case is a ctest case.
function(sonde_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LABELS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  sonde_private_flags(${name})
  target_link_libraries(${name} PRIVATE sonde sonde_testing ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SONDE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  # One label each: gtest_discover_tests takes a list apart.
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${ARG_LABELS} TIMEOUT 300)
  if(ARG_LABELS STREQUAL threads)
    set_property(GLOBAL APPEND PROPERTY SONDE_THREAD_TESTS ${name})
  endif()
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
endfunction()
