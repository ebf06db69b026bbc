"""The nbgrader comment on one exercise: Markdown for the feedback, plain enough to read in formgrader."""

from __future__ import annotations

from collections.abc import Sequence

from grader.rendering.render_text import group_alike
from grader.results.records import AnswerResult, ExerciseResult
from grader.safe_text import as_markdown


def comment(result: ExerciseResult) -> str | None:
    """A line for each mistake, with the answers that it is in, its code and the first hint; `None` if all passed."""
    lines = [_line(group) for group in group_alike(result) if group[0].status != "passed"]
    return "\n".join(lines) or None


def _line(answers: Sequence[AnswerResult]) -> str:
    first = answers[0]
    names = ", ".join(answer.name for answer in answers)
    hint = f"\n  Hint: {as_markdown(first.hints[0])}" if first.status == "failed" and first.hints else ""
    return f"- {names}: {as_markdown(first.message)} [{first.code}]{hint}"
