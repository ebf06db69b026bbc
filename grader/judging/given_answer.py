"""What a file gave as one answer, in every call: an array, of the right shape and dtype, and the right one?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from grader.child import protocol
from grader.course.course import CourseExercise
from grader.course.exercise import RETURN, Answer, Exercise, Routine
from grader.course.sampling import Array
from grader.course.shapes import describe
from grader.course.trial_sizes import EXACT_KIND, LARGE_UPSTREAM_KIND
from grader.diagnosis.facts import wrong_where_exact
from grader.diagnosis.mistake import Diagnosis
from grader.diagnosis.words import finding, hints_when
from grader.reference.compare import RTOL, agrees, scaled_error, tolerance, wrong_entries
from grader.reference.kinks import allowed_gradient, wrong_shares
from grader.reference.option_arguments import requested
from grader.reference.references import rounding
from grader.reference.trial import Trial
from grader.sandbox.checked_reply import Call, Observation, Value

MOST_ROUNDING = 0.1
LARGEST_WRONG = 1 << 18  # entries of an answer that is compared with every mistake there is
LISTED = "list of numbers"
NOTHING = Value(kind="none")
TYPES = {
    "ndarray": "numpy array that holds no numbers, or far too many",
    "int": "int too large for a float",
    "NoneType": "None",
} | dict.fromkeys(("function", "method", "builtin_function_or_method"), "function that was not called")
Pair = tuple[Trial, np.ndarray]  # a trial with the learner's array in it
TrialCalls = Sequence[tuple[Trial, Call]]


def is_right(exercise: CourseExercise, answer: Answer, trial: Trial, array: np.ndarray) -> bool:
    """The array is a right answer in this trial, whatever it took to compute it."""
    declaration, expected = exercise.function, trial.expected[answer.name]
    if array.dtype.kind == "c" or expected is None:
        return False
    if isinstance(declaration, Exercise):
        if trial.setting.kind == EXACT_KIND and not wrong_by_any_convention(declaration, trial, answer, array).any():
            return True
        return agrees(array, expected) or (
            answer.kind == "gradient"
            and (error := scaled_error(array, expected)) <= MOST_ROUNDING
            and error <= rounding(declaration, answer, trial)
        )
    if declaration.accepts is None:
        return agrees(array, expected, "float64" if array.dtype == np.float64 else "float32")
    given = array if array.ndim else float(array)
    return bool(np.isfinite(array).all()) and bool(declaration.accepts(given, **trial.inputs))


def wrong_by_any_convention(exercise: Exercise, trial: Trial, answer: Answer, array: np.ndarray) -> np.ndarray:
    """Return where an answer is wrong even if its input lies on a kink; a mask shaped like the array."""
    expected = trial.expected[answer.name]
    if expected is None or array.shape != expected.shape:
        return np.ones(array.shape, bool)
    if answer.kind == "value":
        return wrong_entries(array, expected)
    return allowed_gradient(exercise, answer, trial).compare(array, tolerance(expected)).wrong


class Left(NamedTuple):
    """What one call left as an answer, and what was expected; the array is there if it was sent."""

    trial: Trial
    call: Call
    expected: np.ndarray | None
    value: Value
    array: np.ndarray | None

    @property
    def dtype(self) -> str:
        """Of a tensor, an array or a number of numpy's; empty for a number of Python's, which has none."""
        if self.value.kind == "number":
            return self.value.type if self.value.type in protocol.DTYPES else ""
        of_numpy = self.value.kind == "ndarray" and self.array is not None
        return protocol.NAMES[self.array.dtype] if of_numpy else self.value.dtype  # type: ignore[union-attr]


@dataclass(frozen=True)
class GivenAnswer:
    """One answer of a file; whatever is asked of it is worked out once.

    Args:
        trials: those that are judged.
        trial_calls: each of them with its call, and some of them again.
    """

    exercise: CourseExercise
    answer: Answer
    trials: Sequence[Trial]
    trial_calls: TrialCalls
    observed: Observation

    @cached_property
    def left(self) -> list[Left]:
        """What each call left; where one of several values is wanted and not there, what stands for all of them."""
        return [self._left_as(self.answer, trial, call) for trial, call in self.trial_calls]

    def _left_as(self, answer: Answer, trial: Trial, call: Call) -> Left:
        value, items = call.returned, call.returned.items
        if answer.stored:
            value = call.stored.get(answer.wrt, {}).get("g", NOTHING)
        elif answer.place is not None and answer.place < len(items):
            value = items[answer.place]
        return Left(trial, call, trial.expected[answer.name], value, self.observed.array(value))

    @cached_property
    def pairs(self) -> list[Pair]:
        """Each trial in which an array was left where one is expected, with that array."""
        judged = self.left[: len(self.trials)]
        return [(left.trial, left.array) for left in judged if left.expected is not None and left.array is not None]

    @cached_property
    def first_missing(self) -> tuple[Left, Diagnosis] | None:
        """The first call that left no array, or something where nothing is wanted; what is wrong with that."""
        return next(((left, wrong) for left in self.left if (wrong := self._check(left)) is not None), None)

    @cached_property
    def wrong(self) -> list[Pair]:
        """Return the trials in which the array is not right: those with exact entries only if no other is wrong.

        What another convention allows at a kink takes backward passes to find out; what is wrong elsewhere stays wrong.
        """
        exact = [pair for pair in self.pairs if pair[0].setting.kind == EXACT_KIND]
        usual = [pair for pair in self.pairs if pair[0].setting.kind != EXACT_KIND]
        return self._wrong_among(usual) or self._wrong_among(exact)

    def _wrong_among(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return those of some trials in which the array is not right."""
        return [
            (trial, array)
            for trial, array in pairs
            if not is_right(self.exercise, self.answer, trial, array) or self._missed_shares(trial, array) is not None
        ]

    def _missed_shares(self, trial: Trial, array: np.ndarray) -> np.ndarray | None:
        """Find where inputs are equal, and this answer and those before it do not share what is due to all of them.

        Returns:
            A mask shaped like the array; `None` where they do.
        """
        exercise = self.exercise.function
        if trial.setting.kind != EXACT_KIND or not isinstance(exercise, Exercise):
            return None
        call = next(call for judged, call in self.trial_calls if judged is trial)
        arrays = {}
        for earlier in itertools.takewhile(lambda answer: answer != self.answer, exercise.answers):
            other = self._left_as(earlier, trial, call).array
            if other is not None and is_right(self.exercise, earlier, trial, other):
                arrays[earlier] = other
        return wrong_shares(exercise, trial, {**arrays, self.answer: array}, RTOL["float32"]).get(self.answer)

    @cached_property
    def lost(self) -> list[Pair]:
        """The trials in which the array is not finite."""
        return [pair for pair in self.pairs if not np.isfinite(pair[1]).all()]

    @cached_property
    def is_misshapen(self) -> bool:
        """Its shape is wrong somewhere; where more than one answer is right, that looks at the sizes as well."""
        looked_at = attrgetter("shape" if getattr(self.exercise.function, "accepts", None) is None else "ndim")
        return any(looked_at(array) != looked_at(trial.expected[self.answer.name]) for trial, array in self.pairs)

    @property
    def is_right(self) -> bool:
        """Whether every trial has an array, of the right shape and with the right numbers."""
        return self.first_missing is None and not self.is_misshapen and not self.wrong

    @cached_property
    def to_explain(self) -> list[Pair]:
        """The trials that tell which mistake a wrong answer is; none where it is right, or no array of numbers.

        An answer that is not finite only where the upstream gradient is large or entries are exact, and is wrong
        elsewhere too, is told by the trials in which it is finite.
        """
        if self.first_missing is not None:
            return []
        if self.is_misshapen:
            return self.pairs
        special = {LARGE_UPSTREAM_KIND, EXACT_KIND}
        if {trial.setting.kind for trial, _ in self.lost} - special:
            return []
        if not any(trial.setting.kind != EXACT_KIND and np.isfinite(array).all() for trial, array in self.wrong):
            return []
        return [pair for pair in self.pairs if np.isfinite(pair[1]).all()]

    @cached_property
    def is_right_elsewhere(self) -> bool:
        """It is right in every call that no exception ended, and there are some."""
        sound = [left for left in self.left if left.call.error is None]
        return bool(sound) and all(
            left.array is not None and is_right(self.exercise, self.answer, left.trial, left.array)
            for left in sound
            if left.expected is not None
        )

    def check_dtype(self) -> Diagnosis | None:
        """A dtype other than the owner's, or for a value the first array's; any floating one will do without them."""
        for left in self.left:
            owner = left.trial.arguments.get(self.answer.wrt)
            arrays = (value for value in (owner, *left.trial.arguments.values()) if isinstance(value, Array))
            expected = next((protocol.NAMES[array.values.dtype] for array in arrays), None)
            any_will_do = self._wanted == LISTED and left.array is not None and left.array.dtype.kind != "c"
            fits = left.dtype in ("", *((expected,) if expected else ("float32", "float64")))
            if not fits and not any_will_do and left.expected is not None:
                what = left.dtype if left.value.kind == "tensor" else f"a numpy array of {left.dtype}"
                must = f"{self.answer.wrt or 'the output'} is {expected or 'a floating-point tensor'}"
                return Diagnosis("wrong-dtype", f"it is {what}; {must}")
        return None

    def check_finite(self) -> Diagnosis | None:
        """Entries that are inf or nan."""
        if not self.lost:
            return None
        trial, array = self.lost[0]
        where = f" in {trial.setting.kind}" if len(self.lost) < len(self.pairs) else ""
        says = f"{int((~np.isfinite(array)).sum())} of {array.size} entries are inf or nan{where}"
        return Diagnosis("not-finite", says)

    def check_again(self) -> Diagnosis | None:
        """Another answer when called again with the same arguments."""
        first = {id(trial): array for trial, array in self.pairs}
        for left in self.left[len(self.trials) :]:
            if left.array is not None and not agrees(left.array, first[id(left.trial)]):
                return Diagnosis("not-repeatable", "called again with the same arguments, it gives another answer")
        return None

    def check_exact(self) -> Diagnosis | None:
        """Right in every trial but those with exact zeros and equal entries."""
        if any(trial.setting.kind != EXACT_KIND for trial, _ in self.wrong):
            return None
        (trial, array), exercise = self.wrong[0], self.exercise.function
        if not isinstance(exercise, Exercise):
            wrong = wrong_entries(array, trial.expected[self.answer.name])  # type: ignore[arg-type]
        elif not (wrong := wrong_by_any_convention(exercise, trial, self.answer, array)).any():
            missed = self._missed_shares(trial, array)
            wrong = wrong if missed is None else missed
        return finding(wrong_where_exact(self.answer, trial, wrong))

    def check_kept(self) -> Diagnosis | None:
        """Right in every trial but the last, whose sizes were there before: something is kept from an earlier call."""
        *others, (trial, array) = self.pairs
        if trial is not self.trials[-1] or any(wrong is not trial for wrong, _ in self.wrong):
            return None
        again = any(agrees(array, earlier) for _, earlier in others)
        what = "the earlier answer again" if again else "a wrong answer, while it is right in every other trial"
        says = f"called with other numbers of the same sizes, it gives {what}"
        return Diagnosis("not-repeatable", says, hints_when("kept"))

    @cached_property
    def _wanted(self) -> str:
        """A plain number, where a routine returns one; a list of them, where it says so."""
        routine, expected = self.exercise.function, self.trials[0].expected[self.answer.name]
        if not isinstance(routine, Routine) or expected is None:
            return "tensor"
        return LISTED if routine.listed else "tensor" if expected.ndim else "number"

    def _check(self, left: Left) -> Diagnosis | None:
        """What is wrong with what one call left, as an object: not set, or neither a tensor nor a numpy array.

        For a plain number a 0-d array will do as well, and for a list of numbers any array.
        """
        if wrong := self._check_count(left):
            return wrong
        value, expected = left.value, left.expected
        if expected is None:
            says = f"it is not asked for{_where(left.trial)}, and the function stores it all the same"
            return None if value.kind in {"none", "ellipsis"} else Diagnosis("extra-work", says)
        if value.kind == "ellipsis":
            return Diagnosis("todo", "not attempted yet")
        if value.kind == "none":
            return self._diagnose_nothing(left)
        listed = self._wanted == LISTED and value.kind == "items" and value.array is not None
        number = value.kind == "number" and (self._wanted == "number" or value.type in protocol.DTYPES)
        if value.kind not in ("tensor", "ndarray") and not listed and not number:
            return self._diagnose_type(value)
        if value.array is None or math.prod(value.shape) > max(expected.size, LARGEST_WRONG):
            return Diagnosis("wrong-shape", f"its shape is {describe(value.shape)}, far too large")
        return None

    def _check_count(self, left: Left) -> Diagnosis | None:
        """Several arrays are to be returned, and something else is."""
        returned, wanted = left.call.returned, len(left.trial.expected)
        if self.answer.place is None or returned.kind in {"none", "ellipsis"} or len(returned.items) == wanted:
            return None
        found = f"{len(returned.items)} values" if returned.kind == "items" else f"one {returned.type or returned.kind}"
        what = "numbers" if left.expected is not None and left.expected.ndim == 0 else "tensors in a list"
        return Diagnosis("wrong-type", f"the function returns {found}; it must return {wanted} {what}")

    def _diagnose_type(self, value: Value) -> Diagnosis:
        kind = TYPES.get(value.type, value.type) if value.kind == "other" else value.type
        if self._wanted == LISTED and value.kind == "items":
            return Diagnosis("wrong-type", f"it is a {kind} with something else than numbers in it")
        article = "an" if kind[:1] in "aeiou" else "a"
        return Diagnosis("wrong-type", f"it is {article} {kind}, not a {self._wanted}", hints_when(f"a {kind}"))

    def _diagnose_nothing(self, left: Left) -> Diagnosis:
        """Where the answer should be there is nothing; perhaps it is elsewhere."""
        answer, trial, call = self.answer, left.trial, left.call
        if answer.place is not None and call.returned.kind == "items":
            zero = left.expected is not None and not left.expected.any()
            says = "it is None, where zeros are right" if zero else "it is None"
            return Diagnosis("missing-answer", says, hints_when("none-among-several"))
        if not answer.stored:
            kept = (f"{name}.{key}" for name, found in call.stored.items() for key in found)
            elsewhere = next((name for name in kept if name not in trial.expected), None)
            stored = f"; it stored {elsewhere} instead" if elsewhere else ""
            says = f"the function returned nothing{stored}: no `return ...` was on the way that it took"
            return Diagnosis("missing-answer", says, hints_when("nothing-returned"))
        others = [key for key, value in call.stored.get(answer.wrt, {}).items() if key != "g" and value.kind != "none"]
        if others:
            says = f"you stored {answer.wrt}.{others[0]}; the gradient belongs in {answer.name}"
            return Diagnosis("wrong-attribute", says)
        if RETURN not in trial.expected and call.returned.kind in {"tensor", "items", "ndarray"}:
            return Diagnosis("returned-not-stored", f"the function returns something, but it must store {answer.name}")
        return Diagnosis("missing-answer", f"nothing was stored in {answer.name}{_where(trial)}")


def _where(trial: Trial) -> str:
    """Which gradients are asked for, where it is not always all of them."""
    return "".join(f" where {name} is {value}" for name, value in requested(trial).items())
