"""Which mistake is named: the first that gives the learner's numbers in every trial; one cause for several answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hand_made import ANSWER, trials
from verdicts import Rule, named, problem_of, trials_of, verdict, verdicts

from grader.diagnosis.candidates import SPECIFIC, Candidate, Problem
from grader.diagnosis.facts import Pair
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.search import Search
from grader.exercise import Exercise, Misconception, Routine, in_steps, returned, stored
from grader.sampling import away_from, normal, output, step
from grader.wording.words import says

NO_GRAPH = Routine("nothing to derive", {"w": normal("bs n")}, lambda w: w)


def slip(code: str, rule: Callable[..., Any], text: str = "", hints: tuple[str, ...] = ()) -> Misconception:
    return Misconception(code, "return", rule, text, hints)


def found(array: Callable[[Any], Any], *slips: Misconception) -> Mistake:
    """What is said of `array(w)` where these mistakes are declared; the right answer is made of other numbers."""
    exercise = replace(NO_GRAPH, misconceptions=slips)
    first, pairs = trials()[0], [(trial, np.asarray(array(trial.inputs["w"]))) for trial in trials()]
    search = Search(Problem(exercise, ANSWER, first), pairs)
    declared = [Candidate((), declared=one) for one in slips]
    first.memo["declared", "w.g"] = declared
    return search.mistake()


def impossible(w: Any) -> Any:
    raise RuntimeError("this cannot be computed here")


# --- a mistake that an exercise declares -------------------------------------------------------------------------


def test_the_first_mistake_that_gives_the_numbers_is_told() -> None:
    plus, also = slip("extra-factor", lambda w: w**2 + 1), slip("wrong-local", lambda w: w**2 + 1)
    assert found(lambda w: w**2 + 1, plus, also).code == "extra-factor"
    assert found(lambda w: w**2 + 1, also, plus).code == "wrong-local"


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
    assert found(lambda w: w**2 + 1, slip("extra-factor", rule)).code == "unknown"
    sound = slip("wrong-local", lambda w: w**2 + 1)
    assert found(lambda w: w**2 + 1, slip("extra-factor", rule), sound).code == "wrong-local"


def test_a_mistake_may_have_another_shape_than_the_answer() -> None:
    assert found(lambda w: w.sum(1), slip("summed-wrong-axis", lambda w: w.sum(1))).code == "summed-wrong-axis"


def test_rounding_does_not_hide_a_mistake() -> None:
    assert found(lambda w: (w * w).float().double(), slip("extra-factor", lambda w: w * w)).code == "extra-factor"


def test_a_declared_mistake_brings_its_words_and_hints() -> None:
    told = found(lambda w: w**2 + 1, slip("wrong-local", lambda w: w**2 + 1, "a slip", ("Look again.",)))
    assert (told.code, says(told), told.hints) == ("wrong-local", "a slip", ("Look again.",))
    assert "transposed" in says(found(lambda w: w**2 + 1, slip("transposed", lambda w: w**2 + 1)))


LINEAR = Exercise(
    "inp @ w",
    lambda inp, w: inp @ w,
    {"inp": normal("bs n"), "out": output(), "w": normal("n m")},
    stored("inp.g", "w.g"),
    misconceptions=(
        Misconception("transposed", "w.g", lambda w: w),
        Misconception("wrong-local", "inp.g", lambda out_g, w, out: (out_g - out) @ w.T, "a slip", ("Hint.",)),
    ),
)


def test_a_declared_mistake_is_computed_from_the_trials_own_values() -> None:
    (one,) = problem_of(LINEAR).declared()
    trial = trials_of(LINEAR)[1]
    right = (trial.out_g - trial.out) @ trial.inputs["w"].T
    np.testing.assert_allclose(problem_of(LINEAR).compute(one, trial), right.numpy())
    assert verdict(LINEAR, lambda v: (v["out_g"] - v["out"]) @ v["w"].T).hints == ("Hint.",)


def test_declared_mistakes_of_other_answers_are_left_out() -> None:
    assert [one.code for one in problem_of(LINEAR, 1).declared()] == ["transposed"]


# --- any mistake -------------------------------------------------------------------------------------------------


def explains(given: list[Pair], rule: Callable[..., Any]) -> bool:
    """The mistake that `rule(w)` computes is told of these arrays."""
    search = Search(Problem(NO_GRAPH, ANSWER, given[0][0]), given)
    return search.explains(Candidate((), declared=slip("wrong-local", rule)))


def test_a_mistake_that_is_right_everywhere_is_never_told() -> None:
    right = [
        (replace(t, expected={"w.g": t.inputs["w"].numpy()}), t.inputs["w"].numpy() * (1 + 3e-5)) for t in trials()
    ]
    assert not explains(right, lambda w: w)


def test_a_mistake_is_told_apart_from_the_right_answer_in_one_trial_at_least() -> None:
    """Right in three trials, and in the fourth exactly what the mistake gives."""
    right = [(replace(t, expected={"w.g": t.inputs["w"].numpy()}), t.inputs["w"].numpy() + (len(t.inputs["w"]) == 3))
             for t in trials()]  # fmt: skip
    assert explains(right, lambda w: w + (len(w) == 3))


def test_what_a_mistake_computes_as_zero_may_be_rounding_in_the_answer() -> None:
    """Both are nothing next to the right answer, but neither is exactly zero."""
    assert explains([(t, np.full_like(t.expected["w.g"], 3e-8)) for t in trials()], lambda w: 1e-17 * w)
    assert not explains([(t, 1e-3 * t.expected["w.g"]) for t in trials()], lambda w: 1e-17 * w)


def test_the_most_specific_mistakes_come_first_and_equals_keep_their_order() -> None:
    ranks = [SPECIFIC.index(one.code) for one in problem_of(LINEAR, 1).plain()]
    assert ranks == sorted(ranks)
    forgetful = Problem(LINEAR, LINEAR.answers[1], replace(trials_of(LINEAR)[0], memo={}))
    again = [one.mistake().facts for one in forgetful.plain()]
    assert again == [one.mistake().facts for one in problem_of(LINEAR, 1).plain()]


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
    ("exercise", "rule", "name", "text"),
    [
        (LAYER, lambda v: v["w"] - 0.1 * v["x"].T @ v["out_g"], "wrong-local: step-of-training",
         "this is w less 0.1 times its gradient"),
        (LAYER, lambda v: v["w"] + 0.01 * v["x"].T @ v["out_g"], "wrong-local: step-of-training",
         "this is w plus 0.01 times its gradient"),
        (LAYER, lambda v: v["out_g"].T @ v["x"] / len(v["x"]), "transposed: transposed + factor-divided",
         "besides, every entry is 1/3 of that"),
        (LAYER, lambda v: -2 * v["x"].T @ v["out"], "value-for-gradient: value-for-gradient + factor-number",
         "besides, every entry is -2 times that"),
        (BENT, stepped, "wrong-operand: mixed-in", "0.1 times v.g is subtracted from v, which alone belongs there"),
        (ROWS, lambda v: (v["x"].softmax(-1) - 0.9 * v["t"] - 0.1 * v["t"].mean(-1, keepdim=True)) / len(v["x"]),
         "wrong-local: spread-out", "0.1 of the path through `*` is spread evenly over its row"),
        (ROWS, last_row_left_out, "partial-batch: path-for-some-rows", "the path through `*` does not count for row 2"),
    ],
)  # fmt: skip
def test_two_things_at_once_are_both_told(exercise: Exercise, rule: Rule, name: str, text: str) -> None:
    """A step of training; a mistake with a name times a factor with a name; a share spread over the row."""
    assert named(exercise, rule) == name
    assert text in verdict(exercise, rule).says


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

    assert set(named(TWO_WAYS, rule).split(": ")[1].split(" + ")) == {"cosh-not-squared", "value-for-derivative"}


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
    assert said["b.g"].mistake is not None
    assert said["w.g"].mistake is not None
    assert [fact.operator for fact in said["b.g"].mistake.facts] == ["derivative-twice"]
    assert [fact.operator for fact in said["w.g"].mistake.facts] == ["derivative-twice", "square-missing"]


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


def test_one_mistake_in_several_answers_is_told_once_where_it_is_nearest_to_the_loss() -> None:
    spoilt = {name: rule for name, rule in network(mask=lambda a: a <= 0).items() if name != "w2.g"}
    told = verdicts(NETWORK, spoilt)
    assert {name: said.code for name, said in told.items()} == dict.fromkeys(spoilt, "inverted-mask")
    assert told["b1.g"].says == "the mask of `relu` is inverted"
    for name in ("inp.g", "w1.g"):
        said = told[name]
        assert said.mistake is not None
        assert said.mistake.cause == "b1.g"
        assert said.says == "the same cause as in b1.g: the mask of `relu` is inverted"
        assert said.hints == ("Mend the other answer first, and look again.",)


def test_a_mistake_behind_all_answers_is_told_at_the_one_that_is_nearest_to_the_loss() -> None:
    told = verdicts(NETWORK, network(loss=lambda d: 2 * d))
    assert {said.code for said in told.values()} == {"sum-for-mean"}
    causes = {name: said.mistake.cause for name, said in told.items() if said.mistake is not None}
    assert causes == {"w2.g": "", "inp.g": "w2.g", "w1.g": "w2.g", "b1.g": "w2.g"}


def test_two_slips_that_have_nothing_to_do_with_each_other_stay_two() -> None:
    right = network()
    told = verdicts(NETWORK, {"inp.g": network(mask=lambda a: a <= 0)["inp.g"], "b1.g": lambda v: right["b1.g"](v) * 3})
    assert {name: said.code for name, said in told.items()} == {"inp.g": "inverted-mask", "b1.g": "wrong-factor"}
    assert all(said.mistake is not None and not said.mistake.cause for said in told.values())


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
    """The steps before it are used later in the forward pass, too: that makes them no nearer to the loss."""

    def mean_g(known: Mapping[str, Any]) -> Any:
        return (known["out_g"] * known["square"].sin()).sum(0) * known["inv"] ** 3 / 2

    def square_g(known: Mapping[str, Any]) -> Any:
        return known["out_g"] * known["square"].cos() * known["inv"] + mean_g(known) / len(known["inp"])

    rules: dict[str, Rule] = {
        "mean.g": mean_g, "square.g": square_g, "inp.g": lambda known: square_g(known) * 2 * known["inp"],
    }  # fmt: skip
    told = verdicts(IN_STEPS, rules)
    causes = {name: said.mistake.cause for name, said in told.items() if said.mistake is not None}
    assert causes == {"mean.g": "", "square.g": "mean.g", "inp.g": "mean.g"}
    assert {said.code for said in told.values()} == {"wrong-sign"}
    assert " inv " in told["mean.g"].says


def test_a_mistake_in_one_answer_and_another_in_two_are_two_causes() -> None:
    mask, loss = network(mask=lambda a: a <= 0), network(loss=lambda d: 2 * d)
    told = verdicts(NETWORK, {"inp.g": mask["inp.g"], "w1.g": mask["w1.g"], "w2.g": loss["w2.g"]})
    assert {name: said.code for name, said in told.items()} == {
        "inp.g": "inverted-mask", "w1.g": "inverted-mask", "w2.g": "sum-for-mean",
    }  # fmt: skip
    causes = {name: said.mistake.cause for name, said in told.items() if said.mistake is not None}
    assert causes["w2.g"] == ""
    assert sorted((causes["inp.g"], causes["w1.g"])) in (["", "inp.g"], ["", "w1.g"])


def test_one_wrong_answer_alone_has_no_other_cause() -> None:
    said = verdict(NETWORK, network(mask=lambda a: a <= 0)["inp.g"], "inp.g")
    assert said.mistake is not None
    assert (said.code, said.mistake.cause) == ("inverted-mask", "")


def test_a_pass_of_which_other_trials_take_other_steps_is_searched_through() -> None:
    """One column at a time: at other sizes the sum has other terms, some of which are no tensors."""
    exercise = Exercise("columns", lambda x: sum(x.split(1, -1)), {"x": normal("bs n"), "out": output()}, stored("x.g"))
    assert verdict(exercise, lambda v: torch.sin(3 * v["out_g"].expand(v["x"].shape))).code == "unknown"
    assert verdict(exercise, lambda v: -v["out_g"].expand(v["x"].shape)).code == "wrong-sign"
