"""`handgrad grade --gradebook` where the gradebook has no room for the whole class."""

from __future__ import annotations

from nbgrader_class import RIGHT, handgrad_process, scores, totals
from test_nbgrader_gradebook import URL, course, hand_in

from grader.course import Course

FULL = """
from sqlalchemy import Engine, event
event.listens_for(Engine, "connect")(lambda connection, _: connection.execute("PRAGMA max_page_count = 1"))
"""


def test_a_full_disk_ends_it_in_one_sentence_and_what_was_entered_is_kept(course: Course):
    hand_in(course.root, "ann", lin_grad=RIGHT)
    handgrad_process("grade", "submissions", "--gradebook", URL, cwd=course.root)
    for number in range(30):
        hand_in(course.root, f"bob{number:02}" + "b" * 50, lin_grad=RIGHT)
    said = handgrad_process("grade", "submissions", "--gradebook", URL, cwd=course.root, before=FULL, code=2)
    assert "gradebook.db cannot be written (database or disk is full): put that right" in said.splitlines()[-1]
    assert 1 <= len(scores(course.root)) < 31
    handgrad_process("grade", "submissions", "--gradebook", URL, cwd=course.root)
    assert set(totals(course.root).values()) == {3.0}
    assert len(totals(course.root)) == 31
