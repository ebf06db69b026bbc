"""The making of figures of an order: in which order a backward pass visits values, or in which order a list names them.

An arrow leads from a value to each that must come after it: in a backward pass from a step to the steps that it is
computed from, in a topological order from a value to those that are computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.course.exercise import Answer
from grader.diagnosis.engines import Engine
from grader.program.forward import Forward
from grader.program.operation import NoCandidate
from grader.program.steps import CALLS, script_of_steps
from grader.program.walks import WRONG_ORDERS, Order, Walk
from grader.reference.compare import agrees
from grader.reference.trial import IMPOSSIBLE, Sample, Trial

from .picture_data import YOUR_LIST, Figure, Series

MOST_STEPS = 40  # of a program that an order is looked for in: some orders visit a value again and again
MOST_VISITS = 12  # that are drawn
BACKWARD = "an order of the backward pass that gives your numbers"


@dataclass(frozen=True)
class Visits:
    """Values in an order, each as often as it occurs.

    Args:
        values: the number of the value at each place.
        names: the name of the operation that makes the value, at each place; empty where there is none.
        arrows: pairs of places; the second value must come after the first. Places from `len(values)` on are those of
            the values `missing`.
        missing: values that must be there and are not.
    """

    values: Sequence[int]
    names: Sequence[str]
    arrows: Sequence[tuple[int, int]]
    missing: Sequence[int] = ()

    @property
    def size(self) -> int:
        """Return the number of places in the order, with those behind its end that stand for missing values."""
        return len(self.values) + len(self.missing)

    @property
    def too_early(self) -> list[tuple[int, int]]:
        """Return the arrows that point back: from a place to an earlier one, whose value comes too early."""
        return [(source, target) for source, target in self.arrows if source > target]

    @property
    def is_wrong(self) -> bool:
        """Return whether a value comes too early, more than once, or not at all."""
        return bool(self.too_early or self.missing or len(set(self.values)) < len(self.values))

    def figure(self, title: str) -> Figure:
        """Return the figure of at most `MOST_VISITS` places, around the first value that comes too early.

        The title adds how many places are shown if these are not all.
        """
        shown = self._shown_places()
        index = {place: i for i, place in enumerate(shown)}
        numbers = [*self.values, *self.missing]
        labels = [*self.names, *("missing" for _ in self.missing)]
        arrows = [(index[a], index[b]) for a, b in self.arrows if a in index and b in index]
        series = (
            Series("value", np.array([numbers[place] for place in shown], float), tuple(labels[p] for p in shown)),
            Series("place", np.array(shown, float)),
            Series("arrows", np.array(arrows, float).reshape(-1, 2)),
        )
        part = f", {len(shown)} of {self.size} places" if len(shown) < self.size else ""
        return Figure("order", f"{title}{part}", series)

    def _shown_places(self) -> list[int]:
        """Return the places that are drawn, in order: at most `MOST_VISITS`, near the first that comes too early."""
        every = range(self.size)
        if len(every) <= MOST_VISITS or not self.too_early:
            return [*every][:MOST_VISITS]
        first = min(target for _, target in self.too_early)
        causes = [source for source, target in self.too_early if target == first][:3]
        start = max(min(first - 2, len(self.values) - MOST_VISITS), 0)
        near = [place for place in range(start, every.stop) if place not in causes]
        return sorted([*causes, *near[: MOST_VISITS - len(causes)]])


def order_figure(answer: Answer, samples: Sequence[Sample], code: str, shown: Trial) -> Figure | None:
    """Return the figure of the wrong order that explains a wrong answer; `None` where no wrong order explains it.

    Args:
        answer: the answer.
        samples: the samples of the answer.
        code: the code of the answer's mistake; only for "wrong-order" is an order of the backward pass looked for.
        shown: the trial whose arrays are drawn beside the figure; where its order is too long or not known, the figure
            is of the trial with the fewest values.
    """
    orders = [(visits, each.trial) for each in samples for visits in _visits_of_list(each) if visits.is_wrong]
    title, others = YOUR_LIST, "other values"
    if not orders and code == "wrong-order":
        walk, explained = _walk_of(answer, samples)
        made = [(visits, each.trial) for each in explained for visits in _visits_of_walk(walk, each.trial)]
        orders = [(visits, trial) for visits, trial in made if visits.too_early]
        title, others = BACKWARD, "another program"
    if not orders:
        return None
    visits, trial = min(orders, key=lambda one: (one[1] is not shown or len(one[0].values) > MOST_VISITS, one[0].size))
    return visits.figure(title if trial is shown else f"{title}, for {others}")


def _walk_of(answer: Answer, samples: Sequence[Sample]) -> tuple[Walk, list[Sample]]:
    """Return the wrong order of a backward pass that gives most of a learner's wrong arrays, and the samples of these.

    The list of samples is empty unless the order gives at least half of the wrong arrays. (Not all: an engine may make
    `a - b` of other steps, with more visits.)

    Args:
        answer: the answer.
        samples: the answer's samples, wrong and right ones.
    """
    wrong = [each for each in samples if 0 < len(steps_of(each.trial)) <= MOST_STEPS and not each.agrees]
    explained = [
        (Walk(order, again), [each for each in wrong if _gives(order, again, answer, each)])
        for order, again in WRONG_ORDERS
    ]
    walk, given = max(explained, key=lambda one: len(one[1]))
    return walk, given if 2 * len(given) >= len(wrong) else []


def steps_of(trial: Trial) -> Sequence[tuple[Any, ...]]:
    """Return the first argument of a trial that is a list of steps such as `("mul", 0, 1)`.

    Empty if no argument is one.
    """
    return next((value for value in trial.arguments.values() if _are_steps(value)), ())


def _are_steps(value: object) -> bool:
    """Return whether an argument is a list of steps such as `("mul", 0, 1)`: tuples that begin with a text."""
    return (
        isinstance(value, list) and bool(value) and all(isinstance(s, tuple) and s and type(s[0]) is str for s in value)
    )


# A backward pass ------------------------------------------------------------------------------------------------------


def _gives(order: Order, again: bool, answer: Answer, sample: Sample) -> bool:
    """Return whether a backward pass in this order gives the learner's array in the trial of a sample.

    Args:
        order: the order in which values are visited.
        again: whether a value passes on its gradient each time that the order meets it, and not only the first time.
        answer: the answer.
        sample: the trial and the learner's array.
    """
    steps, inputs = steps_of(sample.trial), _inputs_of(sample.trial)
    for session in ({}, {"apart": True}) if _has_calls(steps) else ({},):
        engine = Engine(walk={"order": order, "again": again}, session=session)
        try:
            made = engine.script_gradients(steps, inputs) if _has_calls(steps) else engine.gradients(steps, inputs)
            computed = np.asarray(made if answer.place is None else made[answer.place], dtype="float64")
        except (*IMPOSSIBLE, NoCandidate):
            return False
        if computed.shape == sample.given.shape and agrees(sample.given, computed):
            return True
    return False


def _has_calls(steps: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether there are calls of `backward` or `zero_grad` between the steps of a program."""
    return any(step[0] in CALLS for step in steps)


def _inputs_of(trial: Trial) -> list[Any]:
    """Return the list of inputs, numbers or tensors, that the program of a trial begins with: its values 0, 1, ..."""
    inputs = next(value for name, value in trial.inputs.items() if trial.arguments.get(name) is not steps_of(trial))
    return list(inputs) if isinstance(inputs, (list, tuple)) else inputs.tolist()


def _visits_of_walk(walk: Walk, trial: Trial) -> Iterator[Visits]:
    """Yield the visits of each backward pass in a trial: one for each call of `backward` in its program, else one."""
    steps = steps_of(trial)
    script = script_of_steps(steps, [np.asarray(value) for value in _inputs_of(trial)])
    forward = script.program.forward
    ends = [call.value for call in script.calls if call.value is not None] or [len(forward.nodes) - 1]
    for end in ends:
        yield visits_of_walk(walk, forward.up_to(end))


def visits_of_walk(walk: Walk, forward: Forward) -> Visits:
    """Return the visits of a backward pass: the values that pass on their gradient, in order, and arrows between them.

    An arrow leads to each visit of a value from each user of that value: from the user's first visit that comes later
    or, if none does, from the user's last one. Values that the output does not depend on are left out. The name of a
    value that was visited before is "again".

    Args:
        walk: the order in which the backward pass visits values.
        forward: the forward pass, whose last value is the output.
    """
    last = len(forward.nodes) - 1
    visits: list[tuple[int, set[int]]] = []  # the value, and the operands that it passes its gradient on to
    for reader, slot in walk.edges(forward):
        if not forward.followers[reader] >> last & 1:
            continue
        operand = dict(forward.edges[reader])[slot]
        if not visits or visits[-1][0] != reader:
            visits.append((reader, set()))
        visits[-1][1].add(operand)
    arrows = []
    for target, (value, _) in enumerate(visits):
        for user in dict.fromkeys(user for user, to in visits if value in to):
            places = [place for place, (other, to) in enumerate(visits) if other == user and value in to]
            later = [place for place in places if place > target]
            arrows.append((later[0] if later else places[-1], target))
    values = [value for value, _ in visits]
    names = ["again" if value in values[:place] else forward.nodes[value].name for place, value in enumerate(values)]
    return Visits(values, names, arrows)


# A list ---------------------------------------------------------------------------------------------------------------


def _visits_of_list(sample: Sample) -> Iterator[Visits]:
    """Yield the values in the order of a learner's list as visits.

    Nothing is yielded if no argument of the trial lists the parents of each value, or the learner's array is no list of
    values.
    """
    parents = next((value for value in sample.trial.arguments.values() if _are_parents(value)), None)
    given = sample.given
    if parents is not None and given.ndim == 1 and given.size and np.isin(given, range(len(parents))).all():
        yield visits_of_list(np.real(given).astype(int).tolist(), parents)


def _are_parents(value: object) -> bool:
    """Return whether an argument is a list that has for each value a tuple of the numbers of its operands.

    At least one of the tuples must have a number.
    """
    return (
        isinstance(value, list)
        and any(value)
        and all(isinstance(taken, tuple) and all(type(number) is int for number in taken) for taken in value)
    )


def visits_of_list(order: Sequence[int], parents: Sequence[tuple[int, ...]]) -> Visits:
    """Return a list of values as visits, with an arrow from the first place of each parent to each place of a value.

    Values that the list lacks are `missing`, and have places after its end, to which no arrows lead. The name of a
    value that came before is "again", and that of any other is empty.

    Args:
        order: the numbers of values.
        parents: of each value the numbers of those that it is computed from.
    """
    missing = [number for number in range(len(parents)) if number not in order]
    places = {number: place for place, number in reversed([*enumerate([*order, *missing])])}
    arrows = [
        (places[parent], place) for place, number in enumerate(order) for parent in dict.fromkeys(parents[number])
    ]
    names = ["again" if number in order[:place] else "" for place, number in enumerate(order)]
    return Visits(order, names, arrows, missing)
