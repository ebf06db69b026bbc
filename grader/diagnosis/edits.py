"""Edits of a program, and what is made of them: the combinators, which are the same for all operators.

An `Edit` is an operator, where it is made, and what was chosen there. `OnPath` lets it count on one path only, `Times`
has a factor besides, `InRows` holds for some rows, and `Both` makes two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, Protocol

import numpy as np

from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, NoCandidate
from grader.program.program import EdgeContext, EdgeVjp, Program, zero_vjp
from grader.program.queries import idle_edges
from grader.reference.trial import Trial

from . import factors
from .case import Case, Rewriting, Sample, work_of
from .mistake import Fact, Mistake
from .operators.contract import Operator
from .operators.places import Spot, expression_of

IDLE_RANK = 0.4  # what it adds that a path is left out which contributes nothing
OUTPUT_RANK = 0.4  # and that the last derivative is taken at the output of the right forward pass
PATH_RANK, FACTOR_RANK, SCALED_PATH_RANK, ROWS_RANK, PAIR_RANK = 2.0, 3.0, 2.5, 1.5, 3.0  # what each adds
AVERAGING = {"mean", "mean_pool", "var", "std"}  # what divides by a size
LEAST_ENTRIES = 5  # how many entries must agree about a factor that one of them would have to be asked for
Rows = Literal["first", "last", "all but the first", "all but the last"]
ROWS: Mapping[Rows, slice] = {
    "first": slice(0, 1), "last": slice(-1, None),
    "all but the first": slice(1, None), "all but the last": slice(0, -1),
}  # fmt: skip
ROW_WORDS: Mapping[Rows, str] = {
    "first": "the first row", "last": "the last row", "all but the first": "every row but the first",
    "all but the last": "every row but the last",
}  # fmt: skip


class Described(Rewriting, Protocol):
    """A rewriting that can be told."""

    @property
    def rank(self) -> float:
        """Return the likelihood rank."""

    @property
    def code(self) -> str:
        """Return the public code of the mistake."""

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return where it is done."""

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return what was done, in the words of the right program of a trial."""


class Explanatory(Described, Protocol):
    """A rewriting that is a candidate by itself: its numbers are compared with the learner's."""

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake in each answer whose numbers it gives."""
        return told(self, case, case.explained_by(self))

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether it leads to an answer that is right, too."""
        return case.changes_right_answer(self)


@dataclass(frozen=True, eq=False)
class Edit(Explanatory):
    """An operator, made at all places of a spot with one choice.

    Args:
        operator: what is done.
        spot: where.
        choice: what was chosen there.
    """

    operator: Operator[Hashable]
    spot: Spot
    choice: Hashable

    @property
    def code(self) -> str:
        """Return the public code of the mistake."""
        return self.operator.code_of(self.choice)

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return where it is done."""
        return (self.spot,)

    @cached_property
    def rank(self) -> float:
        """Return the likelihood rank: the operator's, and more for a wider place or for some iterations only."""
        return self.operator.rank + self.spot.rank

    def apply(self, program: Program) -> Program:
        """Return the program that a learner with this mistake wrote; the same one where the operator applies nowhere.

        Args:
            program: the program of any trial, perhaps with other edits.
        """
        for place in self.spot.places(program.right):
            program = self.operator(program, place, self.choice) or program
        return program

    def message(self, program: Program) -> str:
        """Return a clause about the answer; `program` is the right one of the trial that it is made for."""
        clause = self.operator.message.format(**self.operator.message_fields(program, self.spot, self.choice))
        return f"{clause}, {self.spot.iterations_clause}" if self.spot.iterations_clause else clause

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return what was done, in the words of the right program of a trial."""
        fields = self.operator.message_fields(program, self.spot, self.choice)
        return (Fact(self.operator.name, fields, self.message(program)),)


def told(edit: Described, case: Case, names: tuple[str, ...]) -> dict[str, Mistake]:
    """Return a rewriting as the mistake in some answers."""
    if not names:
        return {}
    case.explaining[edit] = names
    return dict.fromkeys(names, Mistake(edit.code, edit.facts(words_from(edit, case)), edited_places(edit, case)))


def words_from(edit: Described, case: Case) -> Program:
    """Return the program that a rewriting is told of: that of the first trial, whose sizes tell its axes apart.

    It is another one where the first has no such place, or lacks a step that the choice may speak of.
    """
    first, listing = case.samples[0].program, case.listing
    has_steps = first.forward.by_key.keys() >= listing.forward.by_key.keys()
    return first if has_steps and all(spot.places(first) for spot in edit.spots) else listing


def edited_places(edit: Described, case: Case) -> tuple[Place, ...]:
    """Return where a rewriting edits the program of the first trial."""
    first = case.samples[0].program
    return tuple(dict.fromkeys(place for spot in edit.spots for place in spot.places(first)))


@dataclass(frozen=True, eq=False)
class OnPath(Explanatory):
    """An edit whose effect comes along one kind of edges only; along the others all is right.

    Args:
        edit: what is done.
        spot: the edges.
    """

    edit: Edit
    spot: Spot

    @property
    def code(self) -> str:
        """Return the edit's code."""
        return self.edit.code

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return where the edit is done, and the path."""
        return (*self.edit.spots, self.spot)

    @property
    def rank(self) -> float:
        """Return the edit's rank, and more for the path."""
        return self.edit.rank + PATH_RANK

    def apply(self, program: Program) -> Program:
        """Return the program in which the edges alone see what the edit makes of the upstream gradient."""
        edited = self.edit.apply(program)
        if edited.forward is not program.forward or edited.results:
            raise NoCandidate("another forward pass has no path to itself")

        def rule(before: EdgeVjp) -> EdgeVjp:
            return lambda at: before(at._replace(g=sweep.gradient(at.node.id)))

        sweep = edited.sweep
        for place in self.spot.places(program.right):
            program = program.with_vjp(place, rule(program.edited_vjps.get(place, EdgeContext.right)))
        return program

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's fact, with the path in front."""
        (fact,) = self.edit.facts(program)
        place, *_ = self.spot.places(program)
        path = f"{program.name_of(program.source(place))} in {self.spot.expression(program)}"
        return (Fact(fact.operator, {**fact.parameters, "path": path}, f"on the path through {path}, {fact.says}"),)


@dataclass(frozen=True, eq=False)
class WithoutIdle(Explanatory):
    """An edit in a backward pass without the paths whose right contribution is zero: a formula does not have them.

    Args:
        edit: what is done.
    """

    edit: Edit

    @property
    def code(self) -> str:
        """Return the edit's code."""
        return self.edit.code

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return where the edit is done."""
        return self.edit.spots

    @property
    def rank(self) -> float:
        """Return the edit's rank, and more for the formula."""
        return self.edit.rank + IDLE_RANK

    def apply(self, program: Program) -> Program:
        """Return the program without idle edges, as far as the edit leads to their readers.

        Raises:
            NoCandidate: it leads to none of them, so that it is the edit alone.
        """
        idle = idle_edges(program)
        edited = self.edit.apply(program)
        if edited is program:
            return program
        into, _ = edited.reach
        changed = edited.forward is not program.forward
        behind = [place for place in idle if place not in edited.edited_vjps and (changed or into >> place[0] & 1)]
        if edited.results or (idle and not behind):
            raise NoCandidate("no path that contributes nothing is behind it")
        return edited.without(*behind)

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's facts: what contributes nothing needs no word."""
        return self.edit.facts(program)


@dataclass(frozen=True, eq=False)
class WithRightOutput(Explanatory):
    """An edit of the forward pass, where the last derivative is still taken at the right output.

    A backward pass is handed the output, and computes only the values before it once more.

    Args:
        edit: what is done.
    """

    edit: Edit

    @property
    def code(self) -> str:
        """Return the edit's code."""
        return self.edit.code

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return where the edit is done."""
        return self.edit.spots

    @property
    def rank(self) -> float:
        """Return the edit's rank, and more for the output."""
        return self.edit.rank + OUTPUT_RANK

    def apply(self, program: Program) -> Program:
        """Return the edited program in which the operation that makes the output has the right vjp.

        Raises:
            NoCandidate: the edit changes no forward pass.
        """
        edited = self.edit.apply(program)
        if edited.forward is program.forward:
            raise NoCandidate("the edit is one of the backward pass alone")
        for output in program.forward.outputs:
            for slot, _ in program.forward.edges[output]:
                edited = edited.with_vjp((output, slot), partial(_vjp_of, program.nodes[output], slot))
        return edited

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's facts: that the output is right needs no word."""
        return self.edit.facts(program)


def _vjp_of(node: Node, slot: int, at: EdgeContext) -> Array:
    """Return the vjp of a node in a slot for the upstream gradient at a place of another program."""
    return node.vjp(slot, at.g)


@dataclass(frozen=True, eq=False)
class Right:
    """No edit at all: what `Times` makes of it is the right answer but for a factor."""

    code: str = ""
    rank: float = 0.0
    spots: tuple[Spot, ...] = ()

    def apply(self, program: Program) -> Program:
        """Return the program as it is."""
        return program

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return no facts."""
        return ()


@dataclass(frozen=True, eq=False)
class Nothing:
    """No gradient at all: what `InRows` makes of it is an answer in which some rows are left out."""

    code: str = "partial-batch"
    rank: float = 0.5
    spots: tuple[Spot, ...] = ()

    def apply(self, program: Program) -> Program:
        """Return the program to which no upstream gradient comes."""
        return program.without(*((SINK, k) for k, _ in enumerate(program.forward.outputs)))

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the fact that no gradient is there."""
        return (Fact("rows-missing", {}, "the gradient is missing"),)


@dataclass(frozen=True, eq=False)
class Times:
    """A rewriting, and besides a factor in the whole answer that sizes or constants explain.

    Args:
        edit: what is done.
        names: the answers that may have one.
    """

    edit: Described
    names: tuple[str, ...]

    @property
    def rank(self) -> float:
        """Return the edit's rank, and more for the factor."""
        return self.edit.rank + FACTOR_RANK

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake in each answer that is the edit's but for a factor that can be read in every trial."""
        mistakes = {}
        for name in self.names:
            factor = explained_factor(case, name, partial(self._gradient, name))
            if factor is not None and (factor.code != "hard-coded" or not self.edit.code):
                besides = {"besides": True} if self.edit.code else {}
                fact = Fact(factor.name, {**factor.parameters, **besides})
                facts = (*self.edit.facts(words_from(self.edit, case)), fact)
                mistakes[name] = Mistake(self.edit.code or factor.code, facts, edited_places(self.edit, case))
        return mistakes

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether the edit leads to an answer that is right, too."""
        return bool(self.edit.code) and case.changes_right_answer(self.edit)

    def _gradient(self, name: str, sample: Sample) -> tuple[Array, Array]:
        """Return the learner's array, and the edit's."""
        return sample.given[name], sample.answer(self.edit.apply(sample.program), name)


@dataclass(frozen=True, eq=False)
class TimesOnPath:
    """One path has a factor of its own, and the rest is right.

    Args:
        edit: drops the path.
        names: the answers that may have it.
    """

    edit: Described
    names: tuple[str, ...]

    @property
    def rank(self) -> float:
        """Return the edit's rank, and more for the factor."""
        return self.edit.rank + SCALED_PATH_RANK

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake in each answer in which the path has a factor that can be read in every trial."""
        mistakes = {}
        for name in self.names:
            factor = explained_factor(case, name, partial(self._parts, name))
            if factor is not None:
                part = f"what comes through {self._readers(words_from(self.edit, case))}"
                fact = Fact(factor.name, {**factor.parameters, "part": part})
                mistakes[name] = Mistake(factor.code, (fact,), edited_places(self.edit, case))
        return mistakes

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether the edit leads to an answer that is right, too."""
        return bool(self.edit.code) and case.changes_right_answer(self.edit)

    def _readers(self, program: Program) -> str:
        """Return the operations that the path goes through, in words."""
        dropped = [place for place, rule in self.edit.apply(program).edited_vjps.items() if rule is zero_vjp]
        return " and ".join(dict.fromkeys(expression_of(program, program.reader(place)) for place in dropped))

    def _parts(self, name: str, sample: Sample) -> tuple[Array, Array]:
        """Return what the learner has of the path, and what it should be."""
        without = sample.answer(self.edit.apply(sample.program), name)
        if not sample.has_shape(name):
            raise NoCandidate("it has another shape")
        return sample.given[name] - without, sample.right[name] - without


def explained_factor(case: Case, name: str, arrays: Callable[[Sample], tuple[Array, Array]]) -> factors.Factor | None:
    """Return the factor between two arrays, read as an expression of sizes and constants that holds in every trial.

    Args:
        case: the trials.
        name: the answer.
        arrays: returns for a trial the array that has the factor, and the one without.
    """
    known, places, entries = list[tuple[Trial, float]](), list[int](), 0
    case.comparisons += 1
    for place, sample in enumerate(case.samples):
        if name not in sample.given:
            continue
        case.work += work_of(sample.program, full=True)
        try:
            array, plain = arrays(sample)
        except NoCandidate:
            return None
        if array.shape != plain.shape:
            return None
        if plain.any() and not sample.is_vague(name):
            ratio = factors.one_ratio(array, plain)
            if ratio is None:
                return None
            known.append((sample.trial, ratio))
            places.append(place)
            if not case.forms.fit(places, [ratio for _, ratio in known]):
                return None
            alone = sample.is_value or array.ndim == 0  # a number is told by what it is in the other trials
            entries += max(int(np.count_nonzero(array)) - (not alone), 0)
    averages = any(node.name in AVERAGING for node in case.listing.nodes)
    return factors.explained_factor(known, averages) if entries >= LEAST_ENTRIES else None


@dataclass(frozen=True, eq=False)
class InRows(Explanatory):
    """An edit that holds for some rows of an answer only; the others are right.

    Args:
        edit: what is done.
        name: the answer.
        rows: which of its rows.
    """

    edit: Described
    name: str
    rows: Rows

    @property
    def rank(self) -> float:
        """Return the edit's rank, and more for the rows."""
        return self.edit.rank + ROWS_RANK

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return where the edit is done."""
        return self.edit.spots

    @property
    def code(self) -> str:
        """Return the code of what is right in a part of the batch only."""
        return "partial-batch"

    def apply(self, program: Program) -> Program:
        """Return the program that hands out the edit's rows among the right ones."""
        edited = self.edit.apply(program).gradients()[self.name]

        def mixed(_: Program, right: Array) -> Array:
            result = right.copy()
            result[ROWS[self.rows]] = edited[ROWS[self.rows]]
            return result

        return program.with_result(self.name, mixed)

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake, if it gives the answer."""
        return told(self, case, case.confirmed(self, [self.name]))

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's facts, with the rows behind."""
        (fact, *others) = self.edit.facts(program)
        says = f"for {ROW_WORDS[self.rows]}, {fact.says}; the other rows are right"
        return (Fact(fact.operator, {**fact.parameters, "rows": self.rows}, says), *others)


@dataclass(frozen=True, eq=False)
class Both(Explanatory):
    """Two edits.

    Args:
        first: the likelier one, which gives the code.
        second: the other one.
        is_known: whether the first explains another answer by itself: then two are no rarer than the second.
    """

    first: Described
    second: Described
    is_known: bool = False

    @property
    def rank(self) -> float:
        """Return the rank of two together."""
        if self.is_known:
            return self.second.rank + PAIR_RANK
        return self.first.rank + self.second.rank + PAIR_RANK

    @property
    def code(self) -> str:
        """Return the code of the likelier one."""
        return self.first.code

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return where either of them is done."""
        return (*self.first.spots, *self.second.spots)

    def apply(self, program: Program) -> Program:
        """Return the program with one edit after the other."""
        return self.second.apply(self.first.apply(program))

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the facts of both."""
        return (*self.first.facts(program), *self.second.facts(program))
