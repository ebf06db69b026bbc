"""Judge a learner's test of backward passes: which right and wrong ones does it reject?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from grader.course.course import CourseExercise
from grader.course.exercise import VERDICTS
from grader.course.sampling import BackwardPass
from grader.diagnosis.evidence import body_text
from grader.diagnosis.exceptions import diagnose_error
from grader.diagnosis.hints import DRAWN_AT_RANDOM
from grader.diagnosis.mistake import Mistake
from grader.reference.trial import Trial
from grader.sandbox.checked_reply import Call
from grader.sandbox.source_text import Source

LONGEST_PASS = 160  # characters of a backward pass that is written out
RETURNS = ". What your test returns does not count: it rejects only by an exception, such as that of a failed `assert`"


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
        """Return whether every call of the test rejects a wrong backward pass, or accepts a right one."""
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
        """Return, in the author's order, every backward pass that the test was called with, and how it judged each."""
        trials = {trial.setting.index: trial for trial, _ in self.trial_calls}
        examined = []
        for index in sorted(trials):
            (given,) = (value for value in trials[index].arguments.values() if isinstance(value, BackwardPass))
            calls = [call for trial, call in self.trial_calls if trial.setting.index == index]
            examined.append(Examined(given, calls, bool(trials[index].expected[VERDICTS])))
        return examined

    @cached_property
    def counted(self) -> list[Examined]:
        """Return the backward passes that count for the score: those without a name; a named one is only a probe."""
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
        """Return the first mistake of the test, and the text of the backward pass that shows it.

        The mistake is `None` if the test is right. The text is empty then, or where the backward pass is too long to
        show. First comes a right backward pass at which the test ends in another exception than `AssertionError`, then
        one on which its verdict varies, then one that it misjudges, a right one if there is any.
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

        It is known if the test returns its verdict instead of raising an exception. It is also known if the test
        misjudges one of the author's named probes in the same way; then clause and hint are those of the probe.
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
