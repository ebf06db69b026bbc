"""Mistakes derived from the forward graph: each is computed, each is told apart, and a right answer is never one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_trace import Program, forward_of, inputs_of, programs

from grader.diagnosis import graph_faults, relations
from grader.diagnosis.diagnose import Diagnosis, diagnose, ranked
from grader.diagnosis.relations import MATCH
from grader.exercise import Answer, Exercise, returned, returned_jacobian, stored
from grader.reference.compare import agrees
from grader.reference.references import make_trial, make_trials
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial
from grader.results import VALUE_CODES
from grader.sampling import accumulating, normal, output, upstream
from grader.trial_sizes import Setting

Rule = Callable[[dict[str, Any]], torch.Tensor]
MAX_CANDIDATES = 250
TRIALS: dict[tuple[int, int], tuple[Exercise, list[Trial]]] = {}  # trials remember what was computed for them


def every_candidate(exercise: Exercise, answer: Answer, trial: Trial) -> list[Candidate]:
    return ranked([*graph_faults.candidates(exercise, answer, trial), *relations.candidates(answer, trial)])


def verdict(exercise: Exercise, rule: Rule, answer: Answer | None = None, seed: int = 5) -> Diagnosis:
    """What is said of an answer computed by `rule` from the inputs, `out` and `out_g` of each trial."""
    answer = answer or exercise.answers[0]
    key = (id(exercise), seed)
    if key not in TRIALS:
        TRIALS[key] = (exercise, make_trials(exercise, np.random.default_rng(seed)))
    _, trials = TRIALS[key]
    pairs = [
        (t, rule({**t.inputs, "out": t.out, "out_g": t.out_g}).numpy().astype("float32").astype("float64"))
        for t in trials
    ]
    assert any(not agrees(array, t.expected[answer.name]) for t, array in pairs), "this answer is right"  # type: ignore[arg-type]
    return diagnose(
        answer, pairs, every_candidate(exercise, answer, trials[0]), averages=graph_faults.averages(exercise, trials[0])
    )


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


def reference(answer: Answer, trial: Trial) -> np.ndarray:
    expected = trial.expected[answer.name]
    assert expected is not None
    return expected


@settings(max_examples=40, deadline=None)
@given(programs, st.booleans(), st.integers(0, 2**31))
@example([("stack", 0, 0), ("mean of columns", 3, 0), ("add", 0, 1)], False, 0)  # other steps at other sizes
def test_every_candidate_is_an_array_or_impossible(program: Program, with_upstream: bool, seed: int) -> None:
    """Of any forward pass: a known code, a sentence, and an array or one of the errors that say it cannot be."""
    exercise = small_exercise(program, with_upstream)
    trials = small_trials(exercise, seed)
    for answer in exercise.answers:
        for candidate in every_candidate(exercise, answer, trials[0])[:MAX_CANDIDATES]:
            assert candidate.code in VALUE_CODES
            assert candidate.says
            for trial in trials:
                computed = _computed(candidate, [trial])
                assert computed is None or isinstance(computed[0], (np.ndarray, np.floating))


@settings(max_examples=40, deadline=None)
@given(programs, st.booleans(), st.integers(0, 2**31))
def test_a_candidate_that_is_the_reference_is_never_reported(program: Program, with_upstream: bool, seed: int) -> None:
    """Neither for the reference itself nor for an answer that only rounding tells from it."""
    exercise = small_exercise(program, with_upstream)
    trials = small_trials(exercise, seed)
    for answer in exercise.answers:
        equal = [
            candidate
            for candidate in every_candidate(exercise, answer, trials[0])[:MAX_CANDIDATES]
            if all(_is_reference(candidate, answer, trial) for trial in trials)
        ]
        for blur in (0.0, MATCH / 2):
            pairs = [(trial, reference(answer, trial) * (1 + blur)) for trial in trials]
            assert diagnose(answer, pairs, equal).says not in {candidate.says for candidate in equal}


def _is_reference(candidate: Candidate, answer: Answer, trial: Trial) -> bool:
    try:
        return agrees(candidate.compute(trial), reference(answer, trial))
    except IMPOSSIBLE:
        return False


@settings(max_examples=25, deadline=None)
@given(programs, st.integers(0, 2**31))
def test_the_named_mistake_gives_the_learners_numbers(program: Program, seed: int) -> None:
    """Whatever candidate a learner's numbers are, the one that is reported computes the same numbers."""
    exercise = small_exercise(program, True)
    trials = small_trials(exercise, seed)
    answer = exercise.answers[0]
    candidates = every_candidate(exercise, answer, trials[0])[:MAX_CANDIDATES]
    computed = [_computed(candidate, trials) for candidate in candidates]
    for arrays in computed[:: max(1, len(computed) // 10)]:
        if arrays is None or not all(np.isfinite(array).all() for array in arrays):
            continue
        if all(agrees(array, reference(answer, trial)) for array, trial in zip(arrays, trials, strict=True)):
            continue
        said = diagnose(answer, list(zip(trials, arrays, strict=True)), candidates)
        makers = [found for candidate, found in zip(candidates, computed, strict=True) if candidate.says == said.says]
        assert not makers or any(_same(found, arrays) for found in makers)


def _computed(candidate: Candidate, trials: Sequence[Trial]) -> list[np.ndarray] | None:
    try:
        return [candidate.compute(trial) for trial in trials]
    except IMPOSSIBLE:
        return None


def _same(found: list[np.ndarray] | None, arrays: list[np.ndarray]) -> bool:
    return found is not None and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-3 * max(1.0, float(np.abs(b).max(initial=0))))
        for a, b in zip(found, arrays, strict=True)
    )


CHAIN = Exercise("mean(3 (x + 2)^2)", lambda x: (3 * (x + 2) ** 2).mean(), {"x": normal("n m")}, returned("x"))


@pytest.mark.parametrize(
    ("rule", "code", "names"),
    [
        (lambda v: 6 * (v["x"] + 2), "sum-for-mean", "`mean`"),
        (lambda v: 2 * (v["x"] + 2) / v["x"].numel(), "missing-local", "`* 3`"),
        (lambda v: 3 * (v["x"] + 2) / v["x"].numel(), "missing-local", "the 2 that the power"),
        (lambda v: 0 * v["x"] + 3 / v["x"].numel(), "missing-local", "`** 2`"),
        (lambda v: 6 * v["x"] / v["x"].numel(), "wrong-point", "`** 2`"),
        (lambda v: -6 * (v["x"] + 2) / v["x"].numel(), "wrong-sign", "sign"),
        (lambda v: 3 * (v["x"] + 2) ** 2, "forward-value", "`* 3`"),
    ],
)
def test_each_dropped_step_of_a_chain_is_told_apart(rule: Rule, code: str, names: str) -> None:
    """The design's own example: a dropped mean, factor and power, each named by its operation."""
    said = verdict(CHAIN, rule)
    assert said.code == code
    assert names in said.says


LINEAR = Exercise(
    "inp @ w + b",
    lambda inp, w, b: inp @ w + b,
    {"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    stored("inp.g", "w.g", "b.g"),
)


@pytest.mark.parametrize(
    ("name", "rule", "code"),
    [
        ("inp.g", lambda v: torch.ones_like(v["out_g"]) @ v["w"].T, "missing-upstream"),
        ("inp.g", lambda v: v["out"] @ v["w"].T, "value-for-gradient"),
        ("inp.g", lambda v: v["out_g"] @ v["w"].reshape(v["w"].T.shape), "reshape-for-transpose"),
        ("inp.g", lambda v: v["out_g"] @ torch.linalg.pinv(v["w"]), "inverse-for-transpose"),
        ("w.g", lambda v: v["out_g"].T @ v["inp"], "transposed"),
        ("w.g", lambda v: v["inp"].T @ v["out_g"] / len(v["inp"]), "mean-for-sum"),
        ("w.g", lambda v: torch.outer(v["inp"].sum(0), v["out_g"].sum(0)), "sum-of-products"),
        ("w.g", lambda v: torch.outer(v["inp"].mean(0), v["out_g"].sum(0)), "sum-of-products"),
        ("w.g", lambda v: torch.outer(v["inp"][0], v["out_g"][0]), "partial-batch"),
        ("w.g", lambda v: v["inp"].unsqueeze(-1) * v["out_g"].unsqueeze(1), "missing-batch-sum"),
        ("w.g", lambda v: v["w"], "forward-value"),
        ("b.g", lambda v: v["out_g"].sum(1), "summed-wrong-axis"),
        ("b.g", lambda v: v["out_g"], "missing-batch-sum"),
        ("b.g", lambda v: v["out_g"].mean(0), "mean-for-sum"),
        ("b.g", lambda v: v["out"].sum(0), "value-for-gradient"),
        ("b.g", lambda v: v["out_g"][0], "partial-batch"),
        ("b.g", lambda v: v["out_g"].amax(0), "partial-batch"),
        ("b.g", lambda v: -v["out_g"].sum(0), "wrong-sign"),
    ],
)
def test_each_slip_in_a_linear_layer_has_its_code(name: str, rule: Rule, code: str) -> None:
    answer = next(answer for answer in LINEAR.answers if answer.name == name)
    assert verdict(LINEAR, rule, answer).code == code


def test_rows_that_do_not_belong_together_are_named() -> None:
    """Both factors are flattened to one axis of rows, one of them in another order."""
    inputs = {"x": normal("bs t n"), "w": normal("n m"), "out": output()}
    exercise = Exercise("one more axis", lambda x, w: x @ w, inputs, stored("w.g"))

    def rule(v: dict[str, Any], *, turned: str) -> torch.Tensor:
        rows = {name: v[name].transpose(0, 1) if name == turned else v[name] for name in ("x", "out_g")}
        return rows["x"].flatten(0, 1).T @ rows["out_g"].flatten(0, 1)

    for turned in ("x", "out_g"):
        said = verdict(exercise, partial(rule, turned=turned))
        assert said.code == "reshape-for-transpose"
        assert "in another order" in said.says


CUBE = Exercise("sum((x + 2)^3)", lambda x: ((x + 2) ** 3).sum(), {"x": normal("n m")}, returned("x"))


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda v: (v["x"] + 2) ** 2, "the 3 that the power brings down is left out"),
        (lambda v: 3 * (v["x"] + 2) ** 3, "the exponent is not lowered"),
        (lambda v: 3 * (v["x"] + 2), "the exponent is lowered twice"),
        (lambda v: 2 * (v["x"] + 2) ** 2, "the new exponent came down, not the old"),
        (lambda v: 3 * v["x"] ** 2, "the derivative of `** 3` is taken at x instead of the result of `+ 2`"),
    ],
)
def test_each_slip_in_a_power_is_told_apart(rule: Rule, says: str) -> None:
    assert verdict(CUBE, rule).says == says


TWICE = Exercise("x * sin(x)", lambda x: x * x.sin(), {"x": normal("n m"), "out_g": upstream()}, returned("x"))


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (lambda v: v["out_g"] * v["x"].sin(), "missing-path"),
        (lambda v: v["out_g"] * v["x"] * v["x"].cos(), "missing-path"),
        (lambda v: v["out_g"] * v["x"].cos(), "wrong-local"),
        (lambda v: v["x"].sin() + v["x"] * v["x"].cos(), "missing-upstream"),
        (lambda v: v["x"].sin() + v["out_g"] * v["x"] * v["x"].cos(), "missing-upstream"),
    ],
)
def test_a_variable_used_twice_needs_both_paths(rule: Rule, code: str) -> None:
    assert verdict(TWICE, rule).code == code


MASKS: dict[str, Callable[..., Any]] = {
    "clamp": lambda x: x.clamp_min(0),
    "relu": lambda x: torch.relu(x),
    "product with a mask": lambda x: x * (x > 0),
    "mask first": lambda x: (x > 0) * x,
    "where": lambda x: torch.where(x > 0, x, 0 * x),
    "masked fill": lambda x: x.masked_fill(x < 0, 0.0),
    "float mask": lambda x: x * (x > 0).double(),
    "maximum": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "detached mask": lambda x: x * (x > 0).double().detach(),
    "functional": lambda x: torch.nn.functional.relu(x),
    "in place": lambda x: x.clone().clamp_(min=0),
}


@pytest.mark.parametrize("spelling", MASKS)
def test_a_relu_is_understood_however_its_forward_pass_is_written(spelling: str) -> None:
    """An author may write a mask as they like: a left out upstream gradient is still named."""
    exercise = Exercise("relu", MASKS[spelling], {"x": normal("bs n"), "out": output()}, stored("x.g"))
    assert verdict(exercise, lambda v: (v["x"] > 0).double()).code == "missing-upstream"


LAYERS: dict[str, Callable[..., Any]] = {
    "operators": lambda inp, w, b: inp @ w + b,
    "addmm": lambda inp, w, b: torch.addmm(b, inp, w),
    "linear": lambda inp, w, b: torch.nn.functional.linear(inp, w.t(), b),
    "einsum": lambda inp, w, b: torch.einsum("ij,jk->ik", inp, w) + b,
    "keyword": lambda inp, w, b: torch.matmul(inp, other=w) + b,
    "in place": lambda inp, w, b: (inp @ w).add_(b),
    "rows": lambda inp, w, b: torch.stack([row @ w + b for row in inp]),
    "one matrix": lambda inp, w, b: torch.cat([inp, torch.ones_like(inp[:, :1])], 1) @ torch.cat([w, b[None]]),
}


@pytest.mark.parametrize("spelling", LAYERS)
def test_a_layer_is_understood_however_its_forward_pass_is_written(spelling: str) -> None:
    """An averaged weight gradient is named, by the graph or by the ratio."""
    exercise = Exercise(LINEAR.title, LAYERS[spelling], LINEAR.inputs, LINEAR.answers)
    said = verdict(exercise, lambda v: v["inp"].T @ v["out_g"] / len(v["inp"]), LINEAR.answers[1])
    assert said.code == "mean-for-sum"


def test_a_jacobian_has_candidates_too() -> None:
    exercise = Exercise("w x", lambda w, x: w @ x, {"w": normal("m n"), "x": normal("n")}, returned_jacobian("x"))
    assert verdict(exercise, lambda v: v["w"].T).code == "transposed"


def test_a_mistake_on_top_of_an_earlier_gradient_is_still_named() -> None:
    """With a `.g` that was there before, a candidate is what the mistake adds to it."""
    exercise = Exercise(
        "b + x",
        lambda x, b: x + b,
        {"x": normal("bs n"), "out": output(), "b": accumulating(normal("n"))},
        stored("b.g"),
    )
    trials = make_trials(exercise, np.random.default_rng(3))
    answer = exercise.answers[0]
    pairs = []
    for trial in trials:
        prior = trial.arguments["b"].g
        added = trial.out_g.mean(0).numpy()  # type: ignore[union-attr]
        pairs.append((trial, added if prior is None else added + prior))
    assert diagnose(answer, pairs, every_candidate(exercise, answer, trials[0])).code == "mean-for-sum"


def test_an_answer_that_is_a_value_has_the_slips_of_the_way_forward_alone() -> None:
    inputs = {"x": normal("n"), "b": normal("n")}
    exercise = Exercise("x", lambda x, b: ((x + b) ** 2).mean(), inputs, (Answer("return", "", "value"),))
    trials, answer = make_trials(exercise, np.random.default_rng(0)), exercise.answers[0]
    forgotten = [(trial, np.asarray((trial.inputs["x"] ** 2).mean())) for trial in trials]
    said = diagnose(answer, forgotten, every_candidate(exercise, answer, trials[0]))
    assert said.code == "wrong-point"
    assert "b is left out" in said.says
    zeros = [(trial, np.zeros(())) for trial in trials]
    assert diagnose(answer, zeros, every_candidate(exercise, answer, trials[0])).code in {"unknown", "hard-coded"}


@pytest.mark.parametrize(
    ("forward", "averages"),
    [(lambda x: x.mean(), True), (lambda x: x.sum(), False), (lambda x: (x.sum(0) * 2).mean(), True)],
)
def test_a_forward_pass_that_averages_is_known(forward: Callable[..., Any], averages: bool) -> None:
    exercise = Exercise("", forward, {"x": normal("n m")}, returned("x"))
    assert graph_faults.averages(exercise, make_trials(exercise, np.random.default_rng(0))[0]) is averages
