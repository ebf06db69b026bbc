"""Read the corpus: submissions with one known outcome each, on one page for each exercise.

`tests/learners/README.md` describes the pages.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from grader.course.course import Course
from grader.course.exercise import Declaration
from grader.judging.grading import Grader
from grader.results.codes import VALUE_CODES
from grader.sandbox.worker import Worker
from helpers.courses import HANGING, with_policy
from helpers.grading import codes

LEARNERS = Path(__file__).resolve().parents[1] / "learners"
MARK = "# %%"
HEAD = re.compile(r"# %% (right|wrong): ([^|]*[^| ])(?: \| (.+))?")
BASE = "# base: "
CHANGE = re.compile(r"#(?:([ +-])(?: (.*))?)?")

Expected = Mapping[str, frozenset[str]]
Codes = Mapping[str, str | None]


@dataclass(frozen=True)
class Submission:
    """A submission to one exercise, and the outcome that it must have.

    Args:
        title: what is unusual about it, or which mistake it has, in a few words.
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
        """Return the unit, the exercise and the title."""
        return f"{self.unit}/{self.exercise}: {self.title}"

    def allowed(self, answer: str) -> frozenset[str]:
        """Return the codes that an answer may get; empty where it must pass."""
        return self.expected.get(answer, self.expected.get("*", frozenset()))

    def mismatches(self, given: Codes) -> dict[str, tuple[str | None, list[str]]]:
        """Return the answers whose code is not among the expected ones: name -> (code, expected)."""
        return {
            name: (code, sorted(self.allowed(name)) or ["passed"])
            for name, code in given.items()
            if code not in (self.allowed(name) or {None})
        }


def graded_codes(submission: Submission, course: Course, grader: Grader, worker: Worker) -> dict[str, str | None]:
    """Grade a submission, and return the code of each answer, `None` where it passes.

    A submission that may get `timeout` has a shorter time limit.
    """
    if any("timeout" in allowed for allowed in submission.expected.values()):
        course = with_policy(course, time_limit=HANGING)
    return codes(grader.grade(course.find(submission.exercise), submission.source.encode(), worker))


def read_page(path: Path) -> list[Submission]:
    """Return the submissions of one page, in its order.

    Raises:
        ValueError: a cell cannot be read, or has the title of another; file and line are named.
    """
    lines = path.read_text(encoding="utf-8").split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith(MARK)]
    bodies: dict[str, list[str]] = {}
    cells = []
    for head, end in pairwise([*heads, len(lines)]):
        with _naming(path, head):
            title, expected = read_head(lines[head])
            if title in bodies:
                raise ValueError(f"another cell of this page is called {title!r} too")
        bodies[title] = lines[head + 1 : end]
        cells.append((head, title, expected))
    submissions = []
    for head, title, expected in cells:
        with _naming(path, head):
            source = _source(title, bodies)
        submissions.append(Submission(path.parent.name, path.stem, title, source, expected))
    return submissions


@contextmanager
def _naming(path: Path, line: int) -> Iterator[None]:
    """Name the file and the line, counted from 0, in a `ValueError`."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}:{line + 1}: {error}") from None


def read_head(line: str) -> tuple[str, Expected]:
    """Return the title of a cell, and the codes that its answers may get.

    Raises:
        ValueError: the line is no head, or its kind does not fit what it lists.
    """
    match = HEAD.fullmatch(line)
    if match is None:
        raise ValueError(f"{line!r} is no head: write '# %% right: title', or '# %% wrong: title | answer: code'")
    kind, title, listed = match.groups()
    if (kind == "wrong") != (listed is not None):
        raise ValueError(f"{line!r}: a wrong submission lists the answers that fail after ' | ', a right one none")
    expected: dict[str, frozenset[str]] = {}
    for part in filter(None, (listed or "").split("; ")):
        names, colon, allowed = part.partition(": ")
        for name in names.split(", "):
            if not colon or name in expected:
                raise ValueError(f"{part!r}: write 'answer, answer: code or code', each answer once")
            expected[name] = frozenset(allowed.split(" or "))
    return title, expected


def _source(title: str, bodies: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a submission: the lines of its cell, or those of its base with the changes of the cell."""
    body = bodies[title]
    if not _is_changes(body):
        return "\n".join(body).strip("\n") + "\n"
    base = body[0].removeprefix(BASE)
    if base not in bodies or _is_changes(bodies[base]):
        raise ValueError(f"no cell of this page that holds a whole submission is called {base!r}")
    return changed(_source(base, bodies), "\n".join(body[1:]))


def _is_changes(body: Sequence[str]) -> bool:
    """Return whether a cell holds the changes of another one, and no whole submission."""
    return bool(body) and body[0].startswith(BASE)


def changed(source: str, changes: str) -> str:
    """Return a text with changes made to it.

    Args:
        source: the text, which ends with a newline.
        changes: blocks of lines that begin with `#-` (taken out), `#+` (put in) or `# ` (kept); an empty line ends a
            block, and `#` alone stands for an empty line that is kept.

    Raises:
        ValueError: a line is of another form, or what a block takes out and keeps is not in the text exactly once.
    """
    lines = source.split("\n")
    places = []
    for block in filter(None, re.split(r"\n\n+", changes.strip("\n"))):
        old, new = _block(block.split("\n"))
        starts = [start for start in range(len(lines)) if lines[start : start + len(old)] == old]
        if len(starts) != 1:
            raise ValueError(f"the base has {len(starts)} times what this block changes, not once:\n{block}")
        places.append((starts[0], starts[0] + len(old), new))
    for start, end, new in sorted(places, reverse=True):
        lines[start:end] = new
    return "\n".join(lines)


def _block(block: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines that a block stands for in the base, and those in their place."""
    old, new = [], []
    for line in block:
        match = CHANGE.fullmatch(line)
        if match is None:
            raise ValueError(f"{line!r}: a change begins with '#-', '#+' or '# '")
        kind, text = match[1] or " ", match[2] or ""
        if kind != "+":
            old.append(text)
        if kind != "-":
            new.append(text)
    return old, new


def written_blind() -> list[Submission]:
    """Return the right answers of `learners/written_blind.py`, whose author had not seen the checks.

    The head of a cell names the exercise and the method: `# %% lin_grad: loop over the batch`.
    """
    path = LEARNERS / "written_blind.py"
    submissions = []
    for text in path.read_text(encoding="utf-8").split(f"\n{MARK} ")[1:]:
        head, _, source = text.partition("\n")
        exercise, _, title = head.partition(": ")
        submissions.append(Submission("written_blind", exercise, title, source.strip("\n") + "\n", {}))
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
