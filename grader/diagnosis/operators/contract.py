"""The contract and registry of operators: each names a kind of mistake and makes the program that has it.

    @operator("sign-flipped", code="wrong-sign", rank=2.0, at=edges, message="... {step} ...")
    def flip_sign(program: Program, place: Place, choice: None) -> Program:
        return program.with_vjp(place, lambda at: -at.right())

    @flip_sign.example
    def _() -> Example: ...

Everything that is known of an operator stands at it, and nothing else knows it by name.

The words of all operators: a *program* is a recorded forward pass with its backward pass. A *place* is an edge, which
is the pair (node that reads, slot of the operand in it), or a node, which is (node, `WHOLE`). A *choice* is what there
is to choose at a place, such as the number that stands in place of the right one; `None` where there is nothing.

An operator returns `None` where it does not apply to a place with a choice: the search goes on with the next choice.
`NoCandidate` is raised, by the operator or when the gradients of the rewritten program are computed, where an array has
no value or a wrong shape: the search drops this one program.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar, cast, overload

import numpy as np
import torch

from grader.course.sampling import Sampler, normal
from grader.course.shapes import named_axes
from grader.course.trial_sizes import Setting
from grader.diagnosis.mistake import Hints
from grader.diagnosis.words import list_in_words
from grader.program.forward import SINK, Key, Node, Place
from grader.program.operation import Array, NoCandidate
from grader.program.program import Program, as_code
from grader.program.queries import EdgeKind
from grader.program.recording import record
from grader.program.selectors import ComputedValue, NamedValue, OperandValue
from grader.reference.trial import Trial
from grader.results.codes import CODES

from .places import WHOLE, Places, Spot, expression_of, name_of_value, operand_source, plain_side

C = TypeVar("C", bound=Hashable)
Rewrite = Callable[[Program, Place, C], Program | None]
Choices = Callable[[Program, Place], Iterable[C]]
Fields = Callable[[Program, Place, C], Mapping[str, str]]
Code = str | Callable[[C], str]

MOST_NAMES = 2  # of operands in one message
ROLES: Mapping[str, tuple[str, str]] = {
    "add": ("term", "term"), "sub": ("term", "term"), "mul": ("factor", "factor"), "matmul": ("factor", "factor"),
    "div": ("numerator", "denominator"), "pow": ("base", "exponent"),
    "stack": ("part", "part"), "cat": ("part", "part"),
}  # fmt: skip
"""By the name of an operation, what its left and its right operand are called."""
FIELD = re.compile(r"\{(\w+)\}")  # of a message
CLAUSE = re.compile(r"[,;:]| (?:is|are|must) ")  # in a message field that is more than a name
MOST_NAMED = 3  # operations whose names are listed in one message
EXAMPLE_SIZES, EXAMPLE_TRIALS = (3, 4, 5, 6, 7), 3  # three iterations at least; the sizes of a trial differ pairwise


@dataclass(frozen=True)
class Example:
    """A forward pass with a wrong gradient of it, which the search must explain with the example's operator.

    Args:
        forward: takes the inputs by name; returns the output.
        wrong: takes the inputs by name, and the upstream gradient `g`, shaped like the output; returns the gradient of
            one input or more by name, at least one of them wrong, in plain torch: {"w": x.T @ g}.
        inputs: for each input its axes, such as {"x": "bs n", "w": "n m"}, for normal numbers of these shapes, in which
            each name has one size; or a sampler of `grader.course.sampling`.
    """

    forward: Callable[..., torch.Tensor]
    wrong: Callable[..., Mapping[str, torch.Tensor]]
    inputs: Mapping[str, str | Sampler]

    def trials(self) -> Iterator[tuple[Trial, Program, dict[str, Array]]]:
        """Yield the example on `EXAMPLE_TRIALS` drawn sets of inputs, whose sizes alternate.

        Yields:
            The trial; the program of the right backward pass in it; and for each input that `wrong` answers for, its
            wrong gradient, shaped as `wrong` returns it.
        """
        samplers = {name: normal(each) if isinstance(each, str) else each for name, each in self.inputs.items()}
        axes = named_axes([sampler.spec for sampler in samplers.values()])
        generator = np.random.default_rng(0)
        for number in range(EXAMPLE_TRIALS):
            sizes = itertools.cycle(EXAMPLE_SIZES[number % 2 :] + EXAMPLE_SIZES[: number % 2])
            chosen = dict(zip(axes, sizes, strict=False))
            chosen |= {a: allowed[number % len(allowed)] for s in samplers.values() for a, allowed in s.sizes.items()}
            setting = Setting(number, "an example", chosen)
            drawn = {name: sampler.sample(generator, setting) for name, sampler in samplers.items()}
            inputs = {name: _to_tensor(getattr(each, "values", each)) for name, each in drawn.items()}
            g = torch.from_numpy(generator.standard_normal(self.forward(**inputs).shape))
            wrong = self.wrong(**inputs, g=g)
            arrays = {name: array.detach().numpy() for name, array in wrong.items()}
            program = replace(record(self.forward, inputs, g), sizes=chosen)
            yield Trial(setting, drawn, {}, inputs, out_g=g), program, arrays


def _to_tensor(value: object) -> object:
    """Return a NumPy array as a tensor, of doubles if it holds floats; return a value that is no array as it is."""
    if not isinstance(value, np.ndarray):
        return value
    return torch.from_numpy(value.astype(np.float64) if value.dtype.kind == "f" else value)


@dataclass(frozen=True, eq=False)
class Operator(Generic[C]):
    """One kind of mistake: where it can be made, with which choices, the wrong program, and the message about it.

    Args:
        name: unique, and stable: it is kept in records, and other languages have their messages under it.
        code: the public code of the mistake (`grader.results.codes.CODES`), or the function that returns it for a
            choice.
        rank: the likelihood rank: 1 is common, 5 is rare; of all edits that explain an answer, the least rank is shown.
        at: the kind of places where it works, such as `edges.of("matmul")`.
        message: a clause about the answer, such as "the derivative of {step} is missing"; its fields in braces are
            those of `message_fields` and of `fields`.
        rewrite: takes a program, a place and a choice; returns the program with the mistake at that place, or `None`
            where the operator does not apply.
        choices: takes a program and a place; returns the choices that there are at the place, such as the axes of an
            array.
        fields: takes a program, a place and a choice; returns further fields of the message by name: {"axis": "axis 0
            of x"}.
        hints: hints that come before those of the code; by code, if the operator has several.
        multiple: the clause about an answer that is what the operator gives and a factor, such as "this is {gradient}
            {times}"; empty where the factor is told after `message`, as a second mistake.
        examples: wrong gradients that the search must explain with this operator.
    """

    name: str
    code: Code[C]
    rank: float
    at: Places
    message: str
    rewrite: Rewrite[C]
    choices: Choices[C]
    fields: Fields[C]
    hints: Hints = ()
    multiple: str = ""
    examples: list[Example] = field(default_factory=list)

    def __call__(self, program: Program, place: Place, choice: C) -> Program | None:
        """Return the program with the mistake at a place, made as `choice` says.

        Return `None` where the operator does not apply.
        """
        return self.rewrite(program, place, choice)

    def code_of(self, choice: C) -> str:
        """Return the public code of the mistake made with a choice, such as `"wrong-sign"`."""
        return self.code if isinstance(self.code, str) else self.code(choice)

    def hints_for(self, code: str) -> tuple[str, ...]:
        """Return the operator's own hints on a mistake of this public code; empty if it has none."""
        return self.hints.get(code, ()) if isinstance(self.hints, Mapping) else self.hints

    def example(self, build: Callable[[], Example]) -> Callable[[], Example]:
        """Attach the example that `build` returns to the operator, and return `build`; used as a decorator."""
        self.examples.append(build())
        return build

    def choices_at(self, program: Program, spot: Spot) -> Iterable[C]:
        """Return the choices for an edit at a spot, such as the axes of the operand.

        The choices are those at one place of the spot: in a loop that of the second iteration, else the first place.
        """
        return self.choices(program, typical_place(program, spot))

    def message_fields(self, program: Program, spot: Spot, choice: C) -> dict[str, str]:
        """Return the values of the fields in the operator's message by name, in the learner's words.

        The names that the message uses are filled in. Every operator may use: `step`, the edited operation in the
        learner's source; `derivative`, its local derivative, such as `the derivative of tanh(x)` or `the factor w of x
        * w`; `value`, the name of its value; `operand`, the operand that the edge belongs to; `partner`, all other
        operands; `path`, the path by the edge; `contribution`, what the edge contributes; `share`, the same, or "every
        entry" where this is all; `negation`, the clause that this has the wrong sign; `where`, on which of two paths of
        a product or quotient it is; `upstream`, the upstream gradient; `output`; `choice`. What the operator's own
        `fields` returns is added.

        Args:
            program: the right program of the trial that the message is made for.
            spot: the edited places of this program.
            choice: the choice that the edit was made with.
        """
        place = typical_place(program, spot)
        known = _place_fields(program, spot, place)
        known["choice"] = partial(describe_choice, program, choice)
        own = {name: known[name]() for name in FIELD.findall(self.message + self.multiple) if name in known}
        if place[1] != WHOLE and "choice" in own and own.get("operand") == own["choice"]:  # of two iterations
            own["operand"] = name_read_by(program, place[0], program.source(place))
        return {**own, **self._own_fields(program, spot, place, choice)}

    def _fields_if_edited(self, program: Program, place: Place, choice: C) -> Mapping[str, str] | None:
        """Return what `fields` returns at a place; `None` where the choice of another operation cannot be made there.

        Args:
            program: the right program of a trial.
            place: the place.
            choice: the choice, such as an axis that the operation there may not have.
        """
        try:
            return None if self(program, place, choice) is None else self.fields(program, place, choice)
        except (NoCandidate, LookupError):
            return None

    def _own_fields(self, program: Program, spot: Spot, place: Place, choice: C) -> dict[str, str]:
        """Return what the operator's own `fields` returns at a place of a spot.

        Where several operations are edited, and a field has another name for each, it is a list of the names in words,
        such as "a, b and c", if there are at most `MOST_NAMED`. A field that is a part of a sentence, such as "x in ",
        or has more names, stays that of the given place.

        Args:
            program: the right program of a trial.
            spot: the edited places of this program.
            place: the place of the spot that a field that is a clause is about.
            choice: the choice that the edit was made with.
        """
        fields = dict(self.fields(program, place, choice))
        if not fields or not spot.is_wide:
            return fields
        operations = {program.reader(each).key: each for each in reversed(spot.places(program))}
        others = [each for key, each in reversed(operations.items()) if key != program.reader(place).key]
        further = [more for each in others if (more := self._fields_if_edited(program, each, choice)) is not None]
        for name, text in fields.items():
            names = dict.fromkeys([text, *(more[name] for more in further)])
            are_names = all(each and each == each.strip() and not CLAUSE.search(each) for each in names)
            if are_names and len(names) <= MOST_NAMED:
                fields[name] = list_in_words(names)
        return fields


REGISTRY: dict[str, Operator[Hashable]] = {}


def no_choice(program: Program, place: Place) -> Iterable[None]:
    """Return `(None,)`, the single choice of an operator that has nothing to choose; no argument is read."""
    return (None,)


def no_fields(program: Program, place: Place, choice: Hashable) -> Mapping[str, str]:
    """Return an empty mapping, for an operator whose message has no fields of its own; no argument is read."""
    return {}


@overload
def operator(
    name: str, *, code: str, rank: float, at: Places, message: str, hints: Hints = ()
) -> Callable[[Rewrite[None]], Operator[None]]: ...


@overload
def operator(
    name: str,
    *,
    code: Code[C],
    rank: float,
    at: Places,
    message: str,
    choices: Choices[C],
    fields: Fields[C] = no_fields,
    hints: Hints = (),
    multiple: str = "",
) -> Callable[[Rewrite[C]], Operator[C]]: ...


def operator(
    name: str,
    *,
    code: Code[C],
    rank: float,
    at: Places,
    message: str,
    choices: Choices[C] = no_choice,  # type: ignore[assignment]  # then C is None
    fields: Fields[C] = no_fields,
    hints: Hints = (),
    multiple: str = "",
) -> Callable[[Rewrite[C]], Operator[C]]:
    """Return a decorator that makes an `Operator` of a rewriting function and adds it to `REGISTRY` under `name`.

    Args:
        name: unique, such as `"wrongly-transposed"`.
        code: the public code of the mistake, or a function that returns it for a choice.
        rank: how likely the mistake is: 1 is common, 5 is rare.
        at: the kind of places where it can be made, such as `edges.of("matmul")`.
        message: a clause about the answer, with message fields in braces.
        choices: takes a program and a place; returns the choices there; `None` alone by default.
        fields: takes a program, a place and a choice; returns the message fields that are not those of a place, by
            name; none by default.
        hints: hints that come before those of the code; by code, if the operator has several.
        multiple: the clause about an answer that has a factor as well, which `{times}` stands for; none by default.

    Raises:
        ValueError: when the decorator is applied and there is an operator of this name, or a code that is given as text
            is not a public one.
    """

    def register(rewrite: Rewrite[C]) -> Operator[C]:
        """Return the operator of a rewriting function, after adding it to `REGISTRY`."""
        if name in REGISTRY and not _is_imported_again(REGISTRY[name].rewrite, rewrite):
            raise ValueError(f"there are two operators called {name}")
        if isinstance(code, str) and code not in CODES:
            raise ValueError(f"{code} is not a code of grader.results.codes")
        made = Operator(name, code, rank, at, message, rewrite, choices, fields, hints, multiple)
        REGISTRY[name] = cast("Operator[Hashable]", made)  # a choice goes back only to the operator that listed it
        return made

    return register


def _is_imported_again(function: Callable[..., object], other: Callable[..., object]) -> bool:
    """Return whether two functions are one in the source, imported again after an interrupted import."""
    return (function.__module__, function.__code__.co_firstlineno) == (other.__module__, other.__code__.co_firstlineno)


def typical_place(program: Program, spot: Spot) -> Place:
    """Return the place at which the choices of a spot are listed: its first one in the second iteration of a loop.

    The first iteration reads values that were made in front of the loop. Where no place of the spot is in a second
    iteration, return its first place.

    Args:
        program: the program of a trial.
        spot: one place or more of this program.
    """
    places = spot.places(program)
    later = (place for place in places if place[0] != SINK and program.nodes[place[0]].iteration == 1)
    return next(later, places[0])


def describe_choice(program: Program, choice: Hashable) -> str:
    """Return a choice in the learner's words: the name of a value, the operation of an `EdgeKind`, or `str(choice)`.

    For `NamedValue("x")`: `x`; for "sum": `sum`; for the `EdgeKind` of the edges by which `h @ u` reads a value:
    `` `h @ u` ``, and by which `x * sin(x)` reads its left factor: ``the factor x of `x * sin(x)` ``.
    """
    if isinstance(choice, NamedValue | ComputedValue | OperandValue):
        return choice.describe(program)
    if isinstance(choice, EdgeKind):
        place = (
            (program.forward.by_key[choice.key][-1], choice.slot) if choice.key and choice.slot is not None else None
        )
        direct = "" if place is None else direct_operand(program, place)
        return f"{direct} of {describe_edge_kind(program, choice)}" if direct else describe_edge_kind(program, choice)
    return str(choice)


def name_read_by(program: Program, reader: int, value: int) -> str:
    """Return what a learner calls a value in a clause on a node that reads it: `h`, or `h of the previous iteration`.

    Args:
        program: the program of a trial.
        reader: the id of the node that reads the value.
        value: the id of the value.
    """
    node, name = program.nodes[value], program.name_of(value)
    in_loop = node.operation.family != "input" and len(program.forward.by_key[node.key]) > 1
    return f"{name} of the previous iteration" if in_loop and node.iteration < program.nodes[reader].iteration else name


def describe_edge_kind(program: Program, kind: EdgeKind) -> str:
    """Return the operation that reads a value by edges of a kind, in the learner's words.

    Such as `` `h @ u` in the next iteration ``. For the edge from the loss, whose kind has no key, the name of the
    output.

    Args:
        program: the program of a trial.
        kind: the edges by which the nodes of one key read a value, in the iteration that makes it or in a later one.
    """
    if not kind.key:
        return program.output_name
    reader = expression_of(program, program.nodes[program.forward.by_key[kind.key][0]])
    return f"{reader} in the next iteration" if kind.iterations == 1 else reader


def direct_operand(program: Program, place: Place) -> str:
    """Return what the operand of an edge is in its operation, where a second path leads to it by another operand.

    Such as "the factor x" for the edge of x in `x * sin(x)`, and "the term h" for that of h in `h + f(h)`. Empty where
    the operation has one path to the operand, or reads it twice itself, as `x * x`; and where the operand is a
    constant, as the state is that a loop begins with.

    Args:
        program: the program of a trial.
        place: the edge.
    """
    node, value = program.reader(place), program.reader(place).operand(place[1])
    others = [operand for slot, operand in node.operands if slot != place[1]]
    if value is None or value in others or not any(program.forward.ancestors[other] >> value & 1 for other in others):
        return ""
    text = operand_source(node.text, node.name, place[1])
    role = ROLES.get(node.name, ("operand", "operand"))[place[1] > 0]
    return f"the {role} {as_code(text) if text else name_read_by(program, node.id, value)}"


def describe_path(program: Program, spot: Spot, place: Place) -> str:
    """Return the path by the edges of a spot: "the path from x through `tanh(x)`".

    Where the operation has several paths to its operand, say which: "the direct path from h to out, through the term h
    of `h + f(h)`,", "one of the two paths from x through `x * x`", "the path through `y[k]` of `y[i] + y[k]`".

    Args:
        program: the program of a trial.
        spot: the edges.
        place: the edge of the spot that the words are about; see `typical_place`.
    """
    operand, step = _operand_names(program, spot, place), _step_name(program, spot, place)
    node = program.reader(place)
    if place[1] == WHOLE or node.id == SINK or spot.is_wide:
        return f"the path from {operand} through {step}"
    if direct := direct_operand(program, place):
        value = name_of_value(program, node.id)
        to = "" if value.startswith("the value of") else f" to {value}"
        if to and direct.startswith("the part "):  # of a stack, which has no name for its parts
            return f"the direct path from {operand}{to}"
        return f"the direct path from {operand}{to}, through {direct} of {step},"
    if is_read_twice(program, place) and node.name in ("add", "mul", "matmul", "einsum"):
        which = _which_of_two(program, place, operand)
        return f"the path through {which} of {step}" if which else f"one of the two paths from {operand} through {step}"
    if term := _term_of_ambiguous_operand(program, spot, place):
        return f"the path through {as_code(term)} of {step}"
    return f"the path from {operand} through {step}"


def is_read_twice(program: Program, place: Place) -> bool:
    """Return whether the reader of an edge reads its operand by one other edge as well, as `x * x` does."""
    return [source for _, source in program.reader(place).operands].count(program.source(place)) == 2


def _which_of_two(program: Program, place: Place, operand: str) -> str:
    """Return which of the two operands that are one value an edge leads to; empty where they are interchangeable.

    For c in `einsum("i,kij,j->k", c, v, c)`: "the operand c with the subscript j". For x in `x @ x`: "the left factor
    x". Empty for `x * x`, and for `x @ x` with a vector x.

    Args:
        program: the program of a trial.
        place: the edge, into a sum or product that reads its operand twice.
        operand: the name of the operand.
    """
    node = program.reader(place)
    if node.name == "einsum":
        subscripts = str(node.options["equation"]).split("->")[0].replace(" ", "").split(",")
        twin = next(s for s, source in node.operands if source == program.source(place) and s != place[1])
        own, other = subscripts[place[1]], subscripts[twin]
        return "" if own == other else f"the operand {operand} with the subscript{'s' * (len(own) > 1)} {own}"
    if node.name == "matmul" and np.ndim(node.values[place[1]]) > 1:
        return f"the {('left', 'right')[place[1]]} factor {operand}"
    return ""


def _term_of_ambiguous_operand(program: Program, spot: Spot, place: Place) -> str:
    """Return the source of an edge's operand, such as `I[k + 1, j]`, where a name, `I`, could mean both operands.

    In `I[i, k] + I[k + 1, j]` it could, because one line of the source makes all entries of I: the nodes read in both
    slots have one key. Empty where the edges of the spot read no node of one key in this slot and in another, or where
    the source does not write the two operands beside each other.

    Args:
        program: the program of a trial.
        spot: the edges, whose readers' operands are compared.
        place: the edge of the spot that the words are about.
    """
    node, own, others = program.reader(place), set[Key](), set[Key]()
    for id_, slot in spot.places(program):
        for each, source in program.nodes[id_].operands if id_ != SINK else ():
            (own if each == slot else others).add(program.nodes[source].key)
    return operand_source(node.text, node.name, place[1]) if own & others else ""


def describe_contribution(program: Program, spot: Spot, place: Place) -> str:
    """Return what edges contribute, such as "the contribution of `x @ w` to the gradient of x".

    Where the operand has no further contribution, return "the gradient of x through `x @ w`", except for a spot of
    several operations.

    Args:
        program: the program of the trial that the message is for.
        spot: the edges.
        place: the place of the spot that the words are about; see `typical_place`.
    """
    operand, step = _operand_names(program, spot, place), _step_name(program, spot, place)
    if not spot.is_wide and len(program.forward.uses[program.source(place)]) == 1:
        return f"the gradient of {operand} through {step}"
    if place[1] != WHOLE and place[0] != SINK and not spot.is_wide and is_read_twice(program, place):
        which = _which_of_two(program, place, operand)
        step = f"{which} of {step}" if which else step
    return f"the contribution of {step} to the gradient of {operand}"


def is_only_way(program: Program, spot: Spot) -> bool:
    """Return whether the answers behind the edges of a spot get all of their gradient through just one of them each.

    A factor at these edges is then one of the whole answers: for b in `x @ w + b`, also in a loop, but not for h in a
    loop of `h @ u`, where a path leads through several of the edges.

    Args:
        program: the program of the trial that the message is for.
        spot: the edges.
    """
    forward, places = program.forward, spot.places(program)
    if any(forward.leads_to(*pair) for pair in itertools.permutations(places, 2)):
        return False
    behind = [forward.ancestors[program.source(place)] for place in places]
    gradients = program.right.without(*places).gradients()
    return not any(
        gradients[name].any() for name, value in forward.targets.items() if any(each >> value & 1 for each in behind)
    )


def describe_share(program: Program, spot: Spot, place: Place) -> str:
    """Return what has the factor of the edges of a spot: "every entry", or what the edges contribute.

    It is "every entry" where no other path leads from the targets behind the edges to the loss.

    Args:
        program: the program of the trial that the message is for.
        spot: the edges.
        place: the place of the spot that the words are about; see `typical_place`.
    """
    return "every entry" if is_only_way(program, spot) else describe_contribution(program, spot, place)


def describe_negation(program: Program, spot: Spot, place: Place) -> str:
    """Return the clause that what the edges of a spot contribute has the wrong sign.

    Where no other path leads from the targets behind the edges to the loss, so that nothing but the sign of an answer
    is wrong, return "this is the right answer with the wrong sign".

    Args:
        program: the program of the trial that the message is for.
        spot: the edges.
        place: the place of the spot that the words are about; see `typical_place`.
    """
    if is_only_way(program, spot):
        return "this is the right answer with the wrong sign"
    return f"{describe_contribution(program, spot, place)} has the wrong sign"


def _is_inside_call(program: Program, spot: Spot, place: Place) -> bool:
    """Return whether the two ends of an edge are inside one call of a composite function, which the source names alone.

    Such as the log-softmax and the mean inside `F.cross_entropy(z, t, label_smoothing=0.1)`.

    Args:
        program: the program of a trial.
        spot: the edited places.
        place: the place of the spot that the words are about; see `typical_place`.
    """
    reader = program.reader(place)
    if place[1] == WHOLE or spot.is_wide or not reader.composite or reader.operand(place[1]) is None:
        return False
    return program.name_of(program.source(place)) == as_code(reader.text)


def _step_name(program: Program, spot: Spot, place: Place) -> str:
    """Return the edited operation in the learner's words: "`x @ w`", or "the `mean` inside `F.cross_entropy(z, t)`".

    Args:
        program: the program of a trial.
        spot: the edited places.
        place: the place of the spot that the words are about; see `typical_place`.
    """
    reader = program.reader(place)
    is_inside = _is_inside_call(program, spot, place)
    return f"the `{reader.name}` inside {as_code(reader.text)}" if is_inside else spot.expression(program)


def _operand_names(program: Program, spot: Spot, place: Place) -> str:
    """Return the names of the operands that the edges of a spot lead to, joined by "and": "x and h".

    In a loop, what its iterations make is named alone, as h for h0 and h. An operation inside a call, whose source is
    that of the call, is named by itself: "the `log_softmax`". Return "its operand" where there are more than two names.

    Args:
        program: the program of a trial.
        spot: the edges; or nodes, of which the first operand of `place` is named.
        place: the place of the spot that the words are about; see `typical_place`.
    """
    if place[1] == WHOLE:
        return program.name_of(program.reader(place).operands[0][1])
    if _is_inside_call(program, spot, place):
        return f"the `{program.nodes[program.source(place)].name}`"
    values = [program.source(each) for each in spot.places(program)]
    carried = [i for i in values if program.nodes[i].operands and len(program.forward.by_key[program.nodes[i].key]) > 1]
    names = list(dict.fromkeys(program.name_of(value) for value in carried or values))
    return " and ".join(names) if len(names) <= MOST_NAMES else "its operand"


def describe_side(program: Program, place: Place) -> str:
    """Return in which of two contributions of a product or quotient something is missing; empty where there is one.

    For the edge of `x.sigmoid()` in `x * x.sigmoid()`: "in the gradient of `x.sigmoid()`, ". For the edge of x in
    `x / x.norm()`: "in the contribution of the numerator, ". Empty in `x * w`, whose factors depend on no target both.

    Args:
        program: the program of a trial.
        place: the edge.
    """
    node, forward = program.reader(place), program.forward
    own = node.operand(place[1])
    if own is None or node.name not in ("mul", "div") or len(node.operands) != 2:
        return ""
    behind = [forward.ancestors[source] for _, source in node.operands]
    if not any((behind[0] & behind[1]) >> value & 1 for value in forward.targets.values()):
        return ""
    if node.name == "mul":
        return f"in the gradient of {program.name_of(own)}, "
    return f"in the contribution of the {('numerator', 'denominator')[place[1]]}, "


MASK_SLOTS: Mapping[str, int] = {"where": 0, "masked_fill": 1}  # which operand of each operation is the mask


def describe_local_derivative(program: Program, place: Place, step: str) -> str:
    """Return what a learner calls the local derivative of the edge `place`.

    In general `the derivative of {step}`; for the edge of `hat` into the product `gamma * hat`, `the factor gamma in
    the derivative of {step}`; for that of `scores` into the quotient `scores / sqrt(d)`, `the division by sqrt(d) in
    the derivative of {step}`; for that of `scores` into `scores.masked_fill(future, 0)`, `the mask future in the
    derivative of {step}`.

    Args:
        program: the program of the trial that the message is for.
        place: the edge.
        step: the operation that reads the edge, in the learner's source.
    """
    if divisor := divisor_of(program, place):
        return f"the division by {divisor} in the derivative of {step}"
    if mask := mask_of(program, place):
        return f"the mask {mask} in the derivative of {step}"
    node, other = program.reader(place), _partner_in_source(program, place, ast.Mult)
    return (
        f"the factor {other} in the derivative of {step}"
        if other and node.name == "mul"
        else f"the derivative of {step}"
    )


def divisor_of(program: Program, place: Place) -> str:
    """Return what a learner calls the denominator of a quotient if an edge leads to its numerator; else `""`.

    For the edge of x in `x / std`: "std". Also `""` where the source does not write the quotient with `/`.

    Args:
        program: the program of the trial that the message is for.
        place: the edge.
    """
    is_numerator = program.reader(place).name == "div" and place[1] == 0
    return _partner_in_source(program, place, ast.Div) if is_numerator else ""


def mask_of(program: Program, place: Place) -> str:
    """Return what a learner calls the mask by which an edge's reader chooses between its operands; else `""`.

    "future" for x in `x.masked_fill(future, 0)`, `x > 0` for `torch.where(x > 0, x, 0)`. Also `""` where the source
    writes no such call, and for the edge of the mask itself.

    Args:
        program: the program of the trial that the message is for.
        place: the edge.
    """
    node = program.reader(place)
    if node.name not in MASK_SLOTS or place[1] == MASK_SLOTS[node.name]:
        return ""
    tree = _expression(node)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute) or tree.keywords:
        return ""
    is_method = len(tree.args) == len(node.values) - 1
    arguments = [tree.func.value, *tree.args] if is_method else tree.args
    named = dict(enumerate(arguments)).get(1 if is_method else MASK_SLOTS[node.name])
    return "" if named is None else as_code(ast.unparse(named))


def _partner_in_source(program: Program, place: Place, operator: type[ast.operator]) -> str:
    """Return what a learner calls the other operand of an operator in the source: "w" for the edge of x in `x * w`.

    Return an empty string where the source of the edge's reader is not an expression with this operator.

    Args:
        program: the program of a trial.
        place: the edge.
        operator: the operator, such as `ast.Mult`.
    """
    node = program.reader(place)
    tree = _expression(node)
    if not isinstance(tree, ast.BinOp) or not isinstance(tree.op, operator):
        return ""
    partners = [source for slot, source in node.operands if slot != place[1]]
    return program.name_of(partners[0]) if partners else as_code(ast.unparse(plain_side(program, place, tree)))


def _expression(node: Node) -> ast.expr | None:
    """Return the syntax tree of a node's source text; `None` where that is no expression."""
    try:
        return ast.parse(node.text, mode="eval").body
    except SyntaxError:
        return None


def _place_fields(program: Program, spot: Spot, place: Place) -> dict[str, Callable[[], str]]:
    """Return a function without arguments for each message field that a place fills: `step`, `value`, `operand`, ...

    Each function returns what is filled in; `Operator.message_fields` lists the fields.

    Args:
        program: the right program of a trial.
        spot: the edited places.
        place: the place of the spot that `value` and `partner` are about; see `typical_place`.
    """
    reader = program.reader(place)
    slots = [slot for slot, _ in reader.operands if slot != place[1]]
    return {
        "step": lambda: _step_name(program, spot, place),
        "derivative": lambda: describe_local_derivative(program, place, spot.expression(program)),
        "value": lambda: program.output_name if reader.id == SINK else program.name_of(reader.id),
        "operand": lambda: _operand_names(program, spot, place),
        "path": lambda: describe_path(program, spot, place),
        "contribution": lambda: describe_contribution(program, spot, place),
        "share": lambda: describe_share(program, spot, place),
        "negation": lambda: describe_negation(program, spot, place),
        "where": lambda: describe_side(program, place),
        "partner": lambda: " and ".join(program.name_of(dict(reader.operands)[slot]) for slot in slots) or "a constant",
        "upstream": lambda: program.upstream_name,
        "output": lambda: program.output_name,
    }
