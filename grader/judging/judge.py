"""Judges the answers of one file: each goes through a series of checks, and the first that fails is reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grader.child import protocol
from grader.course import CourseExercise
from grader.diagnosis.mistake import Diagnosis, Mistake
from grader.diagnosis.search import find_mistakes
from grader.errors import ProtocolError
from grader.exercise import Answer, Exercise, Routine
from grader.reference.compare import agrees, scaled_error
from grader.reference.option_arguments import right_where
from grader.reference.references import rounding
from grader.reference.trial import Trial
from grader.reference.trials_of_run import with_some_repeated
from grader.results import AnswerResult, ExerciseResult
from grader.sampling import Array
from grader.sandbox.checked_reply import Call, Observation, Raised
from grader.trial_sizes import LARGE_UPSTREAM_KIND
from grader.wording.evidence import both_shown, call_evidence, evidence_of
from grader.wording.words import finding, hints_when

from . import autograd_lint, cost_checks, structure_checks
from .examination import Examination
from .source_text import Source
from .verdicts import answer_result, same_for_every_answer

MOST_ROUNDING = 0.1
NO_GRADIENT = re.compile(r"no attribute '(g|grad)'")  # whether there is one has nothing to do with sizes
KEPT_BESIDE_AUTOGRAD = frozenset(("todo", "mutated-input", "not-repeatable", "memory", "extra-work", "timeout"))
AFTER_ERROR = "what was stored before the exception was judged:"
Verdict = Diagnosis | None
Pair = tuple[Trial, np.ndarray]  # a trial with the learner's array in it


def is_right(exercise: CourseExercise, answer: Answer, trial: Trial, array: np.ndarray) -> bool:
    """The array is a right answer in this trial, whatever it took to compute it."""
    declaration, expected = exercise.function, trial.expected[answer.name]
    if array.dtype.kind == "c":
        return False
    if isinstance(declaration, Routine) and declaration.accepts is not None:
        given = array if array.ndim else float(array)
        return bool(np.isfinite(array).all()) and bool(declaration.accepts(given, **trial.inputs))
    if expected is None:
        return False
    precise = isinstance(declaration, Routine) and array.dtype == np.float64
    if agrees(array, expected, "float64" if precise else "float32"):
        return True
    error = scaled_error(array, expected)
    delicate = isinstance(declaration, Exercise) and answer.kind == "gradient" and error <= MOST_ROUNDING
    return delicate and error <= rounding(declaration, answer, trial)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Judge:
    """Judges one file or notebook whose reply is in."""

    exercise: CourseExercise
    source: Source
    trials: Sequence[Trial]
    observed: Observation

    def result(self) -> ExerciseResult:
        """The verdict on every answer."""
        facts, exercise = self.observed.facts, self.exercise
        notes = tuple(structure_checks.notes(facts, self.source))
        whole = structure_checks.check_source(facts, exercise, self.source)
        if whole is not None:
            return replace(same_for_every_answer(exercise, whole), printed=facts.printed, notes=notes)
        if len(facts.calls) != len(self._asked):
            raise ProtocolError("the reply answers another number of calls")
        answers = tuple(self.judge(answer) for answer in exercise.function.answers)
        if self._raised is not None and any(answer.code is None for answer in answers):
            notes = (*notes, f"{AFTER_ERROR} {self._diagnose_raised(*self._raised).says}")
        if self._shallow is not None and any(answer.code not in (None, "error") for answer in answers):
            notes = (*notes, f"besides, {self._diagnose_raised(*self._raised).says}")  # type: ignore[misc]
        found = ExerciseResult(exercise.id, exercise.unit, answers, facts.printed, notes)
        return cost_checks.told_of_nudges(exercise, found, facts.nudged)

    def is_plain(self) -> bool:
        """Every answer is right in every trial, or none has been begun: no mistake has to be looked for."""
        facts, answers = self.observed.facts, self.exercise.function.answers
        whole = structure_checks.check_source(facts, self.exercise, self.source)
        if whole is not None or facts.failed or len(facts.calls) != len(self._asked):
            return whole is not None and whole.code == "todo"
        if self.exercise.function.is_test:
            return self._examination.diagnosis()[0] is None
        wrong = [self._check_structure(answer) for answer in answers]
        if any(wrong):
            return all(found is not None and found.code == "todo" for found in wrong)
        return all(self._are_right(answer, self._pairs(answer)) for answer in answers)

    @cached_property
    def _asked(self) -> list[Trial]:
        return with_some_repeated(self.exercise.function, self.trials)

    @cached_property
    def _examination(self) -> Examination:
        return Examination(self.exercise, self.source, self._trial_calls)

    def judge(self, answer: Answer) -> AnswerResult:
        """The first check that fails; where autograd is used, that is what went wrong, whatever came of it."""
        result = self._check(answer)
        if result.code is None or result.code in KEPT_BESIDE_AUTOGRAD or self._autograd_use is None:
            return result
        return answer_result(self.exercise, answer, self._autograd_use)

    @cached_property
    def _autograd_use(self) -> Verdict:
        """The rule and the line, where the function lets torch differentiate."""
        use = autograd_lint.autograd_use(self.source.cells, self.exercise.id, self.observed.facts.ignored)
        return None if use is None else structure_checks.diagnose_autograd_use(*use, self.source)

    def _check(self, answer: Answer) -> AnswerResult:
        """What was stored before an exception passes where it is right; it may be unfinished where it is wrong."""
        if answer.kind == "verdict":
            found, evidence = self._examination.diagnosis()
            return answer_result(self.exercise, answer, found, evidence=evidence, share=self._examination.share)
        wrong = self._check_structure(answer)
        if wrong is not None:
            elsewhere = self._shallow._check(answer) if self._shallow is not None else None
            if elsewhere is not None and elsewhere.code is not None:
                return elsewhere
            return answer_result(self.exercise, answer, wrong)
        result = self._check_numbers(answer)
        if result.code is None or self._raised is None:
            return result
        return answer_result(self.exercise, answer, self._diagnose_error(answer, *self._raised))

    def _check_numbers(self, answer: Answer) -> AnswerResult:
        verdict = self._check_shapes(answer) or self._check_side_effects(answer)
        if verdict is not None:
            return answer_result(self.exercise, answer, verdict)
        pairs = self._pairs(answer)
        if self._are_right(answer, pairs):
            return answer_result(self.exercise, answer, self._rounded or self._check_cost(answer))
        kept = self._check_kept(answer, pairs)
        return self._explain(answer, pairs) if kept is None else answer_result(self.exercise, answer, kept)

    @cached_property
    def _shallow(self) -> Judge | None:
        """The same without the trials that are too long to be gone through by recursion; `None` if that ended none.

        How far a recursion comes is a question of its own: what is wrong elsewhere is told first.
        """
        deep = structure_checks.TOO_DEEP
        ended = {id(trial) for trial, call in self._trial_calls if call.error and call.error.type == deep}
        kept = [trial for trial in self.trials if id(trial) not in ended]
        if not ended or not kept:
            return None
        first = dict(reversed([(id(trial), call) for trial, call in self._trial_calls]))
        calls = [first[id(trial)] for trial in with_some_repeated(self.exercise.function, kept)]
        facts = self.observed.facts.model_copy(update={"calls": calls})
        return replace(self, trials=kept, observed=replace(self.observed, facts=facts))

    @cached_property
    def _trial_calls(self) -> list[tuple[Trial, Call]]:
        return list(zip(self._asked, self.observed.facts.calls, strict=True))

    @cached_property
    def _raised(self) -> tuple[Trial, Raised] | None:
        """The first exception that ended a call, and in which trial; one that a test raises is its answer."""
        if self.exercise.function.is_test:
            return None
        return next(((trial, call.error) for trial, call in self._trial_calls if call.error is not None), None)

    def _check_structure(self, answer: Answer) -> Verdict:
        """Called without error, or set before it; set or returned, an array."""
        for trial, call in self._trial_calls:
            wrong = structure_checks.check_value(answer, call, trial, self._wanted(answer))
            if wrong is not None:
                return wrong if call.error is None else self._diagnose_error(answer, trial, call.error)
        return None

    def _diagnose_raised(self, trial: Trial, error: Raised) -> Diagnosis:
        return structure_checks.diagnose_error(error, self.source, trial, signature=self.exercise.signature)

    def _diagnose_error(self, answer: Answer, trial: Trial, error: Raised) -> Diagnosis:
        diagnosis = self._diagnose_raised(trial, error)
        if diagnosis.code != "error" or not self._right_elsewhere(answer):
            return diagnosis
        if trial.setting.is_special and not NO_GRADIENT.search(error.message):
            return Diagnosis("shape-special", f"in {trial.setting.kind} it stops with {diagnosis.says}")
        sound = [trial for trial, call in self._trial_calls if call.error is None]
        raising = [trial for trial, call in self._trial_calls if call.error is not None]
        where = right_where(answer, sound, raising)  # the options
        return replace(diagnosis, says=f"{diagnosis.says}. It is right only where {where}") if where else diagnosis

    def _right_elsewhere(self, answer: Answer) -> bool:
        """Some trials raise, and in every other one the answer is right."""
        sound = [(trial, call) for trial, call in self._trial_calls if call.error is None]
        return bool(sound) and all(
            (array := self._array(answer, call)) is not None and self._are_right(answer, [(trial, array)])
            for trial, call in sound
            if trial.expected[answer.name] is not None
        )

    def _wanted(self, answer: Answer) -> structure_checks.Wanted:
        """A plain number, where a routine returns one; a list of them, where it says so."""
        declaration = self.exercise.function
        if not isinstance(declaration, Routine):
            return "tensor"
        if declaration.listed:
            return "list of numbers"
        return "number" if self.trials[0].expected[answer.name].ndim == 0 else "tensor"  # type: ignore[union-attr]

    def _array(self, answer: Answer, call: Call) -> np.ndarray | None:
        return self.observed.array(structure_checks.value_of(answer, call))

    def _pairs(self, answer: Answer) -> list[Pair]:
        """Each trial with the learner's array in it, where one is expected; they must all be there."""
        pairs = self.arrays(answer)
        if not pairs or len(pairs) < sum(trial.expected[answer.name] is not None for trial in self.trials):
            raise ProtocolError("an answer has no contents")
        return pairs

    def _check_shapes(self, answer: Answer) -> Verdict:
        """The shape, then the dtype, then finite; a wrong shape may still be a mistake with a name."""
        pairs = self._pairs(answer)
        if self._is_misshapen(answer, pairs):
            return self._named(answer)
        for trial, call in self._trial_calls:
            value = structure_checks.value_of(answer, call)
            array, dtype = self.observed.array(value), self._expected_dtype(answer, trial)
            wrong = structure_checks.check_dtype(answer, value, array, dtype)
            any_dtype = self._wanted(answer) == "list of numbers" and array is not None and array.dtype.kind != "c"
            if wrong is not None and not any_dtype and trial.expected[answer.name] is not None:
                return wrong
        if answer.name in self.mistakes and len(self._finite(pairs)) < len(pairs):
            return self._named(answer)
        lost = [(trial, array) for trial, array in pairs if not np.isfinite(array).all()]
        if lost:
            trial, array = lost[0]
            where = f" in {trial.setting.kind}" if len(lost) < len(pairs) else ""
            says = f"{int((~np.isfinite(array)).sum())} of {array.size} entries are inf or nan{where}"
            return Diagnosis("not-finite", says)
        return None

    def _is_misshapen(self, answer: Answer, pairs: Sequence[Pair]) -> bool:
        compared = [(array, trial.expected[answer.name]) for trial, array in pairs]
        if getattr(self.exercise.function, "accepts", None) is not None:  # which looks at the sizes as well
            return any(array.ndim != expected.ndim for array, expected in compared)  # type: ignore[union-attr]
        return any(array.shape != expected.shape for array, expected in compared)  # type: ignore[union-attr]

    def _finite(self, pairs: Sequence[Pair]) -> list[Pair]:
        return [(trial, array) for trial, array in pairs if np.isfinite(array).all()]

    def _to_explain(self, answer: Answer) -> list[Pair]:
        """The trials that tell which mistake a wrong answer is; none where it is right, or no array of numbers.

        An answer that is not finite only where the upstream gradient is large, and is wrong elsewhere too, is told by
        the trials in which it is finite.
        """
        if self._check_structure(answer) is not None:
            return []
        pairs = self._pairs(answer)
        if self._is_misshapen(answer, pairs):
            return pairs
        finite = self._finite(pairs)
        kinds = {trial.setting.kind for trial, array in pairs if not np.isfinite(array).all()}
        if kinds - {LARGE_UPSTREAM_KIND}:
            return []
        return [] if self._are_right(answer, finite) else finite

    @cached_property
    def mistakes(self) -> dict[str, Mistake]:
        """The mistakes that the numbers of the wrong answers give away, by answer."""
        wrong = {answer.name: self._to_explain(answer) for answer in self.exercise.function.answers}
        wrong = {name: pairs for name, pairs in wrong.items() if pairs}
        return find_mistakes(self.exercise.function, self.trials[0], wrong)

    def _expected_dtype(self, answer: Answer, trial: Trial) -> str | None:
        """The dtype of the owner, or of the first array argument for a value."""
        owner = trial.arguments.get(answer.wrt)
        arrays = [value for value in (owner, *trial.arguments.values()) if isinstance(value, Array)]
        return protocol.NAMES[arrays[0].values.dtype] if arrays else None

    def _check_side_effects(self, answer: Answer) -> Verdict:
        """Inputs unchanged, and the same answer when called again."""
        if self._mutated is not None:
            return self._mutated
        found = [(trial, self._array(answer, call)) for trial, call in self._trial_calls]
        for again, array in found[len(self.trials) :]:
            first = next(array for trial, array in found if trial is again)
            if first is not None and array is not None and not agrees(array, first):
                return Diagnosis("not-repeatable", "called again with the same arguments, it gives another answer")
        return None

    def _check_kept(self, answer: Answer, pairs: Sequence[Pair]) -> Verdict:
        """Right in every trial but the last, whose sizes were there before: something is kept from an earlier call."""
        *others, (trial, array) = pairs
        if trial is not self.trials[-1] or not self._are_right(answer, others):
            return None
        again = any(agrees(array, earlier) for _, earlier in others if earlier.shape == array.shape)
        what = "the earlier answer again" if again else "a wrong answer, while it is right in every other trial"
        return Diagnosis(
            "not-repeatable", f"called with other numbers of the same sizes, it gives {what}", hints_when("kept")
        )

    @cached_property
    def _mutated(self) -> Verdict:
        """What became of the arguments, whichever answer it was computed for."""
        return structure_checks.check_inputs(self._trial_calls, self.observed, exactly=False)

    @cached_property
    def _rounded(self) -> Verdict:
        return structure_checks.check_inputs(self._trial_calls, self.observed, exactly=True)

    def _are_right(self, answer: Answer, pairs: Iterable[Pair]) -> bool:
        return all(is_right(self.exercise, answer, trial, array) for trial, array in pairs)

    def _check_cost(self, answer: Answer) -> Verdict:
        """Right, but at what cost: memory that must not be held, work that was not asked for."""
        if wrong := cost_checks.check_memory(self.exercise.function, answer, self._trial_calls):
            return wrong
        if any(self._check_structure(other) is not None for other in self.exercise.function.answers):
            return None
        return cost_checks.check_unasked_work(answer, self._trial_calls)

    def _explain(self, answer: Answer, pairs: Sequence[Pair]) -> AnswerResult:
        diagnosis = self._named(answer)
        wrong = [pair for pair in pairs if not self._are_right(answer, [pair])]
        trial, array = wrong[0]
        error = scaled_error(array, trial.expected[answer.name])  # type: ignore[arg-type]
        return answer_result(
            self.exercise, answer, diagnosis, evidence=self._evidence(answer, wrong),
            error=error if np.isfinite(error) else None,
        )  # fmt: skip

    def _evidence(self, answer: Answer, wrong: Sequence[Pair]) -> str:
        """What needs no trust; where a nudge does not tell it, the right answer if the course's policy allows it."""
        declaration, reveal = self.exercise.function, self.exercise.course.policy.show_expected
        if isinstance(declaration, Routine):
            return call_evidence(self.exercise.id, declaration, answer, wrong, reveal=reveal)
        nudge = evidence_of(declaration, answer, wrong, self.mistakes[answer.name])
        return nudge or (both_shown(answer, *wrong[0]) if reveal else "")

    def _named(self, answer: Answer) -> Diagnosis:
        return finding(self.mistakes[answer.name])

    def arrays(self, answer: Answer) -> list[Pair]:
        """Each trial in which the learner's code left an array where one is expected, with that array."""
        rounds = zip(self.trials, self.observed.facts.calls, strict=False)
        found = [
            (trial, self._array(answer, call)) for trial, call in rounds if trial.expected[answer.name] is not None
        ]
        return [(trial, array) for trial, array in found if array is not None]
