# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module itself, as a file."""

import shutil
import subprocess

import pytest

from sonde import _native


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs binutils")
def test_the_module_needs_no_library_of_the_shell():
    # Its static form cannot be linked into a library, so the tarball could not be built.
    needed = subprocess.run(["objdump", "-p", _native.__file__], capture_output=True, text=True, check=True).stdout
    assert "libsonde.so" in needed
    assert "libedit" not in needed
