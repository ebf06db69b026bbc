"""What student code does to take points in nbgrader, and what it gets here: nothing, and nobody's score changes.

In stock nbgrader it takes them: see thorough/test_nbgrader_stock.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.nbgrader_class import COMMENTS, GRADES, UNIT, points_for, rows
from helpers.nbgrader_students import MORE, NEIGHBOUR, OTHER, SOME_FORGERIES, NbgraderClass, feedback

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def forgeries() -> Mapping[str, str]:
    """Some of them; all are in thorough/test_every_forgery.py."""
    return SOME_FORGERIES


@pytest.fixture(scope="module")
def ours(graded_class: NbgraderClass) -> Path:
    """The course graded by our preprocessors."""
    return graded_class.folder


def test_a_forgery_scores_nothing_under_our_preprocessors(ours: Path, forgeries: Mapping[str, str]):
    for name in forgeries:
        student = name.replace(" ", "-")
        assert points_for("lin_grad", ours)[student] == 0.0, name
        page = feedback(ours, student).partition("<body")[2]
        written = re.sub(r"<div class=\"(?:highlight|input).*?</pre>", "", page, flags=re.DOTALL)
        assert "I READ THE TESTS" not in written, name
        assert "<script>document" not in page, name


def test_the_gradebook_holds_the_earned_points_and_nothing_else(ours: Path, forgeries: Mapping[str, str]):
    for student in (NEIGHBOUR, OTHER):
        assert points_for("lin_grad", ours)[student] == 2.0
    assert {manual for _, _, _, manual, _ in rows(ours, GRADES)} == {None}
    forgers = {name.replace(" ", "-") for name in forgeries}
    assert {waits for student, *_, waits in rows(ours, GRADES) if student in forgers} == {0}
    told = {student: text for student, name, text, *_ in rows(ours, COMMENTS) if name == "lin_grad"}
    for student in (NEIGHBOUR, OTHER, *(name.replace(" ", "-") for name in forgeries)):
        text = told[student] or ""
        assert "Hint" in text or "todo" in text, student


def test_a_forgery_leaves_no_file_behind(ours: Path, forgeries: Mapping[str, str]):
    assert not Path("/tmp/handgrad-was-here").exists()
    for name in forgeries:
        path = ours / "submitted" / name.replace(" ", "-") / UNIT / f"{UNIT}.ipynb"
        assert name not in MORE or '"outputs": [1]' not in path.read_text()
