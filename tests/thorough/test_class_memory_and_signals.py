"""A class with huge archives takes little memory, and every signal ends it in the same way."""

from __future__ import annotations

import gzip
import signal
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from test_class_grading import gradebook, hand_in, record
from test_class_walls import HONEST, Ended, command, course, graded, quick, reporting, school, tar

from grader.classroom.class_grading import GradingProgress
from grader.course.course import Course


def test_archives_of_a_gigabyte_leave_the_process_of_the_class_small(course: Course, school: Path, quick: None) -> None:
    zeros = gzip.compress(tar([b"zeros"], bytes(50 << 20), "w"))
    folder = hand_in(school, "eve", HONEST)
    for number in range(20):
        (folder / f"{number:02}.tgz").write_bytes(zeros)
    tracemalloc.start()
    summary, out = graded(course, school)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 << 20
    assert not summary.errors
    exercises = record(out, "eve")["exercises"]
    assert [exercise["id"] for exercise in exercises if exercise["status"] != "todo"] == ["lin_grad"]
    assert "02.tgz was ignored: it and the archives beside it hold and unpack to more than 128 MiB" in "\n".join(
        record(out, "eve")["notes"]
    )


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_every_signal_ends_a_class_in_the_same_way(
    school: Path, quick: None, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    number = getattr(signal, name)
    usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    inherited = signal.signal(number, usual)  # whoever runs the tests may ignore it, as nohup does

    @reporting(monkeypatch)
    def end(progress: GradingProgress) -> None:
        if progress.done == 1:
            signal.raise_signal(number)

    try:
        code, said = command("--workers", "1")
        assert signal.getsignal(number) == usual
    finally:
        signal.signal(number, inherited)
    assert code == 130
    assert said.splitlines()[-1] == "handgrad: stopped. What was finished is kept; the same command goes on."
    assert len(gradebook(tmp_path / "out")) == 1
