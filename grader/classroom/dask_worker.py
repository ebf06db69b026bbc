"""What a Dask worker runs: it hands bytes to a grading service beside it, and bytes back."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import Any

from distributed import get_worker

from grader import __version__
from grader.sandbox.isolation import machine

from .cluster_service import Service

MOST_SERVICES = 2  # of several classes that are graded at the same time; each takes as much memory as torch
_services: dict[bytes, Service] = {}
_starting = threading.Lock()


def facts() -> dict[str, Any]:
    """What this worker grades with, and what it can keep learner code in."""
    return {"version": __version__, "machine": asdict(machine())}


def same(setting: bytes) -> bytes:
    """The setting itself, so that Dask brings it to each worker once."""
    return setting


def grade_batch(setting: bytes, batch: bytes) -> bytes:
    """The verdicts on a batch; see `wire`.

    Raises:
        InfrastructureError: this worker cannot grade it; says why.
    """
    return _service(setting).grade(batch)


def _service(setting: bytes) -> Service:
    """The service of this worker process that grades by a setting, with a grading process for each of its threads."""
    with _starting:
        found = _services.pop(setting, None)
        if found is None or found.has_ended:
            while len(_services) >= MOST_SERVICES:
                oldest = _services.pop(next(iter(_services)))
                with oldest.turn:
                    oldest.close()
            found = Service(setting, get_worker().state.nthreads)
        _services[setting] = found
        return found
