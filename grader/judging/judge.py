"""Judges the answers of one file: each goes through a series of checks, and the first that fails is reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grader.course import CourseExercise
from grader.diagnosis.mistake import Diagnosis, Mistake
from grader.diagnosis.search import find_mistakes
from grader.errors import ProtocolError
from grader.exercise import Answer, Routine
from grader.reference.compare import scaled_error
from grader.reference.option_arguments import right_where
from grader.reference.trial import Trial
from grader.reference.trials_of_run import with_some_repeated
from grader.results import AnswerResult, ExerciseResult
from grader.sandbox.checked_reply import Call, Observation, Raised
from grader.source.autograd_use import autograd_use
from grader.source.text import Source
from grader.wording.evidence import both_shown, call_evidence, evidence_of
from grader.wording.exceptions import TOO_DEEP, diagnose_autograd_use, diagnose_error
from grader.wording.words import finding

from . import cost_checks, structure_checks
from .examination import Examination
from .given_answer import GivenAnswer, Pair
from .verdicts import answer_result, same_for_every_answer

NO_GRADIENT = re.compile(r"no attribute '(g|grad)'")  # whether there is one has nothing to do with sizes
KEPT_BESIDE_AUTOGRAD = frozenset(("todo", "mutated-input", "not-repeatable", "memory", "extra-work", "timeout"))
AFTER_ERROR = "what was stored before the exception was judged:"
Verdict = Diagnosis | None


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
        answers = tuple(self._judge(answer) for answer in exercise.function.answers)
        if self._raised is not None and any(answer.code is None for answer in answers):
            notes = (*notes, f"{AFTER_ERROR} {self._diagnose_raised(*self._raised).says}")
        if self._shallow is not None and any(answer.code not in (None, "error") for answer in answers):
            notes = (*notes, f"besides, {self._diagnose_raised(*self._raised).says}")  # type: ignore[misc]
        found = ExerciseResult(exercise.id, exercise.unit, answers, facts.printed, notes)
        return cost_checks.told_of_nudges(exercise, found, facts.nudged)

    def is_plain(self) -> bool:
        """Every answer is right in every trial, or none has been begun: no mistake has to be looked for."""
        facts = self.observed.facts
        whole = structure_checks.check_source(facts, self.exercise, self.source)
        if whole is not None or facts.failed or len(facts.calls) != len(self._asked):
            return whole is not None and whole.code == "todo"
        if self.exercise.function.is_test:
            return self._examination.diagnosis()[0] is None
        missing = [given.first_missing for given in self.given.values()]
        if any(missing):
            return all(first is not None and first[1].code == "todo" for first in missing)
        return not any(given.wrong for given in self.given.values())

    @cached_property
    def given(self) -> dict[str, GivenAnswer]:
        """What the file gave as each answer."""
        return {
            answer.name: GivenAnswer(self.exercise, answer, self.trials, self._trial_calls, self.observed)
            for answer in self.exercise.function.answers
        }

    @cached_property
    def mistakes(self) -> dict[str, Mistake]:
        """The mistakes that the numbers of the wrong answers give away, by answer."""
        wrong = {name: given.to_explain for name, given in self.given.items() if given.to_explain}
        return find_mistakes(self.exercise.function, self.trials[0], wrong)

    @cached_property
    def _asked(self) -> list[Trial]:
        return with_some_repeated(self.exercise.function, self.trials)

    @cached_property
    def _trial_calls(self) -> list[tuple[Trial, Call]]:
        """Each call with its trial; a reply that has not answered all is judged by those that it has."""
        return list(zip(self._asked, self.observed.facts.calls, strict=False))

    @cached_property
    def _examination(self) -> Examination:
        return Examination(self.exercise, self.source, self._trial_calls)

    def _judge(self, answer: Answer) -> AnswerResult:
        """The first check that fails; where autograd is used, that is what went wrong, whatever came of it."""
        result = self._check(answer)
        if result.code is None or result.code in KEPT_BESIDE_AUTOGRAD or self._autograd_use is None:
            return result
        return answer_result(self.exercise, answer, self._autograd_use)

    @cached_property
    def _autograd_use(self) -> Verdict:
        """The rule and the line, where the function lets torch differentiate."""
        use = autograd_use(self.source.cells, self.exercise.id, self.observed.facts.ignored)
        return None if use is None else diagnose_autograd_use(*use, self.source)

    def _check(self, answer: Answer) -> AnswerResult:
        """What was stored before an exception passes where it is right; it may be unfinished where it is wrong."""
        if answer.kind == "verdict":
            found, evidence = self._examination.diagnosis()
            return answer_result(self.exercise, answer, found, evidence=evidence, share=self._examination.share)
        given = self.given[answer.name]
        if given.first_missing is not None:
            elsewhere = self._shallow._check(answer) if self._shallow is not None else None
            if elsewhere is not None and elsewhere.code is not None:
                return elsewhere
            left, missing = given.first_missing
            if left.call.error is not None:
                missing = self._diagnose_error(given, left.trial, left.call.error)
            return answer_result(self.exercise, answer, missing)
        result = self._check_numbers(given)
        if result.code is None or self._raised is None:
            return result
        return answer_result(self.exercise, answer, self._diagnose_error(given, *self._raised))

    def _check_numbers(self, given: GivenAnswer) -> AnswerResult:
        """The shape, then the dtype, then finite, then unchanged arguments; right, and at what cost; or why not."""
        answer = given.answer
        if given.is_misshapen:  # it may still be a mistake with a name
            return answer_result(self.exercise, answer, self._named(answer))
        verdict = given.check_dtype()
        if verdict is None and given.lost:
            verdict = self._named(answer) if answer.name in self.mistakes else given.check_finite()
        verdict = verdict or self._mutated or given.check_again()
        if verdict is None and given.wrong:
            verdict = given.check_kept()
            if verdict is None:
                return self._explain(given)
        return answer_result(self.exercise, answer, verdict or self._rounded or self._check_cost(given))

    @cached_property
    def _shallow(self) -> Judge | None:
        """The same without the trials that are too long to be gone through by recursion; `None` if that ended none.

        How far a recursion comes is a question of its own: what is wrong elsewhere is told first.
        """
        ended = {id(trial) for trial, call in self._trial_calls if call.error and call.error.type == TOO_DEEP}
        kept = [trial for trial in self.trials if id(trial) not in ended]
        if not ended or not kept:
            return None
        first = dict(reversed([(id(trial), call) for trial, call in self._trial_calls]))
        calls = [first[id(trial)] for trial in with_some_repeated(self.exercise.function, kept)]
        facts = self.observed.facts.model_copy(update={"calls": calls})
        return replace(self, trials=kept, observed=replace(self.observed, facts=facts))

    @cached_property
    def _raised(self) -> tuple[Trial, Raised] | None:
        """The first exception that ended a call, and in which trial; one that a test raises is its answer."""
        if self.exercise.function.is_test:
            return None
        return next(((trial, call.error) for trial, call in self._trial_calls if call.error is not None), None)

    def _diagnose_raised(self, trial: Trial, error: Raised) -> Diagnosis:
        return diagnose_error(error, self.source, trial, signature=self.exercise.signature)

    def _diagnose_error(self, given: GivenAnswer, trial: Trial, error: Raised) -> Diagnosis:
        """What an exception says; and in which trials it comes, where the answer is right in every other one."""
        diagnosis = self._diagnose_raised(trial, error)
        if diagnosis.code != "error" or not given.is_right_elsewhere:
            return diagnosis
        if trial.setting.is_special and not NO_GRADIENT.search(error.message):
            return Diagnosis("shape-special", f"in {trial.setting.kind} it stops with {diagnosis.says}")
        sound, raising = (
            [trial for trial, call in self._trial_calls if (call.error is None) == fine] for fine in (True, False)
        )
        where = right_where(given.answer, sound, raising)  # the options
        return replace(diagnosis, says=f"{diagnosis.says}. It is right only where {where}") if where else diagnosis

    @cached_property
    def _mutated(self) -> Verdict:
        """What became of the arguments, whichever answer it was computed for."""
        return structure_checks.check_inputs(self._trial_calls, self.observed, exactly=False)

    @cached_property
    def _rounded(self) -> Verdict:
        return structure_checks.check_inputs(self._trial_calls, self.observed, exactly=True)

    def _check_cost(self, given: GivenAnswer) -> Verdict:
        """Right, but at what cost: memory that must not be held, work that was not asked for."""
        if wrong := cost_checks.check_memory(self.exercise.function, given.answer, self._trial_calls):
            return wrong
        if any(other.first_missing is not None for other in self.given.values()):
            return None
        return cost_checks.check_unasked_work(given.answer, self._trial_calls)

    def _explain(self, given: GivenAnswer) -> AnswerResult:
        answer, (trial, array) = given.answer, given.wrong[0]
        error = scaled_error(array, trial.expected[answer.name])  # type: ignore[arg-type]
        return answer_result(
            self.exercise, answer, self._named(answer), evidence=self._evidence(answer, given.wrong),
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
