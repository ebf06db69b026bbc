"""The references: torch autograd, finite differences and torch's own gradcheck agree."""

from __future__ import annotations

import dataclasses
import itertools
import weakref
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from helpers.courses import ROOT, SEED

from grader.course.course import Course, load_course
from grader.course.exercise import Exercise, Routine, in_steps, returned, returned_jacobian, stored
from grader.course.sampling import (
    Setting,
    accumulating,
    away_from,
    normal,
    output,
    positive,
    sized,
    step,
    uniform,
    upstream,
    wanted,
)
from grader.course.trial_sizes import EXACT_KIND
from grader.errors import SpecError
from grader.judging.grading import Grader
from grader.reference import finite_differences
from grader.reference.compare import scaled_error
from grader.reference.references import (
    agrees_with_finite_differences,
    autograd_answer,
    gradcheck,
    loss_of,
    right_in_single_precision,
)
from grader.reference.trial import Trial
from grader.reference.trials import TrialsOfRun, confirm, first_trial, make_trial, make_trials

COURSE = load_course(ROOT)
EXERCISES = [e.id for e in COURSE.exercises if isinstance(e.declaration, Exercise)]
ROUTINES = [e.id for e in COURSE.exercises if isinstance(e.declaration, Routine)]


@pytest.fixture(params=EXERCISES[::16])
def exercise_id(request: pytest.FixtureRequest) -> str:
    """One exercise of many; `thorough/test_every_reference.py` has all of them."""
    return request.param


def trials_of(course: Course, exercise_id: str, seed: int) -> tuple[Any, list[Trial]]:
    declaration = course.find(exercise_id).declaration
    return declaration, make_trials(declaration, np.random.default_rng(seed))


def test_references_agree_with_finite_differences_and_gradcheck(exercise_id: str, course: Course) -> None:
    """Check the smallest trial, which is not the one that the grader itself confirms."""
    declaration, trials = trials_of(course, exercise_id, 0)
    assert_confirmed(declaration, min(trials[1:], key=lambda trial: trial.out.numel()))


def assert_confirmed(declaration: Exercise, trial: Trial) -> None:
    """Check a trial's right answers by finite differences and torch's own gradcheck."""
    assert agrees_with_finite_differences(declaration, trial)
    assert gradcheck(declaration, trial)


def test_expected_gradients_are_those_of_the_loss(exercise_id: str, course: Course) -> None:
    """Compare with central differences of `(out * out_g).sum()`, entry by entry, computed here."""
    declaration, trials = trials_of(course, exercise_id, 11)
    for trial in trials[:2]:
        for answer in declaration.answers:
            expected = trial.expected[answer.name]
            if answer.kind != "gradient" or expected is None:
                continue
            prior = trial.arguments[answer.wrt].g if answer.stored else None
            values = trial.inputs[answer.wrt].numpy()
            measured = finite_differences.gradient(
                lambda v, t=trial, a=answer: loss_of(declaration, t, a.wrt, v), values
            )
            np.testing.assert_allclose(expected - (0 if prior is None else prior), measured, rtol=1e-5, atol=1e-6)


def test_references_are_double_and_shaped_like_their_owner(exercise_id: str, course: Course) -> None:
    declaration, trials = trials_of(course, exercise_id, 1)
    for trial in trials:
        for answer in declaration.answers:
            expected = trial.expected[answer.name]
            if expected is None or answer.kind == "value":
                continue
            owner = tuple(trial.inputs[answer.wrt].shape)
            assert expected.shape == (owner if answer.kind == "gradient" else (*trial.out.shape, *owner))  # type: ignore[union-attr]
            assert expected.dtype == np.float64
            assert np.isfinite(expected).all()


def test_upstream_gradients_are_random_never_ones(exercise_id: str, course: Course) -> None:
    declaration, trials = trials_of(course, exercise_id, 2)
    if declaration.gives_upstream:
        for trial in trials:
            if trial.setting.kind == EXACT_KIND:  # which has exact zeros and repeated entries
                assert not torch.all(trial.out_g == 1)
                continue
            assert not torch.any(trial.out_g == 1)
            assert trial.out_g.unique().numel() == trial.out_g.numel()  # type: ignore[union-attr]
    else:
        assert all(torch.all(trial.out_g == 1) for trial in trials)


def exact_trial_of(forward: Any, inputs: Any, answers: Any) -> Trial:
    (found,) = (trial for trial in make(forward, inputs, answers) if trial.setting.kind == EXACT_KIND)
    return found


def test_one_trial_has_exact_zeros_in_inputs_and_upstream_gradient() -> None:
    trial = exact_trial_of(lambda a, b: a * b, {"a": normal("n m"), "b": normal("n m"), "out": output()}, stored("a.g"))
    for array in (*trial.inputs.values(), trial.out_g):
        assert (array == 0).any()
        assert array.unique().numel() < array.numel()


def test_an_exact_zero_is_drawn_only_where_the_right_answer_is_defined() -> None:
    """The divisor has no zeros, and the dividend has."""
    inputs = {"a": normal("n m"), "b": away_from(0.0, "n m"), "out": output()}
    trial = exact_trial_of(lambda a, b: a / b, inputs, stored("a.g", "b.g"))
    assert (trial.inputs["a"] == 0).any()
    assert (trial.inputs["b"] != 0).all()


def test_exact_zeros_leave_a_gradient_that_is_not_0_everywhere() -> None:
    """With most of the weights 0, few paths are left, and a relu may block them all."""
    inputs = {"x": normal("bs n"), "w": normal("n 2"), "v": normal("2 1"), "out": output()}
    exercise = Exercise("a test", lambda x, w, v: (x @ w).clamp_min(0) @ v, inputs, stored("x.g"))
    for seed in range(20):
        (exact,) = (t for t in make_trials(exercise, np.random.default_rng(seed)) if t.setting.kind == EXACT_KIND)
        assert exact.expected["x.g"].any(), f"seed {seed}"  # type: ignore[union-attr]


def test_for_a_root_only_the_upstream_gradient_has_exact_zeros() -> None:
    inputs = {"x": uniform("n m", 0.0, 2.0), "out": output()}
    trial = exact_trial_of(lambda x: x.sqrt(), inputs, stored("x.g"))
    assert (trial.inputs["x"] != 0).all()
    assert (trial.out_g == 0).any()  # type: ignore[union-attr]


@pytest.mark.parametrize("exercise_id", ROUTINES, indirect=True)
def test_a_routines_reference_is_finite_and_changes_with_its_inputs(exercise_id: str, course: Course) -> None:
    _, trials = trials_of(course, exercise_id, 3)
    assert expected_of(trials) == expected_of(trials_of(course, exercise_id, 3)[1]), "a seed gives the same trials"
    found = [next(iter(trial.expected.values())) for trial in trials]
    assert all(value is not None and np.isfinite(value).all() for value in found)
    assert len({value.tobytes() for value in found if value is not None}) > 1


def test_forward_differences_are_nearer_to_the_slope_with_a_smaller_step(course: Course) -> None:
    """`slope` and `central_difference` against the exact derivative of the cube."""
    forward, central = (course.find(name).declaration.reference for name in ("slope", "central_difference"))
    errors = [abs(forward(lambda x: x**3, 1.0, h) - 3) for h in (0.1, 0.01)]
    assert errors[1] < errors[0] / 5
    assert abs(central(lambda x: x**3, 1.0, 0.1) - 3) == pytest.approx(0.01)


def test_numerical_gradients_are_torchs_own_for_a_small_step(course: Course) -> None:
    x = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    v = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    grad, vjp = (course.find(name).declaration.reference for name in ("numerical_grad", "numerical_vjp"))
    torch.testing.assert_close(grad(lambda x: (x**3).sum(), x, 1e-5), 3 * x**2, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(vjp(lambda x: x**3, x, v, 1e-5), 3 * x**2 * v, rtol=1e-6, atol=1e-8)


def test_the_same_seed_gives_the_same_trials(exercise_id: str, course: Course) -> None:
    (_, first), (_, second) = (trials_of(course, exercise_id, 9) for _ in range(2))
    assert expected_of(first) == expected_of(second)


def expected_of(trials: list[Trial]) -> list[object]:
    """Return the setting of each trial and the bytes of its right arrays."""
    return [
        (trial.setting, {name: None if value is None else value.tobytes() for name, value in trial.expected.items()})
        for trial in trials
    ]


def make(forward: Any, inputs: dict[str, Any], answers: Any, **more: Any) -> list[Trial]:
    return make_trials(Exercise("a test", forward, inputs, answers, **more), np.random.default_rng(0))


def test_a_prior_gradient_is_part_of_the_right_answer() -> None:
    trials = make(lambda x: x * 2, {"x": accumulating(normal("n")), "out": output()}, stored("x.g"))
    first, second = trials[:2]
    np.testing.assert_allclose(first.expected["x.g"], 2 * first.out_g.numpy() + first.arguments["x"].g)  # type: ignore[union-attr]
    np.testing.assert_allclose(second.expected["x.g"], 2 * second.out_g.numpy())  # type: ignore[union-attr]


def test_some_trial_has_the_least_and_some_the_largest_size_that_an_axis_may_have() -> None:
    """Also where axes compete for them, as all sizes of a trial differ where they can."""
    sizes = {"bs": (2, 3, 4), "c": (2, 3, 4, 5), "k": (2, 3, 4)}
    inputs = {"x": sized(normal("bs c"), bs=sizes["bs"], c=sizes["c"]), "w": sized(normal("c k"), k=sizes["k"])}
    exercise = Exercise("a test", lambda x, w: x @ w, {**inputs, "out": output()}, stored("x.g"))
    for seed in range(30):
        trials = make_trials(exercise, np.random.default_rng(seed))
        usual = [trial.setting.sizes for trial in trials if trial.setting.kind != EXACT_KIND]
        for axis, allowed in sizes.items():
            assert {min(allowed), max(allowed)} <= {own[axis] for own in usual}, f"{axis}, seed {seed}"


def test_some_trial_has_only_one_of_two_prior_gradients() -> None:
    """So code that looks at one argument to know whether all have a gradient is wrong in some trial."""
    inputs = {name: accumulating(normal(spec)) for name, spec in (("x", "bs n"), ("w", "n m"), ("b", "m"))}
    trials = make(lambda x, w, b: x @ w + b, {**inputs, "out": output()}, stored("x.g", "w.g", "b.g"))
    carrying = [{name for name in inputs if trial.arguments[name].g is not None} for trial in trials]
    assert carrying[:2] == [set(inputs), set()]
    for one, other in itertools.permutations(inputs, 2):
        assert any(one in names and other not in names for names in carrying)


def test_a_jacobian_is_output_by_input() -> None:
    trials = make(lambda w, x: w @ x, {"w": normal("m n"), "x": normal("n")}, returned_jacobian("x"))
    np.testing.assert_allclose(trials[0].expected["return"], trials[0].inputs["w"].numpy())


def test_only_requested_gradients_are_expected() -> None:
    inputs = {"x": normal("n"), "y": normal("n"), "out_g": upstream(), "needs": wanted("x y")}
    trials = make(lambda x, y: x * y, inputs, stored("x.g", "y.g"))
    for trial in trials:
        asked = trial.arguments["needs"]
        assert {name[0] for name, expected in trial.expected.items() if expected is not None} == asked
    assert {trial.arguments["needs"] for trial in trials} >= {frozenset("xy"), frozenset("x"), frozenset("y")}


@pytest.mark.parametrize(("spec", "count"), [("bs", 2), ("bs n", 1)])
def test_there_are_two_batches_of_one_where_a_single_number_may_be_right_by_chance(spec: str, count: int) -> None:
    inputs = {"x": normal(spec), "wide": normal(f"{spec} k l")}
    trials = make(lambda x, wide: (wide.sum((-1, -2)) * x).sum(), inputs, stored("wide.g" if count == 1 else "x.g"))
    assert [trial.setting.kind for trial in trials].count("a batch of one") == count
    assert all(trial.inputs["x"].shape[0] == 1 for trial in trials if trial.setting.kind == "a batch of one")


def test_a_large_trial_is_added_where_an_array_must_not_exist() -> None:
    inputs = {"x": normal("bs n"), "out": output(), "w": normal("n m")}
    trials = make(lambda x, w: x @ w, inputs, stored("w.g"), never_holds="bs n m")
    assert [trial.metered for trial in trials] == [False] * (len(trials) - 3) + [True, False, False]


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (lambda x: x @ x @ torch.ones(99), "forward fails on sampled inputs"),
        (lambda x: 3.0, "forward returns float, not a tensor"),
    ],
)
def test_a_forward_pass_that_cannot_be_used_is_the_authors_error(forward: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make(forward, {"x": positive("n n")}, returned("x"))


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (lambda x: torch.tensor(x.tolist()) * 2 + 0 * x, "autograd and finite differences of forward disagree"),
        (lambda x: (-x).sqrt(), "forward is nan or infinite somewhere"),
    ],
)
def test_references_that_finite_differences_contradict_are_the_authors_error(forward: Any, says: str) -> None:
    run = TrialsOfRun(Exercise("a test", forward, {"x": positive("n")}, returned("x")), "a_test", SEED)
    assert run.judged_trials
    with pytest.raises(SpecError, match=says):
        run.confirm()


def test_no_class_is_graded_with_references_that_finite_differences_contradict(course: Course) -> None:
    """The error is reported before any submission is read, and not for each wrong answer."""
    relu = course.find("relu_grad")
    broken = dataclasses.replace(relu.function, forward=lambda inp: torch.tensor(inp.tolist()) * 2 + 0 * inp)
    with patch.dict(vars(relu), function=broken), pytest.raises(SpecError, match="finite differences"):
        Grader(SEED).prepare([relu], isolated=False)


def test_a_kink_in_one_trial_does_not_make_references_wrong() -> None:
    exercise = Exercise("a test", lambda x: x.relu(), {"x": normal("n"), "out": output()}, stored("x.g"))
    trial = make_trial(exercise, Setting(0, "on a kink", {"n": 3}), np.random.default_rng(0))
    trial.inputs["x"].zero_()
    assert not agrees_with_finite_differences(exercise, trial)
    confirm(exercise, trial, np.random.default_rng(1))


@pytest.mark.parametrize("forward", [lambda x: x > 0, lambda x: x.round().long()])
def test_a_forward_pass_that_cannot_be_differentiated_is_the_authors_error(forward: Any) -> None:
    with pytest.raises(SpecError):
        make(forward, {"x": normal("n")}, returned("x"))


def test_a_detached_tensor_is_a_constant_to_finite_differences() -> None:
    """So a rounding that passes its gradient on agrees with finite differences."""
    inputs = {"x": normal("n"), "out": output()}
    trial = make(lambda x: x * (x.round() - x).detach() + x, inputs, stored("x.g"))[0]
    x = trial.inputs["x"]
    np.testing.assert_allclose(trial.expected["x.g"], (1 + x.round() - x) * trial.out_g)  # type: ignore[operator]


def test_an_output_may_have_an_axis_that_no_input_has() -> None:
    """It has its declared name, even if its size is that of another axis."""
    inputs = {"x": normal("bs n"), "out": output("2 bs n")}
    for trial in make(lambda x: torch.stack((x, x * x)), inputs, stored("x.g")):
        assert trial.axes("out") == ("2", "bs", "n")
        assert trial.arguments["out"].values.shape == (2, trial.setting.sizes["bs"], trial.setting.sizes["n"])


def test_the_axes_of_a_step_are_not_those_of_the_output() -> None:
    forward = in_steps(mean=lambda x: x.mean(0), out=lambda x, mean: x - mean)
    inputs = {"x": normal("bs n"), "mean": step("n"), "out": output()}
    exercise = Exercise("Centring", forward, inputs, stored("mean.g", "x.g"))
    trial = first_trial(exercise, np.random.default_rng(0))
    assert (trial.axes("mean"), trial.axes("out")) == (("n",), ("bs", "n"))


def test_an_output_that_does_not_depend_on_an_input_has_a_gradient_of_zeros() -> None:
    trials = make(lambda x, y: y * 2, {"x": normal("n"), "y": normal("n"), "out": output()}, stored("x.g", "y.g"))
    np.testing.assert_array_equal(trials[0].expected["x.g"], np.zeros(trials[0].inputs["x"].shape))


def test_the_references_of_a_trial_take_one_backward_pass() -> None:
    runs = []

    def forward(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        runs.append(torch.is_grad_enabled() and x.requires_grad)
        return x * y + z

    inputs = {"x": normal("n m"), "y": normal("n m"), "z": normal("n m"), "out": output()}
    exercise = Exercise("a test", forward, inputs, stored("x.g", "y.g", "z.g"))
    trial = make_trial(exercise, Setting(1, "a trial", {"n": 3, "m": 4}), np.random.default_rng(0))
    assert runs == [False, True]
    for answer in exercise.answers:
        alone = autograd_answer(exercise, answer, trial.inputs, trial.out_g)
        np.testing.assert_array_equal(trial.expected[answer.name], alone)


def test_a_routine_whose_reference_fails_is_the_authors_error() -> None:
    routine = Routine("a test", {"x": normal("n")}, lambda x: x.nonesuch())
    with pytest.raises(SpecError, match="the reference fails"):
        make_trials(routine, np.random.default_rng(0))


def test_a_trial_is_a_frozen_record(course: Course) -> None:
    _, trials = trials_of(course, "relu_grad", 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trials[0].metered = True  # type: ignore[misc]


SOFTMAX = Exercise("softmax", lambda x: x.softmax(-1), {"x": normal("bs c"), "out": output()}, stored("x.g"))
TWO = Setting(2, "a batch of one", {"bs": 1, "c": 2})


def lost(trial: Trial) -> float:
    """The scaled error of an honest computation in single precision."""
    out, g = (torch.from_numpy(values) for values in (trial.arguments["out"].values, trial.arguments["out"].g))
    found = (out * g - (out * (out * g).sum(-1, keepdim=True))).numpy()
    return scaled_error(found, trial.expected["x.g"])  # type: ignore[arg-type]


def test_a_gradient_that_is_a_small_difference_of_large_numbers_is_drawn_again() -> None:
    """With two classes and nearly equal upstream gradients, rounding alone would decide."""
    rng = np.random.default_rng(1)
    trial = make_trial(SOFTMAX, TWO, rng)
    assert right_in_single_precision(SOFTMAX, trial)
    close = torch.tensor([[0.7, 0.7001]], dtype=torch.float64)
    expected = {"x.g": autograd_answer(SOFTMAX, SOFTMAX.answers[0], trial.inputs, close)}
    assert not right_in_single_precision(SOFTMAX, dataclasses.replace(trial, out_g=close, expected=expected, memo={}))


def test_rounding_alone_never_spoils_a_right_answer() -> None:
    """The smallest case, four hundred times."""
    rng = np.random.default_rng(2)
    assert max(lost(make_trial(SOFTMAX, TWO, rng)) for _ in range(400)) < 1e-5


def test_the_first_inputs_come_back_with_another_upstream_gradient() -> None:
    """It is drawn if an answer is shaped like the output, so that its entries can be compared one by one."""
    trials = make_trials(SOFTMAX, np.random.default_rng(3))
    (again,) = (trial for trial in trials[1:] if trial.inputs is trials[0].inputs)
    assert (again.arguments["x"], again.out) == (trials[0].arguments["x"], trials[0].out)
    assert not np.array_equal(again.arguments["out"].g, trials[0].arguments["out"].g)
    np.testing.assert_array_equal(again.out_g, again.arguments["out"].g)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        again.expected["x.g"], autograd_answer(SOFTMAX, SOFTMAX.answers[0], again.inputs, again.out_g), rtol=1e-12
    )  # type: ignore[arg-type]


def test_no_trial_is_added_where_no_answer_is_shaped_like_the_output() -> None:
    layer = Exercise(
        "x @ w", lambda x, w: x @ w, {"x": normal("bs n"), "out": output(), "w": normal("n m")}, stored("w.g")
    )
    assert len({id(trial.inputs) for trial in make_trials(layer, np.random.default_rng(3))}) == 7


def test_a_remembered_error_keeps_no_frame_alive() -> None:
    """The error is raised for the answer of every student in a class, and each answer may be large."""
    trial = make(lambda x: x * x, {"x": normal("n")}, stored("x.g"))[0]

    def impossible() -> None:
        raise ValueError("never so")

    def met(answer: np.ndarray) -> weakref.ref[np.ndarray]:
        with pytest.raises(ValueError, match="never so"):
            trial.remember("mistake", impossible)
        return weakref.ref(answer)

    assert [met(np.zeros(9))() for _ in range(3)] == [None] * 3
