"""The filter as a program, run by a small interpreter over every system call and every argument that it compares."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from types import SimpleNamespace

import pytest
from helpers.courses import ROOT

from grader.child import seccomp
from grader.child.seccomp import ALLOW, CALLS, FILTERED, KILL, MACHINES, REFUSE, X32_BIT, program


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Return what the program returns, computed as `kernel/seccomp.c` does."""
    arch = MACHINES[machine] if architecture is None else architecture
    data = struct.pack("<IIQ6Q", number, arch, 0, *(list(arguments) + [0] * 6)[:6])
    code = list(struct.iter_unpack("=HBBI", program(machine)))
    accumulator = at = 0
    while True:
        operation, if_true, if_false, constant = code[at]
        at += 1
        if operation == seccomp.RETURN:
            return constant
        if operation == seccomp.LOAD:
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif operation == seccomp.AND:
            accumulator &= constant
        else:
            holds = accumulator == constant if operation == seccomp.EQUAL else accumulator >= constant
            at += if_true if holds else if_false


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def column(machine: str) -> int:
    return list(MACHINES).index(machine)


ZERO = ("futex", "sched_getaffinity", "clock_gettime", "clock_getres", "clock_nanosleep")


def test_only_listed_calls_are_allowed(machine: str) -> None:
    verdicts = {number: verdict(machine, number) for number in range(2000)}
    allowed = {number for number in verdicts if verdicts[number] == ALLOW}
    plain = {numbers[column(machine)] for numbers in CALLS.values()}
    asked = {rule.numbers[column(machine)] for name, rule in FILTERED.items() if name in ZERO}
    assert allowed == plain | asked  # with arguments of zero
    assert set(verdicts.values()) == {ALLOW, REFUSE}


def test_a_number_stands_for_one_call(machine: str) -> None:
    pairs = [*CALLS.values(), *(rule.numbers for rule in FILTERED.values())]
    numbers = [pair[column(machine)] for pair in pairs]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    "name", ["clone", "fork", "execve", "openat", "open", "kill", "tgkill", "ptrace", "socket", "mremap", "mprotect"]
)
def test_what_must_never_be_listed(name: str) -> None:
    assert name not in CALLS
    assert name not in FILTERED


def test_another_architecture_is_killed(machine: str) -> None:
    for architecture in (0x40000003, 0x40000028, 0, *set(MACHINES.values()) - {MACHINES[machine]}):
        assert verdict(machine, CALLS["read"][column(machine)], architecture=architecture) == KILL


def test_x32_is_killed() -> None:
    assert verdict("x86_64", X32_BIT | CALLS["read"][0]) == KILL
    assert verdict("x86_64", 0xFFFFFFFF) == KILL


def test_memory_is_private_and_never_executable(machine: str) -> None:
    number = FILTERED["mmap"].numbers[column(machine)]
    for prot in range(8):
        for flags in (*range(16), 0x22, 0x32, 0x122, 0x8022, 0x100021):
            mapped = verdict(machine, number, 0, 4096, prot, flags)
            assert mapped == (ALLOW if not prot & 4 and flags & 15 == 2 and not flags & 0x100 else REFUSE)
    assert verdict(machine, number, 4, 4, 1 << 32 | 4, 0x22) == REFUSE


@pytest.mark.parametrize("advice", [0, 1, 2, 3, 4, 8, 9, 10, 12, 16, 18, 20, 21, 22, 23, 24, 25])
def test_code_that_was_overwritten_is_not_read_again(advice: int, machine: str) -> None:
    number = FILTERED["madvise"].numbers[column(machine)]
    assert verdict(machine, number, 0, 4096, advice) == REFUSE
    assert verdict(machine, number, 0, 4096, 14) == ALLOW


def test_a_process_can_ask_about_itself_alone(machine: str) -> None:
    number = FILTERED["sched_getaffinity"].numbers[column(machine)]
    assert [verdict(machine, number, pid) for pid in (0, 1, 77, 2**32 - 1)] == [ALLOW, REFUSE, REFUSE, REFUSE]
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        number = FILTERED[name].numbers[column(machine)]
        assert {verdict(machine, number, clock) for clock in range(12)} == {ALLOW}
        assert {verdict(machine, number, (~pid << 3 | 2) & 0xFFFFFFFF) for pid in range(1, 40_000, 397)} == {REFUSE}


@pytest.mark.parametrize("command", [0, 4, 5, 6, 8, 10, 15, 1024, 1025, 1026, 1030, 1031, 1033, 1 << 31])
def test_fcntl_can_only_ask(command: int, machine: str) -> None:
    number = FILTERED["fcntl"].numbers[column(machine)]
    assert verdict(machine, number, 3, command) == REFUSE
    assert verdict(machine, number, 3, 1) == ALLOW


@pytest.mark.parametrize("request_", [0x5412, 0x5413, 0x541B, 0x5421, 0x5452, 0x8901, 0x8902])
def test_ioctl_can_only_ask_for_a_terminal(request_: int, machine: str) -> None:
    assert verdict(machine, FILTERED["ioctl"].numbers[column(machine)], 0, request_) == REFUSE


def test_futexes_only_wait_and_wake(machine: str) -> None:
    number = FILTERED["futex"].numbers[column(machine)]
    allowed = {operation & 127 for operation in range(512) if verdict(machine, number, 0, operation) == ALLOW}
    assert allowed == {0, 1, 9, 10}


def test_a_machine_without_a_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError):
        program("riscv64")
    monkeypatch.setattr(seccomp.os, "uname", lambda: SimpleNamespace(machine="riscv64"))
    assert seccomp.unavailable_reason() == "there is no table of system calls for riscv64"


def test_a_kernel_without_filters_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(22, os.strerror(22))

    monkeypatch.setattr(seccomp.Filter, "apply", fail)
    assert "no seccomp filters" in seccomp.unavailable_reason()


def test_a_kernel_that_accepts_a_filter_and_lets_everything_through_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.Filter, "apply", lambda _self: None)
    assert "no seccomp filters" in seccomp.unavailable_reason()


def test_this_machine_can_filter() -> None:
    assert seccomp.unavailable_reason() == ""


def test_the_kernel_accepts_the_filter_and_keeps_it() -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from grader.child.linux_calls import PR_SET_NO_NEW_PRIVS, prctl
from grader.child.seccomp import Filter
filter = Filter(os.uname().machine)
prctl(PR_SET_NO_NEW_PRIVS, 1)
filter.apply()
try: open("/etc/passwd")
except PermissionError: os.write(1, b"refused")
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"refused"
