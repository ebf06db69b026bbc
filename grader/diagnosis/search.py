"""Which mistake a wrong answer is: the first candidate whose numbers are the learner's, on every trial.

Every explanation is computed. Where none matches, facts are all that is said.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from grader.exercise import RETURN, Declaration, Exercise, Routine
from grader.reference.compare import MATCH, agrees, scaled_error
from grader.reference.operation_recorder import trace_of
from grader.reference.operations import AVERAGES
from grader.reference.references import rounding
from grader.reference.trace import Place
from grader.reference.trial import IMPOSSIBLE, Trial, Vague
from grader.trial_sizes import EXACT_KIND

from . import factors, facts, rows
from .candidates import Candidate, Problem, both, rank
from .facts import Pair, Wrong, off
from .mistake import Fact, Mistake
from .operator import Kind

TINY, ZERO, MOST_ROUNDING, MOST_APART = 1e-9, 1e-5, 0.1, 60
MOST_STEPS = 120_000  # for all the answers of a function: seconds at most; most of the corpus is named within 5,000
OF_A_CANDIDATE = 8  # what one costs besides its steps: its edits are made, and its numbers compared
RECORDED = 50  # what it costs besides to record the forward pass anew, with other inputs
LISTED, LOOKED_AT_AGAIN = 2, 1  # what it costs to list one, and to compare its numbers once more
LEAST_TOLD = 5  # how many entries must agree about a factor that one of them would have to be asked for
SHARED = (Kind.OPERAND, Kind.UPSTREAM, Kind.FORWARD, Kind.INPUTS, Kind.RULES)


@dataclass
class Budget:
    """Steps of the forward pass that candidates may take: counted, so that the same answer is always told the same."""

    left: int = MOST_STEPS
    kept: int = 0  # of these, for what comes later

    def keep(self, part: float) -> None:
        """Keep a part of what is left for the answers that come later."""
        self.kept = int(self.left * part)

    def allows(self, steps: int) -> bool:
        """Take so many of them; whether there were as many. What is refused is not taken from those that come later."""
        self.left = max(self.left - steps, self.kept - 1)
        return not self.is_spent

    @property
    def is_spent(self) -> bool:
        return self.left < self.kept


class Lacking(NamedTuple):
    """One trial's numbers, next to what a candidate gives that lacks a part of the right answer."""

    trial: Trial
    array: np.ndarray
    right: np.ndarray
    rest: np.ndarray
    part: np.ndarray

    @property
    def replaces(self) -> bool | None:
        """Where the part arrives it replaces the rest, which can be told; `None` if it is not so."""
        arrives = off(self.right, self.rest)
        if off(self.array, np.where(arrives, self.part, self.rest)).any():
            return None
        return bool((~arrives).any() and off(self.array, self.right).any())

    @property
    def rows(self) -> np.ndarray | None:
        """For which rows the part counts; `None` if it does so in part."""
        if not self.right.ndim:
            return None
        axes = tuple(range(1, self.right.ndim))
        full, none = (~off(self.array, other).any(axis=axes) for other in (self.right, self.rest))
        return np.asarray(full) if bool((full | none).all()) else None


@dataclass(frozen=True)
class Search:
    """The search for one wrong answer's mistake.

    Args:
        pairs: each trial with the learner's array in it (float64), the first one first.
        budget: what may still be tried; once it is spent, facts are all that is said.
        tried: what was computed, and in which trial.
        fitting: what was found to give the learner's numbers.
        listed: which lists of candidates were paid for.
    """

    problem: Problem
    pairs: Sequence[Pair]
    budget: Budget = field(default_factory=Budget)
    tried: set[tuple[Candidate, int]] = field(default_factory=set)
    fitting: list[Candidate] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)

    def mistake(self) -> Mistake:
        """Return the likeliest mistake that gives the learner's numbers; the facts if none does."""
        exercise = self.problem.exercise
        if not self.pairs:
            return facts.fact("unknown", "nothing-to-compare")
        if own := self._first(self.problem.declared()):
            return own.mistake()
        if isinstance(exercise, Routine) and exercise.accepts is not None:
            if all(array.ndim == 0 for _, array in self.pairs):
                return facts.fact("imprecise", "error-too-large")
            if all(one.array.ndim == one.right.ndim for one in self._given):
                return facts.fact("unknown", "not-accepted")
        return self._undeclared()

    def _undeclared(self) -> Mistake:
        """Return the mistake, searched for without those that the exercise declares; the facts if none is found."""
        answer, given = self.problem.answer, self._given
        routine = isinstance(self.problem.exercise, Routine)  # a gradient may be 1 because its upstream is forgotten
        if facts.same_shapes(given) and (typed_in := facts.constant(given, trivial=routine)):
            return typed_in
        if plain := self._first(self._plain):
            return plain.mistake()
        misshapen = next((one for one in given if not one.has_shape), None)
        if misshapen is not None and (same := facts.same_shape(given)):
            return same
        if misshapen is given[0] and (spread := facts.broadcast_accident(answer, misshapen)):
            return spread
        special = facts.passes_where(answer, given)
        if masked := facts.another_mask(answer, given, self._closed()) or facts.not_zero(given):
            return special if special and special.code == "hard-coded" else masked
        found = (
            facts.mixed_with_prior(answer, given)
            or self._by_factor()
            or self._by_part()
            or facts.a_step(answer, given)
            or self._named(self._rarer)
            or facts.by_upstream(self._end, given)
            or special
            or self._spread_out()
            or self._with_factor()
            or self._mixed_in()
            or self._two_edits()
        )
        if found is None and misshapen is not None:
            return facts.wrong_shape(answer, misshapen)
        return (
            found
            or facts.constant(given, trivial=True)
            or self._counted()
            or facts.wrong_with(given)
            or facts.varying_ratio(given)
            or facts.unknown(given)
        )

    @cached_property
    def _given(self) -> list[Wrong]:
        return facts.wrong_in(self.problem.answer, self.pairs)

    @cached_property
    def _has_numbers(self) -> bool:
        """It is not 0 everywhere, but for rounding."""
        return any(np.abs(one.array).max(initial=0) > ZERO * np.abs(one.right).max(initial=0) for one in self._given)

    def _compute(self, candidate: Candidate, trial: Trial) -> np.ndarray:
        """Return what a candidate computes in a trial, at the expense of the budget.

        Raises:
            One of `IMPOSSIBLE`: the candidate cannot be computed there, or the budget is spent.
        """
        if (candidate, id(trial)) in self.tried:
            self.budget.allows(LOOKED_AT_AGAIN)
        else:
            self.tried.add((candidate, id(trial)))
            part = self._steps_in(trial) / self._steps
            if not (candidate.is_of_end or self.budget.allows(int(part * self._cost(candidate)) + OF_A_CANDIDATE)):
                raise ValueError("nothing more is tried")
        return self.problem.compute(candidate, trial)

    def _paid_list(self, kind: str, candidates: Callable[[], list[Candidate]]) -> list[Candidate]:
        """Return the candidates of one kind; the budget pays for the list, also where it is cached.

        So a diagnosis does not depend on which files were searched before.

        Args:
            kind: the kind, which is paid for once.
            candidates: makes the list, or returns the cached one.
        """
        if kind not in self.listed:
            if self.budget.is_spent:
                return []
            self.listed.add(kind)
            self.budget.allows(LISTED * len(candidates()))
        return candidates()

    def _cost(self, candidate: Candidate) -> int:
        """Return how many steps a candidate takes: backwards from its first edit, or forwards and back."""
        if any(edit.operator.kind in (Kind.FORWARD, Kind.INPUTS) for edit in candidate.edits):
            recorded = sum(edit.operator.kind is Kind.INPUTS for edit in candidate.edits)
            return 4 * self._steps + RECORDED * recorded
        places = [index for edit in candidate.edits for index, _ in edit.at]
        plain = all(edit.operator.kind in (Kind.OPERAND, Kind.UPSTREAM) for edit in candidate.edits)
        return max(places) + 1 if places and plain and not (candidate.skip or candidate.only) else self._steps

    @cached_property
    def _changes(self) -> tuple[list[Candidate], np.ndarray]:
        """Return what single edits of the backward pass change, at the expense of the budget, also where it is cached.

        Returns:
            The edits and their changes in the first trial; shape: (edits, entries of the answer).
        """
        single = self._paid_list("single edits", self.problem.single_edits)
        cost = sum(self._cost(one) + OF_A_CANDIDATE for one in single)
        return self.problem.changes() if single and self.budget.allows(cost) else ([], np.empty((0, 0)))

    @cached_property
    def _steps(self) -> int:
        return self._steps_in(self.problem.first)

    def _steps_in(self, trial: Trial) -> int:
        return len(self.problem.trace(trial).steps) if self.problem.has_graph else 1

    @cached_property
    def _shortest_first(self) -> list[Wrong]:
        """The trials, with the one in front that rejects a candidate at the least cost: where loops have few turns."""
        telling = [one for one in self._given if 1 not in one.trial.setting.sizes.values() and not one.agrees]
        shortest = min(telling, key=lambda one: self._steps_in(one.trial), default=self._given[0])
        return [shortest, *(one for one in self._given if one is not shortest)]

    @property
    def _plain(self) -> list[Candidate]:
        """Return the likely candidates; of an answer that is 0 everywhere, those that can give zeros."""
        plain = self._paid_list("plain", self.problem.plain)
        return plain if self._has_numbers else [one for one in plain if self._may_leave_nothing(one)]

    def _may_leave_nothing(self, candidate: Candidate) -> bool:
        """What is 0 everywhere may be the rule of the last operation without the upstream gradient.

        What is not quite 0 may also be one of two paths, along which all of it cancels.
        """
        if candidate.code == "missing-path":
            return any(np.any(array) for _, array in self.pairs)
        if candidate.code != "missing-upstream" or not self.problem.has_graph:
            return False
        trace = self.problem.trace(self.problem.first)
        return any(trace.out == f"%{step}" for edit in candidate.edits for step, _ in edit.at)

    @property
    def _rarer(self) -> list[Candidate]:
        """Return the less likely candidates; none for an answer that is 0 everywhere."""
        return self._paid_list("rarer", self.problem.rarer) if self._has_numbers else []

    @property
    def _end(self) -> Any:
        return self.problem.end(self.pairs[0][0])

    @cached_property
    def _averages(self) -> bool:
        traced = isinstance(self.problem.exercise, Exercise) and (self.problem.has_graph or not self.problem.wrt)
        return traced and any(step.name in AVERAGES for step in self.problem.trace(self.problem.first).steps)

    def _first(self, candidates: Iterable[Candidate]) -> Candidate | None:
        left = (one for one in candidates if one.is_of_end or not self.budget.is_spent)
        return next((one for one in left if self.explains(one)), None)

    def _named(self, candidates: Iterable[Candidate]) -> Mistake | None:
        found = self._first(candidates)
        return None if found is None else found.mistake()

    def explains(self, candidate: Candidate, *, sure: bool = False) -> bool:
        """It gives the learner's numbers in every trial that can tell, and is told apart from the right answer.

        Where most trials cannot tell, the few that can may fit by accident. What is sure or fits one is tried in all.
        """
        told_apart, vague = False, 0
        for trial, array, right in self._shortest_first:
            try:
                computed = (self.problem.compute if sure else self._compute)(candidate, trial)
            except Vague:
                vague += 1
                continue
            except IMPOSSIBLE:
                return False
            if not _near(array, computed, right) and not self._is_rounded(trial, array, computed):
                return False
            sure = True
            told_apart = told_apart or not _near(computed, right, right)
        told_apart = told_apart and 2 * vague <= len(self.pairs)
        if told_apart:
            self.fitting.append(candidate)
        return told_apart

    def _is_rounded(self, trial: Trial, array: np.ndarray, computed: np.ndarray) -> bool:
        """They differ by no more than what any gradient loses in this trial."""
        exercise, error = self.problem.exercise, scaled_error(array, computed)
        if error > MOST_ROUNDING or not isinstance(exercise, Exercise) or self.problem.answer.kind != "gradient":
            return False
        try:
            return error <= rounding(exercise, self.problem.answer, trial)
        except IMPOSSIBLE:
            return False  # the forward pass does not run in single precision

    def _computed(self, candidate: Candidate) -> list[np.ndarray] | None:
        """What a candidate gives in each trial; `None` where it cannot be made, or has another shape."""
        try:
            found = [self._compute(candidate, trial) for trial, _ in self.pairs]
        except IMPOSSIBLE:
            return None
        both = zip(found, self._given, strict=True)
        return found if all(one.has_shape and made.shape == one.right.shape for made, one in both) else None

    def _closed(self) -> Iterator[list[np.ndarray]]:
        """What the entries have that a mask must close, in each trial, where there is one; 0 where nothing is left."""
        for one in (one for one in self._plain if one.code == "inverted-mask"):
            found = []
            for trial, _, right in self._given:
                try:
                    found.append(self._compute(one, trial))
                except Vague:
                    found.append(np.zeros_like(right))
                except IMPOSSIBLE:
                    break
            else:
                yield found

    def _by_factor(self) -> Mistake | None:
        """Nothing at all, nearly right, or right but for a factor or a summand."""
        if found := facts.nothing(self._given) or facts.imprecise(self._given):
            return found
        if factor := factors.decoded(facts.ratios(self._given), self._averages):
            return Mistake(factor.code, (Fact(factor.name, factor.parameters),))
        return facts.offset(self._given) or self._part_factor()

    @cached_property
    def _lacking(self) -> list[tuple[Candidate, list[Lacking]]]:
        """Candidates that lack a part of the right answer, and what that is in each trial."""
        made = ((one, self._computed(one)) for one in self._plain if one.lacks)
        return [
            (one, [Lacking(*line, rest, line.right - rest) for line, rest in zip(self._given, rests, strict=True)])
            for one, rests in made
            if rests is not None
        ]

    def _part_factor(self) -> Mistake | None:
        """One part has a factor of its own, and the rest is right."""
        for one, lines in self._lacking:
            alone = [Wrong(line.trial, line.array - line.rest, line.part) for line in lines]
            if factor := factors.decoded(facts.ratios(alone), self._averages):
                told = {**factor.parameters, "part": _part(one)}
                return Mistake(factor.code, (Fact(factor.name, told),), one.mistake().at)
        return None

    def _by_part(self) -> Mistake | None:
        """One part replaces the rest where it arrives, or is there in some rows only."""
        for one, lines in self._lacking:
            replaced = [line.replaces for line in lines]
            if any(replaced) and None not in replaced:
                return Mistake("overwritten", (Fact("path-replaces", {"part": _part(one)}),), one.mistake().at)
        for one, lines in self._lacking:
            counted = [row for line in lines if (row := line.rows) is not None]
            uneven = [row for row in counted if not row.all()]
            if uneven and len(counted) == len(lines) and any(row.any() for row in uneven):
                told = {"part": _part(one), "rows": [int(row) for row in np.flatnonzero(~uneven[0])]}
                return Mistake("partial-batch", (Fact("path-for-some-rows", told),), one.mistake().at)
        return None

    def _spread_out(self) -> Mistake | None:
        """A share of one part, or of all of it, is divided evenly among the entries of a row."""
        every = [Lacking(*one, 0 * one.right, one.right) for one in self._given]
        for named, lines in (*((_part(one), lines) for one, lines in self._lacking), ({}, every)):
            if any(line.part.ndim < 2 or line.part.shape != line.array.shape for line in lines):
                continue
            spread = ((line, line.part.mean(-1, keepdims=True) - line.part) for line in lines)
            share = _same([factors.one_ratio(line.array - line.right, moved) for line, moved in spread])
            if 0 < share < 1:
                return facts.fact("wrong-local", "spread-out", share=f"{share:.3g}", part=named)
        return None

    def _times(self, candidate: Candidate, pairs: Sequence[Pair]) -> list[tuple[Trial, float]]:
        """The factor between arrays and what a mistake gives, in each trial; empty where it is no single number."""
        known: list[tuple[Trial, float]] = []
        for trial, array in pairs:
            try:
                factor = factors.one_ratio(array, self._compute(candidate, trial))
            except IMPOSSIBLE:
                return []
            if factor is None:
                return []
            known.append((trial, factor))
        told = sum(max(int(np.count_nonzero(array)) - 1, 0) for _, array in pairs)
        return known if told >= LEAST_TOLD else []

    def _with_factor(self) -> Mistake | None:
        """A mistake that has a name, times a factor that has one."""
        for one in (*self._plain, *self._rarer):
            if self.budget.is_spent:
                return None
            if one.code != "forward-value" and len(one.edits) == 1:
                factor = factors.decoded(self._times(one, self.pairs), self._averages)
                if factor and factor.code != "hard-coded":
                    return one.mistake(Fact(factor.name, {**factor.parameters, "besides": True}))
        return None

    def _mixed_in(self) -> Mistake | None:
        """A multiple of another value is added to the one in its place, as by a step of training made too early."""
        if not facts.same_shapes(self._given):
            return None
        excess = [(one.trial, one.array - one.right) for one in self._given]
        for one in self._plain:
            told = one.edits[0].told
            if one.code != "wrong-operand" or not {"there", "here"} <= set(told):
                continue
            if times := _same([factor for _, factor in self._times(one, excess)]):
                verb = "added to" if times > 0 else "subtracted from"
                mixed = {"there": told["there"], "here": told["here"], "times": f"{abs(times):.3g}", "verb": verb}
                return Mistake(one.code, (Fact("mixed-in", mixed),), one.edits[0].at)
        return None

    def _two_edits(self) -> Mistake | None:
        """Return a mistake of two edits at different places, or of one edit on one path only; else `None`."""
        if not self.problem.has_graph or not self.problem.wrt or not self._has_numbers:
            return None
        if self.budget.is_spent:
            return None
        found = self._named(self._paid_list("on one path", self.problem.on_one_path)) or self._named(self._apart())
        return found or (None if self.budget.is_spent else self._named(self.problem.pairs()))

    def together_with(self, known: Iterable[Candidate]) -> Mistake | None:
        """One of these mistakes, which other answers of the function have, alone or with another one."""
        known = list(dict.fromkeys(known))
        pairs = (both(one, other) for one in known if one.is_single for other in self._changes[0])
        return self._named(itertools.chain(known, pairs)) if self.can_share else None

    def _apart(self) -> Iterator[Candidate]:
        """Two edits on different ways through the pass: in the first trial their changes add up to the learner's."""
        _, array, right = self._given[0]
        every, changes = self._changes
        if array.shape != right.shape or len(every) < 2:
            return
        whole, squares = (array - right).flatten(), (changes**2).sum(1)
        rest = whole - changes  # what each leaves to another one
        gaps = (rest**2).sum(1)[:, None] + squares - 2 * rest @ changes.T
        bound = whole.size * (MATCH * max(np.abs(array).max(), np.abs(right).max())) ** 2
        for i, j in np.argwhere(np.triu(gaps <= bound, 1))[:MOST_APART]:
            yield both(every[i], every[j])

    def _counted(self) -> Mistake | None:
        traced = self.problem.has_graph and self.problem.answer.kind == "gradient"
        return rows.counted(self._end, self.problem.trace, self.pairs) if traced else None

    @property
    def can_share(self) -> bool:
        """What explains it may explain another answer, too: an edit of the traced pass, and no declared mistake."""
        traced = bool(self.pairs) and self.problem.has_graph and bool(self.problem.wrt) and self._has_numbers
        return traced and self._first(self.problem.declared()) is None

    @property
    def nearness(self) -> tuple[int, int]:
        """How late in the forward pass the variable is made, where it is a step of it, and how late it is used."""
        problem = self.problem
        assert isinstance(problem.exercise, Exercise)
        named = trace_of(problem.exercise, problem.first).names
        made = next((int(key[1:]) for key, name in named.items() if name == problem.wrt), -1)
        return made, max((step for step, _ in problem.trace(problem.first).uses(problem.wrt)), default=-1)

    def shareable(self) -> Iterator[Candidate]:
        """Yield the edits that explain this answer, may explain others, and are as likely as its own explanation."""
        alone = self._first(self._plain)
        lists = {"plain": self.problem.plain, "rarer": self.problem.rarer}
        for one in itertools.chain.from_iterable(self._paid_list(kind, make) for kind, make in lists.items()):
            if self.budget.is_spent:
                return
            shared = bool(one.edits) and all(edit.operator.kind in SHARED for edit in one.edits)
            shared = shared and not (one.only or one.skip)
            shared = shared and (alone is None or alone.is_of_end or rank(one) <= rank(alone))
            if shared and self.explains(one):
                yield one


def _near(array: np.ndarray, other: np.ndarray, right: np.ndarray) -> bool:
    """Equal but for rounding; what a mistake computes as zero, next to the right answer, may be rounding too."""
    size = float(np.abs(right).max(initial=0.0))
    if np.abs(other).max(initial=0.0) > TINY * size:
        return scaled_error(array, other) <= MATCH
    return scaled_error(array, np.zeros_like(other)) <= ZERO * (size or 1.0)


def _same(numbers: Sequence[float | None]) -> float:
    """The one number that all of them are; 0 where there is none."""
    first = numbers[0] if numbers else None
    alike = first is not None and all(n is not None and math.isclose(n, first, rel_tol=1e-2) for n in numbers)
    return first if alike and first is not None else 0.0


def _part(candidate: Candidate) -> dict[str, Any]:
    """The part of the right answer that a candidate leaves out, in a record."""
    edit = candidate.edits[0]
    return {"operator": edit.operator.name, **edit.told}


def find_mistakes(exercise: Declaration, first: Trial, wrong: Mapping[str, Sequence[Pair]]) -> dict[str, Mistake]:
    """Return the mistake in each wrong answer of a function; one cause for several answers, where there is one.

    Trials with exact entries are left out: at a kink a right answer is not the reference, and beside one a mistake may
    divide by 0.

    Args:
        first: the first trial of the run.
        wrong: by answer, each trial with the learner's array in it.
    """
    budget = Budget()
    searches = {
        answer.name: Search(
            Problem(exercise, answer, first),
            [
                _with_answer(exercise, trial, array.real.astype("float64"))
                for trial, array in wrong[answer.name]
                if trial.setting.kind != EXACT_KIND
            ],
            budget,
        )
        for answer in exercise.answers
        if answer.name in wrong
    }
    found = _one_declared(exercise, first, searches)
    found = found or _one_cause({name: search for name, search in searches.items() if search.can_share})
    left = [name for name in searches if name not in found]
    for i, name in enumerate(left, 1):
        budget.keep(1 - 1 / (len(left) - i + 2))
        found[name] = searches[name].mistake()
    budget.keep(0)
    for name, search in searches.items():
        if found[name].code == "unknown" and len(searches) > 1:
            known = [one for other in searches.values() for one in other.fitting if one.edits and other is not search]
            found[name] = search.together_with(known) or replace(search).mistake()  # with what the others have left
    return {name: found[name] for name in searches}


def plain_facts(exercise: Declaration, wrong: Mapping[str, Sequence[Pair]]) -> dict[str, Mistake]:
    """Return the facts of each wrong answer that need no search: a wrong shape, or how many entries are off.

    Args:
        wrong: by answer, each trial with the learner's array in it.
    """
    given = {
        answer: facts.wrong_in(answer, [(trial, array.real.astype("float64")) for trial, array in wrong[answer.name]])
        for answer in exercise.answers
        if answer.name in wrong
    }
    return {answer.name: facts.plain(answer, trials) for answer, trials in given.items()}


def _with_answer(exercise: Declaration, trial: Trial, array: np.ndarray) -> Pair:
    """A trial with the learner's array in it; where more than one answer is right, rules ask for it by name."""
    if isinstance(exercise, Routine) and exercise.accepts is not None:
        trial = replace(trial, inputs={**trial.inputs, "answer": array}, memo={})
    return trial, array


def _one_declared(exercise: Declaration, first: Trial, searches: Mapping[str, Search]) -> dict[str, Mistake]:
    """The declared mistake that gives all that was returned at once, what is right as well, by wrong answer."""
    every = [one for one in exercise.misconceptions if one.answer == RETURN] if isinstance(exercise, Routine) else []
    if not searches or exercise.answers[0].place is None:
        return {}
    trials = [trial for trial, _ in next(iter(searches.values())).pairs]
    right = [Problem(exercise, answer, first) for answer in exercise.answers if answer.name not in searches]
    for one in (Candidate(declared=misconception) for misconception in every):
        if all(search.explains(one) for search in searches.values()) and all(
            agrees(problem.compute(one, trial), problem.end(trial).right) for problem in right for trial in trials
        ):
            cause, *others = searches
            return {cause: one.mistake(), **{name: replace(one.mistake(), cause=cause) for name in others}}
    return {}


def _one_cause(left: dict[str, Search]) -> dict[str, Mistake]:
    """The mistakes that explain several answers of a function at once, by answer.

    Each is told where it is nearest to the loss, and the other answers name that one as their cause.
    """
    found, asked = dict[str, Mistake](), False
    while len(left) > 1:
        nearest = max(left, key=lambda name: left[name].nearness)
        search = left.pop(nearest)
        search.budget.keep(0.8 if asked else 0.5)
        asked = True
        shared = [(one, [n for n, each in left.items() if each.explains(one, sure=True)]) for one in search.shareable()]
        one, others = max(shared, key=lambda pair: len(pair[1]), default=(None, []))
        if one is not None and others:
            cause = one.shared().mistake()
            found |= {nearest: cause} | {name: replace(cause, cause=nearest) for name in others}
            left = {name: other for name, other in left.items() if name not in others}
    return found


def places(search: Search, code: str) -> tuple[Place, ...]:
    """Where in the forward graph a mistake with this code gives the learner's numbers; empty if nowhere."""
    fitting = (one for one in search.problem.plain() if one.code == code and one.edits and one.edits[0].at)
    return next((one.mistake().at for one in fitting if search.explains(one)), ())


__all__ = ["Candidate", "Problem", "Search", "find_mistakes", "places", "plain_facts"]
