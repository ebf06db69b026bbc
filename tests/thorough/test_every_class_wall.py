"""Every way of `test_class_walls` to end one student, and every error at every step of a class."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
import test_class_walls as short
from test_class_walls import LOSSES, MAKERS, READERS, STEPS, TOOLS, UNFORESEEN, Ended, command, course, quick, school

from grader.course.course import Course

__all__ = ["command", "course", "quick", "school"]


@pytest.mark.parametrize("name", TOOLS)
def test_a_student_with_a_name_that_tools_use_is_graded(course: Course, school: Path, quick: None, name: str) -> None:
    short.test_a_student_with_a_name_that_tools_use_is_graded(course, school, quick, name)


@pytest.mark.parametrize(("happen", "says"), LOSSES)
def test_whoever_loses_the_process_that_reads_is_alone(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, happen: Callable[[], None], says: str
) -> None:
    short.test_whoever_loses_the_process_that_reads_is_alone(course, school, quick, monkeypatch, happen, says)


@pytest.mark.parametrize("where", READERS)
def test_a_fault_of_ours_in_an_archive_is_no_damage_of_the_archive(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    short.test_a_fault_of_ours_in_an_archive_is_no_damage_of_the_archive(course, school, quick, monkeypatch, where)


@pytest.mark.parametrize("where", MAKERS)
@pytest.mark.parametrize("error", [ValueError("not foreseen"), OSError(errno.EIO, "Input/output error")])
def test_a_record_that_cannot_be_made_is_that_student_s_alone(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
) -> None:
    short.test_a_record_that_cannot_be_made_is_that_student_s_alone(course, school, quick, monkeypatch, where, error)


@pytest.mark.parametrize("error", UNFORESEEN)
@pytest.mark.parametrize("where", STEPS)
def test_what_nobody_foresaw_is_one_sentence_that_says_where_to_report_it(
    school: Path, quick: None, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    where: str, error: Exception,
) -> None:  # fmt: skip
    short.test_what_nobody_foresaw_is_one_sentence_that_says_where_to_report_it(
        school, quick, command, monkeypatch, tmp_path, where, error
    )
