#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the recipes under packaging/, the workflows of GitHub and CHANGELOG.md: syntax, versions, and that options exist.

    tools/check_recipes.py     prints what is wrong, exits 1 if there is something
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"


def version() -> str:
    return re.search(r"project\(Sonde VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def known_options() -> set[str]:
    text = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake"), *ROOT.glob("src/**/CMakeLists.txt")])
    named = set(re.findall(r"\b(SONDE_\w+)", text))
    optional = re.findall(r"sonde_optional\((\w+)", text)
    return named | {f"SONDE_WITH_{name}" for name in optional}


def wrong_yaml(path: Path) -> list[str]:
    if yaml is None:
        return []
    text = path.read_text()
    if path.name == "meta.yaml":  # a template: its statements go, its values are texts
        text = re.sub(r"\{%.*?%\}", "", text)
        text = re.sub(r"\{\{\s*(.*?)\s*\}\}", lambda found: "x_" + re.sub(r"\W", "_", found.group(1)), text)
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"{path.relative_to(ROOT)}: {error}"]
    if "workflows" in path.parts:
        return [f"{path.relative_to(ROOT)}: {step['run']}: no such tool" for job in content["jobs"].values() for step in job["steps"]
                for tool in re.findall(r"(?<![\w/])(tools/\w+)", step.get("run", "")) if not (ROOT / tool).exists()]
    return []


def wrong_options() -> list[str]:
    known, wrong = known_options(), []
    for path in sorted(PACKAGING.rglob("*")):
        if path.is_file():
            unknown = set(re.findall(r"-D(SONDE_\w+)", path.read_text())) - known
            wrong += [f"{path.relative_to(ROOT)}: no option {name}" for name in sorted(unknown)]
    conan = (PACKAGING / "conan/conanfile.py").read_text()
    parts = re.findall(r'"((?:BUILD|WITH|WARNINGS)_\w+)"', conan)
    return wrong + [f"packaging/conan/conanfile.py: no option SONDE_{name}" for name in parts if f"SONDE_{name}" not in known]


def wrong_docker() -> list[str]:
    keywords = {"FROM", "RUN", "COPY", "WORKDIR", "ENTRYPOINT", "CMD", "ENV", "ARG"}
    text = re.sub(r"\\\n", " ", (PACKAGING / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [f"packaging/Dockerfile: {line}" for line in lines if line.split()[0] not in keywords]


def main() -> int:
    wrong = wrong_options() + wrong_docker()
    for path in [PACKAGING / "conda/meta.yaml", *sorted((ROOT / ".github/workflows").glob("*.yml"))]:
        wrong += wrong_yaml(path)
    port = json.loads((PACKAGING / "vcpkg/vcpkg.json").read_text())
    if port["version"] != version():
        wrong.append(f"packaging/vcpkg/vcpkg.json: version {port['version']}, but CMakeLists.txt says {version()}")
    newest = re.search(r"^## (\S+), ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not newest or newest.group(1) != version():
        wrong.append(f"CHANGELOG.md: does not begin with version {version()} of CMakeLists.txt")
    ast.parse((PACKAGING / "conan/conanfile.py").read_text())
    if subprocess.run(["bash", "-n", str(PACKAGING / "conda/build.sh")], check=False).returncode != 0:
        wrong.append("packaging/conda/build.sh: bash does not read it")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
