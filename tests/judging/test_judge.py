"""Before any number is compared: what a learner is told of a file, a call or a value that is no answer yet."""

from __future__ import annotations

import re
import textwrap

import pytest
from helpers.courses import HANGING, TIME_LIMIT
from helpers.grading import Grade, codes

from grader.authoring.build import worked_text
from grader.course.course import CourseExercise
from grader.diagnosis.exceptions import diagnose_error
from grader.results.records import ExerciseResult
from grader.sandbox.checked_reply import Raised
from grader.sandbox.source_text import Source

RIGHT = "inp.g = out.g @ w.t(); w.g = inp.t() @ out.g; b.g = out.g.sum(0)"


def lin_grad(body: str, *, before: str = "", signature: str = "inp, out, w, b") -> str:
    """A learner's lin_grad.py with this body."""
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return f"{before}def lin_grad({signature}):\n{lines}\n"


def told(result: ExerciseResult, answer: str = "w.g") -> tuple[str | None, str]:
    """The code of an answer and what is said of it."""
    found = next(a for a in result.answers if a.name == answer)
    return found.code, found.message


def limit(code: str) -> float:
    """Seconds for what ends, and fewer for what is expected not to."""
    return HANGING if code == "timeout" else TIME_LIMIT


FILES = {
    "an empty file": (
        "", "missing-function",
        r"^exercises/04_linear/lin_grad\.py is empty: write lin_grad in it, or get the stub back with: handgrad reset",
    ),
    "nothing but blank lines": ("\n  \n", "missing-function", r"lin_grad\.py is empty: "),
    "nothing but a comment": ("# later\n", "missing-function", r"does not define lin_grad: write it, or get the stub"),
    "a name close by": ("def lin_gard(inp, out, w, b): pass", "missing-function", "defines `lin_gard`, not `lin_grad`"),
    "another name": ("def backward(inp, out, w, b): pass", "missing-function", "rename the function to `lin_grad`"),
    "an open bracket": ("def lin_grad(inp, out, w, b:\n  pass", "syntax-error", r"\(lin_grad\.py, line 1: def lin"),
    "a tab too many": (lin_grad("x = 1") + "\ty = 2\n", "syntax-error", r"lin_grad\.py, line 3"),
    "an import that fails": ("import nowhere\n1 + nowhere.x\n", "error", r"nowhere.*\.py, line 2: 1 \+ nowhere\.x"),
    "an error on import": ("1 / 0\n" + lin_grad(RIGHT), "error", r"ZeroDivisionError: .*line 1: 1 / 0\)"),
    "an exit on import": ("import sys; sys.exit()\n" + lin_grad(RIGHT), "crash", "the code ended the whole program"),
    "a call in C without end": (
        lin_grad("w.g = sum(range(10**18))"), "timeout",
        r"still running after 0\.5 seconds, in a call that cannot be interrupted.* stored before is lost",
    ),
    "a crash of Python": (
        lin_grad("import ctypes; ctypes.string_at(0)"), "crash", r"crashed Python: .*\. What it stored before is lost",
    ),
    "an endless import": ("while True: pass\n", "timeout", "still running after 0.5 seconds"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "code", "says"), FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_called_says_so_of_every_answer(grade: Grade, source: str, code: str, says: str) -> None:
    result = grade("lin_grad", source, time_limit=limit(code))
    assert set(codes(result).values()) == {code}
    assert re.search(says, told(result)[1]), told(result)
    assert not re.search("grader/|Traceback|\n", told(result)[1])


CALLS = {
    "an exception": (lin_grad("w.g = undefined"), "error", r"NameError: .*\(lin_grad\.py, line 2: w\.g = undefined\)"),
    "an exception in a helper": (
        lin_grad("w.g = helper(inp)", before="def helper(x):\n    return x.nope\n"),
        "error", r"AttributeError: .*\(lin_grad\.py, line 2: return x\.nope\)",
    ),
    "too few parameters": (
        lin_grad("w.g = inp", signature="inp, out"), "error", r"it is called as lin_grad\(inp, out, w, b\)",
    ),
    "shapes that do not fit": (
        lin_grad("w.g = out.g @ inp"), "error",
        r"RuntimeError: .*line 2: w\.g = out\.g @ inp\)\. Here inp is \(bs=\d, n=\d\), out and out\.g are "
        r"\(bs=\d, m=\d\), w is \(n=\d, m=\d\), b is \(m=\d,\)",
    ),
    "an exit": (lin_grad("raise SystemExit(3)"), "crash", "the code ended the whole program"),
    "a hang": (lin_grad("while True: pass"), "timeout", r"after 0.5 seconds"),
    "autograd": (lin_grad("w.requires_grad_(); (inp @ w).sum().backward()"), "used-autograd", "by hand"),
    "too much memory": (lin_grad("w.g = b.new_zeros(1 << 40)"), "memory", "more memory than it may use"),
}  # fmt: skip


SLIPS_OF_BEGINNERS = {
    "adding to no gradient": ("w.g += inp.t() @ out.g", "with `=`"),
    "an if on an array": ("w.g = inp.t() @ out.g if inp > 0 else w", "more than one value"),
    "an index out of bounds": ("w.g = w[:, w.shape[1]]", "Indices begin at 0"),
}


@pytest.mark.parametrize(("body", "hint"), SLIPS_OF_BEGINNERS.values(), ids=SLIPS_OF_BEGINNERS)
def test_the_first_hint_of_an_exception_fits_its_message(grade: Grade, body: str, hint: str) -> None:
    (answer,) = (each for each in grade("lin_grad", lin_grad(body)).answers if each.name == "w.g")
    assert answer.code == "error"
    assert hint in answer.hints[0]


@pytest.mark.parametrize(("source", "code", "says"), CALLS.values(), ids=CALLS)
def test_a_call_that_fails_names_the_learners_line(grade: Grade, source: str, code: str, says: str) -> None:
    result = grade("lin_grad", source, time_limit=limit(code))
    assert told(result)[0] == code
    assert re.search(says, told(result)[1]), told(result)
    assert not re.search("grader/|Traceback|\n", told(result)[1])


@pytest.mark.parametrize(
    ("ends", "code", "note"),
    [
        ("raise ValueError('no more')", "error", "what was stored before the exception counts"),
        ("while True: pass", "timeout", "what was stored until then counts"),
    ],
)
def test_what_was_stored_before_the_end_counts_and_the_end_is_told_once(
    grade: Grade, ends: str, code: str, note: str
) -> None:
    some, all_of_it = (grade("lin_grad", lin_grad(f"{stored}\n{ends}"), time_limit=2)
                       for stored in (RIGHT.rpartition("; ")[0], RIGHT))  # fmt: skip
    assert codes(some) == {"inp.g": None, "w.g": None, "b.g": code}
    assert some.notes == (note,), "the message stands at the answer that is missing"
    assert all_of_it.status == "passed"
    assert f"{note}: {told(some, 'b.g')[1]}" in all_of_it.notes


VALUES = {
    "not set": ("pass; inp.g = out.g @ w.t()", "missing-answer", "nothing was stored in w.g"),
    "None": ("w.g = None; inp.g = out.g @ w.t()", "missing-answer", "nothing was stored in w.g"),
    "still a stub": ("w.g = ...; b.g = out.g.sum(0)", "todo", "not attempted yet"),
    "a list": ("w.g = [1.0, 2.0]", "wrong-type", "it is a list, not a tensor"),
    "a tuple": ("w.g = inp.t() @ out.g,", "wrong-type", "it is a tuple, not a tensor"),
    "a number": ("w.g = 1.0", "wrong-type", "it is a float, not a tensor"),
    "an int": ("w.g = 1", "wrong-type", "it is an int, not a tensor"),
    "a truth value": ("w.g = True", "wrong-type", "it is a bool, not a tensor"),
    "a method": ("w.g = out.g.sum", "wrong-type", "it is a function that was not called, not a tensor"),
    "an array of objects": ("w.g = __import__('numpy').array(['a'], object)", "wrong-type", "that holds no numbers"),
    "an ndarray of float64": (
        "w.g = (inp.t() @ out.g).double().numpy()",
        "wrong-dtype",
        "it is a numpy array of dtype float64; the dtype should be that of w, float32",
    ),
    "a number of numpy's": ("w.g = out.g.numpy().sum()", "wrong-shape", r"its shape is \(\)"),
    "another attribute": ("w.grad = inp.t() @ out.g", "wrong-attribute", "stored w.grad; the gradient belongs in w.g"),
    "returned": ("return inp.t() @ out.g", "returned-not-stored", "it must store w.g"),
    "integers": ("w.g = (inp.t() @ out.g).long()", "wrong-dtype", "dtype is int64; it should be that of w, float32"),
    "far too large": ("w.g = b.new_zeros(1).expand(1 << 40)", "wrong-shape", "far too large"),
    "a changed input": ("inp += 1; w.g = inp.t() @ out.g", "mutated-input", "the function changes `inp` in place"),
    "a changed upstream": (
        "w.g = inp.t() @ out.g; out.g.zero_()",
        "mutated-input",
        "the function changes `out.g` in place",
    ),
    "inf": ("w.g = inp.t() @ out.g / 0", "not-finite", "entries are inf or nan"),
}


@pytest.mark.parametrize(("body", "code", "says"), VALUES.values(), ids=VALUES)
def test_a_value_that_is_no_answer_says_what_it_is(grade: Grade, body: str, code: str, says: str) -> None:
    result = grade("lin_grad", lin_grad(body))
    assert told(result)[0] == code
    assert re.search(says, told(result)[1]), told(result)


NUMBERS = {
    "text": ("str((f(x + h) - f(x)) / h)", "wrong-type", "it is a str, not a number"),
    "a tuple": ("(f(x + h) - f(x)) / h,", "wrong-type", "it is a tuple, not a number"),
    "a list": ("[(f(x + h) - f(x)) / h]", "wrong-type", "it is a list, not a number"),
    "a truth value": ("f(x + h) > f(x)", "wrong-type", "it is a bool, not a number"),
    "a function": ("f", "wrong-type", "it is a function that was not called, not a number"),
    "far too large": ("10**400", "wrong-type", "it is an int too large for a float, not a number"),
    "a number of numpy's": ("__import__('numpy').float64((f(x + h) - f(x)) / h)", None, ""),
    "an array without axes": ("__import__('numpy').array((f(x + h) - f(x)) / h)", None, ""),
}


@pytest.mark.parametrize(("answer", "code", "says"), NUMBERS.values(), ids=NUMBERS)
def test_what_is_no_number_says_what_it_is(grade: Grade, answer: str, code: str | None, says: str) -> None:
    """Where no tensor was asked for, none is spoken of."""
    result = grade("slope", f"def slope(f, x, h):\n    return {answer}\n")
    assert told(result, "return") == (code, says)


@pytest.mark.parametrize("wrong", ["w.g = inp.t() @ out.g,", "w.g = str(inp)", "w.g = out.g.sum"])
def test_what_made_it_another_kind_of_object_is_asked_first(grade: Grade, wrong: str) -> None:
    hints = next(a.hints for a in grade("lin_grad", lin_grad(wrong)).answers if a.name == "w.g")
    assert re.search("comma|quotes|parentheses", hints[0])


IN_NUMPY = """

def in_numpy(function):
    def called(*arguments):
        before = [getattr(given, "g", None) for given in arguments]
        answer = function(*arguments)
        for given, was in zip(arguments, before):
            if isinstance(getattr(given, "g", None), type(given)) and given.g is not was:
                given.g = given.g.numpy()[()]
        return answer.numpy()[()] if hasattr(answer, "numpy") else answer
    return called

{0} = in_numpy({0})
"""


def test_numpy_answers_are_right(exercises: list[CourseExercise], grade: Grade) -> None:
    """Of three exercises; `thorough/test_every_exercise.py` has all."""
    assert_numpy_answers_are_right(exercises[::5], grade)


def assert_numpy_answers_are_right(exercises: list[CourseExercise], grade: Grade) -> None:
    """Check arrays of the worked solution's numbers, and in place of an array without axes a number of numpy's."""
    wrong = {}
    for exercise in exercises:
        source = f"{worked_text(exercise)}{IN_NUMPY.format(exercise.id)}"
        wrong |= {(exercise.id, name): code for name, code in codes(grade(exercise.id, source)).items() if code}
    assert wrong == {}


def test_a_gradient_returned_without_being_asked_for_costs_nothing(grade: Grade) -> None:
    assert grade("lin_grad", lin_grad(RIGHT + "; return inp.g, w.g, b.g")).status == "passed"


def test_a_function_that_returns_nothing_is_told_to_return(grade: Grade) -> None:
    result = grade("dy_dx", "def dy_dx(x):\n    x.g = x\n")
    assert told(result, "return")[0] == "missing-answer"
    assert "it stored x.g instead: it ended without reaching a `return` statement" in told(result, "return")[1]


def test_none_among_what_is_returned_is_told_as_that(grade: Grade) -> None:
    result = grade("tensor_engine", "def tensor_engine(program, tensors):\n    return [None for _ in tensors]\n")
    assert {told(result, f"return.{place}") for place in range(4)} == {("missing-answer", "it is None")}


def test_something_stored_that_was_not_asked_for_is_extra_work(grade: Grade) -> None:
    result = grade("lin_grad_needed", f"def lin_grad_needed(inp, out, w, b, needs):\n    {RIGHT}\n")
    assert told(result)[0] == "extra-work"


def test_a_long_message_of_many_lines_is_told_in_one(grade: Grade) -> None:
    result = grade("lin_grad", lin_grad("raise ValueError('\\n'.join(['line'] * 999))"))
    code, message = told(result)
    assert code == "error"
    assert "\n" not in message
    assert len(message) < 600


def test_a_line_number_beyond_the_file_is_still_told() -> None:
    error = Raised(kind="raised", type="ValueError", message="no", lines=[99])
    source = Source.of(b"x = 1\n", "exercises/u/f.py")
    assert diagnose_error(error, source).says == "ValueError: no (f.py, line 99)"


NO_METHOD = {
    "unsupported operand type(s) for -: 'int' and 'Dual'": ("int - Dual", "Dual.__rsub__"),
    "unsupported operand type(s) for -: 'Dual' and 'int'": ("Dual - int", "Dual.__sub__"),
    "unsupported operand type(s) for /: 'Dual' and 'Dual'": ("Dual / Dual", "Dual.__truediv__"),
    "unsupported operand type(s) for *: 'Tensor' and 'Dual'": ("Tensor * Dual", "Dual.__rmul__"),
    "unsupported operand type(s) for +=: 'int' and 'Dual'": ("int + Dual", "Dual.__radd__"),
    "unsupported operand type(s) for ** or pow(): 'Dual' and 'int'": ("Dual ** int", "Dual.__pow__"),
    "'<' not supported between instances of 'int' and 'Dual'": ("int < Dual", "Dual.__gt__"),
    "bad operand type for unary -: 'Dual'": ("-Dual", "Dual.__neg__"),
    "'Dual' object is not subscriptable": ("Dual[...]", "Dual.__getitem__"),
    "object of type 'Dual' has no len()": ("len(Dual)", "Dual.__len__"),
}


@pytest.mark.parametrize(("message", "names"), NO_METHOD.items())
def test_a_method_that_python_does_not_find_in_a_learners_class_is_named_in_a_hint(
    message: str, names: tuple[str, str]
) -> None:
    """The line that raised the exception is right: it says nothing of the method."""
    error = Raised(kind="raised", type="TypeError", message=message, lines=[2])
    source = Source.of(b"class Dual: pass\nf(Dual(x, v))\n", "exercises/u/f.py")
    operation, method = names
    first, *_ = diagnose_error(error, source).hints
    assert first == f"To compute `{operation}`, Python calls `{method}`. Does your class have a method of this name?"


@pytest.mark.parametrize(
    "message",
    [
        "unsupported operand type(s) for -: 'int' and 'str'",
        "unsupported operand type(s) for -: 'NoneType' and 'Dual'",
        "unsupported operand type(s) for *: 'Dual' and 'function'",
        "'Tensor' object is not callable",
    ],
)
def test_no_method_is_missing_where_an_operand_is_no_number(message: str) -> None:
    error = Raised(kind="raised", type="TypeError", message=message, lines=[2])
    source = Source.of(b"class Dual: pass\nf(Dual(x, v))\n", "exercises/u/f.py")
    assert diagnose_error(error, source).hints == ()


DEEP = """
def topological_order(parents):
    order, seen = [], set()

    def visit(i):
        if i not in seen:
            seen.add(i)
            for parent in parents[i]:
                visit(parent)
            order.append(i)

    for i in range(len(parents)):
        visit(i)
    return order
"""


def test_a_recursion_that_ends_too_early_is_told_in_words(grade: Grade) -> None:
    code, says = told(grade("topological_order", DEEP), "return")
    assert code == "error"
    assert re.match("a function calls itself too many times: Python stops .* depth of about a thousand", says), says
    assert "topological_order.py, line " in says


def test_what_is_wrong_where_a_recursion_comes_to_its_end_is_told_first(grade: Grade) -> None:
    result = grade("topological_order", DEEP.replace("return order", "return order[::-1]"))
    assert told(result, "return") == (
        "wrong-order", "each value comes before its parents: this is the order of the backward pass"
    )  # fmt: skip
    assert any(note.startswith("besides, a function calls itself too many times") for note in result.notes)


@pytest.mark.parametrize(
    ("returned", "code", "says"),
    [
        ("[0, 'a']", "wrong-type", "it is a list that contains something other than numbers"),
        ("{0, 1}", "wrong-type", "it is a set, not a list of numbers"),
        ("0", "wrong-type", "it is an int, not a list of numbers"),
        ("[0.5] * len(parents)", "unknown", "it does not meet the conditions that the exercise states"),
        ("__import__('torch').zeros(2, len(parents))", "wrong-shape", "its shape is"),
    ],
)
def test_where_a_list_of_numbers_is_asked_for_it_is_told_what_is_none(
    returned: str, code: str, says: str, grade: Grade
) -> None:
    found, message = told(grade("topological_order", f"def topological_order(parents): return {returned}\n"), "return")
    assert found == code
    assert says in message
