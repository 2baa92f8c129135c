#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives manual pages and completions to the programs that read them.

usage: check_help.py man|bash|zsh|fish SONDE
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
DEADLINE_S = 60

# A line as it is typed, and what the shell must make of it with the tab key. The folder has one trace.
COMPLETED = {
    "sonde crit": "sonde critical-path ",
    "sonde table --row-l": "sonde table --row-limit",
    "sonde table only": "sonde table only.sonde ",
    "sonde torch bui": "sonde torch build ",
    "sonde help critical": "sonde help critical-path ",
    "sonde report --format m": "sonde report --format md ",
    "sonde run -o x.sonde -- sondeprogr": "sonde run -o x.sonde -- sondeprogram ",
}


def need(program: str) -> str:
    found = shutil.which(program)
    if not found:
        print(f"skipped: {program} is not installed")
        sys.exit(SKIPPED)
    return found


def written(sonde: str, folder: Path) -> Path:
    subprocess.run([sonde, "help", "--write-files", str(folder)], check=True)
    return folder


def options_of(sonde: str, folder: Path) -> dict[str, set[str]]:
    """By command, of which there is a manual page: the options that its --help lists."""
    options = {}
    for page in folder.glob("man1/sonde-*.1"):
        words = next((words for words in (page.stem.removeprefix("sonde-").split("-"), [page.stem.removeprefix("sonde-")])
                      if len(words) == 1 or words[0] in ("torch", "mpi")))
        text = subprocess.run([sonde, *words, "--help"], capture_output=True, text=True, check=True).stdout
        options[" ".join(words)] = set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", text, re.MULTILINE))
    assert len(options["run"]) > 20, options
    return options


def all_offered(reader: str, options: dict[str, set[str]], offered: dict[str, str]):
    """Every option is among the words that are offered for its command."""
    missing = [f"sonde {command} {option}" for command, names in sorted(options.items()) for option in sorted(names)
               if not re.search(rf"(?<![\w-]){option}(?![\w-])", offered.get(command, ""))]
    assert not missing, f"{reader} does not know {missing}"
    print(f"{sum(map(len, options.values()))} options of {len(options)} commands")


def check_man(sonde: str, folder: Path):
    need("groff")
    pages = sorted(written(sonde, folder).glob("man1/*.1"))
    assert len(pages) > 20, pages
    for page in pages:
        read = subprocess.run(["groff", "-man", "-Tutf8", "-K", "utf8", "-ww", str(page)], capture_output=True, text=True, check=True)
        assert not read.stderr, f"{page.name}: {read.stderr}"
        for heading in ("NAME", "SYNOPSIS", "OPTIONS", "SEE ALSO"):
            assert heading in re.sub(".\b", "", read.stdout), f"{page.name} has no {heading}:\n{read.stdout}"
    commands = re.findall(r"^  ([a-z][a-z-]+) {2,}", subprocess.run([sonde, "--help"], capture_output=True, text=True, check=True).stdout, re.MULTILINE)
    missing = [name for name in commands if not (folder / "man1" / f"sonde-{name}.1").exists()]
    assert commands and not missing, f"no pages for {missing}"
    print(f"{len(pages)} pages")
    options = options_of(sonde, folder)
    texts = {command: (folder / "man1" / f"sonde-{command.replace(' ', '-')}.1").read_text() for command in options}
    all_offered("man", options, {command: re.sub(r"\\f[BIR]|\\", "", text) for command, text in texts.items()})


class Shell:
    """An interactive shell in a terminal."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def read_until(self, pattern: str) -> re.Match:
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            found = re.search(pattern, self.seen)
            if found:
                return found
            if select.select([self.terminal], [], [], 0.5)[0]:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        sys.exit(f"waited for {pattern!r}; the terminal has:\n{self.seen}")

    def type(self, text: str):
        os.write(self.terminal, text.encode())

    def end(self):
        self.type("\x15exit\n")
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


# What is typed last in each line: the shell prints the line as it stands.
SHOW = {
    "bash": r'show() { printf "\nLINE[%s]\n" "$READLINE_LINE"; READLINE_LINE=; }; bind -x "\"\C-t\": show"',
    "zsh": 'show() { print -r -- ""; print -r -- "LINE[$BUFFER]"; BUFFER=; }; zle -N show; bindkey "^T" show',
}


def check_typed(shell: str, command: list[str], setup: str, sonde: str, folder: Path):
    files = written(sonde, folder / "files")
    work = folder / "work"
    work.mkdir()
    (work / "only.sonde").touch()
    program = folder / "bin" / "sondeprogram"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = f"{program.parent}:{Path(sonde).parent}:/usr/bin:/bin"
    run = Shell(command, work, {"PATH": path, "TERM": "dumb", "HOME": str(folder), "LC_ALL": "C.UTF-8", "PS1": "> "})
    run.type(setup.format(files=files) + "; " + SHOW[shell] + "; echo rea''dy\n")
    run.read_until("ready\r?\n")
    for typed, expected in COMPLETED.items():
        run.seen = ""
        run.type(typed + "\t")
        run.type("\x14")
        line = run.read_until(r"LINE\[([^\]\r\n]*)\]").group(1)
        assert line.startswith(expected.rstrip()), f"{shell}: {typed!r} became {line!r}, not {expected!r}"
        print(f"{typed!r}: {line!r}")
    run.end()


def check_bash(sonde: str, folder: Path):
    bash = need("bash")
    subprocess.run([bash, "-n", str(written(sonde, folder / "files") / "sonde.bash")], check=True)
    offered, options = {}, options_of(sonde, folder / "files")
    for command in options:
        asked = f"source {folder}/files/sonde.bash; COMP_WORDS=(sonde {command} --); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _sonde; echo ${{COMPREPLY[@]}}"
        offered[command] = subprocess.run([bash, "-c", asked], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}).stdout
    all_offered("bash", options, offered)
    check_typed("bash", [bash, "--norc", "--noprofile", "-i"], "source {files}/sonde.bash", sonde, folder)


def check_zsh(sonde: str, folder: Path):
    zsh = need("zsh")
    subprocess.run([zsh, "-n", str(written(sonde, folder / "files") / "_sonde")], check=True)
    functions = re.split(r"^_sonde-([a-z-]+)\(\) \{$", (folder / "files" / "_sonde").read_text(), flags=re.MULTILINE)
    options = options_of(sonde, folder / "files")
    offered = dict(zip(functions[1::2], functions[2::2]))
    all_offered("zsh", options, {command: offered[command.replace(" ", "-")] for command in options})
    setup = "unsetopt zle_bracketed_paste prompt_cr; fpath=({files} $fpath); autoload -U compinit; compinit -u -D"
    check_typed("zsh", [zsh, "-f", "-i"], setup, sonde, folder)


def check_fish(sonde: str, folder: Path):
    fish = need("fish")
    completions = written(sonde, folder / "files") / "sonde.fish"
    subprocess.run([fish, "-n", str(completions)], check=True)
    (folder / "only.sonde").touch()
    program = folder / "sondeprogram"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environment = dict(os.environ, PATH=f"{folder}:{Path(sonde).parent}:/usr/bin:/bin", HOME=str(folder), XDG_CONFIG_HOME=str(folder), XDG_DATA_HOME=str(folder))
    options, offered = options_of(sonde, folder / "files"), {}
    ask_all = "; ".join(f"echo '# {command}'; complete -C 'sonde {command} --'" for command in options)
    told = subprocess.run([fish, "-c", f"source {completions}; {ask_all}"], cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout
    for part in told.split("# ")[1:]:
        command, _, words = part.partition("\n")
        offered[command] = words
    all_offered("fish", options, offered)
    for typed, expected in COMPLETED.items():
        asked = subprocess.run([fish, "-c", f"source {completions}; complete -C '{typed}'"], cwd=folder, env=environment,
                               capture_output=True, text=True, check=True)
        offered = [line.split("\t")[0] for line in asked.stdout.splitlines()]
        assert expected.split()[-1] in offered, f"fish: {typed!r} offers {offered}\n{asked.stderr}"
        print(f"{typed!r}: {offered}")


def main():
    reader, sonde = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        {"man": check_man, "bash": check_bash, "zsh": check_zsh, "fish": check_fish}[reader](sonde, Path(folder))


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(str(error))
