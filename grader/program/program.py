"""A recorded forward pass with its backward pass, which can be edited: `Program`, and the reverse sweep that runs it.

A `Program` never changes: each of its `with_...` methods returns an edited one. `Program.gradients` computes the
gradients of all targets by one reverse sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from grader.course.shapes import Axes, axes_in_all

from .forward import ADDED, LOSS, SINK, Change, Forward, Node, Place, apply_change, bits
from .operation import Array, NoCandidate, Operand

Affects = Literal["all", "values", "backward", "partners"]


class EdgeContext(NamedTuple):
    """An edge while its contribution is computed: all that the vjp of an edit may look at.

    Args:
        program: the program whose gradients are computed.
        node: the node that reads the operand.
        slot: the slot of the operand, which the contribution is for.
        g: the upstream gradient of the node, shaped like its value.
        sweep: the gradients of other values, and the contributions of other edges, computed on demand.
    """

    program: Program
    node: Node
    slot: int
    g: Array
    sweep: Sweep

    @property
    def x(self) -> Operand:
        """Return the operand, which the contribution is for: for `x @ w` and its edge of x, the array x."""
        return self.node.values[self.slot]

    @property
    def y(self) -> Array:
        """Return the value of the node that reads the operand: for `x @ w`, the product."""
        return self.node.value

    def right(
        self,
        g: Array | None = None,
        operands: Mapping[int, Operand] | None = None,
        value: Array | None = None,
        **options: object,
    ) -> Array:
        """Return the right contribution of this edge, by the node's own vjp; or what it gives for replaced arguments.

        For `x @ w` and its edge of x: `at.right()` is g @ w.T, and `at.right(operands={1: v})` is g @ v.T.

        Args:
            g: an upstream gradient in place of that of the node, shaped like its value.
            operands: by slot, operands in place of those of the node.
            value: a value in place of that of the node, for vjps that are written in terms of it.
            options: options in place of those of the node, by name.

        Returns:
            Shape: that of the operand, unless an argument has another shape than it should.

        Raises:
            NoCandidate: numpy cannot compute it.
        """
        return self.node.vjp(self.slot, self.g if g is None else g, operands, value, options)


EdgeVjp = Callable[[EdgeContext], Array]  # the contribution along an edge, shaped like the operand
GradientEdit = Callable[["Program", Array], Array]  # what becomes of a target's gradient


def zero_vjp(at: EdgeContext) -> Array:
    """Return zeros, shaped like the operand: the vjp that marks an edge dropped by `Program.without`.

    A sweep leaves such an edge out and never calls it.
    """
    return np.zeros(np.shape(at.x))


def as_code(text: str) -> str:
    """Return source text as it stands in a sentence: a name such as `out.g` or a number bare, else in backticks.

    Args:
        text: a name or an expression; backticks in it are dropped, so that "`x` @ w" becomes "`x @ w`".
    """
    bare = text.replace("`", "")
    return bare if bare.replace(".", "").isidentifier() or bare.replace(".", "", 1).isnumeric() else f"`{bare}`"


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A forward pass, and a backward pass over it that may be edited.

    Args:
        forward: the forward pass.
        upstreams: the upstream gradient of each output, shaped like it.
        edited_vjps: by edge the vjp that an edit has put in place of the reader's own.
        added: edges that only an edited backward pass has: the id of the reader, the id of the value that gets the
            contribution, and the vjp.
        results: by target the function that makes, of the program and the target's gradient, the array that is returned
            in place of it.
        original: the right program that this one was made of by edits; `None` for a right program.
        output_name: what a learner calls the output.
        upstream_name: what a learner calls its upstream gradient; empty where none is given, so that it is 1
            everywhere.
        gradient_names: by target what a learner calls its gradient, such as `w.g`, where it is stored under a name.
        is_value: whether the learner was asked for the value of the output alone, so that there is no backward pass.
        sizes: the sizes of this trial by the names of the axes, where these are known.
        peers: the right programs of all trials, by which axes are distinguished that have the same size in this trial.
            The caller that records several trials fills this list, which edited programs share.
        numbers: by name the inputs that are whole numbers; these are no nodes.
        record_with_number: takes the name of such an input and another number; records the forward pass once more with
            it, and returns the right program of that, which may have other nodes; `None` where that is not possible.
    """

    forward: Forward
    upstreams: tuple[Array, ...]
    edited_vjps: Mapping[Place, EdgeVjp] = field(default_factory=dict)
    added: tuple[tuple[int, int, EdgeVjp], ...] = ()
    results: Mapping[str, GradientEdit] = field(default_factory=dict)
    original: Program | None = None
    output_name: str = "out"
    upstream_name: str = "out.g"
    gradient_names: Mapping[str, str] = field(default_factory=dict)
    is_value: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    peers: list[Program] = field(default_factory=list)
    numbers: Mapping[str, int] = field(default_factory=dict)
    record_with_number: Callable[[str, float], Program] | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes of the forward pass, inputs first; a node's id is its position here."""
        return self.forward.nodes

    @property
    def inputs(self) -> Mapping[str, int]:
        """Return for the name of each input the id of its node."""
        return self.forward.inputs

    @property
    def right(self) -> Program:
        """Return the right program: this one if it has no edits, else the one that its edits began with."""
        return self if self.original is None else self.original

    @cached_property
    def sink(self) -> Node:
        """Return the loss as a node that reads the outputs; its edge (SINK, k) contributes output k's g."""
        operands = tuple(enumerate(self.forward.outputs))
        values = tuple(self.nodes[i].value for i in self.forward.outputs)
        return Node(SINK, LOSS, operands, values, {}, np.zeros(()), text="loss")

    def nodes_of(self, operation: str) -> tuple[int, ...]:
        """Return the ids of all nodes with an operation, such as `"matmul"`, in the order of the forward pass."""
        return self.forward.groups["operation"].get(operation, ())

    def reader(self, place: Place) -> Node:
        """Return the node `place[0]`: the reader of an edge, or the node itself of a place (id, WHOLE).

        For an edge (SINK, k) it is the loss, `sink`.
        """
        return self.sink if place[0] == SINK else self.nodes[place[0]]

    def source(self, place: Place) -> int:
        """Return the id of the operand of an edge `place`, (reader, slot): the value that the edge leads a gradient to.

        Raises:
            NoCandidate: the slot holds a constant.
        """
        operand = self.reader(place).operand(place[1])
        if operand is None:
            raise NoCandidate(f"slot {place[1]} of node {place[0]} holds a constant")
        return operand

    def with_vjp(self, place: Place, vjp: EdgeVjp) -> Program:
        """Return the program in which `vjp` computes the contribution of an edge, in place of any earlier vjp there.

        Args:
            place: the edge, as (reader, slot).
            vjp: takes the `EdgeContext`; returns the contribution, shaped like the operand.
        """
        return self._edited(edited_vjps={**self.edited_vjps, place: vjp})

    def with_upstream(self, reader: int, compute: EdgeVjp) -> Program:
        """Return the program in which all vjps of one node take, as their g, the array that `compute` returns.

        Earlier vjps of its edges are kept, and take it, too; edges that `with_edge` has added do not.

        Args:
            reader: the id of the node, or `SINK` for the loss.
            compute: takes the `EdgeContext` of an edge of the node, with its usual upstream gradient in the field `g`;
                returns the one in its place, shaped like the node's value, or like the output for `SINK`.
        """

        def through(place: Place) -> EdgeVjp:
            """Return the vjp of an edge, called with the upstream gradient that `compute` returns."""
            before = self.edited_vjps.get(place, EdgeContext.right)
            return lambda at: before(at._replace(g=compute(at)))

        edges = self.sink.operands if reader == SINK else self.forward.edges[reader]
        return self._edited(
            edited_vjps={**self.edited_vjps, **{(reader, slot): through((reader, slot)) for slot, _ in edges}}
        )

    def with_other_values(self, node: Node, operands: Mapping[int, Operand], value: Array | None = None) -> Program:
        """Return the program in which the right vjps of a node take other operands and another value than its own.

        Args:
            node: the node; all of its edges are edited, in place of any earlier vjp there.
            operands: by slot, operands in place of those of the node.
            value: a value in place of that of the node; `None` for its own.
        """
        edited = {(node.id, slot): lambda at: at.right(operands=operands, value=value) for slot, _ in node.operands}
        return self._edited(edited_vjps={**self.edited_vjps, **edited})

    def without(self, *places: Place) -> Program:
        """Return the program in which the given edges contribute nothing, such as (4, 0): slot 0 of node 4.

        Args:
            places: the edges, as (reader, slot).
        """
        return self._edited(edited_vjps={**self.edited_vjps, **dict.fromkeys(places, zero_vjp)})

    def with_edge(self, reader: int, value: int, vjp: EdgeVjp) -> Program:
        """Return the program in which a node contributes to the gradient of a value that it does not read.

        Args:
            reader: the id of the node, or `SINK` for the loss.
            value: the id of the value that gets the contribution.
            vjp: takes an `EdgeContext`, with the reader's upstream gradient in the field `g`; returns the contribution,
                shaped like the value. As the reader has no such operand, `x` and `right` of the context mean nothing.
        """
        return self._edited(added=(*self.added, (reader, value, vjp)))

    def with_nodes(self, changes: Mapping[int, Change], affects: Affects = "all") -> Program:
        """Return the program of a forward pass in which some nodes are changed.

        Args:
            changes: by id of a node, a function that takes the node with its operands in the changed forward pass, and
                returns the node that stands in its place.
            affects: what the change takes effect in. `"all"`: all values computed from the changed nodes, and the
                backward pass. `"values"`: the same, but the changed nodes keep their right vjps, at the changed values.
                `"backward"`: only the vjps of the changed nodes, at the right values. `"partners"`: only the vjps that
                read a changed value as a partner operand, and not as the operand that the contribution is for.

        Raises:
            NoCandidate: the changed forward pass cannot be computed.
        """
        if affects == "backward":
            return self._with_vjps_of_changed_nodes(changes)
        other = self.forward.run(changes)
        if affects == "all":
            return self._edited(forward=other)
        if affects == "values":
            nodes = list(other.nodes)
            for i in changes:
                values = list(self.nodes[i].values)
                for slot, operand in self.nodes[i].operands:
                    values[slot] = nodes[operand].value
                nodes[i] = self.nodes[i].with_value(tuple(values), nodes[i].value)
            return self._edited(forward=other.with_nodes(nodes))
        return self._edited(edited_vjps={**self.edited_vjps, **self._vjps_with_changed_partners(other)})

    def with_input(self, name: str, value: Array, affects: Affects = "all") -> Program:
        """Return the program of a forward pass whose input `name` has the given value.

        Args:
            name: the input.
            value: the array, of any shape that the forward pass can be computed for.
            affects: what the change takes effect in: `"all"`, `"values"`, `"backward"` or `"partners"`; see
                `with_nodes`.

        Raises:
            NoCandidate: the forward pass cannot be computed.
        """
        return self.with_nodes({self.inputs[name]: lambda node: replace(node, values=(value,))}, affects)

    def with_iterations(self, order: Sequence[int]) -> Program:
        """Return the program whose backward pass takes, in each iteration of a loop, the values of another iteration.

        The vjps of iteration i take operands, options and values of iteration `order[i]`, and the upstream gradient of
        their own.

        Args:
            order: a number for each iteration: `range(n)` changes nothing; `range(n)[::-1]` is a backward pass that
                reads the values from the first iteration to the last. It applies to every loop of n iterations.
        """
        nodes = list(self.nodes)
        for ids in self.forward.by_key.values():
            if len(ids) == len(order):
                for i, source in zip(ids, order, strict=True):
                    other = self.nodes[ids[source]]
                    nodes[i] = replace(nodes[i], values=other.values, options=other.options, value=other.value)
        return self._edited(forward=self.forward.with_nodes(nodes))

    def with_result(self, name: str, result: GradientEdit) -> Program:
        """Return the program that returns, in place of a target's gradient, the array that `result` makes of it.

        What the target's gradient contributes to other gradients stays as it is.

        Args:
            name: the name of the target.
            result: takes the program and the gradient; returns the array, of any shape.
        """
        return self._edited(results={**self.results, name: result})

    @np.errstate(all="ignore")
    def gradients(self) -> dict[str, Array]:
        """Return the gradient of each target by name, shaped like its target unless `with_result` has replaced it.

        Raises:
            NoCandidate: a vjp of an edit or a function of `with_result` cannot be computed, or a vjp gives another
                shape than that of its operand.
        """
        return {name: self.gradient(name) for name in self.forward.targets}

    @np.errstate(all="ignore")
    def gradient(self, name: str) -> Array:
        """Return the gradient of the target with a name, shaped like it, unless `with_result` has replaced it.

        Raises:
            NoCandidate: a vjp of an edit or a function of `with_result` cannot be computed, or a vjp gives another
                shape than that of its operand.
        """
        gradient = self.sweep.gradient(self.forward.targets[name])
        return self._apply_result(name, gradient) if name in self.results else gradient

    @cached_property
    def sweep(self) -> Sweep:
        """Return the reverse sweep of this program, which computes each gradient when it is first asked for."""
        is_own = self.forward is self.right.forward
        if is_own and not self.edited_vjps and not self.added:
            return self.right.right_sweep  # many results are made of one sweep
        return Sweep(self, self.right_sweep, self.reach[0]) if is_own and self.original is not None else Sweep(self)

    def _apply_result(self, name: str, gradient: Array) -> Array:
        """Return the array in place of a target's gradient, made by the function that `with_result` has set for it.

        Args:
            name: the name of a target in `results`.
            gradient: its gradient, shaped like it.

        Raises:
            NoCandidate: it cannot be computed, or `results` has no such target.
        """
        try:
            return np.asarray(self.results[name](self, gradient))
        except NoCandidate:
            raise
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"the result for {name}: {error}") from error

    def jacobians(self) -> dict[str, Array]:
        """Return the Jacobian of the first output with respect to each target by name; shape: (*output, *target).

        It takes one sweep for each entry of the output, with every edit of this program: the upstream gradient is 1 in
        this entry, and 0 in all others. To screen candidates for an answer that is a Jacobian, record the program with
        a random upstream gradient u, and compare with the answer summed over the output's axes with the weights u.

        Raises:
            NoCandidate: a vjp of an edit cannot be computed, or gives another shape than that of its operand.
        """
        output = self.nodes[self.forward.outputs[0]].value
        return self._jacobians(self.forward.outputs[0], output.shape)

    def jacobians_of(self, value: int) -> dict[str, Array]:
        """Return the right Jacobian of any value with respect to each target by name; shape: (*value, *target).

        Args:
            value: the id of the value.
        """
        return self.right._jacobians(value, self.nodes[value].value.shape)

    def pullback(self, value: int, g: Array) -> dict[str, Array]:
        """Return the gradient of sum(g * value) for each target, by a backward pass that begins at one value.

        All edits of this program apply, except the vjps that they give to the edges (SINK, k) of its outputs.

        Args:
            value: the id of the value.
            g: the gradient that the value begins with, shaped like it.

        Returns:
            By name of the target, an array shaped like it.

        Raises:
            NoCandidate: a vjp of an edit cannot be computed, or gives another shape than that of its operand.
        """
        forward = replace(self.forward, outputs=(value,))
        edited_vjps = {place: vjp for place, vjp in self.edited_vjps.items() if place[0] != SINK}
        return replace(self, forward=forward, upstreams=(g,), edited_vjps=edited_vjps, original=None).gradients()

    @cached_property
    def right_sweep(self) -> Sweep:
        """Return the sweep of the right program with all gradients computed; all programs edited from it share it."""
        if self.original is not None:
            return self.original.right_sweep
        sweep = Sweep(self)
        with np.errstate(all="ignore"):
            for value in reversed(range(len(self.nodes))):
                sweep.gradient(value)
        return sweep

    @cached_property
    def reach(self) -> tuple[int, int]:
        """Return two bit masks: the values whose gradients the edits change, and those between an edit and the loss.

        The first has each value from which a path of edges leads through an edited edge to the loss, and each target in
        `results`; the second the reader of each edited edge, and all that depends on it. Where nodes are changed, the
        first has the values that these read, directly or not, and the second those whose nodes are not those of the
        right program.
        """
        forward, into, out_of = self.forward, 0, 0
        for place in self.edited_vjps:
            if (value := forward.sources.get(place)) is not None:
                into |= forward.ancestors[value]
                out_of |= forward.descendants[place[0]] if place[0] != SINK else 0
        for reader, value, _ in self.added:
            into |= forward.ancestors[value]
            out_of |= forward.descendants[reader] if reader != SINK else 0
        for name in self.results:
            into |= 1 << forward.targets[name] if name in forward.targets else 0
        if forward is not (right := self.right.forward):
            for node, own in zip(forward.nodes, right.nodes, strict=True):
                if node is not own:
                    out_of |= 1 << own.id
                    into |= right.ancestors[own.id]
                    for _, operand in node.edges if node.edges != own.edges else ():
                        into |= right.ancestors[operand]
        return into, out_of

    @np.errstate(all="ignore")
    def change(self, tangents: Tangents) -> Array:
        """Return how much the edits add to each projection, sum(d * gradient), of the targets on random directions d.

        Most gradients are not computed. A gradient is a sum over paths: what is added to the gradient of a value v
        moves the projections by its product with the tangents of v. So an edit costs its own vjp and one product; only
        between two edits, or from the loss to the values that differ in a changed forward pass, gradients are
        propagated.

        Args:
            tangents: the directions, and the derivatives of all values along them, in the right program; see
                `probes.draw_tangents`.

        Returns:
            Shape: (rows,): one for each direction of each target, the projection in this program less that in the right
            one.

        Raises:
            NoCandidate: a vjp of an edit cannot be computed, or gives another shape than that of its operand.
        """
        if self.results:
            return np.asarray(tangents.project(self.gradients()) - tangents.right)
        own, forward = self.right.forward, self.forward
        into, out_of = self.reach
        before = self.right.right_sweep
        if forward is own:
            inner, after = into & out_of, Sweep(self, before, into)
        else:
            inner, after = out_of, Sweep(self)
            for reader in bits(inner):  # what nothing reads in the right forward pass has no tangents
                for _, value in forward.edges[reader]:
                    inner |= own.ancestors[value] & own.unused
        edges = {place: forward.sources[place] for place in self.edited_vjps if place in forward.sources}
        edges |= {(reader, slot): value for reader in bits(inner) for slot, value in forward.edges[reader]}
        moved: dict[int, Array] = {}  # what is added to the gradient of each value around the inner ones

        def move(value: int, by: Array | None) -> None:
            """Add an array to what the gradient of a value changes by; `None` stands for zeros."""
            if by is not None:
                moved[value] = moved[value] + by if value in moved else by

        for place, value in edges.items():
            if not inner >> value & 1:
                is_own = forward is own or (place in own.sources and own.sources[place] == value)
                move(
                    value,
                    difference(
                        after.contribution_or_none(place), before.contribution_or_none(place) if is_own else None
                    ),
                )
        for number, (_, value, _) in enumerate(self.added):
            if not inner >> value & 1:
                move(value, after.added_contribution(number))
        if forward is not own:
            for reader in bits(inner):
                for slot, value in own.edges[reader]:  # of the right forward pass alone
                    if not inner >> value & 1 and edges.get((reader, slot)) != value:
                        move(value, difference(None, before.contribution_or_none((reader, slot))))
        total = np.zeros(len(tangents.right))
        for value, by in moved.items():
            total += tangents.projections_of(value, by)
        for name, rows in tangents.rows.items():
            if inner >> (value := forward.targets[name]) & 1:  # what it is made from tells nothing of its direction
                total[rows] += tangents.projections_of(
                    value, difference(after.gradient_or_none(value), before.gradient_or_none(value))
                )[rows]
        return total

    def name_of(self, value: int) -> str:
        """Return what a learner calls the value with an id, such as `x`, `out`, "a row of x" or "`x @ w`".

        It is its declared name; that of the output; the variable, where only its expression is assigned to that; or the
        expression in backticks.

        Args:
            value: the id of the value.
        """
        node = self.nodes[value]
        if value in self.forward.names:
            return self.forward.names[value]
        is_in_loop = bool(node.variable) and len(self.forward.by_key[node.key]) > 1  # each state has the name of all
        if value in self.forward.outputs and not is_in_loop:
            return self.output_name
        keys = {other.key for other in self.nodes if other.variable == node.variable and other.edges}
        if node.variable and keys <= {node.key}:
            return node.variable
        if is_in_loop and node.call.startswith("_") and len({key[-3:] for key in keys}) == 1:  # made by several calls
            return node.variable
        if node.name == "select" and node.text.startswith("for "):  # the loop itself takes the rows
            return f"a row of {self.name_of(node.operands[0][1])}"
        if self.is_one_of_several_operations(value):
            return f"the value of the `{node.name}` in `{node.text}`"
        return as_code(node.text or node.name)

    def is_one_of_several_operations(self, value: int) -> bool:
        """Return whether the expression that computes a value records several kinds of operations, as that of a module.

        False for an operation of a composite, such as `cross_entropy`, and for a `write`.

        Args:
            value: the id of the value.
        """
        node = self.nodes[value]
        return (
            bool(node.text)
            and not node.composite
            and node.name != "write"
            and any(
                (other.text, other.line) == (node.text, node.line) and other.name not in (node.name, "write")
                for other in self.nodes
            )
        )

    def name_of_axis(self, value: int, axis: int) -> str:
        """Return what a learner calls an axis of a value: the declared name of the axis, or `axis 0 of x`.

        Args:
            value: the id of the value.
            axis: the number of the axis.
        """
        name = self.axes_of(value)[axis]
        place = axis % self.nodes[value].value.ndim
        return f"axis {place} of {self.name_of(value)}" if name.startswith("_") else name

    def axes_of(self, value: int) -> Axes:
        """Return the names of the axes of a value: for each, the declared axis that has the same size in every trial.

        An axis whose size is that of no declared axis, or of several, is called `_0`, `_1`, ..., by its position.

        Args:
            value: the id of the value.
        """
        rank = self.nodes[value].value.ndim
        same = [(peer, peer.nodes[i].value.shape) for peer, i in self.in_all_trials(value)]
        alike = [(shape, peer.sizes) for peer, shape in same if len(shape) == rank]
        return axes_in_all([shape for shape, _ in alike], [sizes for _, sizes in alike])

    def in_all_trials(self, value: int) -> list[tuple[Program, int]]:
        """Return a value in this program, and then in those of other trials that have it: pairs of program and id.

        Args:
            value: the id of the value in this trial. In another trial, its id is that of the first iteration.
        """
        key = self.nodes[value].key
        others = ((peer, peer.forward.by_key.get(key, ())) for peer in self.peers if peer.forward is not self.forward)
        return [(self, value), *((peer, ids[0]) for peer, ids in others if ids)]

    def _edited(
        self,
        forward: Forward | None = None,
        edited_vjps: Mapping[Place, EdgeVjp] | None = None,
        added: tuple[tuple[int, int, EdgeVjp], ...] | None = None,
        results: Mapping[str, GradientEdit] | None = None,
    ) -> Program:
        """Return the program with the given fields in place of its own, and with the same right program as `original`.

        A field that is `None` stays. It does what `dataclasses.replace` would, which takes longer than a contribution.
        """
        program = object.__new__(Program)
        program.__dict__.update(
            forward=self.forward if forward is None else forward,
            upstreams=self.upstreams,
            edited_vjps=self.edited_vjps if edited_vjps is None else edited_vjps,
            added=self.added if added is None else added,
            results=self.results if results is None else results,
            original=self.right,
            output_name=self.output_name,
            upstream_name=self.upstream_name,
            gradient_names=self.gradient_names,
            is_value=self.is_value,
            sizes=self.sizes,
            peers=self.peers,
            numbers=self.numbers,
            record_with_number=self.record_with_number,
        )
        return program

    def _jacobians(self, value: int, shape: tuple[int, ...]) -> dict[str, Array]:
        """Return the Jacobian of a value with respect to each target, edits included: one sweep for each entry.

        Args:
            value: the id of the value.
            shape: its shape.

        Returns:
            By name of the target; shape: (*shape, *target).
        """
        units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
        forward = replace(self.forward, outputs=(value,))
        rows = [replace(self, forward=forward, upstreams=(unit,), original=None).gradients() for unit in units]
        return {
            name: np.stack([row[name] for row in rows]).reshape(*shape, *rows[0][name].shape)
            for name in self.forward.targets
        }

    def _with_vjps_of_changed_nodes(self, changes: Mapping[int, Change]) -> Program:
        """Return the program in which the edges of some nodes have the vjps of changed nodes; no value changes.

        An operand that a changed node no longer reads gets nothing of it; one that it alone reads gets an added edge.

        Args:
            changes: by id of a node, a function that takes the node and returns the one whose vjps are used.

        Raises:
            NoCandidate: a node cannot be changed so, or its value cannot be computed.
        """
        edited_vjps, added = dict(self.edited_vjps), list(self.added)

        def of(node: Node, slot: int, before: EdgeVjp) -> EdgeVjp:
            """Return the vjp of a changed node for one of its slots."""
            return lambda at: before(at._replace(node=node, slot=slot))

        for i, change in changes.items():
            node = apply_change(self.nodes[i], change)
            with np.errstate(all="ignore"):
                node = node.with_value(node.values, node.operation.run(node.values, node.options))
            slots = {operand: slot for slot, operand in node.edges}
            for slot, operand in self.forward.edges[i]:
                kept = slot if (slot, operand) in node.edges else slots.get(operand)
                before = self.edited_vjps.get((i, slot), EdgeContext.right)
                edited_vjps[i, slot] = zero_vjp if kept is None else of(node, kept, before)
            read = {operand for _, operand in self.forward.edges[i]}
            added += [
                (i, operand, of(node, slot, EdgeContext.right)) for slot, operand in node.edges if operand not in read
            ]
        return self._edited(edited_vjps=edited_vjps, added=tuple(added))

    def _vjps_with_changed_partners(self, other: Forward) -> dict[Place, EdgeVjp]:
        """Return the vjps that take their partner operands, and these alone, from a changed forward pass.

        For `x @ w` with x and w changed: the contribution to x is taken with the changed w and the right x.

        Args:
            other: the changed forward pass.

        Returns:
            By edge (reader, slot), for the edges with a changed partner operand.
        """

        def beside(slot: int, others: Mapping[int, Operand], before: EdgeVjp) -> EdgeVjp:
            """Return the vjp of an edge with the changed values in all slots but its own."""
            partners = {i: value for i, value in others.items() if i != slot}
            return lambda at: before(at._replace(node=_with_values(at.node, partners)))

        edited_vjps = {}
        for node in self.nodes:
            changed = {s: other.nodes[i].value for s, i in node.operands if other.nodes[i] is not self.nodes[i]}
            for slot, _ in self.forward.edges[node.id]:
                if set(changed) - {slot}:
                    place = (node.id, slot)
                    edited_vjps[place] = beside(slot, changed, self.edited_vjps.get(place, EdgeContext.right))
        return edited_vjps


def _with_values(node: Node, operands: Mapping[int, Operand]) -> Node:
    """Return a node with other operands in some slots, and the value that it has: nothing is computed.

    Args:
        node: the node.
        operands: by slot the operand that is put there: an array or a number.
    """
    return replace(node, values=tuple(operands.get(slot, own) for slot, own in enumerate(node.values)))


def difference(after: Array | None, before: Array | None) -> Array | None:
    """Return `after - before`, where `None` stands for zeros of the same shape; `None` if both are.

    Args:
        after: a gradient or contribution in an edited program.
        before: the same one in the right program.

    Raises:
        NoCandidate: the two have different shapes.
    """
    if before is None or after is None:
        return after if before is None else -before
    if after.shape != before.shape:
        raise NoCandidate(f"a gradient of shape {after.shape} in place of one of {before.shape}")
    return np.asarray(after - before)


@dataclass(frozen=True, eq=False)
class Tangents:
    """The derivatives of each value of a right program along random directions of the targets.

    Args:
        directions: for each target its random directions; shape: (directions, *target).
        rows: for each target the rows of its directions among those of all targets.
        tangents: by id of a value its derivatives along all directions; shape: (rows, entries of the value).
        right: the projections of the right gradients on the directions; shape: (rows,).
    """

    directions: Mapping[str, Array]
    rows: Mapping[str, slice]
    tangents: Mapping[int, Array]
    right: Array

    def projections_of(self, value: int, moved: Array | None) -> Array:
        """Return how much is added to each projection when an array is added to the gradient of one value.

        It is the sum of the products of this array with the tangents of the value. A projection is the sum of the
        products of a target's gradient with one of the target's directions.

        Args:
            value: the id of the value.
            moved: what is added to its gradient, shaped like the value; `None` for zeros.

        Returns:
            Shape: (rows,): one for each direction of each target, as the field `right`.
        """
        if moved is None or value not in self.tangents:
            return np.zeros(len(self.right))
        tangents = self.tangents[value]
        return np.asarray(tangents @ moved.ravel().astype(tangents.dtype, copy=False))

    def project(self, gradients: Mapping[str, Array]) -> Array:
        """Return the projections of the targets' gradients: sum(d * G) for each direction d of the target of G.

        Args:
            gradients: by name of the target its gradient, right or wrong, or any array shaped like it.

        Returns:
            Shape: (rows,): one for each direction of each target; NaN in the rows of a target whose array is missing.

        Raises:
            NoCandidate: an array has another shape than its target.
        """
        total = np.full(sum(len(d) for d in self.directions.values()), np.nan)
        for name, directions in self.directions.items():
            if name in gradients:
                if gradients[name].shape != directions.shape[1:]:
                    raise NoCandidate(f"the gradient of {name} has the shape {gradients[name].shape}")
                total[self.rows[name]] = directions.reshape(len(directions), -1) @ gradients[name].ravel()
        return total


class Sweep:
    """A reverse sweep over a program: the gradients of its values, each computed when it is first asked for.

    A vjp may ask for the gradient of any value, or for the contribution of any edge, as long as these do not depend on
    the contribution that the vjp computes.
    """

    def __init__(self, program: Program, base: Sweep | None = None, affected: int = -1) -> None:
        """Begin a sweep without any gradient.

        Args:
            program: the program whose gradients are computed.
            base: a finished sweep that has the same gradients but for those of the values `affected`; `None` where all
                are computed anew.
            affected: the values whose gradients the edits may change, as a bit mask; all by default.
        """
        self.program = program
        self.base, self.affected = base, affected
        self._base_totals = {} if base is None else base._totals
        self._base_parts = {} if base is None else base._parts
        self._uses, self._vjps = program.forward.uses, program.forward.vjps
        self._edited_vjps, self._shapes = program.edited_vjps, program.forward.shapes
        self._totals: dict[int, Array | None] = {}
        self._parts: dict[Place, Array | None] = {}
        self._known = 0  # the values in `_totals`
        self._open = 0  # the values whose gradient is being computed
        self._open_parts: set[Place] = set()

    def gradient(self, value: int) -> Array:
        """Return the gradient of the value with an id, shaped like it; zeros where nothing contributes to it.

        Raises:
            NoCandidate: the gradient depends on a contribution that is being computed, or a vjp of an edit gives no
                array of the right shape.
        """
        total = self.gradient_or_none(value)
        return np.zeros(self.program.nodes[value].value.shape) if total is None else total

    def contribution(self, place: Place) -> Array:
        """Return the contribution of an edge (reader, slot), shaped like its operand; zeros where there is none.

        Raises:
            NoCandidate: the gradient depends on a contribution that is being computed, or a vjp gives a wrong shape.
        """
        part = self.contribution_or_none(place)
        return np.zeros(self.program.nodes[self.program.source(place)].value.shape) if part is None else part

    def gradient_or_none(self, value: int) -> Array | None:
        """Return the gradient of the value with an id, shaped like it; `None` where nothing contributes to it.

        Raises:
            NoCandidate: the gradient depends on a contribution that is being computed, or a vjp gives a wrong shape.
        """
        if not self.affected >> value & 1:
            return self._base_totals[value]
        if not self._known >> value & 1:
            behind = self.program.forward.descendants[value] & self.affected
            if behind & self._open:
                raise NoCandidate("a rule asks for a gradient that depends on its own contribution")
            for later in bits(behind & ~self._known):  # the latest first: no recursion over iterations
                if not self._known >> later & 1:
                    self._totals[later] = self._sum(later)
                    self._known |= 1 << later
        return self._totals[value]

    def contribution_or_none(self, place: Place) -> Array | None:
        """Return the contribution of an edge (reader, slot), shaped like its operand, or `None` where there is none.

        Raises:
            NoCandidate: the gradient depends on a contribution that is being computed, or a vjp gives a wrong shape.
        """
        reader, slot = place
        vjp = self._edited_vjps.get(place)
        if vjp is zero_vjp:
            return None
        if vjp is None and place in self._base_parts and (reader == SINK or not self.affected >> reader & 1):
            return self._base_parts[place]
        if place in self._parts:
            return self._parts[place]
        if vjp is not None:
            part: Array | None = self._by_edited_vjp(place, vjp)
        elif reader == SINK:
            part = self.program.upstreams[slot]
        else:
            g = self.gradient_or_none(reader)
            part = None if g is None else self._by_vjp(place, g)
        self._parts[place] = part
        return part

    def added_contribution(self, number: int) -> Array:
        """Return the contribution of an edge that `Program.with_edge` has added, shaped like the value that gets it.

        Args:
            number: the position of the edge in `Program.added`, from 0.

        Raises:
            NoCandidate: the gradient depends on a contribution that is being computed, or a vjp gives a wrong shape.
        """
        reader, value, vjp = self.program.added[number]
        place = (reader, ADDED - number)
        if place not in self._parts:
            self._parts[place] = self._by_edited_vjp(place, vjp, self.program.nodes[value].value.shape)
        part = self._parts[place]
        assert part is not None
        return part

    def _sum(self, value: int) -> Array | None:
        """Return the sum of the contributions of all edges to the value with an id, shaped like it.

        Return `None` where no edge contributes to it: the output does not depend on it, or all its edges are dropped.

        Raises:
            NoCandidate: a contribution has another shape than the value, or cannot be computed.
        """
        self._open |= 1 << value
        shape, total = self._shapes[value], None
        part_of = self.contribution_or_none
        try:
            parts = [part_of(place) for place in self._uses[value]]
            if self.program.added:
                parts += [self.added_contribution(n) for n, (_, to, _) in enumerate(self.program.added) if to == value]
        finally:
            self._open ^= 1 << value
        for part in parts:
            if part is not None:
                if part.shape != shape:
                    raise NoCandidate(f"a contribution has the shape {part.shape}, and its value {shape}")
                total = part if total is None else total + part
        if total is not None:
            total = np.asarray(total)
            total.flags.writeable = False  # many programs share it, and a rule that writes to it would change them all
        return total

    def _by_vjp(self, place: Place, g: Array) -> Array:
        """Return the right contribution of an edge, by the reader's own vjp.

        Args:
            place: the edge, as (reader, slot).
            g: the upstream gradient of the reader, shaped like its value.

        Raises:
            NoCandidate: it cannot be computed.
        """
        try:
            return self._vjps[place](g)
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"the vjp of {self.program.nodes[place[0]].name}: {error}") from error

    def _by_edited_vjp(self, place: Place, vjp: EdgeVjp, shape: tuple[int, ...] | None = None) -> Array:
        """Return the contribution of an edge by the vjp of an edit.

        Args:
            place: the edge, as (reader, slot).
            vjp: the vjp.
            shape: the shape that the contribution must have; by default that of the operand in the slot.

        Raises:
            NoCandidate: it cannot be computed, has another shape, or depends on itself.
        """
        reader, slot = place
        if place in self._open_parts:
            raise NoCandidate("a rule asks for its own contribution")
        self._open_parts.add(place)
        try:
            node = self.program.sink if reader == SINK else self.program.nodes[reader]
            g = self.program.upstreams[max(slot, 0)] if reader == SINK else self.gradient(reader)
            part = np.asarray(vjp(EdgeContext(self.program, node, slot, g, self)))
        except NoCandidate:
            raise
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"a rule at {node.text or node.name}: {error}") from error
        finally:
            self._open_parts.discard(place)
        if part.shape != (np.shape(node.values[slot]) if shape is None else shape):
            raise NoCandidate(f"a rule gives the shape {part.shape}")
        return part
