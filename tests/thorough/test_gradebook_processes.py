"""`handgrad grade` as a process of its own: a gradebook without room for the class, no nbgrader, no gradebook."""

from __future__ import annotations

import json

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


def test_without_nbgrader_one_sentence_says_how_to_get_it(course: Course):
    hand_in(course.root, "ann", lin_grad=RIGHT)
    absent = "import sys; sys.modules['nbgrader'] = None"
    said = handgrad_process("grade", "submissions", "--gradebook", URL, cwd=course.root, code=2, before=absent)
    assert "install it with pip install 'handgrad[nbgrader]'" in said
    assert len(said.strip().splitlines()) == 1


def test_without_the_option_nothing_of_nbgrader_is_imported(course: Course):
    hand_in(course.root, "ann", lin_grad=RIGHT)
    watched = "import atexit, sys; atexit.register(lambda: print({'nbgrader', 'sqlalchemy'} & set(sys.modules)))"
    assert handgrad_process("grade", "submissions", cwd=course.root, before=watched).endswith("set()\n")
    results = json.loads((course.root / "grades" / "ann.json").read_text())
    assert results["score"] == 3.0
