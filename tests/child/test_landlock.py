"""A process under the ruleset can open no file, reach no port and signal no process outside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.courses import ROOT

from grader.child import confinement
from grader.child.confinement import forbidden_accesses, landlock_version

CONFINED = """
import os, socket, sys
sys.path.insert(0, {root!r})
from grader.child import confinement
from grader.child.linux_calls import PR_SET_NO_NEW_PRIVS, prctl
ruleset = confinement.deny_all_ruleset()
prctl(PR_SET_NO_NEW_PRIVS, 1)
confinement.restrict_self(ruleset)
try:
    {deed}
except OSError as error:
    print(type(error).__name__)
else:
    print("done")
"""


def confined(deed: str) -> str:
    code = CONFINED.format(root=str(ROOT), deed=deed)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_this_kernel_has_landlock() -> None:
    assert landlock_version() >= 1


@pytest.mark.parametrize(
    ("version", "bits"),
    [
        (1, (0x1FFF, 0, 0)), (2, (0x3FFF, 0, 0)), (3, (0x7FFF, 0, 0)), (4, (0x7FFF, 3, 0)), (5, (0xFFFF, 3, 0)),
        (6, (0xFFFF, 3, 3)), (7, (0xFFFF, 3, 3)), (99, (0xFFFF, 3, 3)),
    ],
)  # fmt: skip
def test_everything_that_a_version_knows_is_handled(version: int, bits: tuple[int, int, int]) -> None:
    assert forbidden_accesses(version) == bits


@pytest.mark.parametrize(
    "deed",
    [
        "open('/etc/passwd')", "os.listdir('/')", "open('/tmp/handgrad-landlock', 'w')",
        "os.mkdir('/tmp/handgrad-landlock')", "os.execv('/bin/true', ['true'])",
    ],
)  # fmt: skip
def test_no_file_can_be_used(deed: str) -> None:
    assert confined(deed) == "PermissionError"
    assert not Path("/tmp/handgrad-landlock").exists()


def test_no_port_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        deed = f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)"
        assert confined(deed) == ("PermissionError" if landlock_version() >= 4 else "done")


def test_nobody_outside_can_be_signalled() -> None:
    assert confined("os.kill(os.getppid(), 0)") == ("PermissionError" if landlock_version() >= 6 else "done")


@pytest.mark.parametrize("number", [38, 95, 1])
def test_a_kernel_without_it_has_version_zero(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "syscall", failing(number))
    assert landlock_version() == 0


def test_an_odd_answer_is_not_taken_for_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "syscall", failing(14))
    with pytest.raises(OSError, match="Bad address"):
        landlock_version()


def failing(number: int) -> Callable[..., int]:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return fail
