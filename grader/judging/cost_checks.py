"""Check what a right answer cost: forbidden memory, gradients that nobody asked for, measured gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from grader.child.protocol import Frame
from grader.course.course import CourseExercise
from grader.course.exercise import RETURN, Answer, Declaration
from grader.course.shapes import axes_of, shape_of
from grader.diagnosis.mistake import Mistake
from grader.reference.compare import scaled_error
from grader.reference.trial import Trial, requested_gradients, when_requested
from grader.sandbox.checked_reply import Facts, Nudged, read
from grader.sandbox.worker import Unanswered

from .given_answer import GivenAnswer, TrialCalls

LARGEST_SHARE = 0.9
SINGLE = 4  # bytes of a float32
RTOL = 1e-2  # a loop may add up many float32 numbers one by one
HOW_MANY = "How many numbers are held at the same time? Multiply the sizes of the axes."


def forbidden_bytes(function: Declaration, trial: Trial) -> float:
    """Return the size in bytes of the float32 array that the exercise forbids to hold in a trial, less a margin.

    Args:
        function: the declaration, whose `never_holds` has the axes of the array.
        trial: the trial, which has the sizes of these axes.
    """
    axes = axes_of(function.never_holds)
    return LARGEST_SHARE * SINGLE * float(np.prod(shape_of(axes, trial.setting.sizes)))


def check_memory(function: Declaration, answer: Answer, rounds: TrialCalls) -> Mistake | None:
    """Return a mistake if an array of the forbidden size was held for this answer; `None` otherwise.

    If that much memory was held in several pieces or in numpy arrays, any answer may be the cause, and the mistake is
    returned, too.

    Args:
        function: the declaration, whose `never_holds` has the axes of the array.
        answer: the answer.
        rounds: each trial with the call of the learner's function in it.
    """
    for trial, call in rounds:
        is_concerned = answer.wrt in call.from_huge or not call.from_huge
        if trial.metered and is_concerned and call.peak >= forbidden_bytes(function, trial):
            axes = ", ".join(axes_of(function.never_holds))
            size = round(forbidden_bytes(function, trial) / LARGEST_SHARE / 1024)  # the peak differs between runs
            computed = "the answer" if answer.name.startswith(RETURN) else answer.name
            subject = f"computing {computed}" if call.from_huge else "the function"
            says = f"at the peak, {subject} takes as much memory as an array of shape ({axes}), here {size} KiB"
            return _memory_mistake(function, answer, says)
    return None


def _memory_mistake(function: Declaration, answer: Answer, says: str) -> Mistake:
    """Return the mistake that too much memory is held, with the exercise's own hints on how to do with less.

    Args:
        function: the declaration, which has the exercise's hints.
        answer: the answer that the hints are about.
        says: the message.
    """
    return Mistake("memory", says, hints=(HOW_MANY, *function.hints.get(answer.name, ())[1:]))


def check_unasked_work(answer: Answer, rounds: TrialCalls) -> Mistake | None:
    """Return a mistake if leaving this gradient out of the request saves no work.

    `None` if it does, if no work was counted, or if no argument asks for gradients.

    Args:
        answer: the answer whose gradient is left out.
        rounds: each trial with the call of the learner's function in it.
    """
    first = rounds[0][0]
    alike = {requested_gradients(trial.arguments): (trial, call) for trial, call in rounds
             if trial.setting == first.setting}  # fmt: skip
    everything = requested_gradients(first.arguments)
    if everything is not None:
        (_, whole), (without, less) = alike[everything], alike[everything - {answer.wrt}]
        if 0 < whole.work <= less.work:
            return Mistake("extra-work", f"{answer.name} is computed even{when_requested(without)}")
    return None


def measured_gradients(
    exercise: CourseExercise, mistakes: Mapping[str, Mistake | None], nudged: Mapping[str, Nudged]
) -> dict[str, str]:
    """Return messages, by the answer's name, on the right gradients that the learner measured by finite differences.

    Args:
        exercise: the exercise.
        mistakes: by name the mistake of each answer; `None` if it is right.
        nudged: by the name of the argument, how the learner's code nudged it; an argument that was not nudged is
            missing.
    """
    return {
        answer.name: _measured_message(answer, nudged[answer.wrt])
        for answer in exercise.function.answers
        if mistakes[answer.name] is None and answer.wrt in nudged
    }


def _measured_message(answer: Answer, nudges: Nudged) -> str:
    """Return the message that a gradient was measured by finite differences; it does not depend on the seed.

    Args:
        answer: the gradient.
        nudges: the steps by which the input of the gradient was nudged.
    """
    unit, results = (
        ("j", "imaginary parts of the results") if nudges.is_imaginary else ("", "differences of the results")
    )
    step = " to ".join(dict.fromkeys(f"{size:.1g}{unit}" for size in (nudges.smallest, nudges.largest)))
    gradient = "what is returned" if answer.name.startswith(RETURN) else answer.name
    return (
        f"each entry of {answer.wrt} was changed alone, by {step}, and the {results}, divided by the step, give "
        f"{gradient}. This is how a gradient is measured; if it only checks your formula, remove it"
    )


def check_tight_memory(
    exercise: CourseExercise, right: Iterable[Answer], trial: Trial, reply: Frame | Unanswered
) -> dict[str, Mistake] | None:
    """Return, by name, the mistakes of the answers that fail where memory is too small for the forbidden array.

    This function makes no call; it judges the reply to one.

    Args:
        exercise: the exercise; the axes of the forbidden array are in its `never_holds`.
        right: the answers that are right in the usual trials, which alone are judged.
        trial: the one large trial, in which the forbidden array exceeds the memory limit.
        reply: the worker's reply to the call with this trial, or how the call ended without one.

    Returns:
        The mistakes of the answers that are wrong or missing in this call; of all answers if the child died. `None` if
        the call took too long, so that it is not known how much memory the code needs.
    """
    facts: Facts | None = None
    if isinstance(reply, Unanswered):
        is_over_time = reply.end == "timeout"
    else:
        facts = read(reply)
        errors = (facts.error, *(call.error for call in facts.calls))
        is_over_time = any(error is not None and error.kind == "timeout" for error in errors)
    if is_over_time:
        return None
    axes = ", ".join(axes_of(exercise.function.never_holds))
    says = f"the function fails where an array of shape ({axes}) does not fit into memory"
    wrong = [answer for answer in right if facts is None or not _is_right(exercise, answer, trial, facts)]
    return {answer.name: _memory_mistake(exercise.function, answer, says) for answer in wrong}


def _is_right(exercise: CourseExercise, answer: Answer, trial: Trial, facts: Facts) -> bool:
    """Return whether an answer is right in the one call that the facts of a reply describe."""
    given = GivenAnswer(exercise, answer, [trial], [(trial, call) for call in facts.calls])
    sound = len(facts.calls) == 1 and given.first_missing is None
    return sound and any(scaled_error(sample.given, sample.expected) <= RTOL for sample in given.samples)
