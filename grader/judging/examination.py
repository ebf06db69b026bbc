"""Judges a learner's test by the backward passes that it rejects: which one it is mistaken about, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from grader.course.course import CourseExercise
from grader.course.exercise import VERDICTS
from grader.course.sampling import BackwardPass
from grader.diagnosis.evidence import body_shown
from grader.diagnosis.exceptions import diagnose_error
from grader.diagnosis.mistake import Diagnosis
from grader.diagnosis.words import hints_when
from grader.reference.trial import Trial
from grader.sandbox.checked_reply import Call
from grader.sandbox.source_text import Source

LONGEST_SHOWN = 160  # characters of a backward pass that is written out
RETURNS = ". What it returns counts for nothing: only an exception rejects, as from an `assert`"


@dataclass(frozen=True)
class Examined:
    """One backward pass, which a test must reject if it is wrong, and the calls in which it was the argument."""

    given: BackwardPass
    calls: Sequence[Call]
    is_wrong: bool

    @property
    def fates(self) -> set[bool]:
        """Whether it was rejected; both, where that depends on the call."""
        return {call.error is not None for call in self.calls}

    @property
    def is_judged_rightly(self) -> bool:
        return self.fates == {self.is_wrong}


@dataclass(frozen=True)
class Examination:
    """Hold what a learner's test made of every backward pass, in the author's order.

    Args:
        trial_calls: each trial with one of its calls; every trial is there as often as the others.
    """

    exercise: CourseExercise
    source: Source
    trial_calls: Sequence[tuple[Trial, Call]]

    @cached_property
    def _all(self) -> list[Examined]:
        trials = {trial.setting.index: trial for trial, _ in self.trial_calls}
        found = []
        for index in sorted(trials):
            (given,) = (value for value in trials[index].arguments.values() if isinstance(value, BackwardPass))
            calls = [call for trial, call in self.trial_calls if trial.setting.index == index]
            found.append(Examined(given, calls, bool(trials[index].expected[VERDICTS])))
        return found

    @cached_property
    def _counted(self) -> list[Examined]:
        return [each for each in self._all if not each.given.name]

    @cached_property
    def _numbers(self) -> tuple[int, int, int, int]:
        """How many wrong backward passes are rejected, and of how many; the same of right ones that are accepted."""
        wrong, right = ([e.is_judged_rightly for e in self._counted if e.is_wrong == kind] for kind in (True, False))
        return sum(wrong), len(wrong), sum(right), len(right)

    @cached_property
    def share(self) -> float:
        """Return the earned share of the points, between 0 and 1.

        It is the share of wrong passes that are rejected, less the share of right ones that are not accepted: a test
        that tells nothing apart earns nothing, and rejecting a right pass never pays.
        """
        rejected, wrong, accepted, right = self._numbers
        return float(max(Fraction(0), Fraction(rejected, wrong) - Fraction(right - accepted, right)))

    def diagnosis(self) -> tuple[Diagnosis | None, str]:
        """The first thing that is wrong with the test, and the backward pass that shows it."""
        for each in self._counted:
            for call in each.calls:
                if not each.is_wrong and call.error is not None and call.error.type != "AssertionError":
                    error = diagnose_error(call.error, self.source, signature=self.exercise.signature)
                    says = f"called with a right backward pass, it stops with {error.says}"
                    return Diagnosis(error.code, says, error.hints), _shown("called with", each.given)
        rejected, wrong, accepted, right = self._numbers
        counts = f"it rejects {rejected} of {wrong} wrong backward passes and accepts {accepted} of {right} right ones"
        if unsure := next((each for each in self._counted if len(each.fates) == 2), None):
            says = "called again with the same backward pass, it does not always come to the same verdict. Every time,"
            found = Diagnosis("not-repeatable", f"{says} {counts}", hints_when("drawn"))
            return found, _shown("called with", unsure.given)
        mistaken = [each for each in self._counted if not each.is_judged_rightly]
        if not mistaken:
            return None, ""
        first = min(mistaken, key=lambda each: each.is_wrong)  # a right one that is rejected, if there is one
        code, verb = ("accepts-wrong", "accepts") if first.is_wrong else ("rejects-right", "rejects")
        why, hints = self._why(first)
        found = Diagnosis(code, f"{counts}. It {verb} one that {first.given.says}{why}", hints)
        return found, _shown(f"it {verb}", first.given)

    def _why(self, mistaken: Examined) -> tuple[str, tuple[str, ...]]:
        """Why a test is mistaken, where that is known: it rejects nothing, and returns something; or what is true of
        a test that takes the likeliest probe of the same fate so, and a question about it.
        """
        calls = (call for _, call in self.trial_calls)
        if all(call.error is None and call.returned.kind not in ("none", "ellipsis") for call in calls):
            return RETURNS, ()
        probes = {each.given.name: each for each in self._all}
        asked = (probes[name] for name in mistaken.given.told_by)
        probe = next((probe.given for probe in asked if probe.fates == mistaken.fates), None)
        return (f". {probe.says}", tuple(filter(None, [probe.hint]))) if probe else ("", ())


def _shown(what: str, given: BackwardPass) -> str:
    """The body of a backward pass on one line; empty where that is too long."""
    text = body_shown(given.source)
    return f"{what}: {text}" if 0 < len(text) <= LONGEST_SHOWN else ""
