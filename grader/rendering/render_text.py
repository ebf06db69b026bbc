"""Results as lines of styled text, for the terminal, pytest and notebooks alike.

A `Line` is a tuple of parts, each a text with the name of its style.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from grader.course.exercise import Answer
from grader.errors import UsageError
from grader.results.records import ASKED, AnswerResult, ExerciseResult
from grader.safe_text import plain

from .exercise_summary import describe_answer, formula

if TYPE_CHECKING:  # a text about an answer reads no course.yaml
    from grader.course.course import CourseExercise

Style = Literal[
    "", "bold", "good", "bad", "todo", "dim", "mark",
    "cold1", "cold2", "cold3", "cold4", "hot1", "hot2", "hot3", "hot4",
]  # fmt: skip
Line = tuple[tuple[str, Style], ...]
Step = Callable[["CourseExercise", AnswerResult, int], str]
DOTS = re.compile(r"^[^#\n]*(?:=|return|:)\s*\.\.\.|^\s*\.\.\.", re.MULTILINE)
LABEL = 9
MOST_PRINTED = 20


def failure_lines(exercise: CourseExercise, answer: AnswerResult, width: int, seen: int = 1) -> Iterator[Line]:
    """Yield the lines on a single wrong answer: the question, the mistake, the evidence, hints and the next step.

    Args:
        exercise: the exercise.
        answer: the wrong answer.
        width: the greatest number of columns in a line.
        seen: the number of hints to show.
    """
    declared = next((a for a in exercise.declaration.answers if a.name == answer.name), Answer(answer.name))
    yield from _labelled("asked", describe_answer(exercise, declared), width)
    yield from _labelled("found", message_with_code(answer), width, "bad")
    if answer.evidence and not answer.evidence.startswith(ASKED):  # the question is above
        nudge = answer.evidence.removeprefix("nudge ")
        yield from _labelled("call" if nudge == answer.evidence else "nudge", nudge, width)
    yield from hint_lines(exercise, answer, width, seen)


def after_hint(exercise: CourseExercise, answer: AnswerResult, seen: int) -> str:
    """Return the next step for a learner at the terminal who has seen some hints of an answer.

    Args:
        exercise: the exercise.
        answer: the wrong answer.
        seen: the number of hints seen.
    """
    if seen < len(answer.hints):
        return f"next hint: handgrad hint {exercise.id} {answer.name}"
    return f"no more hints; the lesson: {lesson_file(exercise)}"


def lesson_file(exercise: CourseExercise) -> str:
    """Return the path of the unit's lesson, relative to the course folder."""
    return f"exercises/{exercise.unit}/README.md"


def hint_lines(
    exercise: CourseExercise, answer: AnswerResult, width: int, seen: int, step: Step = after_hint
) -> Iterator[Line]:
    """Yield the lines of the first hints of an answer, and the next step.

    Args:
        exercise: the exercise.
        answer: the wrong answer.
        width: the greatest number of columns in a line.
        seen: the number of hints to show.
        step: takes the exercise, the answer and the number of hints seen; returns the next step.
    """
    for number, hint in enumerate(answer.hints[:seen], 1):
        yield from _labelled(f"hint {number}/{len(answer.hints)}", hint, width, "bold")
    yield from _labelled("", step(exercise, answer, seen), width, "dim")


def first_steps(exercise: CourseExercise, width: int, is_first: bool = False) -> Iterator[Line]:
    """Yield the lines that tell how to begin an untouched exercise while its file is being watched.

    Args:
        exercise: the exercise.
        width: the greatest number of columns in a line.
        is_first: whether to say as well which folder to open in the editor.
    """
    yield from wrapped(exercise.declaration.title, width, "  ", "")
    yield ()
    steps = [
        f"Read the lesson: {lesson_file(exercise)} (o shows it here)",
        f"Open {exercise.file} in your editor, and write your answer {_place_to_write(exercise)}",
        "Save the file: it is checked at once, and what was found is shown here.",
    ]
    if is_first:
        folder = exercise.course.root
        steps.insert(0, f"Leave this terminal open, and open this folder in your editor beside it: {folder}")
    for number, step in enumerate(steps, 1):
        yield from wrapped(step, width, f"  {number}. ", "", indent=5)


def _place_to_write(exercise: CourseExercise) -> str:
    """Return in words where the answer goes: in place of the stub's dots if any are left, else in the function."""
    try:
        text = exercise.path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it was there when it was checked
        text = ""
    return "in place of each ..." if DOTS.search(text) else f"in the body of {exercise.id}"


def exercise_report(
    exercise: CourseExercise, result: ExerciseResult, width: int, seen: dict[str, int],
    *, title: str = "", step: Step = after_hint,
) -> Iterator[Line]:  # fmt: skip
    """Yield the lines on an exercise and all its answers; answers with the same message share its lines.

    An exercise of which no answer was begun has no more than its title and the message of the first answer.

    Args:
        exercise: the exercise.
        result: the result of the exercise.
        width: the greatest number of columns in a line.
        seen: the number of hints to show by the name of the answer; 1 for an answer that is not in it.
        title: the name by which the learner knows the exercise; its file if empty.
        step: takes the exercise, an answer and the number of hints seen; returns the next step, which is not shown if
            it is empty.
    """
    title = title or exercise.file
    if {answer.status for answer in result.answers} == {"todo"}:
        message = result.answers[0].message
        if message.startswith(title):
            sentence, _, command = message.rpartition(": ")  # the command stays in one piece, to be copied
            lines = [message] if len(message) <= width else [f"{sentence}:", f"  {command}"]
            yield from (((line, "todo"),) for line in lines)
        else:
            yield ((title, "bold"), ("  ", ""), (message, "todo"))
        return
    text = formula(exercise)
    gap = width - len(title) - len(text)
    yield ((title, "bold"), (" " * gap + text if gap > 1 else "", "dim"))
    if gap <= 1:
        yield from wrapped(text, width, "  ", "dim")
    for group in group_alike(result):
        shown = seen.get(group[0].name, 1)
        yield from answer_lines(group, width, shown, step(exercise, group[0], shown))


def group_alike(result: ExerciseResult) -> list[list[AnswerResult]]:
    """Return the answers in order, neighbours with the same verdict, message and evidence in the same list."""
    groups = groupby(result.answers, key=lambda a: (a.status, a.code, a.message, a.evidence))
    return [list(group) for _, group in groups]


def answer_lines(answers: Sequence[AnswerResult], width: int, hints: int = 0, then: str = "") -> Iterator[Line]:
    """Yield the lines on answers that share a verdict: names, mistake, evidence, hints, and the next step.

    Right answers have only their names and "ok", and those that were not begun their names and the message.

    Args:
        answers: at least one; the message, evidence and hints are those of the first.
        width: the greatest number of columns in a line.
        hints: the number of hints to show.
        then: the next step; empty for none.
    """
    first = answers[0]
    *many, names = textwrap.wrap(", ".join(answer.name for answer in answers), width - LABEL, break_on_hyphens=False)
    yield from (((f"  {line}", ""),) for line in many)
    label = f"  {names:<{LABEL - 4}}  "
    indent = len(label) if len(label) <= LABEL + 1 else LABEL  # `return` takes one column more
    if first.status == "passed":
        yield ((label, ""), ("ok", "good"))
        return
    style: Style = "todo" if first.status == "todo" else "bad"
    yield from wrapped(message_with_code(first), width, label, style, indent=indent)
    if first.status == "todo":
        return
    if first.evidence:
        yield from wrapped(first.evidence, width, " " * indent, "", indent=indent)
    for number, hint in enumerate(first.hints[:hints], 1):
        yield from wrapped(f"hint {number}/{len(first.hints)}: {hint}", width, " " * indent, "bold", indent=indent)
    if then:
        yield from wrapped(then, width, " " * indent, "dim", indent=indent)


def message_with_code(answer: AnswerResult) -> str:
    """Return the message of a wrong answer with its code in brackets; of one not attempted, the message alone."""
    return answer.message if answer.status == "todo" or not answer.code else f"{answer.message}  [{answer.code}]"


def answer_in_need(result: ExerciseResult, name: str = "") -> AnswerResult | None:
    """Return the answer that a learner should look at next.

    Args:
        result: the result of an exercise.
        name: the answer that was asked for; empty for the first wrong one, or else the first untouched one.

    Returns:
        The answer; `None` if the one that was asked for is right, or every answer is.

    Raises:
        UsageError: there is no answer of this name.
    """
    known = [answer.name for answer in result.answers]
    if name and name not in known:
        raise UsageError(f"{result.id} has no answer {name!r}; it has {', '.join(known)}.")
    wanted = [answer for answer in result.answers if name in ("", answer.name)]
    waiting = [answer for answer in wanted if answer.status != "passed"]
    return min(waiting, key=lambda answer: answer.status == "todo", default=None)


def differences(own_text: str, worked_text: str) -> Iterator[Line]:
    """Yield the lines of a line-by-line comparison of the learner's file with the worked solution.

    If both are equal, one line says so.
    """
    yours, theirs = plain(own_text).rstrip().splitlines(), worked_text.splitlines()
    if yours == theirs:
        yield (("Yours is the worked solution, word for word.", "good"),)
        return
    yield (("- yours", "todo"), ("   ", ""), ("+ the worked solution", "good"))
    yield ()
    for line in difflib.ndiff(yours, theirs):
        style: Style = "todo" if line.startswith("-") else "good" if line.startswith("+") else ""
        if not line.startswith("?"):
            yield ((line, style),)


def printed_lines(result: ExerciseResult, width: int) -> Iterator[Line]:
    """Yield the lines on a result's notes and flags, and on what the code printed, at most `width` columns wide.

    At most `MOST_PRINTED` of each are shown; nothing is yielded for what is empty.
    """
    for note in result.notes[:MOST_PRINTED]:
        yield from wrapped(note, width, "  ", "dim")
    yield from flag_lines(result, width)
    if result.printed.strip():
        yield (("  your code printed:", "dim"),)
        lines = plain(result.printed).splitlines()
        for line in lines[:MOST_PRINTED]:
            yield (("  | " + line[: max(width - 4, 10)], "dim"),)
        if len(lines) > MOST_PRINTED:
            yield ((f"  ... and {len(lines) - MOST_PRINTED} more lines", "dim"),)


def flag_lines(result: ExerciseResult, width: int) -> Iterator[Line]:
    """Yield the first flags of a result, what a person should look at though no points are lost, in `width` columns."""
    for flag in result.flags[:MOST_PRINTED]:
        yield from wrapped(flag, width, "  ", "dim")


def next_step(exercise: CourseExercise | None) -> Line:
    """Return the line that names the exercise to do next; for `None`, it says that every exercise is solved."""
    if exercise is None:
        return (("Every exercise is solved.", "good"),)
    return (("next: ", ""), (f"handgrad quiz {exercise.unit}" if exercise.is_quiz else exercise.file, "bold"))


def key_legend(keys: Sequence[tuple[str, str]], width: int) -> Iterator[Line]:
    """Yield lines that explain keys, at most `width` columns wide; an empty line without keys.

    Args:
        keys: pairs of a key and its effect in a word.
        width: the greatest number of columns in a line.
    """
    parts: list[tuple[str, Style]] = []
    used = 0
    for key, word in keys:
        gap = "  " if parts else ""
        size = len(f"{gap}{key} {word}")
        if parts and used + size > width:
            yield tuple(parts)
            parts, used, gap = [], 0, ""
            size = len(f"{key} {word}")
        parts += [(gap, ""), (key, "bold"), (f" {word}", "dim")]
        used += size
    yield tuple(parts)


def as_text(lines: Iterable[Line]) -> str:
    """Return lines as plain text, without styles and trailing spaces."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def _labelled(label: str, text: str, width: int, style: Style = "") -> Iterator[Line]:
    """Yield a text in lines of at most `width` columns, behind a dim label of the width `LABEL`."""
    yield from wrapped(text, width, f"{label:<{LABEL}} ", style, indent=LABEL + 1, label_style="dim")


def wrapped(
    text: str, width: int, first: str, style: Style, *, indent: int = 2, label_style: Style = ""
) -> Iterator[Line]:
    """Yield a text in lines of at most `width` columns, behind a label on the first line and indented on the others.

    Args:
        text: the text; line breaks in it count as blanks.
        width: the greatest number of columns in a line; a longer word is not broken.
        first: the label; a label longer than the indent has a line of its own.
        style: the style of the text.
        indent: the number of columns before the text.
        label_style: the style of the label.
    """
    room = max(width - indent, 20)
    parts = textwrap.wrap(plain(text), room, break_long_words=False, break_on_hyphens=False) or [""]
    if len(first) > indent:
        yield ((first.rstrip(), label_style),)
        first = " " * indent
    for number, part in enumerate(parts):
        yield ((first if number == 0 else " " * indent, label_style), (part, style))
