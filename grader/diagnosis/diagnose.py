"""From the wrong answers of an exercise to the mistake in each: records the forward pass, and searches."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.exercise import Answer, Declaration, Exercise, InSteps, Misconception
from grader.program.operation import Array
from grader.program.program import Program
from grader.program.recording import Unrecordable, record
from grader.reference.answer_view import End
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.trial_sizes import EXACT_KIND

from .case import Case, Sample, near
from .explanation import explain
from .facts import Pair
from .mistake import Fact, Mistake
from .observations import observations
from .operators import OPERATORS

Wrong = Mapping[str, tuple[Answer, Sequence[Pair]]]  # by target


@dataclass(frozen=True, eq=False)
class Declared:
    """A mistake that an exercise declares.

    Args:
        misconception: the author's wrong rule.
        wrong: for each target that the rule is about the answer, with the learner's arrays.
    """

    misconception: Misconception
    wrong: Wrong
    rank: float = 0.0

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake in each answer that the rule gives."""
        says = self.misconception.says or f"this is what a known slip gives ({self.misconception.code})"
        mistake = Mistake(self.misconception.code, (Fact("declared", {"says": says}),), hints=self.misconception.hints)
        return {name: mistake for name, (answer, pairs) in self.wrong.items() if self._gives(answer, pairs)}

    def disturbs(self, case: Case) -> bool:
        """Return that a rule is about the answers that it is declared for."""
        return False

    def _gives(self, answer: Answer, pairs: Sequence[Pair]) -> bool:
        """Return whether the rule gives the learner's arrays, and is told apart from what is right."""
        apart = False
        for trial, array in pairs:
            right = End(answer, trial).right
            try:
                computed = array_of_rule(self.misconception, answer, trial)
            except IMPOSSIBLE:
                return False
            if not near(array, computed, right):
                return False
            apart = apart or not near(computed, right, right)
        return apart


def array_of_rule(misconception: Misconception, answer: Answer, trial: Trial) -> Array:
    """Return what a declared rule gives for an answer in a trial."""
    known = {"answer": None, **trial.inputs, "out": trial.out, "out_g": trial.out_g}
    names = inspect.signature(misconception.rule).parameters
    wrong = misconception.rule(**{name: known[name] for name in names})
    return np.asarray(wrong.detach().numpy() if hasattr(wrong, "detach") else wrong, dtype=np.float64)


def find_mistakes(
    exercise: Declaration, first: Trial, wrong: Mapping[str, Sequence[Pair]], right: Iterable[str] = ()
) -> dict[str, Mistake]:
    """Return the mistake in each wrong answer of a function; one cause for several answers, where there is one.

    Trials with exact entries are left out: at a kink a right answer is not the reference, and beside one a mistake may
    divide by 0.

    Args:
        exercise: what the learner was to write.
        first: the first trial of the run.
        wrong: by answer, each trial with the learner's array in it.
        right: the answers that are known to be right.
    """
    targets = tuple(answer.wrt for answer in exercise.answers if answer.name in set(right) and answer.wrt)
    answers = {answer.name: answer for answer in exercise.answers if answer.name in wrong}
    pairs = {
        name: [(trial, a.real.astype(np.float64)) for trial, a in wrong[name] if trial.setting.kind != EXACT_KIND]
        for name in answers
    }
    mistakes: dict[str, Mistake] = {}
    for group in _groups(exercise, answers):
        mistakes |= _mistakes_of(exercise, {name: (answers[name], pairs[name]) for name in group}, targets)
    return {name: mistakes[name] for name in answers}


def _groups(exercise: Declaration, answers: Mapping[str, Answer]) -> list[list[str]]:
    """Return the answers in groups that are searched together: of one kind, and each about another target."""
    groups: list[list[str]] = []
    for name, answer in answers.items():
        for group in groups:
            others = [answers[other] for other in group]
            if all(other.kind == answer.kind and other.wrt != answer.wrt for other in others):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _mistakes_of(exercise: Declaration, answers: Wrong, right: tuple[str, ...]) -> dict[str, Mistake]:
    """Return the mistakes in one group of answers, by answer.

    Args:
        exercise: what the learner was to write.
        answers: by name, each answer with the trials and the learner's arrays.
        right: the targets whose answers are known to be right.
    """
    wrong = {answer.wrt or name: (answer, pairs) for name, (answer, pairs) in answers.items()}
    case = case_of(exercise, wrong, right)
    declared = [
        Declared(each, {target: own for target, own in wrong.items() if own[0].name == each.answer})
        for each in exercise.misconceptions
    ]
    names = {target: answer.name for target, (answer, _) in wrong.items()}
    explained = explain(case, OPERATORS, [*declared, *observations(wrong)])
    return {names[target]: replace(each.mistake, cause=names.get(each.cause, "")) for target, each in explained.items()}


def case_of(exercise: Declaration, wrong: Wrong, right: tuple[str, ...] = ()) -> Case:
    """Return the wrong answers as a case; one without any program where the forward pass cannot be recorded.

    Args:
        exercise: what the learner was to write.
        wrong: for each target the answer, with the trials and the learner's arrays.
        right: the targets whose answers are known to be right.
    """
    samples: list[Sample] = []
    trials = {id(trial): trial for _, pairs in wrong.values() for trial, _ in pairs}
    if isinstance(exercise, Exercise) and all(answer.kind != "verdict" for answer, _ in wrong.values()):
        for trial in trials.values():
            try:
                program = program_of(exercise, trial)
            except (Unrecordable, *IMPOSSIBLE):
                samples = []
                break
            given = {
                target: array
                for target, (answer, pairs) in wrong.items()
                for own, array in pairs
                if own is trial and trial.expected[answer.name] is not None
            }
            samples.append(_sample(trial, program, given, wrong))
    return Case(samples, tuple(wrong), tuple(name for name in right if name not in wrong))


def _sample(trial: Trial, program: Program, given: Mapping[str, Array], wrong: Wrong) -> Sample:
    """Return one trial; what was stored before is taken away, and a Jacobian is seen along one upstream gradient."""
    if any(answer.kind == "jacobian" for answer, _ in wrong.values()):
        output = program.nodes[program.forward.outputs[0]].value
        g = np.random.default_rng(0).standard_normal(output.shape)
        given = {
            name: _along(g, array, program.nodes[program.forward.targets[name]].value) for name, array in given.items()
        }
        return Sample(trial, replace(program, upstreams=(g,)), given)
    if any(answer.kind == "value" for answer, _ in wrong.values()):
        return Sample(trial, replace(program, is_value=True), given)
    given = dict(given)
    for name, array in given.items():
        prior = End(wrong[name][0], trial).prior
        if prior is not None and prior.shape == array.shape:
            given[name] = array - prior
    return Sample(trial, program, given)


def _along(g: Array, jacobian: Array, target: Array) -> Array:
    """Return the product of an upstream gradient and a Jacobian; the Jacobian itself where it has another shape."""
    if jacobian.shape != (*g.shape, *target.shape):
        return jacobian
    return np.tensordot(g, jacobian, g.ndim)


def program_of(exercise: Exercise, trial: Trial) -> Program:
    """Return the forward pass of a trial as a program, which is recorded once.

    Raises:
        Unrecordable: it cannot be recorded.
    """

    def recorded() -> Program:
        forward = exercise.forward.values if isinstance(exercise.forward, InSteps) else exercise.forward
        program = record(
            forward,
            {name: trial.inputs[name] for name in exercise.forward_names},
            trial.out_g,
            targets=[answer.wrt for answer in exercise.answers if answer.wrt in exercise.step_names],
            output_name=exercise.output_name,
            upstream_name=exercise.upstream_name if exercise.gives_upstream else "",
        )
        return replace(program, sizes=trial.setting.sizes)

    program: Program = trial.remember("program", recorded)
    return program
