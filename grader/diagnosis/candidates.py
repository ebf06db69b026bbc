"""Every edit, or pair of edits, that may explain one wrong answer, and what each makes of it in a trial."""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from grader.exercise import Answer, Declaration, Exercise, Misconception
from grader.reference import operations
from grader.reference.answer_view import End
from grader.reference.compare import scaled_error
from grader.reference.edges import Edge, idle_edges, through, used_often, uses_of
from grader.reference.operand_view import At, is_pointwise
from grader.reference.operation_recorder import trace_of
from grader.reference.operations import EXPANSIONS, JOINS, NORMALISING, REDUCTIONS, RESHAPES, of_any_turn, step_name
from grader.reference.references import right_answer as right_array
from grader.reference.trace import Place, Position, Step, Trace
from grader.reference.trial import IMPOSSIBLE, Trial

from . import difference, forward, paths, right_answer, rows, turns
from .along_axis import NORM_NAMES, OF_NORM, PICKING, REDUCING, RUNNING, is_picking, is_running
from .contraction import INVERTING, PRODUCT, SUMMING, is_contraction, is_inverting
from .mistake import Fact, Mistake
from .normalising import NORMS, SOFTMAX
from .operator import Edit, Kind, Operator, Parameters, Pass, Spot, Way
from .pointwise import BROADCASTING, OUTPUT_FORMS, POINTWISE
from .rearranging import MOVING, READ, REARRANGING, UPSTREAM_MOVED
from .turns import SEVERAL_AT_ONCE, TURNS
from .upstream import ARRIVING, EXCHANGED, NEXT_FOR_UPSTREAM, ONE_SIDE, THROUGH
from .windows import CONVOLUTION, PLACES, is_convolution

FAITHFUL = 1e-6
MOST, MOST_PAIRS, MOST_CHANGES = 500, 4000, 600
LEFT_OUT = {"missing-local", "sum-for-mean"}

SPECIFIC = (
    "inverted-mask overwritten transposed missing-path missing-upstream sum-for-mean mean-for-sum missing-batch-sum "
    "extra-batch-sum wrong-sign missing-local forward-value value-for-gradient extra-factor "
    "reshape-for-transpose inverse-for-transpose sum-of-products partial-batch wrong-operand wrong-point "
    "elementwise-for-matmul diagonal-only summed-wrong-axis broadcast-accident shape-special wrong-factor wrong-local "
    "wrong-order hard-coded not-linear"
).split()
# How often each operator is the mistake in the corpus, the likeliest first: `python benchmarks/naming.py --write`.
COUNTS_FILE = Path(__file__).with_name("counts.json")
COUNTS: Mapping[str, int] = json.loads(COUNTS_FILE.read_text(encoding="utf-8"))
# Which turns of a loop an edit may be made in, and what that is called.
TURNS_OF_LOOP: Mapping[tuple[int | None, int | None], str] = {
    (None, None): "every", (-1, None): "last", (0, 1): "first", (None, -1): "but-last", (1, None): "but-first",
}  # fmt: skip
EVERY = (None, None)
WAY_BACK = {Kind.OPERAND, Kind.UPSTREAM, Kind.EDGES, Kind.RULES}


@dataclass(frozen=True, eq=False)
class Candidate:
    """Edits that may explain an answer.

    Args:
        skip: edges that contribute nothing in total, which were left out unharmed.
        only: edges that the edits are made on; on the others all is right.
        others: these others.
        declared: an author's own rule, in the place of edits.
    """

    edits: tuple[Edit, ...] = ()
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
        if len(self.edits) != 1 or self.only or self.code != "missing-path":
            return False
        return not {"turn", "turns"} & set(self.edits[0].told)

    @property
    def is_of_end(self) -> bool:
        """It is made from the right answer, without a sweep, and costs next to nothing."""
        return bool(self.edits) and all(edit.operator.kind is Kind.END for edit in self.edits)

    @property
    def is_single(self) -> bool:
        """One edit that goes with another one; a single sum over the batch goes with anything."""
        return len(self.edits) == 1 and not (self.only or self.skip) and self.code != "extra-batch-sum"

    def shared(self) -> Candidate:
        """The same for several answers: what only meets the way back to one of them may be on that to another."""
        return replace(self, edits=tuple(replace(edit, aside=False) for edit in self.edits))

    def mistake(self, *more: Fact) -> Mistake:
        """The record, with more facts behind those of the edits."""
        if self.declared:
            says = self.declared.says or f"this is what a known slip gives ({self.declared.code})"
            return Mistake(self.code, (Fact("declared", {"says": says}), *more), hints=self.declared.hints)
        path = {"path": list(self.path)} if self.path else {}
        facts = (Fact(edit.operator.name, {**edit.told, **path}) for edit in self.edits)
        return Mistake(self.code, (*facts, *more), tuple(dict.fromkeys(at for edit in self.edits for at in edit.at)))


@dataclass(frozen=True)
class Problem:
    """One answer of an exercise, and the first trial, whose pairwise different sizes give each axis away.

    The first trial remembers every candidate, and each trial what was computed from it.
    """

    exercise: Declaration
    answer: Answer
    first: Trial

    @property
    def wrt(self) -> str:
        """What is differentiated; empty where the value of the forward pass is asked for."""
        return self.answer.wrt if self.answer.kind != "value" else ""

    def end(self, trial: Trial) -> End:
        """What is at hand at the end of a trial's pass."""
        found: End = trial.remember(("end", self.answer.name), lambda: self._end(trial))
        return found

    def _end(self, trial: Trial) -> End:
        if not isinstance(self.exercise, Exercise):
            return End(self.answer, trial)
        upstream = self.exercise.upstream_name if self.exercise.gives_upstream else ""
        return End(self.answer, trial, self.exercise.output_name, upstream)

    def trace(self, trial: Trial) -> Trace:
        assert isinstance(self.exercise, Exercise)
        return trace_of(self.exercise, trial, self.wrt)

    @cached_property
    def has_graph(self) -> bool:
        """The forward pass can be traced, and the traced graph gives the reference itself."""
        if not isinstance(self.exercise, Exercise):
            return False

        def faithful() -> bool:
            try:
                right = self._with_prior(self.first, self._swept(Candidate(), self.first))
            except IMPOSSIBLE:
                return False
            expected = self.first.expected[self.answer.name]
            return expected is not None and scaled_error(right, expected) < FAITHFUL

        return bool(self.first.remember(("faithful", self.answer.name), faithful))

    def compute(self, candidate: Candidate, trial: Trial) -> np.ndarray:
        """What a candidate makes of the answer in a trial.

        Raises:
            one of `IMPOSSIBLE`: it cannot be made there; `Vague`: it can, but not be recognised.
        """
        found: np.ndarray = trial.remember((candidate, self.answer.name), lambda: self._computed(candidate, trial))
        return found

    def _computed(self, candidate: Candidate, trial: Trial) -> np.ndarray:
        if candidate.declared:
            return _by_rule(candidate.declared, self.answer, trial)
        found, end = None, self.end(trial)
        if any(edit.operator.kind is not Kind.END for edit in candidate.edits):
            found = self._with_prior(trial, self._swept(candidate, trial))
        for edit in candidate.edits:
            if edit.operator.kind is Kind.END:
                if found is not None:
                    end = replace(end, trial=replace(trial, expected={**trial.expected, self.answer.name: found}))
                with np.errstate(all="ignore"):  # what is not finite is no learner's answer
                    found = edit.operator.rule(end, **edit.parameters)
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

    def remembered(self, what: str, compute: Callable[[], Iterable[Candidate]]) -> list[Candidate]:
        """The candidates that `compute` gives, worked out once for the first trial."""
        found: list[Candidate] = self.first.remember((what, self.answer.name), lambda: list(compute()))
        return found

    def declared(self) -> list[Candidate]:
        """The exercise's own misconceptions about the answer."""
        own = [one for one in self.exercise.misconceptions if one.answer == self.answer.name]
        return self.remembered("declared", lambda: [Candidate(declared=one) for one in own])

    def plain(self) -> list[Candidate]:
        """Every mistake that can be computed without the exercise's help, the most specific first."""
        by_place = "part-negated"  # says in which term something is wrong, and not in what way: less than another name
        return self.remembered(
            "plain", lambda: sorted(self._plain(), key=lambda one: (rank(one), one.edits[0].operator.name == by_place))
        )

    def rarer(self) -> list[Candidate]:
        """More of them, for which a plain relation to the right answer is a likelier explanation."""
        return self.remembered("rarer", self._rarer)

    def on_one_path(self) -> list[Candidate]:
        """A slip on one of several paths only."""
        every = self._on_paths(self.trace(self.first), lambda edit: edit.code != "inverted-mask", most=40)
        return self.remembered("on one path", lambda: itertools.islice(every, MOST))

    def pairs(self) -> list[Candidate]:
        """Two of the likelier edits at different places, the likeliest first, as many as the budget allows."""

        def pairs() -> Iterator[Candidate]:
            apart = set(self.changes()[0])  # of several that change the same, one is enough
            likely = [
                one for one in self.plain()
                if one.is_single and one.edits[0].operator.name in COUNTS
                and (one in apart or one.edits[0].operator.kind not in WAY_BACK)
            ]  # fmt: skip
            likely.sort(key=lambda one: -COUNTS[one.edits[0].operator.name])
            chosen = sorted(itertools.combinations(range(len(likely)), 2), key=sum)
            yield from itertools.islice((both(likely[i], likely[j]) for i, j in chosen), MOST_PAIRS)

        return self.remembered("pairs", pairs)

    def changes(self) -> tuple[list[Candidate], np.ndarray]:
        """Edits of the way back, and what each changes in the first trial; shape: (edits, entries of the answer).

        What two of them change on different ways through the pass adds up, so that all pairs are seen at once.
        """
        return self.first.remember(("changes", self.answer.name), self._changes)  # type: ignore[no-any-return]

    def single_edits(self) -> list[Candidate]:
        """Return the single edits of the backward pass, the likeliest first, as many as are combined in pairs."""

        def single() -> list[Candidate]:
            """Return the edits that `single_edits` keeps."""
            every = (one for one in (*self.plain(), *self.rarer()) if one.is_single)
            back = (one for one in every if one.edits[0].operator.kind in WAY_BACK)
            return sorted(back, key=lambda one: -COUNTS.get(one.edits[0].operator.name, 0))[:MOST_CHANGES]

        return self.remembered("single edits", single)

    def _changes(self) -> tuple[list[Candidate], np.ndarray]:
        """Compute what each single edit of the backward pass changes in the first trial.

        Returns:
            The edits, without those that change the same, and their changes; shape: (edits, entries of the answer).
        """
        right, found = self.end(self.first).right, dict[bytes, tuple[Candidate, np.ndarray]]()
        for one in self.single_edits():
            try:
                computed = self.compute(one, self.first)
            except IMPOSSIBLE:
                continue
            if computed.shape == right.shape and np.isfinite(computed).all():
                change = (computed - right).flatten()
                found.setdefault(np.round(change, 9).tobytes(), (one, change))
        return [one for one, _ in found.values()], np.array([change for _, change in found.values()])

    def _plain(self) -> Iterator[Candidate]:
        yield from self._at_end((*right_answer.PRIOR, *right_answer.RIGHT_ANSWER))
        if not isinstance(self.exercise, Exercise):
            yield from itertools.starmap(_whole, difference.quotient_choices(self.first))
            return
        if self.wrt and not self.has_graph:
            return
        trace = self.trace(self.first)
        yield from itertools.starmap(_whole, rows.input_choices(trace, self.wrt))
        if not self.wrt:
            yield from self._in_forward(trace, plain=True)
            return
        for skip in dict.fromkeys((idle_edges(trace, self.wrt), ())):
            local = self._local(trace, (*ARRIVING, *NORMS, *SEVERAL_AT_ONCE), family_of)
            yield from (Candidate((edit,), skip) for edit in local)
            yield from (replace(one, skip=skip) for one in self._in_forward(trace, plain=True))
        for step, spot in _spots(trace, trace.depends(self.wrt)):
            yield from (Candidate((edit,)) for edit in _edits_at(At(trace, step), paths.FUNCTIONS, spot))
        for operator, step, where, key, told in forward.taken_of_another(trace, self.wrt):
            yield _whole(operator, {"spot": Spot(step.line, EVERY, where), "key": key}, told, step, where)
        yield from self._along_paths(trace)
        yield from self._on_paths(trace, lambda edit: edit.code in LEFT_OUT, most=2)
        for choices in (paths.whole_choices, turns.loop_choices, difference.difference_choices):
            yield from itertools.starmap(_whole, choices(trace, self.wrt))

    def _rarer(self) -> Iterator[Candidate]:
        if not isinstance(self.exercise, Exercise):
            return
        if not self.wrt:
            yield from self._in_forward(self.trace(self.first), plain=False)
            yield from self._at_end(right_answer.VALUES)
            return
        yield from self._at_end((*right_answer.STRAYS, *right_answer.PRODUCTS, *right_answer.MOVED))
        if not self.has_graph:
            return
        trace = self.trace(self.first)
        yield from self._in_forward(trace, plain=False)
        if self.answer.kind == "gradient":
            yield from itertools.starmap(_whole, rows.rarer_input_choices(trace, self.wrt))
            yield from self._options()
            for choices in (rows.exchanged_inputs, rows.rarer_upstream_choices, rows.row_choices):
                yield from itertools.starmap(_whole, choices(trace, self.wrt))
        local = self._local(trace, (NEXT_FOR_UPSTREAM, *UPSTREAM_MOVED), rare_family_of)
        yield from (Candidate((edit,)) for edit in local)

    def _at_end(self, operators: Iterable[Operator]) -> Iterator[Candidate]:
        end = self.end(self.first)
        for operator in filter(lambda operator: operator.when(end), operators):
            for chosen in operator.each(end):
                told = {"answer": self.answer.name, **operator.tell(end, **chosen)}
                yield Candidate((Edit(operator, None, chosen, told),))

    def _local(
        self, trace: Trace, arriving: Iterable[Operator], family: Callable[[At], Iterable[Operator]]
    ) -> Iterator[Edit]:
        """Every wrong rule at every place on the way back."""
        relevant = trace.depends(self.wrt)
        for step, spot in _spots(trace, relevant):
            every = spot.turns == EVERY
            yield from _edits_at(At(trace, step), arriving if every else filter(_forgets, arriving), spot)
            for at in _operands(trace, step, relevant):
                yield from _edits_at(at, family(at) if every else filter(_forgets, family(at)), spot)

    def _in_forward(self, trace: Trace, *, plain: bool) -> Iterator[Candidate]:
        """Another step of the forward pass, in each way that it can be another."""
        relevant = trace.depends(self.wrt) if self.wrt else set()
        varying = forward.varying(trace)
        for step, spot in _spots(trace, {step.key for step in trace.steps}):
            if plain and not all(f"%{i}" in varying for i in spot.steps(trace)):
                continue
            at = At(trace, step)
            operators = (*forward.STEPS, *PLACES, *(() if plain else (*forward.RARER_STEPS, *READ)))
            for operator in operators if spot.turns == EVERY else filter(_forgets, operators):
                for way in forward.ways(operator, plain=plain, differentiated=step.key in relevant):
                    if way is Way.FORWARD and (not self.wrt or (plain and at.is_last)):
                        continue
                    told = {} if way is Way.BOTH else {"way": way.value}
                    for edit in _edits_at(at, (operator,), spot):
                        aside = bool(self.wrt) and step.key not in relevant
                        yield Candidate((replace(edit, way=way, aside=aside, told={**edit.told, **told}),))

    def _along_paths(self, trace: Trace) -> Iterator[Candidate]:
        """A value used several times, followed along only some of its uses, or without upstream on some."""
        for operator, chosen, told, left_out in paths.path_choices(trace, self.wrt):
            yield Candidate((Edit(operator, None, chosen, told, _places(trace, left_out)),))
        if trace.upstream_name and trace.out.startswith("%"):
            last = At(trace, trace.steps[int(trace.out[1:])])
            for edges in _straight(trace, self.wrt):
                for count in range(1, len(edges)):
                    for bare in itertools.combinations(edges, count):
                        yield from (_on_path(trace, edit, bare, edges) for edit in _edits_at(last, ARRIVING[:1]))

    def _on_paths(self, trace: Trace, fits: Callable[[Edit], bool], most: int) -> Iterator[Candidate]:
        """A slip on one of several paths, in an operation that comes after they have met again."""
        relevant = trace.depends(self.wrt)
        for edges in _straight(trace, self.wrt):
            reached = [trace.depends(trace.steps[edge.uses(trace)[0][0]].key) for edge in edges]
            for step, spot in _spots(trace, relevant):
                if sum(step.key in found for found in reached) < 2 or step.name in RESHAPES:
                    continue
                for at in _operands(trace, step, relevant):
                    if any(at.source in found for found in reached):
                        local = filter(fits, _edits_at(at, family_of(at), spot))
                        for edit in itertools.islice(local, most):
                            yield from (_on_path(trace, edit, (edge,), edges) for edge in edges)

    def _options(self) -> Iterator[Candidate]:
        """An option that is not asked for: the right answer with another one in its place."""
        operator = replace(FIXED_OPTION, rule=self._with_option)
        for name, option in self.first.inputs.items():
            for value in OPTION_VALUES.get(type(option), ()):
                chosen = {"name": name, "value": value}
                yield Candidate((Edit(operator, None, chosen, chosen),))

    def _with_option(self, end: End, name: str, value: int) -> np.ndarray:
        trial, inputs = end.trial, {**end.trial.inputs, name: value}
        assert isinstance(self.exercise, Exercise)
        assert trial.out_g is not None
        assert trial.out is not None
        found = right_array(self.exercise, self.answer, trial.arguments, inputs, trial.out_g, trial.out)
        return end.right if found is None else found


OPTION_VALUES: Mapping[type, tuple[int, ...]] = {bool: (True, False), int: (1, 2, 3, 0, -1)}
FIXED_OPTION = Operator("fixed-option", "hard-coded", lambda end: end.right, kind=Kind.END)


def both(one: Candidate, two: Candidate) -> Candidate:
    """Two edits at once: the one that is nearer to the loss is told first, and gives the code."""
    last = {edit: max((step for step, _ in edit.at), default=-1) for edit in (*one.edits, *two.edits)}
    return Candidate(tuple(sorted(last, key=lambda edit: -last[edit])))


def rank(candidate: Candidate) -> int:
    """How specific its code is: where several fit the same numbers, the most specific is told."""
    return SPECIFIC.index(candidate.code)


def _gradient(candidate: Candidate, trace: Trace, wrt: str) -> torch.Tensor:
    skip = uses_of(trace, candidate.skip)
    edited = Pass(trace, wrt, skip=skip | uses_of(trace, candidate.others))
    for edit in sorted(candidate.edits, key=lambda edit: edit.operator.kind in WAY_BACK):
        edited = edited.edited(edit)
    if not candidate.only:
        return edited.result()
    return edited.result() + Pass(trace, wrt, skip=skip | uses_of(trace, candidate.only)).result()


def _spots(trace: Trace, relevant: set[str]) -> Iterator[tuple[Step, Spot]]:
    """Every line of the forward pass, the last first; then lines that are alike, all together; then parts of loops.

    Yields:
        The last step that is meant, by which is seen what can go wrong there, and the spot.
    """
    lines = dict.fromkeys(step.line for step in reversed(trace.steps) if step.key in relevant)
    alike = [line for line, steps in trace.turns.items() if trace.steps[steps[-1]].key in relevant]
    for line in dict.fromkeys((*lines, *alike)):
        yield trace.steps[trace.turns[line][-1]], Spot(line)
    for line in lines:
        for some in TURNS_OF_LOOP if len(trace.turns[line]) > 1 else ():
            if some != EVERY:
                yield trace.steps[trace.turns[line][slice(*some)][-1]], Spot(line, some)


def _forgets(operator: Operator) -> bool:
    """It may go wrong in some turns of a loop alone: there something is forgotten, or not stopped, not exchanged."""
    left_out = operator.code.startswith("missing") or operator.name.endswith("left-out")
    return left_out or operator.name in ("upstream-again", "upstream-of-output", "partner-of-another-turn")


def _operands(trace: Trace, step: Step, relevant: set[str]) -> Iterator[At]:
    yield from (At(trace, step, position) for position, source in step.operands if source in relevant)


def _edits_at(at: At, operators: Iterable[Operator], spot: Spot | None = None) -> Iterator[Edit]:
    """Yield every edit that these operators can make at one place.

    The trace keeps them: several answers of one function are differentiated through the same places.

    Args:
        at: the place in the trace: a step, and an operand if the edit is of one.
        spot: which steps of a loop the edit is made at; by default every iteration.
    """
    spot = spot or Spot(at.step.line)
    kept: dict[object, list[Edit]] = at.trace.memo.setdefault("edits", {})
    for operator in operators:
        key = (operator, at.step.index, at.position, spot)
        if key not in kept:
            kept[key] = _edits_of(operator, at, spot)
        yield from kept[key]


def _edits_of(operator: Operator, at: At, spot: Spot) -> list[Edit]:
    """Return the edits that one operator can make at one place; none where it does not apply."""
    try:
        every = operator.each(at) if operator.when(at) else ()
        choices = [(chosen, operator.tell(at, **chosen)) for chosen in every]
    except IMPOSSIBLE:
        return []
    if not choices:
        return []
    steps, fields = spot.steps(at.trace), {"step": step_name(at.step)}
    if len(at.trace.turns[spot.line]) > 1:
        fields["step"] = f"`{operations.spelt(at.step)}`"  # of all its numbers
        fields["turn"] = TURNS_OF_LOOP[spot.turns] if spot.line == at.step.line else str(spot.line[0])
        if fields["turn"] == "carried":
            fields["step"] = f"`{at.step.label}`"
        choices = [(chosen, _in_every_turn(at.trace, chosen_fields)) for chosen, chosen_fields in choices]
    position = at.position if operator.kind is Kind.OPERAND else None
    here, where = replace(spot, position=position), tuple((i, position) for i in steps)
    return [Edit(operator, here, chosen, {**fields, **chosen_fields}, where) for chosen, chosen_fields in choices]


def _in_every_turn(trace: Trace, told: Parameters) -> Parameters:
    """The values of a loop without their numbers, unless these are what tells them apart."""
    values = {name: value for name, value in told.items() if isinstance(value, str) and value[:1] in ("%", "<", "^")}
    plain = {name: value[0] + of_any_turn(trace, f"%{value[1:]}")[1:] for name, value in values.items()}
    return {**told, **plain} if len(set(plain.values())) == len(set(values.values())) else told


FAMILIES: Sequence[tuple[Callable[[At], bool], Sequence[Operator]]] = (
    (lambda at: at.name in NORMALISING, SOFTMAX),
    (is_contraction, (*SUMMING, *PRODUCT)),
    (lambda at: at.name in REDUCTIONS, REDUCING),
    (lambda at: at.name in EXPANSIONS, (*SUMMING, *BROADCASTING)),
    (lambda at: at.name in RESHAPES | JOINS, REARRANGING),
    (is_inverting, INVERTING),
    (is_pointwise, (*POINTWISE, *SUMMING, *BROADCASTING)),
    (lambda at: at.name in NORM_NAMES, OF_NORM),
    (is_picking, PICKING),
    (is_running, RUNNING),
    (is_convolution, CONVOLUTION),
)


def family_of(at: At) -> Iterator[Operator]:
    """What can go wrong in the contribution of a step to one of its operands."""
    own = next((operators for fits, operators in FAMILIES if fits(at)), REARRANGING)
    return itertools.chain(OUTPUT_FORMS, own, ONE_SIDE, TURNS, EXCHANGED)


def rare_family_of(at: At) -> Iterator[Operator]:
    """What goes wrong there more rarely."""
    return itertools.chain(THROUGH, MOVING, () if at.name in RESHAPES else REARRANGING)


def _whole(
    operator: Operator, chosen: Parameters, told: Parameters, step: Step | None = None, where: Position | None = None
) -> Candidate:
    """An edit of the whole pass, with the step that it is about."""
    if step is None:
        return Candidate((Edit(operator, None, chosen, told),))
    return Candidate((Edit(operator, None, chosen, {"step": step_name(step), **told}, ((step.index, where),)),))


def _straight(trace: Trace, wrt: str) -> Iterator[list[Edge]]:
    """The edges of every value that is used several times, where no loop goes through them."""
    for _, edges in used_often(trace, wrt):
        if all(len(edge.uses(trace)) == 1 for edge in edges):
            yield edges


def _places(trace: Trace, edges: Iterable[Edge]) -> tuple[Place, ...]:
    return tuple(use for edge in edges for use in edge.uses(trace))


def _on_path(trace: Trace, edit: Edit, only: tuple[Edge, ...], edges: Sequence[Edge]) -> Candidate:
    others = tuple(edge for edge in edges if edge not in only)
    edit = replace(edit, at=(*edit.at, *_places(trace, only)))
    return Candidate((edit,), (), only, others, tuple(through(trace, only)))


def _by_rule(misconception: Misconception, answer: Answer, trial: Trial) -> np.ndarray:
    known = {"answer": None, **trial.inputs, "out": trial.out, "out_g": trial.out_g}
    wrong = misconception.rule(**{name: known[name] for name in inspect.signature(misconception.rule).parameters})
    wrong = wrong if misconception.answer == answer.name or answer.place is None else wrong[answer.place]
    return np.asarray(wrong.detach().numpy() if hasattr(wrong, "detach") else wrong, dtype="float64")
