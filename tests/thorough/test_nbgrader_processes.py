"""The commands that run our code as processes of their own, on the same class: the tests are the short suite's."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbgrader_class import UNIT, nbgrader, nbgrader_process
from nbgrader_students import WORTH, Worth, make_class
from test_nbgrader_autograde import (
    a_copy_of,
    extended,
    left_to_a_person,
    test_a_comment_names_the_mistake_and_gives_a_hint,
    test_each_answer_has_its_own_points,
    test_everybody_gets_the_points_they_earned,
    test_feedback_shows_scores_comments_and_reports_and_gives_nothing_away,
    test_the_export_has_scores_and_the_late_penalty,
    test_the_graded_notebook_is_sound_and_shows_each_report_beside_its_answer,
)

NBGRADERS_OWN = ("db", "release_assignment", "collect")


def a_process_of_its_own(command: str, *words: str, cwd: Path) -> str:
    """A command as whoever types it has it; where nothing of ours takes part in it, in this process."""
    return (nbgrader if command in NBGRADERS_OWN else nbgrader_process)(command, *words, cwd=cwd)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The nbgrader folder of the class."""
    folder = make_class(tmp_path_factory.mktemp("processes"), WORTH, a_process_of_its_own).folder
    nbgrader_process("generate_feedback", UNIT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def students() -> Worth:
    return WORTH


def test_what_is_not_handgrads_to_grade_is_left_to_a_person(extended: Path, tmp_path: Path):
    folder = a_copy_of(extended, tmp_path)
    left_to_a_person(folder, nbgrader_process("autograde", UNIT, cwd=folder))
