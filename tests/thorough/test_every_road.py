"""Each road leads to a gradient before the removal, and honest work gives the same numbers after it, bit by bit."""

from __future__ import annotations

import json
import subprocess
import sys

from autograd_roads import ABSENT, ACCEPTED, ROADS
from test_autograd_removal import ENVIRONMENT, HERE, REFUSED, SABOTAGED, UNTESTED, forked, outcomes

from grader.child.autograd_removal import TESTED


def test_a_gradient_would_come_by_every_road() -> None:
    """A road that leads nowhere even with autograd would test nothing."""
    assert {road: found for road, found in outcomes("plain", ROADS).items() if found != "right"} == {}


def test_no_gradient_comes_by_any_road() -> None:
    found = outcomes("removed", {**ROADS, **ABSENT, **ACCEPTED})
    assert {name for name, outcome in found.items() if outcome == "right"} == set(ACCEPTED)


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


def said_by(code: str) -> str:
    """What this prints in a process that has imported what a worker imports."""
    return forked("said", {"it": code})["it"]


def test_every_probe_finds_its_gradient_before_the_removal() -> None:
    """A probe that never succeeds would prove nothing."""
    code = "from grader.child.autograd_probe import PROBES, working_probes; print(set(PROBES) - set(working_probes()))"
    assert said_by(code) == "set()\n"


TIMED = """
import gc, time
gc.disable()
start = time.process_time()
import torch, grader.child.job_answer
from grader.child.autograd_removal import remove
imported = time.process_time()
remove()
print(time.process_time() - imported < imported - start)
"""


def test_the_removal_takes_less_than_importing_torch() -> None:
    """By its processor time, a tenth of it."""
    ran = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert ran.stdout == "True\n", ran.stderr


def test_a_removal_that_cannot_be_trusted_is_refused() -> None:
    """An untested torch is named, and so are the versions that were tested; what still works is found by a probe."""
    untested = {f"torch.__version__ = {version!r}": version for version in UNTESTED}
    said = forked("said", {line: REFUSED.format(line=line) for line in (*untested, *SABOTAGED)})
    for line, version in untested.items():
        assert said[line].startswith(
            f"graded runs were tested with torch {', '.join(TESTED)}, and this is torch {version}"
        )
    for line in SABOTAGED:
        assert said[line].startswith("torch can still differentiate here ("), (line, said[line])
