"""Which mistake is told: one that gives the learner's numbers in every trial; one cause for several answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.hand_made import trials
from helpers.verdicts import Rule, assert_named, trials_of, verdict, verdicts

from grader.course.exercise import Exercise, Misconception, Routine, in_steps, returned, stored
from grader.course.sampling import away_from, normal, output, step
from grader.diagnosis.diagnose import find_mistakes, wrong_array_of
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.words import message_of
from grader.reference.trial import sample_of

NO_GRAPH = Routine("nothing to derive", {"w": normal("bs n")}, lambda w: w)


def slip(code: str, rule: Callable[..., Any], text: str = "", hints: tuple[str, ...] = ()) -> Misconception:
    return Misconception(code, "return", rule, text, hints)


def mistake_in(array: Callable[[Any], Any], *slips: Misconception, right: Callable[[Any], Any] = torch.sin) -> Mistake:
    """What is said of `array(w)` where these mistakes are declared, and `right(w)` is the right answer."""
    exercise = replace(NO_GRAPH, misconceptions=slips)
    made = [replace(t, expected={"return": np.asarray(right(t.inputs["w"]))}) for t in trials()]
    (answer,) = exercise.answers
    samples = [sample_of(answer, trial, np.asarray(array(trial.inputs["w"]))) for trial in made]
    return find_mistakes(exercise, {"return": samples})["return"]


def impossible(w: Any) -> Any:
    raise RuntimeError("this cannot be computed here")


# --- a mistake that an exercise declares -------------------------------------------------------------------------


def test_the_first_mistake_that_gives_the_numbers_is_told() -> None:
    plus, also = slip("extra-factor", lambda w: w**2 + 1), slip("wrong-local", lambda w: w**2 + 1)
    assert mistake_in(lambda w: w**2 + 1, plus, also).code == "extra-factor"
    assert mistake_in(lambda w: w**2 + 1, also, plus).code == "wrong-local"


@pytest.mark.parametrize(
    "rule",
    [
        lambda w: w**2 + (1 if len(w) != 4 else 2),  # in some trials only
        impossible,
        lambda w: w @ w @ w @ w[:1, :1],
        lambda w: (w**2 + 1)[None],  # of another shape
    ],
)
def test_what_does_not_give_the_numbers_in_every_trial_is_passed_over(rule: Callable[..., Any]) -> None:
    assert mistake_in(lambda w: w**2 + 1, slip("extra-factor", rule)).code == "unknown"
    sound = slip("wrong-local", lambda w: w**2 + 1)
    assert mistake_in(lambda w: w**2 + 1, slip("extra-factor", rule), sound).code == "wrong-local"


def test_a_mistake_may_have_another_shape_than_the_answer() -> None:
    declared = slip("summed-wrong-axis", lambda w: w.sum(1))
    assert mistake_in(lambda w: w.sum(1), declared).code == "summed-wrong-axis"


def test_rounding_does_not_hide_a_mistake() -> None:
    declared = slip("extra-factor", lambda w: w * w)
    assert mistake_in(lambda w: (w * w).float().double(), declared).code == "extra-factor"


def test_a_declared_mistake_brings_its_words_and_hints() -> None:
    told = mistake_in(lambda w: w**2 + 1, slip("wrong-local", lambda w: w**2 + 1, "a slip", ("Look again.",)))
    assert (told.code, message_of(told), told.hints) == ("wrong-local", "a slip", ("Look again.",))
    assert "transposed" in message_of(mistake_in(lambda w: w**2 + 1, slip("transposed", lambda w: w**2 + 1)))


LINEAR = Exercise(
    "inp @ w",
    lambda inp, w: inp @ w,
    {"inp": normal("bs n"), "out": output(), "w": normal("n m")},
    stored("inp.g", "w.g"),
    misconceptions=(
        Misconception("transposed", "w.g", lambda w: w),
        Misconception("wrong-local", "inp.g", lambda out_g, w, out: (out_g - out**2) @ w.T, "a slip", ("Hint.",)),
    ),
)


def test_a_declared_mistake_is_computed_from_the_trials_own_values() -> None:
    trial, (_, declared) = trials_of(LINEAR)[1], LINEAR.misconceptions
    assert trial.out_g is not None
    assert trial.out is not None
    right = (trial.out_g - trial.out**2) @ trial.inputs["w"].T
    np.testing.assert_allclose(wrong_array_of(declared, LINEAR.answers[0], trial), right.numpy())
    assert verdict(LINEAR, lambda v: (v["out_g"] - v["out"] ** 2) @ v["w"].T).hints == ("Hint.",)


def test_declared_mistakes_of_other_answers_are_left_out() -> None:
    assert verdict(LINEAR, lambda v: v["w"], "w.g").code == "transposed"
    square = replace(LINEAR, inputs={**LINEAR.inputs, "w": normal("n n")})
    assert verdict(square, lambda v: v["w"].expand(v["inp"].shape[0], -1, -1)[:, 0], "inp.g").code != "transposed"


# --- any mistake -------------------------------------------------------------------------------------------------


def test_a_mistake_that_is_right_everywhere_is_never_told() -> None:
    """The learner's arrays differ from the right ones by little more than rounding: that is no right answer."""
    told = mistake_in(lambda w: w * (1 + 3e-4), slip("wrong-local", lambda w: w * (1 + 3e-4)), right=lambda w: w)
    assert told.code == "wrong-local"
    assert mistake_in(lambda w: w * (1 + 3e-4), slip("wrong-local", lambda w: w), right=lambda w: w).code == "imprecise"


def test_a_mistake_is_told_apart_from_the_right_answer_in_one_trial_at_least() -> None:
    """Right in three trials, and in the fourth exactly what the mistake gives."""

    def rule(w: Any) -> Any:
        return w + (len(w) == 3)

    assert mistake_in(rule, slip("wrong-local", rule), right=lambda w: w).code == "wrong-local"


def test_what_a_mistake_computes_as_zero_may_be_rounding_in_the_answer() -> None:
    """Both are nothing next to the right answer, but neither is exactly zero."""
    nothing = slip("wrong-local", lambda w: 1e-17 * w)
    assert mistake_in(lambda w: torch.full_like(w, 3e-8), nothing).code == "wrong-local"
    assert mistake_in(lambda w: 1e-3 * w.sin(), nothing).code != "wrong-local"


def test_the_same_is_told_of_the_same_answer_again() -> None:
    def rule(v: dict[str, Any]) -> Any:
        return v["inp"].T @ v["out_g"] / len(v["inp"])

    again = replace(LINEAR)  # trials and what is remembered of them are made anew
    assert verdict(LINEAR, rule, "w.g") == verdict(LINEAR, rule, "w.g") == verdict(again, rule, "w.g")


# --- two things at once ------------------------------------------------------------------------------------------

GIVEN = {"x": normal("bs n"), "w": normal("n m"), "b": normal("m"), "out": output()}
LAYER = Exercise("a layer", lambda x, w, b: x @ w + b, GIVEN, stored("w.g"))
BENT = Exercise(
    "a bent layer and a flat one",
    lambda x, w, v: (x @ w).tanh() @ v,
    {"x": normal("bs n"), "w": normal("n h"), "v": normal("h m"), "out": output()},
    stored("w.g"),
)
ROWS = Exercise(
    "logsumexp less an entry",
    lambda x, t: (x.logsumexp(-1) - (x * t).sum(-1)).mean(),
    {"x": normal("bs c"), "t": normal("bs c")},
    returned("x"),
)


def last_row_left_out(v: dict[str, Any]) -> torch.Tensor:
    """x.g of `ROWS`, with nothing subtracted in the last row."""
    kept = v["t"].clone()
    kept[-1] = 0
    return (v["x"].softmax(-1) - kept) / len(kept)


def stepped(v: dict[str, Any]) -> torch.Tensor:
    """w.g of `BENT`, worked out after a step of training has changed v."""
    hidden = (v["x"] @ v["w"]).tanh()
    changed = v["v"] - 0.1 * hidden.T @ v["out_g"]
    return v["x"].T @ (v["out_g"] @ changed.T * (1 - hidden**2))


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "text"),
    [
        (LAYER, lambda v: v["w"] - 0.1 * v["x"].T @ v["out_g"], "wrong-local",
         "this is w minus 0.1 times"),
        (LAYER, lambda v: v["w"] + 0.01 * v["x"].T @ v["out_g"], "wrong-local",
         "this is w plus 0.01 times its gradient"),
        (LAYER, lambda v: v["out_g"].T @ v["x"] / len(v["x"]), "transposed",
         "the answer is wrongly divided by 3"),
        (LAYER, lambda v: -2 * v["x"].T @ v["out"], "value-for-gradient",
         "the answer is wrongly multiplied by -2"),
        (BENT, stepped, "wrong-operand", "v minus 0.1 times its gradient"),
        (ROWS, lambda v: (v["x"].softmax(-1) - 0.9 * v["t"] - 0.1 * v["t"].mean(-1, keepdim=True)) / len(v["x"]),
         "wrong-local", "smoothed by 0.1"),
        (ROWS, last_row_left_out, "partial-batch", "t is not subtracted in the last row"),
    ],
)  # fmt: skip
def test_two_things_at_once_are_both_told(exercise: Exercise, rule: Rule, code: str, text: str) -> None:
    """A step of training; a mistake with a name times a factor with a name; a share spread over the row."""
    assert_named(exercise, rule, f"{code}: {text}")


TWO_WAYS = Exercise(
    "two ways",
    lambda x, w, u: (x @ w).tanh() + (x @ u).sin(),
    {"x": normal("bs n"), "w": normal("n m"), "u": normal("n m"), "out": output()},
    stored("x.g"),
)


def test_two_slips_on_different_ways_through_the_pass_are_both_told() -> None:
    """However rare each of them is: what they change adds up."""

    def rule(v: dict[str, Any]) -> torch.Tensor:
        x, w, u, g = v["x"], v["w"], v["u"], v["out_g"]
        return (g / (x @ w).cosh()) @ w.T + (g * (x @ u).sin()) @ u.T

    said = verdict(TWO_WAYS, rule)
    assert len(said.facts) == 2
    assert "tanh" in said.says
    assert "sin" in said.says


SHIFTED = Exercise(
    "a shifted tanh",
    lambda x, w, b: ((x @ w).tanh() + b).sigmoid() + b,
    {"x": normal("bs n"), "w": normal("n m"), "b": normal("m"), "out": output()},
    stored("w.g", "b.g"),
)


def test_a_slip_of_one_answer_is_tried_with_others_in_the_rest() -> None:
    """b.g has one slip, and w.g that one and another below it."""

    def bent(v: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        h = (v["x"] @ v["w"]).tanh()
        s = (h + v["b"]).sigmoid()
        return h, (s * (1 - s)) ** 2 * v["out_g"]

    rules: dict[str, Rule] = {
        "w.g": lambda v: v["x"].T @ (bent(v)[1] * (1 - bent(v)[0])),
        "b.g": lambda v: (bent(v)[1] + v["out_g"]).sum(0),
    }
    said = verdicts(SHIFTED, rules)
    assert [len(said[name].facts) for name in ("b.g", "w.g")] == [1, 2]
    assert "sigmoid" in said["b.g"].says
    assert "sigmoid" in said["w.g"].says
    assert "tanh" in said["w.g"].says


# --- one cause for a file ----------------------------------------------------------------------------------------

NETWORK = Exercise(
    "two layers and a loss",
    lambda inp, w1, b1, w2, t: (((inp @ w1 + b1).clamp_min(0) @ w2 - t) ** 2).mean(),
    {
        "inp": away_from(0.0, "bs n"),
        "w1": normal("n h"),
        "b1": normal("h"),
        "w2": normal("h m"),
        "t": normal("bs m"),
    },
    stored("inp.g", "w1.g", "b1.g", "w2.g"),
)


def network(
    mask: Callable[[torch.Tensor], torch.Tensor] = lambda a: a > 0,
    loss: Callable[[torch.Tensor], torch.Tensor] = lambda d: 2 * d / d.numel(),
) -> dict[str, Rule]:
    """The gradients by hand, each a rule of its own."""

    def gradients(v: dict[str, Any]) -> dict[str, torch.Tensor]:
        before = v["inp"] @ v["w1"] + v["b1"]
        hidden = before.clamp_min(0)
        g = loss(hidden @ v["w2"] - v["t"])
        h = (g @ v["w2"].T) * mask(before)
        return {"inp.g": h @ v["w1"].T, "w1.g": v["inp"].T @ h, "b1.g": h.sum(0), "w2.g": hidden.T @ g}

    return {name: lambda v, name=name: gradients(v)[name] for name in ("inp.g", "w1.g", "b1.g", "w2.g")}


def test_one_mistake_in_several_answers_is_told_once_at_the_first_of_them() -> None:
    spoilt = {name: rule for name, rule in network(mask=lambda a: a <= 0).items() if name != "w2.g"}
    told = verdicts(NETWORK, spoilt)
    assert {name: said.code for name, said in told.items()} == dict.fromkeys(spoilt, "inverted-mask")
    assert "the mask is inverted" in told["inp.g"].says
    for name in ("w1.g", "b1.g"):
        said = told[name]
        assert said.cause == "inp.g"
        assert said.says == "the same mistake as in inp.g"
        assert said.hints[0] == "Fix `inp.g` first, then look again."


def test_a_mistake_nearest_to_the_loss_is_told_at_the_first_answer() -> None:
    told = verdicts(NETWORK, network(loss=lambda d: 2 * d))
    assert {said.code for said in told.values()} == {"sum-for-mean"}
    causes = {name: said.cause for name, said in told.items()}
    assert causes == {"inp.g": "", "w1.g": "inp.g", "b1.g": "inp.g", "w2.g": "inp.g"}


def test_two_slips_that_have_nothing_to_do_with_each_other_stay_two() -> None:
    right = network()
    told = verdicts(NETWORK, {"inp.g": network(mask=lambda a: a <= 0)["inp.g"], "b1.g": lambda v: right["b1.g"](v) * 3})
    assert {name: said.code for name, said in told.items()} == {"inp.g": "inverted-mask", "b1.g": "wrong-factor"}
    assert all(not said.cause for said in told.values())


IN_STEPS = Exercise(
    title="A root of a mean of squares, in steps",
    forward=in_steps(
        square=lambda inp: inp**2,
        mean=lambda square: square.mean(0),
        inv=lambda mean: (mean + 1) ** -0.5,
        out=lambda square, inv: square.sin() * inv,
    ),
    inputs={"inp": normal("bs n"), "square": step("bs n"), "mean": step("n"), "inv": step("n"), "out": output()},
    answers=stored("inv.g", "mean.g", "square.g", "inp.g"),
)


def test_a_mistake_at_a_step_is_told_at_that_step_and_by_its_name() -> None:
    """The steps before it are used later in the forward pass as well: that makes them no nearer to the loss."""

    def mean_g(known: Mapping[str, Any]) -> Any:
        return (known["out_g"] * known["square"].sin()).sum(0) * known["inv"] ** 3 / 2

    def square_g(known: Mapping[str, Any]) -> Any:
        return known["out_g"] * known["square"].cos() * known["inv"] + mean_g(known) / len(known["inp"])

    rules: dict[str, Rule] = {
        "mean.g": mean_g, "square.g": square_g, "inp.g": lambda known: square_g(known) * 2 * known["inp"],
    }  # fmt: skip
    told = verdicts(IN_STEPS, rules)
    assert {name: said.code for name, said in told.items()} == {
        "mean.g": "wrong-sign", "square.g": "follows", "inp.g": "follows",
    }  # fmt: skip
    assert "`(mean + 1) ** -0.5`" in told["mean.g"].says
    assert told["inp.g"].says == "this is right, given your mean.g; fix mean.g first"
    assert told["inp.g"].hints[0] == "Fix `mean.g` first, then look again."


@pytest.mark.parametrize(
    ("reduction", "followers"),
    [
        (lambda array: array, ("mean.g", "square.g", "inp.g")),
        (lambda array: array.sum(), ("mean.g", "square.g", "inp.g")),
        (lambda array: array.sum(1, keepdim=True), ("mean.g", "square.g", "inp.g")),
        (lambda array: array.sum(0, keepdim=True), ("mean.g",)),  # the others are right
    ],
)
def test_what_follows_from_a_gradient_of_a_wrong_shape_is_told(
    reduction: Callable[[Any], Any], followers: tuple[str, ...]
) -> None:
    """The array is broadcast in later lines, which keep its axes, or add it to an array that has them."""

    def inv_g(known: Mapping[str, Any]) -> Any:
        return reduction(known["out_g"] * known["square"].sin())

    def mean_g(known: Mapping[str, Any]) -> Any:
        return inv_g(known) * -0.5 * known["inv"] ** 3

    def square_g(known: Mapping[str, Any]) -> Any:
        return known["out_g"] * known["square"].cos() * known["inv"] + mean_g(known) / len(known["inp"])

    rules = {"mean.g": mean_g, "square.g": square_g, "inp.g": lambda known: square_g(known) * 2 * known["inp"]}
    told = verdicts(IN_STEPS, {"inv.g": inv_g, **{name: rules[name] for name in followers}})
    assert told["inv.g"].code != "follows"
    for name in followers:
        assert told[name].says == "this is right, given your inv.g; fix inv.g first"


@pytest.mark.parametrize("copies", [0, 1_000])
def test_what_follows_from_no_gradient_or_from_very_many_is_not_told(copies: int) -> None:
    """For each of them a gradient is computed, so that many take long."""

    def inv_g(known: Mapping[str, Any]) -> Any:
        return known["out_g"].sum(0).expand(copies, -1)

    def mean_g(known: Mapping[str, Any]) -> Any:
        return inv_g(known) * -0.5 * known["inv"] ** 3

    told = verdicts(IN_STEPS, {"inv.g": inv_g, "mean.g": mean_g})
    assert [said.code for said in told.values()] == ["wrong-shape", "wrong-shape"]


def test_an_answer_with_a_mistake_of_its_own_does_not_follow() -> None:
    """`inp.g` follows from neither the right `square.g` nor the learner's wrong one."""
    rules: dict[str, Rule] = {
        "square.g": lambda known: -known["out_g"] * known["square"].cos() * known["inv"],
        "inp.g": lambda known: known["out_g"] * known["square"].cos() * known["inv"] * known["inp"],
    }
    told = verdicts(IN_STEPS, rules)
    assert all(said.code != "follows" for said in told.values())


def test_answers_with_one_mistake_do_not_follow_though_one_is_a_product_with_the_other() -> None:
    """The gradient of x is -t.g @ w.T, but both are computed from a gradient whose branches are exchanged."""

    def backward(known: dict[str, Any]) -> dict[str, Any]:
        r, delta = known["x"] @ known["w"] - known["t"], 1.0
        dr = known["out_g"] * torch.where(r.abs() > delta, r, delta * r.sign())
        return {"x.g": dr @ known["w"].T, "t.g": -dr}

    def huber(x: torch.Tensor, w: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        r = x @ w - t
        return torch.where(r.abs() < 1.0, 0.5 * r * r, r.abs() - 0.5)

    inputs = {"x": normal("bs n"), "w": normal("n m"), "t": normal("bs m"), "out": output()}
    exercise = Exercise("a Huber loss", huber, inputs, stored("x.g", "t.g"))
    rules: dict[str, Rule] = {"x.g": lambda known: backward(known)["x.g"], "t.g": lambda known: backward(known)["t.g"]}
    assert {said.code for said in verdicts(exercise, rules).values()} == {"inverted-mask"}


def test_a_mistake_in_one_answer_and_another_in_two_are_two_causes() -> None:
    mask, loss = network(mask=lambda a: a <= 0), network(loss=lambda d: 2 * d)
    told = verdicts(NETWORK, {"inp.g": mask["inp.g"], "w1.g": mask["w1.g"], "w2.g": loss["w2.g"]})
    assert {name: said.code for name, said in told.items()} == {
        "inp.g": "inverted-mask", "w1.g": "inverted-mask", "w2.g": "sum-for-mean",
    }  # fmt: skip
    causes = {name: said.cause for name, said in told.items()}
    assert causes["w2.g"] == ""
    assert sorted((causes["inp.g"], causes["w1.g"])) in (["", "inp.g"], ["", "w1.g"])


def test_one_wrong_answer_alone_has_no_other_cause() -> None:
    said = verdict(NETWORK, network(mask=lambda a: a <= 0)["inp.g"], "inp.g")
    assert (said.code, said.cause) == ("inverted-mask", "")


def ways_through_chain(start: Any, trans: Any, e: Any) -> Any:
    """The logarithm of the sum over all ways through a chain."""
    a = start + e[0]
    for step_ in e[1:]:
        a = torch.logsumexp(a[:, None] + trans, 0) + step_
    return torch.logsumexp(a, 0)


CHAIN = Exercise(
    "chain",
    ways_through_chain,
    {"start": normal("n"), "trans": normal("n n"), "e": normal("t n"), "out": output()},
    stored("start.g", "trans.g"),
)


@pytest.mark.parametrize(("right", "code"), [((), "wrong-point"), (("trans.g",), "unknown")])
def test_no_input_seems_replaced_that_a_right_answer_is_made_of(right: tuple[str, ...], code: str) -> None:
    """The softmax of the first `a` is its posterior in a chain without trans; but the gradient of trans is right."""
    rules = {"start.g": lambda v: v["out_g"] * torch.softmax(v["start"] + v["e"][0], 0)}
    assert verdicts(CHAIN, rules, right=right)["start.g"].code == code


def test_an_upstream_gradient_that_one_answer_lacks_is_likelier_than_a_value_of_the_forward_pass() -> None:
    """The gradient of y @ a @ y / 2 with a symmetric a is a @ y times the upstream gradient."""
    energy = Exercise(
        "energy",
        lambda k, y: 0.5 * y @ (k @ (k.T @ y)),
        {"k": normal("n m"), "y": normal("n"), "out": output()},
        stored("k.g", "y.g"),
    )
    said = verdicts(energy, {"y.g": lambda v: v["k"] @ (v["k"].T @ v["y"])}, right=["k.g"])["y.g"]
    assert (said.code, said.says) == ("missing-upstream", "the factor out.g is missing: your code treats it as 1")


def test_a_pass_of_which_other_trials_take_other_steps_is_searched_through() -> None:
    """One column at a time: at other sizes the sum has other terms, some of which are no tensors."""
    exercise = Exercise("columns", lambda x: sum(x.split(1, -1)), {"x": normal("bs n"), "out": output()}, stored("x.g"))
    assert verdict(exercise, lambda v: torch.sin(3 * v["out_g"].expand(v["x"].shape))).code == "unknown"
    assert verdict(exercise, lambda v: -v["out_g"].expand(v["x"].shape)).code == "wrong-sign"
