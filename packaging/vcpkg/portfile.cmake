# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A port inside of the sources that it builds.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DSONDE_BUILD_CLI=OFF -DSONDE_BUILD_TESTS=OFF -DSONDE_BUILD_EXAMPLES=OFF -DSONDE_BUILD_BENCH=OFF
          -DSONDE_WITH_TORCH=OFF -DSONDE_WITH_PYTHON=OFF -DSONDE_WITH_LIBDW=OFF -DSONDE_WARNINGS_AS_ERRORS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Sonde CONFIG_PATH lib/cmake/Sonde)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
