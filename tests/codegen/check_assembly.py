#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a unit and checks the assembly of its scopes.

usage: check_assembly.py COMPILER FLAGS... UNIT

Idle: between entry and the work, one load of the recording flag, one branch, no call. Anywhere: no
call for thread-local storage. Recording: the clock is read inline.
"""
import re
import subprocess
import sys


def functions(assembly):
    """Instructions of each function, in order, without labels and directives."""
    found, name = {}, None
    for line in assembly.splitlines():
        label = re.match(r"^(\w+):", line)
        if label:
            name = label.group(1)
            found[name] = []
        elif name and re.match(r"^\s+[a-z]", line):
            found[name].append(line.split("#")[0].strip())
    return found


def check(assembly, scopes, function):
    problems = []
    body = functions(assembly).get(function, [])
    if not body:
        return [f"{function}: not found in the assembly"]
    before_work = []
    for instruction in body:
        before_work.append(instruction)
        if "sonde_test_work" in instruction:  # a call, or a branch that is one
            break
    else:
        problems.append(f"{function}: never calls the work")
    calls = [i for i in before_work if i.startswith("call") and "sonde_test_work" not in i]
    jumps = [i for i in before_work if re.match(r"j(?!mp)\w+\s", i)]
    loads = [i for i in before_work if "sonde_detail_recording" in i]
    if calls:
        problems.append(f"{function}: calls before the work while idle: {calls}")
    if len(jumps) != scopes:
        problems.append(f"{function}: {len(jumps)} branches before the work, expected {scopes}: {jumps}")
    if not loads:
        problems.append(f"{function}: the recording flag is not looked at")
    return problems


def main():
    command = [sys.argv[1], "-S", "-o", "-", *sys.argv[2:]]
    assembly = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    problems = check(assembly, 1, "sonde_test_scope") + check(assembly, 2, "sonde_test_two_scopes")
    for forbidden in ("__tls_get_addr", "tlsdesc", "tlsgd", "tlsld", "__cxa_guard"):
        if forbidden in assembly.lower():
            problems.append(f"{forbidden} is used")
    if "rdtsc" not in assembly:
        problems.append("the clock is not read inline")
    for problem in problems:
        print(problem)
    if problems:
        print(assembly)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
