"""The commands that run our code as processes of their own, on the same class: the tests are the short suite's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from helpers.nbgrader_class import UNIT, copied, nbgrader, nbgrader_process
from helpers.nbgrader_students import WORTH, Worth, feedback, make_class
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


@pytest.fixture(scope="module")
def pages(students: Worth) -> Iterable[str]:
    return students


def test_what_is_not_handgrads_to_grade_is_left_to_a_person(extended: Path, tmp_path: Path):
    folder = a_copy_of(extended, tmp_path)
    left_to_a_person(folder, nbgrader_process("autograde", UNIT, cwd=folder))


def test_what_was_repaired_is_explained_in_the_feedback(course: Path):
    for student, says in {
        "cells-deleted": "Missing, and added back: <code>handgrad</code>, <code>lin_grad-check</code>",
        "cells-twice": "are there more than once: all copies are run, the last answered one counts",
        "stub-copied": "<code>lin_grad</code> is there more than once: all copies are run, the last answered one",
        "cell-retyped": "of another type, which was put right",
        "cells-edited": "<code>lin_grad-w-g</code> was changed",
        "broken-json": "is no notebook that can be read",
        "broken-nothing": "is no notebook that can be read",
        "renamed": "handed in as <code>Homework (final).ipynb</code>",
    }.items():
        assert says in feedback(course, student), student


def test_graded_again_manual_scores_and_comments_stay(course: Path, tmp_path: Path):
    from nbgrader.api import Gradebook

    folder = copied(course, tmp_path, "wrong")
    url = f"sqlite:///{folder / 'gradebook.db'}"
    with Gradebook(url) as gradebook:
        gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "wrong").manual_score = 0.5
        gradebook.find_comment("lin_grad", UNIT, UNIT, "wrong").manual_comment = "Nearly."
        gradebook.db.commit()
    nbgrader("autograde", UNIT, "--force", "--student=wrong", cwd=folder)
    with Gradebook(url) as gradebook:
        grade = gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "wrong")
        assert (grade.auto_score, grade.manual_score, grade.score, grade.needs_manual_grade) == (0.0, 0.5, 0.5, True)
        comment = gradebook.find_comment("lin_grad", UNIT, UNIT, "wrong")
        assert comment.comment == "Nearly."
        assert "mean-for-sum" in comment.auto_comment
