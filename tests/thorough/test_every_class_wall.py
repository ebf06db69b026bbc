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
def test_a_student_called_like_a_folder_of_a_tool_is_graded(
    course: Course, school: Path, quick: None, name: str
) -> None:
    short.test_a_student_called_like_a_folder_of_a_tool_is_graded(course, school, quick, name)


@pytest.mark.parametrize(("happen", "says"), LOSSES)
def test_a_submission_that_crashes_its_reader_costs_no_other(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, happen: Callable[[], None], says: str
) -> None:
    short.test_a_submission_that_crashes_its_reader_costs_no_other(course, school, quick, monkeypatch, happen, says)


@pytest.mark.parametrize("where", READERS)
def test_a_bug_in_reading_an_archive_is_not_reported_as_damage(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    short.test_a_bug_in_reading_an_archive_is_not_reported_as_damage(course, school, quick, monkeypatch, where)


@pytest.mark.parametrize("where", MAKERS)
@pytest.mark.parametrize("error", [ValueError("not foreseen"), OSError(errno.EIO, "Input/output error")])
def test_a_record_that_cannot_be_made_costs_one_student_alone(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
) -> None:
    short.test_a_record_that_cannot_be_made_costs_one_student_alone(course, school, quick, monkeypatch, where, error)


@pytest.mark.parametrize("error", UNFORESEEN)
@pytest.mark.parametrize("where", STEPS)
def test_an_unexpected_error_is_one_sentence_that_says_where_to_report_it(
    school: Path, quick: None, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    where: str, error: Exception,
) -> None:  # fmt: skip
    short.test_an_unexpected_error_is_one_sentence_that_says_where_to_report_it(
        school, quick, command, monkeypatch, tmp_path, where, error
    )
