#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the probes in libsonde_record.

usage: check_probes.py READELF LIBRARY

All exist with their arguments, and their semaphore is the upper half of the word that scopes
read, in the section where perf looks for semaphores.
"""
import re
import subprocess
import sys

PROBES = {"scope_begin": 1, "scope_end": 0, "mark": 1}


def main():
    readelf, library = sys.argv[1:]
    read = lambda *flags: subprocess.run([readelf, "-W", *flags, library], check=True, capture_output=True,
                                         text=True).stdout
    word = re.search(r"^\s*\d+:\s+(\w+)\s+\d+ OBJECT\s.*\ssonde_detail_recording$", read("--dyn-syms"), re.M)
    section = re.search(r"\]\s+\.probes\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)", read("-S"))
    if not word or not section:
        sys.exit("no sonde_detail_recording, or no section .probes")
    word, start, size = int(word.group(1), 16), int(section.group(1), 16), int(section.group(2), 16)
    problems = []
    if not start <= word < start + size:
        problems.append("sonde_detail_recording is not in .probes")
    found = {}
    for name, semaphore, arguments in re.findall(
            r"Provider: sonde\n\s+Name: (\w+)\n\s+Location: \w+, Base: \w+, Semaphore: (\w+)\n\s+Arguments:(.*)",
            read("-n")):
        found[name] = len(arguments.split())
        if int(semaphore, 16) != word + 2:
            problems.append(f"{name}: its semaphore is at {semaphore}, not at {word + 2:#x}")
    if found != PROBES:
        problems.append(f"expected {PROBES}, found {found}")
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main()
