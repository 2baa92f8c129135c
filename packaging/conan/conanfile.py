# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conan 2: the libraries that mark, record and read; without the program."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Sonde(ConanFile):
    name = "sonde"
    license = "Apache-2.0 WITH LLVM-exception"
    description = "A profiler for tensor programs"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": True, "fPIC": True}
    requires = ("zstd/[>=1.5]", "zlib/[>=1.2.11 <2]", "fmt/[>=9]", "isa-l/[>=2.30]", "protozero/[>=1.7]", "sqlite3/[>=3.40]")

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        lines = load(self, os.path.join(self._root, "CMakeLists.txt")).splitlines()
        self.version = next(line.split()[2] for line in lines if line.startswith("project(Sonde VERSION"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "schema/*", "src/*", "tools/*", "viewer/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("BUILD_CLI", "BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_BENCH", "WITH_TORCH", "WITH_PYTHON", "WITH_LIBDW", "WARNINGS_AS_ERRORS"):
            toolchain.cache_variables[f"SONDE_{part}"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # Sonde installs its own SondeConfig.cmake
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "Sonde"))
