#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs an installed Sonde as a wheel: the program, its libraries, and the package for Python.

    tools/make_wheel.py PREFIX VERSION FOLDER     writes FOLDER/sonde-VERSION-….whl

A wheel's data go below the prefix of the environment it is installed into, so the program, its libraries and the package
lie there as they lie below PREFIX. A wheel has no symbolic links: a library goes by the name that the loader looks for.
"""

import base64
import hashlib
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path


def glibc_needed(prefix: Path) -> str:
    """"2_35": the newest version of a symbol that a library of the tree uses."""
    newest = (2, 17)
    for library in [*prefix.glob("lib/**/*.so*"), prefix / "bin/sonde"]:
        listed = subprocess.run(["objdump", "-T", str(library)], capture_output=True, text=True, check=False).stdout
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", listed)
        newest = max([newest, *((int(major), int(minor)) for major, minor in versions)])
    return f"{newest[0]}_{newest[1]}"


def soname(library: Path) -> str | None:
    listed = subprocess.run(["objdump", "-p", str(library)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"SONAME\s+(\S+)", listed)
    return found.group(1) if found else None


def files_of(prefix: Path, data: str):
    """(path in the wheel, file)"""
    for package in prefix.glob("lib/python3*/*-packages"):
        for file in sorted(package.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file.relative_to(package).as_posix(), file
    yield f"{data}/bin/sonde", prefix / "bin/sonde"
    for file in sorted(prefix.glob("lib/*.so*")):
        if not file.is_symlink():
            yield f"{data}/lib/{soname(file) or file.name}", file
    for file in sorted([*prefix.glob("lib/sonde/*"), *prefix.glob("share/**/*")]):
        if file.is_file():
            yield f"{data}/{file.relative_to(prefix).as_posix()}", file


class Wheel:
    def __init__(self, path: Path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record: list[str] = []

    def add(self, name: str, content: bytes, mode: int = 0o644):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def finish(self, name: str):
        self.record.append(f"{name},,")
        self.archive.writestr(name, "\n".join(self.record) + "\n")
        self.archive.close()


def main():
    prefix, version, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    tag = f"cp39-abi3-manylinux_{glibc_needed(prefix)}_{platform.machine()}"
    for old in folder.glob("sonde-*.whl"):
        old.unlink()
    path = folder / f"sonde-{version}-{tag}.whl"
    wheel, info = Wheel(path), f"sonde-{version}.dist-info"
    for name, file in files_of(prefix, f"sonde-{version}.data/data"):
        wheel.add(name, file.read_bytes(), file.stat().st_mode & 0o777)
    wheel.add(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: sonde\nVersion: {version}\nSummary: A profiler for tensor programs\n"
              "License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.9\n".encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: sonde\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.finish(f"{info}/RECORD")
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
