"""The forward pass as a graph to be drawn, with the operations that a diagnosis names marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.reference.operations import spelt
from grader.reference.trace import Place, Step, Trace
from grader.reference.trial import Trial
from grader.shapes import Sizes, describe, describe_guessed

from .picture_data import Graph, Node


def graph_of(trace: Trace, trial: Trial, answers: Mapping[str, str], places: Mapping[str, Sequence[Place]]) -> Graph:
    """All that the output is computed from.

    Args:
        trace: of a trial with the sizes that are to be shown.
        trial: that trial.
        answers: the answers drawn, by the input that each is the gradient of.
        places: by answer, what its diagnosis names.
    """
    shown = _reached(trace)
    nodes = {name: _input(name, trace, trial, answers.get(name, "")) for name in trace.inputs if name in shown}
    nodes |= {step.key: _operation(step, trial.setting.sizes, places) for step in trace.steps if step.key in shown}
    marked = {answer for node in nodes.values() for answer in node.marked}
    return Graph(nodes, trace.out, tuple(answer for answer in places if answer not in marked))


def _reached(trace: Trace) -> set[str]:
    """The keys of everything that the output is computed from, itself included."""
    found = {trace.out}
    for step in reversed(trace.steps):
        if step.key in found:
            found.update(source for _, source in step.operands)
    return found


def _input(name: str, trace: Trace, trial: Trial, answer: str) -> Node:
    shape, axes = tuple(trace.inputs[name].shape), trial.axes(name)
    text = describe(shape, axes) if axes else describe_guessed(shape, trial.setting.sizes)
    return Node(name, name, text, answer=answer)


def _operation(step: Step, sizes: Sizes, places: Mapping[str, Sequence[Place]]) -> Node:
    sources = dict(step.operands)
    named = [(answer, position) for answer, found in places.items() for at, position in found if at == step.index]
    return Node(
        step.key,
        spelt(step),
        describe_guessed(tuple(step.value.shape), sizes),
        tuple(dict.fromkeys(source for _, source in step.operands)),
        marked=tuple(dict.fromkeys(answer for answer, _ in named)),
        edges=frozenset(sources[position] for _, position in named if position is not None and position in sources),
    )
