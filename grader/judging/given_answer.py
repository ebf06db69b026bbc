"""Checks of one answer in every call: is there an array, of the right shape and dtype, with the right numbers?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np

from grader.child import protocol
from grader.course.course import CourseExercise
from grader.course.exercise import RETURN, Answer, Exercise, Routine
from grader.course.sampling import Array
from grader.course.shapes import describe
from grader.course.trial_sizes import EXACT_KIND, LARGE_UPSTREAM_KIND, ONE_KIND
from grader.diagnosis import hints
from grader.diagnosis.facts import wrong_where_exact
from grader.diagnosis.mistake import Fact, Mistake
from grader.diagnosis.recorded_programs import faithful_program_of
from grader.diagnosis.words import all_of, with_words
from grader.reference.compare import RTOL, agrees, scaled_error, tolerance, wrong_entries
from grader.reference.kinks import allowed_gradient, wrong_shares
from grader.reference.references import is_linear_in, rounding
from grader.reference.trial import Sample, Trial, when_requested
from grader.reference.trials import trial_of_entries
from grader.sandbox.checked_reply import Call, Value

MOST_ROUNDING = 0.1
ROUNDING_BETWEEN_CALLS = 2e-3  # between two calls of code that is wrong, but deterministic: products may be summed anew
LARGEST_WRONG = 1 << 18  # entries of an answer that is compared with every mistake there is
LISTED = "list of numbers"
NOTHING = Value(kind="none")
TYPES = {
    "ndarray": "numpy array that holds no numbers, or far too many",
    "int": "int too large for a float",
    "NoneType": "None",
} | dict.fromkeys(("function", "method", "builtin_function_or_method"), "function that was not called")
TrialCalls = Sequence[tuple[Trial, Call]]


def is_right(exercise: CourseExercise, answer: Answer, trial: Trial, array: np.ndarray) -> bool:
    """Return whether an array is a right answer in a trial, by the exercise's tolerance or its own test of answers.

    A gradient may be off by as much as rounding in single precision explains, but by no more than `MOST_ROUNDING`; in
    the trial with exact zeros and ties, every convention at a kink is right.
    """
    declaration, expected = exercise.function, trial.expected[answer.name]
    if array.dtype.kind == "c" or expected is None:
        return False
    if isinstance(declaration, Exercise):
        is_exact = trial.setting.kind == EXACT_KIND and array.shape == expected.shape  # an empty array has no entry
        if is_exact and not wrong_by_any_convention(declaration, trial, answer, array).any():
            return True
        return agrees(array, expected) or (
            answer.kind == "gradient"
            and (error := scaled_error(array, expected)) <= MOST_ROUNDING
            and error <= rounding(declaration, answer, trial)
        )
    if declaration.accepts is None:
        return agrees(array, expected, "float64" if array.dtype == np.float64 else "float32")
    number_or_array = array if array.ndim else float(array)
    return bool(np.isfinite(array).all()) and bool(declaration.accepts(number_or_array, **trial.inputs))


def wrong_by_any_convention(exercise: Exercise, trial: Trial, answer: Answer, array: np.ndarray) -> np.ndarray:
    """Return a mask shaped like `array`, true for entries that are wrong, whichever value is chosen at a kink.

    An array of another shape than the right one is wrong everywhere.

    Args:
        exercise: the declaration.
        trial: the trial.
        answer: the answer.
        array: the learner's array.
    """
    expected = trial.expected[answer.name]
    if expected is None or array.shape != expected.shape:
        return np.ones(array.shape, bool)
    if answer.kind == "value":
        return wrong_entries(array, expected)
    return allowed_gradient(exercise, answer, trial).compare(array, tolerance(expected)).wrong


def _dtype_of(value: Value) -> str:
    """Return the name of a value's dtype, such as "float32"; empty for a Python number, which has none."""
    if value.kind == "number":
        return value.type if value.type in protocol.DTYPES else ""
    if value.kind == "ndarray" and value.array is not None:
        return protocol.NAMES[value.array.dtype]
    return value.dtype


@dataclass(frozen=True)
class GivenAnswer:
    """Hold one answer of a submission in all of its calls, with the checks of it.

    Args:
        exercise: the exercise.
        answer: the answer.
        trials: the trials that are judged.
        trial_calls: each trial with its call; then some of them again, with a second call.
    """

    exercise: CourseExercise
    answer: Answer
    trials: Sequence[Trial]
    trial_calls: TrialCalls

    @cached_property
    def values(self) -> list[tuple[Trial, Call, Value]]:
        """Return for each call its trial, the call, and the value that it gave for this answer.

        If the call returned fewer values than answers, the value is all that it returned.
        """
        return [(trial, call, self._value_in(call, self.answer)) for trial, call in self.trial_calls]

    def _value_in(self, call: Call, answer: Answer) -> Value:
        """Return the value that a call gave for an answer: stored in `.g`, returned, or an item of the returned tuple.

        It is of the kind `none` if nothing was stored, and the whole returned value if the tuple has no such item.
        """
        value, items = call.returned, call.returned.items
        if answer.stored:
            value = call.stored.get(answer.wrt, {}).get("g", NOTHING)
        elif answer.place is not None and answer.place < len(items):
            value = items[answer.place]
        return value

    def _expected(self, trial: Trial) -> np.ndarray | None:
        """Return the right array of this answer in a trial; `None` where nothing may be stored."""
        return trial.expected[self.answer.name]

    @cached_property
    def samples(self) -> list[Sample]:
        """Return the sample of the first call in each trial in which an array was given where one is expected."""
        return [
            Sample(trial, value.array, expected)
            for trial, _, value in self.values[: len(self.trials)]
            if (expected := self._expected(trial)) is not None and value.array is not None
        ]

    @cached_property
    def first_missing(self) -> tuple[Trial, Call, Mistake] | None:
        """Return the first call whose answer cannot be compared: its trial, the call, and the mistake.

        Such a call gave no array, or gave one where none may be stored. `None` if every answer can be compared.
        """
        checked = ((trial, call, self._check(trial, call, value)) for trial, call, value in self.values)
        return next(((trial, call, mistake) for trial, call, mistake in checked if mistake is not None), None)

    @cached_property
    def wrong(self) -> list[Sample]:
        """Return the samples that are wrong by every convention at a kink.

        Those of trials with exact zeros and equal entries are left out if any other sample is wrong.
        """
        exact = [sample for sample in self.samples if sample.trial.setting.kind == EXACT_KIND]
        usual = [sample for sample in self.samples if sample.trial.setting.kind != EXACT_KIND]
        return self._wrong_among(usual) or self._wrong_among(exact)

    def _wrong_among(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return the samples whose array is wrong.

        At ties, as of equal inputs of `maximum`, an array is wrong if it and the right arrays of the answers before it
        do not add up to the gradient that is due to the equal inputs together.

        Args:
            samples: samples of this answer.
        """
        return [
            sample
            for sample in samples
            if not is_right(self.exercise, self.answer, sample.trial, sample.given)
            or self._wrong_at_ties(sample.trial, sample.given) is not None
        ]

    def _wrong_at_ties(self, trial: Trial, array: np.ndarray) -> np.ndarray | None:
        """Return where gradients of equal inputs do not add up to the gradient that is due to these inputs together.

        The gradients are this answer and the right arrays of the answers before it, which may share the sum in any way.

        Args:
            trial: the trial; without exact zeros and equal entries, the result is `None`.
            array: this answer's array.

        Returns:
            A mask shaped like the array; `None` if they add up everywhere.
        """
        exercise = self.exercise.function
        if trial.setting.kind != EXACT_KIND or not isinstance(exercise, Exercise):
            return None
        call = next(call for judged, call in self.trial_calls if judged is trial)
        arrays = {}
        for earlier in itertools.takewhile(lambda answer: answer != self.answer, exercise.answers):
            other = self._value_in(call, earlier).array
            if other is not None and is_right(self.exercise, earlier, trial, other):
                arrays[earlier] = other
        return wrong_shares(exercise, trial, {**arrays, self.answer: array}, RTOL["float32"]).get(self.answer)

    @cached_property
    def not_finite(self) -> list[Sample]:
        """Return the samples whose array has inf or nan among its entries."""
        return [sample for sample in self.samples if not sample.is_finite]

    @cached_property
    def is_misshapen(self) -> bool:
        """Return whether the array has a wrong shape in any trial.

        In an exercise with several right answers, a wrong rank.
        """
        compared = attrgetter("shape" if getattr(self.exercise.function, "accepts", None) is None else "ndim")
        return any(compared(sample.given) != compared(sample.expected) for sample in self.samples)

    @property
    def is_right(self) -> bool:
        """Return whether every trial has an array of the right shape with the right numbers."""
        return self.first_missing is None and not self.is_misshapen and not self.wrong

    @cached_property
    def to_explain(self) -> list[Sample]:
        """Return the samples in float64, right ones included, in which the mistake is searched for.

        There are none if the answer is right, is no array, or is not finite. If it is not finite only where the
        upstream gradient is large, entries are exact, or the batch has one example, and is wrong in other trials too,
        its finite samples are returned.
        """
        if self.first_missing is not None:
            return []
        if self.is_misshapen:
            return [sample.in_double for sample in self.samples]
        special = {LARGE_UPSTREAM_KIND, EXACT_KIND, ONE_KIND}
        if {sample.trial.setting.kind for sample in self.not_finite} - special:
            return []
        if not any(sample.trial.setting.kind != EXACT_KIND and sample.is_finite for sample in self.wrong):
            return []
        return [sample.in_double for sample in self.samples if sample.is_finite]

    @property
    def finite_part(self) -> list[Sample]:
        """Return the samples in float64, cut to their finite entries, to explain an answer with inf or nan beside them.

        There are none if the forward pass does not treat each entry by itself, or all finite entries are right.
        """
        exercise, samples = self.exercise.function, list[Sample]()
        if not isinstance(exercise, Exercise) or self.first_missing is not None or self.is_misshapen:
            return []
        for trial, array, expected in self.samples:
            finite = np.isfinite(array)
            part = trial_of_entries(exercise, trial, finite) if trial.setting.kind != EXACT_KIND else None
            if part is not None:
                samples.append(Sample(part, array[finite], expected[finite]).in_double)
        return [] if all(sample.agrees for sample in samples) else samples

    @cached_property
    def is_right_elsewhere(self) -> bool:
        """Return whether the answer is right in every call that raised no exception, and there is such a call."""
        sound = [(trial, value) for trial, call, value in self.values if call.error is None]
        return bool(sound) and all(
            value.array is not None and is_right(self.exercise, self.answer, trial, value.array)
            for trial, value in sound
            if self._expected(trial) is not None
        )

    def check_dtype(self) -> Mistake | None:
        """Return a mistake if the dtype is wrong; `None` if it is right.

        A gradient must have the dtype of its input, and a value that of the first array among the arguments; without
        any array, it may be float32 or float64.
        """
        for trial, _, value in self.values:
            owner = trial.arguments.get(self.answer.wrt)
            arrays = (argument for argument in (owner, *trial.arguments.values()) if isinstance(argument, Array))
            expected = next((protocol.NAMES[array.values.dtype] for array in arrays), None)
            any_will_do = self._wanted == LISTED and value.array is not None and value.array.dtype.kind != "c"
            dtype = _dtype_of(value)
            fits = dtype in ("", *((expected,) if expected else ("float32", "float64")))
            if not fits and not any_will_do and self._expected(trial) is not None:
                right = expected or "float32 or float64"
                right = f"that of {self.answer.wrt}, {right}" if self.answer.wrt else right
                if value.kind == "tensor":
                    return Mistake("wrong-dtype", f"its dtype is {dtype}; it should be {right}")
                return Mistake("wrong-dtype", f"it is a numpy array of dtype {dtype}; the dtype should be {right}")
        return None

    def check_finite(self) -> Mistake | None:
        """Return a mistake if entries are inf or nan; `None` if all are finite."""
        if not self.not_finite:
            return None
        first, kinds = self.not_finite[0], {sample.trial.setting.kind for sample in self.not_finite}
        where = ""
        if len(kinds) == 1 and first.trial.setting.is_special:
            where = _zeros_at(first) or f" in {first.trial.setting.kind}"
        count, size = int((~np.isfinite(first.given)).sum()), first.given.size
        verb = "is" if count == 1 else "are"
        share = f"{all_of(size)} entries are" if count == size else f"{count} of {size} entries {verb}"
        says = f"{'the value is' if size == 1 else share} inf or nan{where}"
        own = hints.MASKED_ROW if self._has_masked_softmax else ()
        return Mistake("not-finite", says, own, (Fact("not-finite", {"wrong": count, "entries": size}, says),))

    @property
    def _has_masked_softmax(self) -> bool:
        """Return whether the forward pass masks entries and takes a softmax: a row with no entry left gives 0 / 0.

        False if the forward pass cannot be traced.
        """
        program = faithful_program_of(self.exercise.function, self.trials[0])
        names = set() if program is None else {node.name for node in program.nodes}
        return "softmax" in names and not names.isdisjoint(("masked_fill", "where"))

    def check_again(self) -> Mistake | None:
        """Return a mistake if a second call with the same arguments gave another answer; otherwise `None`.

        Two calls that are both off by rounding, as the difference quotient of a tiny step is, count as the same.
        """
        first = {id(sample.trial): sample for sample in self.samples}
        for trial, _, again in self.values[len(self.trials) :]:
            if again.array is None or agrees(again.array, (sample := first[id(trial)]).given):
                continue
            if sample.agrees or scaled_error(again.array, sample.given) > ROUNDING_BETWEEN_CALLS:
                return Mistake("not-repeatable", "a second call with the same arguments gives a different answer")
        return None

    def check_exact(self) -> Mistake | None:
        """Return a mistake if an answer that is wrong is so only in trials with exact zeros and ties; else `None`."""
        if any(sample.trial.setting.kind != EXACT_KIND for sample in self.wrong):
            return None
        (trial, array, expected), exercise = self.wrong[0], self.exercise.function
        if not isinstance(exercise, Exercise):
            mask = wrong_entries(array, expected)
        elif not (mask := wrong_by_any_convention(exercise, trial, self.answer, array)).any():
            at_ties = self._wrong_at_ties(trial, array)
            mask = mask if at_ties is None else at_ties
        names_own = True
        if isinstance(exercise, Exercise) and self.answer.kind == "gradient" and array[mask].any():
            names_own = not is_linear_in(exercise, trial, self.answer.wrt)
        return with_words(wrong_where_exact(self.answer, trial, mask, names_own=names_own))

    def check_kept(self) -> Mistake | None:
        """Return the mistake that something was kept from an earlier call; `None` if there is no sign of that.

        The sign is that the answer, which must be wrong, is so only in the last trial, whose sizes are those of an
        earlier one.
        """
        *earlier, last = self.samples
        if last.trial is not self.trials[-1] or any(sample.trial is not last.trial for sample in self.wrong):
            return None
        again = any(agrees(last.given, sample.given) for sample in earlier)
        outcome = "returns the first answer again" if again else "gives a wrong answer; all other trials are right"
        says = f"a second call with arrays of the same shapes but other entries {outcome}"
        return Mistake("not-repeatable", says, hints.KEPT_BETWEEN_CALLS)

    @cached_property
    def _wanted(self) -> str:
        """Return what an answer must be: "number" or "list of numbers" if a routine returns that, else "tensor"."""
        routine, expected = self.exercise.function, self.trials[0].expected[self.answer.name]
        if not isinstance(routine, Routine) or expected is None:
            return "tensor"
        return LISTED if routine.listed else "tensor" if expected.ndim else "number"

    def _check(self, trial: Trial, call: Call, value: Value) -> Mistake | None:
        """Return a mistake if a call gave nothing, or a value of a wrong type; `None` if the value can be compared.

        A 0-d array is accepted for a number, and any array for a list of numbers.
        """
        if mistake := self._check_count(trial, call):
            return mistake
        expected = self._expected(trial)
        if expected is None:
            says = f"this gradient is not asked for{when_requested(trial)}, but the function stores it"
            return None if value.kind in {"none", "ellipsis"} else Mistake("extra-work", says)
        if value.kind == "ellipsis":
            return Mistake("todo", "not attempted yet")
        if value.kind == "none":
            return self._diagnose_nothing(trial, call)
        listed = self._wanted == LISTED and value.kind == "items" and value.array is not None
        number = value.kind == "number" and (self._wanted == "number" or value.type in protocol.DTYPES)
        if value.kind not in ("tensor", "ndarray") and not listed and not number:
            return self._diagnose_type(value)
        if value.array is None or math.prod(value.shape) > max(expected.size, LARGEST_WRONG):
            return Mistake("wrong-shape", f"its shape is {describe(value.shape)}, far too large")
        return None

    def _check_count(self, trial: Trial, call: Call) -> Mistake | None:
        """Return a mistake if a call returned another number of arrays than it must; otherwise `None`."""
        returned, wanted, expected = call.returned, len(trial.expected), self._expected(trial)
        if self.answer.place is None or returned.kind in {"none", "ellipsis"} or len(returned.items) == wanted:
            return None
        given_count = (
            f"{len(returned.items)} values" if returned.kind == "items" else f"one {returned.type or returned.kind}"
        )
        what = "numbers" if expected is not None and expected.ndim == 0 else "tensors"
        return Mistake("wrong-type", f"the function returns {given_count}; it must return {wanted} {what}")

    def _diagnose_type(self, value: Value) -> Mistake:
        """Return the mistake `wrong-type` for a value that is not of the type in `_wanted`."""
        kind = TYPES.get(value.type, value.type) if value.kind == "other" else value.type
        if self._wanted == LISTED and value.kind == "items":
            return Mistake("wrong-type", f"it is a {kind} that contains something other than numbers")
        article = "an" if kind[:1] in "aeiou" else "a"
        return Mistake("wrong-type", f"it is {article} {kind}, not a {self._wanted}", hints.BY_TYPE.get(kind, ()))

    def _diagnose_nothing(self, trial: Trial, call: Call) -> Mistake:
        """Return the mistake that a call gave no answer, with the place where the learner may have put it instead."""
        answer, expected = self.answer, self._expected(trial)
        if answer.place is not None and call.returned.kind == "items":
            zero = expected is not None and not expected.any()
            says = "it is None; it should be zeros" if zero else "it is None"
            return Mistake("missing-answer", says, hints.NONE_AMONG_SEVERAL)
        if not answer.stored:
            kept = (f"{name}.{key}" for name, attributes in call.stored.items() for key in attributes)
            elsewhere = next((name for name in kept if name not in trial.expected), None)
            stored = f"; it stored {elsewhere} instead" if elsewhere else ""
            says = f"the function returned nothing{stored}: it ended without reaching a `return` statement"
            return Mistake("missing-answer", says, hints.NOTHING_RETURNED)
        others = [key for key, value in call.stored.get(answer.wrt, {}).items() if key != "g" and value.kind != "none"]
        if others:
            says = f"you stored {answer.wrt}.{others[0]}; the gradient belongs in {answer.name}"
            return Mistake("wrong-attribute", says)
        if RETURN not in trial.expected and call.returned.kind in {"tensor", "items", "ndarray"}:
            return Mistake("returned-not-stored", f"the function returns something, but it must store {answer.name}")
        requested = when_requested(trial)
        return Mistake("missing-answer", f"nothing {'is' if requested else 'was'} stored in {answer.name}{requested}")


def _zeros_at(sample: Sample) -> str:
    """Return which argument is exactly 0 wherever an answer is inf or nan, such as ": those where inp is exactly 0".

    If there is none, the arguments are named that have zeros at all; empty where none has, or in other kinds of trials.
    Of several such arguments it is the one with the fewest zeros.

    Args:
        sample: an answer in a trial, with entries that are inf or nan.
    """
    trial = sample.trial
    if trial.setting.kind != EXACT_KIND:
        return ""
    arguments = {name: value for name, value in trial.arguments.items() if isinstance(value, Array)}
    arrays = {name: value.values for name, value in arguments.items()}
    arrays |= {f"{name}.g": value.g for name, value in arguments.items() if value.g is not None}
    zeros = {name: array == 0 for name, array in arrays.items() if array.dtype.kind == "f" and (array == 0).any()}
    wrong = ~np.isfinite(sample.given)
    alike = [name for name, zero in zeros.items() if wrong.ndim and zero.shape == wrong.shape and zero[wrong].all()]
    if alike:
        which = "" if wrong.all() else ": the one" if wrong.sum() == 1 else ": those"
        return f"{which} where {min(alike, key=lambda name: zeros[name].sum())} is exactly 0"
    *others, last = zeros or ("",)
    names = f"{', '.join(others)} and {last}" if others else last
    return f" in a trial in which some entries of {names} are exactly 0" if zeros else ""
