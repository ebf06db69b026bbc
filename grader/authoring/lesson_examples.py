"""Runs the examples of a lesson, and compares what they print with what the lesson shows."""

from __future__ import annotations

import doctest
import re
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])")
TIME_LIMIT = 30.0  # seconds for an example: those of a lesson take milliseconds, also on a busy machine


class _OutOfTime(BaseException):
    """Ends an example that takes longer than `TIME_LIMIT`; no `except Exception` of the example catches it."""


class SameMeaning(doctest.OutputChecker):
    """Accept an output that says the same as the one that the lesson shows.

    Releases of torch and numpy put other blanks into their arrays, and round the last digit otherwise.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Return whether outputs have equal text, blanks aside, and numbers that differ by 1 at most in the last digit.

        Args:
            want: the output that the lesson shows.
            got: the output of the example.
            optionflags: doctest's options for the example.
        """
        if super().check_output(want, got, optionflags | doctest.NORMALIZE_WHITESPACE):
            return True
        (words, numbers), (other_words, other_numbers) = _parts(want), _parts(got)
        same_text = super().check_output(words, other_words, optionflags)
        return same_text and len(numbers) == len(other_numbers) and all(map(_agree, numbers, other_numbers))


def _parts(text: str) -> tuple[str, list[str]]:
    """Return a text without its blanks and with `#` in place of each number, and the list of its numbers as text."""
    return "".join(NUMBER.sub("#", text).split()) + "\n", NUMBER.findall(text)


def _agree(number: str, other: str) -> bool:
    """Return whether two numbers differ by at most 1 in the last digit of the one with fewer decimals.

    "0.66" and "0.667" agree, "0.65" and "0.667" do not. Two whole numbers ("7", "7.") must be equal.
    """
    steps = [_last_digit(text) for text in (number, other) if "." in text.rstrip(".") or "e" in text.lower()]
    return abs(float(number) - float(other)) <= 1.01 * max(steps, default=0.0)


def _last_digit(number: str) -> float:
    """Return the value of one unit in the last digit of a number: 0.01 for "3.14"."""
    digits, _, exponent = number.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))


class _ProblemRunner(doctest.DocTestRunner):
    """Run examples, and keep a clause for each that does not print what is shown."""

    def __init__(self) -> None:
        """Begin with no problems."""
        super().__init__(SameMeaning(), optionflags=doctest.ELLIPSIS)
        self.problems: list[str] = []

    def report_start(self, out: Any, test: doctest.DocTest, example: doctest.Example) -> None:
        """Allow each example `TIME_LIMIT` seconds from its start; doctest calls it."""
        _set_alarm(TIME_LIMIT)

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Add the problem that an example prints `got`, and not the text that the lesson shows; doctest calls it."""
        self._add(example, f"prints {_in_one_line(got)}, and not {_in_one_line(example.want)}")

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        """Add the problem that an example raises or does not end; doctest calls it.

        After an example that does not end, the others are not run.
        """
        if exc_info[0] is _OutOfTime:
            self.optionflags |= doctest.FAIL_FAST
            self._add(example, f"does not end within {TIME_LIMIT:g} seconds")
            return
        self._add(example, f"raises {_in_one_line(traceback.format_exception_only(*exc_info[:2])[-1])}")

    def _add(self, example: doctest.Example, problem: str) -> None:
        """Add a clause on an example to `problems`: its line in the lesson, its code, the problem, the next step."""
        self.problems.append(
            f"line {example.lineno + 1}: `{_in_one_line(example.source)}` {problem}: correct the example or its output."
        )


def example_problems(lesson: Path) -> Iterator[str]:
    """Yield a clause on each example of a lesson, after `>>>`, that does not print what the lesson shows.

    The examples are run one after the other, in this process. One that does not end is stopped, and those after it are
    not run; on Windows, and outside of the main thread, nothing can stop it.

    Args:
        lesson: the path of the lesson.
    """
    text = FENCE.sub("", lesson.read_text(encoding="utf-8", errors="replace"))  # an output ends at an empty line
    try:
        examples = doctest.DocTestParser().get_doctest(text, {}, lesson.parent.name, str(lesson), 0)
    except ValueError as error:
        yield f"an example cannot be read ({_in_one_line(str(error))}): correct it."
        return
    runner = _ProblemRunner()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a lesson may show what PyTorch warns of
        with _alarm():
            runner.run(examples)
    yield from runner.problems


@contextmanager
def _alarm() -> Iterator[None]:
    """Let the alarms of `_set_alarm` raise `_OutOfTime` inside the block."""
    if not _can_interrupt():
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise_out_of_time)
    try:
        yield
    finally:
        _set_alarm(0.0)
        signal.signal(signal.SIGALRM, before)


def _raise_out_of_time(number: int, frame: object) -> None:
    """Raise `_OutOfTime`; the handler of an alarm, whose number and frame are not used."""
    raise _OutOfTime


def _set_alarm(seconds: float) -> None:
    """Send this process an alarm in so many seconds, and another one each second after it; none for 0."""
    if _can_interrupt():
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0 if seconds else 0.0)


def _can_interrupt() -> bool:
    """Return whether an alarm can interrupt what runs here."""
    return hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()


def _in_one_line(text: str) -> str:
    """Return the words of a text in one line, cut where it is long."""
    line = " ".join(text.split()) or "nothing"
    return line if len(line) <= 80 else f"{line[:77]}..."
