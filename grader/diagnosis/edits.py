"""Edits of a program, and the combinations of these that the search tries.

An `Edit` is an operator at a spot with a choice. In `EditOnPath` it counts along certain edges only, `WithFactor` adds
a factor of the whole answer, `EditInRows` holds for certain rows of the answer, and `TwoEdits` combines two. All are
rewritings: `apply` makes of the right program of any trial the program that the learner wrote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Literal, Protocol

import numpy as np

from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, NoCandidate
from grader.program.program import EdgeContext, EdgeVjp, Program, zero_vjp
from grader.program.queries import EdgeKind, idle_edges, product_of_weights, reduced_axes
from grader.reference.trial import Trial

from . import factors
from .case import Case, ProgramSample, Rewriting, work_of
from .mistake import FACT_KINDS, Fact, Mistake
from .operators.contract import REGISTRY, Operator, describe_edge_kind, typical_place
from .operators.places import Spot, expression_of, with_short_names
from .operators.upstream import name_of_upstream_gradient
from .words import fill_template

IDLE_RANK = 0.4  # what it adds that a path is left out which contributes nothing
STRUCTURE_RANK = 1.0  # that it is not listed in the usual trial
OUTPUT_RANK = 0.4  # and that the last derivative is taken at the output of the right forward pass
PATH_RANK, FACTOR_RANK, SCALED_PATH_RANK, ROWS_RANK, PAIR_RANK = 2.0, 3.0, 2.5, 1.5, 3.0  # what each adds
KNOWN_PATH_RANK = 1.0  # and that an edit has its effect on one path only, if it explains an answer on that path
TWICE_RANK = 1.2  # and that an edit is made at two places: often in one line of the backward pass
SECOND_RANK = 2.0  # and an edit that explains another answer: a second mistake beside it is not so rare
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


class DescribedRewriting(Rewriting, Protocol):
    """Describes a rewriting of the program that can be reported: it has a code, a rank, spots and facts."""

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): 1 is common, 5 is rare."""

    @property
    def code(self) -> str:
        """Return the public code of the mistake, such as `wrong-sign`."""

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return the spots at which the program is edited, each the same place, or places, in every trial."""

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the facts to report: for each edit a name, its message fields, and a clause such as "a sign is lost".

        Args:
            program: the right program of the trial whose names and sizes are in the sentence.
        """


class ExplanatoryRewriting(DescribedRewriting, Protocol):
    """Describes a rewriting that is a candidate by itself: its gradients are compared with the learner's arrays."""

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the mistake in each answer that the rewriting explains, by its gradients in every trial."""
        return explained_mistakes(self, case, case.targets_explained_by(self))

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether the rewriting may change a gradient that the learner got right."""
        return case.changes_right_answer(self)


@dataclass(frozen=True, eq=False)
class Edit(ExplanatoryRewriting):
    """An operator, applied at all places of a spot with one choice: a sign flipped at `x @ w` in every iteration, say.

    Args:
        operator: the operator.
        spot: the places where it is applied.
        choice: what was chosen there, such as an axis; `None` where there is nothing to choose.
    """

    operator: Operator[Hashable]
    spot: Spot
    choice: Hashable

    @property
    def code(self) -> str:
        """Return the public code of the mistake, such as `wrong-sign`."""
        return self.operator.code_of(self.choice)

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return the spot at which the edit is made, as a tuple of one."""
        return (self.spot,)

    @cached_property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): the operator's, and more for a wide spot.

        A spot is wide unless its places are those of one expression, or of one edge of it, in all iterations.
        """
        return self.operator.rank + self.spot.rank

    def apply(self, program: Program) -> Program:
        """Return the program with the operator applied at every place of the spot, one after the other.

        Places at which it does not apply in this trial are skipped.

        Args:
            program: the program of any trial, perhaps with other edits.

        Raises:
            NoCandidate: the edited program cannot be computed, as where an array gets a wrong shape.
        """
        for place in self.spot.places(program.right):
            program = self.operator(program, place, self.choice) or program
        return program

    def message_with_factor(self, program: Program, factor: factors.Factor) -> str:
        """Return the operator's clause about an answer that has a factor as well; empty where there is none.

        It is empty, too, where the kind of the factor has no words for that, or the spot leaves iterations out.

        Args:
            program: the right program of the trial whose names and sizes are in the message.
            factor: the factor.
        """
        times, template = FACT_KINDS[factor.kind.name].times, self.operator.multiple
        if not times or not template or self.spot.iterations_clause:
            return ""
        fields = self.operator.message_fields(program, self.spot, self.choice)
        return with_short_names(program, template.format(times=fill_template(times, factor.parameters), **fields))

    def message(self, program: Program) -> str:
        """Return the operator's message, filled in for this spot and choice, with the iterations if they are not all.

        Such as "in the last iteration of the forward pass, the derivative of `tanh(z)` is missing".

        Args:
            program: the right program of the trial whose names and sizes are in the message.
        """
        clause = self.operator.message.format(**self.operator.message_fields(program, self.spot, self.choice))
        clause = _with_name_of_upstream(program, self.spot, clause)
        which = self.spot.iterations_clause
        if which:
            leads = which.startswith("in ") and not clause.startswith("in ")
            clause = f"{which}, {clause}" if leads else f"{clause}, {which}"
        return with_short_names(program, clause)

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit as one `Fact`: the operator's name, its message fields, and the message filled with them.

        Args:
            program: the right program of the trial whose names and sizes are in the message.
        """
        fields = self.operator.message_fields(program, self.spot, self.choice)
        return (Fact(self.operator.name, fields, self.message(program)),)


UPSTREAM = re.compile(r"\bthe upstream gradient\b(?! of)")


def _with_name_of_upstream(program: Program, spot: Spot, clause: str) -> str:
    """Return an operator's clause in which the upstream gradient of the edited operation has its name.

    An operator speaks of "the upstream gradient", which for a learner is out.g alone. In the middle of a forward pass
    it is "the gradient of hat". The clause is unchanged where several operations are edited, inside a call, and where
    the upstream gradient is not given, as for a loss.

    Args:
        program: the right program of the trial that the clause is for.
        spot: the edited places.
        clause: the clause.
    """
    reader = typical_place(program, spot)[0]
    if not UPSTREAM.search(clause) or reader == SINK or spot.is_wide or program.nodes[reader].composite:
        return clause
    name = name_of_upstream_gradient(program, reader)
    return clause if name.isdigit() else UPSTREAM.sub(lambda match: name, clause)


def explained_mistakes(edit: DescribedRewriting, case: Case, names: tuple[str, ...]) -> dict[str, Mistake]:
    """Return by target the `Mistake` for a rewriting in the answers that it explains; the case records that it does.

    The mistake has the rewriting's code, its facts, and the places that it edits; it is the same for all answers.

    Args:
        edit: the rewriting.
        case: the wrong answers.
        names: the targets of the answers that it explains; for none the result is empty.
    """
    if not names:
        return {}
    case.explaining[edit] = names
    return dict.fromkeys(names, mistake_of_edit(edit, case))


def mistake_of_edit(edit: DescribedRewriting, case: Case, *more: Fact, code: str = "") -> Mistake:
    """Return the `Mistake` that a rewriting is, worded for the trial of `wording_program`, with its first fact's hints.

    Args:
        edit: the rewriting.
        case: the wrong answers.
        more: facts that are told after those of the rewriting, such as a factor.
        code: the public code, where the rewriting has none.
    """
    facts, code = (*edit.facts(wording_program(edit, case)), *more), edit.code or code
    name = facts[0].operator
    hints = REGISTRY[name].hints_for(code) if name in REGISTRY else FACT_KINDS[name].hints if name in FACT_KINDS else ()
    return Mistake(code, hints=hints, facts=facts, at=edited_places(edit, case), rewrite=edit.apply)


MISSING_NUMBER = re.compile(r"the (factor|division by) ([\d./]+)(?: in the derivative of .*)? is missing$")
OF_OPERATION = ("step", "derivative")  # message fields that name the edited operation


def with_places_of(mistake: Mistake, others: Iterable[Mistake], program: Program) -> Mistake:
    """Return a mistake with a sentence that names every operation at which it gives the same numbers.

    For (3 * x ** 2 - 1) ** 2 without one of the twos: "in the derivative of `x ** 2` or `(3 * x ** 2 - 1) ** 2`, the
    factor 2 is missing; the two give the same numbers".

    Args:
        mistake: the mistake.
        others: mistakes that explain the same answers and are hardly less likely. Those count that have the same code,
            edit no place of `mistake`, and say the same about another operation, or that the same number is missing.
        program: the program of the trial that the sentences are for.

    Returns:
        The mistake unchanged where no other counts, or where it has several facts or no place.
    """
    if len(mistake.facts) != 1 or not mistake.facts[0].says or not mistake.at:
        return mistake
    (first,), at = mistake.facts, list(mistake.at)
    facts = [first]
    for other in others:
        is_elsewhere = len(other.facts) == 1 and bool(other.at) and not set(other.at) & set(at)
        if is_elsewhere and other.code == mistake.code and _differ_in_operation(program, first, other.facts[0]):
            facts.append(other.facts[0])
            at += other.at
    if len(facts) == 1:
        return mistake
    fields, clauses = first.parameters, dict.fromkeys(fact.says for fact in facts)
    name = _differing_field(program, facts)
    if name in OF_OPERATION:
        *some, last = dict.fromkeys(fact.parameters[name] for fact in facts)
        fields = {**fields, name: f"{', '.join(some)} or {last}"}
        clauses = dict.fromkeys([_template_clause(program, Fact(first.operator, fields))])
    says = clause_of_equals(clauses, len(facts))
    return replace(mistake, facts=(Fact(first.operator, fields, says),), at=tuple(at))


def clause_of_equals(clauses: Iterable[str], count: int) -> str:
    """Return one clause for mistakes that give the same numbers: "..., or ...; the two give the same numbers".

    Args:
        clauses: the different clauses of the mistakes.
        count: how many mistakes there are; several may have one clause together.
    """
    return f"{', or '.join(clauses)}; {'the two' if count == 2 else 'all of them'} give the same numbers"


def _differ_in_operation(program: Program, *facts: Fact) -> bool:
    """Return whether facts say the same about different operations, or that the same number is missing at each.

    Args:
        program: the program of the trial that the clauses of the facts are for.
        facts: two facts or more.
    """
    numbers = {missing_number(fact) for fact in facts}
    return _differing_field(program, facts) in OF_OPERATION or (len(numbers) == 1 and None not in numbers)


def _differing_field(program: Program, facts: Sequence[Fact]) -> str:
    """Return the name of the only message field in which facts differ; empty if there is none.

    Empty as well where the facts are of several operators, or a clause says more than the message of its operator.

    Args:
        program: the program of the trial that the clauses of the facts are for.
        facts: two facts or more.
    """
    first = facts[0]
    if first.operator not in REGISTRY or any(fact.operator != first.operator for fact in facts):
        return ""
    if any(fact.says != _template_clause(program, fact) for fact in facts):
        return ""
    differing = [name for name in first.parameters if len({fact.parameters[name] for fact in facts}) > 1]
    return differing[0] if len(differing) == 1 else ""


def _template_clause(program: Program, fact: Fact) -> str:
    """Return the message of a fact's operator, filled in with the fact's message fields, with short names.

    Args:
        program: the program of the trial that the message is for.
        fact: the fact.
    """
    return with_short_names(program, REGISTRY[fact.operator].message.format_map(fact.parameters))


def missing_number(fact: Fact) -> Fraction | None:
    """Return the number that a fact calls a missing factor: 1/2 for "the division by 2 in ... is missing".

    Return `None` where it says something else.
    """
    match = MISSING_NUMBER.search(fact.says)
    if match is None:
        return None
    number = Fraction(match[2])
    return number if match[1] == "factor" else 1 / number


def wording_program(edit: DescribedRewriting, case: Case) -> Program:
    """Return the right program whose names and sizes stand in the message about a rewriting.

    It is the first of these that has all places of the rewriting: the program of the first trial (only if it has every
    operation of `Case.listing`, since a choice may name one), `Case.listing`, each of `Case.further_listings`. If none
    has them, it is `Case.listing`.
    """
    first, listing = case.samples[0].program, case.listing
    has_steps = first.forward.by_key.keys() >= listing.forward.by_key.keys()
    programs = (*([first] if has_steps else []), listing, *case.further_listings)
    return next((program for program in programs if all(spot.places(program) for spot in edit.spots)), listing)


def edited_places(edit: DescribedRewriting, case: Case) -> tuple[Place, ...]:
    """Return the places that a rewriting edits in the program of the first trial, each once, in the order of spots.

    Empty where that trial has none of them.
    """
    first = case.samples[0].program
    return tuple(dict.fromkeys(place for spot in edit.spots for place in spot.places(first)))


@dataclass(frozen=True, eq=False)
class EditOnPath(ExplanatoryRewriting):
    """An edit whose effect comes along edges of one spot only; along all other edges the backward pass is right.

    Args:
        edit: the edit.
        spot: the edges.
        edit_explains: whether the edit explains a wrong answer by itself: then it is hardly rarer that it has no effect
            elsewhere.
    """

    edit: Edit
    spot: Spot
    edit_explains: bool = False

    @property
    def code(self) -> str:
        """Return the public code of the mistake, such as `missing-path`: that of the edit."""
        return self.edit.code

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return the spots at which the edit is made, and last the spot of the edges along which it takes effect."""
        return (*self.edit.spots, self.spot)

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): that of the edit, plus a constant for the path.

        The constant is `PATH_RANK`; with `edit_explains` the smaller `KNOWN_PATH_RANK`.
        """
        return self.edit.rank + (KNOWN_PATH_RANK if self.edit_explains else PATH_RANK)

    def apply(self, program: Program) -> Program:
        """Return the program in which the edges of `spot` take as g the gradient of their reader in the edited program.

        All other edges take the gradient of their reader in the program without the edit.

        Raises:
            NoCandidate: the edit changes the forward pass, or replaces a target's gradient at the end.
        """
        return self._with_gradients_of(self._edited(program), program, program)

    def _edited(self, program: Program) -> Program:
        """Return the program with the edit.

        Raises:
            NoCandidate: the edit changes the forward pass, or replaces a target's gradient at the end.
        """
        edited = self.edit.apply(program)
        if edited.forward is not program.forward or edited.results:
            raise NoCandidate("another forward pass has no path to itself")
        return edited

    def _with_gradients_of(self, other: Program, program: Program, unedited: Program) -> Program:
        """Return a program in which the edges of `spot` take as g the gradient of their reader in another program.

        Args:
            other: the program that has these gradients.
            program: the program that is changed.
            unedited: the program without the edit, whose vjps these edges keep.
        """
        sweep = other.sweep

        def rule(before: EdgeVjp) -> EdgeVjp:
            """Return a vjp with the upstream gradient of the other program."""
            return lambda at: before(at._replace(g=sweep.gradient(at.node.id)))

        for place in self.spot.places(program.right):
            program = program.with_vjp(place, rule(unedited.edited_vjps.get(place, EdgeContext.right)))
        return program

    def _path(self, program: Program) -> str:
        """Return the path along the edges of `spot` in words, such as "h in `h @ u`"."""
        place, *_ = self.spot.places(program)
        return with_short_names(program, f"{program.name_of(program.source(place))} in {self.spot.expression(program)}")

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's fact, as a tuple of one, whose clause names the path first.

        The clause is "on the path through h in `h @ u`, " followed by the clause of the edit.
        """
        (fact,), path = self.edit.facts(program), self._path(program)
        return (Fact(fact.operator, {**fact.parameters, "path": path}, f"on the path through {path}, {fact.says}"),)


@dataclass(frozen=True, eq=False)
class EditOffPath(EditOnPath):
    """An edit whose effect comes along all edges but those of one spot, where the backward pass is right."""

    def apply(self, program: Program) -> Program:
        """Return the edited program, in which the edges of `spot` take as g what their reader has without the edit.

        Raises:
            NoCandidate: the edit changes the forward pass, or replaces a target's gradient at the end.
        """
        return self._with_gradients_of(program, self._edited(program), program)

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's fact, as a tuple of one, whose clause ends with the path on which it has no effect.

        The clause is that of the edit, followed by "; on the path through h in `h @ u` it is right".
        """
        (fact,), path = self.edit.facts(program), self._path(program)
        says = f"{fact.says}; on the path through {path} it is right"
        return (Fact(fact.operator, {**fact.parameters, "path": path}, says),)


@dataclass(frozen=True, eq=False)
class EditVariant(ExplanatoryRewriting):
    """An edit in a backward pass that differs from the right one in a further way, which most variants do not report.

    A subclass says in `apply` how it differs, and in `added_rank` how much rarer the variant is than the edit alone.

    Args:
        edit: the edit, which gives the code, the spots and the facts.
    """

    edit: Edit
    added_rank: ClassVar[float]

    @property
    def code(self) -> str:
        """Return the public code of the mistake, such as `missing-path`: that of the edit."""
        return self.edit.code

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return the spots at which the edit is made, each the same place, or places, in every trial."""
        return self.edit.spots

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): that of the edit, plus a constant for the variant."""
        return self.edit.rank + self.added_rank

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the facts of the edit, which say nothing about the variant."""
        return self.edit.facts(program)


@dataclass(frozen=True, eq=False)
class EditOfContribution(EditVariant):
    """An edit of a vjp for a part of its upstream gradient: what the operations of one kind contribute to it.

    As where log-probabilities are read by two terms of a loss, and only the backward pass of one term is wrong.

    Args:
        edit: the edit, at edges of one operation.
        use: the kind of the edges by which the contribution arrives at the value of that operation.
    """

    use: EdgeKind
    added_rank = PATH_RANK

    def apply(self, program: Program) -> Program:
        """Return the program whose edited vjps are applied to the contribution alone, and the others to all else of g.

        Raises:
            NoCandidate: the edit changes more than vjps.
        """
        edited = self.edit.apply(program)
        if edited.forward is not program.forward or edited.results or edited.added != program.added:
            raise NoCandidate("only a vjp can be applied to a part of the gradient")

        def rule(wrong: EdgeVjp, before: EdgeVjp, uses: tuple[Place, ...]) -> EdgeVjp:
            """Return the vjp that is wrong for what comes along the edges `uses`."""

            def both(at: EdgeContext) -> Array:
                """Return the contribution of the edge, as the sum of a wrong part and a right one."""
                part = sum((at.sweep.contribution(use) for use in uses), np.zeros_like(at.g))
                return np.asarray(wrong(at._replace(g=part)) + before(at._replace(g=at.g - part)))

            return both

        for place in self.edit.spot.places(program.right):
            uses = self.use.places(program.right, place[0])
            if uses and place in edited.edited_vjps:
                before = program.edited_vjps.get(place, EdgeContext.right)
                program = program.with_vjp(place, rule(edited.edited_vjps[place], before, uses))
        return program

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's fact, as a tuple of one, whose clause begins with where that part of g comes from.

        The clause is "for what comes from `logp.gather(1, i)`: ", followed by the clause of the edit.
        """
        (fact,) = self.edit.facts(program)
        use = with_short_names(program, describe_edge_kind(program, self.use))
        return (Fact(fact.operator, {**fact.parameters, "use": use}, f"for what comes from {use}: {fact.says}"),)


@dataclass(frozen=True, eq=False)
class WithoutIdleEdges(EditVariant):
    """An edit in a backward pass without idle edges: those whose right contribution is zero, see `idle_edges`.

    A formula that a learner derives by hand does not have them, such as the one for a variance.
    """

    added_rank: ClassVar[float] = IDLE_RANK

    def apply(self, program: Program) -> Program:
        """Return the program with the edit, and without those idle edges whose contribution the edit may change.

        Idle edges are those whose right contribution is zero. Return the program unchanged where the edit does not
        apply in this trial.

        Raises:
            NoCandidate: the program has idle edges, but the edit may change the contribution of none, so that the
                variant is the edit alone; or the edit replaces a target's gradient at the end.
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


@dataclass(frozen=True, eq=False)
class EditOfOtherStructure(EditVariant):
    """An edit with a place that the usual trial does not have, but a trial of another structure has.

    Such as one of a sum over an axis that only some trials broadcast; see `Case.further_listings`.
    """

    added_rank: ClassVar[float] = STRUCTURE_RANK

    def apply(self, program: Program) -> Program:
        """Return the program with the edit alone, as `Edit.apply` does: the variant differs only in its rank.

        In a trial that lacks the place of the edit the program is returned unchanged.

        Raises:
            NoCandidate: the operator of the edit cannot be applied at its place.
        """
        return self.edit.apply(program)


@dataclass(frozen=True, eq=False)
class WithRightOutput(EditVariant):
    """An edit of the forward pass, where the derivative of the operation that makes the output is still right.

    Such a backward pass is given the output, as in 1 - out**2 for tanh, and computes the values before the output once
    more, with the mistake.
    """

    added_rank: ClassVar[float] = OUTPUT_RANK

    def apply(self, program: Program) -> Program:
        """Return the edited program with the right vjps, at the right values, for the operation that makes the output.

        Raises:
            NoCandidate: the edit leaves the forward pass as it is.
        """
        edited = self.edit.apply(program)
        if edited.forward is program.forward:
            raise NoCandidate("the edit is one of the backward pass alone")
        for output in program.forward.outputs:
            for slot, _ in program.forward.edges[output]:
                edited = edited.with_vjp((output, slot), partial(_vjp_of, program.nodes[output], slot))
        return edited


@dataclass(frozen=True, eq=False)
class WithRightRowSums(EditVariant):
    """An edit of the forward pass, where the sums in the derivative of a softmax are made of the right output.

    The backward pass of attention computes the probabilities once more, with the mistake, and takes the sum over each
    row from the output that it is given, as (out * out_g).sum(-1).
    """

    added_rank: ClassVar[float] = OUTPUT_RANK

    def apply(self, program: Program) -> Program:
        """Return the edited program, in which each softmax p has the vjp p * (g - sums) with the right row sums.

        They are (out * out_g).sum(-1) of the right product out of p with values. A softmax whose probabilities are not
        multiplied with values keeps its vjp.

        Raises:
            NoCandidate: the edit leaves the forward pass as it is, or there is no such softmax.
        """
        edited = self.edit.apply(program)
        products = [(node.id, product_of_weights(program, node.id)) for node in program.nodes if node.name == "softmax"]
        known = [(softmax, program.nodes[product]) for softmax, product in products if product is not None]
        if edited.forward is program.forward or not known:
            raise NoCandidate("no softmax has other probabilities than the right ones")
        for softmax, product in known:
            edited = edited.with_vjp((softmax, 0), partial(_vjp_with_row_sums_of, product))
        return edited


@dataclass(frozen=True, eq=False)
class WithRightLogSums(EditVariant):
    """An edit of what reads a log_softmax, where the sums in the derivative of the log_softmax are still right.

    The gradient of a loss is written as one_hot - p * counts: a slip in the one-hot vector leaves the counts.
    """

    added_rank: ClassVar[float] = OUTPUT_RANK

    def apply(self, program: Program) -> Program:
        """Return the edited program, in which a log_softmax whose gradient g is edited contributes g - p * sums.

        p are its probabilities, and the sums those of its right gradient along its axis. Return the program unchanged
        where the edit does not apply.

        Raises:
            NoCandidate: the edit changes no contribution to a log_softmax.
        """
        edited = self.edit.apply(program)
        if edited is program:
            return program
        read = {program.source(place) for place in edited.edited_vjps if place in program.forward.sources}
        known = [value for value in read if program.nodes[value].name == "log_softmax"]
        if not known or edited.forward is not program.forward:
            raise NoCandidate("no contribution to a log_softmax is edited")
        for value in known:
            edited = edited.with_vjp((value, 0), _vjp_with_right_sums)
        return edited


def _vjp_with_right_sums(at: EdgeContext) -> Array:
    """Return g - p * sums for a log_softmax, with sums of the right gradient of its value over the softmax's axis."""
    right = at.program.right_sweep.gradient(at.node.id)
    return np.asarray(at.g - np.exp(at.y) * right.sum(axis=reduced_axes(at.node), keepdims=True))


def _vjp_with_row_sums_of(product: Node, at: EdgeContext) -> Array:
    """Return p * (g - sums), with the sums over the last axis of a product's right value times its gradient.

    Args:
        product: the node of the right program that multiplies the probabilities with values.
        at: the edge into the softmax, with the probabilities p and their gradient g.

    Raises:
        NoCandidate: the operation is no softmax any more.
    """
    sums = (product.value * at.sweep.gradient(product.id)).sum(axis=-1, keepdims=True)
    if at.node.name != "softmax" or sums.shape[:-1] != at.y.shape[:-1]:
        raise NoCandidate("there are no probabilities")
    return np.asarray(at.y * (at.g - sums))


def _vjp_of(node: Node, slot: int, at: EdgeContext) -> Array:
    """Return the contribution of `node` to its operand in a slot, with the node's own values and the gradient `at.g`.

    With a node of the right program, it is the vjp of an edit that must not see the edited values.
    """
    return node.vjp(slot, at.g)


@dataclass(frozen=True, eq=False)
class NoEdit:
    """The rewriting that changes nothing: in `WithFactor` it stands for an answer that is right but for a factor.

    Args:
        code: empty: the factor gives the code.
        rank: the likelihood rank.
        spots: none.
    """

    code: str = ""
    rank: float = 0.0
    spots: tuple[Spot, ...] = ()

    def apply(self, program: Program) -> Program:
        """Return the program unchanged."""
        return program

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return no facts, for nothing is edited."""
        return ()


@dataclass(frozen=True, eq=False)
class NoGradient:
    """The rewriting that makes all gradients zero: in `EditInRows` it stands for an answer with rows of zeros.

    Args:
        code: the public code of such an answer.
        rank: the likelihood rank.
        spots: none.
    """

    code: str = "partial-batch"
    rank: float = 0.5
    spots: tuple[Spot, ...] = ()

    def apply(self, program: Program) -> Program:
        """Return the program without the edges (SINK, k) from the loss to the outputs: all its gradients are zero."""
        return program.without(*((SINK, k) for k, _ in enumerate(program.forward.outputs)))

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the fact that the gradient is missing, as a tuple of one `Fact`."""
        return (Fact("rows-missing", {}, "the gradient is missing"),)


@dataclass(frozen=True, eq=False)
class WithFactor:
    """A rewriting, and a factor of the whole answer that is explained by sizes or constants.

    Args:
        edit: the rewriting.
        names: the targets whose answers may have the factor.
    """

    edit: DescribedRewriting
    names: tuple[str, ...]

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): that of the edit, plus a constant for the factor."""
        return self.edit.rank + FACTOR_RANK

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the mistake in each answer that is the edit's gradient times a factor.

        The factor must be explained: one expression of sizes and constants, such as 2 or 1 / bs, gives it in every
        trial. Beside an edit it must be no number that was typed in, and must not undo the edit. The mistake has the
        facts of the edit, and then that of the factor; or one fact, where the operator has a clause for both. It has no
        `rewrite`.
        """
        mistakes = {}
        for name in self.names:
            factor = explained_factor(case, name, partial(self._arrays, name))
            if factor is not None and (factor.code != "hard-coded" or not self.edit.code):
                if self._factor_undoes_edit(case, name) or case.is_refuted(self.edit):
                    continue
                is_number = all(sample.given[name].ndim == 0 for sample in case.samples if name in sample.given)
                part = {"part": "the answer"} if is_number else {}
                besides = {"besides": True} if self.edit.code else part
                mistake = mistake_of_edit(self.edit, case, factor.fact(**besides), code=factor.code)
                says = self._clause(case, factor)
                facts = (replace(mistake.facts[0], says=says),) if says else mistake.facts
                mistakes[name] = replace(mistake, facts=facts, rewrite=None)
        return mistakes

    def _factor_undoes_edit(self, case: Case, name: str) -> bool:
        """Return whether the edit and the factor together give the right gradient of a target in every trial.

        Then they do not explain the answer, which is close to the right one: an edit flips the sign, say, and so does
        the factor.
        """
        for sample in case.samples:
            if name in sample.given and not sample.is_vague(name):
                array, plain = self._arrays(name, sample)
                ratio, right_ratio = (factors.common_ratio(each, plain) for each in (array, sample.right[name]))
                if ratio is not None and not math.isclose(ratio, right_ratio or 0.0, rel_tol=factors.CLOSE):
                    return False
        return True

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether the edit, without a factor, changes a gradient that the learner got right."""
        return bool(self.edit.code) and case.changes_right_answer(self.edit)

    def _clause(self, case: Case, factor: factors.Factor) -> str:
        """Return the clause about both the edit and the factor; empty where each has its own."""
        if not isinstance(self.edit, Edit):
            return ""
        return self.edit.message_with_factor(wording_program(self.edit, case), factor)

    def _arrays(self, name: str, sample: ProgramSample) -> tuple[Array, Array]:
        """Return the learner's array for the target `name` in a trial, and what `self.edit` gives for it."""
        return sample.given[name], sample.answer(self.edit.apply(sample.program), name)


@dataclass(frozen=True, eq=False)
class FactorOnPath:
    """A factor of what the edges of a spot contribute to an answer; all else in the backward pass is right.

    Args:
        edit: drops these edges, so that the gradient with it is what all other edges contribute.
        names: the targets whose answers may have the factor.
    """

    edit: DescribedRewriting
    names: tuple[str, ...]

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): that of the edit, plus a constant for the factor."""
        return self.edit.rank + SCALED_PATH_RANK

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the mistake in each answer in which some edges count with a factor, and all else is right.

        The edges are those that `self.edit` drops. The factor must be explained: one expression of sizes and constants,
        such as 2 or 1 / bs, gives it in every trial.
        """
        mistakes = {}
        for name in self.names:
            factor = explained_factor(case, name, partial(self._arrays, name))
            if factor is not None:
                part = f"the contribution of {self._readers(wording_program(self.edit, case), name)}"
                mistakes[name] = replace(factor.mistake(part=part), at=edited_places(self.edit, case))
        return mistakes

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether `self.edit`, which drops the edges with the factor, changes a gradient that is right.

        Args:
            case: the wrong answers, and the targets whose answers are right.
        """
        return bool(self.edit.code) and case.changes_right_answer(self.edit)

    def _readers(self, program: Program, name: str) -> str:
        """Return in words what reads the edges that have the factor: `` `h @ u` and `x * h` ``.

        An edge of a sum is called by the summand, if an operation computes it. Where a reader contributes to the target
        by another edge as well, the operand is told: `` `cross` to the gradient of `p1 - p0` ``.

        Args:
            program: the program of the trial that the message is for.
            name: the target.
        """
        forward = program.forward
        dropped = [place for place, rule in self.edit.apply(program).edited_vjps.items() if rule is zero_vjp]
        goal, sources = forward.targets[name], list(dict.fromkeys(map(program.source, dropped)))
        readers = {reader for reader, _ in dropped if reader != SINK}
        further = [each for reader in readers for slot, each in forward.edges[reader] if (reader, slot) not in dropped]
        named = []
        for place in dropped:
            reader, summand = program.reader(place), program.nodes[program.source(place)]
            is_summand = reader.name in ("add", "sub") and summand.operation.family != "input"
            named.append(summand if is_summand else reader)
        texts = " and ".join(dict.fromkeys(expression_of(program, node) for node in named))
        is_in_part = any(forward.ancestors[each] >> goal & 1 for each in further)
        if is_in_part and sources != [goal] and len(sources) == 1:
            texts += f" to the gradient of {program.name_of(sources[0])}"
        return with_short_names(program, texts)

    def _arrays(self, name: str, sample: ProgramSample) -> tuple[Array, Array]:
        """Return two arrays: what the edges with the factor contribute to a target, in the learner's array and rightly.

        Each is the learner's or the right array minus the gradient without the edges.

        Args:
            name: the target.
            sample: the trial.

        Raises:
            NoCandidate: the learner's array has the wrong shape, or the edit's gradient cannot be computed.
        """
        without = sample.answer(self.edit.apply(sample.program), name)
        if not sample.has_shape(name):
            raise NoCandidate("it has another shape")
        return sample.given[name] - without, sample.right[name] - without


def explained_factor(
    case: Case, name: str, arrays: Callable[[ProgramSample], tuple[Array, Array]]
) -> factors.Factor | None:
    """Return the factor between two arrays as an expression of sizes and constants that holds in every trial.

    Such as 1 / bs, where the factor is 1/4 in a trial with bs = 4 and 1/7 in one with bs = 7. `None` where the arrays
    of a trial have no common factor, have two shapes or cannot be computed, where no expression gives the factor in all
    trials, or fewer than `LEAST_ENTRIES` entries determine it. The case counts the work.

    Args:
        case: the case, of whose trials those count that have a learner's array for the target.
        name: the target.
        arrays: takes a sample; returns the array with the factor, such as the learner's, and the one without it.
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
            ratio = factors.common_ratio(array, plain)
            if ratio is None:
                return None
            known.append((sample.trial, ratio))
            places.append(place)
            if not case.forms.may_give(places, [ratio for _, ratio in known]):
                return None
            alone = sample.is_value or array.ndim == 0  # a number is told by what it is in the other trials
            entries += max(int(np.count_nonzero(array)) - (not alone), 0)
    averages = any(node.name in AVERAGING for node in case.listing.nodes)
    return factors.explained_factor(known, averages) if entries >= LEAST_ENTRIES else None


@dataclass(frozen=True, eq=False)
class EditInRows(ExplanatoryRewriting):
    """An edit that holds for certain rows of one answer only; all other rows are right.

    Args:
        edit: the edit.
        name: the target of the answer.
        rows: which of its rows, a key of `ROWS`, such as `"first"` or `"all but the last"`.
    """

    edit: DescribedRewriting
    name: str
    rows: Rows

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): that of the edit, plus a constant for the rows."""
        return self.edit.rank + ROWS_RANK

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return the spots at which the edit is made, each the same place, or places, in every trial."""
        return self.edit.spots

    @property
    def code(self) -> str:
        """Return the public code of the mistake: that of an answer that is right for a part of the batch."""
        return "partial-batch"

    def apply(self, program: Program) -> Program:
        """Return the program whose gradient of the target is the edit's in the chosen rows, and right in all others.

        Rows are the entries along the gradient's first axis.

        Raises:
            NoCandidate: the edit's gradient cannot be computed.
        """
        edited = self.edit.apply(program).gradients()[self.name]

        def mixed(_: Program, right: Array) -> Array:
            """Return the right gradient with the edit's rows."""
            result = right.copy()
            result[ROWS[self.rows]] = edited[ROWS[self.rows]]
            return result

        return program.with_result(self.name, mixed)

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return {target: mistake} if the edit in these rows explains the answer of its target; else an empty dict."""
        return explained_mistakes(self, case, case.confirm(self, [self.name]))

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the edit's facts, of which the first says in which rows: "w is not transposed in the last row only".

        For the field `rows`, "in the first row only", "in the last row only", "in every row but the first" or "in every
        row but the last" is appended to the clause. The fact has the rows as a message field, too.
        """
        (fact, *others) = self.edit.facts(program)
        which = f"in {ROW_WORDS[self.rows]} only" if self.rows in ("first", "last") else f"in {ROW_WORDS[self.rows]}"
        says = f"{fact.says}, {which}" if "," in fact.says else f"{fact.says} {which}"
        return (Fact(fact.operator, {**fact.parameters, "rows": self.rows}, says), *others)


def are_one_slip(first: DescribedRewriting, second: DescribedRewriting) -> bool:
    """Return whether two rewritings are edits with one operator and one choice, so that they differ in place alone."""
    if not isinstance(first, Edit) or not isinstance(second, Edit):
        return False
    return first.operator is second.operator and first.choice == second.choice


@dataclass(frozen=True, eq=False)
class TwoEdits(ExplanatoryRewriting):
    """Two edits in one program.

    Args:
        first: the likelier edit, which gives the code.
        second: the other edit.
        first_explains: whether the first edit explains a wrong answer by itself: then both are no rarer than the
            second.
    """

    first: DescribedRewriting
    second: DescribedRewriting
    first_explains: bool = False

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier): the sum of the two edits' ranks plus a constant.

        If `first_explains`, it is that of the second edit plus a lesser constant; so it is where both are one edit at
        two places.
        """
        if self.first_explains:
            return self.second.rank + SECOND_RANK
        if are_one_slip(self.first, self.second):
            return self.second.rank + TWICE_RANK
        return self.first.rank + self.second.rank + PAIR_RANK

    @property
    def code(self) -> str:
        """Return the public code of the mistake: that of the first edit."""
        return self.first.code

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Return the spots at which either edit is made, each the same place, or places, in every trial."""
        return (*self.first.spots, *self.second.spots)

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the mistake in each answer that the two edits together explain.

        If `first_explains`, only answers count that no rewriting explains so far.
        """
        names = case.unexplained if self.first_explains else None
        return explained_mistakes(self, case, case.targets_explained_by(self, names))

    def apply(self, program: Program) -> Program:
        """Return the program with the first edit, and then the second.

        Raises:
            NoCandidate: one of the edits cannot be applied or computed.
        """
        return self.second.apply(self.first.apply(program))

    def facts(self, program: Program) -> tuple[Fact, ...]:
        """Return the facts of the first edit, followed by those of the second."""
        return (*self.first.facts(program), *self.second.facts(program))
