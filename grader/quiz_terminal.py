"""`handgrad quiz` as a learner meets it: one question at a time, and what each wrong answer reveals."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Iterable, Iterator

from rich.padding import Padding
from rich.syntax import Syntax

from .console import columns, out, terminal
from .errors import UsageError
from .progress import UnitProgress, next_exercise
from .questions import Choice, Choices, Expression, Posed
from .quiz_grading import UNREADABLE
from .quiz_session import QuizSession
from .quiz_sheet import how_to_answer
from .render import Line, Style, bars, next_step
from .results import ExerciseResult
from .session import Session
from .text import plain

PROMPT = "answer> "
HELP = "Enter: leave it for later · hint (or h) · quit (or q): your answers are saved"
AGAIN = "Try the ones that are not right yet? [Y/n] "


class Left(Exception):
    """The learner leaves the quiz."""


def take(session: Session, taking: QuizSession) -> int:
    """Ask every open question until all are right or the learner leaves; returns the exit code."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # so that answers can be edited and recalled
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    code = 1
    try:
        _rounds(taking)
    except Left:
        print()
    except KeyboardInterrupt:
        print()
        code = 130
    result = _closing(session, taking)
    return 0 if result.status == "passed" else code


def _rounds(taking: QuizSession) -> None:
    count = len(taking.names)
    waiting = taking.open()
    if len(waiting) < count:
        out(_text(f"{count - len(waiting)} of {count} are right already.", "good"))
    if waiting:
        out(_text(HELP, "dim"))
    while waiting:
        for name in waiting:
            _ask(taking, name)
        waiting = taking.open()
        if waiting and (not sys.stdin.isatty() or _read(AGAIN).lower().startswith("n")):
            raise Left


def _ask(taking: QuizSession, name: str) -> None:
    """One question, until it has been answered or left for later."""
    question = taking.posed(name)
    _show(taking, name, question)
    while typed := _read(PROMPT):
        if typed.lower() in _commands(question, "quit"):
            raise Left
        if typed.lower() in _commands(question, "hint"):
            _hint(taking, name)
            continue
        mistake = taking.answer(name, typed)
        if mistake is None:
            out(_text(question.because, first="Right. ", first_style="good"))
            return
        if mistake.code not in UNREADABLE:
            out(_text(mistake.says, first="Not yet. ", first_style="bad"))
            return
        says = f"There is no choice {typed!r}." if isinstance(question, (Choice, Choices)) else mistake.says
        out(_text(f"{says} {_how(question)}", "bad"))


def _commands(question: Posed, word: str) -> set[str]:
    """How a command may be typed: its first letter will do, where that is no variable of the question."""
    letter, taken = word[0], question.given if isinstance(question, Expression) else ()
    return {word} if letter in taken else {word, letter}


def _read(prompt: str) -> str:
    """One line; the end of the input means leaving."""
    try:
        return input(prompt).strip()
    except EOFError:
        raise Left from None


def _hint(taking: QuizSession, name: str) -> None:
    found = taking.next_hint(name)
    if found is None:
        out(_text(f"No more hints; the lesson: exercises/{taking.exercise.unit}/README.md", "dim"))
    else:
        number, count, hint = found
        out(_text(f"hint {number}/{count}: {hint}", "bold"))


def _show(taking: QuizSession, name: str, question: Posed) -> None:
    number = taking.names.index(name) + 1
    out([(("", ""),), ((f"{number} of {len(taking.names)}", "bold"), (f"  {name}", "dim")), *_text(question.ask)])
    if question.listing:
        code = Syntax(question.listing.rstrip(), "python", theme="ansi_dark", background_color="default")
        terminal().print(Padding(code, (1, 0, 1, 4)))
    if isinstance(question, (Choice, Choices)):
        texts = {label: right if isinstance(right, str) else right.text for label, right in question.right.items()}
        texts |= {label: wrong.text for label, wrong in question.wrong.items()}
        out([] if question.listing else [(("", ""),)])
        for letter, label in taking.lettered(name, question).items():
            out(_text(texts[label], first=f"  {letter}  "))
    out(_text(_how(question), "dim"))


def _how(question: Posed) -> str:
    if isinstance(question, Choice):
        return "Answer with a letter."
    if isinstance(question, Choices):
        return "Answer with the letters of all that are right, such as: a c"
    return how_to_answer(question)


def _text(text: str, style: Style = "", first: str = "", first_style: Style = "bold") -> Iterator[Line]:
    """Wrapped paragraphs, behind what stands before them."""
    width, indent = max(columns(), 20), " " * len(first)
    for paragraph in plain(text).split("\n\n"):
        for line in textwrap.wrap(paragraph, width - len(first), break_long_words=False, break_on_hyphens=False):
            yield ((first, first_style), (line, style))
            first = indent


def _closing(session: Session, taking: QuizSession) -> ExerciseResult:
    """Remember the verdict, and show how far the quiz is."""
    exercise, result = taking.exercise, taking.result()
    session.progress.record(exercise, result)
    session.progress.save()
    done = sum(answer.status == "passed" for answer in result.answers)
    out([(("", ""),), *bars([UnitProgress(f"quiz {exercise.unit}", done, len(result.answers))], columns())])
    if result.status == "passed":
        out(
            [
                (("All of them are right.", "good"),),
                next_step(next_exercise(session.progress, session.course.exercises)),
            ]
        )
    else:
        out([(("go on: ", ""), (f"handgrad quiz {exercise.unit}", "bold"))])
    out([((note, "todo"),) for note in session.progress.notes])
    return result


def chosen(session: Session, quizzes: Iterable[QuizSession]) -> QuizSession:
    """The first quiz that is not known to be right.

    Raises:
        UsageError: all of them are.
    """
    for taking in quizzes:
        known = session.progress.result(taking.exercise)
        if known is None or known.status != "passed":
            return taking
    raise UsageError("Every quiz is right. Take one again, with other numbers: handgrad quiz UNIT --fresh")
