"""The result of `explain`: a verdict on each gradient, with its texts for terminal, notebook and pytest."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from grader.rendering.render_text import answer_lines, as_text, wrapped
from grader.results.records import AnswerResult

from .verdicts import Finding

if TYPE_CHECKING:
    from grader.rendering.picture_data import Picture

WIDTH = 88


@dataclass(frozen=True, repr=False)
class Explanation:
    """The verdict on a backward pass.

    Args:
        findings: one for each gradient that was asked for, right ones too, in the order of the inputs.
        about: the inputs, with the axes that the findings speak of.
        notes: sentences on what could not be tried, traced or trusted.
        draw: makes the pictures of the mistakes, for a notebook.
    """

    findings: tuple[Finding, ...]
    about: str
    notes: tuple[str, ...] = ()
    draw: Callable[[], tuple[Picture, ...]] = field(default=tuple, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields but for `draw`, which cannot be pickled."""
        return {**self.__dict__, "draw": tuple}

    @property
    def ok(self) -> bool:
        """Return whether every gradient was judged and is right."""
        return bool(self.findings) and all(finding.status == "passed" for finding in self.findings)

    def __bool__(self) -> bool:
        """Return whether every gradient was judged and is right, so that `assert explain(...)` fails otherwise."""
        return self.ok

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        """Return the findings on the gradients that are wrong, in the order of the inputs."""
        return tuple(finding for finding in self.findings if finding.status == "failed")

    def assert_ok(self) -> None:
        """Raise unless every gradient was judged and is right; for tests.

        Raises:
            AssertionError: a gradient is wrong or cannot be judged; its message is the text of the explanation.
        """
        __tracebackhide__ = True
        if not self.ok:
            raise AssertionError(f"{self._summary}\n{self}")

    @property
    def _summary(self) -> str:
        """Return one line with the code of each gradient that is not right, for pytest; empty if all are right."""
        not_right = (finding for finding in self.findings if finding.status != "passed")
        return ", ".join(f"{finding.answer}: {finding.code or 'not judged'}" for finding in not_right)

    def __str__(self) -> str:
        """Return the explanation as lines of text: of at most `WIDTH` columns, or as wide as a narrower terminal."""
        width = min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH
        about = wrapped(self.about, width, "", "bold")
        lines = [answer_lines(group, width, hints=0) for group in self._groups()]
        notes = [wrapped(note, width, "note: ", "", indent=6) for note in self.notes]
        return as_text([*about, *chain(*lines), *chain(*notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the explanation as HTML, which a notebook shows; without pictures if they cannot be drawn."""
        from grader.rendering.picture_html import figures_of_answer_html
        from grader.rendering.render_html import (  # with the pictures, which a text does without
            answers_html,
            styles_inlined,
        )

        groups = "".join(answers_html(group, 0) for group in self._groups())
        notes = "".join(f'<p class="next"><b>note:</b> {escape(note)}</p>' for note in self.notes)
        try:
            drawn = "".join(map(figures_of_answer_html, self.draw()))
        except Exception:  # the explanation stands without its pictures
            drawn = ""
        return styles_inlined(
            f'<section class="result"><div>{escape(self.about)}</div>{groups}{drawn}{notes}</section>'
        )

    def _groups(self) -> list[Sequence[AnswerResult]]:
        """Return the findings as results to render, neighbours with the same verdict and words in one group."""
        results = map(_result_of, self.findings)
        return [list(group) for _, group in groupby(results, key=lambda r: (r.status, r.message, r.evidence))]


def _result_of(finding: Finding) -> AnswerResult:
    """Return a finding as the result of an answer, with 1 point if it passed and else none."""
    score = 1.0 if finding.status == "passed" else 0.0
    return AnswerResult(
        finding.answer, finding.status, score, 1.0, finding.code or None, finding.says, finding.evidence
    )
