"""Judge the answers of one file: each goes through a series of checks, and the first that fails is reported.

An answer that is a test of backward passes is judged by which wrong and right ones it rejects.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grader.child.learner_imports import is_passed_over
from grader.course.course import CourseExercise
from grader.course.exercise import Answer, Exercise, Routine
from grader.course.sampling import Array
from grader.diagnosis.evidence import call_evidence, evidence_of, sample_text, shown_sample
from grader.diagnosis.exceptions import TOO_DEEP, diagnose_autograd_use, diagnose_error
from grader.diagnosis.facts import plain_facts
from grader.diagnosis.failing_arguments import options_of_right_trials
from grader.diagnosis.hints import CHANGED_BY_ROUNDING, hints_for
from grader.diagnosis.mistake import FACT_KINDS, Mistake
from grader.errors import ProtocolError
from grader.reference.compare import agrees, scaled_error
from grader.reference.trial import Sample, Samples, Trial
from grader.reference.trials import repeat_some
from grader.results.points import part
from grader.results.records import AnswerResult, ExerciseResult, Status
from grader.sandbox.answer_source import AnswerSource
from grader.sandbox.autograd_use import autograd_use
from grader.sandbox.checked_reply import Call, Facts, Raised
from grader.sandbox.definitions import definitions
from grader.sandbox.source_text import Source

from . import cost_checks
from .examination import Examination
from .given_answer import GivenAnswer, TrialCalls

CELL_SHARE = 0.25  # of the time limit, for each cell of a notebook
NO_GRADIENT = re.compile(r"no attribute '(g|grad)'")  # whether there is one has nothing to do with sizes
LACKING = frozenset(("missing-answer", "todo", "error"))  # what a line that was not run can lead to
KEPT_BESIDE_AUTOGRAD = frozenset(("todo", "mutated-input", "not-repeatable", "memory", "extra-work", "timeout"))
OnVerdicts = Callable[[ExerciseResult], None]


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
        """Return, by name, the mistake of the first check that each answer fails; `None` for a right answer.

        Nothing is searched for: wrong numbers are stated as a fact, and `result` searches for the mistake behind them.
        If the file as a whole fails, every answer has that mistake.

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
            failures: by name what is wrong with each answer, as `Judge.failures` returns it; `None` if it is right.
            flags: sentences on what a person should look at.
            on_verdicts: called with the result before mistakes are searched for; not called if no answer is wrong.
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
        """Search for the mistake behind the numbers of each wrong answer, and return it by the answer's name.

        An answer that is wrong in another way than by its numbers keeps its mistake in `failures`. Where the search
        finds nothing, the mistake has the code `unknown`. The value is `None` for a right answer.

        Args:
            failures: by name what is wrong with each answer, found without a search; `None` if it is right.
        """
        return {
            answer.name: self._deciding_judge(answer)._cause(answer.name, failures[answer.name])
            for answer in self.exercise.function.answers
        }

    def _result_with(self, mistakes: Mapping[str, Mistake | None], flags: Sequence[str]) -> ExerciseResult:
        """Return the result with these mistakes, each with hints and with evidence if there is any.

        Notes in it say which code was not run, and what an exception ended; flags say which gradients were measured by
        finite differences.

        Args:
            mistakes: by name what is wrong with each answer; `None` if it is right.
            flags: further flags.
        """
        facts, exercise = self.facts, self.exercise
        notes = tuple(_notes(facts, self.source))
        if self._whole_file is not None:
            return replace(same_for_every_answer(exercise, self._whole_file), printed=facts.printed, notes=notes)
        answers = tuple(
            self._deciding_judge(answer)._answer_result(answer, mistakes[answer.name])
            for answer in exercise.function.answers
        )
        if passed_over := _passed_over_inside(facts, exercise.id, self.source):
            answers = tuple(
                replace(each, message=f"{each.message}; {passed_over}") if each.code in LACKING else each
                for each in answers
            )
        if self._raised is not None:
            codes, diagnosis_text = {answer.code for answer in answers}, self._diagnose_exception(*self._raised).says
            before = "before the exception" if self._raised[1].kind != "timeout" else "until then"
            why = "" if any(map(self.is_ended_by_exception, answers)) else f": {diagnosis_text}"
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

    def is_ended_by_exception(self, answer: AnswerResult) -> bool:
        """Return whether the message of an answer is that of the first exception that ended a call."""
        return self._raised is not None and self._diagnose_exception(*self._raised).says in answer.message

    def has_nothing_to_explain(self) -> bool:
        """Return whether every answer is right in every trial, or none is begun, so that no mistake is to be found."""
        facts = self.facts
        if self._whole_file is not None or facts.failed or len(facts.calls) != len(self._asked_trials):
            return self._whole_file is not None and self._whole_file.code == "todo"
        if self.exercise.function.is_test:
            return self.examination.mistake[0] is None
        missing = {given.first_missing and given.first_missing[-1].code for given in self.given.values()}
        return missing == {"todo"} or (missing == {None} and not any(given.wrong for given in self.given.values()))

    @cached_property
    def _whole_file(self) -> Mistake | None:
        """Return the mistake of the file as a whole, for which no answer can be judged; `None` if there is none."""
        return _check_source(self.facts, self.exercise, self.source)

    @cached_property
    def given(self) -> dict[str, GivenAnswer]:
        """Return, by the answer's name, what the calls of the learner's function gave for each answer."""
        return {
            answer.name: GivenAnswer(self.exercise, answer, self.trials, self._trial_calls)
            for answer in self.exercise.function.answers
        }

    @cached_property
    def mistakes(self) -> dict[str, Mistake]:
        """Return, by the answer's name, the mistakes behind the numbers of the wrong answers."""
        right = [name for name, given in self.given.items() if given.is_right]
        return self._find_mistakes(self._samples_to_explain, right)

    def _find_mistakes(self, wrong: Mapping[str, Samples], right: Sequence[str] = ()) -> dict[str, Mistake]:
        """Return, by the answer's name, the mistake that `find_mistakes` finds in each wrong answer.

        The operators are imported only now: right answers, which are judged without them, need not wait for that.

        Args:
            wrong: by the answer's name, its samples.
            right: the names of the answers that are right.
        """
        from grader.diagnosis.diagnose import find_mistakes

        return find_mistakes(self.exercise.function, wrong, right, source=self.answer_source)

    @cached_property
    def answer_source(self) -> AnswerSource:
        """Return the source of the learner's function, in which the search for mistakes may look."""
        return AnswerSource(self.source.cells, self.exercise.id)

    @cached_property
    def _plain_facts(self) -> dict[str, Mistake]:
        """Return, by the answer's name, a mistake that states only how the numbers of a wrong answer are wrong."""
        return plain_facts(self.exercise.function, self._samples_to_explain)

    @property
    def _samples_to_explain(self) -> dict[str, list[Sample]]:
        """Return, by the answer's name, the samples of each answer whose numbers are wrong."""
        return {name: given.to_explain for name, given in self.given.items() if given.to_explain}

    @cached_property
    def _asked_trials(self) -> list[Trial]:
        """Return the trial of each call that the child was asked for.

        Trials that `repeat_some` repeats are there twice.
        """
        return repeat_some(self.exercise.function, self.trials)

    @cached_property
    def _trial_calls(self) -> list[tuple[Trial, Call]]:
        """Return each call that was answered, after its trial, in the order of the trials."""
        return list(zip(self._asked_trials, self.facts.calls, strict=False))

    def _failure(self, answer: Answer) -> Mistake | None:
        """Return the mistake of the first check that an answer fails, without a search; `None` if it passes all checks.

        If the function lets torch differentiate, that is the mistake of every wrong answer whose code is not in
        `KEPT_BESIDE_AUTOGRAD`.
        """
        mistake = self._deciding_judge(answer)._first_failures[answer.name]
        if mistake is None or mistake.code in KEPT_BESIDE_AUTOGRAD or self._autograd_use is None:
            return mistake
        return self._autograd_use

    def _deciding_judge(self, answer: Answer) -> Judge:
        """Return the judge that decides on an answer: this one, or that of the trials within the recursion limit.

        It is the second if the answer is missing in some trial, and fails a check within the limit; never for a
        learner's test.
        """
        others = None if answer.kind == "verdict" else self._without_deep_trials
        if others is None or self.given[answer.name].first_missing is None:
            return self
        return self if others._first_failures[answer.name] is None else others

    @cached_property
    def _autograd_use(self) -> Mistake | None:
        """Return the mistake that the function lets torch differentiate, with the line; `None` if it does not."""
        use = autograd_use(self.source.cells, self.exercise.id)
        is_backward_pass = isinstance(self.exercise.function, Exercise)
        return None if use is None else diagnose_autograd_use(*use, self.source, is_backward_pass=is_backward_pass)

    @cached_property
    def _first_failures(self) -> dict[str, Mistake | None]:
        """Return, by name, the mistake of the first check that each answer fails in this judge's trials.

        `None` if none.
        """
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
            trial, call, mistake = given.first_missing
            raised = (trial, call.error) if call.error is not None else None
        if mistake is not None and raised is not None:
            mistake = self._diagnose_error(given, *raised)
        return mistake

    def _check_numbers(self, given: GivenAnswer) -> Mistake | None:
        """Return the mistake of the first check, from shape and dtype to cost, that an answer fails; `None` if none."""
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
        """Return the mistake behind the numbers of an answer.

        A failure that is not about numbers is returned as it is. Of an answer with inf or nan, it is the mistake in the
        finite entries, if one is found.

        Args:
            name: the name of the answer.
            failure: the mistake of the first check that the answer fails; `None` if it is right, which is returned.
        """
        if failure is None or not failure.facts:
            return failure
        given = self.given[name]
        if failure is self._plain_facts.get(name):
            cause = self.mistakes[name]
            return (given.check_finite() if cause.code == "unknown" and not cause.at else None) or cause
        finite = given.finite_part if failure.code == "not-finite" and given.not_finite else []
        if not finite:
            return failure
        (cause,) = self._find_mistakes({name: finite}).values()
        if cause.code == "unknown" or not cause.at:
            return failure
        return replace(failure, says=f"{failure.says}; in the finite entries, {cause.says}", hints=cause.hints)

    @cached_property
    def _changed_inputs(self) -> dict[bool, Mistake]:
        """Return the mistakes of the first arguments that a call changed, by whether the change is within rounding.

        Under `False` is the first real change, under `True` the first one within rounding; a key is missing if there is
        no such change.
        """
        return _check_inputs(self._trial_calls)

    @cached_property
    def examination(self) -> Examination:
        """Return the `Examination` of every backward pass, right or wrong, that the learner's test was called with."""
        return Examination(self.exercise, self.source, self._trial_calls)

    @cached_property
    def _without_deep_trials(self) -> Judge | None:
        """Return a judge of the trials that did not exceed the recursion limit; `None` if all exceeded it, or none did.

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
        """Return the first exception that ended a call, after its trial.

        `None` if there is none, or in a learner's test.
        """
        calls = [] if self.exercise.function.is_test else self._trial_calls
        return next(((trial, call.error) for trial, call in calls if call.error is not None), None)

    def _diagnose_exception(self, trial: Trial, error: Raised) -> Mistake:
        """Return the mistake that a trial ended in this exception."""
        limit = self.exercise.course.policy.time_limit
        return diagnose_error(error, self.source, trial, signature=self.exercise.signature, time_limit=limit)

    def _diagnose_error(self, given: GivenAnswer, trial: Trial, error: Raised) -> Mistake:
        """Return the mistake that a trial ended in this exception.

        If the answer is right in all other trials, its message says in which kind of trial the exception occurs.
        """
        mistake = self._diagnose_exception(trial, error)
        if mistake.code != "error" or not given.is_right_elsewhere:
            return mistake
        if trial.setting.is_special and not NO_GRADIENT.search(error.message):
            return Mistake("shape-special", f"in {trial.setting.kind} the function fails with {mistake.says}")
        sound, raising = (
            [trial for trial, call in self._trial_calls if (call.error is None) == fine] for fine in (True, False)
        )
        where = options_of_right_trials(given.answer, sound, raising)  # the options
        return replace(mistake, says=f"{mistake.says}. The answer is {where}") if where else mistake

    def _answer_result(self, answer: Answer, mistake: Mistake | None) -> AnswerResult:
        """Return the result of an answer with this mistake, and evidence if there is any.

        Right if the mistake is `None`.
        """
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
        """Return the result of a wrong answer with evidence: a finite difference, or the right answer if allowed.

        For a routine it is the shortest call that gave the answer, with the right answer if allowed.
        """
        declaration, answer, first = self.exercise.function, given.answer, given.wrong[0]
        reveal = self.exercise.course.policy.show_expected
        if isinstance(declaration, Routine):
            shown = shown_sample(self.exercise.id, declaration, answer, given.wrong, mistake)
            evidence = call_evidence(self.exercise.id, declaration, answer, shown, reveal=reveal)
        else:
            nudge = evidence_of(declaration, answer, given.wrong, mistake)
            evidence = nudge or (sample_text(answer, first, mistake) if reveal else "")
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
        mistake: what is wrong with the answer; `None` if it is right.
        status: the status if the answer is neither right nor unanswered.
        evidence: a sentence on what was measured; may be empty.
        error: the greatest scaled error, if it was measured.
        share: the share of the answer's points that it earns if it failed.
    """
    declaration = exercise.function
    points = exercise.points_of_answer
    if mistake is None:
        return AnswerResult(answer.name, "passed", points, points)
    answer_status: Status = "todo" if mistake.code == "todo" else status
    answer_hints = declaration.hints.get(answer.name, ())
    by_formula = len(declaration.answers) == 1 and all(fact.operator in FACT_KINDS for fact in mistake.facts)
    derives = isinstance(declaration, Exercise) and bool(answer.wrt)  # a returned loss is no gradient
    loss = "the loss"
    if isinstance(declaration, Exercise) and not declaration.gives_upstream:
        loss = declaration.output_name
    hints = hints_for(mistake.code, mistake.hints, answer_hints, derives=derives, by_formula=by_formula, loss=loss)
    record = mistake.record if mistake.facts else None
    earned = part(exercise.points, len(declaration.answers), share)
    return AnswerResult(
        answer.name, answer_status, earned, points, mistake.code, mistake.says, evidence, hints, error, record
    )  # fmt: skip


def _check_source(facts: Facts, exercise: CourseExercise, source: Source) -> Mistake | None:
    """Return the mistake of the file or notebook as a whole, for which no answer can be judged.

    `None` if there is none.

    Args:
        facts: the worker's reply on how the source was run.
        exercise: the exercise.
        source: the learner's source.
    """
    limit = exercise.course.policy.time_limit
    if facts.error is not None:
        return diagnose_error(facts.error, source, time_limit=limit)
    endless = next(
        (call.error for call in facts.calls if call.error is not None and call.error.kind == "timeout"), None
    )
    if endless is not None and exercise.function.is_test:  # an exception would be its answer, and this is none
        return diagnose_error(endless, source, time_limit=limit)
    if not facts.calls:
        failed = _failed_cell(facts, exercise.id, source, limit * CELL_SHARE)
        return failed or Mistake("missing-function", _missing_function(facts, exercise, source))
    if facts.stub:
        return Mistake("todo", "not attempted yet")
    if source.has_body(exercise.id, exercise.function.faulty):
        return Mistake("todo", "nothing has been changed yet; one line of the body is wrong")
    return None


def _notes(facts: Facts, source: Source) -> Iterator[str]:
    """Yield notes on the lines of a source that were not run, and on what it uses that a graded run does not have."""
    yield from source.notes
    for line in facts.ignored:
        yield f"skipped, because it is not Python{source.location(line)}"
    for construct in facts.unusual:
        where = source.location(construct.line, construct.file)
        if is_passed_over(construct.name):
            library = construct.name.removeprefix("torch.utils.").partition(".")[0]
            yield f"{library} is ignored in checks and graded runs{where}"
        else:
            yield f"{construct.name} is not available in graded runs{where}"


def _passed_over_inside(facts: Facts, function: str, source: Source) -> str:
    """Return a clause on the lines of a function that were not run, since they are no Python.

    Empty if there are none. The first of them is quoted.
    """
    inside = sorted(source.lines_of(function) & set(facts.ignored)) if facts.ignored else []
    if not inside:
        return ""
    more = f" (and {len(inside) - 1} more)" if len(inside) > 1 else ""
    return f"{source.describe_command(inside[0])}{more}, which was skipped: write it as Python"


def _failed_cell(facts: Facts, function: str, source: Source, cell_limit: float) -> Mistake | None:
    """Return the mistake that a cell failed which may define the function, or that a cell is too long to be read.

    `None` if there is no such cell. Of several failed cells it is the last one.

    Args:
        facts: the worker's reply, with the errors of cells.
        function: the name of the function.
        source: the notebook.
        cell_limit: the time limit of a cell in seconds, for the message.
    """
    if source.skipped_cells:
        where = source.file or source.cell_name(source.skipped_cells[0])
        return Mistake("error", f"{where} was not read, because it is too long; hand in the code alone")
    errors = {failed.cell: failed.error for failed in facts.failed}
    number = source.last_failed_cell(function, errors)
    return None if number is None else diagnose_error(errors[number], source, time_limit=cell_limit)


def _missing_function(facts: Facts, exercise: CourseExercise, source: Source) -> str:
    """Return the message that the file is empty or the function not defined, naming the most similar one that is.

    Without a similar one it is the first that is defined.
    """
    function, others = exercise.id, {other.id for other in exercise.course.exercises}
    defined = facts.defined if source.file else [name for name in facts.defined if name not in others]
    near = difflib.get_close_matches(function, defined, 1, 0.4) or defined[:1]
    if not source.file:
        if bound := definitions(source.cells, {function}, literals_count=True):
            where = source.cell_name(bound[-1].cell)
            return f"{where} binds {function} to a value that is not a function: give that value another name"
        if near:
            return f"a cell of the notebook defines `{near[0]}`, but none defines `{function}`: rename it"
        return f"no cell of the notebook defines {function}: write it in the cell of this exercise"
    if near:
        return f"{source.file} defines `{near[0]}`, not `{function}`: rename the function to `{function}`"
    reset = f"get the stub back with: handgrad reset {function}"
    if not source.cells[0].strip():
        return f"{source.file} is empty: write {function} in it, or {reset}"
    return f"{source.file} does not define {function}: write it, or {reset}"


def _check_inputs(trial_calls: TrialCalls) -> dict[bool, Mistake]:
    """Return the mistakes of the first arguments that a call changed, by whether the change is within rounding.

    Args:
        trial_calls: the calls of the learner's function, each with its trial.

    Returns:
        Under `False` the first real change, under `True` the first one within rounding; a key is missing if there is no
        such change.
    """
    mistakes: dict[bool, Mistake] = {}
    for trial, call in trial_calls:
        for only_rounded, mistake in _changed_inputs(call, trial):
            mistakes.setdefault(only_rounded, mistake)
    return mistakes


def _changed_inputs(call: Call, trial: Trial) -> Iterator[tuple[bool, Mistake]]:
    """Yield a mistake for each argument, or `.g` of an argument, that the call changed.

    Args:
        call: the call of the learner's function.
        trial: the trial, with the arguments as they were before the call.

    Yields:
        Whether the change is within rounding, as where a finite difference added its step and subtracted it again, and
        the mistake.
    """
    for name, argument in trial.arguments.items():
        if not isinstance(argument, Array):
            if name in call.after:
                yield False, Mistake("mutated-input", f"the function changes `{name}` in place")
            continue
        watched = [(name, call.after.get(name), argument.values)] if name in call.after else []
        if argument.g is not None and f"{name}.g" not in trial.expected:
            watched.append((f"{name}.g", call.stored.get(name, {}).get("g"), argument.g))
        for changed, value, before in watched:
            after = value.array if value is not None else None
            if after is None or after.shape != before.shape or after.tobytes() != before.tobytes():
                message = f"the function changes `{changed}` in place"
                if after is None or not agrees(after, before, "float64"):
                    yield False, Mistake("mutated-input", message)
                else:
                    message = f"{message}: adding a step and subtracting it again changes the last digits"
                    yield True, Mistake("mutated-input", message, CHANGED_BY_ROUNDING)
