"""Which mistake a wrong answer is: the first edit, or pair of edits, whose numbers are the learner's, on every trial.

Every explanation is computed. Where none matches, facts are all that is said.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from grader.exercise import Answer, Declaration, Exercise, Misconception, Routine
from grader.reference.compare import agrees, scaled_error
from grader.reference.operation_recorder import record
from grader.reference.trace import Line, Place, Position, Step, Trace
from grader.reference.trial import IMPOSSIBLE, Trial, Vague

from . import difference, facts, factors, forward, paths, quotient, right_answer, rows
from .along_axis import CLOSED_FORMS, PICKING, REDUCING, RUNNING, is_picking, is_running
from .contraction import PRODUCT, SUMMING, is_contraction
from .convolution import CONVOLUTION, is_convolution
from .facts import Pair, off, right_in
from .mistake import Fact, Mistake
from .operator import (
    EXPANSIONS,
    JOINS,
    NORMALISING,
    REDUCTIONS,
    RESHAPES,
    At,
    Edit,
    End,
    Kind,
    Operator,
    Parameters,
    Pass,
    Spot,
    Way,
    of_any_turn,
    step_name,
)
from .paths import Edge, idle_edges, uses_of
from .pointwise import BROADCASTING, OUTPUT_FORMS, POINTWISE, is_pointwise
from .rearranging import MOVING, REARRANGING, UPSTREAM_MOVED
from .right_answer import MATCH
from .softmax import SOFTMAX
from .upstream import ARRIVING, EXCHANGED, ONE_SIDE, THROUGH, TURNS

TINY, ZERO, FAITHFUL = 1e-9, 1e-5, 1e-6
LEAST_TOLD = 5  # how many entries must agree about a factor that one of them would have to be asked for
MOST_PAIRS = 1500
SPECIFIC = (
    "inverted-mask overwritten transposed missing-path missing-upstream sum-for-mean mean-for-sum missing-batch-sum "
    "extra-batch-sum wrong-sign missing-local forward-value value-for-gradient extra-factor "
    "reshape-for-transpose inverse-for-transpose sum-of-products partial-batch wrong-operand wrong-point "
    "elementwise-for-matmul diagonal-only summed-wrong-axis broadcast-accident shape-special wrong-factor wrong-local "
    "hard-coded not-linear"
).split()
DECLARED = "declared"
PLAIN_WAYS: Mapping[str, tuple[Way, ...]] = {
    "constant-missing": (Way.BOTH, Way.FORWARD),
    "sign-turned": (Way.BOTH,),
    "sum-of-mean": (Way.FORWARD,),
    "mean-of-sum": (Way.FORWARD,),
    "operation-left-out": (Way.BOTH,),
    "shapes-not-in-line": (Way.BOTH,),
    "reduced-along-another-axis": (Way.BOTH,),
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """Edits that may explain an answer.

    Args:
        skip: edges that contribute nothing in total, which were left out unharmed.
        only: edges that the edits are made on; on the others all is right.
        others: these others.
    """

    edits: tuple[Edit, ...]
    skip: tuple[Edge, ...] = ()
    only: tuple[Edge, ...] = ()
    others: tuple[Edge, ...] = ()
    path: tuple[str, ...] = ()
    declared: Misconception | None = None

    @property
    def code(self) -> str:
        return self.declared.code if self.declared else self.edits[0].code

    @property
    def lacks(self) -> bool:
        """It leaves a part of the right answer out, and all the rest is right."""
        one = self.edits[0] if len(self.edits) == 1 else None
        return one is not None and one.code == "missing-path" and not self.only and "turn" not in {*one.told, *()} and (
            "turns" not in one.told
        )

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        path = {"path": list(self.path)} if self.path else {}
        return tuple(Fact(edit.operator.name, {**edit.told, **path}) for edit in self.edits)

    def mistake(self, *more: Fact, code: str = "") -> Mistake:
        if self.declared:
            says = self.declared.says or f"this is what a known slip gives ({self.declared.code})"
            return Mistake(self.code, (Fact(DECLARED, {"says": says}), *more), (), self.declared.hints)
        at = tuple(dict.fromkeys(place for edit in self.edits for place in edit.at))
        return Mistake(code or self.code, (*self.facts, *more), at)


@dataclass(frozen=True)
class Problem:
    """One answer of an exercise, and the first trial, whose pairwise different sizes give each axis away."""

    exercise: Declaration
    answer: Answer
    first: Trial

    @property
    def wrt(self) -> str:
        return self.answer.wrt if self.answer.kind != "value" else ""

    def end(self, trial: Trial) -> End:
        if not isinstance(self.exercise, Exercise):
            return End(self.answer, trial)
        upstream = self.exercise.upstream_name if self.exercise.gives_upstream else ""
        return End(self.answer, trial, self.exercise.output_name, upstream)

    def trace(self, trial: Trial) -> Trace:
        return trace_of(self.exercise, trial)  # type: ignore[arg-type]

    @cached_property
    def has_graph(self) -> bool:
        """The forward pass can be traced, and the traced graph gives the reference itself."""
        if not isinstance(self.exercise, Exercise):
            return False

        def faithful() -> bool:
            try:
                right = self._with_prior(self.first, self._swept(Candidate(()), self.first))
            except IMPOSSIBLE:
                return False
            expected = self.first.expected[self.answer.name]
            return expected is not None and scaled_error(right, expected) < FAITHFUL

        return bool(self.first.remember(("faithful", self.answer.name), faithful))

    def compute(self, candidate: Candidate, trial: Trial) -> np.ndarray:
        """What the edits make of the answer in a trial.

        Raises:
            one of `IMPOSSIBLE`: they cannot be made there; `Vague`: they can, but not be recognised.
        """
        found: np.ndarray = trial.remember((candidate, self.answer.name), lambda: self._computed(candidate, trial))
        return found

    def _computed(self, candidate: Candidate, trial: Trial) -> np.ndarray:
        if candidate.declared:
            return _declared_array(candidate.declared, trial)
        found = None
        if any(edit.operator.kind is not Kind.END for edit in candidate.edits):
            found = self._with_prior(trial, self._swept(candidate, trial))
        for edit in candidate.edits:
            if edit.operator.kind is Kind.END:
                before = trial if found is None else replace(trial, expected={**trial.expected, self.answer.name: found})
                with np.errstate(all="ignore"):  # what is not finite is no learner's answer
                    found = edit.operator.rule(self.end(before), **edit.parameters)
        assert found is not None
        return found

    def _swept(self, candidate: Candidate, trial: Trial) -> np.ndarray:
        trace = self.trace(trial)
        if self.answer.kind != "jacobian":
            return _gradient(candidate, trace, self.wrt).detach().numpy()
        rows = [_gradient(candidate, row, self.wrt) for row in trace.rows]
        return torch.stack(rows).reshape(*trace.out_g.shape, *rows[0].shape).detach().numpy()

    def _with_prior(self, trial: Trial, found: np.ndarray) -> np.ndarray:
        prior = self.end(trial).prior
        return found if prior is None or prior.shape != found.shape else found + prior

    # --- every candidate -----------------------------------------------------------------------------------------

    def declared(self) -> list[Candidate]:
        """The exercise's own misconceptions about the answer."""

        def found() -> list[Candidate]:
            own = self.exercise.misconceptions
            return [Candidate((), declared=one) for one in own if one.answer == self.answer.name]

        return self._remembered("declared", found)

    def plain(self) -> list[Candidate]:
        """Every mistake that can be computed without the exercise's help, the most specific first."""
        return self._remembered("plain", lambda: sorted(self._plain(), key=lambda one: SPECIFIC.index(one.code)))

    def rarer(self) -> list[Candidate]:
        """More of them, for which a plain relation to the right answer is a likelier explanation."""
        return self._remembered("rarer", lambda: list(self._rarer()))

    def _remembered(self, what: str, compute: Callable[[], list[Candidate]]) -> list[Candidate]:
        found: list[Candidate] = self.first.remember((what, self.answer.name), compute)
        return found

    def _plain(self) -> Iterator[Candidate]:
        yield from self._at_end((*right_answer.PRIOR, *right_answer.RIGHT_ANSWER))
        if not isinstance(self.exercise, Exercise):
            for choice in quotient.quotient_choices(self.first):
                yield _whole(*choice)
            return
        trace = self.trace(self.first)
        if not self.wrt:
            yield from self._in_forward(trace, plain=True)
            return
        if not self.has_graph:
            return
        yield from (_whole(*choice) for choice in forward.input_choices(trace, self.wrt))
        for skip in dict.fromkeys((idle_edges(trace, self.wrt), ())):
            for edit in self._local(trace):
                yield Candidate((edit,), skip)
            yield from (replace(one, skip=skip) for one in self._in_forward(trace, plain=True))
        for operator, step, where, key, told in forward.taken_of_another(trace):
            spot = Spot(step.line, None, where)
            yield _whole(operator, {"spot": spot, "key": key}, told, step, where)
        yield from (_whole(*choice) for choice in paths.value_choices(trace))
        yield from self._paths(trace)
        yield from self._on_paths(trace, lambda edit: edit.code in {"missing-local", "sum-for-mean"}, most=2)
        yield from (_whole(*choice) for choice in paths.whole_choices(trace, self.wrt))
        if not trace.upstream_name:
            yield from (_whole(*choice) for choice in difference.difference_choices(trace, self.wrt))
        yield from self._left_out_together(trace)

    def _rarer(self) -> Iterator[Candidate]:
        if not isinstance(self.exercise, Exercise):
            return
        trace = self.trace(self.first)
        if not self.wrt:
            yield from self._in_forward(trace, plain=False)
            yield from self._at_end(right_answer.VALUES)
            return
        yield from self._at_end((*right_answer.STRAYS, *right_answer.PRODUCTS, *right_answer.MOVED))
        if not self.has_graph:
            return
        yield from self._in_forward(trace, plain=False)
        if self.answer.kind == "gradient":
            yield from (_whole(*choice) for choice in forward.rarer_input_choices(trace, self.wrt))
            yield from self._options()
            yield from (_whole(*choice) for choice in forward.rarer_upstream_choices(trace))
            yield from (_whole(*choice) for choice in rows.row_choices(trace, self.wrt))
            yield from (_whole(*choice) for choice in paths.factor_choices(trace, self.wrt))
        for edit in self._local(trace, rare=True):
            yield Candidate((edit,))

    def _at_end(self, operators: Iterable[Operator]) -> Iterator[Candidate]:
        end = self.end(self.first)
        for operator in operators:
            if operator.when(end):
                for chosen in operator.each(end):
                    told = {"answer": self.answer.name, **operator.tell(end, **chosen)}
                    yield Candidate((Edit(operator, None, chosen, told),))

    def _local(self, trace: Trace, *, rare: bool = False) -> Iterator[Edit]:
        """Every wrong rule at every place on the way back."""
        relevant = trace.depends(self.wrt)
        for step, line, turn in _places(trace, relevant):
            yield from _edits_at(At(trace, step), UPSTREAM_MOVED if rare else ARRIVING, line, turn)
            for position, source in step.operands:
                if source in relevant:
                    at = At(trace, step, position)
                    yield from _edits_at(at, _rare_family(at) if rare else _family(at), line, turn)

    def _in_forward(self, trace: Trace, *, plain: bool) -> Iterator[Candidate]:
        """Another step of the forward pass."""
        if plain and not self.wrt:
            yield from (_whole(*choice) for choice in forward.input_choices(trace, ""))
        on_the_way = trace.depends(self.wrt) if self.wrt else set()
        for step, line, turn in _places(trace, {step.key for step in trace.steps}):
            if plain and forward.is_constant_to_sweep(step):
                continue
            for edit in () if plain else _edits_at(At(trace, step), forward.TRACES, line, turn):
                yield Candidate((edit,))
            for operator in forward.STEPS if plain else (*forward.STEPS, *forward.RARER_STEPS):
                for way in _ways(operator, plain, differentiated=bool(self.wrt) and step.key in on_the_way):
                    if way is Way.FORWARD and not self.wrt:
                        continue
                    if way is Way.FORWARD and plain and step.key == trace.out:
                        continue
                    for edit in _edits_at(At(trace, step), (operator,), line, turn):
                        told = {**edit.told, **({} if way is Way.BOTH else {"way": way.value})}
                        yield Candidate((replace(edit, way=way, told=told),))
            if plain and self.wrt:
                for edit in _edits_at(At(trace, step), (forward.ADDED_UP,), line, turn):
                    yield Candidate((replace(edit, parameters={"spot": edit.spot}),))

    def _paths(self, trace: Trace) -> Iterator[Candidate]:
        """A value used several times, followed along only some of its uses."""
        for operator, chosen, told, edges in paths.path_choices(trace, self.wrt):
            at = tuple(use for edge in edges for use in edge.uses(trace))
            yield Candidate((Edit(operator, None, chosen, told, at),), path=())
        if not trace.upstream_name:
            return
        last = trace.steps[int(trace.out[1:])] if trace.out.startswith("%") else None
        for _, edges in paths.used_often(trace, self.wrt):
            for count in range(1, len(edges)) if _is_straight(trace, edges) else ():
                for bare in itertools.combinations(edges, count):
                    if last is not None:
                        for edit in _edits_at(At(trace, last), ARRIVING[:1]):
                            yield _on_path(trace, edit, bare, edges)

    def _on_paths(self, trace: Trace, fits: Callable[[Edit], bool], most: int) -> Iterator[Candidate]:
        """A slip on one of several paths, in an operation that comes after they have met again."""
        relevant = trace.depends(self.wrt)
        for _, edges in paths.used_often(trace, self.wrt):
            if not _is_straight(trace, edges):
                continue
            reached = [set().union(*(trace.depends(trace.steps[i].key) for i, _ in edge.uses(trace))) for edge in edges]
            for step, line, turn in _places(trace, relevant):
                if sum(step.key in found for found in reached) < 2 or step.name in RESHAPES:
                    continue
                for position, source in step.operands:
                    if source in relevant and any(source in found for found in reached):
                        at = At(trace, step, position)
                        local = filter(fits, _edits_at(at, _family(at), line, turn))
                        for edit in itertools.islice(local, most):
                            yield from (_on_path(trace, edit, (edge,), edges) for edge in edges)

    def _left_out_together(self, trace: Trace) -> Iterator[Candidate]:
        """Two local derivatives left out at once."""
        relevant = trace.depends(self.wrt)
        left_out: list[list[Edit]] = []
        for step, line, turn in _places(trace, relevant):
            if turn is None and line == step.line and step.name not in RESHAPES:
                for position, source in step.operands:
                    if source in relevant:
                        at = At(trace, step, position)
                        drops = (e for e in _edits_at(at, _family(at)) if e.code in {"missing-local", "sum-for-mean"})
                        left_out.append(list(itertools.islice(drops, 2)))
        for one, two in itertools.combinations(reversed(left_out), 2):
            yield from (Candidate(_first_counts(pair)) for pair in itertools.product(one, two))

    def _options(self) -> Iterator[Candidate]:
        """An option that is not asked for."""
        for name, option in self.first.inputs.items():
            for fixed in OPTION_VALUES.get(type(option), ()):
                operator = replace(FIXED_OPTION, rule=_with_option(self.exercise))
                yield Candidate((Edit(operator, None, {"name": name, "value": fixed}, {"name": name, "value": fixed}),))


OPTION_VALUES: Mapping[type, tuple[Any, ...]] = {bool: (True, False), int: (1, 2, 3, 0, -1)}


def _with_option(exercise: Declaration) -> Callable[..., np.ndarray]:
    from grader.reference.references import right_answer as right_array

    def rule(end: End, name: str, value: Any) -> np.ndarray:
        trial = end.trial
        inputs = {**trial.inputs, name: value}
        assert isinstance(exercise, Exercise)
        assert trial.out_g is not None
        assert trial.out is not None
        found = right_array(exercise, end.answer, trial.arguments, inputs, trial.out_g, trial.out)
        return end.right if found is None else found

    return rule


FIXED_OPTION = Operator("fixed-option", "hard-coded", lambda end: end.right, kind=Kind.END)


def trace_of(exercise: Exercise, trial: Trial) -> Trace:
    """The forward pass in one trial, recorded once."""
    assert trial.out_g is not None
    out_g = trial.out_g

    def recorded() -> Trace:
        found = record(exercise.forward, trial.inputs, out_g)
        upstream = exercise.upstream_name if exercise.gives_upstream else ""
        return replace(found, output_name=exercise.output_name, upstream_name=upstream, sizes=trial.setting.sizes)

    return trial.remember("trace", recorded)  # type: ignore[no-any-return]


def _gradient(candidate: Candidate, trace: Trace, wrt: str) -> torch.Tensor:
    skip = uses_of(trace, candidate.skip)
    if not candidate.only:
        return _edited(Pass(trace, wrt, skip=skip), candidate.edits).result()
    edited = Pass(trace, wrt, skip=skip | uses_of(trace, candidate.others))
    rest = Pass(trace, wrt, skip=skip | uses_of(trace, candidate.only))
    return _edited(edited, candidate.edits).result() + rest.result()


def _edited(one: Pass, edits: Iterable[Edit]) -> Pass:
    for edit in sorted(edits, key=lambda edit: edit.operator.kind in (Kind.OPERAND, Kind.UPSTREAM, Kind.EDGES)):
        one = one.edited(edit)
    return one


def _places(trace: Trace, relevant: set[str]) -> Iterator[tuple[Step, Line, int | None]]:
    """Every line of the forward pass, the last first; then lines that are alike, all together; in a loop, its ends."""
    steps = [step for step in reversed(trace.steps) if step.key in relevant]
    lines = dict.fromkeys(step.line for step in steps)
    yield from ((trace.steps[trace.turns[line][-1]], line, None) for line in lines)
    for line, turns in trace.turns.items():
        if line not in lines and trace.steps[turns[-1]].key in relevant:
            yield trace.steps[turns[-1]], line, None
    for line in lines:
        if len(trace.turns[line]) > 1:
            yield from ((trace.steps[trace.turns[line][turn]], line, turn) for turn in (-1, 0))


def _edits_at(at: At, operators: Iterable[Operator], line: Line | None = None, turn: int | None = None) -> Iterator[Edit]:
    """Every edit that these operators can make at a step: at all steps of its line, or at one turn."""
    line = line or at.step.line
    turns = at.trace.turns[line]
    told = {"step": step_name(at.step)}
    if len(turns) > 1:
        told["step"] = step_name(replace(at.step, nth=0))
        told["turn"] = {None: "every", 0: "first", -1: "last"}[turn] if line == at.step.line else "alike"
    places = turns if turn is None else [at.step.index]
    for operator in operators:
        try:
            possible = operator.when(at)
        except IMPOSSIBLE:
            continue
        if possible:
            position = at.position if operator.kind is Kind.OPERAND else None
            spot, where = Spot(line, turn, position), tuple((i, position) for i in places)
            for chosen in operator.each(at):
                spoken = operator.tell(at, **chosen)
                spoken = _in_every_turn(at.trace, spoken) if len(turns) > 1 else spoken
                yield Edit(operator, spot, chosen, {**told, **spoken}, where)


def _in_every_turn(trace: Trace, told: Parameters) -> Parameters:
    """The values of a loop without their numbers, unless these are what tells them apart."""
    values = {name: value for name, value in told.items() if isinstance(value, str) and value[:1] in ("%", "^")}
    plain = {name: value[0] + of_any_turn(trace, f"%{value[1:]}")[1:] for name, value in values.items()}
    return {**told, **plain} if len(set(plain.values())) == len(set(values.values())) else told


def _family(at: At) -> Iterator[Operator]:
    """What can go wrong in the contribution of a step to one of its operands."""
    step = at.step
    yield from OUTPUT_FORMS
    if step.name in NORMALISING:
        yield from SOFTMAX
    elif is_contraction(at):
        yield from (*SUMMING, *PRODUCT)
    elif step.name in REDUCTIONS:
        yield from REDUCING
    elif step.name in EXPANSIONS:
        yield from (*SUMMING, *BROADCASTING)
    elif step.name in RESHAPES | JOINS:
        yield from REARRANGING
    elif is_pointwise(at):
        yield from (*POINTWISE, *SUMMING, *BROADCASTING)
    elif is_picking(at):
        yield from PICKING
    elif is_running(at):
        yield from (*RUNNING, *CLOSED_FORMS)
    elif is_convolution(at):
        yield from CONVOLUTION
    else:
        yield from REARRANGING
    yield from (*ONE_SIDE, *EXCHANGED, *TURNS)


def _rare_family(at: At) -> Iterator[Operator]:
    yield from (*THROUGH, *MOVING)
    if at.step.name not in RESHAPES:
        yield from REARRANGING


def _ways(operator: Operator, plain: bool, *, differentiated: bool) -> Iterator[Way]:
    own = PLAIN_WAYS.get(operator.name, ())
    if plain:
        yield from own
        return
    ways = [Way.BOTH]
    if operator.name in forward.FORWARD_ONLY:
        ways.append(Way.FORWARD)
    if operator.name in forward.BACK_ONLY and differentiated:
        ways.append(Way.BACK)
    yield from (way for way in ways if way not in own)


def _whole(
    operator: Operator, chosen: Parameters, told: Parameters, step: Step | None = None, where: Position | None = None
) -> Candidate:
    """An edit of the whole pass, with the step that it is about."""
    if step is None:
        return Candidate((Edit(operator, None, chosen, told),))
    return Candidate((Edit(operator, None, chosen, {"step": step_name(step), **told}, ((step.index, where),)),))


def _is_straight(trace: Trace, edges: Iterable[Edge]) -> bool:
    """No loop goes through these edges, so that one path can be told from the others."""
    return all(len(edge.uses(trace)) == 1 for edge in edges)


def _on_path(trace: Trace, edit: Edit, only: tuple[Edge, ...], edges: Sequence[Edge]) -> Candidate:
    others = tuple(edge for edge in edges if edge not in only)
    at = tuple(use for edge in only for use in edge.uses(trace))
    return Candidate((replace(edit, at=(*edit.at, *at)),), (), only, others, tuple(paths.through(trace, only)))


def _first_counts(pair: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Two edits, the one whose code is `missing-local` first."""
    return tuple(sorted(pair, key=lambda edit: edit.code != "missing-local"))


def _declared_array(misconception: Misconception, trial: Trial) -> np.ndarray:
    known = {**trial.inputs, "out": trial.out, "out_g": trial.out_g}
    names = inspect.signature(misconception.rule).parameters
    wrong = misconception.rule(**{name: known[name] for name in names})
    return np.asarray(wrong.detach().numpy() if hasattr(wrong, "detach") else wrong, dtype="float64")


# --- the search --------------------------------------------------------------------------------------------------


@dataclass
class Search:
    """The search for one wrong answer's mistake.

    Args:
        pairs: each trial with the learner's array in it (float64), the first one first.
    """

    problem: Problem
    pairs: Sequence[Pair]
    answer: Answer = field(init=False)

    def __post_init__(self) -> None:
        self.answer = self.problem.answer

    def mistake(self) -> Mistake:
        """The likeliest mistake that gives the learner's numbers; the facts, where none does."""
        if not self.pairs:
            return facts.fact("unknown", "nothing-to-compare")
        if own := self._first(self.problem.declared()):
            return own.mistake()
        exercise = self.problem.exercise
        if isinstance(exercise, Routine) and exercise.accepts is not None and all(a.ndim == 0 for _, a in self.pairs):
            return facts.fact("imprecise", "error-too-large")
        return self._derived()

    def _derived(self) -> Mistake:
        answer, pairs = self.answer, self.pairs
        if facts.same_shapes(answer, pairs) and (typed_in := facts.constant(pairs)):
            return typed_in
        if found := self._first(self._candidates):
            return found.mistake()
        wrong_shape = next(((t, a) for t, a in pairs if a.shape != right_in(answer, t).shape), None)
        if wrong_shape is not None:
            if same := facts.same_shape(answer, pairs):
                return same
            if wrong_shape[0] is pairs[0][0] and (spread := facts.broadcast_accident(answer, *wrong_shape)):
                return spread
        special = facts.passes_where(answer, pairs)
        if masked := facts.another_mask(answer, pairs, self._closed()) or facts.not_zero(answer, pairs):
            return special if special and special.code == "hard-coded" else masked
        if found := (
            facts.mixed_with_prior(answer, pairs) or self._by_factors() or self._by_paths() or facts.a_step(answer, pairs)
        ):
            return found
        if rare := self._first(self._rarer):
            return rare.mistake()
        found = self._partly(special) or self._combined()
        if found is None and wrong_shape is not None:
            return facts.wrong_shape(answer, *wrong_shape)
        return found or facts.constant(pairs, trivial=True) or self._counted() or facts.varying_ratio(answer, pairs) or facts.unknown(answer, pairs)

    @property
    def can_share(self) -> bool:
        """What explains it may explain another answer, too: an edit of the traced pass, and no declared mistake."""
        if not self.pairs or not self.problem.has_graph or not self._has_numbers or not self.problem.wrt:
            return False
        return self._first(self.problem.declared()) is None

    @property
    def nearness(self) -> int:
        """How late in the forward pass the variable is used."""
        return max(step for step, _ in self.problem.trace(self.problem.first).uses(self.problem.wrt))

    def matches(self) -> list[Candidate]:
        """Every edit of the traced pass that gives the learner's numbers, the likeliest first."""
        every = (*self.problem.plain(), *self.problem.rarer())
        return [one for one in every if one.edits and all(edit.operator.kind in SHARED for edit in one.edits) and not (one.only or one.skip) and self.explains(one)]

    @cached_property
    def _has_numbers(self) -> bool:
        return any(np.any(array) for _, array in self.pairs)

    @property
    def _candidates(self) -> list[Candidate]:
        plain = self.problem.plain()
        return plain if self._has_numbers else [one for one in plain if one.code == "missing-upstream"]

    @property
    def _rarer(self) -> list[Candidate]:
        return self.problem.rarer() if self._has_numbers else []

    def _end(self) -> End:
        return self.problem.end(self.pairs[0][0])

    @cached_property
    def _averages(self) -> bool:
        return isinstance(self.problem.exercise, Exercise) and paths.averages(self.problem.trace(self.problem.first))

    def _first(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The first candidate that gives the learner's numbers."""
        return next((one for one in candidates if self.explains(one)), None)

    def explains(self, candidate: Candidate) -> bool:
        """It gives the learner's numbers in every trial that can tell, and is told apart from the right answer."""
        told_apart = False
        for trial, array in self.pairs:
            try:
                computed = self.problem.compute(candidate, trial)
            except Vague:
                continue
            except IMPOSSIBLE:
                return False
            right = right_in(self.answer, trial)
            if not _near(array, computed, right):
                return False
            told_apart = told_apart or not _near(computed, right, right)
        return told_apart

    def _computed(self, candidate: Candidate) -> list[np.ndarray] | None:
        """What a candidate gives in each trial; `None` where it cannot be made, or has another shape."""
        found = []
        for trial, array in self.pairs:
            try:
                found.append(self.problem.compute(candidate, trial))
            except IMPOSSIBLE:
                return None
            if found[-1].shape != array.shape or found[-1].shape != right_in(self.answer, trial).shape:
                return None
        return found

    def _closed(self) -> Iterator[Callable[[Trial], np.ndarray]]:
        """What the entries have that a mask must close, where there is one."""
        for one in self._candidates:
            if one.code == "inverted-mask" and self._computed(one) is not None:
                yield lambda trial, one=one: self.problem.compute(one, trial)

    def _by_factors(self) -> Mistake | None:
        """Nothing at all, nearly right, or right but for a factor or a summand."""
        answer, pairs = self.answer, self.pairs
        if found := facts.nothing(answer, pairs) or facts.imprecise(answer, pairs):
            return found
        if factor := factors.decoded(facts.ratios(answer, pairs), self._averages):
            return Mistake(factor.code, (Fact(factor.name, factor.parameters),))
        return facts.slope_typed_in(self._end(), pairs) or facts.offset(answer, pairs) or self._path_factor()

    def _lacking(self) -> Iterator[tuple[Candidate, list[np.ndarray], list[np.ndarray]]]:
        """Candidates that lack a part: what they give, and the part that they lack, in each trial."""
        for one in self._candidates:
            if one.lacks and (rest := self._computed(one)) is not None:
                yield one, rest, [right_in(self.answer, t) - r for (t, _), r in zip(self.pairs, rest, strict=True)]

    def _path_factor(self) -> Mistake | None:
        """One part counts with a factor of its own, and the others are right."""
        for one, rest, part in self._lacking():
            known = []
            for (trial, array), r, p in zip(self.pairs, rest, part, strict=True):
                factor = factors.one_ratio(array - r, p)
                if factor is not None:
                    known.append((trial, factor))
                elif np.any(p):
                    known = []
                    break
            if known and (factor_found := factors.decoded(known, self._averages)):
                told = {**factor_found.parameters, "part": _part(one)}
                mistake = one.mistake()
                return Mistake(factor_found.code, (Fact(factor_found.name, told),), mistake.at)
        return None

    def _by_paths(self) -> Mistake | None:
        """One path replaces the others where it arrives, or counts for some rows only."""
        rights = [right_in(self.answer, trial) for trial, _ in self.pairs]
        arrays = [array for _, array in self.pairs]
        for one, rest, part in self._lacking():
            told = [_replaced(*four) for four in zip(arrays, rights, rest, part, strict=True)]
            if any(told) and all(each is not None for each in told):
                return Mistake("overwritten", (Fact("path-replaces", {"part": _part(one)}),), one.mistake().at)
            rows_told = [_rows(array, right, r) for array, right, r in zip(arrays, rights, rest, strict=True)]
            uneven = [counted for counted in rows_told if counted is not None and not counted.all()]
            if uneven and all(c is not None for c in rows_told) and any(counted.any() for counted in uneven):
                numbers = [int(row) for row in np.flatnonzero(~uneven[0])]
                told_rows = Fact("path-for-some-rows", {"part": _part(one), "rows": numbers})
                return Mistake("partial-batch", (told_rows,), one.mistake().at)
        return None

    def _partly(self, special: Mistake | None) -> Mistake | None:
        return facts.by_upstream(self._end(), self.pairs) or special or self._spread_out()

    def _spread_out(self) -> Mistake | None:
        """A share of what comes on one path, or of all of it, is divided evenly among the entries of a row."""
        rights = [right_in(self.answer, trial) for trial, _ in self.pairs]
        lacking = [(_part(one), part) for one, _, part in self._lacking()]
        for named, part in (*lacking, ({}, rights)):
            if any(p.ndim < 2 or p.shape != array.shape for p, (_, array) in zip(part, self.pairs, strict=True)):
                continue
            shares = [
                factors.one_ratio(array - right, p.mean(-1, keepdims=True) - p)
                for (_, array), right, p in zip(self.pairs, rights, part, strict=True)
            ]
            share = shares[0]
            if share and 0 < share < 1 and all(s is not None and math.isclose(s, share, rel_tol=1e-2) for s in shares):
                return facts.fact("wrong-local", "spread-out", share=f"{share:.3g}", part=named)
        return None

    def _combined(self) -> Mistake | None:
        """A mistake and a factor, a value mixed with another, a slip on one path only, two mistakes."""
        return self._with_factor() or self._mixed_in() or self._on_one_path() or self._two()

    def _times(self, candidate: Candidate, pairs: Sequence[Pair]) -> list[tuple[Trial, float]]:
        """The factor between arrays and what a mistake gives, in each trial; empty where it is no single number."""
        known = []
        for trial, array in pairs:
            try:
                computed = self.problem.compute(candidate, trial)
            except IMPOSSIBLE:
                return []
            factor = factors.one_ratio(array, computed)
            if factor is None:
                return []
            known.append((trial, factor))
        told = sum(max(int(np.count_nonzero(array)) - 1, 0) for _, array in pairs)
        return known if told >= LEAST_TOLD else []

    def _with_factor(self) -> Mistake | None:
        for one in (*self._candidates, *self._rarer):
            if one.code == "forward-value" or len(one.edits) > 1:
                continue
            factor = factors.decoded(self._times(one, self.pairs), self._averages)
            if factor and factor.code != "hard-coded":
                return one.mistake(Fact(factor.name, {**factor.parameters, "besides": True}))
        return None

    def _mixed_in(self) -> Mistake | None:
        """A multiple of another value is added to the one that belongs in its place, as by a step of training too early."""
        if not facts.same_shapes(self.answer, self.pairs):
            return None
        excess = [(trial, array - right_in(self.answer, trial)) for trial, array in self.pairs]
        for one in self._candidates:
            told = one.edits[0].told if one.edits else {}
            if one.code != "wrong-operand" or not {"there", "here"} <= set(told):
                continue
            known = self._times(one, excess)
            if known and all(math.isclose(other, known[0][1], rel_tol=1e-2) for _, other in known):
                times = known[0][1]
                verb = "added to" if times > 0 else "subtracted from"
                mixed = {"there": told["there"], "here": told["here"], "times": f"{abs(times):.3g}", "verb": verb}
                return Mistake(one.code, (Fact("mixed-in", mixed),), one.edits[0].at)
        return None

    def _on_one_path(self) -> Mistake | None:
        if not self.problem.has_graph or not self.problem.wrt or not self._has_numbers:
            return None

        def every() -> list[Candidate]:
            trace = self.problem.trace(self.problem.first)
            return list(itertools.islice(self.problem._on_paths(trace, lambda edit: True, most=40), MOST_PAIRS))

        found = self._first(self.problem._remembered("on one path", every))
        return found.mistake() if found else None

    def _two(self) -> Mistake | None:
        """Two slips at different places."""
        if not self.problem.has_graph or not self.problem.wrt or not self._has_numbers:
            return None
        found = self._first(self.problem._remembered("two", lambda: list(_two_edits(self.problem))))
        return found.mistake() if found else None

    def _counted(self) -> Mistake | None:
        if not self.problem.has_graph or self.answer.kind != "gradient":
            return None
        found = rows.counted(self._end(), self.problem.trace, self.pairs)
        return None if found is None else Mistake(found[0], (found[1],))


LIKELY = (
    "derivative-missing path-missing partner-missing upstream-missing factor-of-power-missing mean-not-divided "
    "sum-divided part-negated minus-missing mask-inverted only-own-part shares-missing mean-of-terms derivative-twice "
    "exponent-not-lowered axes-not-summed-part operation-left-out "
    "terms-without-shares row-sum-added constant-missing picked-mask-missing times-input denominator-not-squared"
).split()


def _two_edits(problem: Problem) -> Iterator[Candidate]:
    """Pairs of the likelier single edits, the likeliest first, as many as the budget allows."""
    single = [one.edits[0] for one in problem.plain() if len(one.edits) == 1 and not (one.only or one.skip)]
    likely = [edit for edit in single if edit.operator.name in LIKELY and edit.told.get("turn", "every") == "every"]
    likely.sort(key=lambda edit: LIKELY.index(edit.operator.name))
    pairs = sorted(itertools.combinations(range(len(likely)), 2), key=sum)
    different = ((likely[i], likely[j]) for i, j in pairs if likely[i].at != likely[j].at)
    yield from (Candidate(pair) for pair in itertools.islice(different, MOST_PAIRS))


def _near(array: np.ndarray, other: np.ndarray, right: np.ndarray) -> bool:
    """Equal but for rounding; what a mistake computes as zero, next to the right answer, may be rounding too."""
    size = float(np.abs(right).max(initial=0.0))
    if np.abs(other).max(initial=0.0) > TINY * size:
        return scaled_error(array, other) <= MATCH
    return scaled_error(array, np.zeros_like(other)) <= ZERO * (size or 1.0)


def _part(candidate: Candidate) -> dict[str, Any]:
    """The part of the right answer that a candidate leaves out, in a record."""
    edit = candidate.edits[0]
    return {"operator": edit.operator.name, **edit.told}


def _replaced(array: np.ndarray, right: np.ndarray, rest: np.ndarray, part: np.ndarray) -> bool | None:
    """Where a part arrives it replaces the rest, which can be told; `None` if it is not so."""
    arrives = off(right, rest)
    if off(array, np.where(arrives, part, rest)).any():
        return None
    return bool((~arrives).any() and off(array, right).any())


def _rows(array: np.ndarray, right: np.ndarray, rest: np.ndarray) -> np.ndarray | None:
    """For which rows a part counts; `None` if it does so in part."""
    if not right.ndim:
        return None
    axes = tuple(range(1, right.ndim))
    full, none = (~off(array, other).any(axis=axes) for other in (right, rest))
    return np.asarray(full) if bool((full | none).all()) else None


# --- a file ------------------------------------------------------------------------------------------------------


def find_mistakes(
    exercise: Declaration, first: Trial, wrong: Mapping[str, Sequence[Pair]]
) -> dict[str, Mistake]:
    """Which mistake each wrong answer of a function is; one cause for several, where there is one.

    Args:
        first: the first trial of the run.
        wrong: by answer, each trial with the learner's array in it.
    """
    searches = {}
    for answer in exercise.answers:
        if answer.name in wrong:
            doubles = [(trial, array.real.astype("float64")) for trial, array in wrong[answer.name]]
            searches[answer.name] = Search(Problem(exercise, answer, first), doubles)
    found = _one_cause(searches)
    return {name: found.get(name) or search.mistake() for name, search in searches.items()}


SHARED = (Kind.OPERAND, Kind.UPSTREAM, Kind.FORWARD, Kind.TRACE, Kind.INPUTS)


def _one_cause(searches: Mapping[str, Search]) -> dict[str, Mistake]:
    """The mistakes that explain several answers of a function at once, by answer.

    Each is told where it is nearest to the loss, and the other answers name that one as their cause.
    """
    left = {name: search for name, search in searches.items() if search.can_share}
    found: dict[str, Mistake] = {}
    while len(left) > 1:
        nearest = max(left, key=lambda name: left[name].nearness)
        search = left.pop(nearest)
        shared = [(one, [name for name, other in left.items() if other.explains(one)]) for one in search.matches()]
        one, others = max(shared, key=lambda pair: len(pair[1]), default=(None, []))
        if one is not None and others:
            found[nearest] = one.mistake()
            found |= {name: replace(one.mistake(), cause=nearest) for name in others}
            left = {name: other for name, other in left.items() if name not in others}
    return found


def places(search: Search, code: str) -> tuple[Place, ...]:
    """Where in the forward graph a mistake with this code gives the learner's numbers; empty if nowhere."""
    for one in search.problem.plain():
        if one.code == code and one.edits and one.edits[0].at and search.explains(one):
            return one.mistake().at
    return ()


__all__ = ["Problem", "Search", "agrees", "find_mistakes", "places", "trace_of"]
