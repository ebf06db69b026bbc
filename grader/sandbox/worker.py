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


def start_worker(isolation: Isolation) -> Worker:
    """Start a worker, without waiting until it is warm.

    Raises:
        InfrastructureError: there is no such worker here.
    """
    chosen = worker_mode(isolation)
    if chosen == "fork" and sys.platform == "linux":
        return ForkingWorker(isolation)
    if chosen == "spawn":
        return SpawnedWorker()
    raise InfrastructureError(f"there is no worker mode {chosen!r} on this platform: set {MODE_VARIABLE}=spawn")


def worker_mode(isolation: Isolation) -> str:
    """`fork` (usual on Linux, and the only one with an isolation) or `spawn`, or what the environment asks for.

    A worker that forks can be handed on to a forked process.
    """
    usual = "fork" if sys.platform == "linux" else "spawn"
    return "fork" if isolation != "none" else os.environ.get(MODE_VARIABLE) or usual
