"""Find the Pythons of this machine besides the one that runs this: `python .ci/pythons.py`.

Prints the path of each, the newest first, one for each minor release; on stderr, everything that was looked at and why
it is used or not. A version manager is asked for its folders, because the `python3.13` that it leaves in PATH may be a
script that fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = (3, 11)
ASK = """
import ensurepip, json, platform, sys, sysconfig, venv
answer = {"version": sys.version_info[:3], "level": sys.version_info.releaselevel}
answer["implementation"] = platform.python_implementation()
answer["is_free_threaded"] = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
print(json.dumps(answer))
"""
MANAGERS = {
    "pyenv": (["pyenv", "root"], "versions/*/bin/python"),
    "uv": (["uv", "python", "dir"], "*/bin/python3"),
    "asdf": (["asdf", "where", "python"], "../*/bin/python"),
    "mise": (["mise", "where", "python"], "../*/bin/python"),
}
"""What prints the folder of each version manager, and where its Pythons are from there."""


def main() -> None:
    """Print the path of one usable interpreter for each minor version, the newest first; report every one on stderr."""
    usable: dict[str, tuple[tuple[int, ...], str]] = {}
    own_minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    for source, path in candidates():
        version, problem = ask(path)
        minor = ".".join(map(str, version[:2]))
        if not problem and minor == own_minor:
            problem = f"a Python {own_minor} runs the rest already"
        if not problem and minor in usable and usable[minor][0] >= version:
            problem = "another one is as new"
        if not problem:
            usable[minor] = version, path
        print(f"{source}: {path} {'.'.join(map(str, version))}: {problem or 'can be used'}", file=sys.stderr)
    for _, path in sorted(usable.values(), reverse=True):
        print(path)


def candidates() -> Iterator[tuple[str, str]]:
    """Yield where each interpreter was found (`PATH` or a version manager) and its path, no file twice by one name."""
    seen: set[str] = set()
    for source, path in (*_pythons_on_path(), *_managed_pythons()):
        name = f"{os.path.realpath(path)} {os.path.basename(path)}"  # a shim does what its name says
        if name not in seen:
            seen.add(name)
            yield source, path


def _pythons_on_path() -> Iterator[tuple[str, str]]:
    """Yield `PATH` and the path of each executable `python3.N` in the folders of `PATH`."""
    for folder in dict.fromkeys(os.get_exec_path()):
        for path in sorted(Path(folder or ".").glob("python3.*")):
            if path.suffix[1:].isdigit() and os.access(path, os.X_OK):
                yield "PATH", str(path)


def _managed_pythons() -> Iterator[tuple[str, str]]:
    """Yield the name of a version manager in `MANAGERS` and the path of each interpreter that it has installed."""
    for name, (command, pattern) in MANAGERS.items():
        try:
            completed = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except FileNotFoundError:
            print(f"{name}: not installed", file=sys.stderr)
            continue
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        folder = completed.stdout.strip()
        if completed.returncode != 0 or not os.path.isdir(folder):
            print(f"{name}: it names no folder: {completed.stderr.strip() or folder}", file=sys.stderr)
            continue
        for path in sorted(Path(folder).glob(pattern)):
            yield name, str(path)


def ask(path: str) -> tuple[tuple[int, ...], str]:
    """Run an interpreter and return its version and why it cannot be used.

    Returns:
        The version, empty if the interpreter does not run or prints something else; the reason, empty if it is usable.
    """
    try:
        completed = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return (), f"it does not run: {error}"
    if completed.returncode != 0:
        return (), f"it does not run: {(completed.stderr.strip() or 'no reason given').splitlines()[0]}"
    try:
        answer = json.loads(completed.stdout)
    except ValueError:
        return (), f"it says {completed.stdout[:80]!r}"
    version = tuple(answer["version"])
    if version < OLDEST:
        return version, "older than 3.11"
    if answer["implementation"] != "CPython" or answer["is_free_threaded"]:
        return version, "torch has no builds for this kind of Python"
    return version, "" if answer["level"] == "final" else f"not released yet ({answer['level']})"


if __name__ == "__main__":
    main()
