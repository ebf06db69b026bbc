"""Worker processes as the grader sees them: a job frame goes in; a reply frame comes out, or word of its end."""

from __future__ import annotations

import os
import sys

from grader.errors import InfrastructureError

from .abstract_worker import Worker
from .forking_worker import ForkingWorker
from .isolation import Isolation
from .spawned_worker import SpawnedWorker
from .warm_process import Reply

MODE_VARIABLE = "HANDGRAD_WORKER"
__all__ = ["MODE_VARIABLE", "Reply", "Worker", "start_worker", "worker_mode"]


def start_worker(isolation: Isolation, mode: str | None = None) -> Worker:
    """Start a worker, without waiting until it is warm.

    Args:
        isolation: what learner code is kept in; only a worker that forks has more than `none`.
        mode: `fork` (the default on Linux) or `spawn`; the environment variable HANDGRAD_WORKER overrides it.

    Raises:
        InfrastructureError: the mode does not exist here.
    """
    chosen = worker_mode(isolation, mode)
    if chosen == "fork" and sys.platform == "linux":
        return ForkingWorker(isolation)
    if chosen == "spawn":
        return SpawnedWorker()
    raise InfrastructureError(f"there is no worker mode {chosen!r} on this platform: set {MODE_VARIABLE}=spawn")


def worker_mode(isolation: Isolation, mode: str | None = None) -> str:
    """The mode that `start_worker` chooses; a worker that forks can be handed on to a forked process."""
    usual = "fork" if sys.platform == "linux" else "spawn"
    return "fork" if isolation != "none" else os.environ.get(MODE_VARIABLE) or mode or usual
