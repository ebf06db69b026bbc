"""The corpus: submissions with one known outcome each, on one page for each exercise.

A page, `learners/<unit>/<exercise>.py`, is in cells of the percent format that editors know. Its first line, with the
exercise and its forward pass, is for the reader. The head of a cell says what was handed in, and the lines below it are
what the grader gets:

    # %% right: einsum
    # %% wrong: upstream gradient missing | inp.g: missing-upstream
    # %% wrong: the square forgotten | w.g, b.g: wrong-local; return: forward-value or unknown

A title is unique on its page. After ` | ` stand the answers that fail (`*` is every answer), each with the codes that
it may get. An answer that is not listed must pass; in a right submission all must.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from conftest import HANGING, codes, with_policy

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.results.codes import VALUE_CODES
from grader.sandbox.worker import Worker

LEARNERS = Path(__file__).resolve().parents[1] / "learners"
MARK = "# %%"
HEAD = re.compile(r"# %% (right|wrong): ([^|]*[^| ])(?: \| (.+))?")

Expected = Mapping[str, frozenset[str]]
Found = Mapping[str, str | None]


@dataclass(frozen=True)
class Submission:
    """What a learner handed in for one exercise, and what must come of it.

    Args:
        title: what is odd about it, or which mistake it is, in a few words.
        source: the file's text.
        expected: answer name, or `*` for every answer -> the codes that it may get; empty where all must pass.
    """

    unit: str
    exercise: str
    title: str
    source: str
    expected: Expected

    @property
    def id(self) -> str:
        return f"{self.unit}/{self.exercise}: {self.title}"

    def allowed(self, answer: str) -> frozenset[str]:
        """The codes that an answer may get; none where it must pass."""
        return self.expected.get(answer, self.expected.get("*", frozenset()))

    def mismatches(self, found: Found) -> dict[str, tuple[str | None, list[str]]]:
        """Answers whose code is not among the expected ones: name -> (code, expected)."""
        return {
            name: (code, sorted(self.allowed(name)) or ["passed"])
            for name, code in found.items()
            if code not in (self.allowed(name) or {None})
        }


def written_blind() -> list[Submission]:
    """Return the right answers of `learners/written_blind.py`, which were written before any check was looked at.

    The head of a cell names the exercise and the way that it was solved: `# %% lin_grad: loop over the batch`.
    """
    path = LEARNERS / "written_blind.py"
    submissions = []
    for text in path.read_text(encoding="utf-8").split(f"\n{MARK} ")[1:]:
        head, _, source = text.partition("\n")
        exercise, _, title = head.partition(": ")
        submissions.append(Submission("written_blind", exercise, title, source.strip("\n") + "\n", {}))
    return submissions


def found_codes(submission: Submission, course: Course, grader: Grader, worker: Worker) -> dict[str, str | None]:
    """The code that each answer gets, `None` where it passes; what is expected to hang is given less time."""
    if any("timeout" in allowed for allowed in submission.expected.values()):
        course = with_policy(course, time_limit=HANGING)
    return codes(grader.grade(course.find(submission.exercise), submission.source.encode(), worker))


def page(path: Path) -> list[Submission]:
    """The submissions of one page, in its order.

    Raises:
        ValueError: a head cannot be read, or has the title of another; file and line are named.
    """
    lines = path.read_text(encoding="utf-8").split("\n")
    heads = [at for at, line in enumerate(lines) if line.startswith(MARK)]
    submissions: dict[str, Submission] = {}
    for head, end in pairwise([*heads, len(lines)]):
        try:
            submission = cell(path, lines[head:end])
            if submission.title in submissions:
                raise ValueError(f"another cell of this page is called {submission.title!r} too")
        except ValueError as error:
            raise ValueError(f"{path}:{head + 1}: {error}") from None
        submissions[submission.title] = submission
    return list(submissions.values())


def cell(path: Path, lines: Sequence[str]) -> Submission:
    """The submission of one cell: its head, and the lines below."""
    match = HEAD.fullmatch(lines[0])
    if match is None:
        raise ValueError(f"{lines[0]!r} is no head: write '# %% right: title', or '# %% wrong: title | answer: code'")
    kind, title, listed = match.groups()
    if (kind == "wrong") != (listed is not None):
        raise ValueError(f"{lines[0]!r}: a wrong submission lists the answers that fail after ' | ', a right one none")
    source = "\n".join(lines[1:]).strip("\n") + "\n"
    return Submission(path.parent.name, path.stem, title, source, expectations(listed or ""))


def expectations(listed: str) -> Expected:
    """What stands after a wrong submission's title: answer name, or `*` -> the codes that it may get."""
    expected: dict[str, frozenset[str]] = {}
    for part in filter(None, listed.split("; ")):
        names, colon, allowed = part.partition(": ")
        for name in names.split(", "):
            if not colon or name in expected:
                raise ValueError(f"{part!r}: write 'answer, answer: code or code', each answer once")
            expected[name] = frozenset(allowed.split(" or "))
    return expected


def without_misconceptions(course: Course) -> Course:
    """The same course, in which no exercise declares a misconception."""
    bare = with_policy(course)
    for unit in course.config.units:
        found = course.declarations(unit.id).items()
        bare._specs[unit.id] = {name: replace(declaration, misconceptions=()) for name, declaration in found}
    return bare


PAGES = {f"{path.parent.name}/{path.stem}": page(path) for path in sorted(LEARNERS.glob("*/*.py"))}
SUBMISSIONS = {submission.id: submission for submissions in PAGES.values() for submission in submissions}
RIGHT = {name: submission for name, submission in SUBMISSIONS.items() if not submission.expected}
WRONG = {name: submission for name, submission in SUBMISSIONS.items() if submission.expected}
BLIND = {submission.id: submission for submission in written_blind()}
IN_NO_ORDER = sorted(SUBMISSIONS, key=lambda name: hashlib.sha256(name.encode()).digest())
SAMPLE = IN_NO_ORDER[:40]
FEW = sorted(IN_NO_ORDER[::96])  # for the short suite
NAMED = VALUE_CODES - {"unknown"}
