"""A forward pass recorded as nodes, and its backward pass as a program that can be rewritten."""

from . import arithmetic, rearrangement, windows  # they fill the table of operations
from .forward import ADDED, SINK, Change, Forward, Key, Node, Place
from .operation import OPERATIONS, Array, NoCandidate, Operand, Operation, torch_operation
from .probes import draw_tangents, tolerances
from .program import Affects, At, Program, Result, Rule, Sweep, Tangents
from .recording import Unrecordable, record
from .selectors import Made, Named, Read, SecondValue, Selector, edge_selectors, node_selectors, second_values

__all__ = [
    "ADDED",
    "OPERATIONS",
    "SINK",
    "Affects",
    "Array",
    "At",
    "Change",
    "Forward",
    "Key",
    "Made",
    "Named",
    "NoCandidate",
    "Node",
    "Operand",
    "Operation",
    "Place",
    "Program",
    "Read",
    "Result",
    "Rule",
    "SecondValue",
    "Selector",
    "Sweep",
    "Tangents",
    "Unrecordable",
    "arithmetic",
    "draw_tangents",
    "edge_selectors",
    "node_selectors",
    "rearrangement",
    "record",
    "second_values",
    "tolerances",
    "torch_operation",
    "windows",
]
