"""The forward pass as a graph to be drawn, with the operations that a diagnosis names marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.course.shapes import describe, describe_guessed
from grader.diagnosis.operators.places import operation_label
from grader.program.forward import Node as Operation
from grader.program.forward import Place
from grader.program.program import Program
from grader.reference.trial import Trial

from .picture_data import Graph, Node


def graph_of(
    program: Program, trial: Trial, answers: Mapping[str, str], places: Mapping[str, Sequence[Place]]
) -> Graph:
    """Return all that the output is computed from.

    Args:
        program: the forward pass of a trial with the sizes that are to be shown.
        trial: that trial.
        answers: the answers drawn, by the input or step that each is the gradient of.
        places: by answer, what its diagnosis names, as places in the program.
    """
    out = program.forward.outputs[-1]
    shown = [node for node in program.nodes if node.id == out or program.forward.ancestors[out] >> node.id & 1]
    names = {i: name for name, i in program.inputs.items()}
    keys = {node.id: names.get(node.id, f"%{node.id}") for node in shown}
    answered = {i: answers[name] for name, i in program.forward.targets.items() if name in answers}
    nodes = {
        keys[node.id]: Node(
            keys[node.id],
            names.get(node.id) or operation_label(node),
            _shape(node, names.get(node.id, ""), trial),
            tuple(dict.fromkeys(keys[operand] for _, operand in node.operands)),
            answered.get(node.id, ""),
            tuple(answer for answer, own in places.items() if any(place[0] == node.id for place in own)),
            frozenset(
                keys[operand]
                for slot, operand in node.operands
                if any((node.id, slot) in own for own in places.values())
            ),
        )
        for node in shown
    }
    marked = {answer for node in nodes.values() for answer in node.marked}
    return Graph(nodes, keys[out], tuple(answer for answer in places if answer not in marked))


def _shape(node: Operation, name: str, trial: Trial) -> str:
    """Return the shape of a value with the names of its axes."""
    axes = trial.axes(name) if name else None
    return describe(node.value.shape, axes) if axes else describe_guessed(node.value.shape, trial.setting.sizes)
