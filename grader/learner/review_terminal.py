"""`handgrad review` as a learner meets it: the mistakes met most, questions on them, and what to write once more."""

from __future__ import annotations

from collections.abc import Iterator

from grader.code_meanings import MEANINGS

from .console import out
from .quiz_session import Practice
from .quiz_terminal import HELP_IN_REVIEW, ask, sat, wrapped
from .render_text import Line
from .review import Again, Met, Review
from .session import Session


def go_over(session: Session, found: Review, variant: int) -> int:
    """Show the review and ask its questions; returns the exit code.

    Args:
        variant: which numbers the questions ask for.
    """
    out(_mistakes(found.mistakes))
    code = 0
    if found.questions:
        out([()])
        out(wrapped(f"{_count(len(found.questions), 'question')} on these. {HELP_IN_REVIEW}", "dim"))
        code = sat(lambda: _asked(session, found, variant))
        session.progress.save()
    out(_again(found.exercises))
    return code


def _asked(session: Session, found: Review, variant: int) -> None:
    """Each question once; one that is answered right takes a mistake off the record."""
    right = 0
    for number, asked in enumerate(found.questions, 1):
        mistake = ask(Practice(asked.quiz, variant), asked.name, f"{number} of {len(found.questions)}")
        if mistake is None:
            right += 1
            session.progress.got_over(asked.code)
    out([(("", ""),), ((f"{right} of {len(found.questions)} right.", "good" if right else ""),)])


def _mistakes(mistakes: tuple[Met, ...]) -> Iterator[Line]:
    if not mistakes:
        yield (
            ("No mistake is on record: there is nothing to go over yet. ", ""),
            ("handgrad", "bold"),
            (" goes on.", ""),
        )
        return
    yield (("The mistakes that you have met most:", "bold"),)
    for met in mistakes:
        where = ", ".join(exercise.id for exercise in met.where[:3])
        yield ((f"  {met.code}", "bad"), (f"  {_count(met.times, 'time')}", ""), (f"  {where}", "dim"))
        yield from wrapped(MEANINGS[met.code], "", first="    ")


def _again(exercises: tuple[Again, ...]) -> Iterator[Line]:
    if exercises:
        yield ()
        yield (("To write, or to write once more:", "bold"),)
    for again in exercises:
        step = f"handgrad reset {again.exercise.id}" if again.solved else f"handgrad check {again.exercise.id}"
        state = "solved; from the stub again: " if again.solved else "open: "
        yield ((f"  {again.exercise.file}", "bold"), (f"  {again.code}", "bad"))
        yield ((f"    {state}", "dim"), (step, "bold"))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
