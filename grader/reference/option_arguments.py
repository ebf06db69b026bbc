"""Option arguments of a trial: their values, and for which of them an answer is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.course.exercise import Answer

from .trial import Trial


def options(trial: Trial) -> dict[str, Any]:
    """The arguments that are whole numbers, yes or no, or tuples of these."""
    return {name: value for name, value in trial.arguments.items() if type(value) in (int, bool, tuple)}


def describe_options(trial: Trial) -> str:
    """The options in words: `dim is 1 and keepdim is False`, `needs is {'w'}`; empty where there are none."""
    chosen = options(trial) | requested(trial)
    return " and ".join(f"{name} is {value}" for name, value in chosen.items())


def requested(trial: Trial) -> dict[str, str]:
    """The argument that asks for some gradients only, as Python writes it, in the order of the arguments."""
    sets = {name: value for name, value in trial.arguments.items() if isinstance(value, frozenset)}
    return {
        name: f"{{{', '.join(repr(each) for each in trial.arguments if each in value)}}}"
        for name, value in sets.items()
    }


def right_where(answer: Answer, right: Sequence[Trial], wrong: Sequence[Trial]) -> str:
    """What tells the options of right trials from those of wrong ones: `k is 3`; empty if nothing does."""
    for name in options(right[0]):
        if all(options(trial)[name] == _shape(answer, trial) for trial in (*right, *wrong)):
            continue  # the shape of the answer is another one in every trial
        values = [{options(trial)[name] for trial in trials} for trials in (right, wrong)]
        if clause := _distinguishing_options(*values):
            return f"{name} is {clause}"
    return ""


def _shape(answer: Answer, trial: Trial) -> tuple[int, ...]:
    expected = trial.expected[answer.name]
    return () if expected is None else expected.shape


def _distinguishing_options(right: set[Any], wrong: set[Any]) -> str:
    if right & wrong:
        return ""
    if len(right) == 1:
        return str(*right)
    if len(wrong) == 1:
        return f"not {wrong.pop()}"
    if any(type(value) is not int for value in right | wrong):
        return ""
    return "not negative" if min(right) >= 0 > max(wrong) else "negative" if min(wrong) >= 0 > max(right) else ""
