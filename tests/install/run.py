#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds tests/install/project, or torch_project, against Sonde in one of the supported ways, and runs it."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent / "project"
TORCH_PROJECT = Path(__file__).resolve().parent / "torch_project"


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
    if (programs / "links_cuda").exists():
        run(programs / "links_cuda", cwd=folder, env=environment)


def configure_and_build(arguments, folder: Path, *settings, project: Path = PROJECT):
    if shutil.which("ccache"):
        settings += ("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",)
    run(arguments.cmake, "-S", project, "-B", folder, "-G", arguments.generator, "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O0",  # it only has to run
        f"-DCMAKE_CXX_COMPILER={arguments.cxx}", f"-DCMAKE_C_COMPILER={arguments.cc}", *settings)
    run(arguments.cmake, "--build", folder)


def install(arguments):
    prefix = fresh(arguments.work / "prefix")
    run(arguments.cmake, "--install", arguments.build, "--prefix", prefix)
    cli = prefix / "bin" / "sonde"
    if cli.exists():
        run(cli, "--version")
        for name in ("man/man1/sonde-run.1*", "bash-completion/completions/sonde", "zsh/site-functions/_sonde", "fish/vendor_completions.d/sonde.fish"):
            if not list(prefix.glob("share/" + name)):
                sys.exit(f"share/{name} was not installed")
    for package in prefix.glob("lib/python3*/*-packages/sonde"):
        python_package(cli, package, fresh(arguments.work / "python"))


def python_package(cli: Path, package: Path, folder: Path):
    """The package finds its libraries, and the program finds the package."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    run(sys.executable, "-c", "import sonde; print(sonde.__version__)", cwd=folder, env=environment)
    stands_in = "import sys; sys.exit(not any(type(finder).__module__ == '_sonde_torch_import' for finder in sys.meta_path))"
    run(cli, "run", "-q", "--force", "--as-torch-profiler", "-o", "run.sonde", "--", sys.executable, "-c", stands_in, cwd=folder)


def find_package(arguments, prefix: str, name: str):
    folder = fresh(arguments.work / name)
    configure_and_build(arguments, folder, f"-DCMAKE_PREFIX_PATH={arguments.work / prefix}")
    run_programs(folder, folder)


def expect_operators(sonde: Path, trace: str, folder: Path):
    table = subprocess.run([sonde, "table", trace], cwd=folder, check=True, capture_output=True, text=True).stdout
    for name in ("aten::ones", "aten::mul"):
        if name not in table:
            sys.exit(f"no {name} in {trace}:\n{table}")


def torch_component(arguments):
    folder = fresh(arguments.work / "torch_component")
    prefix = arguments.work / "prefix"
    configure_and_build(arguments, folder, f"-DCMAKE_PREFIX_PATH={prefix}", project=TORCH_PROJECT)
    run(folder / "profiled", "profiled.sonde", cwd=folder)
    expect_operators(prefix / "bin" / "sonde", "profiled.sonde", folder)


def torch_build(arguments):
    """An installation without an adapter, as for a torch that it was not built with."""
    program = arguments.work / "torch_component" / "unmodified"
    prefix = fresh(arguments.work / "prefix_torch_build")
    shutil.copytree(arguments.work / "prefix", prefix, symlinks=True, dirs_exist_ok=True)
    for adapter in prefix.rglob("libsonde_torch*"):
        adapter.unlink()
    folder = fresh(arguments.work / "torch_build")
    launcher = "ccache " if shutil.which("ccache") else ""
    environment = dict(os.environ, CXX=launcher + arguments.cxx, XDG_CACHE_HOME=str(folder / "cache"))
    sonde = prefix / "bin" / "sonde"
    command = [sonde, "run", "--force", "-o", "run.sonde", "--", program]
    without = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stderr
    print(without)
    advice = "to record it, run this once: sonde torch build --prefix "
    if advice not in without:
        sys.exit(f"nothing says what to type:\n{without}")
    torch_prefix = without.split(advice)[1].split("\n")[0]
    run(sonde, "torch", "build", "--prefix", torch_prefix, cwd=folder, env=environment)
    run(*command, cwd=folder, env=environment)
    expect_operators(sonde, "run.sonde", folder)


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


def settings_like(build: Path) -> list[str]:
    """The options with which ccache finds what `build` has compiled, else those that compile fastest."""
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE))
    if cache.get("CMAKE_CXX_COMPILER_LAUNCHER") != "ccache" or cache.get("SONDE_PRECOMPILE") == "ON":
        return ["-DSONDE_PRECOMPILE=ON", "-DSONDE_UNITY=ON"]
    flags = f"CMAKE_CXX_FLAGS_{cache['CMAKE_BUILD_TYPE'].upper()}"
    return [f"-D{name}={cache[name]}" for name in ("CMAKE_BUILD_TYPE", flags, "SONDE_WARNINGS_AS_ERRORS")]


def add_subdirectory(arguments):
    folder = fresh(arguments.work / "add_subdirectory")
    configure_and_build(arguments, folder, f"-DSONDE_SOURCE={arguments.source}", "-DBUILD_SHARED_LIBS=OFF",
                        "-DSONDE_INSTALL=ON", "-DSONDE_BUILD_CLI=OFF", "-DSONDE_WITH_TORCH=OFF",
                        *settings_like(arguments.build))
    run_programs(folder, folder)
    run(arguments.cmake, "--install", folder, "--prefix", fresh(arguments.work / "prefix_static"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    ways = {
        "install": install,
        "find_package": lambda a: find_package(a, "prefix", "find_package"),
        "torch_component": torch_component,
        "torch_build": torch_build,
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
