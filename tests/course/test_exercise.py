"""A declaration is a frozen record; one that contradicts itself is refused when it is made."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from grader.course.exercise import (
    Answer,
    Exercise,
    Misconception,
    Routine,
    in_steps,
    is_differentiable,
    returned,
    returned_jacobian,
    returned_value,
    sizes_of,
    specs_of,
    stored,
)
from grader.course.sampling import normal, number, output, shape, sized, step, upstream, withheld
from grader.errors import SpecError
from grader.reference.trials import make_trials

INPUTS = {"inp": normal("bs n"), "out": output(), "w": normal("n m")}


def linear(**changes: Any) -> Exercise:
    given = {"title": "A layer", "forward": lambda inp, w: inp @ w, "inputs": INPUTS, "answers": stored("inp.g", "w.g")}
    return Exercise(**{**given, **changes})


def test_answers_are_stored_or_returned() -> None:
    assert stored("w.g") == (Answer("w.g", "w", "gradient"),)
    assert returned("x") == (Answer("return", "x", "gradient"),)
    assert returned_jacobian("x") == (Answer("return", "x", "jacobian"),)
    assert returned_value() == (Answer("return", "", "value"),)
    assert [answer.stored for answer in stored("w.g") + returned("x")] == [True, False]


def test_the_markers_are_no_inputs_of_the_forward_pass() -> None:
    exercise = linear()
    assert list(exercise.samplers) == ["inp", "w"]
    assert exercise.forward_names == ("inp", "w")
    assert specs_of(exercise) == ("bs n", "n m")


def test_a_withheld_input_is_no_argument_of_the_learners_function() -> None:
    """Its gradient may still be an answer that is returned, and need not be stored."""
    inputs = {"g": upstream(), "shape": shape("n"), "x": withheld(normal("n"))}
    exercise = Exercise("A copy", lambda x: 1 * x, inputs, returned("x"))
    assert exercise.argument_names == ("g", "shape")
    assert exercise.forward_names == ("x",)
    with pytest.raises(SpecError, match="x is withheld"):
        Exercise("A copy", lambda x: 1 * x, inputs, stored("x.g"))


STEPPED = in_steps(
    mean=lambda inp: inp.mean(0), centred=lambda inp, mean: inp - mean, out=lambda centred, k: k * centred
)


def test_a_forward_pass_in_named_steps_takes_the_inputs_of_its_steps() -> None:
    inputs = {"inp": normal("bs n"), "k": number(0, 1), "mean": step("n"), "out": output()}
    exercise = Exercise("Centring", STEPPED, inputs, stored("mean.g", "inp.g"))
    assert exercise.forward_names == ("inp", "k")
    assert exercise.step_names == ("mean",)
    assert is_differentiable(exercise.inputs["mean"])


def test_later_steps_use_the_given_value_of_a_step() -> None:
    """Earlier steps do not, so the gradient at a step is that of all its uses, and of no other path."""
    exercise = Exercise("Centring", STEPPED, {"inp": normal("2"), "k": number(0, 1), "mean": step(""), "out": output()},
                        stored("mean.g"))  # fmt: skip
    known = {"inp": np.array([1.0, 3.0]), "k": 10.0, "mean": np.array(0.0)}
    assert exercise.run(known).tolist() == [-10, 10]
    assert exercise.run(known, "mean").tolist() == [10, 30]
    assert STEPPED.values(inp=known["inp"], k=10.0)["mean"] == 2


def test_a_step_that_the_forward_pass_does_not_have_is_refused() -> None:
    with pytest.raises(SpecError, match="no step called width"):
        Exercise("Centring", STEPPED, {**INPUTS, "k": number(0, 1), "width": step("n")}, stored("inp.g"))
    with pytest.raises(SpecError, match="no step called width"):
        linear(inputs={**INPUTS, "width": step("n")})


def test_the_sizes_that_an_axis_may_have_are_those_of_all_samplers() -> None:
    inputs = {"inp": sized(normal("bs n"), bs=(4, 5)), "out": output(), "w": sized(normal("n m"), m=(2,))}
    assert sizes_of(linear(inputs=inputs)) == {"bs": (4, 5), "m": (2,)}


@pytest.mark.parametrize(("marker", "given"), [({"out": output()}, True), ({"g": upstream()}, True), ({}, False)])
def test_an_exercise_knows_whether_it_gives_an_upstream_gradient(marker: dict[str, Any], given: bool) -> None:
    assert linear(inputs={"inp": normal("bs n"), "w": normal("n m"), **marker}).gives_upstream is given


def test_only_sampled_floating_arrays_are_differentiable() -> None:
    assert is_differentiable(normal("n"))
    assert not any(is_differentiable(argument) for argument in (number(0, 1), output(), None))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"answers": ()}, "at least one answer"),
        ({"answers": stored("w.g", "w.g")}, "only once"),
        ({"answers": stored("v.g")}, "'v', which is no array input"),
        ({"answers": stored("out.g")}, "'out', which is no array input"),
        ({"forward": lambda inp, w, b: inp @ w + b}, "forward takes b"),
        ({"hints": {"b.g": ("1", "2", "3")}}, "hints for 'b.g'"),
        ({"misconceptions": (Misconception("transposed", "b.g", lambda w: w),)}, "'b.g', no answer here"),
        ({"misconceptions": (Misconception("transposed", "w.g", lambda v: v),)}, "takes v, which nothing declares"),
        ({"never_holds": "bs n k"}, "unknown axes k"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        linear(**changes)


def test_a_misconception_may_take_the_output_and_the_upstream_gradient() -> None:
    slip = Misconception("value-for-gradient", "w.g", lambda inp, out, out_g: inp.T @ (out - out_g))
    assert linear(misconceptions=(slip,)).misconceptions == (slip,)


def test_a_misconception_needs_a_public_code() -> None:
    with pytest.raises(SpecError, match="unknown code, 'clumsy'"):
        Misconception("clumsy", "w.g", lambda w: w)


def test_a_routine_has_one_answer_the_returned_value() -> None:
    routine = Routine("A slope", {"x": number(0, 1)}, lambda x: 2 * x)
    assert routine.answers == returned_value()
    assert list(routine.samplers) == ["x"]


def test_a_routine_may_take_a_list_and_return_several_arrays() -> None:
    """Each array of the list has its sampler, and each returned array is an answer."""
    inputs = {"ws": (normal("n"), normal("n m")), "k": number(0, 1)}
    routine = Routine("Scaled", inputs, lambda ws, k: [k * w for w in ws], returns=2)
    assert [(answer.name, answer.stored, answer.place) for answer in routine.answers] == [
        ("return.0", False, 0), ("return.1", False, 1)
    ]  # fmt: skip
    assert routine.argument_names == ("ws", "k")
    assert list(routine.samplers) == ["ws[0]", "ws[1]", "k"]
    trial = make_trials(routine, np.random.default_rng(0))[0]
    assert [tuple(w.shape) for w in trial.inputs["ws"]] == [trial.arguments[f"ws[{i}]"].values.shape for i in (0, 1)]
    np.testing.assert_allclose(trial.expected["return.1"], trial.inputs["k"] * trial.inputs["ws"][1])


def test_hints_of_a_routine_belong_to_its_answer() -> None:
    with pytest.raises(SpecError, match="hints for 'x'"):
        Routine("A slope", {"x": number(0, 1)}, lambda x: 2 * x, hints={"x": ("1", "2", "3")})


def test_declarations_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        linear().title = "Another"  # type: ignore[misc]


def test_a_plain_number_as_an_input_asks_for_a_sampler():
    with pytest.raises(SpecError, match=r"the input delta is 1\.0: give a sampler, e\.g\. each_of\(1\.0\)"):
        Exercise("", lambda inp, delta: inp * delta, {"inp": normal("n"), "delta": 1.0}, stored("inp.g"))


@pytest.mark.parametrize(
    ("code", "says"), [("wrong-sgn", "did you mean 'wrong-sign'"), ("squared", "the codes are broadcast-accident, ")]
)
def test_an_unknown_code_names_the_nearest_or_all(code: str, says: str):
    with pytest.raises(SpecError, match=says):
        Misconception(code, "inp.g", lambda inp: inp)
