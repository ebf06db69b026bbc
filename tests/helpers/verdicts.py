"""What is said of a wrong answer: from the rule that computes it to the mistake and its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from grader.course.exercise import Answer, Declaration
from grader.diagnosis.diagnose import find_mistakes
from grader.diagnosis.mistake import Mistake
from grader.reference.trial import Sample, Trial, sample_of
from grader.reference.trials import make_trials

Rule = Callable[[dict[str, Any]], Any]
TRIALS: dict[tuple[int, int], tuple[Declaration, list[Trial]]] = {}  # trials remember what was computed for them


def trials_of(exercise: Declaration, seed: int = 5) -> list[Trial]:
    """Return the trials of one run, made once."""
    key = (id(exercise), seed)
    if key not in TRIALS:
        TRIALS[key] = (exercise, make_trials(exercise, np.random.default_rng(seed)))
    return TRIALS[key][1]


def samples_of(exercise: Declaration, rule: Rule, answer: Answer, seed: int = 5) -> list[Sample]:
    """Return a sample in each trial: the array that a rule computes there in single precision from what is known.

    That is its inputs, `out`, `out_g`, the `right` answers by name, that one itself, and what was stored `before`.
    """
    samples = []
    for trial in trials_of(exercise, seed):
        known = {**trial.inputs, **trial.expected, "out": trial.out, "out_g": trial.out_g}
        known |= {"right": trial.expected[answer.name], "before": trial.prior(answer)}
        array = np.asarray(rule(known)).astype("float32").astype("float64")
        samples.append(sample_of(answer, trial, array))
    return samples


def verdicts(
    exercise: Declaration, rules: Mapping[str, Rule], seed: int = 5, right: Iterable[str] = ()
) -> dict[str, Mistake]:
    """Return the verdicts on several wrong answers of a function, each computed by a rule: answer -> verdict.

    The answers `right` are known to be right.
    """
    answers = {answer.name: answer for answer in exercise.answers}
    wrong = {name: samples_of(exercise, rule, answers[name], seed) for name, rule in rules.items()}
    for samples in wrong.values():
        assert not all(sample.agrees for sample in samples), "it is right"
    return find_mistakes(exercise, wrong, right)


def verdict(exercise: Declaration, rule: Rule, answer: Answer | str | None = None, seed: int = 5) -> Mistake:
    """Return the verdict on one wrong answer; on the first of the exercise if no name is given."""
    name = answer if isinstance(answer, str) else (answer or exercise.answers[0]).name
    return verdicts(exercise, {name: rule}, seed)[name]


def named(exercise: Declaration, rule: Rule, answer: Answer | str | None = None) -> str:
    """Code and operators of the mistake that a wrong answer is, as in `wrong-local: value-for-derivative`."""
    said = verdict(exercise, rule, answer)
    return f"{said.code}: {' + '.join(fact.operator for fact in said.facts)}"


def told(said: Mistake) -> Mapping[str, Any]:
    """Return the fields of a verdict's message."""
    return said.facts[0].parameters


def unmended(*case: object, reason: str) -> ParameterSet:
    """Return a case that the diagnosis does not name as it should, with the reason."""
    return pytest.param(*case, marks=pytest.mark.xfail(strict=True, reason=reason))


def assert_named(exercise: Declaration, rule: Rule, name: str, answer: Answer | str | None = None) -> None:
    """Assert the code of a wrong answer, and a part of what is said of it: `name` is `code`, or `code: part`."""
    said = verdict(exercise, rule, answer)
    code, _, part = name.partition(": ")
    assert (said.code, part in said.says) == (code, True), f"{said.code}: {said.says}"
