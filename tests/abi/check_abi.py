#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the C interface of libsonde_record.so with its last accepted state, by libabigail.

    tests/abi/check_abi.py --build BUILD [--accept]

Programs link this library or look for it at run time, and are not compiled again with each Sonde. The library is compiled here
without optimisation and with the types that abidw reads. What counts are the functions and objects that are named sonde_….
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ACCEPTED = Path(__file__).with_name("libsonde_record.abi")
INTERFACE = ("c_api.cpp", "device_api.cpp")
SKIPPED = 77
INCOMPATIBLE = 8


def sources() -> list[Path]:
    own = [path for path in sorted((ROOT / "src/record").glob("*.cpp")) if not re.search(r"_(test|bench)\.cpp$", path.name)]
    return [*own, ROOT / "src/base/clock.cpp"]


def compile_library(compiler: str, build: Path, folder: Path) -> Path:
    library = folder / "libsonde_record.so.0"
    includes = [f"-I{path}" for path in (ROOT / "src", ROOT / "include", build / "include", build / "generated")]
    flags = [compiler, "-std=c++20", "-O0", "-fPIC", "-DSONDE_HAS_SDT=0", *includes]
    # Types of the two files that have the interface are enough.
    for name, debug, files in (("interface", "-g", [path for path in sources() if path.name in INTERFACE]),
                               ("rest", "-g0", [path for path in sources() if path.name not in INTERFACE])):
        (folder / f"{name}.cpp").write_text("".join(f'#include "{path}"\n' for path in files))
        subprocess.run([*flags, debug, "-c", str(folder / f"{name}.cpp"), "-o", str(folder / f"{name}.o")], check=True)
    subprocess.run([compiler, "-shared", "-Wl,-soname,libsonde_record.so.0", str(folder / "interface.o"), str(folder / "rest.o"),
                    "-o", str(library)], check=True)
    return library


def dump(library: Path, folder: Path) -> Path:
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True).stdout
    names = sorted(set(re.findall(r" [TBDR] (sonde_\w+)$", listed, re.MULTILINE)))
    wanted, out = folder / "wanted", folder / "now.abi"
    wanted.write_text("[abi_whitelist]\n" + "".join(f"  {name}\n" for name in names))
    subprocess.run(["abidw", "--kmi-whitelist", str(wanted), "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--drop-private-types",
                    "--headers-dir", str(ROOT / "include/sonde"), "--out-file", str(out), str(library)], check=True)
    # What differs from folder to folder.
    out.write_text(re.sub(r" path='[^']*'", "", out.read_text()))
    print(f"{len(names)} functions and objects")
    return out


def compare(now: Path) -> int:
    done = subprocess.run(["abidiff", "--no-added-syms", str(ACCEPTED), str(now)], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return 0
    print(done.stdout, done.stderr)
    if done.returncode & INCOMPATIBLE:
        print("Programs that are linked to this library would break.")
    print("Only new functions, and new members at the end of structures that begin with their size, keep such programs working. If this is one "
          "of these, accept it (--accept). Otherwise undo it, or raise the SOVERSION as well.")
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a build folder, for generated headers")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--accept", action="store_true", help="the interface as it is now is the one to keep")
    arguments = parser.parse_args()
    if not shutil.which("abidw") or not shutil.which(arguments.cxx):
        print("skipped: abigail-tools is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        now = dump(compile_library(arguments.cxx, arguments.build.resolve(), Path(folder)), Path(folder))
        if arguments.accept:
            shutil.copy(now, ACCEPTED)
            return 0
        return compare(now)


if __name__ == "__main__":
    sys.exit(main())
