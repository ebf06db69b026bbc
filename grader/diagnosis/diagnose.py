"""Finds the mistake in each wrong answer of an exercise: records the forward pass as a program, and searches."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from grader.course.exercise import RETURN, Answer, Declaration, Exercise, Misconception, Routine
from grader.course.trial_sizes import EXACT_KIND
from grader.program.operation import Array
from grader.program.program import Program
from grader.reference.trial import IMPOSSIBLE, Samples, Trial, sample_of
from grader.results.records import AnswerResult
from grader.sandbox.answer_source import UNKNOWN_SOURCE, AnswerSource

from .candidates import edits
from .case import LARGE, Case, ProgramSample, WrongAnswers, is_near
from .facts import nothing_to_compare
from .hints import fix_first
from .mistake import Fact, Mistake, fact_kind
from .observations import observations, wrong_mask_fact
from .operators import OPERATORS
from .operators.pointwise import take_derivative_at_value
from .recorded_programs import faithful_program_of
from .search import MOST_WORK, explain
from .words import with_words

MOST_LARGE = 2  # trials with more than `LARGE` entries, each of which takes long; one is enough beside smaller ones
WORK_AGAIN = 15_000.0  # for other trials of answers that have been searched: what is likely is tried again
NO_SENTENCE = "this is the result of a known mistake"  # of a declared mistake without a sentence of its own
FOLLOWS = fact_kind(
    "follows",
    "this is right, given your {answers}; fix {those} first",
)


@dataclass(frozen=True, eq=False)
class DeclaredMistake:
    """A candidate: a mistake that an exercise declares as a wrong formula for an answer.

    Args:
        misconception: the declaration, with the formula.
        names: the targets of the wrong answers that the formula is about.
        right: for a formula of all that is returned at once, the answers that are right; else empty.
        rank: the likelihood rank.
    """

    misconception: Misconception
    names: tuple[str, ...]
    right: tuple[Answer, ...] = ()
    rank: float = 0.0

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the declared mistake, for each wrong answer whose arrays the formula gives in every trial.

        A formula for all that is returned must give every wrong answer, and leave every right one right; else the
        result is empty.
        """
        says = self.misconception.says or f"{NO_SENTENCE} ({self.misconception.code})"
        mistake = Mistake(self.misconception.code, facts=(Fact("declared", {}, says),), hints=self.misconception.hints)
        names = [name for name in self.names if self._reproduces_answer(*case.answers[name])]
        is_of_all = any(case.answers[name][0].name != self.misconception.answer for name in self.names)
        if is_of_all and not (len(names) == len(self.names) and self._leaves_right_answers(case)):
            return {}
        return dict.fromkeys(names, mistake)

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: a formula is about the answers that it is declared for alone.

        Args:
            case: not read.
        """
        return False

    def _reproduces_answer(self, answer: Answer, samples: Samples) -> bool:
        """Return whether the formula gives the learner's array in every trial, and in one trial not the right array.

        Args:
            answer: declares the answer, such as the gradient `w.g` of the target w.
            samples: its samples.
        """
        apart = False
        for trial, given, expected in samples:
            try:
                computed = wrong_array_of(self.misconception, answer, trial, given)
            except IMPOSSIBLE:
                return False
            if not is_near(given, computed, expected):
                return False
            apart = apart or not is_near(computed, expected, expected)
        return apart

    def _leaves_right_answers(self, case: Case) -> bool:
        """Return whether the formula gives the right array, in each trial, of each answer that the learner has right.

        Args:
            case: the wrong answers, whose trials are taken.
        """
        trials = [sample.trial for sample in case.answers[self.names[0]][1]]
        return all(
            sample_of(answer, trial, wrong_array_of(self.misconception, answer, trial)).agrees
            for answer in self.right
            for trial in trials
        )


def wrong_array_of(misconception: Misconception, answer: Answer, trial: Trial, given: Array | None = None) -> Array:
    """Return the array that a misconception's wrong formula gives for an answer in a trial.

    Args:
        misconception: what a spec declares: a wrong formula for one answer, or for all that a function returns, as a
            function of the trial's inputs, and of the output, the upstream gradient or the learner's array by name.
        answer: the answer, such as `w.g`. Of a formula for all that is returned, its item is taken: for `return.1` the
            second.
        trial: the trial.
        given: the learner's array, for a formula with a parameter `answer`; for `None` such a formula returns an
            example of its mistake.
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
    samples: Mapping[str, Samples],
    right: Iterable[str] = (),
    cases: list[Case] | None = None,
    budget: float = MOST_WORK,
    source: AnswerSource = UNKNOWN_SOURCE,
) -> dict[str, Mistake]:
    """Return the mistake in each wrong answer of a function, by name of the answer.

    Answers with a common cause have the same mistake: the first of them has its message, and the others name that
    answer as their `cause`. An answer that is the right consequence of the learner's answers nearer to the loss has the
    code `follows`; if its source tells that it is not computed from these, it has their mistake. Trials with exact
    entries are left out: at a kink a right answer may differ from the reference, and near a kink a mistake may divide
    by 0.

    Args:
        exercise: the exercise.
        samples: by name of the wrong answer its samples in float64, in the order of the run's trials.
        right: the names of the answers that are known to be right.
        cases: the cases (answers with their screens) of earlier searches for the same function, in more trials: where
            one has the same screens, only candidates that passed these are tried again. The new cases are appended.
        budget: the most work of a search, counted in calls of numpy; for answers of an earlier case `WORK_AGAIN`.
        source: the source of the learner's function.
    """
    answers = {answer.name: answer for answer in exercise.answers if answer.name in samples}
    compared = {
        name: [sample for sample in samples[name] if sample.trial.setting.kind != EXACT_KIND] for name in answers
    }
    mistakes = {name: nothing_to_compare() for name in answers if not compared[name]}
    for group in _groups_of_answers({name: answer for name, answer in answers.items() if compared[name]}):
        wrong = {_target_of(answers[name]): (answers[name], compared[name]) for name in group}
        known = [] if cases is None else cases
        mistakes |= _mistakes_of_group(exercise, wrong, frozenset(right), known, budget, source)
    causes = _first_answers({name: mistakes[name] for name in answers})
    return {name: with_words(replace(mistakes[name], cause=causes[name])) for name in answers}


def _first_answers(mistakes: Mapping[str, Mistake]) -> dict[str, str]:
    """Return for each answer the name of the first answer with the same cause; an empty text if it is the first itself.

    Answers for which an exercise declares the same sentence have the same cause.

    Args:
        mistakes: by name of the answer, in the order in which a learner sees them; the `cause` of each names the answer
            at which the search has placed the mistake.
    """
    first: dict[str, str] = {}
    for name, mistake in mistakes.items():
        first.setdefault(mistake.cause or name, name)
    causes = {name: first[mistake.cause or name] for name, mistake in mistakes.items()}
    answer_by_sentence: dict[str, str] = {}  # by sentence that an exercise declares, the first answer that it is about
    for name, mistake in mistakes.items():
        if causes[name] == name and (says := _declared_sentence(mistake)):
            causes[name] = answer_by_sentence.setdefault(says, name)
    return {name: "" if causes[cause] == name else causes[cause] for name, cause in causes.items()}


def _declared_sentence(mistake: Mistake) -> str:
    """Return the sentence that an exercise declares for a mistake; empty if there is none."""
    says = mistake.facts[0].says if len(mistake.facts) == 1 and mistake.facts[0].operator == "declared" else ""
    return "" if says.startswith(NO_SENTENCE) else says


def _groups_of_answers(answers: Mapping[str, Answer]) -> list[list[str]]:
    """Return the names of answers in groups that are searched together: of one kind, and no two with the same target.

    For the gradients `x.g` and `w.g` and a returned value: [["x.g", "w.g"], ["return"]].

    Args:
        answers: by its name, such as `x.g`, each answer.
    """
    groups: list[list[str]] = []
    for name, answer in answers.items():
        for group in groups:
            others = [answers[other] for other in group]
            if all(other.kind == answer.kind and _target_of(other) != _target_of(answer) for other in others):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _target_of(answer: Answer) -> str:
    """Return the target of an answer: the name of what is differentiated; the answer's own name where nothing is.

    For the answer `w.g`: `w`; for a value, `return`.
    """
    return answer.wrt or answer.name


def _mistakes_of_group(
    exercise: Declaration,
    answers: WrongAnswers,
    right: frozenset[str],
    cases: list[Case],
    budget: float,
    source: AnswerSource,
) -> dict[str, Mistake]:
    """Return the mistakes in a group of answers that are searched together, by name of the answer.

    Args:
        exercise: the exercise.
        answers: by target each wrong answer with its samples.
        right: the names of the answers that are known to be right.
        cases: the cases of earlier searches for the same function; the new case is appended.
        budget: the most work of the search.
        source: the source of the learner's function.
    """
    right_answers = tuple(answer for answer in exercise.answers if answer.name in right)
    right_targets = tuple(answer.wrt for answer in right_answers if answer.wrt)
    names = {target: answer.name for target, (answer, _) in answers.items()}
    case = case_of(exercise, answers, right_targets)
    accepts = isinstance(exercise, Routine) and exercise.accepts is not None
    others = [
        *declared_mistakes(exercise, case, right_answers),
        *observations(case, accepts=accepts),
    ]
    earlier = next(filter(case.is_screened_as, cases), None)
    if any(set(case.names) <= set(other.names) for other in cases):
        budget = min(budget, WORK_AGAIN)
    cases.append(case)
    mistakes = {
        names[target]: replace(mistake, cause=names.get(mistake.cause, ""))
        for target, mistake in explain(case, OPERATORS, others, budget, earlier).items()
    }
    for target, (answer, samples) in case.answers.items():
        mistake = mistakes.get(names[target])
        if mistake is not None and _is_at_unread_argument(mistake, samples[0].trial, source):
            fact = wrong_mask_fact(case, target, answer, samples)
            mistakes[names[target]] = mistake if fact is None else replace(fact, cause=mistake.cause)
    for target, roots in case.roots_of_followers.items():
        wrong = [names[root] for root in roots]
        behind = source.names_behind(names[target])
        if behind is None or not behind.isdisjoint(wrong):
            mistakes[names[target]] = replace(FOLLOWS("follows", answers=wrong), hints=fix_first(wrong, is_same=False))
        elif wrong[0] in mistakes:  # it is computed like these, and not from these
            mistakes[names[target]] = replace(mistakes[wrong[0]], cause=mistakes[wrong[0]].cause or wrong[0])
    return mistakes


def _is_at_unread_argument(mistake: Mistake, trial: Trial, source: AnswerSource) -> bool:
    """Return whether a mistake is that a derivative is taken at an argument which the source never reads.

    Of a mask the argument is then no more than another name for the number that is compared with: after
    `out = x.relu() - 0.5`, `out > 0` is `x > 0.5`.

    Args:
        mistake: the mistake in an answer.
        trial: a trial, with the arguments of the learner's function.
        source: the source of that function.
    """
    operator, parameters = mistake.facts[0].operator, mistake.facts[0].parameters
    if operator != take_derivative_at_value.name:
        return False
    return parameters["choice"] in trial.arguments and not source.may_read(parameters["choice"])


def declared_mistakes(exercise: Declaration, case: Case, right: tuple[Answer, ...]) -> Iterator[DeclaredMistake]:
    """Yield the misconceptions that an exercise declares about the wrong answers, as `DeclaredMistake`s.

    These are candidates: whether a formula gives the learner's numbers is tried when the search asks.

    Args:
        exercise: the exercise.
        case: the wrong answers.
        right: the right answers, which a formula for all that is returned must leave right.
    """
    for misconception in exercise.misconceptions:
        names = tuple(name for name, (answer, _) in case.answers.items() if misconception.answer == answer.name)
        if names:
            yield DeclaredMistake(misconception, names)
        elif misconception.answer == RETURN and isinstance(exercise, Routine):
            yield DeclaredMistake(misconception, tuple(case.answers), right)


def case_of(exercise: Declaration, answers: WrongAnswers, right: tuple[str, ...] = ()) -> Case:
    """Return the wrong answers of a function as a case: one sample for each trial, with its right program.

    Of the trials with very large arrays only one is kept, or `MOST_LARGE` if all trials are so large. The case has no
    samples where the exercise has no forward pass, or that of a trial cannot be recorded with the right gradients.

    Args:
        exercise: the exercise.
        answers: by target the wrong answer and its samples.
        right: the targets whose answers are known to be right.
    """
    trials = list({id(sample.trial): sample.trial for _, samples in answers.values() for sample in samples}.values())
    large = [trial for trial in trials if trial.entries > LARGE]
    spare = large[MOST_LARGE if len(large) == len(trials) else 1 :]
    recorded: list[ProgramSample] = []
    for trial in trials:
        if any(trial is other for other in spare):
            continue
        program = faithful_program_of(exercise, trial)
        if program is None:
            recorded = []
            break
        given = {
            target: sample.given
            for target, (answer, samples) in answers.items()
            for sample in samples
            if sample.trial is trial and trial.expected[answer.name] is not None
        }
        recorded.append(_case_sample(trial, program, given, answers))
    for sample in recorded:
        sample.program.peers[:] = [each.program for each in recorded]
    return Case(recorded, tuple(answers), tuple(name for name in right if name not in answers), answers)


def _case_sample(trial: Trial, program: Program, given: Mapping[str, Array], answers: WrongAnswers) -> ProgramSample:
    """Return one trial as a sample of a case, in which every answer is compared like a gradient.

    The prior gradient is subtracted from a learner's gradient. A Jacobian is summed over the axes of the output with
    random weights, which are the upstream gradient of the sample's program.

    Args:
        trial: the trial.
        program: its right program.
        given: the learner's array by target.
        answers: by target the wrong answer, whose kind and prior are needed here, and its samples.
    """
    if any(answer.kind == "jacobian" for answer, _ in answers.values()):
        output = program.nodes[program.forward.outputs[0]].value
        g = np.random.default_rng(0).standard_normal(output.shape)
        given = {
            name: _contract(g, array, program.nodes[program.forward.targets[name]].value)
            for name, array in given.items()
        }
        return ProgramSample(trial, replace(program, upstreams=(g,)), given)
    if program.forward.targets.keys().isdisjoint(answers):
        return ProgramSample(trial, replace(program, is_value=True), given)
    given = dict(given)
    for name, array in given.items():
        prior = trial.prior(answers[name][0])
        if prior is not None and prior.shape == array.shape:
            given[name] = array - prior
    return ProgramSample(trial, program, given)


def _contract(g: Array, jacobian: Array, target: Array) -> Array:
    """Return a gradient: the sum over the output's axes of the upstream gradient g times a Jacobian.

    An array of another shape than `(*output, *target)` becomes NaN, so that no wrong gradient of the target agrees with
    it: a Jacobian summed over the outputs has the target's shape.

    Args:
        g: the upstream gradient, shaped like the output.
        jacobian: shape: (*output, *target).
        target: the target's value.

    Returns:
        Shape: that of the target; that of `jacobian` where it is NaN.
    """
    if jacobian.shape != (*g.shape, *target.shape):
        return np.full(jacobian.shape, np.nan)
    return np.tensordot(g, jacobian, g.ndim)


def recorded_mistakes(exercise: Exercise, result: AnswerResult, trial: Trial) -> Iterator[Mistake]:
    """Yield the mistakes that a wrong answer from a record may have, each with its rewriting where a program is edited.

    They are found again among the edits with the operator of the record, or among the mistakes that the exercise
    declares. There are none where the record has another kind of mistake, such as two edits at once. There are several
    where edits differ in a choice that is in no message.

    Args:
        exercise: the exercise.
        result: a wrong answer from a record.
        trial: the first trial of the run, whose names and sizes are in the record.
    """
    record: Mapping[str, Any] = result.mistake or {}
    recorded: list[Mapping[str, Any]] = record.get("edits", [])
    code = result.code or ""
    if len(recorded) != 1:
        return
    if recorded[0].get("operator") == "declared":
        said = (each.says for each in exercise.misconceptions if (each.code, each.answer) == (code, result.name))
        yield from (Mistake(code, facts=(Fact("declared", {}, says),)) for says in said if says in result.message)
        return
    if (factor := _recorded_factor(recorded[0])) is not None:
        fact = Fact(recorded[0]["operator"], recorded[0]["parameters"])
        yield Mistake(code, facts=(fact,), rewrite=lambda right: _times(right, factor))
        return
    program, places = faithful_program_of(exercise, trial), record.get("at", [])
    if program is None:
        return
    for operator in (each for each in OPERATORS if each.name == recorded[0].get("operator")):
        for edit in edits(operator, program):
            at = tuple(dict.fromkeys(edit.spot.places(program)))
            if [list(place) for place in at] == places:
                facts = edit.facts(program)
                if facts[0].record == recorded[0]:
                    yield Mistake(code, facts=facts, at=at, rewrite=edit.apply)


def _recorded_factor(edit: Mapping[str, Any]) -> float | None:
    """Return the factor of a whole answer by which the only edit of a record multiplies; `None` for any other edit.

    Args:
        edit: such as {"operator": "factor-number", "parameters": {"factor": "1/2", "negative": False}}.
    """
    parameters = edit.get("parameters", {})
    if edit.get("operator") == "factor-sign":
        return -1.0
    if not str(edit.get("operator")).startswith("factor-") or "part" in parameters:
        return None
    try:
        factor = float(Fraction(str(parameters["factor"])))
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    return -factor if parameters.get("negative") else factor


def _times(program: Program, factor: float) -> Program:
    """Return a program whose gradients are all multiplied by a factor."""
    return replace(program, upstreams=tuple(factor * np.asarray(g) for g in program.upstreams))
