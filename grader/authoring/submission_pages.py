"""Reads pages of submissions: what learners might hand in to an exercise, with the codes that each answer must get.

`tests/learners/README.md` of handgrad's own course describes the pages.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from grader.errors import ReadError
from grader.results.codes import CODES

PAGES = "tests/learners"
MARK = "# %%"
HEAD = re.compile(r"# %% (right|wrong): ([^|]*[^| ])(?: \| (.+))?")
BASE = "# base: "
CHANGE = re.compile(r"#(?:([ +-])(?: (.*))?)?")

Expected = Mapping[str, frozenset[str]]
Codes = Mapping[str, str | None]


@dataclass(frozen=True)
class PageSubmission:
    """A submission to one exercise, and the outcome that it must have.

    Args:
        title: what is unusual about it, or which mistake it has, in a few words.
        source: the file's text.
        expected: answer name, or `*` for every answer -> the codes that it may get; empty where all must pass.
        line: the line of its head on the page.
    """

    unit: str
    exercise: str
    title: str
    source: str
    expected: Expected
    line: int = 1

    @property
    def id(self) -> str:
        """Return the unit, the exercise and the title, as in "04_linear/lin_grad: no transpose"."""
        return f"{self.unit}/{self.exercise}: {self.title}"

    def allowed(self, answer: str) -> frozenset[str]:
        """Return the codes that an answer may get; empty where it must pass."""
        return self.expected.get(answer, self.expected.get("*", frozenset()))

    def mismatches(self, given: Codes) -> dict[str, tuple[str | None, list[str]]]:
        """Return the answers whose code is not among those that the page allows.

        Args:
            given: the code of each answer, by its name; `None` for a right answer.

        Returns:
            By the name of the answer its code, and the codes that the page allows; `["passed"]` if the answer must
            pass.
        """
        return {
            name: (code, sorted(self.allowed(name)) or ["passed"])
            for name, code in given.items()
            if code not in (self.allowed(name) or {None})
        }


def read_page(path: Path) -> list[PageSubmission]:
    """Return the submissions of one page, in its order.

    Raises:
        ReadError: a cell cannot be read, or two cells have the same title.
    """
    lines = path.read_text(encoding="utf-8").split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith(MARK)]
    bodies: dict[str, list[str]] = {}
    cells = []
    for head, end in pairwise([*heads, len(lines)]):
        try:
            title, expected = read_head(lines[head])
        except ValueError as error:
            raise ReadError(head + 1, str(error)) from None
        if title in bodies:
            raise ReadError(head + 1, f"another cell of this page is called {title!r} too: give it another title")
        bodies[title] = lines[head + 1 : end]
        cells.append((head + 1, title, expected))
    submissions = []
    for line, title, expected in cells:
        try:
            source = _source(title, bodies)
        except ValueError as error:
            raise ReadError(line, str(error)) from None
        submissions.append(PageSubmission(path.parent.name, path.stem, title, source, expected, line))
    return submissions


def read_head(line: str) -> tuple[str, Expected]:
    """Read the first line of a cell, such as `# %% wrong: no transpose | w.g: transposed or unknown`.

    Returns:
        The title, and by the name of each answer that fails the codes that it may get.

    Raises:
        ValueError: the line has another form, or lists codes for a right submission, or none for a wrong one.
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
    """Return the text of a submission: its cell, or the text of another submission with the changes in the cell.

    Args:
        title: the title of the submission.
        bodies: the lines of each cell of the page, without its head, by its title.

    Raises:
        ValueError: the cell has changes to a title that no whole submission on the page has, or that do not fit it.
    """
    body = bodies[title]
    if not _is_changes(body):
        return "\n".join(body).strip("\n") + "\n"
    base = body[0].removeprefix(BASE)
    if base not in bodies or _is_changes(bodies[base]):
        raise ValueError(f"no cell of this page that holds a whole submission is called {base!r}")
    return changed(_source(base, bodies), "\n".join(body[1:]))


def _is_changes(body: Sequence[str]) -> bool:
    """Return whether the lines of a cell are changes to the submission of an earlier cell, and no whole submission."""
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
        old, new = _lines_before_and_after(block.split("\n"))
        starts = [start for start in range(len(lines)) if lines[start : start + len(old)] == old]
        if len(starts) != 1:
            raise ValueError(f"the base has {len(starts)} times what this block changes, not once:\n{block}")
        places.append((starts[0], starts[0] + len(old), new))
    for start, end, new in sorted(places, reverse=True):
        lines[start:end] = new
    return "\n".join(lines)


def _lines_before_and_after(block: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines that a block of changes stands for: as they are in the text, and as they are after the change.

    Args:
        block: the lines, each behind `#-` (taken out), `#+` (put in) or `# ` (kept).

    Raises:
        ValueError: a line begins with no mark of a change.
    """
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


def head_problems(submission: PageSubmission, answers: Iterable[str]) -> Iterator[str]:
    """Yield a sentence on each answer or code in the head line of a submission that does not exist.

    Args:
        submission: the submission.
        answers: the names of the answers of its exercise.
    """
    known = tuple(answers)
    for answer, allowed in submission.expected.items():
        if answer not in ("*", *known):
            yield f"there is no answer {answer}: write {', '.join(known)} or *."
        for code in sorted(allowed - CODES):
            near = difflib.get_close_matches(code, sorted(CODES), 1)
            yield f"{code} is no code of a mistake: write {near[0] if near else ' or '.join(sorted(CODES))}."
