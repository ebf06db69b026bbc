"""Which other Python `.ci/run` takes: the newest that runs, also where a version manager only left scripts in PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.courses import ROOT

pytestmark = pytest.mark.slow

MINE = sys.version_info[:2]
SAYS = '{"version": %s, "level": "%s", "implementation": "%s", "is_free_threaded": %s}'


def python(path: Path, version: list[int], level: str = "final", kind: str = "CPython", free: str = "false") -> str:
    """Make a program that answers as a Python of some release does; its path."""
    return program(path, f"echo '{SAYS % (version, level, kind, free)}'")


def program(path: Path, *lines: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


def found(*folders: Path) -> tuple[list[str], dict[str, str]]:
    """What is printed where PATH has these folders alone, and what is said of each path."""
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci/pythons.py")],
        env={"PATH": os.pathsep.join(map(str, folders))}, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    said = (line.partition(": ")[2].partition(": ") for line in done.stderr.splitlines() if line.count(": ") > 1)
    return done.stdout.splitlines(), {head.split(" ")[0]: says for head, _, says in said}


def test_a_script_of_a_version_manager_that_fails_is_named_and_its_pythons_are_found(tmp_path: Path) -> None:
    shims, root = tmp_path / "shims", tmp_path / "pyenv"
    shim = program(shims / "python3.98", "echo 'pyenv: python3.98: command not found' >&2", "exit 127")
    program(shims / "pyenv", f"echo {root}")
    new = python(root / "versions/3.98.0/bin/python", [3, 98, 0])
    old = python(root / "versions/3.9.1/bin/python", [3, 9, 1])
    paths, said = found(shims)
    assert paths == [new]
    assert said[shim] == "it does not run: pyenv: python3.98: command not found"
    assert said[new] == "can be used"
    assert said[old] == "older than 3.11"


def test_the_newest_comes_first_and_each_minor_release_once(tmp_path: Path) -> None:
    here, uv = tmp_path / "bin", tmp_path / "uv"
    program(here / "uv", f"echo {uv}")
    first = python(here / "python3.97", [3, 97, 1])
    newer = python(uv / "cpython-3.97/bin/python3", [3, 97, 4])
    newest = python(uv / "cpython-3.99/bin/python3", [3, 99, 0])
    paths, said = found(here)
    assert paths == [newest, newer]
    assert set(said) == {first, newer, newest}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"version": [3, 99, 0], "level": "candidate"}, "not released yet (candidate)"),
        ({"version": [3, 99, 0], "kind": "PyPy"}, "no builds for this kind"),
        ({"version": [3, 99, 0], "free": "true"}, "no builds for this kind"),
        ({"version": [*MINE, 99]}, "runs the rest already"),
    ],
    ids=["candidate", "PyPy", "free-threaded", "the same"],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, answer: dict, says: str) -> None:
    path = python(tmp_path / "python3.99", **answer)
    paths, said = found(tmp_path)
    assert paths == []
    assert says in said[path]


def test_what_is_no_python_is_said(tmp_path: Path) -> None:
    silent, garbled = program(tmp_path / "python3.98", "exit 1"), program(tmp_path / "python3.99", "echo hello")
    paths, said = found(tmp_path)
    assert paths == []
    assert said == {silent: "it does not run: no reason given", garbled: "it says 'hello\\n'"}


def test_a_version_manager_that_is_broken_costs_nothing(tmp_path: Path) -> None:
    program(tmp_path / "pyenv", "echo 'no such thing' >&2", "exit 1")
    usable = python(tmp_path / "python3.99", [3, 99, 0])
    assert found(tmp_path)[0] == [usable]
