"""A forward pass recorded as nodes, and its backward pass as a program that can be rewritten."""

from . import arithmetic, rearrangement, windows  # they fill the table of operations
from .forward import ADDED, SINK, Change, Forward, Key, Node, Place
from .operation import OPERATIONS, Array, NoCandidate, Operand, Operation, torch_operation
from .probes import draw_tangents, tolerances
from .program import Affects, EdgeContext, EdgeVjp, GradientEdit, Program, Sweep, Tangents
from .recording import Unrecordable, record
from .selectors import (
    ComputedValue,
    NamedValue,
    OperandValue,
    Selector,
    ValueName,
    edge_selectors,
    node_selectors,
    values_by_name,
)

__all__ = [
    "ADDED",
    "OPERATIONS",
    "SINK",
    "Affects",
    "Array",
    "Change",
    "ComputedValue",
    "EdgeContext",
    "EdgeVjp",
    "Forward",
    "GradientEdit",
    "Key",
    "NamedValue",
    "NoCandidate",
    "Node",
    "Operand",
    "OperandValue",
    "Operation",
    "Place",
    "Program",
    "Selector",
    "Sweep",
    "Tangents",
    "Unrecordable",
    "ValueName",
    "arithmetic",
    "draw_tangents",
    "edge_selectors",
    "node_selectors",
    "rearrangement",
    "record",
    "tolerances",
    "torch_operation",
    "values_by_name",
    "windows",
]
