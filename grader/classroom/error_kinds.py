"""What failed where a learner's code raised: the code `error` alone says that something did."""

from __future__ import annotations

import re

from grader.results.codes import UNNAMED, meaning
from grader.results.records import AnswerResult

ERROR = "error"
SHAPES = "shapes do not fit"
BY_TYPE = {
    "NameError": "unknown name", "UnboundLocalError": "unknown name",
    "AttributeError": "no such attribute",
    "ImportError": "no such module", "ModuleNotFoundError": "no such module",
    "TypeError": "wrong kind of value",
    "IndexError": "no such entry", "KeyError": "no such entry",
    "ZeroDivisionError": "arithmetic", "OverflowError": "arithmetic", "FloatingPointError": "arithmetic",
}  # fmt: skip
MEANINGS = {
    SHAPES: "Two arrays have shapes that the operation does not take.",
    "unknown name": "A name is used that nothing was given to.",
    "no such attribute": "Something is asked of an object that it does not have.",
    "no such module": "A module is imported that is not there.",
    "wrong kind of value": "An operation got a kind of value that it does not take.",
    "no such entry": "An index or a key is outside of what is there.",
    "arithmetic": "A division by zero, or a number that is too large.",
    "arguments": "The function does not take the arguments that it is called with.",
}
RAISED = re.compile(r"([A-Za-z_]\w{0,40}): (.*?)(?: \([^()]+, line \d+|$)", re.DOTALL)
SHAPE_WORDS = re.compile(r"shape|size|dimension|mat1|mat2|must match|broadcast|operands|indices", re.IGNORECASE)
OF_SHAPES = ("RuntimeError", "ValueError", "IndexError")


def mistake_name(answer: AnswerResult) -> str:
    """What a wrong answer is counted under: its code, and where that is `error`, what failed."""
    if answer.code != ERROR:
        return answer.code or UNNAMED
    failed = _what_failed(answer.message)
    return f"{ERROR}: {failed}" if failed else ERROR


def says(name: str) -> str:
    """The sentence for such a name; an exception of another type stands for itself."""
    code, _, failed = name.partition(": ")
    return MEANINGS.get(failed, "") if code == ERROR and failed else meaning(name)


def is_error(name: str) -> bool:
    return name.partition(":")[0] == ERROR


def _what_failed(message: str) -> str:
    """From the words of `wording.exceptions.diagnose_error`; empty where no exception is named in them."""
    if "; it is called as " in message:
        return "arguments"
    raised = RAISED.match(message)
    if raised is None:
        return ""
    name, text = raised.groups()
    if name in OF_SHAPES and SHAPE_WORDS.search(text) and "out of bounds" not in text:
        return SHAPES
    return BY_TYPE.get(name, name)
