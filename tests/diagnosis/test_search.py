"""The search: its order, its combinators, common causes, facts, and a budget that ends in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from grader.course.exercise import Answer
from grader.course.trial_sizes import Setting
from grader.diagnosis import search
from grader.diagnosis.candidates import (
    COMBINATORS,
    LEAST,
    LIKELY,
    edits,
    edits_of_other_structures,
    edits_on_path,
    edits_with_factor,
)
from grader.diagnosis.case import Candidate, Case, ProgramSample
from grader.diagnosis.causes import CHANGES_RIGHT_ANSWER
from grader.diagnosis.edits import PATH_RANK, Edit
from grader.diagnosis.mistake import Fact, Mistake
from grader.diagnosis.observations import observations
from grader.diagnosis.operators import OPERATORS, places
from grader.diagnosis.search import SHARE_OF_SOURCE, SPENT_RANK, CandidateSource, explain, merge_sources, stream
from grader.diagnosis.wrong_values import BehindRightAnswers, FirstWrongGradient, least_squares_error
from grader.program.forward import Place
from grader.program.operation import Array, Vague
from grader.program.program import EdgeContext, Program
from grader.program.recording import record
from grader.reference.trial import Sample, Trial

Wrong = Callable[..., Mapping[str, Tensor]]
Combinator = Callable[[Case], Iterator[Candidate]]
NAMED = {operator.name: operator for operator in OPERATORS}
SIZES = ({"t": 3, "bs": 5, "n": 4, "m": 6}, {"t": 4, "bs": 3, "n": 6, "m": 5}, {"t": 3, "bs": 4, "n": 7, "m": 3})


def case_of(forward: Callable[..., Tensor], wrong: Wrong, **axes: str) -> Case:
    """The case of a learner who computes `wrong` from the inputs and the upstream gradient `g`."""
    samples = []
    for number, sizes in enumerate(SIZES):
        generator = np.random.default_rng(number)
        inputs = {
            name: torch.from_numpy(generator.standard_normal([sizes[axis] for axis in own.split()]))
            for name, own in axes.items()
        }
        g = torch.from_numpy(generator.standard_normal(forward(**inputs).shape))
        given = {name: np.asarray(array) for name, array in wrong(**inputs, g=g).items()}
        trial = Trial(Setting(number, "other sizes", sizes), inputs, {}, inputs, out_g=g)
        samples.append(ProgramSample(trial, record(forward, inputs, g), given))
    names = tuple(name for name in samples[0].given if samples[0].is_wrong(name))
    return Case(samples, names, tuple(name for name in samples[0].given if name not in names))


def said(mistake: Mistake) -> str:
    """The code, and what is said of all edits or facts."""
    clauses = (fact.says or f"{fact.operator} {dict(fact.parameters)}" for fact in mistake.facts)
    return f"{mistake.code}: {'; '.join(clauses)}"


def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    z = x @ w + b
    return torch.tanh(z)


def slope(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return 1 - torch.tanh(x @ w + b) ** 2


LAYER = {"x": "bs n", "w": "n m", "b": "m"}


def recurrence(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
    for step in x:
        h = torch.tanh(step @ w + h @ u)
    return h


def recurrent_gradients(sign: Callable[[int, int], float]) -> Wrong:
    """Gradients through a loop in which the derivative of each iteration has a sign of its own."""

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, dh = torch.zeros_like(w), g
        for t in reversed(range(len(x))):
            dz = sign(t, len(x)) * dh * (1 - states[t + 1] ** 2)
            dw, dh = dw + x[t].T @ dz, dz @ u.T
        return {"w": dw}

    return wrong


RECURRENT = {"x": "t bs n", "w": "n m", "u": "m m", "h": "bs m"}


def test_one_cause_of_several_answers_is_told_where_it_is_nearest_to_the_loss() -> None:
    case = case_of(layer, lambda x, w, b, g: {"x": g @ w.T, "w": x.T @ g, "b": g.sum(0)}, **LAYER)
    explanations = explain(case, OPERATORS)
    assert said(explanations["b"]) == "missing-local: the derivative of `torch.tanh(z)` is missing"
    assert {name: each.cause for name, each in explanations.items()} == {"b": "", "w": "b", "x": "b"}


def test_two_causes_are_told_apart() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": -x.T @ (g * slope(x, w, b)), "b": g.sum(0)}

    explanations = explain(case_of(layer, wrong, **LAYER), OPERATORS)
    assert explanations["b"].code == "missing-local"
    assert explanations["w"].code == "wrong-sign"
    assert {each.cause for each in explanations.values()} == {""}


def test_a_right_answer_speaks_against_an_edit_that_leads_to_it() -> None:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        y = x @ w
        return y.tanh().sum() + y.square().sum()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = x @ w
        return {"w": x.T @ (2 * g * y), "x": (2 * g * y + g * (1 - y.tanh() ** 2)) @ w.T}

    case = case_of(forward, wrong, x="bs n", w="n m")
    assert "the gradient of y is incomplete: the contribution of `y.tanh()` is missing" in said(
        explain(case, OPERATORS)["w"]
    )
    alone = Case(case.samples, case.names)
    assert said(explain(alone, OPERATORS)["w"]) == "missing-path: the path from y through `y.tanh()` is missing"


def test_a_cause_that_makes_a_right_answer_wrong_is_not_told_for_two_that_each_have_a_likelier_one() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Count the last use of w and b alone, and pass the gradient of x back rightly."""
        states, dw, db = [x], torch.zeros_like(w), torch.zeros_like(b)
        for _ in range(3):
            states.append(states[-1] + torch.tanh(states[-1] @ w + b))
        for number, state in enumerate(reversed(states[:-1])):
            dz = g * (1 - torch.tanh(state @ w + b) ** 2)
            if number == 0:
                dw, db = state.T @ dz, dz.sum(0)
            g = g + dz @ w.T
        return {"x": g, "w": dw, "b": db}

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        for _ in range(3):
            x = x + torch.tanh(x @ w + b)
        return x

    explanations = explain(case_of(forward, wrong, x="bs n", w="n n", b="n"), OPERATORS)
    assert "only the contribution of the last iteration is left in the gradient of w" in said(explanations["w"])
    assert "only the contribution of the last iteration is left in the gradient of b" in said(explanations["b"])


def test_two_paths_that_contribute_the_same_are_both_named() -> None:
    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": 3 * g * (x[:, None] - x).square().mul(x[:, None] - x).sign().mul((x[:, None] - x) ** 2).sum(1)}

    case = case_of(lambda x: ((x[:, None] - x).abs() ** 3).sum(), wrong, x="bs n")
    says = said(explain(case, OPERATORS)["x"])
    assert "the path from x through `x[:, None]` is missing, or the direct path from x, through the term x of" in says
    assert says.endswith("; the two give the same numbers")


def test_a_path_into_a_loop_is_missing_where_the_loop_reads_nothing_else() -> None:
    def forward(x: Tensor) -> Tensor:
        y = -x
        for _ in range(3):
            y = y - y.sum(0)
        return y.exp() * x

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = -x
        for _ in range(3):
            y = y - y.sum(0)
        return {"x": g * y.exp()}

    case = case_of(forward, wrong, x="bs n")
    assert said(explain(case, OPERATORS)["x"]) == "missing-path: the path from x through `-x` is missing"


def test_some_iterations_only() -> None:
    case = case_of(recurrence, recurrent_gradients(lambda t, count: -1 if t == 0 else 1), **RECURRENT)
    (explanation,) = explain(case, [NAMED["sign-flipped"]]).values()
    assert said(explanation).startswith("wrong-sign: in the first iteration of the forward pass, ")
    assert said(explanation).endswith("has the wrong sign")


def test_one_path_only() -> None:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        z = torch.tanh(x @ w)
        return z * (x @ v)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        z, y = torch.tanh(x @ w), x @ v
        return {"x": (g * y) @ w.T + (g * z) @ v.T, "w": x.T @ (g * y * (1 - z**2)), "v": x.T @ (g * z)}

    case = case_of(forward, wrong, x="bs n", w="n m", v="n m")
    explanation = explain(case, [NAMED["derivative-missing"]])["x"]
    assert explanation.code == "missing-local"
    assert "on the path through x in `x @ w`" in said(explanation) or "the derivative of" in said(explanation)


def test_a_factor_that_a_size_explains() -> None:
    case = case_of(layer, lambda x, w, b, g: {"w": x.T @ (g * slope(x, w, b)) / len(x)}, **LAYER)
    assert explain(case, [NAMED["sign-flipped"]])["w"].code == "mean-for-sum"
    besides = case_of(layer, lambda x, w, b, g: {"w": x.T @ g / len(x)}, **LAYER)
    mistake = explain(besides, [NAMED["derivative-missing"]])["w"]
    assert (mistake.code, [fact.operator for fact in mistake.facts]) == (
        "missing-local",
        ["derivative-missing", "factor-divided"],
    )


def test_a_factor_that_nothing_explains_is_no_evidence() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ g * float(x[0, 0])}

    assert explain(case_of(layer, wrong, **LAYER), [NAMED["derivative-missing"]]) == {}


def test_one_path_with_a_factor() -> None:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return x + torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": 2 * g + (g * (1 - torch.tanh(x @ w) ** 2)) @ w.T}

    case = case_of(forward, wrong, x="bs n", w="n n")
    mistake = explain(case, [NAMED["path-dropped"]])["x"]
    assert mistake.code == "wrong-factor"
    assert mistake.facts[0].parameters["factor"] == "2"


@pytest.mark.parametrize(("rows", "words"), [(slice(-1, None), "the last row"), (slice(1, None), "every row but the")])
def test_some_rows_only(rows: slice, words: str) -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx = (g * slope(x, w, b)) @ w.T
        dx[rows] = 0
        return {"x": dx}

    explanation = explain(case_of(layer, wrong, **LAYER), [NAMED["derivative-missing"]])["x"]
    assert said(explanation).startswith(f"partial-batch: the gradient is missing in {words}")


def test_two_edits() -> None:
    def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return torch.tanh(torch.tanh(x @ w) @ v)

    def wrong(x: Tensor, w: Tensor, v: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ (g @ v.T)}

    mistake = explain(case_of(forward, wrong, x="bs n", w="n m", v="m m"), [NAMED["derivative-missing"]])["w"]
    assert mistake.code == "missing-local"
    assert len({fact.parameters["derivative"] for fact in mistake.facts}) in (1, 2)


def test_an_edit_that_gives_a_value_another_shape_costs_its_own_candidate_alone() -> None:
    """Parts of different sizes are put together; an edit that takes the parts of another iteration has no gradient."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        means = [x[:, max(i - 1, 0) : i + 2].mean(1) for i in (0, 2, 4)]
        return torch.stack(means, 1) ** 2 * w[:, None]

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        means = torch.stack([x[:, max(i - 1, 0) : i + 2].mean(1) for i in (0, 2, 4)], 1)
        return {"w": (g * means).sum(1)}

    explanation = explain(case_of(forward, wrong, x="bs n", w="bs"), OPERATORS)["w"]
    assert explanation.code == "wrong-operand"


def test_an_edit_that_explains_one_answer_explains_others_on_its_path() -> None:
    """The gradient of x has a right part too, which comes along a path that w is not on."""

    def forward(x: Tensor, u: Tensor, w: Tensor) -> Tensor:
        z = x @ u + (x @ w).sin()
        return torch.tanh(z)

    def wrong(x: Tensor, u: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        out, cos = forward(x, u, w), (x @ w).cos()
        dz, other = g * (1 - out**2), g * (1 - out)
        return {"x": dz @ u.T + (other * cos) @ w.T, "u": x.T @ dz, "w": x.T @ (other * cos)}

    found = explain(case_of(forward, wrong, x="bs n", u="n m", w="n m"), OPERATORS)
    assert set(found) == {"x", "w"}
    assert {mistake.code for mistake in found.values()} == {found["w"].code} != {"unknown"}
    assert "on the path through" in said(found["x"]) or found["x"].cause == "w"


def test_an_edit_may_concern_what_one_of_several_terms_contributes() -> None:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        logp = torch.log_softmax(x @ w, 1)
        return logp[:, 0].sin() + 0.3 * (torch.exp(logp) * logp).sum(1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Forget the sum over the row for the first class, but not for the entropy."""
        logp = torch.log_softmax(x @ w, 1)
        p = torch.exp(logp)
        of_entropy = 0.3 * g[:, None] * p * (1 + logp)
        dz = of_entropy - p * of_entropy.sum(1, keepdim=True)
        dz[:, 0] += g * logp[:, 0].cos()
        return {"x": dz @ w.T, "w": x.T @ dz}

    sentence = only(forward, wrong, x="bs n", w="n m")
    assert sentence.startswith("missing-path: for what comes from `logp[:, 0]`: in the gradient of `x @ w` through")


def test_one_slip_at_two_places_is_named_before_the_value_behind_both() -> None:
    def forward(x: Tensor, leaf: Tensor) -> Tensor:
        a, b, c = torch.sigmoid(x[:, 0]), torch.sigmoid(x[:, 1]), torch.sigmoid(x[:, 2])
        return torch.stack([a * b, (1 - a) * c, (1 - a) * (1 - c)], 1) @ leaf[:3]

    def wrong(x: Tensor, leaf: Tensor, g: Tensor) -> dict[str, Tensor]:
        (a, b, c), d = torch.sigmoid(x[:, :3]).T, g @ leaf[:3].T
        da = d[:, 0] * b - d[:, 1] * c - d[:, 2] * (1 - c)
        db, dc = a * d[:, 0], a * (d[:, 1] - d[:, 2])
        dx = torch.zeros_like(x)
        dx[:, :3] = torch.stack([da * a * (1 - a), db * b * (1 - b), dc * c * (1 - c)], 1)
        return {"x": dx}

    assert only(forward, wrong, x="bs n", leaf="n m").count("is used in place of `1 - a`") == 2


def test_an_edit_that_explains_some_answers_may_have_no_effect_on_one_path() -> None:
    """The gradient of x has the right probabilities on the path through the bias alone, which has a right gradient."""

    def forward(x: Tensor, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return torch.logsumexp(torch.tanh(x @ u) - (x @ v) ** 2 - torch.exp(x @ w), 1)

    def wrong(x: Tensor, u: Tensor, v: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        prior, slopes = torch.tanh(x @ u), 1 - torch.tanh(x @ u) ** 2
        right = g[:, None] * torch.softmax(prior - (x @ v) ** 2 - torch.exp(x @ w), 1)
        wrong = g[:, None] * torch.softmax(prior, 1)
        du, dv, dw = right * slopes, -2 * wrong * (x @ v), -wrong * torch.exp(x @ w)
        return {"x": du @ u.T + dv @ v.T + dw @ w.T, "u": x.T @ du, "v": x.T @ dv, "w": x.T @ dw}

    found = explain(case_of(forward, wrong, x="bs n", u="n m", v="n m", w="n m"), OPERATORS)
    assert set(found) == {"x", "v", "w"}
    assert {mistake.code for mistake in found.values()} == {"wrong-point"}
    assert "; on the path through `torch.tanh(x @ u)`" in said(found["x"])


def test_no_fact_ends_the_search_before_second_edits_have_been_tried() -> None:
    """The posterior is missing on the path to the means alone; where the gradient of x goes wrong is a fact, too."""

    def forward(x: Tensor, y: Tensor, wp: Tensor, wm: Tensor, ws: Tensor) -> Tensor:
        ls = x @ ws
        e = (y[:, None] - x @ wm) / ls.exp()
        return -torch.logsumexp(torch.log_softmax(x @ wp, 1) - ls - 0.5 * e**2, 1)

    def wrong(x: Tensor, y: Tensor, wp: Tensor, wm: Tensor, ws: Tensor, g: Tensor) -> dict[str, Tensor]:
        ls, prior = x @ ws, torch.log_softmax(x @ wp, 1)
        e, g = (y[:, None] - x @ wm) / ls.exp(), g[:, None]
        post = torch.softmax(prior - ls - 0.5 * e**2, 1)
        dmu, dls, dlp = -g * e / ls.exp(), g * post * (1 - e**2), g * (prior.exp() - post)
        dx = dlp @ wp.T + dmu @ wm.T + dls @ ws.T
        return {"x": dx, "y": -dmu.sum(1), "wm": x.T @ dmu, "wp": x.T @ dlp, "ws": x.T @ dls}

    case = case_of(forward, wrong, x="bs n", y="bs", wp="n m", wm="n m", ws="n m")
    found = explain(case, OPERATORS, [FirstWrongGradient()])
    assert set(found) == {"x", "y", "wm"}
    assert said(found["x"]).startswith("missing-local: on the path through `y[:, None] - x @ wm`")


def test_a_kernel_may_take_the_sums_of_a_softmax_from_the_right_output() -> None:
    """It computes the probabilities once more, here without the bias, but not the output."""

    def forward(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return (q @ k.T + bias.sin()).softmax(-1) @ v

    def wrong(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, g: Tensor) -> dict[str, Tensor]:
        p = (q @ k.T).softmax(-1)
        dscores = p * (g @ v.T - (forward(q, k, v, bias) * g).sum(-1, keepdim=True))
        return {"q": dscores @ k, "k": dscores.T @ q, "v": p.T @ g, "bias": dscores * bias.cos()}

    found = explain(case_of(forward, wrong, q="bs n", k="t n", v="t m", bias="bs t"), OPERATORS)
    assert set(found) == {"q", "k", "v", "bias"}
    assert {mistake.cause for mistake in found.values()} == {"", "v"}
    assert "is left out in your forward pass" in said(found["v"])


def test_where_names_the_value_nearest_to_the_loss_whose_gradient_is_wrong() -> None:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.softmax(z, -1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": x.T @ g.exp()}

    says = said(explain(case_of(forward, wrong, x="t n", w="n m"), [], [FirstWrongGradient()])["w"])
    assert says == "unknown: the gradient of z is already wrong; everything from there back to the inputs is right"


def test_where_joins_answers_that_one_gradient_explains() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g.exp()
        return {"x": dz @ w.T, "w": x.T @ dz, "b": dz.sum(0)}

    explanations = explain(case_of(layer, wrong, **LAYER), [], [FirstWrongGradient()])
    assert {name: each.cause for name, each in explanations.items()} == {"b": "", "w": "b", "x": "b"}
    assert "the gradient of z is already wrong" in said(explanations["b"])


def test_where_ends_once_it_has_done_its_share_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g.exp() @ w.T, "w": x.T @ g.exp(), "b": g.exp().sum(0)}

    monkeypatch.setattr("grader.diagnosis.wrong_values.MOST_WORK_OF_VALUES", 0.0)
    assert explain(case_of(layer, wrong, **LAYER), [], [FirstWrongGradient()]) == {}


def test_where_says_nothing_with_more_unknowns_than_equations() -> None:
    case = case_of(layer, lambda x, w, b, g: {"b": g.exp().sum(0)}, **LAYER)
    assert explain(case, [], [FirstWrongGradient()]) == {}


def loop(x: Tensor, wx: Tensor, wh: Tensor) -> Tensor:
    h = x.new_zeros(len(x), len(wh))
    for t in range(x.shape[1]):
        h = (x[:, t] @ wx + h @ wh).tanh()
    return h


LOOP = {"x": "bs t n", "wx": "n m", "wh": "m m"}


def loop_backward(
    x: Tensor, wx: Tensor, wh: Tensor, g: Tensor, carry: Callable[[Tensor], Tensor], last: Callable[[Tensor], Tensor]
) -> dict[str, Tensor]:
    """Return the gradients of `loop`, where the gradient goes through `carry` once more in each iteration."""
    states = [loop(x[:, :t], wx, wh) for t in range(x.shape[1] + 1)]
    grads = {"x": torch.zeros_like(x), "wx": torch.zeros_like(wx), "wh": torch.zeros_like(wh)}
    for t in reversed(range(x.shape[1])):
        dz = carry(g) * (1 - states[t + 1] ** 2)
        grads["x"][:, t] = last(dz) @ wx.T
        grads["wx"] += x[:, t].T @ dz
        grads["wh"] += states[t].T @ dz
        g = dz @ wh.T
    return grads


def test_where_names_a_value_whose_gradient_is_wrong_in_every_iteration() -> None:
    def wrong(x: Tensor, wx: Tensor, wh: Tensor, g: Tensor) -> dict[str, Tensor]:
        return loop_backward(x, wx, wh, g, carry=lambda g: g + 0.1 * g.sum(0) ** 3, last=lambda dz: dz)

    found = explain(case_of(loop, wrong, **LOOP), [], [FirstWrongGradient()])
    says = "the gradient of `x[:, t] @ wx + h @ wh` is already wrong in the loop; what the inputs get from it is right"
    assert said(found[min(found, key=lambda name: found[name].cause)]) == f"unknown: {says}"
    assert set(found) == {"x", "wx", "wh"}


def test_where_says_what_is_behind_the_answers_that_are_right() -> None:
    def wrong(x: Tensor, wx: Tensor, wh: Tensor, g: Tensor) -> dict[str, Tensor]:
        return loop_backward(x, wx, wh, g, carry=lambda g: g, last=lambda dz: dz.sum(0) ** 3 + dz)

    says = said(explain(case_of(loop, wrong, **LOOP), [], [FirstWrongGradient(), BehindRightAnswers("x")])["x"])
    step = "that of `x[:, t] @ wx`: look at the step from there to x"
    assert says == f"unknown: the gradient of wx is right, and so, most likely, is {step}"


def test_where_names_no_value_whose_wrong_gradient_would_make_a_right_answer_wrong() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g.exp() @ w.T, "w": x.T @ g, "b": g.sum(0)}

    found = explain(case_of(layer, wrong, **LAYER), [], [FirstWrongGradient()])
    assert "already wrong" not in str(found)


def test_where_counts_no_equation_without_unknowns() -> None:
    jacobian = np.zeros((5, 2))
    jacobian[:2] = np.eye(2)
    assert least_squares_error(jacobian, np.array([3.0, 4.0, 0.0, 0.0, 0.0])) == float("inf")


def test_an_edit_that_the_usual_trial_has_is_not_tried_again_for_a_trial_of_another_structure() -> None:
    def forward(x: Tensor, b: Tensor) -> Tensor:
        return (x + b).tanh()

    samples = []
    for number, shape in enumerate(((4,), (5, 1))):
        generator = np.random.default_rng(number)
        x, b, g = (torch.from_numpy(generator.standard_normal(own)) for own in ((5, 4), shape, (5, 4)))
        trial = Trial(Setting(number, "other sizes", {}), {"x": x, "b": b}, {}, {"x": x, "b": b}, out_g=g)
        samples.append(ProgramSample(trial, record(forward, {"x": x, "b": b}, g), {"x": g.numpy()}))
    case = Case(samples, ("x",))

    def described(edit: Edit) -> tuple[object, ...]:
        return edit.operator.name, edit.spot.selector, edit.choice

    usual = {described(edit) for operator in OPERATORS for edit in edits(operator, case.listing)}
    further = [described(c.edit) for operator in OPERATORS for c in edits_of_other_structures(operator, case)]
    assert further
    assert len(further) == len(set(further))
    assert not usual.intersection(further)


def test_a_budget_ends_in_facts_and_is_the_same_for_the_same_answer() -> None:
    @dataclass(frozen=True)
    class Last:
        rank: float = 10.0

        def explain(self, case: Case) -> Mapping[str, Mistake]:
            return {"w": Mistake("unknown", facts=(Fact("last", {}),))}

        def changes_right_answer(self, case: Case) -> bool:
            return False

    work = []
    for budget in (0.0, 300.0, 300.0):
        case = case_of(recurrence, lambda x, w, u, h, g: {"w": torch.sin(w)}, **RECURRENT)
        assert explain(case, OPERATORS, [Last()], budget)["w"].code == "unknown"
        work.append(case.work)
    assert 0 < work[1] == work[2]


def test_a_mistake_without_a_place_has_that_of_an_equally_likely_one() -> None:
    @dataclass(frozen=True)
    class Known:
        code: str
        rank: float
        at: tuple[Place, ...] = ()

        def explain(self, case: Case) -> Mapping[str, Mistake]:
            return {"w": Mistake(self.code, at=self.at)}

        def changes_right_answer(self, case: Case) -> bool:
            return False

    case = case_of(layer, lambda x, w, b, g: {"w": torch.sin(w)}, **LAYER)
    rare = Known("wrong-order", 4.0, ((3, 0),))
    assert explain(case, [], [Known("wrong-sign", 2.0), rare])["w"] == Mistake("wrong-sign")
    known = [Known("wrong-point", 2.2, ((1, 0),)), Known("wrong-sign", 2.0), rare]
    assert explain(case, [], known)["w"] == Mistake("wrong-sign", at=((1, 0),))


def test_a_choice_of_another_value_is_made_in_every_iteration_alone() -> None:
    program = case_of(recurrence, recurrent_gradients(lambda step, steps: -1), **RECURRENT).listing
    whole = NAMED["another-partner"].at
    assert whole.is_whole
    assert not any(spot.iterations_clause for spot in whole.spots(program))
    assert any(spot.iterations_clause for spot in replace(whole, is_whole=False).spots(program))


def test_the_screen_has_few_iterations_rather_than_few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small arrays, each operation takes as long, however many entries they have."""
    sizes = ({"t": 7, "bs": 2, "n": 2, "m": 2}, {"t": 3, "bs": 4, "n": 5, "m": 6})
    monkeypatch.setitem(globals(), "SIZES", sizes)
    (screen,) = case_of(recurrence, recurrent_gradients(lambda step, steps: -1), **RECURRENT).screens
    assert screen.sample.trial.setting.sizes["t"] == 3


def test_candidates_come_in_rising_rank_and_sources_begin_late() -> None:
    case = case_of(recurrence, recurrent_gradients(lambda t, count: 0.5 + t), **RECURRENT)
    ranks = [rank for rank, _ in stream(case, OPERATORS)]
    assert len(ranks) > 100
    assert ranks == sorted(ranks)
    begun = []

    def source(rank: float) -> CandidateSource:
        return CandidateSource(rank, lambda: begun.append(rank) or iter(()))  # type: ignore[func-returns-value]

    candidates = merge_sources(
        [source(1.0), CandidateSource(2.0, lambda: edits(NAMED["sign-flipped"], case.listing)), source(3.0)]
    )
    next(candidates)
    assert begun == [1.0]


def test_a_source_pays_for_what_it_tries_but_not_for_what_explains_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """After three signs that explain one answer each, the one that explains all of them came too late."""

    def forward(x: Tensor, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return w - torch.tanh(torch.tanh(torch.tanh(x) * u) * v)

    def wrong(x: Tensor, u: Tensor, v: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Lose the minus of `w - ...`."""
        inner, middle = torch.tanh(x), torch.tanh(torch.tanh(x) * u)
        dv = g * (1 - torch.tanh(middle * v) ** 2)
        du = dv * v * (1 - middle**2)
        return {"v": dv * middle, "u": du * inner, "x": du * u * (1 - inner**2), "w": g}

    case = case_of(forward, wrong, x="bs n", u="bs n", v="bs n", w="bs n")
    monkeypatch.setattr(search, "SHARE_OF_SOURCE", 1000)
    for rank, candidate in stream(case, [NAMED["sign-flipped"]]):
        candidate.explain(case)
        assert rank == candidate.rank
    assert case.work - case.work_of_matches < 1000 < case.work_of_matches


def test_a_source_that_has_used_up_its_share_of_the_work_lets_others_go_first() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Mapping[str, Tensor]:
        return {"b": torch.sin(g.sum(0))}

    case = case_of(layer, wrong, x="bs n", w="n m", b="m")
    flipped = list(edits(NAMED["sign-flipped"], case.listing))
    costly, cheap = flipped[0], next(edit for edit in edits(NAMED["upstream-missing"], case.listing))
    work, order = 0.0, []
    sources = [
        CandidateSource(1.0, lambda: iter([costly] * 6)),
        CandidateSource(costly.rank + 1.5 * SPENT_RANK, lambda: iter([cheap] * 2)),
    ]
    for rank, candidate in merge_sources(sources, work=lambda: work):
        work += 0.6 * SHARE_OF_SOURCE if candidate is costly else 0.0
        order.append((candidate, rank - costly.rank))
    assert [candidate for candidate, _ in order] == [costly] * 4 + [cheap] * 2 + [costly] * 2
    assert [rank for candidate, rank in order if candidate is costly] == [0, 0, 1, 1, 2, 3]


def test_rarer_edits_that_change_a_right_answer_come_after_the_others() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Mapping[str, Tensor]:
        dz = g * slope(x, w, b)
        return {"x": dz @ w.T, "w": 0.5 * x.T @ dz, "b": dz.sum(0)}

    case = case_of(layer, wrong, x="bs n", w="n m", b="m")
    edits_of_case = [(rank, edit) for rank, edit in stream(case, OPERATORS) if isinstance(edit, Edit)]
    later = {edit for rank, edit in edits_of_case if rank >= edit.rank + CHANGES_RIGHT_ANSWER}
    rarer = [edit for _, edit in edits_of_case if edit.rank >= LIKELY and edit.operator.at.kind == "edge"]
    contradicted = {edit for edit in rarer if case.changes_right_answer(edit)}
    assert 10 < len(contradicted) < len(rarer)
    assert later.intersection(rarer) == contradicted
    assert all(edit.rank >= LIKELY for edit in later)


# --- answers that are zero, that have another shape, or that are no gradients -------------------------------------


def only(forward: Callable[..., Tensor], wrong: Wrong, **axes: str) -> str:
    """What is said of a wrong answer by the edits alone; empty where none gives it."""
    case = case_of(forward, wrong, **axes)
    explanations = explain(case, OPERATORS)
    return said(next(iter(explanations.values()))) if explanations else ""


def masked(x: Tensor, w: Tensor) -> Tensor:
    return torch.relu(x @ w) * 2


@pytest.mark.parametrize("combinator", COMBINATORS, ids=lambda combinator: combinator.__name__)
def test_every_combinator_yields_the_likeliest_first(combinator: Combinator) -> None:
    def square(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w) @ w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> Mapping[str, Tensor]:
        z = torch.tanh(x @ w)
        gradient = z.T @ g + x.T @ (g @ w.T * (1 - z**2))
        return {"w": gradient.T / len(x)}

    case = case_of(square, wrong, x="bs n", w="n n")
    for rank, candidate in stream(case, [operator for operator in OPERATORS if operator.rank <= 3]):
        if rank > LEAST + PATH_RANK:
            break
        candidate.explain(case)
    ranks = [candidate.rank for candidate in combinator(case)]
    assert ranks == sorted(ranks)
    assert ranks or combinator not in (edits_with_factor, edits_on_path)


def test_nothing_but_zeros_is_no_edit() -> None:
    assert only(masked, lambda x, w, g: {"x": torch.zeros_like(x)}, x="bs n", w="n m") == ""


@dataclass(frozen=True, eq=False)
class NegatedAndDropped:
    """In `x + b.sin()` the gradient of x is negated, and that of b missing; rounding hides this in some trials."""

    vague_in: tuple[Program, ...] = ()

    def apply(self, program: Program) -> Program:
        total = program.nodes[-1].id

        def rule(at: EdgeContext) -> Array:
            if program in self.vague_in:
                raise Vague("nearly singular")
            return -at.g

        return program.without((total, 1)).with_vjp((total, 0), rule)


def test_an_answer_of_zeros_is_explained_beside_another_one() -> None:
    def wrong(x: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": -g, "b": torch.zeros_like(b)}

    case = case_of(lambda x, b: x + b.sin(), wrong, x="bs n", b="n")
    assert set(case.targets_explained_by(NegatedAndDropped())) == {"x", "b"}
    assert case.targets_explained_by(NegatedAndDropped(), ["x"]) == ("x",)
    assert case.targets_explained_by(NegatedAndDropped(), ["b"]) == ()
    vague = NegatedAndDropped((case.samples[1].program,))
    assert set(case.targets_explained_by(vague)) == {"x", "b"}
    *others, last = case.samples
    without_b = Case([*others, replace(last, given={"x": last.given["x"]})], case.names)
    assert set(without_b.targets_explained_by(NegatedAndDropped())) == {"x", "b"}


def test_what_cancels_is_the_edit_that_computes_it() -> None:
    def wrong(x: Tensor, g: Tensor) -> Mapping[str, Tensor]:
        p = x.softmax(-1)
        return {"x": p - p * p.sum(-1, keepdim=True) + 1e-9 * g}

    sentence = only(lambda x: x.softmax(-1), wrong, x="bs n")
    assert sentence == "missing-upstream: the factor out.g is missing: your code treats it as 1"


def test_an_answer_of_another_shape_may_have_a_factor_besides() -> None:
    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Mapping[str, Tensor]:
        return {"w": (x.T @ (g * slope(x, w, b))).T / 3}

    sentence = only(layer, wrong, x="bs n", w="n m", b="m")
    assert sentence.startswith("transposed: this is the transpose of the right answer; factor-number")


def test_an_upstream_gradient_may_be_missing_on_one_path() -> None:
    def forward(x: Tensor) -> Tensor:
        return x * torch.tanh(x) / 2

    def wrong(x: Tensor, g: Tensor) -> Mapping[str, Tensor]:
        return {"x": g * torch.tanh(x) / 2 + x * (1 - torch.tanh(x) ** 2) / 2}

    assert only(forward, wrong, x="bs n").startswith("missing-upstream: on the path through `torch.tanh(x)`")


def test_what_is_made_of_a_right_answer_that_is_no_gradient_is_named() -> None:
    answer = Answer("return", "x", "jacobian")
    samples = []
    for number, (n, m) in enumerate(((3, 4), (5, 3), (4, 6))):
        w = torch.from_numpy(np.random.default_rng(number).standard_normal((n, m)))
        right = w.T.numpy()
        trial = Trial(Setting(number, "other sizes", {"n": n, "m": m}), {"w": w}, {"return": right}, {"w": w})
        samples.append(Sample(trial, right.T, right))
    case = Case([], ("x",), answers={"x": (answer, samples)})
    (mistake,) = explain(case, (), observations(case)).values()
    assert (mistake.code, mistake.facts[0].says) == ("transposed", "this is the transpose of the right answer")


def test_a_mask_of_something_else_is_a_fact_where_no_edit_gives_it() -> None:
    answer = Answer("x.g", "x")
    recorded, samples = [], []
    for number, shape in enumerate(((4, 5), (6, 3))):
        generator = np.random.default_rng(number)
        x, g = (torch.from_numpy(generator.standard_normal(shape)) for _ in range(2))
        program = record(torch.relu, {"input": x}, g)
        right = (g * (x > 0)).numpy()
        trial = Trial(Setting(number, "other sizes", {}), {"x": x}, {"x.g": right}, {"x": x}, out_g=g)
        wrong = (g * (x > -0.5)).numpy()
        recorded.append(ProgramSample(trial, program, {"input": wrong}))
        samples.append(Sample(trial, wrong, right))
    case = Case(recorded, ("input",), answers={"input": (answer, samples)})
    explanation = explain(case, (), observations(case))["input"]
    assert (explanation.code, explanation.facts[0].operator) == ("wrong-local", "another-mask")


def test_an_operator_that_cannot_list_its_choices_costs_its_own_edits_alone() -> None:
    def failing(program, place):
        yield "one"
        raise ValueError("a shape that nobody foresaw")

    program = record(lambda x: x.sin(), {"x": np.ones((2, 3))})
    broken = replace(OPERATORS[0], at=places.edges, choices=failing)
    sound = next(operator for operator in OPERATORS if operator.name == "sign-flipped")
    sources = [CandidateSource(operator.rank, partial(edits, operator, program)) for operator in (broken, sound)]
    assert {candidate.operator.name for _, candidate in merge_sources(sources)} == {"sign-flipped"}
    with pytest.raises(ValueError, match="nobody foresaw"):
        list(edits(broken, program))
