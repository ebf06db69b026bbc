"""From the wrong answers of an exercise to the mistake in each: records the forward pass, and searches."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.exercise import RETURN, Answer, Declaration, Exercise, InSteps, Misconception, Routine
from grader.program.operation import Array
from grader.program.program import Program
from grader.program.recording import Unrecordable, record
from grader.reference.answer_view import End
from grader.reference.compare import agrees, scaled_error
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.trial_sizes import EXACT_KIND

from .case import Case, Sample, near
from .explanation import explain
from .facts import Pair, nothing_to_compare, plain, wrong_in
from .mistake import Fact, Mistake
from .observations import observations
from .operators import OPERATORS

FAITHFUL = 1e-6  # how far a recorded gradient may be from the reference, in proportion to its greatest entry
Wrong = Mapping[str, tuple[Answer, Sequence[Pair]]]  # by target


@dataclass(frozen=True, eq=False)
class Declared:
    """A mistake that an exercise declares.

    Args:
        misconception: the author's wrong rule.
        wrong: for each target that the rule is about the answer, with the learner's arrays.
        right: of a rule for all that is returned at once, the answers that are right.
    """

    misconception: Misconception
    wrong: Wrong
    right: tuple[Answer, ...] = ()
    rank: float = 0.0

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake in each answer that the rule gives; one for all that is returned gives all, or none."""
        says = self.misconception.says or f"this is what a known slip gives ({self.misconception.code})"
        mistake = Mistake(self.misconception.code, (Fact("declared", {}, says),), hints=self.misconception.hints)
        names = [name for name, (answer, pairs) in self.wrong.items() if self._gives(answer, pairs)]
        if self._is_of_all and not (len(names) == len(self.wrong) and all(map(self._leaves_right, self.right))):
            return {}
        return dict.fromkeys(names, mistake)

    def disturbs(self, case: Case) -> bool:
        """Return that a rule is about the answers that it is declared for."""
        return False

    @property
    def _is_of_all(self) -> bool:
        """Return whether the rule gives several answers at once."""
        return any(answer.name != self.misconception.answer for answer, _ in self.wrong.values())

    def _gives(self, answer: Answer, pairs: Sequence[Pair]) -> bool:
        """Return whether the rule gives the learner's arrays, and is told apart from what is right."""
        apart = False
        for trial, array in pairs:
            right = End(answer, trial).right
            try:
                computed = array_of_rule(self.misconception, answer, trial, array)
            except IMPOSSIBLE:
                return False
            if not near(array, computed, right):
                return False
            apart = apart or not near(computed, right, right)
        return apart

    def _leaves_right(self, answer: Answer) -> bool:
        """Return whether the rule gives the right value of an answer in every trial."""
        trials = [trial for trial, _ in next(iter(self.wrong.values()))[1]]
        return all(agrees(array_of_rule(self.misconception, answer, t), End(answer, t).right) for t in trials)


def array_of_rule(misconception: Misconception, answer: Answer, trial: Trial, given: Array | None = None) -> Array:
    """Return what a declared rule gives for an answer in a trial.

    Args:
        misconception: declares the rule.
        answer: which answer; of a rule for all that is returned, its part is taken.
        trial: the trial.
        given: what the learner has, for a rule that looks at it; `None` asks for an example of the mistake.
    """
    known = {"answer": given, **trial.inputs, "out": trial.out, "out_g": trial.out_g}
    names = inspect.signature(misconception.rule).parameters
    wrong = misconception.rule(**{name: known[name] for name in names})
    if misconception.answer != answer.name and answer.place is not None:
        wrong = wrong[answer.place]
    return np.asarray(wrong.detach().numpy() if hasattr(wrong, "detach") else wrong, dtype=np.float64)


@np.errstate(all="ignore")  # an edit may divide by 0
def find_mistakes(
    exercise: Declaration,
    wrong: Mapping[str, Sequence[Pair]],
    right: Iterable[str] = (),
    cases: list[Case] | None = None,
) -> dict[str, Mistake]:
    """Return the mistake in each wrong answer of a function; one cause for several answers, where there is one.

    Trials with exact entries are left out: at a kink a right answer is not the reference, and beside one a mistake may
    divide by 0.

    Args:
        exercise: what the learner was to write.
        wrong: by answer, each trial with the learner's array in it, the first one of the run first.
        right: the answers that are known to be right.
        cases: what was explained of the same answers in more trials, whose work is not done again; what is explained
            here is added.
    """
    answers = {answer.name: answer for answer in exercise.answers if answer.name in wrong}
    pairs = {
        name: _in_double((trial, array) for trial, array in wrong[name] if trial.setting.kind != EXACT_KIND)
        for name in answers
    }
    mistakes = {name: nothing_to_compare() for name in answers if not pairs[name]}
    for group in _groups({name: answer for name, answer in answers.items() if pairs[name]}):
        own = {name: (answers[name], pairs[name]) for name in group}
        mistakes |= _mistakes_of(exercise, own, frozenset(right), [] if cases is None else cases)
    return {name: mistakes[name] for name in answers}


def _in_double(pairs: Iterable[Pair]) -> list[Pair]:
    """Return trials with the learner's arrays in double precision."""
    return [(trial, array.real.astype(np.float64)) for trial, array in pairs]


def _groups(answers: Mapping[str, Answer]) -> list[list[str]]:
    """Return the answers in groups that are searched together: of one kind, and each about another target."""
    groups: list[list[str]] = []
    for name, answer in answers.items():
        for group in groups:
            others = [answers[other] for other in group]
            if all(other.kind == answer.kind and _target(other) != _target(answer) for other in others):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _target(answer: Answer) -> str:
    """Return what an answer is about: what is differentiated, or the answer itself."""
    return answer.wrt or answer.name


def _mistakes_of(exercise: Declaration, answers: Wrong, right: frozenset[str], cases: list[Case]) -> dict[str, Mistake]:
    """Return the mistakes in one group of answers, by answer.

    Args:
        exercise: what the learner was to write.
        answers: by name, each answer with the trials and the learner's arrays.
        right: the names of the answers that are known to be right.
        cases: see `find_mistakes`.
    """
    wrong = {_target(answer): (answer, pairs) for answer, pairs in answers.values()}
    right_answers = tuple(answer for answer in exercise.answers if answer.name in right)
    case = case_of(exercise, wrong, tuple(answer.wrt for answer in right_answers if answer.wrt))
    names = {target: answer.name for target, (answer, _) in wrong.items()}
    accepts = isinstance(exercise, Routine) and exercise.accepts is not None
    others = [
        *declared(exercise, wrong, right_answers),
        *observations(wrong, accepts=accepts, recorded=bool(case.samples)),
    ]
    earlier = next(filter(case.is_screened_as, cases), None)
    cases.append(case)
    mistakes = {}
    for target, explanation in explain(case, OPERATORS, others, earlier=earlier).items():
        mistake = explanation.mistake
        at = next((each.at for each in (mistake, *explanation.others) if each.at), ())
        mistakes[names[target]] = replace(mistake, at=at, cause=names.get(explanation.cause, ""))
    return mistakes


def declared(exercise: Declaration, wrong: Wrong, right: tuple[Answer, ...]) -> Iterator[Declared]:
    """Yield the mistakes that an exercise declares for some wrong answers.

    Args:
        exercise: what the learner was to write.
        wrong: for each target the answer, with the trials and the learner's arrays.
        right: the answers that are right.
    """
    for misconception in exercise.misconceptions:
        own = {target: each for target, each in wrong.items() if misconception.answer == each[0].name}
        if own:
            yield Declared(misconception, own)
        elif misconception.answer == RETURN and isinstance(exercise, Routine):
            yield Declared(misconception, wrong, right)


def case_of(exercise: Declaration, wrong: Wrong, right: tuple[str, ...] = ()) -> Case:
    """Return the wrong answers as a case; one without any program where the forward pass cannot be recorded.

    Args:
        exercise: what the learner was to write.
        wrong: for each target the answer, with the trials and the learner's arrays.
        right: the targets whose answers are known to be right.
    """
    trials = {id(trial): trial for _, pairs in wrong.values() for trial, _ in pairs}
    samples: list[Sample] = []
    for trial in trials.values():
        program = faithful_program_of(exercise, trial)
        if program is None:
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
    if program.forward.targets.keys().isdisjoint(wrong):
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


def faithful_program_of(exercise: Declaration, trial: Trial) -> Program | None:
    """Return the forward pass of a trial as a program whose gradients are the reference's; `None` if there is none."""
    if not isinstance(exercise, Exercise):
        return None
    try:
        program = program_of(exercise, trial)
        trial.remember("program is faithful", lambda: _check_faithful(exercise, trial, program))
    except (Unrecordable, *IMPOSSIBLE):
        return None
    return program


def _check_faithful(exercise: Exercise, trial: Trial, program: Program) -> None:
    """Compare the gradients of a program with the reference.

    Raises:
        Unrecordable: they differ: something was recorded that autograd does not differentiate so.
    """
    for answer in exercise.answers:
        if answer.kind in ("gradient", "jacobian") and trial.expected[answer.name] is not None:
            gradients = program.gradients() if answer.kind == "gradient" else program.jacobians()
            if scaled_error(gradients[answer.wrt], End(answer, trial).new) > FAITHFUL:
                raise Unrecordable(f"the {answer.kind} of {answer.wrt} is another one than the reference")


def plain_facts(exercise: Declaration, wrong: Mapping[str, Sequence[Pair]]) -> dict[str, Mistake]:
    """Return the facts of each wrong answer that need no search: a wrong shape, or how many entries are off.

    Args:
        exercise: what the learner was to write.
        wrong: by answer, each trial with the learner's array in it.
    """
    return {
        answer.name: plain(answer, wrong_in(answer, _in_double(wrong[answer.name])))
        for answer in exercise.answers
        if answer.name in wrong
    }
