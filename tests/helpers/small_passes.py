"""Small forward passes of every kind, and edits of them: what is named is compared with what was done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from grader.course.exercise import Exercise, returned, returned_jacobian, returned_value, stored
from grader.course.sampling import (
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
from grader.course.trial_sizes import EXACT_KIND
from grader.diagnosis.candidates import edits
from grader.diagnosis.case import Case, ProgramSample
from grader.diagnosis.diagnose import case_of
from grader.diagnosis.edits import Edit
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.search import explain
from grader.program.operation import NoCandidate
from grader.reference.trial import sample_of
from helpers.verdicts import trials_of

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
PASSES: dict[str, Exercise] = {
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
BUDGET = 20_000.0  # a part of what a learner's answer is given: most edits are named at once


def right_case(name: str, answer: int, blur: float = 0.0) -> Case:
    """Return the case of a learner whose answer is right, but for a share of it."""
    exercise = PASSES[name]
    own = exercise.answers[answer]
    samples = [
        sample_of(own, trial, trial.right(own) * (1 + blur))
        for trial in trials_of(exercise)
        if trial.expected[own.name] is not None and trial.setting.kind != EXACT_KIND
    ]
    return case_of(exercise, {own.wrt or own.name: (own, samples)})


def some_edits(case: Case, every: int, start: int = 0) -> list[Edit]:
    """Return some of the edits of the listed program, evenly chosen."""
    return [edit for operator in OPERATORS for edit in edits(operator, case.listing)][start::every]


@np.errstate(all="ignore")  # as in the search: an edit may divide by 0
def wrong_case(case: Case, edit: Edit) -> Case | None:
    """Return the case of a learner who made an edit; `None` where that is impossible, or the answer is right."""
    (name,) = case.names
    samples = []
    for sample in case.samples:
        try:
            given = sample.answers(edit.apply(sample.program))[name]
        except NoCandidate:
            return None
        if not np.isfinite(given).all():
            return None
        samples.append(ProgramSample(sample.trial, sample.program, {name: given}))
    return Case(samples, case.names) if any(sample.is_wrong(name) for sample in samples) else None


def untrue_names(case: Case, most: int) -> Iterator[str]:
    """Of so many edits, evenly chosen: those that are explained by others whose own numbers are not theirs."""
    count = len(some_edits(case, 1))
    for edit in some_edits(case, max(count // most, 1), count // most // 2):
        wrong = wrong_case(case, edit)
        if wrong is None:
            continue
        explain(wrong, OPERATORS, budget=BUDGET)
        for other, names in wrong.explaining.items():
            for name in names:
                if not gives(wrong, other, name):
                    yield f"{edit.message(case.listing)}: not {other}"


def gives(case: Case, other: Any, name: str) -> bool:
    """Return whether an edit gives the submitted array in every trial, up to rounding relative to the right answer."""
    for sample in case.samples:
        array, right = sample.answers(other.apply(sample.program))[name], sample.right[name]
        bound = 1e-3 * np.abs(array).max(initial=0) + 1e-5 * np.abs(right).max(initial=0)
        if array.shape != sample.given[name].shape:
            return False
        if np.abs(array - sample.given[name]).max(initial=0) > bound and not sample.is_vague(name):
            return False
    return True


def explaining_the_right_answer(name: str, answer: int, every: int) -> list[str]:
    """Return the messages of edits that explain an answer which is right, or nearly so."""
    cases = [right_case(name, answer, blur) for blur in (0.0, 5e-5)]
    return [
        edit.message(case.listing)
        for case in cases
        for edit in some_edits(case, every)
        if case.confirm(edit, case.names)
    ]


# Drawn forward passes -------------------------------------------------------------------------------------------------

UNARY: dict[str, Callable[..., torch.Tensor]] = {
    "sin": lambda a: a.sin(),
    "tanh": lambda a: a.tanh(),
    "square": lambda a: a**2,
    "cube": lambda a: a.pow(3),
    "negative": lambda a: -a,
    "triple": lambda a: 3 * a,
    "shift": lambda a: a + 2,
    "from one": lambda a: 1 - a,
    "soft quotient": lambda a: 1 / (a**2 + 1),
    "exp": lambda a: a.tanh().exp(),
    "log": lambda a: (a**2 + 1).log(),
    "clamp": lambda a: a.clamp_min(0),
    "mean": lambda a: a.mean(),
    "sum": lambda a: a.sum(),
    "sum of rows": lambda a: a.sum(0) if a.dim() else a,
    "mean of columns": lambda a: a.mean(-1, keepdim=True) if a.dim() else a,
    "transpose": lambda a: a.mT if a.dim() > 1 else a * 1,
    "new axis": lambda a: a.unsqueeze(-1) if a.dim() < 3 else a * 1,
    "flatten": lambda a: a.reshape(-1),
    "first": lambda a: a[0] if a.dim() else a * 1,
}
BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (b**2 + 1),
    "matmul": lambda a, b: a @ b,
    "stack": lambda a, b: torch.stack([a, b]),
    "cat": lambda a, b: torch.cat((a, b)),
}
Steps = list[tuple[str, int, int]]

steps: st.SearchStrategy[Steps] = st.lists(
    st.tuples(st.sampled_from([*UNARY, *BINARY, *BINARY]), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7
)


def forward_of(drawn: Steps) -> Callable[..., torch.Tensor]:
    """Return the forward pass of x (2, 3), w (3, 4), b (4,) that steps describe, without impossible steps."""

    def forward(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        pool = [x, w, b]
        for name, i, j in drawn:
            chosen = pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]
            try:
                value = UNARY[name](chosen[0]) if name in UNARY else BINARY[name](*chosen)
            except (RuntimeError, IndexError):
                continue
            if 0 < value.numel() <= 60:
                pool.append(value)
        return (pool[-1] if len(pool) > 3 else x @ w + b) * 1

    return forward
