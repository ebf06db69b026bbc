"""Read the corpus: submissions with one known outcome each, on one page for each exercise.

`tests/learners/README.md` describes the pages.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from grader.authoring.submission_pages import MARK, PageSubmission, read_page
from grader.course.course import Course
from grader.course.exercise import Declaration
from grader.judging.grading import Grader
from grader.results.codes import VALUE_CODES
from grader.results.records import ExerciseResult
from grader.sandbox.worker import Worker
from helpers.courses import HANGING, with_policy
from helpers.grading import codes

LEARNERS = Path(__file__).resolve().parents[1] / "learners"


def graded_codes(submission: PageSubmission, course: Course, grader: Grader, worker: Worker) -> dict[str, str | None]:
    """Grade a submission, and return the code of each answer, `None` where it passes.

    A submission that may get `timeout` has a shorter time limit.
    """
    return codes(graded_result(submission, course, grader, worker))


def graded_result(submission: PageSubmission, course: Course, grader: Grader, worker: Worker) -> ExerciseResult:
    """Grade a submission as `graded_codes` does, and return its result."""
    if any("timeout" in allowed for allowed in submission.expected.values()):
        course = with_policy(course, time_limit=HANGING)
    return grader.grade(course.find(submission.exercise), submission.source.encode(), worker)


def written_blind() -> list[PageSubmission]:
    """Return the right answers of `learners/written_blind.py`, whose author had not seen the checks.

    The head of a cell names the exercise and the method: `# %% lin_grad: loop over the batch`.
    """
    path = LEARNERS / "written_blind.py"
    submissions = []
    for text in path.read_text(encoding="utf-8").split(f"\n{MARK} ")[1:]:
        head, _, source = text.partition("\n")
        exercise, _, title = head.partition(": ")
        submissions.append(PageSubmission("written_blind", exercise, title, source.strip("\n") + "\n", {}))
    return submissions


class _Bare(Course):
    """A course in which no exercise declares a misconception."""

    def declarations(self, unit: str) -> dict[str, Declaration]:
        """Return the declarations of a unit, without misconceptions."""
        declared = super().declarations(unit)
        return {name: replace(declaration, misconceptions=()) for name, declaration in declared.items()}


def without_misconceptions(course: Course) -> Course:
    """Return the same course, in which no exercise declares a misconception."""
    return _Bare(course.root, course.solutions, course.config)


PAGES = {f"{path.parent.name}/{path.stem}": read_page(path) for path in sorted(LEARNERS.glob("*/*.py"))}
SUBMISSIONS = {submission.id: submission for submissions in PAGES.values() for submission in submissions}
RIGHT = {name: submission for name, submission in SUBMISSIONS.items() if not submission.expected}
WRONG = {name: submission for name, submission in SUBMISSIONS.items() if submission.expected}
BLIND = {submission.id: submission for submission in written_blind()}
IN_NO_ORDER = sorted(SUBMISSIONS, key=lambda name: hashlib.sha256(name.encode()).digest())
SAMPLE = IN_NO_ORDER[:40]
FEW = sorted(IN_NO_ORDER[::192])  # for the short suite
NAMED = VALUE_CODES - {"unknown"}
