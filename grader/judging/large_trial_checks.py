"""Checks of answers on large inputs, in a graded run: answers that are right in every ordinary trial may fail here.

Every submission is called with large trials after the ordinary ones. Where its processor time shows that it cannot have
measured, that is all. Only another one is called again, with as many entries as a loop over them can afford.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.course import CourseExercise
from grader.diagnosis.mistake import Diagnosis
from grader.errors import ProtocolError
from grader.exercise import Answer
from grader.reference.compare import scaled_error
from grader.reference.trial import Trial
from grader.results import ExerciseResult
from grader.sampling import Array
from grader.sandbox.checked_reply import Call, Observation, Raised

from . import structure_checks
from .judge import answer_result
from .source_text import Source

UNSUSPICIOUS = 0.05  # seconds of processor time: a fork and all calls take 0.01 to 0.02, the fastest measurement 0.1
TABLES_TAKE = 2.0  # times what `A_TABLE` takes at that moment: other tables take 0.8, measuring all in one batch 3
A_TABLE = """
import torch

def {}(*given):
    entries = max((each for each in given if isinstance(each, torch.Tensor)), key=torch.Tensor.numel).flatten()
    return (entries[:, None] * entries).sum(1) / (entries[:, None] + entries).sum(1)
"""
SQUARE = 1.5  # the time of a measurement grows as a higher power of the entries, that of a loop as a lower one
TELLING = 3  # times as many entries, at least: 5.8 times as many take the one 32 times as long, the other 5.2 times
RTOL = 1e-2  # a loop may add up hundreds of thousands of float32 numbers one by one
TOO_SLOW = (
    "How often does your function run the forward pass to find one gradient?",
    "A formula takes about as much work as the forward pass itself, however many entries there are.",
    "If it is a loop over entries and no measurement, let one operation on whole arrays do the work of the loop.",
)


@dataclass(frozen=True)
class LargeCase:
    """What became of large trials.

    Args:
        trials: as they were sent.
        calls: those that came to an end.
        observed: what the calls refer to.
        timed_out: the time limit came first.
        grew_as_square: the processor time grew as the square of the entries.
    """

    trials: Sequence[Trial] = ()
    calls: Sequence[Call] = ()
    observed: Observation | None = None
    timed_out: bool = False
    grew_as_square: bool = False

    @property
    def ran_out_of_memory(self) -> bool:
        """A call asked for more memory than it may use."""
        return any(call.error is not None and call.error.kind == "memory" for call in self.calls)

    def apply_to(self, exercise: CourseExercise, result: ExerciseResult, source: Source) -> ExerciseResult:
        """The result of the ordinary trials, less the answers that passed in them and fail here.

        A call that raises fails no answer while another one is wrong in ordinary trials: it may be that one's fault.
        """
        blame = result.status == "passed"
        answers = []
        for answer, found in zip(exercise.function.answers, result.answers, strict=True):
            wrong = None if found.code else self._verdict(answer, source, blame=blame)
            answers.append(found if wrong is None else answer_result(exercise, answer, wrong))
        return replace(result, answers=tuple(answers))

    def _verdict(self, answer: Answer, source: Source, *, blame: bool) -> Diagnosis | None:
        for trial, call in zip(self.trials, self.calls, strict=False):
            wrong = self._check_value(answer, trial, call)
            if wrong is not None and call.error is not None:
                wrong = _diagnose_error(call.error, source) if blame else None
            if wrong is not None:
                return replace(wrong, says=f"on a large input ({_describe_size(answer, trial)}) {wrong.says}")
        if self.timed_out or self.grew_as_square:
            size = _describe_size(answer, self.trials[min(len(self.calls), len(self.trials) - 1)])
            slow = "too slow on a large input" if self.timed_out else "its time grows as the square of a large input"
            looks = "this looks like a measurement, one nudge per entry, rather than a formula"
            return Diagnosis("timeout", f"{slow}: {size}, and {looks}", TOO_SLOW)
        if len(self.calls) < len(self.trials):
            return Diagnosis("crash", "called on a large input, it ends before it has answered")
        return None

    def _check_value(self, answer: Answer, trial: Trial, call: Call) -> Diagnosis | None:
        if wrong := structure_checks.check_value(answer, call, trial, number_allowed=False):
            return wrong
        assert self.observed is not None
        array, right = self.observed.array(structure_checks.value_of(answer, call)), trial.expected[answer.name]
        if array is None or right is None or scaled_error(array, right) <= RTOL:
            return None
        return Diagnosis("shape-special", "it is wrong")


def grows_as_a_square(before: float, after: float, times: float) -> bool:
    """What took `before` seconds of processor time takes `after` with so many `times` as many entries."""
    return times >= TELLING and after > before * times**SQUARE


def split_observation(observed: Observation, ordinary: int, trials: Sequence[Trial]) -> tuple[Observation, LargeCase]:
    """What was observed in the ordinary calls, and what in those of the large trials after them.

    Raises:
        ProtocolError: the reply leaves calls out.
    """
    facts = observed.facts
    calls = facts.calls[ordinary:]
    if not trials or len(facts.calls) < ordinary:
        return observed, LargeCase()
    timed_out = facts.error is not None and facts.error.kind == "timeout"
    if len(calls) > len(trials) or (len(calls) < len(trials) and facts.error is None):
        raise ProtocolError("the reply answers another number of calls")
    kept = facts.model_copy(update={"calls": facts.calls[:ordinary], "error": None if timed_out else facts.error})
    return replace(observed, facts=kept), LargeCase(trials, calls, observed, timed_out)


def _diagnose_error(error: Raised, source: Source) -> Diagnosis:
    found = structure_checks.diagnose_error(error, source)
    return replace(found, code="shape-special") if found.code == "error" else found


def _describe_size(answer: Answer, trial: Trial) -> str:
    """The owner of the answer and how large it is; the largest argument where the owner is small."""
    arrays = {name: value.values.size for name, value in trial.arguments.items() if isinstance(value, Array)}
    name = max(sorted(arrays, key=lambda name: name != answer.wrt), key=lambda name: arrays[name])
    return f"{name} has {arrays[name]} entries"
