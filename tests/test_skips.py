"""On a machine that lacks a program its tests are skipped, with the reason; in CI, which has it, that is a failure."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.courses import ROOT

pytestmark = pytest.mark.slow

NEEDY = "tests/learner/test_watch.py::test_a_course_without_exercises_is_one_sentence"


def without_tmux(*options: str) -> subprocess.CompletedProcess[str]:
    """A test that needs tmux, run where PATH has nothing."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", NEEDY, *options]
    environment = {**os.environ, "PATH": os.devnull}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


def test_what_is_not_installed_is_said_by_the_tests_that_need_it() -> None:
    done = without_tmux()
    assert done.returncode == 0, done.stdout
    (reason,) = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert reason.endswith("not installed here: tmux")


def test_where_nothing_may_be_skipped_that_is_a_failure() -> None:
    done = without_tmux("--no-skips")
    assert done.returncode == 1
    assert "not installed here: tmux: under --no-skips nothing may be skipped" in done.stdout
