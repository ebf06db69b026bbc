"""Judge the answers of one file: each goes through a series of checks, and the first that fails is reported.

An answer that is a test of backward passes is judged by which wrong and right ones it rejects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from grader.course.course import CourseExercise
from grader.course.exercise import VERDICTS, Answer, Exercise, Routine
from grader.course.sampling import BackwardPass
from grader.diagnosis.diagnose import find_mistakes, plain_facts
from grader.diagnosis.evidence import body_text, call_evidence, evidence_of, sample_text
from grader.diagnosis.exceptions import TOO_DEEP, diagnose_autograd_use, diagnose_error
from grader.diagnosis.failing_arguments import options_of_right_trials
from grader.diagnosis.hints import DRAWN_AT_RANDOM, hints_for
from grader.diagnosis.mistake import Mistake
from grader.errors import ProtocolError
from grader.reference.compare import scaled_error
from grader.reference.trial import Sample, Trial
from grader.reference.trials import repeat_some
from grader.results.points import part
from grader.results.records import AnswerResult, ExerciseResult, Status
from grader.sandbox.autograd_use import autograd_use
from grader.sandbox.checked_reply import Call, Facts, Raised
from grader.sandbox.source_text import Source

from . import cost_checks, structure_checks
from .given_answer import GivenAnswer

NO_GRADIENT = re.compile(r"no attribute '(g|grad)'")  # whether there is one has nothing to do with sizes
LACKING = frozenset(("missing-answer", "todo", "error"))  # what a line that was not run can lead to
KEPT_BESIDE_AUTOGRAD = frozenset(("todo", "mutated-input", "not-repeatable", "memory", "extra-work", "timeout"))
LONGEST_PASS = 160  # characters of a backward pass that is written out
OnVerdicts = Callable[[ExerciseResult], None]
RETURNS = ". What it returns counts for nothing: only an exception rejects, such as that of a failed `assert`"


@dataclass(frozen=True)
class Judge:
    """Judge the answers of one file or notebook from the reply of the child that ran it.

    Args:
        exercise: the exercise.
        source: the learner's source.
        trials: the trials, in the order of the calls.
        facts: the reply: what each call returned, stored and raised.
    """

    exercise: CourseExercise
    source: Source
    trials: Sequence[Trial]
    facts: Facts

    @cached_property
    def failures(self) -> dict[str, Mistake | None]:
        """Return by name the mistake of the first check that each answer fails, before any search; `None` if right.

        Wrong numbers are stated as a plain fact; `result` searches for the mistakes behind them. If the file as a whole
        fails, every answer has that mistake.

        Raises:
            ProtocolError: the reply has the wrong number of calls.
        """
        answers = self.exercise.function.answers
        if self._whole_file is not None:
            return dict.fromkeys((answer.name for answer in answers), self._whole_file)
        if len(self.facts.calls) != len(self._asked_trials):
            raise ProtocolError("the reply answers another number of calls")
        failures = {answer.name: self._failure(answer) for answer in answers}
        if self.exercise.course.policy.measuring == "refuse":
            measured = cost_checks.measured_gradients(self.exercise, failures, self.facts.nudged)
            failures |= {name: Mistake("measured", says) for name, says in measured.items()}
        return failures

    def result(
        self, failures: Mapping[str, Mistake | None], flags: Sequence[str], on_verdicts: OnVerdicts | None = None
    ) -> ExerciseResult:
        """Return the result, with the mistakes behind wrong numbers; if the search for them fails, with a note on why.

        Args:
            failures: by name what is wrong with each answer, without any search; `None` if it is right.
            flags: sentences on what a person should look at.
            on_verdicts: called with the result before mistakes are searched for; not if there is none to search for.
        """
        if on_verdicts is not None and any(mistake is not None and mistake.facts for mistake in failures.values()):
            on_verdicts(self._result_with(failures, flags))
        try:
            return self._result_with(self._causes(failures), flags)
        except MemoryError:
            why = "that takes more memory than there is for one exercise"
        except Exception as error:  # a bug of ours costs nobody a point
            why = f"{type(error).__name__}: {error}; please report it"
        return self._result_with(failures, flags).without_mistakes(why)

    def _causes(self, failures: Mapping[str, Mistake | None]) -> dict[str, Mistake | None]:
        """Return by name the mistake that explains the numbers of each wrong answer, for which it is searched.

        Where no search can add to a mistake, it is returned itself.

        Args:
            failures: by name what is wrong with each answer, without any search; `None` if it is right.
        """
        return {
            answer.name: self._deciding_judge(answer)._cause(answer.name, failures[answer.name])
            for answer in self.exercise.function.answers
        }

    def _result_with(self, mistakes: Mapping[str, Mistake | None], flags: Sequence[str]) -> ExerciseResult:
        """Return the result with these mistakes, each with hints and, where there is any, evidence.

        Notes tell what of the file was not run and what an exception ended, and flags which gradients were measured by
        finite differences.

        Args:
            mistakes: by name what is wrong with each answer; `None` if it is right.
            flags: further flags.
        """
        facts, exercise = self.facts, self.exercise
        notes = tuple(structure_checks.notes(facts, self.source))
        if self._whole_file is not None:
            return replace(same_for_every_answer(exercise, self._whole_file), printed=facts.printed, notes=notes)
        answers = tuple(
            self._deciding_judge(answer)._answer_result(answer, mistakes[answer.name])
            for answer in exercise.function.answers
        )
        if passed_over := structure_checks.passed_over_inside(facts, exercise.id, self.source):
            answers = tuple(
                replace(each, message=f"{each.message}; {passed_over}") if each.code in LACKING else each
                for each in answers
            )
        if self._raised is not None:
            codes, diagnosis_text = {answer.code for answer in answers}, self._diagnose_exception(*self._raised).says
            before = "before the exception" if self._raised[1].kind != "timeout" else "until then"
            is_told = any(diagnosis_text in answer.message for answer in answers)
            why = "" if is_told else f": {diagnosis_text}"
            notes += (f"what was stored {before} counts{why}",) if None in codes else ()
            notes += (
                (f"besides, {diagnosis_text}",)
                if self._without_deep_trials is not None and codes - {None, "error"}
                else ()
            )
        measured = cost_checks.measured_gradients(exercise, mistakes, facts.nudged)
        all_flags = (*(f"{name}: {says}" for name, says in measured.items()), *flags)
        return ExerciseResult(
            exercise.id, exercise.unit, answers, facts.printed, notes, all_flags, max_score=exercise.points
        )

    def has_nothing_to_explain(self) -> bool:
        """Return whether every answer is right in every trial, or none is begun, so that no mistake is to be found."""
        facts = self.facts
        if self._whole_file is not None or facts.failed or len(facts.calls) != len(self._asked_trials):
            return self._whole_file is not None and self._whole_file.code == "todo"
        if self.exercise.function.is_test:
            return self.examination.mistake[0] is None
        missing = {given.first_missing and given.first_missing[1].code for given in self.given.values()}
        return missing == {"todo"} or (missing == {None} and not any(given.wrong for given in self.given.values()))

    @cached_property
    def _whole_file(self) -> Mistake | None:
        """Return what is wrong with the whole file, so that no answer can be judged; `None` if nothing is."""
        return structure_checks.check_source(self.facts, self.exercise, self.source)

    @cached_property
    def given(self) -> dict[str, GivenAnswer]:
        """Return what the file gave as each answer, by the answer's name."""
        return {
            answer.name: GivenAnswer(self.exercise, answer, self.trials, self._trial_calls)
            for answer in self.exercise.function.answers
        }

    @cached_property
    def mistakes(self) -> dict[str, Mistake]:
        """Return the mistakes behind the numbers of the wrong answers, by the answer's name."""
        right = [name for name, given in self.given.items() if given.is_right]
        return find_mistakes(self.exercise.function, self._samples_to_explain, right)

    @cached_property
    def _plain_facts(self) -> dict[str, Mistake]:
        """Return facts about the numbers of the wrong answers that need no search, by the answer's name."""
        return plain_facts(self.exercise.function, self._samples_to_explain)

    @property
    def _samples_to_explain(self) -> dict[str, list[Sample]]:
        """Return the samples of each answer whose numbers are wrong, by the answer's name."""
        return {name: given.to_explain for name, given in self.given.items() if given.to_explain}

    @cached_property
    def _asked_trials(self) -> list[Trial]:
        """Return the trial of each call that the child was asked for; some trials are there twice (`repeat_some`)."""
        return repeat_some(self.exercise.function, self.trials)

    @cached_property
    def _trial_calls(self) -> list[tuple[Trial, Call]]:
        """Return each call with its trial, up to the last call that was answered."""
        return list(zip(self._asked_trials, self.facts.calls, strict=False))

    def _failure(self, answer: Answer) -> Mistake | None:
        """Return the mistake of the first check that an answer fails, before any search; `None` if it passes them all.

        If the function lets torch differentiate, it is that mistake instead, but not for a right answer, nor for one
        whose code is in `KEPT_BESIDE_AUTOGRAD`.
        """
        mistake = self._deciding_judge(answer)._first_failures[answer.name]
        if mistake is None or mistake.code in KEPT_BESIDE_AUTOGRAD or self._autograd_use is None:
            return mistake
        return self._autograd_use

    def _deciding_judge(self, answer: Answer) -> Judge:
        """Return the judge of the trials within the recursion limit if an answer is wrong there and missing elsewhere.

        In any other case, and for the verdicts of a test, return this judge, of all trials.
        """
        others = None if answer.kind == "verdict" else self._without_deep_trials
        if others is None or self.given[answer.name].first_missing is None:
            return self
        return self if others._first_failures[answer.name] is None else others

    @cached_property
    def _autograd_use(self) -> Mistake | None:
        """Return the mistake that the function lets torch differentiate, with the line; `None` if it does not."""
        use = autograd_use(self.source.cells, self.exercise.id)
        return None if use is None else diagnose_autograd_use(*use, self.source)

    @cached_property
    def _first_failures(self) -> dict[str, Mistake | None]:
        """Return by name the mistake of the first check that each answer fails in this judge's trials; else `None`."""
        return {answer.name: self._first_failure(answer) for answer in self.exercise.function.answers}

    def _first_failure(self, answer: Answer) -> Mistake | None:
        """Return the mistake of the first check that an answer fails; `None` if it passes them all.

        A value stored before an exception passes if it is right; if it is wrong, the exception is reported, since the
        value may be unfinished.
        """
        if answer.kind == "verdict":
            return self.examination.mistake[0]
        given, raised = self.given[answer.name], self._raised
        if given.first_missing is None:
            mistake = self._check_numbers(given)
        else:
            value, mistake = given.first_missing
            raised = (value.trial, value.call.error) if value.call.error is not None else None
        if mistake is not None and raised is not None:
            mistake = self._diagnose_error(given, *raised)
        return mistake

    def _check_numbers(self, given: GivenAnswer) -> Mistake | None:
        """Return the mistake of the first check that an answer fails, from shape and dtype to cost; else `None`."""
        name = given.answer.name
        if given.is_misshapen:  # it may still be a mistake with a name
            return self._plain_facts[name]
        mistake = (
            given.check_dtype()
            or (self._plain_facts[name] if given.not_finite and given.to_explain else given.check_finite())
            or self._changed_inputs.get(False)
            or given.check_again()
        )
        if mistake is not None or given.wrong:
            return mistake or given.check_kept() or given.check_exact() or self._plain_facts[name]
        everything_there = not any(other.first_missing for other in self.given.values())
        return (
            self._changed_inputs.get(True)
            or cost_checks.check_memory(self.exercise.function, given.answer, self._trial_calls)
            or (cost_checks.check_unasked_work(given.answer, self._trial_calls) if everything_there else None)
        )

    def _cause(self, name: str, failure: Mistake | None) -> Mistake | None:
        """Return the mistake behind wrong numbers, or that in the finite entries beside inf or nan.

        Args:
            name: of the answer.
            failure: the mistake of the first check that it fails, which is returned where it is not about its numbers;
                `None` if it is right.
        """
        if failure is None or not failure.facts:
            return failure
        if failure is self._plain_facts.get(name):
            return self.mistakes[name]
        given = self.given[name]
        finite = given.finite_part if failure.code == "not-finite" and given.not_finite else []
        if not finite:
            return failure
        (cause,) = find_mistakes(self.exercise.function, {name: finite}).values()
        if cause.code == "unknown" or not cause.at:
            return failure
        return replace(failure, says=f"{failure.says}; in the finite entries, {cause.says}", hints=cause.hints)

    @cached_property
    def _changed_inputs(self) -> dict[bool, Mistake]:
        """Return the mistake of the first argument that a call changed, by whether the change is within rounding.

        Under `False` is the first real change, under `True` the first one within rounding; a key is missing if there is
        none.
        """
        return structure_checks.check_inputs(self._trial_calls)

    @cached_property
    def examination(self) -> Examination:
        """Return the `Examination` of every backward pass, right or wrong, that the learner's test was called with."""
        return Examination(self.exercise, self.source, self._trial_calls)

    @cached_property
    def _without_deep_trials(self) -> Judge | None:
        """Return a judge of the trials other than those that exceeded the recursion limit; `None` if none did, or all.

        How deep a recursion goes is a question of its own: what is wrong in other trials is reported first.
        """
        ended = {id(trial) for trial, call in self._trial_calls if call.error and call.error.type == TOO_DEEP}
        kept = [trial for trial in self.trials if id(trial) not in ended]
        if not ended or not kept:
            return None
        first = dict(reversed([(id(trial), call) for trial, call in self._trial_calls]))
        calls = [first[id(trial)] for trial in repeat_some(self.exercise.function, kept)]
        return replace(self, trials=kept, facts=self.facts.model_copy(update={"calls": calls}))

    @cached_property
    def _raised(self) -> tuple[Trial, Raised] | None:
        """Return the first exception that ended a call, with its trial; `None` if none did, or for a test."""
        calls = [] if self.exercise.function.is_test else self._trial_calls
        return next(((trial, call.error) for trial, call in calls if call.error is not None), None)

    def _diagnose_exception(self, trial: Trial, error: Raised) -> Mistake:
        """Return the mistake of an exception in a trial."""
        limit = self.exercise.course.policy.time_limit
        return diagnose_error(error, self.source, trial, signature=self.exercise.signature, time_limit=limit)

    def _diagnose_error(self, given: GivenAnswer, trial: Trial, error: Raised) -> Mistake:
        """Return the mistake of an exception, and in which trials it occurs if the answer is right in all others."""
        mistake = self._diagnose_exception(trial, error)
        if mistake.code != "error" or not given.is_right_elsewhere:
            return mistake
        if trial.setting.is_special and not NO_GRADIENT.search(error.message):
            return Mistake("shape-special", f"in {trial.setting.kind} the function fails with {mistake.says}")
        sound, raising = (
            [trial for trial, call in self._trial_calls if (call.error is None) == fine] for fine in (True, False)
        )
        where = options_of_right_trials(given.answer, sound, raising)  # the options
        return replace(mistake, says=f"{mistake.says}. The answer is right only when {where}") if where else mistake

    def _answer_result(self, answer: Answer, mistake: Mistake | None) -> AnswerResult:
        """Return the result of an answer with this mistake, right for `None`; with evidence where there is any."""
        if answer.kind == "verdict" and mistake is self.examination.mistake[0]:
            evidence = self.examination.mistake[1]
            return answer_result(self.exercise, answer, mistake, evidence=evidence, share=self.examination.share)
        if mistake is None or not mistake.facts:
            return answer_result(self.exercise, answer, mistake)
        given = self.given[answer.name]
        if given.is_misshapen or given.not_finite:
            return answer_result(self.exercise, answer, mistake)
        return self._result_with_evidence(given, mistake)

    def _result_with_evidence(self, given: GivenAnswer, mistake: Mistake) -> AnswerResult:
        """Return the result of a wrong answer with evidence: a finite difference, or the right answer if allowed."""
        declaration, answer, first = self.exercise.function, given.answer, given.wrong[0]
        reveal = self.exercise.course.policy.show_expected
        if isinstance(declaration, Routine):
            wrong = _samples_told(given.wrong, mistake) or given.wrong
            evidence = call_evidence(self.exercise.id, declaration, answer, wrong, reveal=reveal)
        else:
            nudge = evidence_of(declaration, answer, given.wrong, mistake)
            evidence = nudge or (sample_text(first) if reveal else "")
        error = scaled_error(first.given, first.expected)
        return answer_result(
            self.exercise, answer, mistake, evidence=evidence, error=error if np.isfinite(error) else None
        )


def same_for_every_answer(exercise: CourseExercise, mistake: Mistake, status: Status = "failed") -> ExerciseResult:
    """Return the result of an exercise in which every answer has this mistake and this status."""
    answers = [answer_result(exercise, answer, mistake, status) for answer in exercise.function.answers]
    return ExerciseResult(exercise.id, exercise.unit, tuple(answers), max_score=exercise.points)


def answer_result(
    exercise: CourseExercise, answer: Answer, mistake: Mistake | None, status: Status = "failed",
    evidence: str = "", error: float | None = None, share: float = 0.0,
) -> AnswerResult:  # fmt: skip
    """Return the result of one answer, with its hints and points.

    Args:
        exercise: the exercise.
        answer: the answer, which has the hints that the exercise declares.
        mistake: what is wrong with it; `None` if it is right.
        status: the status of an answer that is neither right nor unanswered.
        evidence: a sentence on what was measured; may be empty.
        error: the greatest scaled error, if it was measured.
        share: the share of the answer's points that a failed one earns.
    """
    declaration = exercise.function
    points = exercise.points_of_answer
    if mistake is None:
        return AnswerResult(answer.name, "passed", points, points)
    answer_status: Status = "todo" if mistake.code == "todo" else status
    answer_hints, derives = declaration.hints.get(answer.name, ()), isinstance(declaration, Exercise)
    hints = hints_for(mistake.code, mistake.hints, answer_hints, derives=derives)
    record = mistake.record if mistake.facts else None
    earned = part(exercise.points, len(declaration.answers), share)
    return AnswerResult(
        answer.name, answer_status, earned, points, mistake.code, mistake.says, evidence, hints, error, record
    )  # fmt: skip


def _samples_told(wrong: Sequence[Sample], mistake: Mistake) -> list[Sample]:
    """Return the samples with the two numbers that a mistake tells, so that its evidence tells the same.

    They are none where it does not tell what the value is and what it must be.

    Args:
        wrong: the samples in which the answer is wrong.
        mistake: the mistake.
    """
    fields = mistake.facts[0].parameters
    if "given" not in fields or "right" not in fields:
        return []
    numbers = np.array([float(fields["given"]), float(fields["right"])])
    return [s for s in wrong if s.given.size == 1 == s.expected.size
            and np.allclose([s.given.item(), s.expected.item()], numbers, rtol=1e-2, atol=0)]  # fmt: skip


@dataclass(frozen=True)
class Examined:
    """Hold one backward pass that a learner's test was called with.

    Args:
        given: the backward pass.
        calls: the calls of the test with it.
        is_wrong: whether it is wrong, so that the test must reject it by an exception.
    """

    given: BackwardPass
    calls: Sequence[Call]
    is_wrong: bool

    @property
    def rejections(self) -> set[bool]:
        """Return {True} if every call of the test rejected the backward pass, {False} if none did, both if some did."""
        return {call.error is not None for call in self.calls}

    @property
    def is_judged_rightly(self) -> bool:
        """Return whether every call of the test rejects a wrong backward pass, or no call rejects a right one."""
        return self.rejections == {self.is_wrong}


@dataclass(frozen=True)
class Examination:
    """Hold which backward passes a learner's test rejects, in the author's order.

    Args:
        exercise: the exercise, whose answer is a test.
        source: the learner's source.
        trial_calls: each trial with one of its calls; every trial is there as often as the others.
    """

    exercise: CourseExercise
    source: Source
    trial_calls: Sequence[tuple[Trial, Call]]

    @cached_property
    def _all(self) -> list[Examined]:
        """Return every backward pass that the test was called with, and its calls, in the author's order."""
        trials = {trial.setting.index: trial for trial, _ in self.trial_calls}
        examined = []
        for index in sorted(trials):
            (given,) = (value for value in trials[index].arguments.values() if isinstance(value, BackwardPass))
            calls = [call for trial, call in self.trial_calls if trial.setting.index == index]
            examined.append(Examined(given, calls, bool(trials[index].expected[VERDICTS])))
        return examined

    @cached_property
    def counted(self) -> list[Examined]:
        """Return the backward passes that count for the score: those without a name, as a named one is only a probe."""
        return [each for each in self._all if not each.given.name]

    @cached_property
    def _numbers(self) -> tuple[int, int, int, int]:
        """Return the numbers of wrong passes rejected, wrong passes, right passes accepted, and right passes."""
        wrong, right = ([e.is_judged_rightly for e in self.counted if e.is_wrong == kind] for kind in (True, False))
        return sum(wrong), len(wrong), sum(right), len(right)

    @cached_property
    def share(self) -> float:
        """Return the earned share of the points, between 0 and 1.

        It is the share of wrong passes that are rejected, less the share of right ones that are not accepted: a test
        that tells nothing apart earns nothing, and rejecting a right pass never pays.
        """
        rejected, wrong, accepted, right = self._numbers
        return float(max(Fraction(0), Fraction(rejected, wrong) - Fraction(right - accepted, right)))

    @cached_property
    def mistake(self) -> tuple[Mistake | None, str]:
        """Return the first mistake of the test, and the backward pass that shows it as evidence.

        The mistake is `None` if the test is right; the evidence is empty then, or where the pass is too long.
        """
        for each in self.counted:
            for call in each.calls:
                if not each.is_wrong and call.error is not None and call.error.type != "AssertionError":
                    error = diagnose_error(call.error, self.source, signature=self.exercise.signature)
                    says = f"called with a right backward pass, your test fails with {error.says}"
                    return Mistake(error.code, says, error.hints), _pass_shown("called with", each.given)
        rejected, wrong, accepted, right = self._numbers
        rejects = f"your test rejects {rejected} of {wrong} wrong backward passes"
        counts = f"{rejects} and accepts {accepted} of {right} right ones"
        if unsure := next((each for each in self.counted if len(each.rejections) == 2), None):
            says = (
                "called twice with the same backward pass, your test does not always give the same verdict. It rejects "
                f"{rejected} of {wrong} wrong backward passes in every call, and accepts {accepted} of {right} right "
                "ones in every call"
            )
            mistake = Mistake("not-repeatable", says, DRAWN_AT_RANDOM)
            return mistake, _pass_shown("called with", unsure.given)
        mistaken = [each for each in self.counted if not each.is_judged_rightly]
        if not mistaken:
            return None, ""
        first = min(mistaken, key=lambda each: each.is_wrong)  # a right one that is rejected, if there is one
        code, verb = ("accepts-wrong", "accepts") if first.is_wrong else ("rejects-right", "rejects")
        why, hints = self._why(first)
        kind = "wrong" if first.is_wrong else "right"
        alike = sum(each.is_wrong == first.is_wrong for each in mistaken)
        which = f"The {kind} one that it {verb}" if alike == 1 else f"One of the {kind} ones that it {verb}"
        mistake = Mistake(code, f"{counts}. {which} {first.given.says}{why}", hints)
        return mistake, _pass_shown(f"it {verb}", first.given)

    def _why(self, mistaken: Examined) -> tuple[str, tuple[str, ...]]:
        """Return a clause on why the test misjudges a backward pass, and hints; both empty where that is not known.

        It is known if the test returns its verdict instead of raising an exception, or if it treats a probe of the
        author alike: then the clause and the hint are those of the probe.
        """
        calls = (call for _, call in self.trial_calls)
        if all(call.error is None and call.returned.kind not in ("none", "ellipsis") for call in calls):
            return RETURNS, ()
        probes = {each.given.name: each for each in self._all}
        tried_probes = (probes[name] for name in mistaken.given.probes)
        probe = next((probe.given for probe in tried_probes if probe.rejections == mistaken.rejections), None)
        return (f". {probe.says}", tuple(filter(None, [probe.hint]))) if probe else ("", ())


def _pass_shown(label: str, given: BackwardPass) -> str:
    """Return a label and the body of a backward pass on one line, "called with: <body>"; empty if it is too long."""
    text = body_text(given.source)
    return f"{label}: {text}" if 0 < len(text) <= LONGEST_PASS else ""
