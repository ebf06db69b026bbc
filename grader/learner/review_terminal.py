"""`handgrad review` as a learner meets it: the mistakes met most, questions on them, and what to write once more."""

from __future__ import annotations

from collections.abc import Iterator

from grader.rendering.console import print_lines
from grader.rendering.render_text import Line
from grader.results.codes import MEANINGS

from .quiz_session import Practice
from .quiz_terminal import HELP_IN_REVIEW, ask_question, run_until_left, wrapped
from .review import MistakeMet, Review, ReviewExercise
from .session import Session


def run_review(session: Session, found: Review, variant: int) -> int:
    """Show the review and ask its questions; returns the exit code.

    Args:
        variant: which numbers the questions ask for.
    """
    print_lines(_mistake_lines(found.mistakes))
    code = 0
    if found.questions:
        print_lines([()])
        print_lines(wrapped(f"{_count(len(found.questions), 'question')} on these. {HELP_IN_REVIEW}", "dim"))
        code = run_until_left(lambda: _ask_questions(session, found, variant))
        session.progress.save()
    print_lines(_exercise_lines(found.exercises))
    return code


def _ask_questions(session: Session, found: Review, variant: int) -> None:
    """Each question once; one that is answered right takes a mistake off the record."""
    right = 0
    for number, asked in enumerate(found.questions, 1):
        mistake = ask_question(Practice(asked.quiz, variant), asked.name, f"{number} of {len(found.questions)}")
        if mistake is None:
            right += 1
            session.progress.remove_one_mistake(asked.code)
    print_lines([(("", ""),), ((f"{right} of {len(found.questions)} right.", "good" if right else ""),)])


def _mistake_lines(mistakes: tuple[MistakeMet, ...]) -> Iterator[Line]:
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


def _exercise_lines(exercises: tuple[ReviewExercise, ...]) -> Iterator[Line]:
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
