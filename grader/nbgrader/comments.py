"""The nbgrader comment on one exercise: Markdown for the feedback, plain enough to read in formgrader."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.learner.render_text import group_alike
from grader.results import AnswerResult, ExerciseResult
from grader.safe_text import plain

ACTIVE = re.compile(r"[<&$\\*]|__|~~|\]\(|!\[|://|``")
TICKS = re.compile("`+")


def comment(result: ExerciseResult) -> str | None:
    """A line for each mistake, with the answers that it is in, its code and the first hint; `None` if all passed."""
    lines = [_line(group) for group in group_alike(result) if group[0].status != "passed"]
    return "\n".join(lines) or None


def _line(answers: Sequence[AnswerResult]) -> str:
    first = answers[0]
    names = ", ".join(answer.name for answer in answers)
    hint = f"\n  Hint: {harmless(first.hints[0])}" if first.status == "failed" and first.hints else ""
    return f"- {names}: {harmless(first.message)} [{first.code}]{hint}"


def harmless(text: str) -> str:
    """The text as Markdown that shows just that: as code, where HTML, mathematics or marks would be made of it."""
    line = " ".join(plain(text).split())
    if not ACTIVE.search(line):
        return line
    fence = "`" * (1 + max((len(run) for run in TICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"
