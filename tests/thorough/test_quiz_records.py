"""Records and faults of quizzes that take longer to make: the rest of `test_quiz_grading.py`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
from test_quiz_grading import HOSTILE, ROOT, SHEET, Judge, edit, findings, judge, real, root, sound

from grader.authoring.audit import AuditFinding
from grader.authoring.audit_exercise import check_quiz
from grader.course.course import Course
from grader.results.records import SCHEMA_FILE, StudentResults


def test_every_verdict_fits_the_published_record(judge: Judge) -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    for content, _ in HOSTILE.values():
        record = StudentResults("handgrad", "s1", (judge(content),), seed=1, isolation="none").record
        jsonschema.validate(record, schema)


def test_a_sheet_that_is_stale_and_a_lesson_that_hides_the_quiz_are_found(
    root: Path, findings: Callable[[], list[AuditFinding]]
) -> None:
    edit(root / SHEET, "bias_gradient: null", "bias_gradient: out.g")
    edit(root / "exercises/03_one_example/README.md", "quiz.yaml", "")
    (root / "exercises/03_one_example/quiz_keys.json").write_text("{}")
    assert findings() == [
        AuditFinding(
            "exercises/03_one_example/README.md",
            "it does not mention quiz.yaml: list it among the unit's exercises.",
        ),
        AuditFinding(
            "exercises/03_one_example/quiz_keys.json",
            "it belongs to nothing in course.yaml: list its exercise, or remove it.",
        ),
        AuditFinding(SHEET, "it is not what its worked solution gives: write it with: handgrad build"),
    ]


def test_a_question_that_holds_the_answer_to_an_exercise_is_found(real: Course, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "solutions/04_linear", tmp_path / "04_linear")
    edit(tmp_path / "04_linear/quiz.yaml", "For b.g the rows of out.g are added up.", "We write b.g = out.g.sum(0).")
    exercise = Course(real.root, tmp_path, real.config).find("quiz_04_linear")
    says = "why_sum_0 contains the answer to an exercise (out.g.sum(0)): ask in other words."
    assert list(check_quiz(exercise)) == [says]
