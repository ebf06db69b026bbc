"""What student code does to take points in nbgrader, and what it gets here: nothing, and nobody's score changes.

In stock nbgrader it takes them: see thorough/test_nbgrader_stock.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nbgrader_class import COMMENTS, GRADES, UNIT, points_for, rows
from nbgrader_students import FORGERIES, MORE, NEIGHBOUR, OTHER, NbgraderClass, feedback


@pytest.fixture(scope="module")
def ours(graded_class: NbgraderClass) -> Path:
    """The course graded by our preprocessors."""
    return graded_class.folder


@pytest.mark.parametrize("name", [*FORGERIES, *MORE])
def test_here_it_scores_nothing(ours: Path, name: str):
    student = name.replace(" ", "-")
    assert points_for("lin_grad", ours)[student] == 0.0
    page = feedback(ours, student).partition("<body")[2]
    assert "I READ THE TESTS" not in re.sub(r"<div class=\"(?:highlight|input).*?</pre>", "", page, flags=re.DOTALL)
    assert "<script>document" not in page


def test_here_the_gradebook_holds_what_everybody_earned_and_nothing_else(ours: Path):
    for student in (NEIGHBOUR, OTHER):
        assert points_for("lin_grad", ours)[student] == 2.0
    assert {manual for _, _, _, manual, _ in rows(ours, GRADES)} == {None}
    assert {waits for *_, waits in rows(ours, GRADES)} == {0}
    told = {student: text for student, name, text, *_ in rows(ours, COMMENTS) if name == "lin_grad"}
    for student in (NEIGHBOUR, OTHER, *(name.replace(" ", "-") for name in (*FORGERIES, *MORE))):
        text = told[student] or ""
        assert "Hint" in text or "todo" in text, student


def test_here_nothing_is_left_behind(ours: Path):
    assert not Path("/tmp/handgrad-was-here").exists()
    for name in MORE:
        path = ours / "submitted" / name.replace(" ", "-") / UNIT / f"{UNIT}.ipynb"
        assert '"outputs": [1]' not in path.read_text()
