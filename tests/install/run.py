#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds tests/install/project against Sonde in one of the ways that users have, and runs it."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent / "project"


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run_programs(folder: Path, programs: Path, environment: dict | None = None):
    """Each program records to the file it is given, or says why not; the trace must then be there."""
    run(programs / "profiled", "profiled.sonde", cwd=folder, env=environment)
    if (folder / "profiled.sonde").stat().st_size == 0:
        sys.exit("profiled.sonde is empty")
    run(programs / "marked_in_c", cwd=folder, env=environment)


def configure_and_build(arguments, folder: Path, *settings):
    if shutil.which("ccache"):
        settings += ("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",)
    run(arguments.cmake, "-S", PROJECT, "-B", folder, "-G", arguments.generator, "-DCMAKE_BUILD_TYPE=Debug",
        f"-DCMAKE_CXX_COMPILER={arguments.cxx}", f"-DCMAKE_C_COMPILER={arguments.cc}", *settings)
    run(arguments.cmake, "--build", folder)


def install(arguments):
    prefix = fresh(arguments.work / "prefix")
    run(arguments.cmake, "--install", arguments.build, "--prefix", prefix)
    cli = prefix / "bin" / "sonde"
    if cli.exists():
        run(cli, "--version")


def find_package(arguments, prefix: str, name: str):
    folder = fresh(arguments.work / name)
    configure_and_build(arguments, folder, f"-DCMAKE_PREFIX_PATH={arguments.work / prefix}")
    run_programs(folder, folder)


def pkg_config(arguments, prefix: str, name: str):
    folder = fresh(arguments.work / name)
    root = arguments.work / prefix
    found = sorted(path.parent for path in root.rglob("sonde.pc"))
    if not found:
        sys.exit(f"no sonde.pc under {root}")
    environment = dict(os.environ, PKG_CONFIG_PATH=str(found[0]), LD_LIBRARY_PATH=str(found[0].parent))

    def flags(package: str) -> list[str]:
        asked = subprocess.run(["pkg-config", "--cflags", "--libs", package], env=environment, check=True,
                               capture_output=True, text=True)
        return asked.stdout.split()

    run(arguments.cxx, "-std=c++17", PROJECT / "profiled.cpp", "-o", folder / "profiled", *flags("sonde"))
    run(arguments.cc, "-std=c11", PROJECT / "marked_in_c.c", "-o", folder / "marked_in_c", *flags("sonde-record"))
    run_programs(folder, folder, environment)


def add_subdirectory(arguments):
    folder = fresh(arguments.work / "add_subdirectory")
    configure_and_build(arguments, folder, f"-DSONDE_SOURCE={arguments.source}", "-DBUILD_SHARED_LIBS=OFF",
                        "-DSONDE_INSTALL=ON", "-DSONDE_BUILD_CLI=OFF", "-DSONDE_WITH_TORCH=OFF")
    run_programs(folder, folder)
    run(arguments.cmake, "--install", folder, "--prefix", fresh(arguments.work / "prefix_static"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    ways = {
        "install": install,
        "find_package": lambda a: find_package(a, "prefix", "find_package"),
        "pkg_config": lambda a: pkg_config(a, "prefix", "pkg_config"),
        "add_subdirectory": add_subdirectory,
        "find_package_static": lambda a: find_package(a, "prefix_static", "find_package_static"),
        "pkg_config_static": lambda a: pkg_config(a, "prefix_static", "pkg_config_static"),
    }
    parser.add_argument("way", choices=sorted(ways))
    for name in ("source", "build", "work"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("cmake", "generator", "cxx", "cc"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    try:
        ways[arguments.way](arguments)
    except subprocess.CalledProcessError as error:
        sys.exit(f"exit status {error.returncode}: {' '.join(error.cmd)}")


if __name__ == "__main__":
    main()
