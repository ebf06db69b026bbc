"""What `explain` returns: a verdict on each gradient, as a terminal, a notebook or pytest shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain, groupby

from grader.diagnosis.mistake import Mistake
from grader.rendering.render_html import answers_html
from grader.rendering.render_text import answer_lines, as_text, wrapped
from grader.results.records import AnswerResult

from .verdicts import Judged

WIDTH = 88


@dataclass(frozen=True)
class Finding:
    """One wrong gradient.

    Args:
        answer: the input that it is the gradient of.
        code: which mistake it is, from the public vocabulary of `grader.results.records`.
        says: the fact, a clause about this gradient.
        place: the operation of `forward` that it is made at; empty where it is about none.
        evidence: what one nudge of the worst entry does to the loss; may be empty.
        mistake: the same without words, for programs; `None` where it is not about the numbers.
    """

    answer: str
    code: str
    says: str
    place: str = ""
    evidence: str = ""
    mistake: Mistake | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """The verdict on a backward pass.

    Args:
        judged: one for each gradient.
        about: the inputs, with the axes that the findings speak of.
        notes: what could not be tried, traced or trusted, in sentences.
    """

    judged: tuple[Judged, ...]
    about: str
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether every gradient was judged and is right."""
        return bool(self.judged) and all(one.result.status == "passed" for one in self.judged)

    def __bool__(self) -> bool:
        """Return whether every gradient was judged and is right, so that `assert explain(...)` fails otherwise."""
        return self.ok

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        """The wrong gradients, in the order of the inputs."""
        return tuple(
            Finding(one.result.name, one.result.code, one.result.message, one.place, one.result.evidence, one.mistake)
            for one in self.judged
            if one.result.status == "failed" and one.result.code is not None
        )

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
        """Return one line with the code of each gradient that is not right, which pytest shows of a failed test."""
        failed = (one.result for one in self.judged if one.result.status != "passed")
        return ", ".join(f"{result.name}: {result.code or 'not judged'}" for result in failed)

    def __str__(self) -> str:
        lines = [answer_lines(group, WIDTH, hints=0) for group in self._groups()]
        notes = [wrapped(note, WIDTH, "note: ", "", indent=6) for note in self.notes]
        return as_text([((self.about, "bold"),), *chain(*lines), *chain(*notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        groups = "".join(answers_html(group, 0) for group in self._groups())
        notes = "".join(f'<div style="opacity: 0.8; margin-top: 0.5em">{escape(note)}</div>' for note in self.notes)
        return f'<div style="max-width: 48em; line-height: 1.45"><div>{escape(self.about)}</div>{groups}{notes}</div>'

    def _groups(self) -> list[Sequence[AnswerResult]]:
        """Neighbours of which the same is to be said, with the code behind the fact."""
        coded = [_with_code(one.result) for one in self.judged]
        return [list(group) for _, group in groupby(coded, key=lambda a: (a.status, a.message, a.evidence))]


def _with_code(result: AnswerResult) -> AnswerResult:
    return replace(result, message=f"{result.message}  [{result.code}]") if result.code else result
