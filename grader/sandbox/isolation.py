"""What this machine offers to keep learner code in, and which of it a graded run uses.

box: bubblewrap + Landlock + seccomp. kernel: Landlock + seccomp. seccomp: that filter alone, for containers that offer
no more. none: limits against accidents only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

from grader.child import confinement, seccomp
from grader.errors import InfrastructureError
from grader.results.records import Isolation as Isolation

from . import bubblewrap

PROBE_LIMIT = 20.0
STRENGTH: tuple[Isolation, ...] = ("box", "kernel", "seccomp")
NO_LANDLOCK = "the kernel offers no Landlock (Linux 5.13 or later with `lsm=...,landlock`)"


@dataclass(frozen=True)
class Machine:
    """What there is; each reason is empty where nothing is missing.

    Args:
        landlock: the version of Landlock that the kernel speaks, 0 for none.
        no_seccomp: why system calls cannot be filtered.
        no_box: why bubblewrap cannot make a box.
        root: this process is root; learner code is run as nobody.
    """

    landlock: int
    no_seccomp: str
    no_box: str
    root: bool

    @property
    def missing(self) -> str:
        """What the weakest isolation lacks here, and how to get it; empty if nothing."""
        if sys.platform != "linux":
            return (
                f"isolation needs Linux, this is {sys.platform} (a Linux machine, WSL 2 or a virtual machine will do)"
            )
        return self.no_seccomp

    @property
    def lost(self) -> dict[Isolation, str]:
        """Each isolation that cannot be had here, and why."""
        no_kernel = self.missing or ("" if self.landlock else NO_LANDLOCK)
        lacks: dict[Isolation, str] = {"box": no_kernel or self.no_box, "kernel": no_kernel, "seccomp": self.missing}
        return {name: why for name, why in lacks.items() if why}

    @property
    def strongest(self) -> Isolation:
        """Return the strongest isolation that this machine offers."""
        return next((name for name in STRENGTH if name not in self.lost), "none")

    def weaker(self, isolation: Isolation) -> list[Isolation]:
        """Return the isolations weaker than this one that the machine offers, the strongest first."""
        return [name for name in STRENGTH[STRENGTH.index(isolation) + 1 :] if name not in self.lost]


def machine() -> Machine:
    """Look at this machine; takes some hundredths of a second and imports no torch."""
    if sys.platform != "linux":
        return Machine(0, seccomp.missing(), "bubblewrap needs Linux", root=False)
    return Machine(confinement.landlock_version(), seccomp.missing(), _no_box(), os.geteuid() == 0)


def choose(found: Machine, wanted: Isolation | None = None, option: str = "--isolation {}") -> Isolation:
    """The isolation of a graded run: what is wanted, or the strongest there is.

    Args:
        option: how another one is asked for.

    Raises:
        InfrastructureError: it cannot be had; says what is missing and how to get it.
    """
    if wanted == "none":
        return "none"
    if found.missing:
        raise InfrastructureError(
            f"learner code cannot be isolated here: {found.missing}. Nothing was graded. "
            f"Grade code that you trust as you trust your own with: {option.format('none')}"
        )
    if wanted in found.lost:
        less = option.format(found.strongest)
        raise InfrastructureError(f"there is no {wanted} here: {found.lost[wanted]}. Grade without: {less}")
    return wanted or found.strongest


def weakness(chosen: Isolation, found: Machine) -> str:
    """One line on what a graded run does without; empty in a box."""
    why = found.lost.get("box", "asked for")
    return {
        "none": "NO ISOLATION: learner code can read your files and change grades. Only for code that you trust.",
        "seccomp": "isolated by seccomp alone: what its filter lets through by mistake, neither Landlock nor a box of "
        f"its own would stop ({why}).",
        "kernel": f"isolated by Landlock and seccomp, without a box of its own ({why}).",
        "box": "",
    }[chosen]


def _no_box() -> str:
    """Why there is no box: one is built and run, as it will be for learner code, but without torch."""
    try:
        command = bubblewrap.command(["-c", ""])
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env={}, timeout=PROBE_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return f"bubblewrap was refused ({said[-1]}): allow it user namespaces"
