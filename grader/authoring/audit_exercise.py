"""Checks one exercise: its references agree, wrong arrays fail, misconceptions are recognised, and its texts are fit.

Of a quiz: right answers pass, declared mistakes are recognised, and computed keys are up to date.

A check yields a clause for each problem, which ends with what to do.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from grader.course.course import CourseExercise
from grader.course.exercise import Answer, Declaration, Exercise, Misconception, Routine, is_differentiable
from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression, Question, QuizMistake
from grader.course.quiz import Quiz
from grader.course.sampling import Array, Sampler
from grader.course.trial_sizes import EXACT_KIND
from grader.diagnosis.diagnose import find_mistakes, wrong_array_of
from grader.diagnosis.hints import HINTS, STEPS
from grader.diagnosis.recorded_programs import faithful_program_of
from grader.errors import CourseError
from grader.judging.given_answer import is_right
from grader.judging.grading import Grader
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.answer_sheet import right_answer
from grader.quiz.computed_answers import compute_keys
from grader.quiz.variants import PLACEHOLDER, ParameterValues, every_values, question_with_values, values_text
from grader.reference.compare import agrees
from grader.reference.kinks import KINKED, allowed_gradient
from grader.reference.references import agrees_with_finite_differences, derivative_answers, gradcheck, one_thread
from grader.reference.trial import IMPOSSIBLE, Sample, Trial, sample_of
from grader.reference.trials import confirm, holds_in_a_similar_trial

from .build import WorkedSolution, read_worked

# --- numbers -------------------------------------------------------------------------------------------------------

Rule = Callable[[Trial], np.ndarray]  # gives a wrong array for an answer in each trial, which the checks must fail
QUOTIENTS = frozenset("div true_divide divide reciprocal log log2 log10 sqrt rsqrt where masked_fill sign".split())


def check_numbers(exercise: CourseExercise, grader: Grader) -> Iterator[str]:
    """Yield what is wrong with the numbers of an exercise; only the unknown names in its declaration if it has any.

    Args:
        exercise: the exercise.
        grader: makes the trials of the exercise.

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
    trials = grader.trials(exercise).judged_trials
    rng = np.random.default_rng(grader.seed)
    confirm(exercise.function, trials[0], rng)
    yield from _reference_problems(exercise, trials, rng)
    yield from _inputs_without_exact_entries(exercise.function, trials[0])
    others = Grader(grader.seed + 1).trials(exercise).judged_trials
    for answer in exercise.function.answers:
        for name, rule in _wrong_arrays(answer, trials[0]):
            if _slips_through(exercise, answer, rule, trials, others):
                yield f"{answer.name} passes as {name}, which is not right elsewhere: let the samplers vary more."
    usual = [trial for trial in trials if trial.setting.kind != EXACT_KIND]
    for misconception in exercise.function.misconceptions:
        yield from _misconception_problems(exercise, misconception, usual)


def _inputs_without_exact_entries(declaration: Declaration, trial: Trial) -> Iterator[str]:
    """Yield a sentence on each input that a mask, a kink or a quotient is made of, if its sampler has no exact entries.

    Such an input is never exactly 0, and no two of its entries are equal, in any trial. Only operations that read the
    input itself count, and the first of them is named. Nothing is yielded where the forward pass cannot be recorded
    faithfully.

    Args:
        declaration: the exercise or routine; a routine has no such inputs.
        trial: a trial, in which the forward pass is recorded.
    """
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
    """Yield a sentence on each argument of a misconception's rule that no trial has."""
    inputs = (
        (*declaration.forward_names, *declaration.step_names, "out", "out_g")
        if isinstance(declaration, Exercise)
        else tuple(declaration.inputs)
    )
    known = (*inputs, "answer")
    for misconception in declaration.misconceptions:
        for name in inspect.signature(misconception.rule).parameters:
            if name not in known:
                yield f"{_name_of(misconception)} takes {name}, but there is {', '.join(known)}: correct its rule."


def _name_of(misconception: Misconception) -> str:
    """Return a misconception as the subject of a message: "the misconception transposed about w.g"."""
    return f"the misconception {misconception.code} about {misconception.answer}"


def _reference_problems(exercise: CourseExercise, trials: Sequence[Trial], rng: np.random.Generator) -> Iterator[str]:
    """Yield a sentence on each trial whose right answers are in doubt.

    In an exercise, autograd, finite differences and gradcheck disagree there; a routine refuses its own reference.

    Args:
        exercise: the exercise.
        trials: the trials of the exercise; gradcheck is thorough in the first.
        rng: draws similar trials, to try where one lies on a kink.
    """
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
    """Return whether some gradient changes when the inputs of a trial are moved very slightly."""
    answers = [answer for answer in derivative_answers(exercise) if trial.expected[answer.name] is not None]
    return not all(allowed_gradient(exercise, answer, trial).is_smooth for answer in answers)


def _consistent(exercise: Exercise, trial: Trial, *, thorough: bool) -> bool:
    """Return whether autograd, finite differences and gradcheck agree in a trial.

    A trial whose inputs lie on a kink passes, as a difference there measures the kink.

    Args:
        exercise: the exercise.
        trial: the trial.
        thorough: whether gradcheck compares the whole Jacobian, or only its product with one random direction.
    """
    if trial.setting.kind == EXACT_KIND:
        return _is_at_kink(exercise, trial) or agrees_with_finite_differences(exercise, trial)
    differentiable = any(is_differentiable(exercise.inputs[name]) for name in exercise.forward_names)
    checked = not differentiable or gradcheck(exercise, trial, fast=not thorough)
    return checked and agrees_with_finite_differences(exercise, trial)


def _reference(answer: Answer, trial: Trial) -> np.ndarray:
    """Return the right array of an answer in a trial.

    Raises:
        ValueError: the trial does not ask for the answer.
    """
    expected = trial.expected[answer.name]
    if expected is None:
        raise ValueError(f"{answer.name} is not asked for")
    return expected


def _wrong_arrays(answer: Answer, first: Trial) -> Iterator[tuple[str, Rule]]:
    """Yield rules for arrays that an idle or careless learner may store: constants, copies, a transpose, a missing 1/n.

    Args:
        answer: the answer.
        first: the trial in whose shapes a copy must fit.

    Yields:
        The name of the array for messages, and the rule that gives it in a trial.
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
    """Return the rule whose wrong array in a trial is the transpose of the right array."""

    def rule(trial: Trial) -> np.ndarray:
        """Return the right array with its last two axes exchanged; a vector unchanged."""
        right = _reference(answer, trial)
        return right.swapaxes(-1, -2) if right.ndim >= 2 else right

    return rule


def _copy(name: str) -> Rule:
    """Return the rule whose wrong array in a trial is a copy of the argument `name`."""
    return lambda trial: np.asarray(trial.arguments[name].values, dtype="float64")


def _times_entries(answer: Answer, name: str) -> Rule:
    """Return the rule whose wrong array in a trial is the right array times the number of entries of `name`."""
    return lambda trial: _reference(answer, trial) * trial.arguments[name].values.size


def _times_size(answer: Answer, axis: str) -> Rule:
    """Return the rule whose wrong array in a trial is the right array times the size of `axis`."""
    return lambda trial: _reference(answer, trial) * trial.setting.sizes[axis]


def _slips_through(
    exercise: CourseExercise, answer: Answer, rule: Rule, trials: Sequence[Trial], others: Sequence[Trial]
) -> bool:
    """Return whether a rule passes every trial of one run although it is wrong in double precision or in another run.

    `False` for a routine with `accepts`, of which several answers may be right.

    Args:
        exercise: the exercise.
        answer: the answer that the rule is tried for.
        rule: gives an array in each trial.
        trials: the trials of the run.
        others: the trials of another run.
    """
    samples = _samples(exercise, answer, rule, trials)
    if not all(is_right(exercise, answer, sample.trial, sample.given) for sample in samples):
        return False
    if isinstance(exercise.function, Routine) and exercise.function.accepts is not None:
        return False
    with_answer = (trial for trial in (*trials, *others) if trial.expected[answer.name] is not None)
    return not all(agrees(rule(trial), _reference(answer, trial), "float64") for trial in with_answer)


def _samples(exercise: CourseExercise, answer: Answer, rule: Rule, trials: Sequence[Trial]) -> list[Sample]:
    """Return the samples of an answer that code with this rule would give, in the trials that ask for the answer.

    Their arrays are float32, as a learner's are; those of a routine are float64.
    """
    dtype = "float64" if isinstance(exercise.function, Routine) else "float32"
    with np.errstate(all="ignore"):
        return [
            sample_of(answer, trial, rule(trial).astype(dtype))
            for trial in trials
            if trial.expected[answer.name] is not None
        ]


def _misconception_problems(
    exercise: CourseExercise, misconception: Misconception, trials: Sequence[Trial]
) -> Iterator[str]:
    """Yield what is wrong with a misconception, at most one sentence.

    Its rule fails in a trial, never gives an array of the answer's shape, is right in every trial, or gives inf or nan;
    or what it gives is recognised as another mistake, or reported in other words.
    """
    name, wrong = _name_of(misconception), {}
    for answer in exercise.function.answers:
        if misconception.answer in (answer.name, answer.name.partition(".")[0]):
            try:
                samples = _samples(exercise, answer, partial(wrong_array_of, misconception, answer), trials)
            except IMPOSSIBLE as error:
                yield f"{name} fails ({type(error).__name__}: {error}): make its rule work at every size."
                return
            is_exercise = isinstance(exercise.function, Exercise)  # what a routine returns may have other sizes
            if is_exercise and samples and not any(pair.given.shape == pair.expected.shape for pair in samples):
                shapes = f"{samples[0].given.shape}, and the answer is {samples[0].expected.shape}"
                yield f"{name} never has the shape of the answer ({shapes}): no wrong answer is compared with it."
                return
            if not all(is_right(exercise, answer, sample.trial, sample.given) for sample in samples):
                wrong[answer.name] = samples
    if not wrong:
        yield f"{name} gives the right answer in every trial: correct its rule, or remove it."
        return
    if not all(sample.is_finite for samples in wrong.values() for sample in samples):
        yield f"{name} gives inf or nan, so it is reported as not-finite: keep its rule finite, or remove it."
        return
    right = [answer.name for answer in exercise.function.answers if answer.name not in wrong]
    named = next(iter(find_mistakes(exercise.function, wrong, right).values()))
    if named.code != misconception.code:
        yield f"{name} is recognised as {named.code} ({named.says}): give it that code, or sharpen its rule."
    elif misconception.says and named.says != misconception.says:
        yield f"{name} is reported in other words ({named.says}): remove it, or the one before it."


# --- words ---------------------------------------------------------------------------------------------------------

ATOMS = (ast.Name, ast.Attribute, ast.Constant)
SHORTEST = 3


def check_hints(declaration: Declaration) -> Iterator[str]:
    """Yield what is wrong with the number and form of an exercise's hints."""
    for answer in declaration.answers:
        steps = declaration.hints.get(answer.name, ())
        count = 1 if _is_text(steps) else len(steps)
        if count != STEPS:
            yield f"{answer.name} has {count} of {STEPS} hints: write a nudge, a pointer, and one that is almost there."
        else:
            yield from _check_steps(f"a hint of {answer.name}", steps)
    for misconception in declaration.misconceptions:
        whose = f"the misconception {misconception.code} about {misconception.answer}"
        if _is_text(misconception.hints):
            yield f"the hints of {whose} are one string: put a comma behind it."
        elif len(misconception.hints) > STEPS:
            yield f"{whose} has {len(misconception.hints)} hints: keep {STEPS} at most."
        else:
            yield from _check_steps(f"a hint of {whose}", misconception.hints)


def _is_text(steps: Sequence[str]) -> bool:
    """Return whether `steps` is a string in place of a tuple of hints, as where a comma was forgotten."""
    return isinstance(steps, str)


def _check_steps(owner: str, steps: Sequence[str]) -> Iterator[str]:
    """Yield a sentence if one of some hints is empty, and one if a hint is repeated.

    Args:
        owner: the subject of these sentences, such as "a hint of w.g".
        steps: the hints.
    """
    if not all(step.strip() for step in steps):
        yield f"{owner} is empty: write it."
    if len({step.strip() for step in steps}) < len(steps):
        yield f"{owner} is there twice: write another one."


def check_giveaways(exercise: CourseExercise) -> Iterator[str]:
    """Yield a sentence on each hint and other text for learners that contains a formula of the worked solution.

    Raises:
        CourseError: the worked solution cannot be read.
    """
    solution = formulas(read_worked(exercise))
    for name, text in _texts(exercise.function):
        for formula in solution:
            if gives_away(formula, text):
                yield f"{name} gives the formula away ({formula}): ask for it instead."


def _texts(declaration: Declaration) -> Iterator[tuple[str, str]]:
    """Yield every text that a learner may read on the way to an answer, after its name for messages.

    These are the exercise's hints, the facts and hints of its misconceptions, and the general hints of every code.
    """
    for name, steps in declaration.hints.items():
        yield from ((f"hint {i} of {name}", step) for i, step in enumerate(steps, 1))
    for misconception in declaration.misconceptions:
        whose = f"the misconception {misconception.code} about {misconception.answer}"
        yield f"the fact of {whose}", misconception.says
        yield from ((f"a hint of {whose}", step) for step in misconception.hints)
    for code, code_hints in HINTS.items():
        yield from ((f"a hint of {code}", hint) for hint in code_hints)


def formulas(solution: WorkedSolution, *, final: bool = False) -> list[str]:
    """Return every right-hand side in the marked regions that is more than a name or a number.

    Each is there once; one of fewer than `SHORTEST` characters without spaces is left out.

    Args:
        solution: the worked solution.
        final: whether to return only those that are returned or stored as an answer, and no intermediate ones.
    """
    values = [
        node.value
        for node in ast.walk(solution.tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Return))
        and any(begin < node.lineno < end for begin, end in solution.regions)
        and not (final and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))
    ]
    texts = (ast.unparse(value) for value in values if value is not None and not isinstance(value, ATOMS))
    return [text for text in dict.fromkeys(texts) if len(re.sub(r"\s", "", text)) >= SHORTEST]


def gives_away(formula: str, text: str) -> bool:
    """Return whether a text contains a formula, however it is spaced."""
    return bool(_pattern(formula).search(_normal(text)))


def _pattern(formula: str) -> re.Pattern[str]:
    """Return a pattern for a formula with any whitespace between its parts, not in the middle of a longer word."""
    parts = re.findall(r"\w+|\S", _normal(formula))
    return re.compile(r"(?<![\w.])" + r"\s*".join(map(re.escape, parts)) + r"(?!\w)")


def _normal(text: str) -> str:
    """Return a text with `out.g` in place of `out_g`, and `w.t()` in place of `w.T`, to compare it with others."""
    return re.sub(r"\.m?T\b", ".t()", re.sub(r"(?<=\w)_g\b", ".g", text))


def check_signature(exercise: CourseExercise) -> Iterator[str]:
    """Yield a sentence on each argument that the docstring of the worked function does not describe.

    If its arguments are not those that spec.py declares, yield a sentence on that alone.

    Raises:
        CourseError: the worked solution cannot be read.
    """
    function, declared = read_worked(exercise).function, list(exercise.function.argument_names)
    taken = _argument_names(function)
    if taken != declared:
        yield f"it takes ({', '.join(taken)}), but spec.py declares ({', '.join(declared)}): make them the same."
        return
    described = re.findall(r"^\s*(\w+):", ast.get_docstring(function) or "", re.MULTILINE)
    for name in declared:
        if name not in described:
            yield f"its docstring does not describe {name}: add a line `{name}: ...` with its shape."


def takes_declared_inputs(exercise: CourseExercise) -> bool:
    """Return whether the worked function takes the inputs that are declared, so that it can be called.

    Raises:
        CourseError: the worked solution cannot be read.
    """
    return _argument_names(read_worked(exercise).function) == list(exercise.function.argument_names)


def _argument_names(function: ast.FunctionDef) -> list[str]:
    """Return the names of the positional arguments of a function, in order."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


# --- quizzes -------------------------------------------------------------------------------------------------------


def check_quiz(exercise: CourseExercise) -> Iterator[str]:
    """Yield what is wrong with a quiz, each a clause that ends with what to do.

    Raises:
        SpecError: the file of the quiz cannot be read, or a listing cannot be run.
    """
    quiz = exercise.quiz
    keys = compute_keys(quiz)
    if keys != quiz.keys:
        yield "the computed answers of its predictions are out of date: write them with: handgrad build"
    quiz = Quiz(quiz.questions, keys)
    yield from _quiz_giveaways(exercise)
    for name, question in quiz.questions.items():
        for number, step in enumerate(question.hints, 1):
            if isinstance(question, Expression) and gives_away(question.right, step):
                yield f"hint {number} of {name} gives the formula away: ask for it instead."
        for values in every_values(question):
            posed, shown_name = question_with_values(quiz, name, values), _name_with_values(name, values)
            if len(posed.wrong) < len(question.wrong):
                yield f"{shown_name}: two of its wrong answers are the same: draw from other numbers."
            for says in _question_problems(posed):
                yield f"{shown_name}: {says}"


def _quiz_giveaways(quiz: CourseExercise) -> Iterator[str]:
    """Yield a sentence on each question of a quiz that contains a formula of a worked solution of its unit."""
    exercises = [e for e in quiz.course.exercises if e.unit == quiz.unit and not e.is_quiz]
    answers: set[str] = set()
    for exercise in exercises:
        with suppress(CourseError):  # a solution that cannot be read is a finding of that exercise
            answers |= set(formulas(read_worked(exercise), final=True))
    for name, question in quiz.quiz.questions.items():
        for formula in sorted(answers):
            if any(gives_away(formula, text) for text in _question_texts(question)):
                yield f"{name} contains the answer to an exercise ({formula}): ask in other words."


def _question_texts(question: Question) -> Iterator[str]:
    """Yield all texts of a question that are read before it is answered."""
    yield from (question.ask, question.listing, *question.hints)
    if isinstance(question, (Choice, Choices)):
        yield from (right if isinstance(right, str) else right.text for right in question.right.values())
        yield from (wrong.text for wrong in question.wrong.values())


def _name_with_values(name: str, values: ParameterValues) -> str:
    """Return the name of a question, with the values of its parameters if it has any."""
    return f"{name} ({values_text(values)})" if values else name


def _question_problems(question: AnswerableQuestion) -> Iterator[str]:
    """Yield a sentence on each fault of a question in one variant: placeholders, right and wrong answers, mistakes.

    If a choice is both right and wrong, a sentence says so, and no answer is judged.
    """
    if question.params:
        texts = [question.ask, question.because, *question.hints, *_answer_texts(question)]
        for placeholder in (match for text in texts for match in PLACEHOLDER.findall(text)):
            yield f"{{{placeholder}}} is not worked out: use the names of params, or other brackets."
    if set(question.right) & set(question.wrong) and isinstance(question, (Choice, Choices)):
        yield "a choice is both right and wrong: give it another name."
        return
    mistake_in_right = mistake_in(question, right_answer(question))
    if mistake_in_right is not None:
        verdict = f"{mistake_in_right.code} ({mistake_in_right.says})"
        yield f"its right answer, {right_answer(question)}, is judged as {verdict}: correct it."
    elif not question.wrong:
        yield "it declares no wrong answer: add what a learner would get wrong, with what that reveals."
    for answer, mistake in _wrong_answers(question).items():
        judged = mistake_in(question, answer)
        if judged is None:
            yield f"its wrong answer, {answer}, passes: correct it."
        elif judged != mistake:
            verdict = f"{judged.code} ({judged.says})"
            yield f"its wrong answer, {answer}, is judged as {verdict}: sharpen it, or remove the other."


def _answer_texts(question: AnswerableQuestion) -> Iterator[str]:
    """Yield the texts of a question other than what it asks: its options, and what is said after an answer."""
    if isinstance(question, Choices):
        yield from (part for option in question.right.values() for part in (option.text, option.says))
    if isinstance(question, (Choice, Choices)):
        yield from (option.text for option in question.wrong.values())
    yield from (mistake.says for mistake in question.wrong.values())


def _wrong_answers(question: AnswerableQuestion) -> Mapping[str, QuizMistake]:
    """Return the declared mistakes of a question, each by a wrong answer that has it, such as "a, c" for choices.

    Of several choices: the right ones with a wrong one, for its mistake; and without one of them, for the mistake of
    leaving it out, unless none would be left.
    """
    if not isinstance(question, Choices):
        return dict(question.wrong)
    right = list(question.right)
    added = {", ".join([*right, label]): option for label, option in question.wrong.items()}
    dropped = {", ".join(other for other in right if other != label): o for label, o in question.right.items()}
    return {answer: mistake for answer, mistake in {**added, **dropped}.items() if answer}
