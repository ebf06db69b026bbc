"""The command `handgrad doctor`."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from grader.sandbox.isolation import Isolation, Machine
    from grader.sandbox.worker_probe import Versions

LIBRARIES = ("torch", "numpy")
Lines = list[tuple[str, str]]


def doctor() -> None:
    """For instructors: show with what, and how isolated, `grade` runs learner code here, and try it once."""
    from grader.sandbox.isolation import machine

    found = machine()
    outcome, works = _graded_run_lines(found)
    print("\n".join(f"{name:<12}{says}" for name, says in (*_isolation_lines(found), *outcome)))
    raise typer.Exit(0 if works else 3)


def _isolation_lines(found: Machine) -> Lines:
    """Return a line for each means of isolation, and whether this machine offers it."""
    return [
        ("bubblewrap", found.no_box or "usable: no network, no files, no other processes"),
        ("landlock", f"version {found.landlock}" if found.landlock else "not offered by this kernel"),
        ("seccomp", found.no_seccomp or "usable: system calls are filtered"),
        ("user", "root: learner code runs as nobody" if found.root else "unprivileged"),
    ]


def _graded_run_lines(found: Machine) -> tuple[Lines, bool]:
    """Return lines on what graded runs use, and whether a trial run in the isolation that `grade` chooses works."""
    from grader.sandbox.isolation import weakness

    chosen = found.strongest
    if chosen == "none":
        lines = [("graded runs", "refused without --isolation none"), ("missing", found.missing)]
        return [*_installed_lines(), *lines], False
    outcome = _try_graded_run(chosen)
    if isinstance(outcome, str):
        weaker = next((name for name in found.weaker(chosen) if not isinstance(_try_graded_run(name), str)), None)
        works = [("", f"a trial run works with: --isolation {weaker}")] if weaker else []
        return [
            *_installed_lines(),
            ("graded runs", f"do not work in isolation {chosen}"),
            ("why", outcome),
            *works,
        ], False
    lines = [
        ("python", f"{outcome.python} ({sys.executable})"),
        *((name, getattr(outcome, name)) for name in LIBRARIES),
        ("graded runs", f"isolated: {chosen}"),
        *([("", says)] if (says := weakness(chosen, found)) else []),
        ("tried", "a graded run gave the right answer"),
    ]
    return lines, True


def _try_graded_run(isolation: Isolation) -> Versions | str:
    """Run a trial job in this isolation; return the versions that it reports, or why it failed."""
    from grader.errors import InfrastructureError
    from grader.sandbox.worker import start_worker
    from grader.sandbox.worker_probe import answer

    try:
        with start_worker(isolation) as worker:
            return answer(worker)
    except (InfrastructureError, ImportError) as error:
        return str(error)


def _installed_lines() -> Lines:
    """Return lines on the installed versions of Python and the libraries."""
    lines = [("python", f"{sys.version.split()[0]} ({sys.executable})")]
    for name in LIBRARIES:
        try:
            lines.append((name, version(name)))
        except PackageNotFoundError:
            lines.append((name, f"not installed: run `pip install {name}`"))
    return lines
