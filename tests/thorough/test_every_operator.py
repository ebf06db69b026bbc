"""Every operator that there is, made in small forward passes: it can be said, and what is named is never untrue."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_trace import Program, forward_of, inputs_of, programs
from verdicts import problem_of, trials_of

from grader.authoring.audit_words import operators
from grader.diagnosis.candidates import SPECIFIC, Candidate, Problem
from grader.diagnosis.facts import Pair
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.search import Search
from grader.exercise import Exercise, Routine, returned, returned_jacobian, returned_value, stored
from grader.reference.compare import agrees
from grader.reference.references import make_trial
from grader.reference.trial import IMPOSSIBLE, Trial, Vague
from grader.results import VALUE_CODES
from grader.sampling import (
    accumulating,
    away_from,
    each_of,
    indices,
    mask,
    normal,
    number,
    output,
    positive,
    spaced,
    upstream,
)
from grader.trial_sizes import Setting
from grader.wording.words import finding, placeholders, words

X = normal("bs n")
G = {"out": output()}
mean, conv, F = torch.mean, torch.nn.functional.conv1d, torch.nn.functional


def of_x(forward: Any, x: Any = X, **more: Any) -> Exercise:
    return Exercise("", forward, {"x": x, **G, **more}, stored("x.g"))


def recurrent(x: Any, w: Any) -> Any:
    states = [torch.zeros_like(x[0])]
    for step in x:
        states.append((step + states[-1] @ w).tanh())
    return torch.stack(states[1:])


def attention(x: Any, w: Any) -> Any:
    scores = (x @ w) @ x.mT / 3
    return scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf).softmax(-1) @ x


def two_layers(x: Any, w: Any, b: Any, v: Any, c: Any, t: Any) -> Any:
    return (((x @ w + b).relu() @ v + c - t) ** 2).mean()


def rms_norm(x: Any, gain: Any) -> Any:
    return x * (x.pow(2).mean(-1, keepdim=True) + 0.1).rsqrt() * gain


def windows(x: Any, w: Any) -> Any:
    return w[0] * x[:, :-4] + w[1] * x[:, 2:-2] + w[2] * x[:, 4:]


def gates(x: Any, w: Any) -> Any:
    i, f, g, o = (x @ w).chunk(4, -1)
    return f.sigmoid() + i.sigmoid() * g.tanh() * o.sin()


def messages(x: Any, i: Any, j: Any) -> Any:
    return x.new_zeros(x.shape).index_add(0, j, x[i])


def moments(x: Any) -> Any:
    m, v = 0.4 * x[:, 0], 0.2 * x[:, 0] ** 2
    for t in range(1, 4):
        m = 0.6 * m + 0.4 * x[:, t]
        v = 0.8 * v + 0.2 * x[:, t] ** 2
    return m / (v + 0.1).sqrt()


def pendulum(x: Any, push: Any) -> Any:
    v, states = 0.1 * x, []
    for force in push:
        v = v + 0.1 * (force - x.sin())
        x = x + 0.1 * v
        states.append(x)
    return torch.stack(states)


def turned(x: Any) -> Any:
    places = torch.arange(x.shape[-1], dtype=x.dtype) / x.shape[-1] ** 0.5
    return places.cos() * x + places.sin() * x.tanh()


def group_norms(x: Any, gain: Any) -> Any:
    rows = rms_norm(x.reshape(len(x), 2, -1), 1.0)
    return rms_norm(rms_norm(rows, 1.0).reshape(x.shape) * gain[:, None], 1.0)


CLASSES = {"x": X, "t": indices("bs", "n")}
LAYERS = {"x": X, "w": normal("n h"), "b": normal("h"), "v": normal("h m"), "c": normal("m"), "t": normal("bs m")}
PASSES: dict[str, Exercise | Routine] = {
    "a layer": Exercise(
        "", lambda x, w, b: x @ w + b, {"x": X, "w": accumulating(normal("n m")), "b": normal("m"), **G},
        stored("x.g", "w.g", "b.g"),
    ),
    "one more axis": Exercise("", lambda x, w: x @ w, {"x": normal("bs t n"), "w": normal("n m"), **G}, stored("w.g")),
    "matrices": Exercise(
        "", lambda a, b: a @ b, {"a": normal("bs n k"), "b": normal("bs k m"), **G}, stored("a.g")
    ),
    "a loss of two terms": Exercise("", lambda x: (x * x.sin() + x**3).sum(), {"x": X}, returned("x")),
    "picked": Exercise("", lambda x, t: -x[range(len(t)), t].sum(), CLASSES, returned("x")),
    "two layers": Exercise("", two_layers, LAYERS, stored("x.g", "w.g", "b.g")),
    "functions": of_x(lambda x, q: (x.sigmoid() * x.tanh().exp() + q * x.erf()) / 2, q=number(0.1, 0.4)),
    "more functions": of_x(lambda x: x.sin() - 3 / x.sqrt() + x.log() * x.rsqrt() + x.square(), positive("bs n")),
    "smooth steps": of_x(lambda x: F.elu(x) * F.gelu(x)),
    "the input beside a layer": of_x(lambda x: x + (2 * x.sin()).tanh()),
    "a pendulum": of_x(pendulum, normal("n"), push=normal("t n")),
    "powers": of_x(lambda x: (2 - x) ** 3 + F.silu(x).abs() + x.cos()),
    "clamps": of_x(lambda x: x.clamp(-0.5, 1.0) * x.clamp_min(0), away_from((-0.5, 0.0, 1.0), "bs n")),
    "a broadcast": Exercise(
        "", lambda a, b: a * b, {"a": normal("bs 1 m | m | bs n m"), "b": normal("bs n m"), **G}, stored("a.g")
    ),
    "a copy": of_x(lambda x: x.expand(3, -1, -1)),
    "reductions": of_x(lambda x, dim: x.mean(dim) + x.sum(dim), normal("bs n m"), dim=each_of(1, -1, 0)),
    "the largest": of_x(lambda x, dim: x.max(dim).values, spaced("bs n m"), dim=each_of(1, -1, 0)),
    "running": of_x(lambda x: x.cumsum(1) + x.cumprod(1) + x.logcumsumexp(1)),
    "a gate": of_x(lambda x: x.sigmoid()),
    "shares": of_x(lambda x: x.softmax(-1)),
    "logarithms of shares": of_x(lambda x: x.log_softmax(-1)),
    "a log of a sum": of_x(lambda x: x.logsumexp(-1)),
    "classes": Exercise(
        "", lambda x, t: (x.logsumexp(-1) - x[range(len(t)), t]).mean(), CLASSES, returned("x")
    ),
    "rows": of_x(lambda x, i: x[i].permute(1, 0), i=indices("k", "bs")),
    "joined": Exercise("", lambda a, b: torch.cat((a, b), 0), {"a": X, "b": normal("m n"), **G}, stored("a.g")),
    "deviations": of_x(lambda x: ((x - x.mean(-1, keepdim=True)) ** 2).sum(-1)),
    "normalised": of_x(lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-2).sqrt()),
    "attention": of_x(attention, w=normal("n n")),
    "topk": of_x(lambda x: x.topk(2).values, spaced("bs n")),
    "a convolution": of_x(lambda x, k: conv(x, k, padding=1), normal("bs c l"), k=normal("o c 3")),
    "what windows share": Exercise(
        "", lambda x, k, b: conv(x, k, b), {"x": normal("bs c 9"), "k": normal("o c 3"), "b": normal("o"), **G},
        stored("k.g", "b.g"),
    ),
    "a loop's weights": Exercise("", recurrent, {"x": normal("t bs n"), "w": normal("n n"), **G}, stored("w.g")),
    "an RMS norm": of_x(rms_norm, gain=normal("n")),
    "windows": of_x(windows, normal("bs 9"), w=normal("3")),
    "gates": of_x(gates, w=normal("n 8")),
    "a wide convolution": of_x(lambda x, k: conv(x, k, dilation=2), normal("bs c 9"), k=normal("o c 3")),
    "running moments": of_x(moments, normal("bs 4")),
    "messages": of_x(messages, i=indices("k", "bs"), j=indices("k", "bs")),
    "a square matrix": Exercise("", lambda x, w: x @ w, {"x": X, "w": normal("n n"), **G}, stored("w.g")),
    "an inverse": Exercise(
        "", lambda x: (torch.eye(len(x)) + x).inverse(), {"x": normal("n n", scale=0.2), **G}, stored("x.g")
    ),
    "a determinant": Exercise(
        "", lambda x: (torch.eye(len(x)) + x).det(), {"x": normal("n n", scale=0.2), **G}, stored("x.g")
    ),
    "sorted": of_x(lambda x: x.sort(-1).values, spaced("bs n")),
    "a share of the kept": Exercise(
        "", lambda x, keep: (x * keep).sum(1, keepdim=True) / keep.sum(), {"x": X, "keep": mask("bs n"), **G},
        stored("x.g"),
    ),
    "a loop": of_x(recurrent, normal("t bs n"), w=normal("n n")),
    "the last state": of_x(lambda x, w: recurrent(x, w)[-1], normal("t bs n"), w=normal("n n")),
    "waves": of_x(lambda x: torch.cat((x.sin(), x.cos()), -1)),
    "a Jacobian": Exercise(
        "", lambda w, x: (w @ x).tanh(), {"w": normal("m n"), "x": normal("n")}, returned_jacobian("x")
    ),
    "a value": Exercise("", lambda x, b: ((x + b) ** 2).mean(), {"x": X, "b": normal("n")}, returned_value()),
    "squeezed": Exercise(
        "", lambda x, t: (x.squeeze(-1) - t).pow(2).mean(), {"x": normal("bs 1"), "t": normal("bs")}, returned("x")
    ),
    "turned": of_x(turned),
    "group norms": of_x(group_norms, normal("bs 4 l"), gain=normal("4")),
    "lengths": of_x(lambda x: x.norm(dim=-1)),
    "side by side": Exercise(
        "", lambda x, y, w: torch.cat((x, y), -1) @ w,
        {"x": X, "y": normal("bs m"), "w": normal("n+m k"), **G}, stored("w.g"),
    ),
    "two at once": Exercise("", lambda x: x * x.sin(), {"x": X, "out_g": upstream()}, returned("x")),
}  # fmt: skip
EVERY = [(name, i) for name, one in PASSES.items() for i in range(len(one.answers))]
QUICK = [(name, i) for name, i in EVERY if name not in ("attention", "a convolution")]


def candidates_of(problem: Problem) -> list[Candidate]:
    return [*problem.plain(), *problem.rarer()]


@cache
def every_fact() -> dict[str, list[Mapping[str, Any]]]:
    """The parameters that each operator's edits bring, in all these forward passes."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for name, i in EVERY:
        for candidate in candidates_of(problem_of(PASSES[name], i)):
            for fact in candidate.mistake().facts:
                found.setdefault(fact.operator, []).append(fact.parameters)
    return found


# --- words -------------------------------------------------------------------------------------------------------


def test_every_operator_has_words_and_a_known_code() -> None:
    assert {operator.name for operator in operators()} <= set(words()["says"])
    assert {operator.code for operator in operators()} <= set(VALUE_CODES)
    assert {operator.code for operator in operators()} <= set(SPECIFIC)


def test_the_codes_are_ranked_once_each() -> None:
    assert len(set(SPECIFIC)) == len(SPECIFIC)
    assert set(SPECIFIC) <= set(VALUE_CODES)


# No forward pass has them here: they need a difference quotient, or an exercise's own plain number.
ELSEWHERE = {
    "function-at-other-places", "own-step", "second-at-h", "h-added-to-value", "first-at-h", "step-multiplied",
    "heights-added", "sign-of-rise-lost", "divided-by-x-and-h",
    "only-first-divided", "change-of-slope", "step-never-set-back", "step-times-x", "weighted-twice", "function-itself",
}  # fmt: skip


def test_these_forward_passes_reach_every_operator() -> None:
    assert {operator.name for operator in operators()} - ELSEWHERE - set(every_fact()) == set()


def test_the_words_of_an_operator_speak_of_what_its_edits_bring() -> None:
    says, brought = words()["says"], every_fact()
    lacking = {
        name: placeholders(says[name]) - set(one)
        for name in {operator.name for operator in operators()} - ELSEWHERE
        for one in brought[name]
        if not placeholders(says[name]) <= set(one)
    }
    assert lacking == {}


@pytest.mark.parametrize(("name", "answer"), EVERY)
def test_every_edit_can_be_said(name: str, answer: int) -> None:
    for candidate in candidates_of(problem_of(PASSES[name], answer)):
        said = finding(candidate.mistake()).says
        assert said
        assert not set("{}") & set(said)
        assert "#" not in said
        assert "%" not in said.replace("`%`", "")
        assert "^`" not in said
        assert "<`" not in said


# --- numbers -----------------------------------------------------------------------------------------------------


Arrays = list[np.ndarray | None]


def computed(problem: Problem, candidate: Candidate, trials: list[Trial]) -> Arrays | None:
    """What a candidate gives in each trial, `None` where it cannot be told; `None` for all where it cannot be made."""
    found: Arrays = []
    for trial in trials:
        try:
            found.append(problem.compute(candidate, trial))
        except Vague:
            found.append(None)
        except IMPOSSIBLE:
            return None
    return found


def same(one: Arrays | None, other: Arrays, rights: list[np.ndarray]) -> bool:
    """The same arrays but for rounding, which is told by the size of the right ones."""
    return one is not None and all(
        a is None
        or b is None
        or (a.shape == b.shape and np.abs(a - b).max(initial=0) <= 1e-3 * largest(b) + 1e-5 * largest(r))
        for a, b, r in zip(one, other, rights, strict=True)
    )


def largest(array: np.ndarray) -> float:
    return float(np.abs(array).max(initial=0))


def untrue_names(exercise: Exercise | Routine, answer: int, trials: list[Trial], most: int) -> Iterator[str]:
    """Of so many edits, evenly chosen: those that get a name whose own numbers are not theirs."""
    problem = Problem(exercise, exercise.answers[answer], trials[0])
    every = candidates_of(problem)
    for candidate in every[:: max(len(every) // most, 1)]:
        arrays = computed(problem, candidate, trials)
        if arrays is None or not all(array is not None and np.isfinite(array).all() for array in arrays):
            continue
        if all(agrees(a, problem.end(t).right) for a, t in zip(arrays, trials, strict=True)):
            continue
        mistake = Search(problem, list(zip(trials, arrays, strict=True))).mistake()
        if not is_true(problem, mistake, trials, arrays):
            yield f"{[fact.record for fact in candidate.mistake().facts]} is called {finding(mistake).says}"


def is_true(problem: Problem, mistake: Mistake, trials: list[Trial], arrays: Arrays) -> bool:
    """The edits that are named, if it is edits, compute these arrays."""
    named = [one for one in candidates_of(problem) if one.mistake() == mistake]
    if not named:
        known = {operator.name for operator in operators()}
        return (
            len(mistake.facts) > 1
            or mistake.facts[0].operator not in known
            or bool(mistake.facts[0].parameters.get("path"))
        )
    rights = [problem.end(trial).right for trial in trials]
    return any(same(computed(problem, one, trials), arrays, rights) for one in named)


@pytest.mark.parametrize(("name", "answer"), QUICK[::3])
def test_what_is_named_gives_the_learners_numbers(name: str, answer: int) -> None:
    trials = [t for t in trials_of(PASSES[name]) if t.expected[PASSES[name].answers[answer].name] is not None]
    assert list(untrue_names(PASSES[name], answer, trials, most=2)) == []


@pytest.mark.parametrize(("name", "answer"), QUICK[1::2])
def test_nothing_explains_the_right_answer(name: str, answer: int) -> None:
    """Neither the reference itself nor an answer that only rounding tells from it."""
    assert explaining_the_right_answer(name, answer, every=11) == []


def explaining_the_right_answer(name: str, answer: int, every: int) -> list[Any]:
    problem = problem_of(PASSES[name], answer)
    trials = [t for t in trials_of(PASSES[name]) if t.expected[problem.answer.name] is not None]
    found = []
    for blur in (0.0, 5e-5):
        right: list[Pair] = [(trial, problem.end(trial).right * (1 + blur)) for trial in trials]
        found += [one.mistake() for one in candidates_of(problem)[::every] if Search(problem, right).explains(one)]
    return found


# --- any forward pass --------------------------------------------------------------------------------------------


def small_exercise(program: Program, with_upstream: bool) -> Exercise:
    """An exercise about those of x (2, 3), w (3, 4) and b (4,) that a program's output depends on."""
    forward, leaves = forward_of(program), {name: value.requires_grad_() for name, value in inputs_of(0).items()}
    found = torch.autograd.grad(forward(**leaves).sum(), list(leaves.values()), allow_unused=True)
    used = [f"{name}.g" for name, gradient in zip(leaves, found, strict=True) if gradient is not None]
    marker = {"out": output()} if with_upstream else {}
    inputs = {"x": normal("n m"), "w": normal("m k"), "b": normal("k"), **marker}
    return Exercise("a random forward pass", forward, inputs, stored(*used))


def small_trials(exercise: Exercise, seed: int) -> list[Trial]:
    rng = np.random.default_rng(seed)
    sizes = ({"n": 2, "m": 3, "k": 4}, {"n": 4, "m": 2, "k": 3})
    return [make_trial(exercise, Setting(i + 1, "a test", size), rng) for i, size in enumerate(sizes)]


@settings(max_examples=15, deadline=None)
@given(programs, st.booleans(), st.integers(0, 2**31))
@example([("stack", 0, 0), ("mean of columns", 3, 0), ("add", 0, 1)], False, 0)  # other steps at other sizes
def test_every_edit_of_any_forward_pass_is_an_array_or_impossible(program: Program, given: bool, seed: int) -> None:
    """A known code, a sentence, and an array or one of the errors that say it cannot be."""
    exercise = small_exercise(program, given)
    trials = small_trials(exercise, seed)
    for answer in exercise.answers:
        problem = Problem(exercise, answer, trials[0])
        for candidate in itertools.islice(candidates_of(problem), 0, None, 7):
            assert candidate.code in VALUE_CODES
            assert finding(candidate.mistake()).says
            for trial in trials:
                arrays = computed(problem, candidate, [trial])
                assert arrays is None or arrays[0] is None or isinstance(arrays[0], (np.ndarray, np.floating))
