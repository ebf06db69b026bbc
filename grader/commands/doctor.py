"""The command `handgrad doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from grader.sandbox.isolation import Machine


def doctor() -> None:
    """For instructors: show how `grade` can isolate learner code on this machine."""
    from grader.sandbox.isolation import machine

    found = machine()
    print("\n".join(f"{name:<12}{says}" for name, says in _lines(found)))
    raise typer.Exit(3 if found.strongest == "none" else 0)


def _lines(found: Machine) -> list[tuple[str, str]]:
    """Each layer, and what it comes to."""
    from grader.sandbox.isolation import weakness

    chosen = found.strongest
    return [
        ("bubblewrap", found.no_box or "usable: no network, no files, no other processes"),
        ("landlock", f"version {found.landlock}" if found.landlock else "not offered by this kernel"),
        ("seccomp", found.no_seccomp or "usable: system calls are filtered"),
        ("user", "root: learner code runs as nobody" if found.root else "unprivileged"),
        ("graded runs", "refused without --isolation none" if chosen == "none" else f"isolated: {chosen}"),
        *([("missing", found.missing)] if found.missing else []),
        *([("", says)] if chosen != "none" and (says := weakness(chosen, found)) else []),
    ]
