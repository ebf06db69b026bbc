"""The operations of function arguments, and those for which an answer is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.grading import Grade

from grader.course.course import Course
from grader.course.sampling import Function
from grader.course.trial_sizes import Setting
from grader.diagnosis.failing_arguments import operations_of, operations_of_wrong_trials
from grader.reference.trial import Trial


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("lambda x: x * x.sin() - 3 / x", {"x * x", "x.sin()", "x - x", "number / x"}),
        ("lambda x: (9 - x**3) / 4 + 2 * x", {"number - x", "x ** number", "x / number", "x + x", "number * x"}),
        ("lambda z, u: -z[0].exp() + 1 / 2", {"-z", "z[...]", "z.exp()", "z + number"}),
        ("math.sin", set()),
    ],
)
def test_an_operation_is_described_by_its_operands(source: str, found: set[str]) -> None:
    assert operations_of(source) == found


def trial(source: Any) -> Trial:
    return Trial(Setting(0, "", {}), {"f": source}, {}, {})


def test_the_operations_of_all_wrong_and_no_right_functions_are_returned() -> None:
    sin, power, both = (trial(Function(f"lambda x: {text}")) for text in ("x.sin()", "x**2", "x.sin() + x**2"))
    assert operations_of_wrong_trials([power], [sin, both]) == ("f", ["x.sin()"])
    assert operations_of_wrong_trials([both], [sin]) == ("", [])
    over, under = (trial(Function(f"lambda x: {text}")) for text in ("2 / x", "x / 2"))
    assert operations_of_wrong_trials([power], [over, under]) == ("f", ["/"])
    assert operations_of_wrong_trials([], [sin]) == ("", [])
    assert operations_of_wrong_trials([trial(1.0)], [trial(2.0)]) == ("", [])


def test_no_two_operations_are_in_the_same_functions_of_forward_mode(course: Course) -> None:
    """So the functions for which an answer is wrong identify the operation whose rule is wrong."""
    sampler = course.find("jvp_dual").function.samplers["f"]
    made = [
        operations_of(sampler.draw(None, Setting(turn + 3 * (turn > 1), "", {}), ()).source)
        for turn in range(sampler.turns)
    ]
    where = {part: tuple(part in each for each in made) for each in made for part in each}
    assert len(set(where.values())) == len(where)
    assert len(where) == 19


def test_an_unforeseen_wrong_rule_is_named_by_the_operation_that_uses_it(grade: Grade) -> None:
    source = """
import torch
class Odd:
    def __init__(self, z): self.z = z
    def __getattr__(self, name): return lambda: Odd(getattr(self.z, name)())
    def exp(self): return Odd(torch.complex(self.z.real.exp(), 2.5 * self.z.real.exp() * self.z.imag))
    def __neg__(self): return Odd(-self.z)
    def __getitem__(self, i): return Odd(self.z[i])
    def __pow__(self, n): return Odd(self.z**n)
def bare(o): return o.z if isinstance(o, Odd) else o
for name in "add sub mul truediv radd rsub rmul rtruediv".split():
    setattr(Odd, f"__{name}__", lambda a, b, name=name: Odd(getattr(torch.Tensor, f"__{name}__")(a.z, bare(b))))
def jvp_dual(f, x, v): return f(Odd(torch.complex(x, 1e-25 * v))).z.imag / 1e-25
"""
    (answer,) = grade("jvp_dual", source).answers
    assert (answer.code, answer.message) == ("wrong-local", "it is wrong when f uses `x.exp()`")
