"""Each road leads to a gradient before the removal, and honest work gives the same numbers after it, bit by bit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from helpers.autograd_roads import ABSENT, ACCEPTED, BY_POINTER, LATER, ROADS
from helpers.probes import PATIENT, observed
from helpers.workers import make_job
from test_autograd_removal import (
    ENVIRONMENT,
    HELPERS,
    WITHOUT,
    X,
    assert_closed,
    forked,
    found_by,
    said_without,
    source,
)
from test_every_isolation import STRICT

from grader.sandbox.autograd_use import autograd_use
from grader.sandbox.worker import Unanswered, Worker


def test_a_gradient_would_come_by_every_road() -> None:
    """A road that leads nowhere even with autograd would test nothing."""
    found = forked("plain", {name: source(body) for name, body in {**ROADS, **BY_POINTER}.items()})
    lead_nowhere = {road: outcome for road, outcome in found.items() if outcome != "right"}
    assert lead_nowhere.keys() <= (LATER if torch.__version__ < "2.13" else set()), lead_nowhere


@pytest.mark.parametrize("isolation", STRICT)
def test_no_gradient_comes_by_any_road(isolated: Worker) -> None:
    assert found_by({**ROADS, **ABSENT, **ACCEPTED}, isolated) == set(ACCEPTED)


UNNAMED = {"a node of one's own", "sympy past the finders"}
"""One asks for nothing that differentiates; the other takes away what imports, for this child as well."""


@pytest.mark.parametrize("isolation", STRICT[:1])
def test_every_road_is_named(isolated: Worker) -> None:
    """By the child that refuses it, or by the source; what is imported or started is refused as everywhere."""
    unnamed = {}
    for name, body in {**ROADS, **ABSENT}.items():
        reply = isolated.run(make_job(source(body), {"x": X}, function="answer", time_limit=PATIENT), PATIENT)
        error = observed(reply).calls[0].error if not isinstance(reply, Unanswered) else None
        refused = error is not None and (
            (error.kind == "autograd" and " is switched off here: " in error.message)
            or error.kind == "absent"
            or "no files, no network, no processes and no threads" in error.message
        )
        if not refused and autograd_use([source(body)], "answer") is None:
            unnamed[name] = reply if isinstance(reply, Unanswered) else error
    assert unnamed.keys() <= UNNAMED, unnamed


def test_what_one_version_lacks_is_carried_by_the_next_means() -> None:
    assert_closed(said_without(WITHOUT))


def digests(mode: str) -> dict[str, str]:
    """What every honest operation gives, with autograd removed or not."""
    run = subprocess.run(
        [sys.executable, str(HELPERS / "honest_operations.py"), mode],
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
