"""Checks an exercise's numbers: its references agree, wrong arrays fail, and misconceptions are recognised."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from grader.course.course import CourseExercise
from grader.course.exercise import Answer, Declaration, Exercise, Misconception, Routine, is_differentiable
from grader.course.sampling import Array, Sampler
from grader.course.trial_sizes import EXACT_KIND
from grader.diagnosis.diagnose import faithful_program_of, find_mistakes, wrong_array_of
from grader.diagnosis.words import diagnosis_of
from grader.judging.given_answer import is_right
from grader.judging.grading import Grader
from grader.reference.compare import agrees
from grader.reference.kinks import KINKED, allowed_gradient
from grader.reference.references import agrees_with_finite_differences, derivative_answers, gradcheck, one_thread
from grader.reference.trial import IMPOSSIBLE, Sample, Trial, sample_of
from grader.reference.trials import confirm, holds_in_a_similar_trial

Rule = Callable[[Trial], np.ndarray]
QUOTIENTS = frozenset("div true_divide divide reciprocal log log2 log10 sqrt rsqrt where masked_fill sign".split())


def check_numbers(exercise: CourseExercise, grader: Grader) -> Iterator[str]:
    """What is wrong with the numbers of an exercise, each a clause about it and what to do.

    Raises:
        SpecError: no trial can be made from the declaration, or finite differences contradict the references.
    """
    unknown = list(_unknown_names(exercise.function))
    yield from unknown
    if unknown:
        return
    with one_thread():  # threads for a few numbers cost more than they bring
        yield from _trial_problems(exercise, grader)


def _trial_problems(exercise: CourseExercise, grader: Grader) -> Iterator[str]:
    """Yield what is wrong with an exercise's trials: references, wrong answers that pass, and misconceptions."""
    trials = grader.trials(exercise).judged
    rng = np.random.default_rng(grader.seed)
    confirm(exercise.function, trials[0], rng)
    yield from _reference_problems(exercise, trials, rng)
    yield from _without_exact_entries(exercise.function, trials[0])
    others = Grader(grader.seed + 1).trials(exercise).judged
    for answer in exercise.function.answers:
        for what, rule in _wrong_arrays(answer, trials[0]):
            if _slips_through(exercise, answer, rule, trials, others):
                yield f"{answer.name} passes as {what}, which is not right elsewhere: let the samplers vary more."
    usual = [trial for trial in trials if trial.setting.kind != EXACT_KIND]
    for misconception in exercise.function.misconceptions:
        yield from _misconception(exercise, misconception, usual)


def _without_exact_entries(declaration: Declaration, trial: Trial) -> Iterator[str]:
    """Yield inputs that a mask, a kink or a quotient is made of, and whose entries are never exactly 0 nor equal."""
    if not isinstance(declaration, Exercise):
        return
    program = faithful_program_of(declaration, trial)
    if program is None:
        return
    for name in declaration.forward_names:
        argument = declaration.inputs[name]
        if not isinstance(argument, Sampler) or not argument.differentiable or argument.exact:
            continue
        used = (node.name for node in program.nodes if program.inputs[name] in dict(node.operands).values())
        if special := next((operation for operation in used if operation in KINKED | QUOTIENTS), ""):
            yield (
                f"{name} goes into {special}, and no trial has entries of it that are exactly 0 or equal: "
                "say in its sampler which numbers they may be, exact=((-1.0, 0.0, 1.0),)."
            )


def _unknown_names(declaration: Declaration) -> Iterator[str]:
    """The rules that ask for what no trial has."""
    known = (
        (*declaration.forward_names, *declaration.step_names, "out", "out_g")
        if isinstance(declaration, Exercise)
        else (*declaration.inputs, "answer")
    )
    for misconception in declaration.misconceptions:
        for name in inspect.signature(misconception.rule).parameters:
            if name not in known:
                yield f"{_named(misconception)} takes {name}, but there is {', '.join(known)}: correct its rule."


def _named(misconception: Misconception) -> str:
    return f"the misconception {misconception.code} about {misconception.answer}"


def _reference_problems(exercise: CourseExercise, trials: Sequence[Trial], rng: np.random.Generator) -> Iterator[str]:
    """Yield where autograd, finite differences and gradcheck disagree, or a routine rejects its own reference."""
    declaration = exercise.function
    if isinstance(declaration, Routine):
        for trial, answer in itertools.product(trials, declaration.answers):
            if not is_right(exercise, answer, trial, _reference(answer, trial)):
                yield f"its reference is not accepted in {trial.setting.kind}: correct reference or accepts."
        return
    for trial in trials:
        consistent = partial(_consistent, declaration, thorough=trial is trials[0])
        if not trial.metered and not holds_in_a_similar_trial(declaration, trial, rng, consistent):
            yield (
                f"autograd, finite differences and gradcheck disagree in {trial.setting.kind}: "
                "make forward differentiable where its samplers draw."
            )


def _is_at_kink(exercise: Exercise, trial: Trial) -> bool:
    """Return whether some gradient beside the inputs is another one than at the inputs."""
    asked = [answer for answer in derivative_answers(exercise) if trial.expected[answer.name] is not None]
    return not all(allowed_gradient(exercise, answer, trial).is_smooth for answer in asked)


def _consistent(exercise: Exercise, trial: Trial, *, thorough: bool) -> bool:
    """Of the Jacobian, what gradcheck looks at is all of it, or one product with it, chosen by chance.

    Where inputs lie on a kink, a difference measures the kink.
    """
    if trial.setting.kind == EXACT_KIND:
        return _is_at_kink(exercise, trial) or agrees_with_finite_differences(exercise, trial)
    differentiable = any(is_differentiable(exercise.inputs[name]) for name in exercise.forward_names)
    checked = not differentiable or gradcheck(exercise, trial, fast=not thorough)
    return checked and agrees_with_finite_differences(exercise, trial)


def _reference(answer: Answer, trial: Trial) -> np.ndarray:
    """The right array; raises ValueError where nothing may be stored."""
    expected = trial.expected[answer.name]
    if expected is None:
        raise ValueError(f"{answer.name} is not asked for")
    return expected


def _wrong_arrays(answer: Answer, first: Trial) -> Iterator[tuple[str, Rule]]:
    """What an idle or careless learner may write: constants, copies, a transpose, a forgotten 1/n.

    Args:
        first: the trial in whose shapes a copy must fit.
    """
    yield "zeros", lambda trial: np.zeros_like(_reference(answer, trial))
    yield "ones", lambda trial: np.ones_like(_reference(answer, trial))
    right = _reference(answer, first)
    arrays = {name: value for name, value in first.arguments.items() if isinstance(value, Array)}
    if first.out_g is not None and tuple(first.out_g.shape) == right.shape:
        yield "a copy of the upstream gradient", lambda trial: np.asarray(trial.out_g)
    if right.ndim >= 2:
        yield "the transpose", _transpose(answer)
    for name, value in arrays.items():
        if value.values.shape == right.shape:
            yield f"a copy of {name}", _copy(name)
        yield f"the answer times the number of entries of {name}", _times_entries(answer, name)
    for axis in first.setting.sizes:
        yield f"the answer times the size of {axis}", _times_size(answer, axis)


def _transpose(answer: Answer) -> Rule:
    def rule(trial: Trial) -> np.ndarray:
        right = _reference(answer, trial)
        return right.swapaxes(-1, -2) if right.ndim >= 2 else right

    return rule


def _copy(name: str) -> Rule:
    return lambda trial: np.asarray(trial.arguments[name].values, dtype="float64")


def _times_entries(answer: Answer, name: str) -> Rule:
    return lambda trial: _reference(answer, trial) * trial.arguments[name].values.size


def _times_size(answer: Answer, axis: str) -> Rule:
    return lambda trial: _reference(answer, trial) * trial.setting.sizes[axis]


def _slips_through(
    exercise: CourseExercise, answer: Answer, rule: Rule, trials: Sequence[Trial], others: Sequence[Trial]
) -> bool:
    """The rule passes every trial of one run, and yet it is not right: in double precision, or in another run."""
    samples = _samples(exercise, answer, rule, trials)
    if not all(is_right(exercise, answer, sample.trial, sample.given) for sample in samples):
        return False
    if isinstance(exercise.function, Routine) and exercise.function.accepts is not None:
        return False
    asked = (trial for trial in (*trials, *others) if trial.expected[answer.name] is not None)
    return not all(agrees(rule(trial), _reference(answer, trial), "float64") for trial in asked)


def _samples(exercise: CourseExercise, answer: Answer, rule: Rule, trials: Sequence[Trial]) -> list[Sample]:
    """Return the samples of an answer that code with this rule would give, in the trials that ask for the answer."""
    dtype = "float64" if isinstance(exercise.function, Routine) else "float32"
    with np.errstate(all="ignore"):
        return [
            sample_of(answer, trial, rule(trial).astype(dtype))
            for trial in trials
            if trial.expected[answer.name] is not None
        ]


def _misconception(exercise: CourseExercise, misconception: Misconception, trials: Sequence[Trial]) -> Iterator[str]:
    """Checks one misconception: it can be computed at every size, it is wrong, and it is recognised."""
    name, wrong = _named(misconception), {}
    for answer in exercise.function.answers:
        if misconception.answer in (answer.name, answer.name.partition(".")[0]):
            try:
                samples = _samples(exercise, answer, partial(wrong_array_of, misconception, answer), trials)
            except IMPOSSIBLE as error:
                yield f"{name} fails ({type(error).__name__}: {error}): make its rule work at every size."
                return
            if not all(is_right(exercise, answer, sample.trial, sample.given) for sample in samples):
                wrong[answer.name] = samples
    if not wrong:
        yield f"{name} gives the right answer in every trial: correct its rule, or remove it."
        return
    if not all(sample.is_finite for samples in wrong.values() for sample in samples):
        yield f"{name} gives inf or nan, so it is told as not-finite: keep its rule finite, or remove it."
        return
    right = [answer.name for answer in exercise.function.answers if answer.name not in wrong]
    named = diagnosis_of(next(iter(find_mistakes(exercise.function, wrong, right).values())))
    if named.code != misconception.code:
        yield f"{name} is told as {named.code} ({named.says}): give it that code, or sharpen its rule."
    elif misconception.says and named.says != misconception.says:
        yield f"{name} is told in other words ({named.says}): remove it, or the one before it."
