"""Commands that take the whole course, or run twice."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import test_cli
from test_cli import (
    COMPLETIONS,
    HANDGRAD,
    assert_ends_well_by_ctrl_c,
    classroom,
    course,
    graded,
    handgrad,
    write,
)

from grader.authoring.build import stub
from grader.course.course import Course, bundled_folder


def test_build_writes_what_is_stale_and_then_nothing(course: Course) -> None:
    shutil.copytree(
        bundled_folder() / "solutions", course.root / "solutions", ignore=shutil.ignore_patterns("__pycache__")
    )
    for exercise in course.exercises:
        exercise.path.write_text(stub(exercise), encoding="utf-8")
    write(course, "slope", "stale")
    first, second = (handgrad("build", cwd=course.root) for _ in range(2))
    assert first.stdout.splitlines() == [str(course.find("slope").path), "1 file(s) written."]
    assert second.stdout == "Everything is up to date.\n"


@pytest.mark.parametrize(("typed", "offered"), COMPLETIONS[1::2])
def test_the_shell_completes_exercises_and_units(course: Course, typed: str, offered: list[str]) -> None:
    test_cli.test_the_shell_completes_exercises_and_units(course, typed, offered)


def test_the_same_seed_gives_the_same_records_and_json_is_all_of_stdout(
    graded: subprocess.CompletedProcess[str], classroom: Path
) -> None:
    done = handgrad(
        "grade", "../submissions", "--out", "../json", "--seed", "7", "--workers", "2", "--format", "json",
        cwd=classroom / "ws",
    )  # fmt: skip
    progress = re.compile(r"graded \d+ of 3, .*")  # which a slow machine sees after two seconds
    assert (done.returncode, [line for line in done.stderr.splitlines() if not progress.fullmatch(line)]) == (1, [])
    assert json.loads(done.stdout)["graded"] == 2
    for first in (classroom / "text").glob("*.json"):
        assert (classroom / "json" / first.name).read_bytes() == first.read_bytes()


def test_ctrl_c_ends_pytest_well(course: Course) -> None:
    words = [sys.executable, "-m", "pytest", "exercises/01_slopes", "-p", "no:cacheprovider"]
    assert_ends_well_by_ctrl_c(course, words, 2)


def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process_behind(course: Course) -> None:
    assert_ends_well_by_ctrl_c(course, [*HANDGRAD, "check", "01_slopes"], 130)
