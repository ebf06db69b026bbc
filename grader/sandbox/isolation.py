"""The isolations of graded runs: which of them this machine offers, and which one a run uses.

`box`: bubblewrap, Landlock and seccomp. `kernel`: Landlock and seccomp. `seccomp`: that filter alone, for containers
that offer no more. `none`: limits against accidents only.
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

PROBE_LIMIT = 20.0  # seconds
STRENGTH: tuple[Isolation, ...] = ("box", "kernel", "seccomp")  # the strongest first
NO_LANDLOCK = "the kernel offers no Landlock (Linux 5.13 or later with `lsm=...,landlock`)"


@dataclass(frozen=True)
class Machine:
    """Describe what a machine offers for isolation.

    Attributes:
        landlock: the version of Landlock that the kernel speaks, 0 for none.
        no_seccomp: why system calls cannot be filtered; empty if they can.
        no_box: why bubblewrap cannot make a box; empty if it can.
        root: whether this process is root, so that learner code is run as `nobody`.
    """

    landlock: int
    no_seccomp: str
    no_box: str
    root: bool

    @property
    def missing(self) -> str:
        """Return what this machine lacks for the weakest isolation, and how to get it, in words.

        Empty if it lacks nothing.
        """
        if sys.platform != "linux":
            return (
                f"isolation needs Linux, this is {sys.platform} (a Linux machine, WSL 2 or a virtual machine will do)"
            )
        return self.no_seccomp

    @property
    def unavailable(self) -> dict[Isolation, str]:
        """Return each isolation that this machine does not offer, with the reason."""
        no_kernel = self.missing or ("" if self.landlock else NO_LANDLOCK)
        lacks: dict[Isolation, str] = {"box": no_kernel or self.no_box, "kernel": no_kernel, "seccomp": self.missing}
        return {name: why for name, why in lacks.items() if why}

    @property
    def strongest(self) -> Isolation:
        """Return the strongest isolation that this machine offers; `none` if it offers no other."""
        return next((name for name in STRENGTH if name not in self.unavailable), "none")

    def weaker(self, isolation: Isolation) -> list[Isolation]:
        """Return the isolations weaker than this one that the machine offers, the strongest first.

        `none`, which every machine offers, is not among them; the list for it is empty.
        """
        weaker = STRENGTH[STRENGTH.index(isolation) + 1 :] if isolation in STRENGTH else ()
        return [name for name in weaker if name not in self.unavailable]


def machine() -> Machine:
    """Find out what this machine offers for isolation, which takes some hundredths of a second and imports no torch."""
    if sys.platform != "linux":
        return Machine(0, seccomp.unavailable_reason(), "bubblewrap needs Linux", root=False)
    return Machine(confinement.landlock_version(), seccomp.unavailable_reason(), _box_refusal(), os.geteuid() == 0)


def choose(offered: Machine, wanted: Isolation | None = None, option: str = "--isolation {}") -> Isolation:
    """Return the isolation of a graded run: the wanted one, or else the strongest that the machine offers.

    Args:
        offered: what the machine offers.
        wanted: the isolation that the user asks for, if any.
        option: how the user asks for one, for the message; `{}` is replaced by its name.

    Raises:
        InfrastructureError: the machine does not offer the isolation; the message says what is missing and how to get
            it.
    """
    if wanted == "none":
        return "none"
    if offered.missing:
        raise InfrastructureError(
            f"learner code cannot be isolated here: {offered.missing}. Nothing was graded. "
            f"Grade code that you trust as you trust your own with: {option.format('none')}"
        )
    if wanted in offered.unavailable:
        less = option.format(offered.strongest)
        raise InfrastructureError(
            f"the isolation {wanted!r} is not available here: {offered.unavailable[wanted]}. Grade with: {less}"
        )
    return wanted or offered.strongest


def weakness(chosen: Isolation, offered: Machine) -> str:
    """Return one line on the protection that a graded run does not have; empty for the isolation `box`, which has all.

    Args:
        chosen: the isolation of the run.
        offered: what the machine offers, for the reason.
    """
    why = offered.unavailable.get("box", "asked for")
    return {
        "none": "NO ISOLATION: learner code can read your files and change grades. Only for code that you trust.",
        "seccomp": "isolated by seccomp alone: neither Landlock nor a box of its own would stop what its filter lets "
        f"through by mistake ({why}).",
        "kernel": f"isolated by Landlock and seccomp, without a box of its own ({why}).",
        "box": "",
    }[chosen]


def _box_refusal() -> str:
    """Return why bubblewrap cannot make a sandbox; empty if it can run an empty program in one, which is tried."""
    try:
        command = bubblewrap.box_command(["-c", ""])
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env={}, timeout=PROBE_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    messages = done.stderr.decode(errors="replace").strip().splitlines() or ["without a message"]
    return f"bubblewrap was refused ({messages[-1]}): allow it user namespaces"
