"""A quiz in the terminal: asks one question at a time, and explains each wrong answer."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator

from rich.padding import Padding
from rich.syntax import Syntax

from grader.course.questions import NOT_READ, AnswerableQuestion, Choice, Choices, Expression, QuizMistake
from grader.errors import UsageError
from grader.quiz.answer_sheet import how_to_answer
from grader.quiz.choice_reading import choice_texts
from grader.rendering.console import code_theme, print_lines, report_width, terminal
from grader.rendering.render_text import Line, Style, next_step
from grader.results.records import ExerciseResult
from grader.safe_text import plain

from .check_terminal import progress_bars
from .progress import UnitProgress, next_exercise
from .quiz_session import Practice, QuizSession
from .session import Session

PROMPT = "answer> "
SHOWN = 60
HELP = "Enter: leave it for later · hint (or h) · quit (or q). Answers are saved, and what is wrong is asked again."
HELP_IN_REVIEW = "Enter: leave it · hint (or h) · quit (or q); your answer sheets stay as they are"
LEFT_OPEN = QuizMistake(code="todo", says="It was left for later.")
AGAIN = "Try the ones that are not right yet? [Y/n] "


class QuizLeft(Exception):
    """Raised when the learner leaves the quiz."""


def take_quiz(session: Session, taking: QuizSession) -> int:
    """Ask every open question until all answers are right or the learner leaves; return the exit code.

    Returns:
        0 if the whole quiz is right, 130 if the learner left by Ctrl-C, else 1.
    """
    code = run_until_left(lambda: _ask_open_questions(session, taking))
    result = _record_and_show_result(session, taking)
    return 0 if result.status == "passed" else code or 1


def run_until_left(ask: Callable[[], None]) -> int:
    """Call `ask`; return 0 if it ends, 130 if the learner leaves by Ctrl-C, 1 if the learner leaves otherwise."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # so that answers can be edited and recalled
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    try:
        ask()
    except QuizLeft:
        print()
        return 1
    except KeyboardInterrupt:
        print()
        return 130
    return 0


def _ask_open_questions(session: Session, taking: QuizSession) -> None:
    """Ask every question whose answer is not right yet, and record the result after each; then offer to ask again.

    Raises:
        QuizLeft: the learner leaves; or questions are open, and the learner declines to be asked again, or cannot be,
            because stdin is no terminal.
    """
    count = len(taking.names)
    waiting = taking.open()
    if len(waiting) < count:
        print_lines(wrapped(f"{count - len(waiting)} of {count} are right already.", "good"))
    if waiting:
        print_lines(wrapped(HELP, "dim"))
    while waiting:
        for name in waiting:
            ask_question(taking, name, f"{taking.names.index(name) + 1} of {count}")
            session.progress.record(taking.exercise, taking.result())
        waiting = taking.open()
        if waiting and (not sys.stdin.isatty() or _read(AGAIN).lower().startswith("n")):
            raise QuizLeft


def ask_question(taking: Practice, name: str, place: str) -> QuizMistake | None:
    """Ask one question, until it is answered or the learner presses Enter to leave it for later.

    Args:
        taking: the quiz.
        name: the question's name.
        place: the heading, such as "3 of 12".

    Returns:
        The mistake in the answer; `None` if the answer is right, and `LEFT_OPEN` if none was given.

    Raises:
        QuizLeft: the learner leaves the quiz.
    """
    question = taking.question(name)
    _show(taking, name, question, place)
    while typed := _read(PROMPT):
        if typed.lower() in _commands(question, "quit"):
            raise QuizLeft
        if typed.lower() in _commands(question, "hint"):
            _hint(taking, name)
            continue
        mistake = taking.answer(name, typed)
        if mistake is None:
            print_lines(wrapped(question.because, first="Right. ", first_style="good"))
            return None
        if mistake.code != NOT_READ:
            print_lines(wrapped(_with_letters(taking, name, mistake, typed), first="Not yet. ", first_style="bad"))
            return mistake
        print_lines(wrapped(f"{mistake.says} It does not count. {_how_to_answer(question)}", "todo"))
    return LEFT_OPEN


def _with_letters(taking: Practice, name: str, mistake: QuizMistake, typed: str) -> str:
    """Return the message of a mistake; for a question with choices, the typed letters stand before it: "b, d: ...".

    Args:
        taking: the quiz being taken.
        name: the name of the question.
        mistake: the mistake in the answer.
        typed: the answer as it was typed.
    """
    question = taking.question(name)
    if not isinstance(question, (Choice, Choices)):
        return mistake.says
    return f"{taking.as_shown(name, taking.with_choice_names(name, typed))}: {mistake.says}"


def _commands(question: AnswerableQuestion, word: str) -> set[str]:
    """Return the texts that stand for a command: its word, and its first letter unless a variable is called so."""
    letter, taken = word[0], question.given if isinstance(question, Expression) else ()
    return {word} if letter in taken else {word, letter}


def _read(prompt: str) -> str:
    """Show a prompt, and return the line that is typed.

    Raises:
        QuizLeft: the input has ended.
    """
    try:
        return input(prompt).strip()
    except EOFError:
        raise QuizLeft from None


def _hint(taking: Practice, name: str) -> None:
    """Print the next hint on the question of this name; after the last one, the path of the lesson."""
    next_hint = taking.next_hint(name)
    if next_hint is None:
        print_lines(wrapped(f"No more hints; the lesson: exercises/{taking.exercise.unit}/README.md", "dim"))
    else:
        number, count, hint = next_hint
        print_lines(wrapped(f"hint {number}/{count}: {hint}", "bold"))


def _show(taking: Practice, name: str, question: AnswerableQuestion, place: str) -> None:
    """Print a question: its text, code and choices, how to answer it, and the earlier answer if that was wrong.

    Args:
        taking: the quiz.
        name: the question's name.
        question: the question, with its numbers filled in.
        place: the place of the question in the quiz, such as `2 of 8`.
    """
    print_lines([(("", ""),), ((place, "bold"), (f"  {name}", "dim")), *wrapped(question.ask)])
    if question.listing:
        code = Syntax(question.listing.rstrip(), "python", theme=code_theme(), background_color="default")
        terminal().print(Padding(code, (1, 0, 1, 4)))
    if isinstance(question, (Choice, Choices)):
        texts = choice_texts(question)
        print_lines([] if question.listing else [(("", ""),)])
        for letter, label in taking.choices_by_letter(name, question).items():
            print_lines(wrapped(texts[label], first=f"  {letter}  "))
    print_lines(wrapped(_how_to_answer(question), "dim"))
    if (mistake := taking.earlier_mistake(name)) is not None:
        before = taking.as_shown(name, taking.earlier_answer(name))
        verdict = "It could not be read" if mistake.code == NOT_READ else "It was not right"
        print_lines(wrapped(f"{verdict}: {before[:SHOWN]}{'…' if len(before) > SHOWN else ''}", "dim"))


def _how_to_answer(question: AnswerableQuestion) -> str:
    """Return a sentence on the form of the answer: a letter, several letters, a number, a formula and so on."""
    if isinstance(question, Choice):
        return "Answer with a letter."
    if isinstance(question, Choices):
        return "Answer with the letters of all that are right, separated by commas."
    return how_to_answer(question)


def wrapped(text: str, style: Style = "", first: str = "", first_style: Style = "bold") -> Iterator[Line]:
    """Yield the lines of some paragraphs, as wide as the terminal.

    Args:
        text: the paragraphs, separated by empty lines.
        style: the style of the text.
        first: a text before the first line; all other lines are indented by its width.
        first_style: the style of `first`.
    """
    width, indent = max(report_width(), 20), " " * len(first)
    for paragraph in plain(text).split("\n\n"):
        for line in textwrap.wrap(paragraph, width - len(first), break_long_words=False, break_on_hyphens=False):
            yield ((first, first_style), (line, style))
            first = indent


def _record_and_show_result(session: Session, taking: QuizSession) -> ExerciseResult:
    """Check the sheet, record the result, save the progress, show how far the quiz is, and return the result."""
    exercise, result = taking.exercise, taking.result()
    session.progress.record(exercise, result)
    session.progress.save()
    done = sum(answer.status == "passed" for answer in result.answers)
    print_lines(
        [
            (("", ""),),
            *progress_bars([UnitProgress(f"quiz {exercise.unit}", done, len(result.answers))], report_width()),
        ]
    )
    if result.status == "passed":
        print_lines(
            [
                (("All of them are right.", "good"),),
                next_step(next_exercise(session.progress, session.course.exercises)),
            ]
        )
    else:
        print_lines([(("go on: ", ""), (f"handgrad quiz {exercise.unit}", "bold"))])
    print_lines([((note, "todo"),) for note in session.progress.notes])
    return result


def first_open_quiz(session: Session, quizzes: Iterable[QuizSession]) -> QuizSession:
    """Return the first quiz that is not solved, by the last result on its sheet.

    Raises:
        UsageError: all quizzes are solved.
    """
    for taking in quizzes:
        known = session.progress.result(taking.exercise)
        if known is None or known.status != "passed":
            return taking
    raise UsageError("Every quiz is right. Take one again, with other numbers: handgrad quiz UNIT --fresh")
