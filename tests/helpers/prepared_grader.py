"""Run `python prepared_grader.py KIND MODE LIMIT...`: a grader in an odd state, and what its worker says to each job.

The jobs are frames on stdin, one for each limit. It imports little: each of these takes a process of its own.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable

from grader.child import protocol
from grader.sandbox.checked_reply import read
from grader.sandbox.worker import MODE_VARIABLE, Unanswered, start_worker

PARENTS: dict[str, Callable[[], object]] = {
    "ignores the end of its children": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    "blocks every signal": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()),
    "ignores Ctrl-C": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "has a thousand files open": lambda: [os.dup(0) for _ in range(1100)],
    "was forked itself": lambda: os.fork() and os._exit(os.waitstatus_to_exitcode(os.wait()[1])),
}


def main(kind: str, mode: str, *limits: str) -> None:
    """Prepare this process, then ask a worker."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    jobs = [(protocol.read_frame(sys.stdin.buffer), float(limit)) for limit in limits]
    os.environ[MODE_VARIABLE] = mode
    PARENTS[kind]()
    with start_worker("none") as worker:
        print(*(ending(worker.run(protocol.unpack(job), limit)) for job, limit in jobs if job is not None))


def ending(reply: protocol.Frame | Unanswered) -> str:
    """Return how a job ended, in one word."""
    if isinstance(reply, Unanswered):
        return reply.end
    facts = read(reply)
    errors = (facts.error, *(call.error for call in facts.calls))
    return next((error.kind for error in errors if error is not None), "answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
