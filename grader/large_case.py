"""The large case of a graded run: a formula is done with it at once, a measurement is not done in time.

Finite differences, a complex step and forward mode take a forward pass for each nudge. Entries that one output depends
on must be nudged one by one: those along an axis that the output does not have. So one call more is made, in which
such an axis is long and every other one has size one. A submission whose processor time shows that it cannot have
measured is done. Only another one is called again, with as many entries as a loop over them can afford.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from . import structure
from .compare import scaled_error
from .course import CourseExercise
from .diagnose import Diagnosis
from .errors import ProtocolError
from .exercise import Answer, Declaration, Exercise
from .judge import answer_result
from .meter import Meter, metered
from .observation import Call, Observation, Raised
from .reference import REDRAWS, exercise_trial, right_answer
from .results import ExerciseResult
from .sampling import Array
from .setting import Setting
from .shapes import guess_axes
from .source import Source
from .trial import Trial

ENTRIES = 75_000  # for a time limit of one second
ENTRIES_AT_FIRST = 60_000  # a table of an axis this long with itself is more than the usual memory limit
UNSUSPICIOUS = 0.05  # seconds of processor time: a fork and all calls take 0.01 to 0.02, the fastest measurement 0.1
RTOL = 1e-2  # a loop may add up hundreds of thousands of float32 numbers one by one
SINGLE_PRECISION = 1e-4
PROBE, MOST_WORK = 2048, 1024
KIND = "a large input"
TOO_SLOW = (
    "How often does your function run the forward pass to find one gradient?",
    "A formula takes about as much work as the forward pass itself, however many entries there are.",
    "If it is a loop over entries and no measurement, let one operation on whole arrays do the work of the loop.",
)


def large_trials(
    declaration: Declaration, first: Trial, time_limit: float, rng: np.random.Generator, *, at_last: bool
) -> tuple[Trial, ...]:
    """The large trials of an exercise, without what the learner's function is not given.

    None for routines, for Jacobians, and where each output depends on one entry of every input: two evaluations
    measure all of these at once, at any size.

    Args:
        first: the first ordinary trial.
        time_limit: seconds for everything.
        at_last: for a submission that may have measured.
    """
    if not isinstance(declaration, Exercise):
        return ()
    axes = long_axes(declaration, first)
    entries = most_entries(time_limit) // max(1, len(axes)) if at_last else ENTRIES_AT_FIRST
    settings = [_setting(first, axis, entries) for axis in axes]
    drawn = [_drawn(declaration, setting, rng) for setting in settings if _grows_evenly(declaration, setting, rng)]
    return tuple(trial for trial in drawn if trial is not None)


def most_entries(time_limit: float) -> int:
    """How many entries tell loops from measurements in this time.

    The time of a loop over entries grows as their number E, that of a measurement as its square. With E^3 growing as
    the square of the limit, the loop is as far below the limit as the measurement is above it, whatever the limit is.
    """
    return int(ENTRIES * time_limit ** (2 / 3))


def long_axes(exercise: Exercise, first: Trial) -> tuple[str, ...]:
    """As few axes as will do, so that each differentiated input has one of them that the output does not have.

    An input without such an axis is left out.
    """
    assert first.out is not None
    summed = set(first.setting.sizes) - set(guess_axes(tuple(first.out.shape), first.setting.sizes))
    owners = [summed & set(first.axes(answer.wrt) or ()) for answer in exercise.answers if answer.kind == "gradient"]
    chosen: tuple[str, ...] = ()
    while left := [axes for axes in owners if axes and axes.isdisjoint(chosen)]:
        chosen += (max(first.setting.sizes, key=lambda axis: sum(axis in axes for axes in left)),)
    return chosen


def _setting(first: Trial, axis: str, entries: int) -> Setting:
    """So many entries in all arguments together, and no more than half of them in one."""
    arrays = sum(axis in (first.axes(name) or ()) for name in first.arguments)
    return Setting(0, KIND, {**dict.fromkeys(first.setting.sizes, 1), axis: entries // max(2, arrays)})


def _grows_evenly(exercise: Exercise, setting: Setting, rng: np.random.Generator) -> bool:
    """The work of the reference grows with the entries, not with their square."""
    sizes = {axis: min(size, PROBE) for axis, size in setting.sizes.items()}
    meter = Meter()
    with metered(meter, True):
        exercise_trial(exercise, replace(setting, sizes=sizes), rng)
    return meter.work <= MOST_WORK * PROBE


def _drawn(exercise: Exercise, setting: Setting, rng: np.random.Generator) -> Trial | None:
    """A trial in which single precision is enough to be right; none if there is no such."""
    for _ in range(REDRAWS):
        trial = exercise_trial(exercise, setting, rng)
        if all(_is_benign(exercise, answer, trial) for answer in exercise.answers):
            return replace(trial, inputs={}, out=None, out_g=None)
    return None


def _is_benign(exercise: Exercise, answer: Answer, trial: Trial) -> bool:
    right = trial.expected[answer.name]
    if right is None or trial.out_g is None:
        return True
    inputs = {name: _single(value) for name, value in trial.inputs.items()}
    found = right_answer(exercise, answer, trial.arguments, inputs, trial.out_g.float(), exercise.forward(**inputs))
    return found is not None and scaled_error(found, right) <= SINGLE_PRECISION


def _single(value: object) -> object:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


@dataclass(frozen=True)
class LargeCase:
    """What became of large trials.

    Args:
        trials: as they were sent.
        calls: those that came to an end.
        observed: what the calls refer to.
        late: the time limit came first.
    """

    trials: Sequence[Trial] = ()
    calls: Sequence[Call] = ()
    observed: Observation | None = None
    late: bool = False

    def judged(self, exercise: CourseExercise, result: ExerciseResult, source: Source) -> ExerciseResult:
        """The result of the ordinary trials, less the answers that passed in them and fail here.

        A call that raises fails no answer while another one is wrong in ordinary trials: it may be that one's fault.
        """
        blame = result.status == "passed"
        answers = []
        for answer, found in zip(exercise.declaration.answers, result.answers, strict=True):
            wrong = None if found.code else self._verdict(answer, source, blame=blame)
            answers.append(found if wrong is None else answer_result(exercise, answer, wrong))
        return replace(result, answers=tuple(answers))

    def _verdict(self, answer: Answer, source: Source, *, blame: bool) -> Diagnosis | None:
        for trial, call in zip(self.trials, self.calls, strict=False):
            if call.error is None:
                wrong = self._value(answer, trial, call)
            else:
                wrong = _raised(call.error, source) if blame else None
            if wrong is not None:
                return replace(wrong, says=f"on a large input ({_size(answer, trial)}) {wrong.says}")
        if self.late:
            size = _size(answer, self.trials[min(len(self.calls), len(self.trials) - 1)])
            looks = "this looks like a measurement, one nudge per entry, rather than a formula"
            return Diagnosis("timeout", f"too slow on a large input: {size}, and {looks}", TOO_SLOW)
        if len(self.calls) < len(self.trials):
            return Diagnosis("crash", "called on a large input, it ends before it has answered")
        return None

    def _value(self, answer: Answer, trial: Trial, call: Call) -> Diagnosis | None:
        if wrong := structure.of_value(answer, call, trial, numbers=False):
            return wrong
        assert self.observed is not None
        array, right = self.observed.array(structure.value_of(answer, call)), trial.expected[answer.name]
        if array is None or right is None or scaled_error(array, right) <= RTOL:
            return None
        return Diagnosis("shape-special", "it is wrong")


def parted(observed: Observation, ordinary: int, trials: Sequence[Trial]) -> tuple[Observation, LargeCase]:
    """What was observed in the ordinary calls, and what in those of the large trials after them.

    Raises:
        ProtocolError: the reply leaves calls out.
    """
    facts = observed.facts
    calls = facts.calls[ordinary:]
    if not trials or len(facts.calls) < ordinary:
        return observed, LargeCase()
    late = facts.error is not None and facts.error.kind == "timeout"
    if len(calls) > len(trials) or (len(calls) < len(trials) and facts.error is None):
        raise ProtocolError("the reply answers another number of calls")
    kept = facts.model_copy(update={"calls": facts.calls[:ordinary], "error": None if late else facts.error})
    return replace(observed, facts=kept), LargeCase(trials, calls, observed, late)


def _raised(error: Raised, source: Source) -> Diagnosis:
    found = structure.raised(error, source)
    return replace(found, code="shape-special") if found.code == "error" else found


def _size(answer: Answer, trial: Trial) -> str:
    """The owner of the answer and how large it is; the largest argument where the owner is small."""
    arrays = {name: value.values.size for name, value in trial.arguments.items() if isinstance(value, Array)}
    name = max(sorted(arrays, key=lambda name: name != answer.wrt), key=lambda name: arrays[name])
    return f"{name} has {arrays[name]} entries"
