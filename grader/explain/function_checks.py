"""What only a function with a forward pass of its own can do wrong: its output, what it keeps, what it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from grader.reference.compare import scaled_error
from grader.results.records import AnswerResult

from .code_under_test import Call, Code, Report
from .explanation import Explanation
from .forward_pass import is_floating, joined
from .verdicts import SAME, Judged, Run, differ


def checked(explanation: Explanation, code: Code, runs: Sequence[Run]) -> Explanation:
    """Return the explanation with the faults that only a function can have in place of `ok`, and notes on it.

    Args:
        runs: those with the given sizes, the given inputs first.
    """
    found = {one.result.name: one for one in explanation.judged}
    call, whole = runs[0].tried.call, runs[0].report
    notes = list(explanation.notes)
    if not any(run.report.error for run in runs):
        for name, code_of, says in (*_kept_outside(code, call, whole), *_alone(code, call, whole)):
            if name in found and found[name].result.status == "passed":
                found[name] = Judged(AnswerResult(name, "failed", 0.0, 1.0, code_of, says))
        notes += _unasked(code, call)
    return replace(explanation, judged=(*_other_output(code, runs), *found.values()), notes=tuple(notes))


def _other_output(code: Code, runs: Sequence[Run]) -> Iterator[Judged]:
    """Yield a failed verdict on `out` if the function computes another output than the forward pass."""
    for one, report in ((run.tried, run.report) for run in runs):
        if not report.outputs or one.trial.out is None:
            continue
        error = scaled_error(joined(report.outputs).double().numpy(), one.trial.out.numpy())
        if error > max(SAME, *one.bounds.values()):
            says = f"{code.name} computes another output than forward, off by {error:.1e} of its largest entry"
            yield Judged(AnswerResult("out", "failed", 0.0, 1.0, "unknown", says))
            return


def _kept_outside(code: Code, call: Call, alone: Report) -> Iterator[tuple[str, str, str]]:
    """Two forward passes, and then the backward pass of the first: what it keeps must be kept with each call."""
    turned = {
        name: torch.flip(value, tuple(range(value.dim()))) if is_floating(value) else value
        for name, value in call.inputs.items()
    }
    other = replace(call, inputs=turned)
    between = code.observe(call, other)
    if between.error and code.observe(other).error:
        return  # it is not defined for these
    told = f" ({between.error})" if between.error else ""
    says = f"it is another one if the function is called again before its backward pass{told}"
    for name in call.wrt:
        if between.error or differ(alone.gradients[name], between.gradients[name]):
            yield name, "not-repeatable", f"{says}: what backward needs must be kept on ctx, one for each call"


def _alone(code: Code, call: Call, whole: Report) -> Iterator[tuple[str, str, str]]:
    """Each input alone requires a gradient (`ctx.needs_input_grad`)."""
    for name in call.wrt if len(call.wrt) > 1 else ():
        report = code.observe(replace(call, wrt=(name,)))
        where = f"where {name} alone requires a gradient"
        if report.error:
            yield name, "error", f"{where}, {code.name} raises {report.error}: see ctx.needs_input_grad"
        elif report.gradients[name] is None and _is_something(whole.gradients[name]):
            yield name, "missing-answer", f"{where}, it is None: see ctx.needs_input_grad"
        elif report.gradients[name] is not None and differ(whole.gradients[name], report.gradients[name]):
            yield name, "hard-coded", f"{where}, it is another one: see ctx.needs_input_grad"


def _is_something(value: Any) -> bool:
    """A gradient that is not zero."""
    return isinstance(value, torch.Tensor) and bool(value.any())


def _unasked(code: Code, call: Call) -> Iterator[str]:
    """Gradients that are computed although nobody asks for them: right, and wasted work."""
    names = [name for name in call.wrt if len(call.wrt) > 1]
    spared = {other for name in names for other in code.observe(replace(call, wrt=(name,))).unasked}
    if spared and set(names) <= spared:
        yield f"{code.name} computes every gradient, asked for or not; ctx.needs_input_grad says which ones are"
