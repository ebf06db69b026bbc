"""Set up each process that runs tests: environment, threads, what Hypothesis draws."""

from __future__ import annotations

import functools
import os
import signal
import sys
from pathlib import Path

import typer.main
from hypothesis import settings

from grader.sandbox.worker import MODE_VARIABLE

# A shell that starts this in the background makes it ignore Ctrl-C, and all processes that the tests start with it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run draws the same examples, and fewer than is usual; `--hypothesis-profile fresh` draws a hundred new ones.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("fresh", deadline=None)
settings.load_profile("same")

# The output of commands must not depend on where the tests run: pytest writes another summary in CI.
for name in ("CI", "BUILD_NUMBER", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "ACCESSIBLE", MODE_VARIABLE):
    os.environ.pop(name, None)
if os.environ.get("TERM") == "dumb":  # it would switch plain mode on
    del os.environ["TERM"]

# The programs that tests start share the compiled sources.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The processes of a parallel run share the processors: more threads would take a fifth longer.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Without this, jsonschema compiles a grammar of addresses in each process, which takes a second; no schema uses it.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# Build the command line of `handgrad` once, not for each command that a test runs.
typer.main.get_command = functools.cache(typer.main.get_command)

# nbgrader starts its database tool by name, so the environment's programs must be in PATH.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
