"""A backward pass that can be rewritten.

A `Program` is a recorded forward pass with a backward pass, and never changes: each of its `with_...` methods returns
another program. `Program.gradients` is one reverse sweep for all answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from grader.shapes import guess_axes

from .forward import ADDED, LOSS, SINK, Change, Forward, Node, Place, apply_change, bits
from .operation import Array, NoCandidate, Operand

Affects = Literal["all", "values", "backward", "partners"]


class EdgeContext(NamedTuple):
    """An edge in a sweep: all that a rule may look at.

    Args:
        program: the program that is swept.
        node: the reader.
        slot: which of its operands the rule contributes to.
        g: the upstream gradient of the reader, shaped like its value.
        sweep: other values' gradients and contributions, on demand.
    """

    program: Program
    node: Node
    slot: int
    g: Array
    sweep: Sweep

    @property
    def x(self) -> Operand:
        """Return the operand."""
        return self.node.values[self.slot]

    @property
    def y(self) -> Array:
        """Return the reader's value."""
        return self.node.value

    def right(
        self,
        g: Array | None = None,
        operands: Mapping[int, Operand] | None = None,
        value: Array | None = None,
        **options: object,
    ) -> Array:
        """Return the right contribution, or that of another upstream gradient, of other operands, value or options."""
        return self.node.vjp(self.slot, self.g if g is None else g, operands, value, options)


EdgeVjp = Callable[[EdgeContext], Array]  # the contribution along an edge, shaped like the operand
GradientEdit = Callable[["Program", Array], Array]  # what becomes of a target's gradient


def zero_vjp(at: EdgeContext) -> Array:
    """Return zeros: the rule of an edge that is dropped. A sweep leaves such an edge out."""
    return np.zeros(np.shape(at.x))


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A forward pass and a backward pass over it.

    Args:
        forward: the nodes.
        upstreams: the upstream gradient of each output, shaped like it.
        edited_vjps: the edges whose contribution is not the node's own vjp.
        added: contributions along edges that the forward pass does not have: the reader, the value that gets
            the contribution, and the rule.
        results: what becomes of the gradients of some targets at the end.
        original: the program that this one was rewritten from; `None` for itself.
        output_name: what a learner calls the output.
        upstream_name: what a learner calls its upstream gradient; empty where none is given, and it is 1 everywhere.
        is_value: a learner was asked for the value alone, so that nothing is known of a backward pass.
        sizes: the sizes of this run by the names of the axes, where they are known.
    """

    forward: Forward
    upstreams: tuple[Array, ...]
    edited_vjps: Mapping[Place, EdgeVjp] = field(default_factory=dict)
    added: tuple[tuple[int, int, EdgeVjp], ...] = ()
    results: Mapping[str, GradientEdit] = field(default_factory=dict)
    original: Program | None = None
    output_name: str = "out"
    upstream_name: str = "out.g"
    is_value: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes in the order of the forward pass."""
        return self.forward.nodes

    @property
    def inputs(self) -> Mapping[str, int]:
        """Return the ids of the inputs by name."""
        return self.forward.inputs

    @property
    def right(self) -> Program:
        """Return the program without any edit."""
        return self if self.original is None else self.original

    @cached_property
    def sink(self) -> Node:
        """Return the reader of the outputs; its edges carry the upstream gradients."""
        operands = tuple(enumerate(self.forward.outputs))
        values = tuple(self.nodes[i].value for i in self.forward.outputs)
        return Node(SINK, LOSS, operands, values, {}, np.zeros(()), text="loss")

    def nodes_of(self, operation: str) -> tuple[int, ...]:
        """Return the nodes of an operation, such as `matmul`, in the order of the forward pass."""
        return self.forward.groups["operation"].get(operation, ())

    def reader(self, place: Place) -> Node:
        """Return the node at the end of an edge."""
        return self.sink if place[0] == SINK else self.nodes[place[0]]

    def source(self, place: Place) -> int:
        """Return the id of the value that an edge leads a gradient to."""
        operand = self.reader(place).operand(place[1])
        if operand is None:
            raise NoCandidate(f"slot {place[1]} of node {place[0]} holds a constant")
        return operand

    def with_vjp(self, place: Place, rule: EdgeVjp) -> Program:
        """Return the program with another contribution along an edge; a second rule there replaces the first."""
        return self._rewritten(edited_vjps={**self.edited_vjps, place: rule})

    def with_upstream(self, reader: int, rule: EdgeVjp) -> Program:
        """Return the program in which a node hands another upstream gradient to its rules.

        Args:
            reader: the node, or `SINK`.
            rule: returns the upstream gradient, shaped like the node's value; at `SINK`, like the output.
        """

        def through(place: Place) -> EdgeVjp:
            before = self.edited_vjps.get(place, EdgeContext.right)
            return lambda at: before(at._replace(g=rule(at)))

        edges = self.sink.operands if reader == SINK else self.forward.edges[reader]
        return self._rewritten(
            edited_vjps={**self.edited_vjps, **{(reader, slot): through((reader, slot)) for slot, _ in edges}}
        )

    def without(self, *places: Place) -> Program:
        """Return the program without the contributions along some edges."""
        return self._rewritten(edited_vjps={**self.edited_vjps, **dict.fromkeys(places, zero_vjp)})

    def with_edge(self, reader: int, value: int, rule: EdgeVjp) -> Program:
        """Return the program with a contribution from a node's upstream gradient to a value that it does not read.

        Args:
            reader: the node, or `SINK`.
            value: the id of the value that gets the contribution.
            rule: returns it, shaped like the value; `EdgeContext.slot` is `ADDED`, so there is no right contribution.
        """
        return self._rewritten(added=(*self.added, (reader, value, rule)))

    def with_nodes(self, changes: Mapping[int, Change], affects: Affects = "all") -> Program:
        """Return the program of another forward pass.

        Args:
            changes: for each id the function from the node, with its operands as they have become, to another node.
            affects: what the other nodes change. `"all"`: what follows from them, and the backward pass. `"values"`:
                what follows from them; the changed nodes have the vjps of the right ones at the other values, in
                terms of their result where that can be. `"backward"`: the vjps of the changed nodes alone, at the
                right values. `"partners"`: the other values are seen only as partner operands, by the vjps of other
                slots.

        Raises:
            NoCandidate: the forward pass cannot be run so.
        """
        if affects == "backward":
            return self._with_other_vjps(changes)
        other = self.forward.run(changes)
        if affects == "all":
            return self._rewritten(forward=other)
        if affects == "values":
            nodes = list(other.nodes)
            for i in changes:
                values = list(self.nodes[i].values)
                for slot, operand in self.nodes[i].operands:
                    values[slot] = nodes[operand].value
                nodes[i] = self.nodes[i].with_value(tuple(values), nodes[i].value)
            return self._rewritten(forward=other.with_nodes(nodes))
        return self._rewritten(edited_vjps={**self.edited_vjps, **self._partner_rules(other)})

    def with_input(self, name: str, value: Array, affects: Affects = "all") -> Program:
        """Return the program of a forward pass with another input; see `with_nodes`."""
        return self.with_nodes({self.inputs[name]: lambda node: replace(node, values=(value,))}, affects)

    def with_iterations(self, order: Sequence[int]) -> Program:
        """Return the program whose backward pass goes through the iterations of a loop in another order.

        Args:
            order: for each iteration the one whose values are met in its place: with `range(n)` nothing changes, with
                `range(n)[::-1]` it goes from the first to the last. Every loop of so many iterations is meant.
        """
        nodes = list(self.nodes)
        for ids in self.forward.by_key.values():
            if len(ids) == len(order):
                for i, source in zip(ids, order, strict=True):
                    other = self.nodes[ids[source]]
                    nodes[i] = replace(nodes[i], values=other.values, options=other.options, value=other.value)
        return self._rewritten(forward=self.forward.with_nodes(nodes))

    def with_result(self, name: str, result: GradientEdit) -> Program:
        """Return the program that hands out another array in place of a target's gradient; its shape is free."""
        return self._rewritten(results={**self.results, name: result})

    @np.errstate(all="ignore")
    def gradients(self) -> dict[str, Array]:
        """Return the gradient of every target by one reverse sweep, each shaped like its value.

        Raises:
            NoCandidate: a rule has no array to give, or one of another shape.
        """
        return {name: self.gradient(name) for name in self.forward.targets}

    @np.errstate(all="ignore")
    def gradient(self, name: str) -> Array:
        """Return the gradient of one target; raises as `gradients` does."""
        gradient = self.sweep.gradient(self.forward.targets[name])
        return self._result(name, gradient) if name in self.results else gradient

    @cached_property
    def sweep(self) -> Sweep:
        """Return the gradients of all values, each computed when it is first asked for."""
        is_own = self.forward is self.right.forward
        if is_own and not self.edited_vjps and not self.added:
            return self.right.right_sweep  # many results are made of one sweep
        return Sweep(self, self.right_sweep, self.reach[0]) if is_own and self.original is not None else Sweep(self)

    def _result(self, name: str, gradient: Array) -> Array:
        """Return what becomes of the gradient of a target.

        Raises:
            NoCandidate: it cannot be computed.
        """
        try:
            return np.asarray(self.results[name](self, gradient))
        except NoCandidate:
            raise
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"the result for {name}: {error}") from error

    def jacobians(self) -> dict[str, Array]:
        """Return the Jacobian of the first output with respect to every target; shape: (*output, *target).

        One sweep for each entry of the output, with every edit of this program: a rule at `SINK` sees a unit upstream
        gradient. To screen candidates for an answer that is a Jacobian, record the program with a random upstream
        gradient u, and compare with the answer summed over the output's axes with the weights u.
        """
        output = self.nodes[self.forward.outputs[0]].value
        return self._stacked(self.forward.outputs[0], output.shape)

    def jacobians_of(self, value: int) -> dict[str, Array]:
        """Return the right Jacobian of any value with respect to every target; shape: (*value, *target)."""
        return self.right._stacked(value, self.nodes[value].value.shape)

    def pullback(self, value: int, g: Array) -> dict[str, Array]:
        """Return what a gradient that arrives at a value is for every target, by the rules of this program.

        Args:
            value: the id.
            g: the gradient at the value, shaped like it; nothing arrives from anywhere else.
        """
        forward = replace(self.forward, outputs=(value,))
        edited_vjps = {place: rule for place, rule in self.edited_vjps.items() if place[0] != SINK}
        return replace(self, forward=forward, upstreams=(g,), edited_vjps=edited_vjps, original=None).gradients()

    @cached_property
    def right_sweep(self) -> Sweep:
        """Return the finished sweep of the program without any edit; all rewritten programs share it."""
        if self.original is not None:
            return self.original.right_sweep
        sweep = Sweep(self)
        with np.errstate(all="ignore"):
            for value in reversed(range(len(self.nodes))):
                sweep.gradient(value)
        return sweep

    @cached_property
    def reach(self) -> tuple[int, int]:
        """Return which values the edits lead to, and which lead to the edits, as bit masks.

        Of another forward pass these are the values that its changed nodes lead to, and those that differ in it.
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
        """Return what the edits change of the projections of all gradients on random directions.

        A gradient is a sum over paths: what is added to the gradient of a value v moves the projections by its product
        with the tangents of v. So an edit costs its own rule and one product; only between two edits, or from the loss
        to the values that differ in another forward pass, is anything propagated.

        Args:
            tangents: of the program without any edit, see `probes.draw_tangents`.

        Returns:
            Shape: (directions of all targets,).

        Raises:
            NoCandidate: as `gradients`.
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
            if by is not None:
                moved[value] = moved[value] + by if value in moved else by

        for place, value in edges.items():
            if not inner >> value & 1:
                is_own = forward is own or (place in own.sources and own.sources[place] == value)
                move(value, difference(after.part(place), before.part(place) if is_own else None))
        for number, (_, value, _) in enumerate(self.added):
            if not inner >> value & 1:
                move(value, after.added_part(number))
        if forward is not own:
            for reader in bits(inner):
                for slot, value in own.edges[reader]:  # of the right forward pass alone
                    if not inner >> value & 1 and edges.get((reader, slot)) != value:
                        move(value, difference(None, before.part((reader, slot))))
        total = np.zeros(len(tangents.right))
        for value, by in moved.items():
            total += tangents.of(value, by)
        for name, rows in tangents.rows.items():
            if inner >> (value := forward.targets[name]) & 1:  # what it is made from tells nothing of its direction
                total[rows] += tangents.of(value, difference(after.total(value), before.total(value)))[rows]
        return total

    def name_of(self, value: int) -> str:
        """Return what a learner calls a value: its declared name, the variable that holds it, or its expression."""
        node = self.nodes[value]
        if value in self.forward.names:
            return self.forward.names[value]
        if value in self.forward.outputs:
            return self.output_name
        keys = {other.key for other in self.nodes if other.variable == node.variable and other.edges}
        if node.variable and keys <= {node.key}:
            return node.variable
        if node.name == "select" and node.text.startswith("for "):  # the loop itself takes the rows
            return f"a row of {self.name_of(node.operands[0][1])}"
        if self.is_part(value):
            return f"the value of the `{node.name}` in `{node.text}`"
        return node.text or node.name

    def is_part(self, value: int) -> bool:
        """Return whether a node is one of several operations of one expression, such as the call of a module."""
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
        """Return what a learner calls an axis of a value: its declared name, or which axis of which value it is."""
        shape = self.nodes[value].value.shape
        name = guess_axes(shape, self.sizes)[axis]
        return f"axis {axis % len(shape)} of {self.name_of(value)}" if name.startswith("_") else name

    def _rewritten(
        self,
        forward: Forward | None = None,
        edited_vjps: Mapping[Place, EdgeVjp] | None = None,
        added: tuple[tuple[int, int, EdgeVjp], ...] | None = None,
        results: Mapping[str, GradientEdit] | None = None,
    ) -> Program:
        """Return the program with some fields replaced; a frozen dataclass takes longer to make than a contribution."""
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
            is_value=self.is_value,
            sizes=self.sizes,
        )
        return program

    def _stacked(self, value: int, shape: tuple[int, ...]) -> dict[str, Array]:
        """Return the gradients for a unit upstream gradient at each entry of a value; shape: (*shape, *target)."""
        units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
        forward = replace(self.forward, outputs=(value,))
        rows = [replace(self, forward=forward, upstreams=(unit,), original=None).gradients() for unit in units]
        return {
            name: np.stack([row[name] for row in rows]).reshape(*shape, *rows[0][name].shape)
            for name in self.forward.targets
        }

    def _with_other_vjps(self, changes: Mapping[int, Change]) -> Program:
        """Return the program in which rules take the vjps of changed nodes, whose operands are right."""
        edited_vjps, added = dict(self.edited_vjps), list(self.added)

        def of(node: Node, slot: int, before: EdgeVjp) -> EdgeVjp:
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
        return self._rewritten(edited_vjps=edited_vjps, added=tuple(added))

    def _partner_rules(self, other: Forward) -> dict[Place, EdgeVjp]:
        """Return rules that see the values of another forward pass as partner operands alone."""

        def beside(slot: int, others: Mapping[int, Operand], before: EdgeVjp) -> EdgeVjp:
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
    """Return a node with other operands in some slots."""
    return replace(node, values=tuple(operands.get(slot, own) for slot, own in enumerate(node.values)))


def difference(after: Array | None, before: Array | None) -> Array | None:
    """Return `after - before`, where `None` stands for zeros.

    Raises:
        NoCandidate: their shapes differ: the value has another shape in the edited forward pass.
    """
    if before is None or after is None:
        return after if before is None else -before
    if after.shape != before.shape:
        raise NoCandidate(f"a gradient of shape {after.shape} in place of one of {before.shape}")
    return np.asarray(after - before)


@dataclass(frozen=True, eq=False)
class Tangents:
    """The derivatives of every value along random directions of the targets.

    Args:
        directions: for each target its random directions; shape: (directions, *target).
        rows: for each target the rows that its directions have.
        tangents: for each value on the way its derivatives; shape: (rows, entries of the value).
        right: the projections of the right gradients; shape: (rows,).
    """

    directions: Mapping[str, Array]
    rows: Mapping[str, slice]
    tangents: Mapping[int, Array]
    right: Array

    def of(self, value: int, moved: Array | None) -> Array:
        """Return how much the projections move when the gradient of a value does.

        Args:
            value: the id.
            moved: the difference of its gradient, shaped like the value; `None` for zeros.

        Returns:
            Shape: (rows,).
        """
        if moved is None or value not in self.tangents:
            return np.zeros(len(self.right))
        tangents = self.tangents[value]
        return np.asarray(tangents @ moved.ravel().astype(tangents.dtype, copy=False))

    def project(self, gradients: Mapping[str, Array]) -> Array:
        """Return the projections of gradients, or of anything shaped like them.

        Args:
            gradients: for each target an array shaped like it.

        Returns:
            Shape: (rows,); NaN for a target whose array is missing.

        Raises:
            NoCandidate: an array has another shape.
        """
        total = np.full(sum(len(d) for d in self.directions.values()), np.nan)
        for name, directions in self.directions.items():
            if name in gradients:
                if gradients[name].shape != directions.shape[1:]:
                    raise NoCandidate(f"the gradient of {name} has the shape {gradients[name].shape}")
                total[self.rows[name]] = directions.reshape(len(directions), -1) @ gradients[name].ravel()
        return total


class Sweep:
    """The gradients of a program, each computed when it is first asked for.

    A rule may ask for any other value's gradient, or for one contribution to it, as long as these do not depend on what
    the rule contributes to.
    """

    def __init__(self, program: Program, base: Sweep | None = None, affected: int = -1) -> None:
        """Begin a sweep.

        Args:
            program: what is swept.
            base: a finished sweep whose gradients are those of this one, too, but for those that the edits lead to.
            affected: the values that the edits lead to, as a bit mask; all by default.
        """
        self.program = program
        self.base, self.affected = base, affected
        self._base_totals = {} if base is None else base._totals
        self._base_parts = {} if base is None else base._parts
        self._uses, self._vjps = program.forward.uses, program.forward.vjps
        self._rules, self._shapes = program.edited_vjps, program.forward.shapes
        self._totals: dict[int, Array | None] = {}
        self._parts: dict[Place, Array | None] = {}
        self._known = 0  # the values in `_totals`
        self._open = 0  # the values whose gradient is being computed
        self._open_parts: set[Place] = set()

    def gradient(self, value: int) -> Array:
        """Return the gradient that arrives at a value, shaped like it; `SINK` has none.

        Raises:
            NoCandidate: it depends on what is being computed, or a rule has no array of the right shape.
        """
        total = self.total(value)
        return np.zeros(self.program.nodes[value].value.shape) if total is None else total

    def contribution(self, place: Place) -> Array:
        """Return what comes along one edge, shaped like the value that it comes to; raises as `gradient` does."""
        part = self.part(place)
        return np.zeros(self.program.nodes[self.program.source(place)].value.shape) if part is None else part

    def total(self, value: int) -> Array | None:
        """Return the gradient that arrives at a value; `None` where nothing does."""
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

    def part(self, place: Place) -> Array | None:
        """Return what comes along one edge; `None` where nothing does."""
        reader, slot = place
        rule = self._rules.get(place)
        if rule is zero_vjp:
            return None
        if rule is None and place in self._base_parts and (reader == SINK or not self.affected >> reader & 1):
            return self._base_parts[place]
        if place in self._parts:
            return self._parts[place]
        if rule is not None:
            part: Array | None = self._by_rule(place, rule)
        elif reader == SINK:
            part = self.program.upstreams[slot]
        else:
            g = self.total(reader)
            part = None if g is None else self._by_vjp(place, g)
        self._parts[place] = part
        return part

    def added_part(self, number: int) -> Array:
        """Return what comes along an edge that was added, by its number among them."""
        reader, value, rule = self.program.added[number]
        place = (reader, ADDED - number)
        if place not in self._parts:
            self._parts[place] = self._by_rule(place, rule, self.program.nodes[value].value.shape)
        part = self._parts[place]
        assert part is not None
        return part

    def _sum(self, value: int) -> Array | None:
        """Return the sum of all contributions to a value; `None` where there are none."""
        self._open |= 1 << value
        shape, total = self._shapes[value], None
        part_of = self.part
        try:
            parts = [part_of(place) for place in self._uses[value]]
            if self.program.added:
                parts += [self.added_part(n) for n, (_, to, _) in enumerate(self.program.added) if to == value]
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
        """Return the right contribution along an edge."""
        try:
            return self._vjps[place](g)
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"the vjp of {self.program.nodes[place[0]].name}: {error}") from error

    def _by_rule(self, place: Place, rule: EdgeVjp, shape: tuple[int, ...] | None = None) -> Array:
        """Return what a rule computes for an edge."""
        reader, slot = place
        if place in self._open_parts:
            raise NoCandidate("a rule asks for its own contribution")
        self._open_parts.add(place)
        try:
            node = self.program.sink if reader == SINK else self.program.nodes[reader]
            g = self.program.upstreams[max(slot, 0)] if reader == SINK else self.gradient(reader)
            part = np.asarray(rule(EdgeContext(self.program, node, slot, g, self)))
        except NoCandidate:
            raise
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise NoCandidate(f"a rule at {node.text or node.name}: {error}") from error
        finally:
            self._open_parts.discard(place)
        if part.shape != (np.shape(node.values[slot]) if shape is None else shape):
            raise NoCandidate(f"a rule gives the shape {part.shape}")
        return part
