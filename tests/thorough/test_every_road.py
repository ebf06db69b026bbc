"""Each road leads to a gradient before the removal, and honest work gives the same numbers after it, bit by bit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from autograd_roads import ABSENT, ACCEPTED, ROADS
from test_autograd_removal import ENVIRONMENT, HERE, REFUSED, SABOTAGED, UNTESTED, forked, found_by, source
from test_every_isolation import STRICT

from grader.child.autograd_removal import TESTED
from grader.sandbox.worker import Worker


def test_a_gradient_would_come_by_every_road() -> None:
    """A road that leads nowhere even with autograd would test nothing."""
    found = forked("plain", {name: source(body) for name, body in ROADS.items()})
    assert {road: outcome for road, outcome in found.items() if outcome != "right"} == {}


@pytest.mark.parametrize("isolation", STRICT)
def test_no_gradient_comes_by_any_road(isolated: Worker) -> None:
    assert found_by({**ROADS, **ABSENT, **ACCEPTED}, isolated) == set(ACCEPTED)


def digests(mode: str) -> dict[str, str]:
    """What every honest operation gives, with autograd removed or not."""
    run = subprocess.run(
        [sys.executable, str(HERE / "honest_operations.py"), mode],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(json.loads(run.stdout))


def test_honest_operations_give_the_same_bits_at_the_same_cost() -> None:
    plain, removed = digests("plain"), digests("removed")
    assert len(plain) > 180
    assert {name: (plain[name], removed[name]) for name in plain if plain[name] != removed[name]} == {}


EVERY_END = """
import collections, ctypes, os, signal
import torch
from grader.child.autograd_removal import COMPILED, LIBRARY
from grader.child.machine_code import ILLEGAL, ends_by, functions, overwrite
found = functions(LIBRARY, COMPILED)
before = [ctypes.string_at(address, size) for address, size, _ in found.tolist()]
overwrite(found)
gone = bytes([ILLEGAL[os.uname().machine]])
after = {ctypes.string_at(address, size).strip(gone) for address, size, _ in found.tolist()}
ends = collections.Counter(ends_by(address) for address in found[::101, 0].tolist())
print(len(before) > 10_000, after == {b""}, set(ends) == {signal.SIGILL})
"""


def test_of_every_function_that_differentiates_nothing_is_left() -> None:
    """All of their bytes are overwritten, and who calls one dies: of each hundred functions one is called."""
    assert forked("said", {"it": EVERY_END})["it"] == "True True True\n"


def test_a_removal_that_cannot_be_trusted_is_refused() -> None:
    """An untested torch is named, and so are the versions that were tested; what is still there is found."""
    untested = {f"torch.__version__ = {version!r}": version for version in UNTESTED}
    said = forked("said", {line: REFUSED.format(line=line) for line in (*untested, *SABOTAGED)})
    for line, version in untested.items():
        assert said[line].startswith(
            f"graded runs were tested with torch {', '.join(TESTED)}, and this is torch {version}"
        )
    for line, why in SABOTAGED.items():
        assert why in said[line], (line, said[line])
