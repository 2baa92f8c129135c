# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the package `sonde` with the module that CMake built. One module serves every CPython from 3.9 on.

It takes the module named by SONDE_PYTHON_MODULE, else the newest one under build/, else that of the Sonde whose program
is on the PATH. The package uses the libraries of that Sonde where they are.
"""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution
from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
NAME = "_native.abi3.so"


def is_sanitized(module):
    """Such a module works only where the sanitizer's library is loaded first."""
    cache = pathlib.Path(module).parents[2] / "CMakeCache.txt"
    return cache.exists() and re.search(r"^SONDE_SANITIZE:\w+=.+$", cache.read_text(), re.MULTILINE) is not None


def candidates():
    if os.environ.get("SONDE_PYTHON_MODULE"):
        yield os.environ["SONDE_PYTHON_MODULE"]
    built = [path for path in glob.glob(str(HERE.parent / "build/*/python/sonde" / NAME)) if not is_sanitized(path)]
    yield from sorted(built, key=os.path.getmtime, reverse=True)
    program = shutil.which("sonde")
    if program:
        prefix = pathlib.Path(program).resolve().parent.parent
        yield from glob.glob(str(prefix / "lib/python3*/*-packages/sonde" / NAME))


def find_module():
    for path in candidates():
        if os.path.exists(path):
            return pathlib.Path(path).resolve()
    sys.exit("sonde: the module for Python was not found. Build Sonde first (cmake --build build/release), install it, or name "
             f"{NAME} by SONDE_PYTHON_MODULE.")


def libraries(module):
    """Sonde's libraries where the loader finds them for the module, the recorder first."""
    listed = subprocess.run(["ldd", str(module)], check=True, capture_output=True, text=True).stdout
    found = [re.search(rf"{name}\.so\S* => (\S+)", listed) for name in ("libsonde_record", "libsonde")]
    if not all(found):
        sys.exit(f"sonde: {module} does not find libsonde; install Sonde first")
    return [str(pathlib.Path(one.group(1)).parent.resolve() / os.path.basename(one.group(1))) for one in found]


def version():
    return re.search(r"project\(Sonde VERSION (\S+)", (HERE.parent / "CMakeLists.txt").read_text()).group(1)


class BuildWithModule(build_py):
    def run(self):
        super().run()
        module = find_module()
        folder = pathlib.Path(self.build_lib) / "sonde"
        shutil.copy2(module, folder / NAME)
        (folder / "_where.py").write_text(f'"""Made when the package was installed."""\n\nLIBRARIES = {libraries(module)!r}\n')


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class OneForAll(bdist_wheel):
    def get_tag(self):
        return ("cp39", "abi3", super().get_tag()[2])


setup(
    name="sonde",
    version=version(),
    description="A profiler for tensor programs",
    license="Apache-2.0 WITH LLVM-exception",
    python_requires=">=3.9",
    packages=["sonde", "sonde._site", "sonde.autograd", "sonde.cuda", "sonde.dynamo", "sonde.profiler"],
    package_data={"sonde": ["py.typed", "*.pyi"]},
    distclass=Binary,
    cmdclass={"build_py": BuildWithModule, "bdist_wheel": OneForAll},
)
