"""`explain`: right backward passes are right, wrong ones get their code, and what cannot be judged is said."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.autograd import Function

from grader.course.exercise import Exercise, stored
from grader.course.sampling import normal as normal_entries
from grader.course.sampling import output
from grader.course.trial_sizes import Setting
from grader.diagnosis import diagnose
from grader.diagnosis.operators import OPERATORS, contract, places
from grader.diagnosis.search import MOST_WORK
from grader.explain import verdicts
from grader.explain.axes import with_small_sizes
from grader.explain.trials import are_gradients_confirmed
from grader.reference.trials import make_trial
from grader.results.codes import CODES, VALUE_CODES
from handgrad import explain

NORMAL = torch.Generator().manual_seed(7)


@pytest.fixture(autouse=True)
def same_draws_whatever_ran_before():
    NORMAL.manual_seed(7)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=NORMAL, dtype=dtype)


def linear(x, w, b):
    return x @ w + b


def softmax(x):
    return torch.softmax(x, -1)


def mse(x, y):
    return ((x - y) ** 2).mean()


def layer_norm(x, gain, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * gain


def layer_norm_backward(out, out_g, x, gain, eps):
    centred = x - x.mean(-1, keepdim=True)
    root = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    unit, g = centred / root, out_g * gain
    x_g = (g - g.mean(-1, keepdim=True) - unit * (g * unit).mean(-1, keepdim=True)) / root
    return {"x": x_g, "gain": (out_g * unit).flatten(0, -2).sum(0)}


def attention(q, k, v, mask):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v


def attention_backward(out, out_g, q, k, v, mask, scale=True):
    root = q.shape[-1] ** 0.5
    shares = torch.softmax((q @ k.mT / root).masked_fill(~mask, float("-inf")), -1)
    g = out_g @ v.mT
    g = shares * (g - (g * shares).sum(-1, keepdim=True)) / (root if scale else 1)
    return {"q": g @ k, "k": g.mT @ q, "v": shares.mT @ out_g}


def recurrence(x, h, w):
    for row in x:
        h = torch.tanh(row + h @ w)
    return h


class Linear(Function):
    """Three inputs; computes only what is asked for."""

    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w + b

    @staticmethod
    def backward(ctx, out_g):
        x, w = ctx.saved_tensors
        x_g = out_g @ w.T if ctx.needs_input_grad[0] else None
        w_g = x.T @ out_g if ctx.needs_input_grad[1] else None
        return x_g, w_g, out_g.sum(0) if ctx.needs_input_grad[2] else None


class SumAndProduct(Function):
    """Two inputs, two outputs."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a + b, a * b

    @staticmethod
    def backward(ctx, sum_g, product_g):
        a, b = ctx.saved_tensors
        return sum_g + product_g * b, sum_g + product_g * a


class WithSetup(Function):
    """The newer style, with a number among the inputs."""

    @staticmethod
    def forward(x, power):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, out_g):
        (x,) = ctx.saved_tensors
        return out_g * ctx.power * x ** (ctx.power - 1), None


def max_backward(out, out_g, x):
    return {"x": torch.zeros_like(x).scatter(1, out[1][:, None], out_g[0][:, None])}


def embedding_backward(out, out_g, table, index):
    return {"table": torch.zeros_like(table).index_add(0, index.flatten(), out_g.flatten(0, -2))}


def cross_entropy_backward(out, out_g, logits, target):
    return {"logits": out_g * (logits.softmax(-1) - target) / len(logits)}


RIGHT = {
    "a linear layer as a Function": (
        linear,
        {"x": normal(7, 5), "w": normal(5, 3), "b": normal(3)},
        {"function": Linear},
    ),
    "two outputs": (lambda a, b: (a + b, a * b), {"a": normal(4, 3), "b": normal(4, 3)}, {"function": SumAndProduct}),
    "a Function with setup_context": (lambda x, power: x**power, {"x": normal(4), "power": 3}, {"function": WithSetup}),
    "softmax in float64": (
        softmax,
        {"x": normal(4, 6, dtype=torch.float64)},
        {"backward": lambda out, out_g, x: {"x": out * (out_g - (out * out_g).sum(-1, keepdim=True))}},
    ),
    "layer norm": (
        layer_norm,
        {"x": normal(2, 3, 8), "gain": torch.ones(8), "eps": 1e-5},
        {"backward": layer_norm_backward},
    ),
    "attention under a causal mask": (
        attention,
        {"q": normal(2, 6, 4), "k": normal(2, 6, 4), "v": normal(2, 6, 4), "mask": torch.ones(6, 6).tril().bool()},
        {"backward": attention_backward},
    ),
    "an embedding": (
        lambda table, index: table[index],
        {"table": normal(10, 4), "index": torch.tensor([[1, 9, 1], [0, 2, 5]])},
        {"backward": embedding_backward},
    ),
    "a row's largest entry, and where it is": (lambda x: x.max(1), {"x": normal(4, 6)}, {"backward": max_backward}),
    "cross-entropy of one-hot rows": (
        lambda logits, target: -(target * logits.log_softmax(-1)).sum(-1).mean(),
        {"logits": normal(8, 5), "target": torch.eye(5)[[0, 2, 2, 1, 4, 3, 0, 1]]},
        {"backward": cross_entropy_backward},
    ),
    "torch's own convolution": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        {"x": normal(2, 3, 5, 5), "w": normal(4, 3, 3, 3), "b": normal(4)},
        {"function": lambda x, w, b: F.conv2d(x, w, b, padding=1)},
    ),
    "a list among the inputs": (
        lambda parts, w: torch.stack(parts).sum(0) * w,
        {"parts": [normal(3), normal(3)], "w": normal(3)},
        {"backward": lambda out, out_g, parts, w: {"w": out_g * (parts[0] + parts[1])}},
    ),
    "a Cholesky factor": (
        torch.linalg.cholesky,
        {"input": torch.eye(4) + torch.ones(4, 4) / 2},
        {"function": torch.linalg.cholesky},
    ),
    "a single number, learnt": (
        lambda x, scale: torch.tanh(x) * scale,
        {"x": normal(4, 3), "scale": torch.tensor(0.5)},
        {"function": lambda x, scale: torch.tanh(x) * scale},
    ),
    "the numbers of one call": (
        linear,
        {"x": torch.ones(7, 5), "w": torch.ones(5, 3), "b": torch.zeros(3)},
        {"gradients": {"w": torch.full((5, 3), 7.0), "b": torch.full((3,), 7.0)}, "upstream": torch.ones(7, 3)},
    ),
}


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("case", RIGHT)
def test_no_mistake_is_found_in_a_right_backward_pass(case, seed):
    forward, inputs, under_test = RIGHT[case]
    explanation = explain(forward, inputs, **under_test, seed=seed)
    assert explanation.ok, str(explanation)
    assert explanation.mistakes == ()
    explanation.assert_ok()


def wrong_linear(**wrong):
    """A linear layer of which some gradients are replaced."""
    right = {"x": lambda x, w, g: g @ w.T, "w": lambda x, w, g: x.T @ g, "b": lambda x, w, g: g.sum(0)}

    def backward(out, out_g, x, w, b):
        return {name: rule(x, w, out_g) for name, rule in {**right, **wrong}.items()}

    return linear, {"x": normal(7, 5), "w": normal(5, 3), "b": normal(3)}, {"backward": backward}


class OnlyOneOutput(SumAndProduct):
    @staticmethod
    def backward(ctx, sum_g, product_g):
        a, b = ctx.saved_tensors
        return sum_g + product_g * b, product_g * a


class ScaleTwice(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x.tanh() * scale

    @staticmethod
    def backward(ctx, out_g):
        (x,) = ctx.saved_tensors
        return out_g * ctx.scale * (1 - x.tanh() ** 2) * ctx.scale, None


class KeptOnTheClass(Function):
    @staticmethod
    def forward(ctx, x, w):
        KeptOnTheClass.x = x
        ctx.save_for_backward(w)
        return x @ w

    @staticmethod
    def backward(ctx, out_g):
        (w,) = ctx.saved_tensors
        return out_g @ w.T, KeptOnTheClass.x.T @ out_g


class SavesWhatIsNeeded(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, w)
        return x @ w

    @staticmethod
    def backward(ctx, out_g):
        x, w = ctx.saved_tensors
        return out_g @ w.T, x.T @ out_g


class WrongIndex(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, out_g):
        x, w = ctx.saved_tensors
        return out_g @ w.T, x.T @ out_g if ctx.needs_input_grad[0] else None


class BiasNotSummed(Linear):
    @staticmethod
    def backward(ctx, out_g):
        x, w = ctx.saved_tensors
        return out_g @ w.T, x.T @ out_g, out_g


def recurrence_backward(out, out_g, x, h, w):
    kept = [h]
    for row in x:
        kept.append(torch.tanh(row + kept[-1] @ w))
    x_g, w_g, g = torch.zeros_like(x), torch.zeros_like(w), out_g
    for t in reversed(range(len(x))):
        x_g[t] = g * (1 - kept[t + 1])
        w_g += kept[t].T @ x_g[t]
        g = x_g[t] @ w.T
    return {"x": x_g, "h": g, "w": w_g}


def changes_upstream(out, out_g, x):
    return {"x": out_g.mul_(2 * x)}


SQUARE = (lambda x: x**2, {"x": normal(4, 3)})
MATMUL = (lambda x, w: x @ w, {"x": normal(4, 3), "w": normal(3, 2)})
WRONG = {
    "averaged over the batch": (*wrong_linear(w=lambda x, w, g: x.T @ g / len(x)), {"w": "mean-for-sum"}),
    "the batch not summed": (*wrong_linear(b=lambda x, w, g: g), {"b": "missing-batch-sum"}),
    "a transpose missing": (
        *MATMUL[:1],
        {"x": normal(4, 3), "w": normal(3, 3)},
        {"backward": lambda out, out_g, x, w: {"x": out_g @ w, "w": x.T @ out_g}},
        {"x": "transposed"},
    ),
    "the path through one of two outputs": (
        lambda a, b: (a + b, a * b),
        {"a": normal(4, 3), "b": normal(4, 3)},
        {"function": OnlyOneOutput},
        {"b": "missing-path"},
    ),
    "a scale applied twice": (
        lambda x, scale: x.tanh() * scale,
        {"x": normal(4, 3), "scale": 0.3},
        {"function": ScaleTwice},
        {"x": "extra-factor"},
    ),
    "kept on the class": (*MATMUL, {"function": KeptOnTheClass}, {"w": "not-repeatable"}),
    "saved for the other gradient only": (*MATMUL, {"function": SavesWhatIsNeeded}, {"x": "error"}),
    "asks whether another gradient is needed": (*MATMUL, {"function": WrongIndex}, {"w": "missing-answer"}),
    "a bias that torch would sum": (
        *wrong_linear()[:2],
        {"function": BiasNotSummed},
        {"b": "missing-batch-sum"},
    ),
    "the scale of attention missing": (
        attention,
        {"q": normal(2, 6, 4), "k": normal(2, 6, 4), "v": normal(2, 6, 4), "mask": torch.ones(6, 6).tril().bool()},
        {"backward": lambda *args, **inputs: attention_backward(*args, **inputs, scale=False)},
        {"q": "missing-local", "k": "missing-local"},
    ),
    "one line of a loop": (
        recurrence,
        {"x": normal(3, 2, 4), "h": normal(2, 4), "w": normal(4, 4)},
        {"backward": recurrence_backward},
        {"x": "wrong-local", "h": "wrong-local", "w": "wrong-local"},
    ),
    "rows that are written, not added": (
        lambda table, index: table[index],
        {"table": normal(6, 4), "index": torch.tensor([1, 5, 1, 0])},
        {"backward": lambda out, out_g, table, index: {"table": torch.zeros_like(table).index_copy(0, index, out_g)}},
        {"table": "overwritten"},
    ),
    "none where one is due": (
        mse,
        {"x": normal(4, 3), "y": normal(4, 3)},
        {"backward": lambda out, out_g, x, y: {"x": out_g * 2 * (x - y) / x.numel(), "y": None}},
        {"y": "missing-answer"},
    ),
    "float32 inside": (
        SQUARE[0],
        {"x": normal(4, 3, dtype=torch.float64)},
        {"backward": lambda out, out_g, x: {"x": (out_g.float() * 2 * x.float()).double()}},
        {"x": "imprecise"},
    ),
    "upstream changed": (*SQUARE, {"backward": changes_upstream}, {"x": "mutated-input"}),
    "another dtype": (
        *SQUARE,
        {"backward": lambda out, out_g, x: {"x": (2 * x * out_g).double()}},
        {"x": "wrong-dtype"},
    ),
    "another shape": (
        *SQUARE,
        {"backward": lambda out, out_g, x: {"x": (2 * x * out_g).flatten()}},
        {"x": "wrong-shape"},
    ),
    "not finite": (*SQUARE, {"backward": lambda out, out_g, x: {"x": 2 * x * out_g / 0}}, {"x": "not-finite"}),
    "random": (
        *SQUARE,
        {"backward": lambda out, out_g, x: {"x": 2 * x * out_g + torch.rand(())}},
        {"x": "not-repeatable"},
    ),
    "no tensor": (*SQUARE, {"backward": lambda out, out_g, x: {"x": 2.0}}, {"x": "wrong-type"}),
    "raises": (*MATMUL, {"backward": lambda out, out_g, x, w: {"x": out_g @ w}}, {"x": "error", "w": "error"}),
    "a factor in the numbers of one call": (
        *wrong_linear()[:2],
        {"gradients": {"b": torch.full((3,), 35.0)}, "upstream": torch.ones(7, 3)},
        {"b": "wrong-factor"},
    ),
    "the numbers of one call": (
        *wrong_linear()[:2],
        {"gradients": {"b": torch.ones(3)}, "upstream": torch.ones(7, 3)},
        {"b": "mean-for-sum"},
    ),
}


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_backward_pass_gets_its_code(case, seed):
    forward, inputs, under_test, codes = WRONG[case]
    explanation = explain(forward, inputs, **under_test, seed=seed)
    assert {one.answer: one.code for one in explanation.mistakes} == codes, str(explanation)
    assert not explanation.ok
    assert set(codes.values()) <= CODES
    with pytest.raises(AssertionError, match=next(iter(codes.values()))):
        explanation.assert_ok()


def test_a_finding_has_its_place_its_evidence_and_its_record():
    forward, inputs, under_test = wrong_linear(b=lambda x, w, g: g.mean(0))
    (one,) = explain(forward, inputs, **under_test, seed=0).mistakes
    assert (one.answer, one.code, one.place) == ("b", "mean-for-sum", "`x @ w + b`, on the way to b")
    assert "bs = 7 here" in one.says
    assert one.evidence.startswith("nudge b[")
    assert one.mistake.facts[0].parameters["sizes"] == "bs"


@pytest.mark.parametrize("code", sorted(VALUE_CODES - {operator.code for operator in OPERATORS}))
def test_an_operator_may_have_any_public_code(code: str, monkeypatch: pytest.MonkeyPatch):
    """Codes that no operator of handgrad has rank as any other: nothing lists which codes operators may have."""
    monkeypatch.setattr(contract, "REGISTRY", {})
    register = contract.operator("cubed", code=code, rank=1.0, at=places.edges.of("tanh"), message="it is cubed")
    cubed = register(lambda program, place, choice: program.with_vjp(place, lambda at: at.right() ** 3))
    monkeypatch.setattr(diagnose, "OPERATORS", (*OPERATORS, cubed))
    wrong = {"backward": lambda out, out_g, x: {"x": (out_g * (1 - out**2)) ** 3}}
    (one,) = explain(torch.tanh, {"x": normal(4, 6)}, **wrong, seed=0).mistakes
    assert (one.code, one.says) == (code, "it is cubed")


def test_the_text_has_the_axes_and_a_line_for_each_gradient():
    forward, inputs, under_test = wrong_linear(w=lambda x, w, g: x.T @ g / len(x))
    explanation = explain(forward, inputs, **under_test, seed=0)
    head, x, w, *_ = str(explanation).splitlines()
    assert head == "x (bs=7, n=5), w (n=5, m=3), b (m=3,)"
    assert x == "  x      ok"
    assert w.startswith("  w      every entry is 1/7 of what it should be, and bs = 7 here")
    assert repr(explanation) == str(explanation)


def test_the_first_line_has_the_given_sizes_and_says_so_where_others_are_shown() -> None:
    inputs = {"x": torch.randn(3, 3), "w": torch.randn(3, 3)}
    found = explain(
        lambda x, w: x @ w, inputs, backward=lambda out, g, x, w: {"x": g @ w.T, "w": x.T @ g / len(x)}, seed=0
    )
    given, _, others = found.about.partition("; the numbers below are of a call with ")
    assert given == "x (bs=3, n=3), w (n=3, m=3)"
    (mistake,) = found.mistakes
    sizes = dict(part.split("=") for part in others.split(", "))
    assert f"bs = {sizes['bs']} here" in mistake.says


def test_the_text_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch):
    forward, inputs, under_test = wrong_linear(w=lambda x, w, g: x.T @ g / len(x))
    found = explain(forward, inputs, **under_test, seed=0)
    wide = str(found).splitlines()
    monkeypatch.setenv("COLUMNS", "60")
    assert str(found).splitlines() == wide
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert max(map(len, str(found).splitlines())) <= 60 < max(map(len, wide))


def test_the_axes_of_many_inputs_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch):
    inputs = {f"weight_of_layer_{i}": torch.randn(4, 3) for i in range(4)}
    found = explain(lambda **given: sum(given.values()), inputs, backward=lambda out, g, **_: dict.fromkeys(inputs, g))
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    head, *_ = str(found).split("\n  weight_of_layer_0, ")
    assert " ".join(map(str.strip, head.splitlines())) == ", ".join(f"{name} (bs=4, n=3)" for name in inputs)
    assert max(map(len, head.splitlines())) <= 60


def test_a_notebook_shows_the_same_as_html():
    forward, inputs, under_test = wrong_linear(w=lambda x, w, g: x.T @ g / len(x))
    html = explain(forward, inputs, **under_test, seed=0)._repr_html_()
    assert "<b>x</b> ok" in html
    assert '<span style="white-space:nowrap">[mean-for-sum]</span>' in html
    assert "<b>note:</b>" not in html


def test_a_note_in_a_notebook_says_that_it_is_one():
    forward, inputs, _ = wrong_linear()
    gradients = {name: torch.zeros_like(value) for name, value in inputs.items()}
    upstream = torch.ones_like(forward(**inputs))
    html = explain(forward, inputs, gradients=gradients, upstream=upstream, seed=0)._repr_html_()
    assert "<b>note:</b> these are the numbers of one call" in html


def test_the_same_seed_gives_the_same_text():
    forward, inputs, under_test = wrong_linear(w=lambda x, w, g: x.T @ g / len(x))
    assert str(explain(forward, inputs, **under_test, seed=3)) == str(explain(forward, inputs, **under_test, seed=3))


def test_nothing_of_the_callers_is_changed():
    forward, inputs, under_test = wrong_linear()
    before = {name: value.clone() for name, value in inputs.items()}
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    explain(forward, inputs, **under_test)
    assert all(torch.equal(before[name], value) and value.grad is None for name, value in inputs.items())
    assert torch.equal(state, torch.random.get_rng_state())
    assert threads == torch.get_num_threads()


def test_it_works_where_gradients_are_switched_off():
    forward, inputs, under_test = RIGHT["two outputs"]
    with torch.no_grad():
        assert explain(forward, inputs, **under_test).ok


# --- which gradients are judged ----------------------------------------------------------------------------------


class MeanSquaredError(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return ((x - y) ** 2).mean()

    @staticmethod
    def backward(ctx, out_g):
        x, y = ctx.saved_tensors
        return out_g * 2 * (x - y) / x.numel(), None


def test_only_inputs_that_require_a_gradient_are_judged_where_some_do():
    inputs = {"x": normal(4, 3).requires_grad_(), "y": normal(4, 3)}
    assert explain(mse, inputs, function=MeanSquaredError).ok
    unmarked = explain(mse, {name: value.detach() for name, value in inputs.items()}, function=MeanSquaredError)
    assert [one.answer for one in unmarked.mistakes] == ["y"]
    assert "requires_grad=True" in unmarked.mistakes[0].says


def test_a_gradient_that_a_dict_leaves_out_is_not_judged_and_that_is_said():
    inputs = {"x": normal(4), "y": normal(4)}
    found = explain(mse, inputs, backward=lambda out, out_g, x, y: {"x": out_g * 2 * (x - y) / len(x)})
    assert found.ok, str(found)
    assert found.notes == ("backward returns no gradient for y, so none is judged",)


def test_a_gradient_that_is_marked_and_left_out_is_missing():
    inputs = {"x": normal(4), "y": normal(4).requires_grad_()}
    found = explain(mse, inputs, backward=lambda out, out_g, x, y: {"x": out_g * 2 * (x - y) / len(x)})
    assert [(one.answer, one.code) for one in found.mistakes] == [("y", "missing-answer")]


def test_none_is_right_where_the_gradient_is_zero():
    found = explain(
        lambda x, y: x * 2 + y.round().detach(),
        {"x": normal(4), "y": normal(4)},
        backward=lambda out, out_g, x, y: {"x": 2 * out_g, "y": None},
    )
    assert found.ok, str(found)


# --- what cannot be tried, traced or trusted ---------------------------------------------------------------------


class Doubled(torch.autograd.Function):
    """Its own backward pass forgets the 2."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return g


class NumpySine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx, out_g):
        return out_g * ctx.saved_tensors[0].cos()


def test_a_kernel_that_leaves_no_trace_falls_back_to_facts():
    def backward(out, out_g, x):
        return {"x": out_g * (x.cos() + x**3)}

    found = explain(lambda x: NumpySine.apply(x), {"x": normal(5)}, backward=backward)
    assert [one.answer for one in found.mistakes] == ["x"]
    assert "nudge x[" in found.mistakes[0].evidence
    assert any("cannot be traced" in note for note in found.notes)


def test_a_forward_pass_that_branches_on_its_data_is_explained_branch_by_branch():
    def forward(x):
        return x.exp() if x.sum() > 0 else x.sin()

    def backward(out, out_g, x):
        return {"x": out_g * out if x.sum() > 0 else out_g * x}

    found = explain(forward, {"x": torch.tensor([1.0, -1.1, 2.0, -2.05])}, backward=backward, seed=0)
    assert [one.answer for one in found.mistakes] == ["x"]
    assert any("other operations for other values" in note for note in found.notes)


def doubled(factor):
    return explain(lambda x: Doubled.apply(x) * x, {"x": normal(5)},
                   backward=lambda out, out_g, x: {"x": factor * out_g * x}, seed=0)  # fmt: skip


def test_a_forward_pass_whose_own_gradient_is_not_its_derivative_is_judged_by_differences():
    assert doubled(4)
    assert "finite differences of forward: torch's own go through the backward pass of Doubled" in doubled(4).notes[0]
    found = doubled(1)
    assert [one.answer for one in found.mistakes] == ["x"]


def test_where_a_backward_pass_inside_forward_says_the_same_nobody_can_tell_which_is_meant():
    found = doubled(3)
    assert not found
    assert found.mistakes == ()
    assert "cannot be trusted" in str(found)
    with pytest.raises(AssertionError, match="x: not judged"):
        found.assert_ok()


def test_the_truth_of_an_explanation_is_whether_all_is_right():
    forward, inputs, under_test = wrong_linear(w=lambda x, w, g: x.T @ g / len(x))
    assert not explain(forward, inputs, **under_test, seed=0)
    assert explain(*RIGHT["two outputs"][:2], function=SumAndProduct)
    with pytest.raises(AssertionError, match=r"^w: mean-for-sum\n"):
        explain(forward, inputs, **under_test, seed=0).assert_ok()


def test_a_mistake_is_looked_for_where_the_code_for_one_size_is_right():
    def forward(gain, rate, ref):
        y, out = ref.new_zeros(1), []
        for target in ref:
            y = y + 0.2 * (gain * (target - y) - rate * torch.sin(y))
            out.append(y)
        return torch.cat(out)

    def backward(out, out_g, gain, rate, ref):
        """Read one entry of `out` for each step, and forget the time step 0.2 in the gradient of `gain`."""
        states = [ref.new_zeros(1), *out[:-1, None]]
        grads = {"gain": torch.zeros_like(gain), "rate": torch.zeros_like(rate), "ref": torch.zeros_like(ref)}
        g = ref.new_zeros(1)
        for t in reversed(range(len(ref))):
            g, y = g + out_g[t], states[t]
            grads["gain"] += g * (ref[t] - y)
            grads["rate"] -= 0.2 * g * torch.sin(y)
            grads["ref"][t] = (0.2 * g * gain)[0]
            g = g - 0.2 * g * (gain + rate * torch.cos(y))
        return grads

    inputs = {"gain": torch.tensor([0.8]), "rate": torch.tensor([0.3]), "ref": torch.randn(5)}
    found = explain(forward, inputs, backward=backward)
    (mistake,) = found.mistakes
    assert (mistake.answer, mistake.code) in (("gain", "missing-local"), ("gain", "wrong-factor"))


def test_code_that_takes_the_given_sizes_only_is_tried_with_these_and_that_is_said():
    def backward(out, out_g, x, w):
        return {"x": out_g @ w.T, "w": x.reshape(4, 3).T @ out_g}

    found = explain(*MATMUL, backward=backward)
    assert found.ok, str(found)
    assert any("tried with n = 4 and m = 3 alone" in note and "x.shape[0] is 5" in note for note in found.notes)


def test_a_size_that_the_code_does_not_take_is_one_that_forward_takes() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x.reshape(len(x), -1, 4)).sum(2)

    def backward(out: torch.Tensor, out_g: torch.Tensor, x: torch.Tensor) -> dict[str, torch.Tensor]:
        slope = 1 - torch.tanh(x) ** 2
        return {"x": (out_g[..., None] * slope.reshape(len(x), 2, 4)).reshape(x.shape)}

    found = explain(forward, {"x": torch.randn(3, 8)}, backward=backward)
    assert found.ok, str(found)
    (note,) = (note for note in found.notes if "alone" in note)
    assert "tried with n = 8 alone: it raises where x.shape[1] is 4 (RuntimeError: " in note


def test_what_is_right_for_the_given_inputs_only_is_told_as_such():
    found = explain(torch.relu, {"input": torch.rand(4) + 0.1}, backward=lambda out, out_g, input: {"input": out_g})
    assert found.ok
    inputs = {"x": normal(4), "marks": torch.tensor([True, True, False, True])}

    def backward(out, out_g, x, marks):
        return {"x": out_g * torch.tensor([1.0, 1.0, 0.0, 1.0])[: len(x)]}

    found = explain(lambda x, marks: x * marks, inputs, backward=backward, seed=0)
    assert [one.answer for one in found.mistakes] == ["x"]
    assert any("right at the given inputs, but wrong at others" in note for note in found.notes)


def test_rows_of_permutations_stay_permutations():
    """A right backward pass may put gradients back without adding them, as no entry is taken twice."""
    order = torch.tensor([[2, 0, 1, 3], [3, 1, 0, 2], [0, 3, 2, 1]])

    def backward(out, out_g, x, order):
        return {"x": torch.zeros_like(x).scatter(1, order, out_g * out)}

    found = explain(lambda x, order: x.gather(1, order).exp(), {"x": normal(3, 4), "order": order}, backward=backward)
    assert found.ok, str(found)
    assert not found.notes, str(found)


def test_a_function_that_computes_another_output_is_told_so():
    found = explain(lambda a, b: (a + b, a - b), {"a": normal(4), "b": normal(4)}, function=SumAndProduct)
    assert found.mistakes[0].answer == "out"
    assert "an output that differs from forward's" in found.mistakes[0].says


def test_gradients_that_nobody_asked_for_are_no_mistake():
    found = explain(lambda a, b: (a + b, a * b), {"a": normal(4), "b": normal(4)}, function=SumAndProduct)
    assert found.ok
    assert any("ctx.needs_input_grad" in note for note in found.notes)
    silent = explain(*RIGHT["a linear layer as a Function"][:2], function=Linear)
    assert silent.notes == ()


def test_one_call_says_that_it_is_one():
    forward, inputs, under_test = RIGHT["the numbers of one call"]
    assert "one call" in explain(forward, inputs, **under_test).notes[0]


# --- kinks, layouts, sizes, tables -------------------------------------------------------------------------------


def relu(x):
    return x.relu()


def test_a_slope_outside_a_kink_is_told_with_what_is_right_there():
    def backward(out, out_g, x):
        return {"x": torch.where(x == 0, torch.tensor(-3.0), out_g * (x > 0))}

    (one,) = explain(relu, {"x": torch.tensor([2.0, 0, -1])}, backward=backward, seed=0).mistakes
    assert one.code == "wrong-local"
    assert "at the kink x[1] = 0 it is -3; it must be between " in one.says


def test_a_strongly_curved_pass_is_not_called_a_kink():
    """A norm may have a kink; here the gradient of u0 only varies much beside the input."""

    def forward(x, w, u0):
        u = u0
        for _ in range(2):
            v = w.T @ u
            v = v / v.norm()
            u = w @ v
            u = u / u.norm()
        return x @ (w / (u @ w @ v)).T

    torch.manual_seed(3)
    inputs = {"x": torch.randn(6, 5), "w": torch.randn(4, 5), "u0": torch.randn(4)}

    def backward(out, out_g, x, w, u0):
        sigma = (x @ w.T).norm() / out.norm()
        return {"x": out_g @ w / sigma, "w": out_g.T @ x / sigma, "u0": torch.zeros_like(u0)}

    mistakes = explain(forward, inputs, backward=backward, seed=0).mistakes
    assert not any("kink" in mistake.says for mistake in mistakes)


def test_shares_that_do_not_add_up_are_told_as_that():
    def backward(out, out_g, x):
        return {"x": (x == out[:, None]) * out_g[:, None]}

    tied = {"x": torch.tensor([[1.0, 3, 3], [2, 0, 1]])}
    (one,) = explain(lambda x: x.amax(1), tied, backward=backward, seed=0).mistakes
    assert one.says == (
        "equal entries may share the upstream gradient, but their parts must add up to it: those of x[0,1] = 3 and "
        "its equals do not"
    )


def test_a_further_search_for_values_at_kinks_is_a_short_one(monkeypatch):
    budgets, find = [], verdicts.find_mistakes

    def counted(exercise, samples, right, cases, budget):
        budgets.append(budget)
        return find(exercise, samples, right, cases, budget)

    monkeypatch.setattr(verdicts, "find_mistakes", counted)
    x = torch.tensor([[0.0, 1.2, -0.7], [0.4, 0.0, -1.1]], dtype=torch.float64)

    def backward(out, out_g, x, w):
        return {"x": out_g * (x >= 0) * w + 0.1 * x.sin() * out_g.flip(1), "w": (out_g * out).sum(0) / w}

    inputs = {"x": x, "w": torch.tensor([1.5, 0.8, 2.0], dtype=torch.float64)}
    explain(lambda x, w: torch.relu(x) * w, inputs, backward=backward)
    assert budgets[0] == MOST_WORK
    assert budgets[-1] == diagnose.WORK_AGAIN
    assert len(budgets) > 1


def test_a_mistake_beside_a_kink_keeps_its_name():
    """Another choice at the zeros does not hide what is wrong elsewhere."""
    inputs = {"x": torch.cat([normal(3, 4), torch.zeros(2, 4)]), "w": normal(4, 3)}

    def backward(out, out_g, x, w):
        g = out_g * (x @ w >= 0)
        return {"x": g @ w.T, "w": x.T @ g / len(x)}

    found = explain(lambda x, w: (x @ w).relu(), inputs, backward=backward, seed=0)
    assert [(one.answer, one.code) for one in found.mistakes] == [("w", "mean-for-sum")]


def test_entries_without_a_finite_gradient_are_counted_and_the_others_judged():
    inputs = {"x": torch.tensor([0.0, 1, 4, 9])}
    found = explain(torch.sqrt, {"input": inputs["x"]}, backward=lambda out, out_g, input: {"input": out_g / (2 * out)})
    assert found, str(found)
    assert "input is not judged at 1 of its 4 given entries: forward has no finite gradient there" in found.notes
    found = explain(torch.sqrt, {"input": inputs["x"]}, backward=lambda out, out_g, input: {"input": out_g / out})
    assert not found


def test_an_upstream_gradient_that_is_not_contiguous_is_read_as_what_it_is():
    def backward(out, out_g, x):
        return {"x": 2 * x * out_g.as_strided(x.shape, (x.shape[1], 1))}

    (one,) = explain(*SQUARE, backward=backward, seed=0).mistakes
    assert one.code == "wrong-operand"
    assert one.says.startswith("it reads out_g as if it were contiguous, and it is wrong where out_g is transposed")
    (one,) = explain(*SQUARE, backward=flat_backward, seed=0).mistakes
    assert one.code == "error"
    assert "where out_g is transposed in memory, as when `out.mT` follows, backward raises" in one.says


def flat_backward(out, out_g, x):
    return {"x": (2 * x.flatten() * out_g.view(-1)).view(x.shape)}


def test_the_strides_of_the_given_inputs_are_kept():
    seen = set()

    def backward(out, out_g, x):
        seen.add(x.stride())
        return {"x": 2 * x * out_g}

    for given in (normal(3, 4).t(), normal(4, 1).expand(4, 3), normal(4, 9)[:, 1::3]):
        seen.clear()
        assert explain(lambda x: x**2, {"x": given}, backward=backward, seed=0)
        assert given.stride() in seen


def test_a_size_that_nobody_gave_is_named():
    def backward(out, out_g, x, w, y):
        return {"w": out_g * 2 * x.T @ (x @ w - y) / len(x)}

    inputs = {"x": normal(8, 5), "w": normal(5, 1), "y": normal(8, 1)}
    found = explain(lambda x, w, y: ((x @ w - y) ** 2).mean(), inputs, backward=backward, seed=0)
    assert found, str(found)
    assert found.notes[0].startswith("w is right at the given sizes, but wrong where m is not 1 (m = ")


def test_drawn_sizes_keep_the_divisors_of_the_given_ones():
    seen = set()

    def forward(x):
        a, b = x.chunk(2, -1)
        seen.add(x.shape[-1])
        return torch.cat([-b, a], -1)

    found = explain(forward, {"x": normal(2, 6)}, backward=lambda out, out_g, x: {"x": -forward(out_g)}, seed=0)
    assert found, str(found)
    assert 12 in seen


def test_tables_that_must_be_as_they_are_are_no_failure():
    """A rotation may need a table of two equal halves: the gradient of which nobody asks."""
    turn = torch.linspace(0, 1, 3).repeat(2)

    def rotated(x):
        a, b = x.chunk(2, -1)
        return torch.cat([-b, a], -1)

    def backward(out, out_g, x, sin):
        return {"x": out_g - rotated(out_g) * sin}

    found = explain(lambda x, sin: x + rotated(x) * sin, {"x": normal(4, 6), "sin": turn}, backward=backward, seed=0)
    assert found, str(found)
    assert found.notes[0] == "x is right with the given sin, but wrong with others that were drawn in their range"


def test_tensors_inside_a_dict_are_said_not_to_be_judged():
    inputs = {"x": normal(4, 3), "p": {"w": normal(3, 2)}}
    found = explain(lambda x, p: x @ p["w"], inputs, backward=lambda out, out_g, x, p: {"x": out_g @ p["w"].T}, seed=0)
    assert found, str(found)
    assert "the gradients of the tensors in p are not judged: give each as a separate input" in found.notes


class OverwritesItsOutput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, out_g):
        return ctx.y.mul_(out_g)


def test_a_backward_pass_that_overwrites_its_output_is_told_so():
    (one,) = explain(lambda x: x.exp(), {"x": normal(4)}, function=OverwritesItsOutput, seed=0).mistakes
    assert (one.answer, one.code) == ("x", "mutated-input")
    assert one.says.startswith("the output that forward returned is not what it was")


def test_a_module_is_as_it_was_afterwards():
    layer = torch.nn.Linear(4, 3)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    found = explain(layer, {"input": normal(5, 4)}, function=layer, seed=0)
    assert found, str(found)
    assert all(value.dtype == torch.float32 for value in layer.parameters())
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())
    assert torch.get_default_dtype() == torch.float32


# --- what cannot be used -----------------------------------------------------------------------------------------


def right_square(out, out_g, x):
    return {"x": 2 * x * out_g}


RIGHT_SQUARE = {"backward": right_square}


@pytest.mark.parametrize(
    ("forward", "inputs", "under_test", "error", "says"),
    [
        (*SQUARE, {}, TypeError, "exactly one of backward=, function= and gradients="),
        (*SQUARE, {"backward": right_square, "function": WithSetup}, TypeError, "exactly one of"),
        (*SQUARE, {"backward": right_square, "upstream": 1}, TypeError, "upstream= belongs to gradients="),
        (SQUARE[0], [normal(3)], RIGHT_SQUARE, TypeError, "inputs must be a dict"),
        (SQUARE[0], {"x": torch.arange(3)}, RIGHT_SQUARE, ValueError, "none of the inputs is a floating"),
        (SQUARE[0], {"x": normal(3).half()}, RIGHT_SQUARE, TypeError, "x is float16: explain takes"),
        (SQUARE[0], {"z": normal(3)}, RIGHT_SQUARE, TypeError, r"forward is called with \(z=\)"),
        (lambda x: x @ x, {"x": normal(4, 3)}, RIGHT_SQUARE, ValueError, "forward cannot be run on the inputs"),
        (lambda x: x.view(torch.int32) * x, SQUARE[1], RIGHT_SQUARE, ValueError, "in float64, where the right"),
        (SQUARE[0], {"x": normal(3).cfloat()}, RIGHT_SQUARE, TypeError, r"x = torch.complex\(x_re, x_im\)"),
        (lambda x: x * 1j, SQUARE[1], RIGHT_SQUARE, TypeError, "returns a complex tensor"),
        (lambda x: x.log(), {"x": -torch.ones(3)}, RIGHT_SQUARE, ValueError, "gives nan or infinity"),
        (lambda x: x * torch.rand(()), SQUARE[1], RIGHT_SQUARE, ValueError, "a different output when it is called"),
        (lambda x: None, SQUARE[1], RIGHT_SQUARE, TypeError, "must return a tensor or a tuple of tensors"),
        (lambda x: x.argmax(), SQUARE[1], RIGHT_SQUARE, TypeError, "there is no gradient"),
        (*SQUARE, {"backward": lambda out, x: {}}, TypeError, r"backward is called with \(out, out_g, x=\)"),
        (*SQUARE, {"backward": lambda out, out_g, x: out_g}, TypeError, "backward must return a dict"),
        (*SQUARE, {"backward": lambda out, out_g, x: {"z": out_g}}, TypeError, "a gradient of 'z'; the"),
        (*SQUARE, {"function": "x"}, TypeError, "must be a torch.autograd.Function or a callable"),
        (*SQUARE, {"function": Linear}, TypeError, r"Linear.forward is called with \(ctx, x\)"),
        (*SQUARE, {"function": lambda x: x.sum()}, TypeError, "function returns an output of shape"),
        (*SQUARE, {"function": lambda x: (x, x)}, TypeError, "function returns 2 floating-point outputs"),
        (*SQUARE, {"gradients": {}, "upstream": normal(4, 3)}, ValueError, "gradients must have gradients of"),
        (*SQUARE, {"gradients": {"z": normal(4, 3)}, "upstream": normal(4, 3)}, ValueError, r"it has \['z'\]"),
        (*SQUARE, {"gradients": {"x": normal(4, 3)}}, ValueError, r"upstream must be .*\(4, 3\)"),
        (*SQUARE, {"gradients": {"x": normal(4, 3)}, "upstream": normal(3)}, ValueError, r"like the output: \(4, 3\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_in_one_sentence(forward, inputs, under_test, error, says):
    with pytest.raises(error, match=says) as raised:
        explain(forward, inputs, **under_test)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_importing_grader_imports_no_torch():
    code = "import sys, grader; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.slow
def test_an_explanation_as_text_loads_no_picture_quiz_or_course_file():
    """Code that belongs to no course needs neither course.yaml nor what draws pictures."""
    code = (
        "import sys, torch; from handgrad import explain; a = torch.ones(2, 3)\n"
        "print(explain(lambda x: x.tanh(), {'x': a}, backward=lambda out, out_g, x: {'x': out_g}).ok)\n"
        "print(*(m for m in sys.modules if m in ('grader.course.course', 'grader.course.quiz')"
        " or m.startswith(('grader.quiz', 'grader.rendering.picture', 'grader.rendering.svg'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_axes_of_large_inputs_are_found_with_small_ones() -> None:
    """Equal sizes stay equal, so that what must change together does."""
    runs = list[tuple[int, ...]]()

    def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        runs.append(tuple(x.shape))
        return torch.tanh(x @ w)

    def backward(out: torch.Tensor, out_g: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> dict[str, torch.Tensor]:
        g = out_g * (1 - out**2)
        return {"x": g @ w.T, "w": x.T @ g / len(x)}

    x, w = torch.randn(300, 128, requires_grad=True), torch.randn(128, 128, requires_grad=True)
    (mistake,) = explain(forward, {"x": x, "w": w}, backward=backward).mistakes
    assert (mistake.answer, mistake.code) == ("w", "mean-for-sum")
    assert with_small_sizes({"x": (300, 128), "w": (128, 128)}) == {"x": (2, 3), "w": (3, 3)}
    assert with_small_sizes({"x": (3, 4)}) == {"x": (3, 4)}
    assert sum(shape[0] < 300 for shape in runs) > sum(shape[0] > 300 for shape in runs)


def test_an_error_that_ends_the_search_for_a_mistake_is_noted_and_the_gradient_is_wrong_all_the_same(monkeypatch):
    def failing(*_):
        raise ValueError("an index beyond the end")

    monkeypatch.setattr(verdicts, "find_mistakes", failing)
    forward, inputs, under_test = wrong_linear(w=lambda x, w, g: x.T @ g / len(x))
    explanation = explain(forward, inputs, **under_test, seed=0)
    assert [(mistake.answer, mistake.code) for mistake in explanation.mistakes] == [("w", "unknown")]
    (note,) = (note for note in explanation.notes if "search for the mistake" in note)
    assert note.startswith("the search for the mistake in w ended with an error (ValueError: an index beyond the end")


@pytest.mark.parametrize("wrong", ["", "x", "y", "z"])
def test_the_gradients_of_a_trial_are_confirmed_together_and_a_wrong_one_is_refuted(wrong):
    """Right ones take two runs of the forward pass for each direction, however many inputs there are."""
    runs = []

    def forward(x, y, z):
        runs.append(x)
        given = {"x": x, "y": y, "z": z}
        if wrong:
            given[wrong] = 0.9 * given[wrong] + 0.1 * given[wrong].detach()
        return given["x"] * given["y"] + 1e-2 * given["z"] ** 2

    inputs = {"out": output(), **{name: normal_entries("n m") for name in "xyz"}}
    exercise = Exercise("a test", forward, inputs, stored("x.g", "y.g", "z.g"))
    trial = make_trial(exercise, Setting(1, "a trial", {"n": 5, "m": 4}), np.random.default_rng(0))
    runs.clear()
    confirmed = are_gradients_confirmed(exercise, trial, np.random.default_rng(0), held=False)
    assert confirmed == (not wrong)
    assert wrong or len(runs) == 6


def test_a_factor_near_one_that_is_missing_is_told_from_an_answer_that_is_not_precise():
    inputs = {"x": normal(4, 3).double(), "w": normal(3, 5).double(), "t": torch.tensor(3e-4, dtype=torch.float64)}

    def forward(x, w, t):
        return torch.tanh(x @ w * t.exp())

    def backward(noise, factor, out, out_g, x, w, t):
        dz = out_g * (1 - out**2)
        dw = x.T @ dz * factor(t)
        return {
            "x": dz @ w.T * t.exp(),
            "w": dw * (1 + noise * torch.cos(1e3 * dw)),
            "t": (dz * (x @ w)).sum() * t.exp(),
        }

    told = explain(forward, inputs, backward=partial(backward, 0.0, torch.ones_like), seed=0)
    assert [(each.answer, each.code) for each in told.mistakes] == [("w", "missing-local")]
    told = explain(forward, inputs, backward=partial(backward, 3e-4, torch.exp), seed=0)
    assert [(each.answer, each.code) for each in told.mistakes] == [("w", "imprecise")]


def test_values_of_one_expression_are_told_apart_by_their_iteration():
    inputs = {"x": normal(4, 3) / 3, "wq": normal(3, 5), "wk": normal(3, 5), "wv": normal(3, 5)}

    def forward(x, wq, wk, wv):
        q, k, v = [x @ each for each in (wq, wk, wv)]
        return torch.tanh(q @ k.T) @ v

    def backward(out, out_g, x, wq, wk, wv):
        p = torch.tanh(x @ wq @ (x @ wk).T)
        ds = out_g @ (x @ wv).T * (1 - p**2)
        dq, dk, dv = ds @ x @ wk, ds.T @ x @ wk, p.T @ out_g
        dx = dq @ wq.T + ds.T @ x @ wq @ wk.T + dv @ wv.T
        return {"x": dx, "wq": x.T @ dq, "wk": x.T @ dk, "wv": x.T @ dv}

    (mistake,) = explain(forward, inputs, backward=backward, seed=0).mistakes
    assert mistake.answer == "wk"
    assert "`x @ each` of iteration 2 is used in place of `x @ each` of iteration 1" in mistake.says


def test_scores_that_are_masked_with_inf_end_the_search():
    """Least squares on an array with inf in it never came back from LAPACK."""

    def forward(x, label):
        same = (label[:, None] == label) & ~torch.eye(len(x), dtype=torch.bool)
        scores = x @ x.t()
        logs = scores - scores.masked_fill(torch.eye(len(x), dtype=torch.bool), float("-inf")).logsumexp(1, True)
        return -((same.to(x.dtype) * logs).sum(1) / same.sum(1)).mean()

    def backward(out, out_g, x, label):
        same = (label[:, None] == label) & ~torch.eye(len(x), dtype=torch.bool)
        p = (x @ x.t()).masked_fill(torch.eye(len(x), dtype=torch.bool), float("-inf")).softmax(1)
        g = out_g / len(x) * (p - same.to(x.dtype))
        return {"x": (g + g.t()) @ x}

    inputs = {"x": torch.randn(7, 3), "label": torch.tensor([0, 1, 0, 2, 1, 2, 0])}
    (mistake,) = explain(forward, inputs, backward=backward, seed=3).mistakes
    assert mistake.code in ("missing-local", "wrong-factor")


def test_points_of_one_call_need_not_lie_inside_the_image_of_another():
    """An earlier call's points, looked for as stale, were indices out of bounds: a traceback in place of a verdict."""

    def forward(image, points):
        points = points.reshape(7, 2)  # only the size of the image can vary
        row, column = points.detach().floor().long().unbind(1)
        at = points - points.detach().floor()
        return image[row, column] * at[:, 0] + image[row + 1, column + 1] * at[:, 1]

    def backward(out, out_g, image, points):
        row, column = points.floor().long().unbind(1)
        at = points - points.floor()
        image_g = torch.zeros_like(image)
        image_g[row, column] = out_g * at[:, 0]
        image_g[row + 1, column + 1] = out_g * at[:, 1]
        return {"image": image_g, "points": (out_g * torch.stack([image[row, column], image[row + 1, column + 1]])).T}

    for seed in range(3):
        drawn = torch.rand(7, 2, generator=torch.Generator().manual_seed(seed))
        points = 0.1 + drawn * torch.tensor([2.8, 3.8])
        told = explain(forward, {"image": normal(4, 5), "points": points}, backward=backward, seed=seed)
        assert [each.answer for each in told.mistakes] == ["image"]


@pytest.mark.parametrize("seed", [7, 337])  # the second draws inputs of which none is clamped
def test_a_gradient_without_an_input_is_not_that_of_an_earlier_call(seed):
    """Where nothing is clamped the scale cancels: the gradient is right for many another scale, and rounding for s."""
    NORMAL.manual_seed(seed)

    def forward(x, w, s):
        return x @ ((w / s).clamp(-1, 1) * s)

    def backward(out, out_g, x, w, s):
        z = w / s
        dz = (x.T @ out_g) * s
        return {
            "x": out_g @ (z.clamp(-1, 1) * s).T,
            "w": dz / s,
            "s": (x.T @ out_g * z.clamp(-1, 1) - dz * z / s).sum(0),
        }

    inputs = {"x": normal(4, 3), "w": normal(3, 5), "s": normal(5).exp()}
    assert {finding.code for finding in explain(forward, inputs, backward=backward, seed=3).mistakes} == {
        "missing-local"
    }


def test_two_terms_that_are_averaged_are_not_taken_for_a_lost_factor_of_two():
    def forward(x):
        a, p, n = x[:2], x[2:4], x[4:]
        return (((a - p) ** 2).sum(1) - ((a - n) ** 2).sum(1) + 5).mean()

    def backward(out, out_g, x):
        a, p, n = x[:2], x[2:4], x[4:]
        return {"x": torch.cat((n - p, p - a, a - n)) / 2 * out_g}

    (said,) = explain(forward, {"x": normal(6, 4)}, backward=backward, seed=3).mistakes
    assert (said.code, "every `pow`, the factor 2 is missing" in said.says) == ("missing-local", True)


def test_code_that_rescales_the_upstream_gradient_is_not_linear_in_it():
    def backward(out, out_g, x, w):
        g = out_g / out_g.norm()
        g = g * (1 - out**2)
        return {"x": g @ w.T, "w": x.T @ g}

    explanation = explain(lambda x, w: torch.tanh(x @ w), {"x": normal(5, 4), "w": normal(4, 3)}, backward=backward)
    (first, second) = explanation.mistakes
    assert first.code == second.code == "not-linear"
    assert "it is not linear in out_g: with 1024 times out_g" in str(explanation)
    assert "the same mistake as in x" in str(explanation)


@pytest.mark.parametrize("scale", [0.0, 1e-6, 3.0])
def test_code_that_is_linear_in_the_upstream_gradient_is_not_called_otherwise(scale):
    def backward(out, out_g, x, w):
        g = out_g * (1 - out**2) * (1 + torch.sin(x.sum()))
        return {"x": scale * g @ w.T.sin(), "w": x.T @ (out_g * (1 - out**2))}

    explanation = explain(lambda x, w: torch.tanh(x @ w), {"x": normal(5, 4), "w": normal(4, 3)}, backward=backward)
    assert [mistake.code for mistake in explanation.mistakes] != []
    assert "not-linear" not in str(explanation)


@pytest.mark.parametrize("off", [False, True])
def test_what_forward_computes_without_gradients_is_a_constant(off):
    """A right backward pass of a spectrally normalized weight was called wrong: the path through u was missing."""

    def forward(x, w):
        with torch.no_grad():
            v = torch.ones(w.shape[1], dtype=w.dtype)
            for _ in range(2):
                u = w @ v / (w @ v).norm()
                v = w.T @ u / (w.T @ u).norm()
        return x @ (w / (u @ w @ v)).T

    def backward(out, out_g, x, w, used):
        u, v = torch.ones(w.shape[0], dtype=w.dtype), torch.ones(w.shape[1], dtype=w.dtype)
        for _ in range(2):
            u = w @ v / (w @ v).norm()
            v = w.T @ u / (w.T @ u).norm()
        sigma, g = u @ w @ v, out_g.T @ x
        return {"x": out_g @ used(w, sigma), "w": g / sigma - (g * w).sum() / sigma**2 * torch.outer(u, v)}

    def right(out, out_g, x, w):
        return backward(out, out_g, x, w, lambda w, sigma: w / sigma)

    def wrong(out, out_g, x, w):
        return backward(out, out_g, x, w, lambda w, sigma: w)

    inputs = {"x": normal(5, 3), "w": normal(4, 3)}
    with torch.set_grad_enabled(not off):
        assert explain(forward, inputs, backward=right, seed=3).ok
        (mistake,) = explain(forward, inputs, backward=wrong, seed=3).mistakes
    assert (mistake.answer, mistake.code) == ("x", "wrong-operand")


def lost_two(y):
    """The value of `y**2`, with half of its gradient: the factor 2 is missing."""
    return y.detach() ** 2 + y * y.detach() - y.detach() ** 2


def test_a_lost_factor_of_a_square_is_told_before_a_mean_over_two_entries():
    def forward(x, square=lambda y: y**2):
        re, im = x[:, 0], x[:, 1]
        y = torch.stack([re, im], 1)
        return torch.log(1 + square(y).sum(1))

    x = torch.randn(6, 2)
    (one,) = explain(forward, {"x": x}, function=lambda x: forward(x, lost_two), seed=0).mistakes
    assert one.code == "missing-local"
    assert one.says.startswith("in the derivative of `y**2`, the factor 2 is missing, or the gradient through ")
    assert one.says.endswith(
        " is divided by the number of summed entries, 2 here, as for a mean; the two give the same numbers"
    )


@pytest.mark.parametrize("function", [torch.lgamma, torch.digamma, torch.special.gammaln, torch.erfinv, torch.exp2])
def test_a_function_for_its_derivative_is_named_for_any_function_of_torch(function):
    def forward(x, w):
        y = function(x @ w)
        return y.sin()

    def backward(out, out_g, x, w):
        y = function(x @ w)
        return {"x": (out_g * y.cos() * y) @ w.T}

    inputs = {"x": torch.rand(5, 4) / 4 + 0.1, "w": torch.rand(4, 3) / 4 + 0.1}
    (one,) = explain(forward, inputs, backward=backward, seed=0).mistakes
    assert one.code == "wrong-local"
    assert one.says == "`function(x @ w)` itself, which is y, is used in place of its derivative"


def test_a_given_upstream_gradient_is_not_called_wrong():
    def backward(out, out_g, x, w):
        mixed = out_g - 0.3 * out_g.flip(0) * torch.linspace(1, 2, out_g.shape[1]) + 0.17 * out_g.roll(1, 1)
        return {"x": mixed @ w.T, "w": x.T @ mixed}

    found = explain(lambda x, w: x @ w, {"x": torch.randn(6, 5), "w": torch.randn(5, 4)}, backward=backward, seed=0)
    says = "these are right gradients for another upstream gradient than out_g"
    assert [mistake.says for mistake in found.mistakes][:1] == [says]


def test_what_is_taken_over_between_rows_is_named_where_a_short_row_hardly_shows_it():
    """The trial with short rows, in which the answer is nearly right, is not the one that candidates are tried in."""

    def forward(r, b):
        made = []
        for row in r:
            v = b * 2
            for now in row:
                v = 0.3 + 0.2 * now**2 + b * v
                made.append(v)
        return torch.stack(made).log()

    def backward(out, out_g, r, b):
        made, db = out.exp(), torch.zeros_like(b)
        size, g = r.shape[1], out_g / out.exp()
        for i in range(len(r)):
            dv = torch.zeros_like(b)
            for t in reversed(range(size)):
                dv = dv + g[i * size + t]
                db = db + dv * (made[i * size + t - 1] if i or t else b * 2)
                dv = dv * b
            db = db + 2 * dv
        return {"b": db}

    inputs = {"r": torch.randn(3, 4), "b": torch.tensor(0.5)}
    (one,) = explain(forward, inputs, backward=backward, seed=0).mistakes
    assert one.code == "wrong-operand"
    assert one.says.startswith("where a run of the inner loop begins, `b * v` is differentiated with the last ")


def spans(s):
    span = {(i, i): s[i, i] for i in range(len(s))}
    for w in range(1, len(s)):
        for i in range(len(s) - w):
            j = i + w
            span[i, j] = s[i, j] + torch.logsumexp(torch.stack([span[i, k] + span[k + 1, j] for k in range(i, j)]), 0)
    return span[0, len(s) - 1]


def only_left_spans(out, out_g, s):
    n = len(s)
    span = {(i, i): s[i, i] for i in range(n)}
    for w in range(1, n):
        for i in range(n - w):
            j = i + w
            span[i, j] = s[i, j] + torch.logsumexp(torch.stack([span[i, k] + span[k + 1, j] for k in range(i, j)]), 0)
    g = torch.zeros(n, n, dtype=s.dtype)
    g[0, n - 1] = out_g
    for w in range(n - 1, 0, -1):
        for i in range(n - w):
            j = i + w
            p = torch.softmax(torch.stack([span[i, k] + span[k + 1, j] for k in range(i, j)]), 0)
            for k in range(i, j):
                g[i, k] += g[i, j] * p[k - i]
    return {"s": g}


def test_the_term_is_named_where_both_terms_are_computed_alike() -> None:
    """A span that is split gets its gradient from the left part alone, and both parts are spans."""
    found = explain(spans, {"s": torch.randn(5, 5, generator=torch.Generator().manual_seed(0))},
                    backward=only_left_spans, seed=0)  # fmt: skip
    assert [mistake.says for mistake in found.mistakes] == [
        "the path through `span[k + 1, j]` of `span[i, k] + span[k + 1, j]` is missing"
    ]


def test_an_operand_of_einsum_has_axes_to_exchange_and_is_not_transposed() -> None:
    """It was "must not be transposed" of a backward pass that transposed nothing."""

    def backward(out, out_g, k, u):
        return {"k": torch.einsum("bt,bs->ts", out_g, u), "u": torch.einsum("ts,bs->bt", k, out_g)}

    inputs = {"k": torch.randn(5, 5), "u": torch.randn(3, 5)}
    told = explain(lambda k, u: torch.einsum("ts,bs->bt", k, u), inputs, backward=backward, seed=0)
    assert [finding.says for finding in told.findings if finding.status == "failed"] == [
        "in the gradient of u, the last two axes of k must be swapped"
    ]


def sentences(forward, backward, **inputs: torch.Tensor) -> dict[str, str]:
    """Return what `explain` says of each wrong gradient."""
    told = explain(forward, inputs, backward=backward, seed=0)
    return {finding.answer: finding.says for finding in told.findings if finding.status == "failed"}


def test_a_wrong_sign_is_told_of_the_subtraction_where_it_was_lost() -> None:
    """Not of the division or of the tanh behind it, whose derivatives have no sign to lose."""

    def forward(x, w, v):
        return (x @ w).tanh() - (x @ v / 3).tanh()

    def backward(out, out_g, x, w, v):
        left = out_g * (1 - (x @ w).tanh() ** 2)
        right = out_g * (1 - (x @ v / 3).tanh() ** 2) / 3
        return {"x": left @ w.T + right @ v.T, "w": x.T @ left, "v": x.T @ right}

    found = sentences(forward, backward, x=torch.randn(5, 4), w=torch.randn(4, 3), v=torch.randn(4, 3))
    assert found == {
        "x": "the gradient of `(x @ v / 3).tanh()` has the wrong sign",
        "v": "the same mistake as in x",
    }


def test_a_wrong_sign_is_told_behind_a_subtraction_whose_other_factor_has_the_right_one() -> None:
    def forward(x, w, c):
        return x - c * (x @ w).tanh().relu()

    def backward(out, out_g, x, w, c):
        h = (x @ w).tanh()
        dz = c * out_g * (h > 0) * (1 - h**2)
        return {"x": out_g + dz @ w.T, "w": x.T @ dz, "c": -(out_g * h.relu()).sum(0)}

    found = sentences(forward, backward, x=torch.randn(5, 4), w=torch.randn(4, 4), c=torch.randn(4))
    assert (
        found["x"] == "the gradient of `(x @ w).tanh().relu()` through `c * (x @ w).tanh().relu()` has the wrong sign"
    )
    assert found["w"] == "the same mistake as in x"


def test_both_places_are_told_where_either_minus_may_have_been_lost() -> None:
    """The backward pass has one minus of two: nothing tells which."""

    def forward(x, w, v):
        return (x @ v).tanh() - 1 / (1 + (x @ w) ** 2)

    def backward(out, out_g, x, w, v):
        left, z = out_g * (1 - (x @ v).tanh() ** 2), x @ w
        dz = -out_g / (1 + z**2) ** 2 * 2 * z
        return {"x": left @ v.T + dz @ w.T, "w": x.T @ dz, "v": x.T @ left}

    found = sentences(forward, backward, x=torch.randn(5, 4), w=torch.randn(4, 3), v=torch.randn(4, 3))
    assert found["x"] == (
        "the gradient of `1 / (1 + (x @ w) ** 2)` has the wrong sign, or the gradient of `1 + (x @ w) ** 2` through"
        " `1 / (1 + (x @ w) ** 2)` has the wrong sign; the two give the same numbers"
    )


def test_a_sign_that_is_wrong_on_one_of_two_ways_is_told_of_that_way() -> None:
    """The gradient of `turned` is right, as that of x shows; the angle gets it with the wrong sign."""

    def forward(x, a):
        c, s = a.cos(), a.sin()
        kept, turned = c * x[:, 0] + s * x[:, 1], c * x[:, 1] - s * x[:, 0]
        return kept.tanh() + turned**2

    def backward(out, out_g, x, a):
        c, s = a.cos(), a.sin()
        kept, turned = c * x[:, 0] + s * x[:, 1], c * x[:, 1] - s * x[:, 0]
        dkept, dturned = out_g * (1 - kept.tanh() ** 2), out_g * 2 * turned
        dx = torch.stack([c * dkept - s * dturned, s * dkept + c * dturned], 1)
        return {"x": dx, "a": (dkept * turned + dturned * kept).sum()}

    found = sentences(forward, backward, x=torch.randn(5, 2), a=torch.tensor(0.7))
    assert found == {
        "a": "the gradient of `turned` through `turned**2` has the wrong sign on the way to a; on the way to x it is"
        " right"
    }


def test_a_mistake_beside_a_size_that_was_typed_in_is_told_by_itself() -> None:
    """With other sizes it needs a second one; the code is for the given sizes."""

    def forward(x, w):
        y = (x @ w).tanh()
        return y.mean() / y.std()

    def backward(out, out_g, x, w):
        y = (x @ w).tanh()
        dy = 1 / 6 / y.std() - y.mean() * (y - y.mean()) / (6 * y.std() ** 3)
        dz = out_g * dy * (1 - y**2)
        return {"x": dz[:, None] * w, "w": x.T @ dz}

    found = sentences(forward, backward, x=torch.randn(6, 4), w=torch.randn(4))
    assert found == {
        "x": "in the derivative of `y.std()`, the denominator is bs; it must be bs - 1",
        "w": "the same mistake as in x",
    }


def test_the_operand_is_named_by_its_subscript_where_an_einsum_reads_a_value_twice() -> None:
    """The quadratic form c @ v @ c has two terms in the gradient of c; the learner has one of them."""

    def forward(x, v):
        c = x.tanh()
        return torch.einsum("bi,ij,bj->b", c, v, c)

    def backward(out, out_g, x, v):
        c = x.tanh()
        dc = torch.einsum("b,ij,bj->bi", out_g, v, c)
        return {"x": dc * (1 - c**2), "v": torch.einsum("b,bi,bj->ij", out_g, c, c)}

    found = sentences(forward, backward, x=torch.randn(5, 4), v=torch.randn(4, 4))
    assert found == {"x": "the path through the operand c with the subscripts bj of `einsum` is missing"}


def test_the_factor_is_named_where_a_product_reads_a_matrix_twice() -> None:
    def forward(x):
        y = x.tanh()
        return y @ y

    def backward(out, out_g, x):
        y = x.tanh()
        return {"x": out_g @ y.T * (1 - y**2)}

    found = sentences(forward, backward, x=torch.randn(4, 4))
    assert found == {"x": "the path through the right factor y of `y @ y` is missing"}


def test_two_inputs_that_are_exchanged_in_a_recurrence_are_told_as_one_mistake() -> None:
    """The weights of V-trace: rho and c are exchanged wherever the backward pass reads them."""

    def forward(v, rho, c):
        assert rho.shape == c.shape
        value = torch.zeros_like(v[0])
        for t in range(len(rho)):
            value = rho[t] * v[t].tanh() + 0.9 * c[t] * value
        return value

    def backward(out, out_g, v, rho, c):
        values, dv, drho, dc, g = [torch.zeros_like(v[0])], *map(torch.zeros_like, (v, rho, c)), out_g
        for t in range(len(rho)):
            values.append(c[t] * v[t].tanh() + 0.9 * rho[t] * values[-1])
        for t in reversed(range(len(rho))):
            dv[t], drho[t] = g * c[t] * (1 - v[t].tanh() ** 2), g * v[t].tanh()
            dc[t], g = 0.9 * g * values[t], 0.9 * g * rho[t]
        return {"v": dv, "rho": drho, "c": dc}

    found = sentences(forward, backward, v=torch.randn(5, 3), rho=torch.rand(5, 3) + 0.4, c=torch.rand(5, 3) + 0.3)
    assert found == {
        "v": "rho and c are swapped throughout the computation",
        "rho": "the same mistake as in v",
        "c": "the same mistake as in v",
    }
