"""Diagnoses of exceptions in learner code: the exception, its line, and the shapes where these help."""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader.course.sampling import Array
from grader.course.shapes import describe
from grader.reference.trial import Trial, describe_options
from grader.sandbox.checked_reply import Raised
from grader.sandbox.source_text import Source

from . import hints
from .mistake import Mistake

SHAPE_ERROR = re.compile(r"shape|size|dimension|mat1|mat2|must match|broadcast|operands", re.IGNORECASE)
NUMBER_OF_AXES_ERROR = re.compile(
    r"number of dimensions|dimension out of range|axis -?\d+ is out of bounds|too many indices"
    r"|a (vector|matrix|\d-?D)\b|vector expected|\dD tensors|expected \d-?D|(<=|at least) \d dim|dimension 1 or 0",
    re.IGNORECASE,
)
HINTS_BY_MESSAGE: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"no attribute 'g'|\+=: 'NoneType'"), hints.NO_GRADIENT_YET),
    (re.compile(r"[Bb]oolean value of Tensor|truth value of an array"), hints.TRUTH_OF_ARRAY),
    (re.compile(r"index .*out of (bounds|range)"), hints.INDEX_OUT_OF_BOUNDS),
    (NUMBER_OF_AXES_ERROR, hints.ANOTHER_NUMBER_OF_AXES),
    (SHAPE_ERROR, hints.SHAPES_DO_NOT_FIT),
)  # the hints for the message of an exception; the first that fits counts
OPERATORS: Mapping[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
}  # fmt: skip
COMPARISONS: Mapping[str, tuple[str, str]] = {
    "<": ("lt", "gt"), ">": ("gt", "lt"), "<=": ("le", "ge"), ">=": ("ge", "le"),
}  # fmt: skip
"""By the sign of a comparison, the names of its method in the left operand and in the right one."""

TWO_OPERANDS = re.compile(
    r"unsupported operand type\(s\) for ([-+*/%@]+?)=?(?: or pow\(\))?: '([\w.]+)' and '([\w.]+)'"
    r"|'([<>]=?)' not supported between instances of '([\w.]+)' and '([\w.]+)'"
)
ONE_OPERAND: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"bad operand type for unary -: '(\w+)'"), "-{}", "neg"),
    (re.compile(r"bad operand type for abs\(\): '(\w+)'"), "abs({})", "abs"),
    (re.compile(r"'(\w+)' object is not subscriptable"), "{}[...]", "getitem"),
    (re.compile(r"'(\w+)' object does not support item assignment"), "{}[...] = ...", "setitem"),
    (re.compile(r"'(\w+)' object is not callable"), "{}(...)", "call"),
    (re.compile(r"object of type '(\w+)' has no len\(\)"), "len({})", "len"),
    (re.compile(r"'(\w+)' object is not iterable"), "for ... in {}", "iter"),
)  # the message, the operation, and the name of the method that Python calls for it
NO_OPERANDS = frozenset({"NoneType", "builtin_function_or_method", "function", "method", "str", "type"})
"""The types of values that are operands of arithmetic only by mistake."""

TOO_DEEP = "RecursionError"
DEEP_SAYS = "a function calls itself too many times: Python stops at a depth of about a thousand calls (RecursionError)"
DIFFERENTIATES = "the function lets torch differentiate{}; {}"


def diagnose_error(
    error: Raised, source: Source, trial: Trial | None = None, *, time_limit: float = 0, signature: str = ""
) -> Mistake:
    """Return the mistake of an exception in learner code, with the line that raised it.

    Its code is `timeout`, `memory`, `used-autograd`, `crash` or `syntax-error` by the kind of the exception, else
    `error`.

    Args:
        error: the exception as the child reported it.
        source: the learner's source, which names the line.
        trial: the trial whose call raised it; a message that names the type of the exception names the trial's options,
            too, and its shapes if the exception is about shapes. `None` where no call was running.
        time_limit: the time limit of the call, in seconds.
        signature: how the function is called; the message names it if the exception was raised outside of learner
            code.
    """
    where = source.location(_line_of(error, source), error.file) if error.lines else ""
    read = "file" if error.file or source.file else "cell"
    others = {
        "timeout": ("timeout", f"the function was still running after {time_limit:g} seconds{where}"),
        "memory": ("memory", f"the function asked for more memory than it may use{where}"),
        "autograd": ("used-autograd", f"{_one_line(error.message)}{where}"),
        "exit": ("crash", f"the code ended the whole program ({error.type}){where}"),
        "syntax": ("syntax-error", f"Python cannot read the {read}: {error.message}{where}"),
        "absent": ("error", f"{_one_line(error.message)}{where}"),
    }
    if error.kind in others:
        return Mistake(*others[error.kind])
    if not error.lines and signature:
        return Mistake("error", f"{error.message}; it is called as {signature}")
    if error.type == TOO_DEEP:
        return Mistake("error", f"{DEEP_SAYS}{where}", hints.RECURSION_TOO_DEEP)
    says = f"{error.type}: {_one_line(error.message)}{where}"
    own_hints = next((own for pattern, own in HINTS_BY_MESSAGE if pattern.search(error.message)), ())
    if error.type == "TypeError" and not own_hints:
        own_hints = _hints_on_missing_method(error.message, source)
    if error.type == "NameError":
        own_hints = hints.UNKNOWN_NAME
    elif own_hints in (hints.SHAPES_DO_NOT_FIT, hints.ANOTHER_NUMBER_OF_AXES) and trial is None:
        own_hints = ()
    if trial is not None and (SHAPE_ERROR.search(error.message) or NUMBER_OF_AXES_ERROR.search(error.message)):
        says = f"{says}. Here {_shapes(trial)}"
    elif trial is not None and (chosen := describe_options(trial)):
        says = f"{says}. Here {chosen}"
    return Mistake("error", says, own_hints)


def _hints_on_missing_method(message: str, source: Source) -> tuple[str, ...]:
    """Return hints on the special method that Python does not find in a class of the learner's, by an exception.

    Args:
        message: the message of a TypeError.
        source: the learner's source, which defines the class.

    Returns:
        The hints; none where the message is about no such method.
    """
    for pattern, operation, method in ONE_OPERAND:
        if (match := pattern.search(message)) and source.defines_class(match[1]):
            return hints.missing_method(operation.format(match[1]), f"{match[1]}.__{method}__")
    if not (match := TWO_OPERANDS.search(message)):
        return ()
    sign, left, right = filter(None, match.groups())
    names = COMPARISONS.get(sign) or (OPERATORS.get(sign), f"r{OPERATORS.get(sign)}")
    operand, name = (left, names[0]) if source.defines_class(left) else (right, names[1])
    if not names[0] or {left, right} & NO_OPERANDS or not source.defines_class(operand):
        return ()
    return hints.missing_method(f"{left} {sign} {right}", f"{operand}.__{name}__")


def _line_of(error: Raised, source: Source) -> int:
    """Return the number of the line to name in a message: the line that raised the exception, the last of its `lines`.

    For a call that exceeded the time limit it is the line of the outermost `while` loop that was running, as it is
    chance which line of the loop was reached.
    """
    loops = [] if error.kind != "timeout" or error.file else [source.loop_around(line) for line in error.lines]
    return next((loop for loop in loops if loop is not None), error.lines[-1])


def diagnose_autograd_use(line: int, words: str, source: Source, *, is_backward_pass: bool = True) -> Mistake:
    """Return the mistake that the learner's function lets torch differentiate.

    Args:
        line: the number of the line that does so.
        words: the code there, such as `loss.backward`.
        source: the learner's source.
        is_backward_pass: whether the function is the backward pass of a forward pass; else there may be nothing that
            can be differentiated by hand, as where a gradient is to be measured.
    """
    where = source.location(line)
    where = where if words in where else f", with `{words}`{where}"
    advice = "differentiate by hand" if is_backward_pass else "compute the answer as the exercise describes"
    return Mistake("used-autograd", DIFFERENTIATES.format(where, advice))


def _one_line(message: str) -> str:
    """Return a message with each run of whitespace as a single space, cut to 300 characters."""
    return " ".join(message.split())[:300]


def _shapes(trial: Trial) -> str:
    """Return a clause on the shapes of a trial's arrays and on its options: "x and x.g are (n=2, d=3), dim is 1"."""
    parts = []
    for name, value in trial.arguments.items():
        if isinstance(value, Array):
            both = f"{name} and {name}.g are" if value.g is not None else f"{name} is"
            parts.append(f"{both} {describe(value.values.shape, value.axes)}")
    return ", ".join(filter(None, [*parts, describe_options(trial)]))
