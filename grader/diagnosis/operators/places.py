"""The kinds of places that operators edit, and spots: names of such places that hold in the program of every trial.

A `Place` is a pair of numbers. An edge is (id of the node that reads, slot of the operand in it); that from the loss to
output k is `(SINK, k)`. A node, or an input, is (id, `WHOLE`). An operator declares a kind of places, such as
`edges.of("matmul")`; a `Spot` is some of these places by a name that holds in every trial: one operation of the source
in all its iterations, or in the last one, or every product with a certain input.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from grader.program.calls import COMPLEX
from grader.program.forward import SINK, Forward, Node, Place
from grader.program.operation import SYMBOLS, Array, Family
from grader.program.program import EdgeContext, EdgeVjp, Program, Sweep
from grader.program.selectors import Iterations, Selector, edge_selectors, node_selectors, operation_noun

WHOLE = -2  # the slot in a place that is a node
Kind = Literal["edge", "node", "value", "target", "output"]
Predicate = Callable[[Program, Place], bool]

# What a wider place, or only some of its iterations, adds to the likelihood rank of an edit.
WIDTH_RANKS = {"key": 0.0, "source": 0.3, "repeated": 0.3, "role": 0.5, "operation": 1.0}
ITERATION_RANKS: dict[Iterations, float] = {
    "every": 0.0, "last": 0.6, "all but the last": 0.7, "first": 0.8, "all but the first": 0.9,
}  # fmt: skip
# The operator of the source by the name of an operation.
BINARY: Mapping[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "pow": ast.Pow, "logical_and": ast.BitAnd,
    "logical_or": ast.BitOr,
}  # fmt: skip

LONGEST_TEXT = 32  # of a quoted expression, if there is any way to say it in fewer characters
LONGEST_QUOTE = 25  # characters of an expression in a sentence, if its value has a name or its function a word
QUOTED = re.compile(
    r"(?:the `(?P<operation>\w+)` in )?`(?P<text>[^`]+)`"
    r"(?! (?:in line \d|(?:of|in|in the derivative of) `|in every call))"
)
OF_VALUE = re.compile(r"(?:gradient of|place of|that of|respect to|passed (?:from|to)|from the|computes|and) $")
GRADIENT_OF = re.compile(r"\b(?:the gradient|that) of $")
AFTER_NOUN = re.compile(r"\bthe (?!derivative|gradient)[\w-]+ $")  # "the norm ", with an apposition
TRANSPOSE = re.compile(r"gradient of (?:`(\w+)(?:\.(?:t|unsqueeze)\(-?\d?\)|\[:, None\]|\.m?T)`|(\w+)\.m?T\b)")
OTHER_OPERATION = re.compile(r"\ba \w+ is used in place of $")  # "a sum is used in place of `x - y`"
NAMED = r"(?:`[^`]+`|[^`,\s]+)"  # an expression, or a name
STEP = r"(?:the `\w+` (?:in|inside) )?`[^`]+`(?: (?:in line \d+|(?:in|of) `[^`]+`))?|the [\w-]+(?: `[^`]+`)?"
THROUGH_STEP = re.compile(
    rf"(?P<lead>\bin )?the gradient of (?P<name>{NAMED}) through (?P<step>{STEP})(?=,| (?!and\b))"
)
VALUE_NAME = re.compile(r"[A-Za-z_]\w*(?:\([\w, ]*\))?")  # `hidden`, or `norm(h)`
# What stands before and behind the name of a value, but hardly before and behind a word such as "mean" or "first".
BEFORE_VALUE = (
    r"(?:^|(?<=[,:] )|(?<=\b(?:of|to|at|by|or) )|(?<=\band )|(?<=\b(?:from|term) )|(?<=\bfactor )|(?<=\bthrough )"
    r"|(?<=\boperand ))"
)
BEHIND_VALUE = r"(?![\w.(]| (?:entry|entries|rows?|columns?|terms?|parts?|half)\b)"
# Names of arguments that are English words, and the output `out`, but not "left out".
PLAIN_WORDS = frozenset(
    ("bias", "gain", "gate", "groups", "keys", "limit", "mask", "query", "scale", "shape", "slope", "stride", "table",
     "tangent", "temperature")
)  # fmt: skip
FACTOR = rf"(?:(?<=the factor )|(?<=the denominator ))({'|'.join(sorted(PLAIN_WORDS))})\b"
OUT = r"(?<![\w.-])(?<!left )(?<!taken )(?<!moved )(?<!written )(out)(?![\w.(-])"
# A value that the loop changes, and the value that the iteration begins with.
BEFORE_AND_AFTER = (
    (r"\b(\w+) is used in place of \1 of the previous (time step|iteration)\b",
     r"\1 after each \2 is used in place of \1 before it"),
    (r"\b(\w+) of the previous (time step|iteration) is used in place of \1(?! of)\b",
     r"\1 before each \2 is used in place of \1 after it"),
)  # fmt: skip
# What is said of the iterations of a loop over time; the first pattern comes first.
TIME_STEPS = (
    (r"in every iteration of the forward pass but (the )?", "at every time step but the "),
    (r"\biteration(s?) of the (?:forward|backward) pass\b", r"iteration\1"),
    (r"\bin (every|the \w+) iteration\b", r"at \1 time step"),
    (r"\bin all iterations\b", "at all time steps"),
    (r"\bonly in the last one\b", "only at the last one"),
    (r"\ban iteration\b", "a time step"),
    (r"\biteration(s?)\b", r"time step\1"),
)
RESHAPES = ("reshape", "flatten", "unflatten")  # by the name of the node; a view counts as a reshape
# Rearrangements, which are quoted: `x.reshape(n, -1)` says more than its name.
QUOTED_FUNCTIONS = frozenset(
    ("reshape", "view", "transpose", "permute", "t", "flatten", "unsqueeze", "squeeze", "expand", "chunk", "detach",
     "tril", "triu", "flip", "roll", "scatter", "clone", "diagonal", "norm")
)  # fmt: skip
# The word for a function of which a forward pass has only one call; others are quoted: `conv1d`.
WORDS: Mapping[str, str] = {
    "softmax": "the softmax", "log_softmax": "the log-softmax", "logsumexp": "the logsumexp", "tanh": "the tanh",
    "sigmoid": "the sigmoid", "exp": "the exponential", "log": "the logarithm", "sqrt": "the square root",
    "mean": "the mean", "sum": "the sum", "max": "the maximum", "min": "the minimum", "amax": "the maximum",
    "amin": "the minimum", "square": "the square", "relu": "the relu", "vector_norm": "the norm",
}  # fmt: skip


@dataclass(frozen=True)
class TargetSelector:
    """Selects one input, or named value, whose gradient is asked for: the place (its id, `WHOLE`).

    Args:
        name: the learner's name of it.
    """

    name: str

    def places(self, program: Program) -> tuple[Place, ...]:
        """Return the place (id, `WHOLE`) of the input or named value `self.name`, in a tuple.

        The result is empty where the program has no target of this name.
        """
        value = program.forward.targets.get(self.name)
        return () if value is None else ((value, WHOLE),)


@dataclass(frozen=True)
class OutputSelector:
    """Selects the edge `(SINK, number)` from the loss to an output, along which its upstream gradient comes.

    Args:
        number: the slot of the output in the loss, counted from 0.
    """

    number: int

    def places(self, program: Program) -> tuple[Place, ...]:
        """Return the edge from the loss to output `self.number`, in a tuple; empty where there are fewer outputs."""
        return ((SINK, self.number),) if self.number < len(program.forward.outputs) else ()


@dataclass(frozen=True)
class NodeSelector:
    """Selects whole nodes as places (id, `WHOLE`), where a `Selector` by itself selects edges.

    Args:
        selector: which nodes.
    """

    selector: Selector

    def places(self, program: Program) -> tuple[Place, ...]:
        """Return the place (id, `WHOLE`) of each node that `self.selector` selects, in the order of the forward pass.

        The result is empty where the forward pass ran none of them.
        """
        return tuple((i, WHOLE) for i in self.selector.nodes(program))


PlaceSelector = Selector | NodeSelector | TargetSelector | OutputSelector


@dataclass(frozen=True, eq=False)
class Spot:
    """One or more places of one kind, by a name that holds in the program of every trial: what an edit is made at.

    Args:
        selector: finds the places in a program.
        kind: the conditions on the places; those that the selector finds and that do not fulfil them are left out.
        known: the places in the forward passes that were asked for before.
    """

    selector: PlaceSelector
    kind: Places
    known: WeakKeyDictionary[Forward, tuple[Place, ...]] = field(default_factory=WeakKeyDictionary, repr=False)

    def places(self, program: Program) -> tuple[Place, ...]:
        """Return the places of this spot in a program, in the order of the forward pass.

        The result is empty where the program has none.
        """
        known = self.known.get(program.forward)
        if known is None:
            places = self.selector.places(program)
            known = self.known[program.forward] = tuple(each for each in places if self.kind.admits(program, each))
        return known

    @property
    def rank(self) -> float:
        """Return the number that is added to an edit's likelihood rank because the edit is made at this spot.

        It is 0 for one operation in all its iterations, and for a target or an output. It is more for several
        operations (`WIDTH_RANKS`), and for some of the iterations alone (`ITERATION_RANKS`).
        """
        nodes = self._nodes
        return 0.0 if nodes is None else WIDTH_RANKS[nodes.width] + ITERATION_RANKS[nodes.iterations]

    def expression(self, program: Program) -> str:
        """Return the edited operation in the learner's words: its expression, such as `` `x @ w` ``.

        For a spot that holds all operations of one name, with one input or with any, return ``every `matmul` of u``;
        for all of one expression that the source repeats, ``every `1 - p` ``; for one expression of a function in all
        of its calls, `` `x @ w` in every call``. The spot must have a place in the program.
        """
        nodes = self._nodes
        if nodes is not None and nodes.width in ("repeated", "role", "operation"):
            return replace(nodes, iterations="every", slot=None).describe(program)
        place, *others = self.places(program)
        node = program.reader(place)
        if nodes is not None and nodes.width == "source":
            texts = {node.text, *(program.reader(other).text for other in others)}
            if len(texts) > 1 or not node.text:
                return f"every {operation_noun(node)}"
            last = program.reader((others or [place])[-1])
            called = _called(last.call) if last.variable == last.call else ""  # what the function returns
            return f"`{called if len(node.text) > LONGEST_QUOTE and called else node.text}` in every call"
        return expression_of(program, node)

    @property
    def is_wide(self) -> bool:
        """Return whether the spot holds several operations, such as every `@`, or every `@` that reads x.

        Also one expression of a function in all calls of this function; but not one that the source repeats.
        """
        nodes = self._nodes
        return nodes is not None and nodes.width in ("role", "operation", "source")

    @property
    def iterations_clause(self) -> str:
        """Return in which iterations the spot is; empty where it is in every one.

        Such as "in the last iteration of the forward pass"; for a spot of several operations, "for the last of them".
        """
        nodes = self._nodes
        if nodes is None or nodes.iterations == "every":
            return ""
        if nodes.width in ("repeated", "role", "operation"):
            excepted = nodes.iterations.startswith("all but ")
            which = nodes.iterations.removeprefix("all but ") if excepted else f"the {nodes.iterations}"
            return f"{'but not ' if excepted else ''}for {which} of them"
        if nodes.iterations.startswith("all but "):
            return f"in every iteration of the forward pass but {nodes.iterations.removeprefix('all but ')}"
        return f"in the {nodes.iterations} iteration of the forward pass"

    @property
    def _nodes(self) -> Selector | None:
        """Return the `Selector` that finds the spot's nodes or edges; `None` where it is a target or an output."""
        if isinstance(self.selector, NodeSelector):
            return self.selector.selector
        return self.selector if isinstance(self.selector, Selector) else None


@dataclass(frozen=True)
class Places:
    """A kind of places: `edges`, `nodes`, `values`, `targets` or `outputs`, or those of them that fulfil conditions.

    Args:
        kind: `"edge"`, `"node"`, `"value"`, `"target"` or `"output"`.
        conditions: predicates of a program and a place that all must hold.
        is_whole: whether a spot holds all iterations of its operation, so that no edit is made in some of them alone.
    """

    kind: Kind
    conditions: tuple[Predicate, ...] = ()
    is_whole: bool = False

    def where(self, condition: Predicate) -> Places:
        """Return these places, restricted to those for which a condition holds, such as `has_partner`.

        Args:
            condition: takes the program and the place; returns whether the place is admitted.
        """
        return replace(self, conditions=(*self.conditions, condition))

    @property
    def in_every_iteration(self) -> Places:
        """Return these places, restricted to spots that hold an operation in all iterations.

        It is for operators with many choices, such as another value, which nobody takes in the last iteration alone.
        """
        return replace(self, is_whole=True)

    def of(self, *operations: str) -> Places:
        """Return these places, restricted to those whose operation has one of the names.

        The operation of an edge is the one that reads: `edges.of("matmul")` are all edges to an operand of a product.
        """
        names = frozenset(operations)
        return self.where(lambda program, place: program.reader(place).name in names)

    def of_family(self, *families: Family) -> Places:
        """Return these places, restricted to those whose operation is of one of the families.

        A family is a group of operations, such as `"pointwise"`, `"contraction"` or `"reduction"`. The operation of an
        edge is the one that reads.
        """
        return self.where(lambda program, place: program.reader(place).operation.family in families)

    def at_slot(self, *slots: int) -> Places:
        """Return these edges, restricted to those of the operands in the given slots, such as 1 for a denominator."""
        return self.where(lambda program, place: place[1] in slots)

    def admits(self, program: Program, place: Place) -> bool:
        """Return whether a place of a program fulfils all of `self.conditions`, as `where` or `of` has added them."""
        return all(condition(program, place) for condition in self.conditions)

    def spots(self, program: Program) -> Iterator[Spot]:
        """Yield a `Spot` for every set of these places that has a name, such as one operation in its last iteration.

        The spots of one operation come first, those of all operations of one name, such as every `matmul`, last. A set
        of places that has several names comes once, under the first.

        Args:
            program: the right program of a trial with at least three iterations in each loop.
        """
        listed = _selectors_by_kind(program)[self.kind]
        every = dict.fromkeys(place for _, places in listed for place in places)
        admitted = {place for place in every if self.admits(program, place)}
        known = set()
        for selector, places in listed:
            if self.is_whole and not _holds_all_iterations(selector):
                continue
            own = tuple(place for place in places if place in admitted)
            if own and own not in known:
                known.add(own)
                yield Spot(selector, self)


def _holds_all_iterations(selector: PlaceSelector) -> bool:
    """Return whether a selector selects an operation in all iterations; True for a target and an output."""
    nodes = selector.selector if isinstance(selector, NodeSelector) else selector
    return not isinstance(nodes, Selector) or nodes.iterations == "every"


edges = Places("edge")  # those that lead a gradient from an output to a value
nodes = Places("node")  # the operations, those of masks and indices among them
values = Places("value").where(lambda program, place: bool(program.forward.uses[place[0]]))  # what gets a gradient
targets = Places("target")  # what gets a gradient that is asked for
outputs = Places("output")  # the edges from the loss

Listed = tuple[tuple[PlaceSelector, tuple[Place, ...]], ...]
_SELECTORS_BY_KIND: WeakKeyDictionary[Forward, dict[Kind, Listed]] = WeakKeyDictionary()  # every operator asks for them


def _selectors_by_kind(program: Program) -> dict[Kind, Listed]:
    """Return for each kind of places, such as `"edge"`, pairs of a selector and the tuple of places that it selects.

    The selectors are all that select any node, edge, target or output of the program: targets first, then those of one
    operation, and last those of all operations of one name. They are cached for each forward pass.
    """
    if program.forward not in _SELECTORS_BY_KIND:
        own_nodes = [NodeSelector(selector) for selector in node_selectors(program)]
        own_targets = [TargetSelector(name) for name in program.forward.targets]
        selectors: dict[Kind, list[PlaceSelector]] = {
            "edge": [*edge_selectors(program)],
            "node": [*own_nodes],
            "value": [*own_targets, *own_nodes],
            "target": [*own_targets],
            "output": [OutputSelector(k) for k, _ in enumerate(program.forward.outputs)],
        }
        _SELECTORS_BY_KIND[program.forward] = {
            kind: tuple((selector, selector.places(program)) for selector in own) for kind, own in selectors.items()
        }
    return _SELECTORS_BY_KIND[program.forward]


def expression_of(program: Program, node: Node) -> str:
    """Return a node's operation in the learner's words: its source expression, such as `` `x @ w` ``.

    With its line, or the call that it is in, where another operation reads alike; one of several operations of an
    expression is `` the `sum` in `x.var()` ``; the name of an input, and `the loss`.

    Args:
        program: the program of a trial.
        node: the node, or the loss.
    """
    if node.id == SINK:
        return "the loss"
    if node.operation.family == "input":
        return program.name_of(node.id)
    if node.composite and node.text:
        return (
            f"the `{node.name.removeprefix(COMPLEX)}` in `{node.text}`"
            if node.name != node.composite
            else f"`{node.text}`"
        )
    if not node.text:
        return f"`{operation_label(node)}`"
    if program.is_one_of_several_operations(node.id):
        return f"the `{node.name.removeprefix(COMPLEX)}` in `{node.text}`"
    used = program.forward.uses  # another call whose values are constants is none that a learner differentiates
    same = (each for each in program.nodes if each.text == node.text)
    alike = [each for each in same if used[each.id] or each.call == node.call]
    others = [other for other in alike if other.key != node.key]
    if any(other.line != node.line for other in others):
        return f"`{node.text}` in line {node.line}"
    calls = list(dict.fromkeys(each.call for each in alike))
    if node.call and len(calls) > 1:
        if len(calls) == 2 and node.call.startswith("_"):  # a spec's own function, which no learner has seen
            return f"the {'earlier' if node.call == calls[0] else 'later'} `{node.text}`"
        is_result = node.variable == node.call  # what the function returns
        return f"`{node.call}`" if is_result and len(node.text) > LONGEST_QUOTE else f"`{node.text}` of `{node.call}`"
    readers = [program.nodes[reader].text for reader, _ in program.forward.uses[node.id] if reader != SINK]
    if others and len(readers) == 1 and readers[0] not in ("", node.text):
        return f"`{node.text}` in `{readers[0]}`"
    return f"`{node.text}`"


def with_short_names(program: Program, clause: str) -> str:
    """Return a clause in which long quoted expressions are replaced by what a learner calls their values or operations.

    An expression of more than `LONGEST_QUOTE` characters becomes the name that its value is assigned to, such as hat,
    or the word for its operation, where no other operation of the forward pass has this word: "the softmax". It stays
    where there is neither. The gradient of a transposed array becomes that of the array, which is what a learner
    stores; that of the only output, if nothing else reads it, the name of the upstream gradient. The iterations of a
    loop over an axis t are time steps. The names of intermediate values are quoted: `hidden`.

    Args:
        program: the program of the trial that the clause is for.
        clause: the clause, with expressions of the source in backticks.
    """

    def short(quoted: re.Match[str]) -> str:
        """Return the name or the word for a quoted expression, or the expression as it is."""
        text, operation = quoted["text"], quoted["operation"]
        node = next((node for node in program.nodes if node.operands and node.text == text
                     and operation in (None, node.name)), None)  # fmt: skip
        is_short = not operation and len(text) <= LONGEST_QUOTE and "..." not in text
        before, after = clause[: quoted.start()], clause[quoted.end() :]
        if node is None or OTHER_OPERATION.search(before):
            return quoted[0]
        if is_short:  # the derivative of `(1 + x.exp()).log()` would be that of three operations
            is_outermost = before.endswith("derivative of ") and _has_computed_operand(text)
            return (_word_for_call(program, node) if is_outermost else "") or quoted[0]
        is_value = "derivative of" not in before and bool(OF_VALUE.search(before) or after.startswith(" is used"))
        is_call, is_long = bool(_called(text)), "..." in text or len(text) > LONGEST_TEXT
        word = "" if AFTER_NOUN.search(before) else _word_for_call(program, node)
        name = program.name_of(node.id)
        is_output = node.id in program.forward.outputs
        own = name if name.isidentifier() and not (is_call and is_output) else ""
        if len(program.forward.by_key[node.key]) > 1:
            own = own or node.variable
            own = "" if re.search(rf"\b{own}\b", before + after) else own  # h is also what the iteration begins with
            return (own or word if is_value else word or own) or quoted[0]
        if not is_value:
            return word or own or quoted[0]
        if "`" in word and GRADIENT_OF.search(before) and not is_output:  # a function has no gradient
            word = _name_of_masked(program, node) or f"the result of {word}"
        return own or ("" if "`" in word and not is_long else word) or quoted[0]

    uses = [program.forward.uses[value] for value in program.forward.outputs]
    if program.upstream_name and len(uses) == 1 and len(uses[0]) == 1:
        gradient, own = f"the gradient of {program.output_name}", program.upstream_name
        clause = clause.replace(f"{gradient} is used in place of that of", f"{own} is used in place of the gradient of")
        clause = re.sub(rf"{gradient}(?= is )", own, clause)
        clause = re.sub(rf"in place of that of {program.output_name}$", f"in place of {own}", clause)
    clause = TRANSPOSE.sub(r"gradient of \1\2", QUOTED.sub(short, clause))
    clause = re.sub(
        rf"^in the gradient of ({NAMED}) through {re.escape(program.output_name)},", r"in the gradient of \1,", clause
    )
    clause = re.sub(
        rf"^the gradient of ({NAMED}) through {re.escape(program.output_name)}(?= is | lacks | has )",
        r"the gradient of \1",
        clause,
    )
    clause = re.sub(
        rf"^in the gradient of {NAMED}(?: and {NAMED})* through (`\w+`) in every call,", r"in every call of \1,", clause
    )
    clause = re.sub(
        rf"(?<=^in every call of )(`\w+`, .* the mean of the gradient of ){NAMED}$", r"\1its result", clause
    )
    clause = re.sub(
        rf"^the gradient of {NAMED} through (`\w+`) in every call ", r"in every call of \1, the gradient ", clause
    )
    output = re.escape(program.output_name)
    clause = re.sub(rf"( in the derivative of {output}(?= is missing$)|^in {output}, )", "", clause)
    has_time = "t" in program.sizes and any(len(ids) > 1 for ids in program.forward.by_key.values())
    clause = _with_time_steps(clause) if has_time else clause
    for pattern, words in BEFORE_AND_AFTER:
        clause = re.sub(pattern, words, clause)
    return _with_quoted_values(program, _with_gradient_names(program, clause))


def _with_gradient_names(program: Program, clause: str) -> str:
    """Return a clause in which a gradient has the name that it is stored under: "in w.g, the sum over bs is missing".

    "The gradient of w through `x @ w`" is w.g, too, where w leads to the output only through `x @ w`; of a value whose
    gradient is not stored, "the gradient of `hidden`".

    Args:
        program: the program of the trial that the clause is for.
        clause: the clause.
    """

    def without_step(match: re.Match[str]) -> str:
        """Return the words for a gradient through an operation, without the operation where it is the only one.

        The gradient of an expression keeps it, and so does what is said of the whole gradient of an inner value: that
        is where a sign, say, was lost. Unless it is all of the forward pass, a function is kept, because what is said
        behind it may be of its windows, its mask or its sum, and so is a product with a constant, which has no name.
        """
        name = match["name"]
        if "`" in name or (not match["lead"] and name not in program.gradient_names):
            return match[0]
        readers = _only_way(program, name, match["step"]) or _only_reader(program, name)
        is_whole = sum(1 for node in program.nodes if node.operands) == 1
        is_clear = readers and (is_whole or all(_has_named_operands(node) for node in readers))
        return f"{match['lead'] or ''}the gradient of {name}" if is_clear else match[0]

    clause = THROUGH_STEP.sub(without_step, clause)
    stored = {name: own for name, own in program.gradient_names.items() if len(_values_called(program, name)) == 1}
    if not stored:
        return clause
    named = rf"\bthe gradient of ({'|'.join(map(re.escape, stored))})(?![\w.\[(]| and | through | with respect )"
    clause = re.sub(rf"({named}(?:(?!gradient)[^;:])*) that of\b", r"\1 the gradient of", clause)
    return re.sub(named, lambda match: stored[match[1]], clause)


def _values_called(program: Program, name: str) -> set[int]:
    """Return the ids of the inputs, and of the values that are made, that have a name or an expression.

    Args:
        program: the program of a trial.
        name: such as `w`, or an expression in backticks.
    """
    text = name.strip("`")
    made = {node.id for node in program.nodes if node.operands and text in (node.variable, node.text)}
    named = {value for value, own in program.forward.names.items() if own == text}
    return made | named


def _has_named_operands(node: Node) -> bool:
    """Return whether an operation is written with a sign, such as `x @ w`, or as an einsum, and not with a constant."""
    return node.name in (*SYMBOLS, "einsum") and len(node.operands) == len(node.values)


def _only_way(program: Program, name: str, step: str) -> list[Node]:
    """Return the operation that all paths from what has a name to the outputs lead through, as x to a layer norm of x.

    The operation must not read it itself: "the gradient of x through `x * x.sin()`" may be that of the factor x.

    Args:
        program: the program of a trial.
        name: such as `x`.
        step: the operation, an expression in backticks.

    Returns:
        The nodes of all its iterations; none where a path leads past it.
    """
    steps = [node for node in program.nodes if f"`{node.text}`" == step]
    passed, reached = {node.id for node in steps}, _values_called(program, name)
    if any(reader in passed for value in reached for reader, _ in program.forward.uses[value]):
        return []
    open_ends = list(reached)
    while open_ends:
        value = open_ends.pop()
        if value == SINK:
            return []
        readers = {reader for reader, _ in program.forward.uses[value]} - passed - reached
        reached |= readers
        open_ends += readers
    return steps


def _only_reader(program: Program, name: str) -> list[Node]:
    """Return the operation that reads what has a name, in any iteration of a loop, if just one does, and just once.

    Args:
        program: the program of a trial.
        name: such as `w`.

    Returns:
        The nodes of all its iterations; none where several operations read it, or one several times.
    """
    values = _values_called(program, name)
    uses = [use for value in values for use in program.forward.uses[value]]
    if any(reader == SINK for reader, _ in uses):
        return []
    readers = [program.nodes[reader] for reader, _ in uses]
    edges = {(node.key, slot) for node, (_, slot) in zip(readers, uses, strict=True)}
    return readers if len(edges) == 1 and len({program.nodes[value].key for value in values}) == 1 else []


def _with_quoted_values(program: Program, clause: str) -> str:
    """Return a clause in which the names of intermediate values are quoted, so that no name is read as a plain word.

    "the gradient of hidden" becomes "the gradient of `hidden`". Arguments are quoted only if `PLAIN_WORDS` has their
    names, such as `mask`, and the output only if it is called `out`; names of one or two characters never are.

    Args:
        program: the program of the trial that the clause is for.
        clause: the clause.
    """
    inputs = {program.name_of(value) for value in program.inputs.values()}
    known = {program.name_of(node.id) for node in program.nodes if node.operands}
    known |= {node.variable for node in program.nodes if node.operands and node.variable}
    names = [name for name in known - inputs - {program.output_name} if len(name) > 2 and VALUE_NAME.fullmatch(name)]
    names += inputs & PLAIN_WORDS
    patterns = [FACTOR, *([OUT] if program.output_name == "out" else [])]
    if names:
        any_name = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        patterns.append(rf"{BEFORE_VALUE}({any_name}){BEHIND_VALUE}")
    for pattern in patterns:
        parts = re.split(r"(`[^`]*`)", clause)
        clause = "".join(part if part.startswith("`") else re.sub(pattern, r"`\1`", part) for part in parts)
    return clause


def _with_time_steps(clause: str) -> str:
    """Return a clause about a loop over time in which iterations are called time steps: "at the last time step".

    The iteration that a backward loop runs first is that of the last time step, so that "the last iteration" misleads.
    """
    for pattern, words in TIME_STEPS:
        clause = re.sub(pattern, words, clause)
    return clause


def _name_of_masked(program: Program, node: Node) -> str:
    """Return "the masked scores" for `scores.masked_fill(mask, value)`; empty for others, and for a long expression."""
    name = program.name_of(node.operands[0][1]) if node.name == "masked_fill" else ""
    return f"the masked {name}" if name.isidentifier() else ""


def _word_for_call(program: Program, node: Node) -> str:
    """Return the word for the function that a node's expression calls, such as "the softmax" or "`conv1d`".

    Empty where the expression is no call, or where the forward pass calls a function of this name elsewhere, too. Also
    for a function of `QUOTED_FUNCTIONS`, such as `reshape`, and for a power other than a square.
    """
    calls = {(other.text, other.line): _called(other.text) for other in program.nodes}
    function = _called(node.text)
    if not function or function in QUOTED_FUNCTIONS or list(calls.values()).count(function) > 1:
        return ""
    if function == "pow":
        is_square = len(node.values) > 1 and node.operand(1) is None and bool(np.all(np.equal(node.values[1], 2)))
        return "the square" if is_square else ""
    return WORDS.get(function, f"`{function}`")


@cache
def _has_computed_operand(text: str) -> bool:
    """Return whether an expression calls a function of what it computes itself, as `(x @ w).tanh()` does.

    The whole expression must be a call, and a positional argument of it, or what its method is called on, itself a call
    or a binary operation: not so `x[0].tanh()`, `(-x).tanh()`, or `x.tanh() + (x @ w).tanh()`.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    if not isinstance(tree, ast.Call):
        return False
    operands = [tree.func.value] if isinstance(tree.func, ast.Attribute) else []
    return any(isinstance(operand, ast.Call | ast.BinOp) for operand in (*operands, *tree.args))


@cache
def _called(text: str) -> str:
    """Return the name of the function that an expression calls: `softmax` for `scores.softmax(-1)`; empty for none."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    function = tree.func if isinstance(tree, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def operation_label(node: Node, constants: Mapping[int, str] = MappingProxyType({})) -> str:
    """Return the name of a node's operation as a learner spells it, with its constant operands.

    Such as `mean`, `** 2` for `x ** 2`, `1 -` for `1 - x`, or `clamp_min 0` for a clamp without an upper bound.

    Args:
        node: the operation.
        constants: by slot, the text of an operand that the source does not write as a number, such as `sqrt(d)`.
    """
    slots = dict(node.operands)

    def is_open(bound: int) -> bool:
        """Return whether a slot is that of a bound which the clamp does not have."""
        return node.name == "clamp" and bound in (1, 2) and bool(np.isinf(node.values[bound]).all())

    numbers = [
        (slot, constants.get(slot) or f"{value:g}")
        for slot, value in enumerate(node.values)
        if slot not in slots and (slot in constants or isinstance(value, (int, float))) and not is_open(slot)
    ]
    before, after = ([text for slot, text in numbers if (slot == 0) is first] for first in (True, False))
    name = node.name.removeprefix(COMPLEX)
    name = SYMBOLS.get(name, name) + "_min" * is_open(2) + "_max" * (is_open(1) and not is_open(2))
    return " ".join((*before, name, ", ".join(after))).strip()


def operand_source(text: str, name: str, slot: int) -> str:
    """Return an operand of a sum, product, quotient or power as the source writes it: `d ** 0.5` in `q @ k / d ** 0.5`.

    Args:
        text: the source of the operation.
        name: the name of the operation, such as `div`.
        slot: 0 for the operand on the left, 1 for that on the right.

    Returns:
        The source; empty where the operation is written in another way, or the source is shortened there.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    if name not in BINARY or not isinstance(tree, ast.BinOp) or not isinstance(tree.op, BINARY[name]):
        return ""
    source = ast.get_source_segment(text, tree.right if slot else tree.left) or ""
    return "" if "..." in source else source


def plain_side(program: Program, place: Place, tree: ast.BinOp) -> ast.expr:
    """Return the side of a binary operation that is not the operand of the edge `place`: in `3 * x`, 3 for x.

    torch computes `3 * x` as `x * 3`, so that the slot of x alone does not tell its side in the source. The slot
    decides where neither side is written like the operand.

    Args:
        program: the program.
        place: the edge.
        tree: the operation, parsed.
    """
    node = program.nodes[program.source(place)]
    name = program.forward.names.get(program.source(place)) or node.variable
    texts = {name, node.text and ast.unparse(ast.parse(node.text, mode="eval"))}
    if ast.unparse(tree.right) in texts:
        return tree.left
    return tree.right if ast.unparse(tree.left) in texts or place[1] == 0 else tree.left


def number_source(program: Program, node: Node, slot: int) -> str:
    """Return a number of an operation as the source writes it, on the left or the right: `lam` in `lam * x`.

    Args:
        program: the program.
        node: the operation.
        slot: the slot of the number.

    Returns:
        The source; empty where the operation is written in another way, or the source is shortened there.
    """
    source = operand_source(node.text, node.name, slot)
    if not source or node.operand(1 - slot) is None:
        return source
    tree = ast.parse(node.text, mode="eval").body
    is_left = isinstance(tree, ast.BinOp) and plain_side(program, (node.id, 1 - slot), tree) is tree.left
    return operand_source(node.text, node.name, 0 if is_left else 1)


def values_with_same_gradient(program: Program, value: int) -> Iterator[int]:
    """Yield the ids of a value and of the sums through which it gets its gradient unchanged, up to the last.

    For v in `(v + a) + b`: v, the inner sum, the outer sum. Each sum is the only reader of the value before it, and has
    the same shape; a difference counts for its first operand.

    Args:
        program: the program of a trial.
        value: the id of the value.
    """
    forward = program.forward
    yield value
    while len(forward.uses[value]) == 1:
        ((reader, slot),) = forward.uses[value]
        if reader == SINK or program.nodes[reader].name not in ("add", "sub"):
            return
        negated = program.nodes[reader].name == "sub" and slot == 1
        if negated or program.nodes[reader].value.shape != program.nodes[value].value.shape:
            return
        value = reader
        yield value


def name_of_value(program: Program, value: int) -> str:
    """Return the name of a node's value in a sentence about the node, such as `out` or `h`.

    Return "the value of tanh" where it has no name of its own, so that its expression is not said twice.

    Args:
        program: the program of a trial.
        value: the id of the node.
    """
    node, name = program.nodes[value], program.name_of(value)
    return f"the value of {node.name}" if name == expression_of(program, node) or " " in name else name


def names_of_two_axes(program: Program, value: int, axis: int, other: int) -> tuple[str, str]:
    """Return what a learner calls two axes of a value, such as `bs` and `c`.

    Where both have one name, as the axes of scores of shape (t, t) have, return "axis 0" and "axis 1".

    Args:
        program: the program of a trial.
        value: the id of the value.
        axis: the number of one axis, from either end.
        other: that of the other axis.
    """
    first, second = program.name_of_axis(value, axis), program.name_of_axis(value, other)
    if first != second:
        return first, second
    rank = program.nodes[value].value.ndim
    return f"axis {axis % rank}", f"axis {other % rank}"


def describe_places(program: Program, places: Iterable[Place]) -> str:
    """Return the operations at the given places in the learner's words, joined by semicolons, each one once.

    Such as "`x @ w`; `tanh(z)`". An edge to an input is followed by "on the way to" and the name of the input.

    Args:
        program: the program of the trial that the places are in.
        places: edges, nodes and values.
    """
    texts = []
    for place in places:
        text = expression_of(program, program.reader(place))
        to_input = place in program.forward.sources and program.source(place) in program.inputs.values()
        texts.append(f"{text}, on the way to {program.name_of(program.source(place))}" if to_input else text)
    return "; ".join(dict.fromkeys(texts))


def target_of(program: Program, place: Place) -> str:
    """Return the name of the target whose value is at the place (id, `WHOLE`), as `Program.with_result` takes it.

    There must be one; of several it is the first.
    """
    return next(name for name, value in program.forward.targets.items() if value == place[0])


def with_gradient_of_any_shape(program: Program, place: Place, rule: EdgeVjp) -> Program | None:
    """Return the program in which a target's gradient is what `rule` returns along the only edge to the target.

    So an operator can leave out a sum, or keep an axis: a contribution of another shape than its operand could not be
    added to other contributions, but it can be the whole answer.

    Args:
        program: the program to rewrite.
        place: the edge (node that reads the target, slot of the target in it).
        rule: takes the edge with its upstream gradient; returns an array of any shape.

    Returns:
        The rewritten program; `None` where the operand of the edge is no target, or other nodes read it, too.
    """
    value = program.source(place)
    name = next((name for name, target in program.forward.targets.items() if target == value), None)
    if name is None or program.forward.uses[value] != (place,):
        return None

    def gradient_of_target(edited: Program, _: Array) -> Array:
        """Return what `rule` contributes to the target in the edited program; the right gradient is not read."""
        sweep = Sweep(edited)
        return rule(EdgeContext(edited, edited.reader(place), place[1], sweep.gradient(place[0]), sweep))

    return program.with_result(name, gradient_of_target)
