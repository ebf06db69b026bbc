"""Run `python forked_sources.py plain|removed|said`: each source from stdin in a forked child, outcomes as JSON.

A source defines `answer(x)`; the outcome is "right" if it gives the gradient of sum(x ** 3), else what happened.
In mode `said` nothing is done to torch, and the outcome is what the source prints.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import signal
import sys
import types
import warnings
from collections.abc import Callable

import torch
import torch.utils._python_dispatch

import grader.child.job_answer  # noqa: F401  all that a worker has imported

X = (1.0, 2.0, -0.5)
LIMIT = 120


def main() -> None:
    """Remove autograd if asked to, then fork for each source."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if sys.argv[1] == "removed":
        from grader.child import preloaded_modules
        from grader.child.no_autograd import remove_autograd
        from grader.child.worker_process import make_torch_plain

        make_torch_plain()
        preloaded_modules.load()
        remove_autograd()
    elif sys.argv[1] == "plain":
        _import_what_is_slow()
    find = printed if sys.argv[1] == "said" else outcome
    sources = json.load(sys.stdin)
    json.dump({name: in_child(source, find) for name, source in sources.items()}, sys.stdout)


def _import_what_is_slow() -> None:
    """Import what some roads import on first use, so that each child need not."""
    import functorch  # noqa: F401
    import torch._dynamo.backends.registry
    import torch._functorch.aot_autograd
    import torch._inductor.decomposition
    import torch.export
    import torch.fx.experimental.symbolic_shapes  # noqa: F401


def in_child(source: str, find: Callable[[str], str]) -> str:
    """Return the outcome of a source, in one word or two."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.write(writer, find(source).encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        said = stream.read()
    _, status = os.waitpid(child, 0)
    return said or f"died: {os.waitstatus_to_exitcode(status)}"


def outcome(source: str) -> str:
    """Return the gradient that a source computes, as text."""
    module = types.ModuleType("learner")
    sys.modules["learner"] = module
    linecache.cache["learner.py"] = (len(source), None, source.splitlines(keepends=True), "learner.py")
    try:
        exec(compile(source, "learner.py", "exec"), module.__dict__)
        answer = module.answer(torch.tensor(X))
        values = torch.as_tensor(answer).detach().double().reshape(-1).tolist()
    except BaseException as error:
        return f"raised {type(error).__name__}: {str(error)[:200]}"
    right = [3 * value * value for value in X]
    close = len(values) == len(right) and all(abs(a - b) < 1e-2 for a, b in zip(values, right, strict=True))
    return "right" if close else f"wrong {values}"


def printed(source: str) -> str:
    """Return what a source prints, and the error that ends it."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            exec(compile(source, "snippet.py", "exec"), {})
        except BaseException as error:
            return f"{said.getvalue()}raised {type(error).__name__}: {str(error)[:200]}"
    return said.getvalue()


if __name__ == "__main__":
    main()
