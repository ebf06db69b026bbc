"""A forward pass recorded as nodes, and its backward pass as a program that can be edited.

- *program*: a recorded forward pass with its backward pass, which may be edited; it never changes.
- *node*: one operation of the forward pass, or an input; its value has the same id.
- *slot*: the position of an operand in its node, from 0: in `x @ w`, 0 for x and 1 for w.
- *edge*: (reader, slot): the operand that node `reader` reads in the slot; (SINK, k) is the edge from the loss to
  output k.
- *place*: an edge, or a node as (id, WHOLE): where an edit can be made.
- *partner operand*: of an edge, an operand that its reader reads in any other slot: of the edge of x in `x @ w`, w.
- *upstream gradient*: the gradient g of a node's value, which its vjps take; of an output, the one that is given. At an
  edge, g is that of the reader.
- *contribution*: what one edge adds to the gradient of its operand: the vjp of the reader for that slot, taken at g.
- *None*: for a gradient or a contribution, that there is none, which counts as zeros; for the id of an operand, that
  the slot holds a constant, which has no node; for an id that is looked for in a trial, that it has no such node.
- *NoCandidate*: the exception of an edited program that cannot be computed, as where an array gets a wrong shape.
- *target*: an input, or a named value, whose gradient is asked for; in arguments and dicts it stands as its name.
- *expression*: the piece of source that computes a node's value, such as `x @ w`.
- *key*: the position in the source that nodes share in all iterations of a loop; with the iteration it names a node.
- *width*: by what nodes are grouped to be edited together. From narrow to wide: `"key"`; `"source"`, one expression in
  all calls of the function that it stands in; `"repeated"`, one value that the source computes at several places, such
  as both `1 - p` in `(1 - p) * x + (1 - p) * y`; `"role"`, one operation on one input, such as every `@` that reads x;
  `"operation"`, such as every `@`. A node is in one group of each width, but in any number of `"role"`,
  and in a `"repeated"` one only where there is such a place.
- *bit mask*: a set of values as an int, in which bit i stands for the value with the id i.
- *einsum letters*: one letter for each axis of an array: for `x @ w` they are `ik`, `kj` and, of the value, `ij`.
- *option*: an argument of an operation that is no operand, such as `dim`.
- *tap*: a position inside a window, such as (0, 2) of a 3 by 3 kernel; in each window it *meets* an entry of the array.
- *projection*: sum(d * G), a number, of a gradient G on a random direction d of its target, an array shaped like it.
  All projections of a trial are one vector, in which each *row* is one direction of one target.
- *tangent*: the derivative of a value along a direction in which inputs move.
- *step*: an operation in a list that a learner's engine runs: its name, the numbers of the values that it takes, and
  plain numbers: `("mul", 0, 1)`, `("pow", 2, 0.5)`. The inputs are the first values; then each step makes one.
- *walk*: one backward pass as an engine makes it, edge by edge in an order of its own, with whatever gradient the
  reader has by then; right or wrong.
- *part*: in the vjps and the sweep, a contribution, or one term of it; otherwise some entries of an array along an
  axis.
- *trial*: one set of drawn inputs, which has a program of its own.
"""

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
