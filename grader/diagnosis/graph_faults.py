"""Misconceptions derived from the forward graph: the reverse sweep with one step at fault.

Nobody has to foresee these mistakes. The forward pass is traced once, and every operation on the way from the
output back to an answer is in turn given each wrong rule that `faults` knows for it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from grader.exercise import Answer, Exercise
from grader.reference.compare import scaled_error
from grader.reference.operation_recorder import record
from grader.reference.trace import Place, Position, Step, Trace, Wrong
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial

from .detours import Sweep, Uses, idle_paths, reduced_elsewhere, taken_of_another, used_often
from .difference_form import difference_slips
from .fault import AVERAGES, RESHAPES, SUMS, Fault, name_of, words
from .faults import local_faults, upstream_faults
from .other_passes import with_other_inputs, with_other_steps
from .path_faults import drops, one_path_faults

FAITHFUL = 1e-6


def candidates(exercise: Exercise, answer: Answer, trial: Trial) -> Iterator[Candidate]:
    """Every mistake that the forward graph offers for one answer.

    Args:
        trial: the first trial, whose pairwise different sizes give each axis away.
    """
    trace = trace_of(exercise, trial)
    if answer.kind == "value":
        yield from _values(exercise, answer, trace)
        return
    if not faithful(exercise, answer, trial):
        return
    for code, says, sweep in with_other_inputs(trace, answer.wrt):
        yield candidate(exercise, answer, trace, code, says, sweep)
    for skip in dict.fromkeys((idle_paths(trace, answer.wrt), Uses())):
        for fault in _faults(exercise, answer, trace, trial):
            wrong = (Wrong(fault.step, fault.position, fault.rule),)
            sweep = partial(Trace.backward, wrt=answer.wrt, wrong=wrong, skip=skip)
            yield candidate(exercise, answer, trace, fault.code, fault.says, sweep, at=(fault.place,))
        for index, says, detour in reduced_elsewhere(trace, answer.wrt, skip):
            yield candidate(exercise, answer, trace, "summed-wrong-axis", says, detour, at=((index, None),))
    for place, code, says, detour in taken_of_another(trace, answer.wrt):
        yield candidate(exercise, answer, trace, code, says, detour, at=(place,))
    for step in trace.steps:
        says = f"this is {name_of(trace, step.key)}, a value of the forward pass"
        value = partial(_value, index=step.index)
        yield candidate(exercise, answer, trace, "forward-value", says, value, at=((step.index, None),))
    yield from _paths(exercise, answer, trace)
    for one in one_path_faults(trace, answer.wrt):
        yield candidate(exercise, answer, trace, one.fault.code, one.says(trace), one, at=(one.fault.place, one.path))
    yield from _products_of_derivatives(exercise, answer, trace)
    for code, says, sweep in () if exercise.gives_upstream else difference_slips(trace, answer.wrt):
        yield candidate(exercise, answer, trace, code, says, sweep)
    for index, code, says, sweep in with_other_steps(trace, answer.wrt):
        yield candidate(exercise, answer, trace, code, says, sweep, at=((index, None),))
    yield from _dropped_together(exercise, answer, trace)
    yield from _stopped_early(exercise, answer, trace)
    if exercise.gives_upstream and trace.out_g.shape == trace.inputs[answer.wrt].shape:
        says = f"the forward pass is run on out.g, as if it were {answer.wrt}; its derivative belongs here"
        yield candidate(exercise, answer, trace, "wrong-local", says, _forward_of_upstream(answer.wrt))


def _values(exercise: Exercise, answer: Answer, trace: Trace) -> Iterator[Candidate]:
    """Slips on the way forward, where it is the forward pass's value that is asked for."""
    for code, says, value in with_other_inputs(trace, ""):
        yield candidate(exercise, answer, trace, code, says, value)
    for index, code, says, value in with_other_steps(trace, ""):
        yield candidate(exercise, answer, trace, code, says, value, at=((index, None),))


def faithful(exercise: Exercise, answer: Answer, trial: Trial) -> bool:
    """The traced graph gives the reference itself; in-place operations, which it does not see, would break that."""
    try:
        right = _array(exercise, answer, trial, partial(Trace.backward, wrt=answer.wrt))
    except IMPOSSIBLE:
        return False
    expected = trial.expected[answer.name]
    return expected is not None and scaled_error(right, expected) < FAITHFUL


def trace_of(exercise: Exercise, trial: Trial) -> Trace:
    """The forward pass in one trial, recorded once."""
    assert trial.out_g is not None
    out_g = trial.out_g

    def recorded() -> Trace:
        found = record(exercise.forward, trial.inputs, out_g)
        return dataclasses.replace(found, output_name=exercise.output_name)

    return trial.remember("trace", recorded)  # type: ignore[no-any-return]


def _faults(exercise: Exercise, answer: Answer, trace: Trace, trial: Trial) -> Iterator[Fault]:
    relevant = trace.depends(answer.wrt)
    for step in reversed(trace.steps):
        if step.key not in relevant:
            continue
        yield from upstream_faults(trace, step, exercise.gives_upstream)
        for position, source in step.operands:
            if source in relevant:
                yield from local_faults(
                    trace, step, position, trial.setting.sizes, upstream_given=exercise.gives_upstream
                )


def candidate(
    exercise: Exercise, answer: Answer, trace: Trace, code: str, says: str, sweep: Sweep,
    lacks: str = "", *, at: tuple[Place, ...] = (),
) -> Candidate:  # fmt: skip
    """What a faulty sweep gives, as a candidate; impossible where the forward pass takes other steps than `trace`."""
    key = object()

    def compute(trial: Trial) -> np.ndarray:
        if trace_of(exercise, trial).plan != trace.plan:
            raise ValueError("the forward pass takes other steps at these sizes")
        return trial.remember(key, lambda: _array(exercise, answer, trial, sweep))  # type: ignore[no-any-return]

    return Candidate(code, says, compute, lacks=lacks, at=at)


def _array(exercise: Exercise, answer: Answer, trial: Trial, sweep: Sweep) -> np.ndarray:
    """What a faulty sweep gives in a trial, on top of a `.g` that was there before."""
    trace = trace_of(exercise, trial)
    found = _jacobian(trace, answer, sweep) if answer.kind == "jacobian" else sweep(trace).detach().numpy()
    prior = trial.arguments[answer.wrt].g if answer.stored else None
    return found if prior is None or prior.shape != found.shape else found + prior


def _jacobian(trace: Trace, answer: Answer, sweep: Sweep) -> np.ndarray:
    rows = [sweep(row) for row in trace.rows]
    return torch.stack(rows).reshape(*trace.out_g.shape, *rows[0].shape).detach().numpy()


def _value(trace: Trace, index: int) -> torch.Tensor:
    return trace.steps[index].value


def _paths(exercise: Exercise, answer: Answer, trace: Trace) -> Iterator[Candidate]:
    """A value used several times, followed along only some of its uses."""
    for key, uses in used_often(trace, answer.wrt):
        for count in range(1, len(uses)):
            for dropped in itertools.combinations(uses, count):
                lost = " and ".join(words(trace.steps[step]) for step, _ in dropped)
                says = (
                    f"{name_of(trace, key)} is used {len(uses)} times and {len(uses) - count} of them counted: "
                    f"the path through {lost} is missing"
                )
                skip = frozenset(dropped)
                sweep = partial(Trace.backward, wrt=answer.wrt, skip=skip)
                path = f"the path through {lost}"
                yield candidate(exercise, answer, trace, "missing-path", says, sweep, path, at=dropped)
                if exercise.gives_upstream:
                    bare = _without_upstream(answer.wrt, skip, frozenset(uses) - skip)
                    says = f"out.g is missing on the path through {lost}"
                    yield candidate(exercise, answer, trace, "missing-upstream", says, bare, at=dropped)


def _without_upstream(wrt: str, bare: Uses, others: Uses) -> Sweep:
    """Some paths with an upstream gradient of 1, the others as they should be."""

    def sweep(trace: Trace) -> torch.Tensor:
        ones = dataclasses.replace(trace, out_g=torch.ones_like(trace.out_g))
        return trace.backward(wrt, skip=bare) + ones.backward(wrt, skip=others)

    return sweep


def _products_of_derivatives(exercise: Exercise, answer: Answer, trace: Trace) -> Iterator[Candidate]:
    """For a product of two things that both depend on the answer: derivative times derivative."""
    relevant = trace.depends(answer.wrt)
    for step in trace.steps:
        positions = [where for where, source in step.operands if source in relevant]
        if step.name == "mul" and len(positions) == 2 and step.value.shape == trace.inputs[answer.wrt].shape:
            says = "the derivative of a product is not the product of the derivatives"
            sweep = _derivatives_multiplied(answer.wrt, step, positions)
            yield candidate(exercise, answer, trace, "wrong-local", says, sweep, at=((step.index, None),))


def _derivatives_multiplied(wrt: str, step: Step, positions: list[Position]) -> Sweep:
    def sweep(trace: Trace) -> torch.Tensor:
        both = frozenset((step.index, where) for where in positions)
        others = trace.backward(wrt, skip=both)
        here = trace.steps[step.index]
        sources = dict(here.operands)
        at = [_derivative_of(trace, sources[where], wrt) for where in positions]
        return others + trace.out_g * at[0] * at[1]

    return sweep


def _derivative_of(trace: Trace, key: str, wrt: str) -> torch.Tensor:
    if key == wrt:
        return torch.ones_like(trace.inputs[wrt])
    value = trace.values()[key]
    steps = trace.steps[: int(key[1:]) + 1]
    return dataclasses.replace(trace, steps=steps, out=key, out_g=torch.ones_like(value)).backward(wrt)


def _dropped_together(exercise: Exercise, answer: Answer, trace: Trace) -> Iterator[Candidate]:
    """Two local derivatives left out at once."""
    relevant = trace.depends(answer.wrt)
    places = [
        (step, position)
        for step in trace.steps
        if step.key in relevant and step.name not in RESHAPES
        for position, source in step.operands
        if source in relevant
    ]
    for pair in itertools.combinations(places, 2):
        ways = [drops(trace, step, position) for step, position in pair]
        for group in itertools.product(*ways):
            wrong = tuple(Wrong(fault.step, fault.position, fault.rule) for fault in group)
            says = "; ".join(fault.says for fault in group)
            sweep = partial(Trace.backward, wrt=answer.wrt, wrong=wrong)
            at = tuple(fault.place for fault in group)
            yield candidate(exercise, answer, trace, "missing-local", says, sweep, at=at)


def _stopped_early(exercise: Exercise, answer: Answer, trace: Trace) -> Iterator[Candidate]:
    """The gradient of a value in between, the same for every entry where the value is one number."""
    shape = trace.inputs[answer.wrt].shape
    for key in trace.gradients(answer.wrt):
        if key in (answer.wrt, trace.out) or trace.values()[key].numel() not in (1, shape.numel()):
            continue
        if not exercise.gives_upstream and _is_added_up(trace, key, answer.wrt):
            says, value = "this is what each entry adds to the loss, no gradient", _added(answer.wrt, key)
            yield candidate(exercise, answer, trace, "forward-value", says, value)
        says = f"this is the gradient of {name_of(trace, key)}: the way from there to {answer.wrt} is left out"
        sweep = partial(_gradient_of, key=key, wrt=answer.wrt)
        yield candidate(exercise, answer, trace, "missing-local", says, sweep, at=((int(key[1:]), None),))


def _is_added_up(trace: Trace, key: str, wrt: str) -> bool:
    """A sum of terms, of which each entry counts alike from there on."""
    step, gradient = trace.steps[int(key[1:])], trace.gradients(wrt)[key]
    return step.name in SUMS and len(step.operands) > 1 and bool((gradient == gradient.flatten()[0]).all())


def _added(wrt: str, key: str) -> Sweep:
    return lambda trace: (trace.values()[key] * trace.gradients(wrt)[key]).expand(trace.inputs[wrt].shape)


def _gradient_of(trace: Trace, key: str, wrt: str) -> torch.Tensor:
    return trace.gradients(wrt)[key].expand(trace.inputs[wrt].shape)


def _forward_of_upstream(wrt: str) -> Sweep:
    return lambda trace: _output(trace.again({wrt: trace.out_g}))


def _output(trace: Trace) -> torch.Tensor:
    return trace.values()[trace.out]


def averages(exercise: Exercise, trial: Trial) -> bool:
    """The forward pass takes a mean."""
    return any(step.name in AVERAGES for step in trace_of(exercise, trial).steps)
