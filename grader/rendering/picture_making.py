"""The making of pictures after a verdict: the learner's array, finite differences, their difference, and the graph.

The graph is the forward pass, with the nodes marked that a diagnosis or a record names. Pictures are made only on
request, and never become a part of a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from grader.course.course import CourseExercise
from grader.course.exercise import Answer, Exercise
from grader.course.shapes import Axes, describe, describe_guessed, guess_axes
from grader.diagnosis.diagnose import faithful_program_of, find_mistakes
from grader.diagnosis.operators.places import operation_label
from grader.judging.given_answer import is_right
from grader.judging.judge import Judge
from grader.program.forward import Node, Place
from grader.program.program import Program
from grader.reference.compare import ATOL_FOR_ZERO, RTOL
from grader.reference.references import finite_difference_answer
from grader.reference.trial import IMPOSSIBLE, Sample, Trial, describe_options
from grader.reference.trials import first_trial, random_numbers
from grader.results.records import AnswerResult, ExerciseResult

from .heat_maps import largest_magnitude
from .picture_data import ExercisePictures, Graph, GraphNode, Grid, Picture, why_no_picture

RIGHT = "its numbers are right, so there is nothing to draw"
SHADES, NEXT_TO_NOTHING = 4, 1e-6
KEPT_BACK = (
    "This course keeps expected values back (show_expected in course.yaml): there are colours in place of numbers. "
    "++ and -- are more than half of the largest entry."
)
MANY_RIGHT = "More than one answer is right here, so there is no other array to compare it with."


def make_pictures(exercise: CourseExercise, result: ExerciseResult, judge: Judge) -> ExercisePictures:
    """Return the pictures of all answers that are not right, and the forward pass if any of them has arrays.

    Args:
        exercise: the exercise.
        result: its result.
        judge: the judge that made the result, with the learner's arrays.
    """
    wrong = [answer for answer in result.answers if answer.status != "passed"]
    answers = {answer.name: answer for answer in exercise.function.answers}
    pictures = tuple(_picture_of(judge, answers[answer.name], answer) for answer in wrong)
    drawn = [answers[picture.answer] for picture in pictures if picture.grids]
    return ExercisePictures(exercise.id, pictures, _graph_of(judge, drawn) if drawn else None)


def _picture_of(judge: Judge, answer: Answer, result: AnswerResult) -> Picture:
    """Return the picture of an answer in the first trial in which it is wrong, or the reason why there is none."""
    wrong = _first_wrong_sample(judge, answer)
    if wrong is None:
        return Picture(answer.name, note=RIGHT if judge.given[answer.name].samples else why_no_picture(result))
    grids, note = _grids(judge, answer, wrong.trial, wrong.given.real.astype("float64"))
    return Picture(answer.name, _describe_trial(wrong.trial), grids, note)


def _first_wrong_sample(judge: Judge, answer: Answer) -> Sample | None:
    """Return the first sample in which an answer is not right; `None` where there is none."""
    samples = judge.given[answer.name].samples
    return next((sample for sample in samples if not _is_right(judge, answer, sample)), None)


def _is_right(judge: Judge, answer: Answer, sample: Sample) -> bool:
    """Return whether the array of a sample has the right shape and, up to rounding, the right numbers."""
    return sample.has_shape and is_right(judge.exercise, answer, sample.trial, sample.given)


def _describe_trial(trial: Trial) -> str:
    """Return a trial in words: its kind, the sizes of its axes, and its options."""
    sizes = ", ".join(f"{axis}={size}" for axis, size in trial.setting.sizes.items() if not axis.startswith("_"))
    chosen = describe_options(trial)
    kind = trial.setting.kind if trial.setting.sizes else ""  # a trial of plain numbers has no sizes
    return ", ".join(part for part in (kind, sizes, chosen and f"where {chosen}") if part)


def _grids(judge: Judge, answer: Answer, trial: Trial, yours: np.ndarray) -> tuple[tuple[Grid, ...], str]:
    """Return the grids of a wrong answer in a trial, and a note on them.

    Args:
        judge: the judge of the result.
        answer: the answer.
        trial: a trial in which it is wrong.
        yours: the learner's array, float64, of any shape.
    """
    expected, sizes = _expected(answer, trial), trial.setting.sizes
    axes, shape = _axes_of(answer, trial, expected), expected.shape
    own = Grid("yours", axes if yours.shape == shape else guess_axes(yours.shape, sizes), yours)
    if getattr(judge.exercise.function, "accepts", None) is not None:
        return (replace(own, limit=largest_magnitude(yours)),), MANY_RIGHT
    right, title, note = _reference_array(judge, answer, trial)
    grids = [own, Grid(title, axes, right)]
    if yours.shape == shape:
        with np.errstate(all="ignore"):
            off = np.where(_agree_but_for_rounding(yours, expected), 0.0, yours - right)
        grids.append(Grid(f"yours - {title}", axes, off, "difference"))
    limit = largest_magnitude(*(grid.values for grid in grids))
    grids = [replace(grid, limit=limit) for grid in grids]
    if not judge.exercise.course.policy.show_expected:
        grids, note = [shade(grid) for grid in grids], f"{note} {KEPT_BACK}".strip()
    return tuple(grids), note


def shade(grid: Grid) -> Grid:
    """Return a grid without its numbers: each entry becomes its sign times its magnitude in `SHADES` steps.

    Only an entry that is exactly 0 becomes 0.
    """
    if not grid.limit:
        return replace(grid, shaded=True)
    with np.errstate(all="ignore"):
        steps = np.ceil(SHADES * np.abs(grid.values) / grid.limit - NEXT_TO_NOTHING)
    return replace(grid, values=np.sign(grid.values) * steps, limit=float(SHADES), shaded=True)


def _expected(answer: Answer, trial: Trial) -> np.ndarray:
    """Return the right array of an answer in a trial that is compared, where it is never `None`."""
    expected = trial.expected[answer.name]
    assert expected is not None
    return expected


def _reference_array(judge: Judge, answer: Answer, trial: Trial) -> tuple[np.ndarray, str, str]:
    """Return the array that the learner's is compared with, its title, and a note on how it was computed."""
    declaration = judge.exercise.function
    if not isinstance(declaration, Exercise) or answer.kind == "value":
        return _expected(answer, trial), "right", ""
    expected, measured = _expected(answer, trial), finite_difference_answer(declaration, answer, trial)
    note = "nudged: by finite differences, one entry nudged at a time"
    prior = trial.arguments[answer.wrt].g if answer.stored else None
    if prior is not None:
        measured, note = measured + prior, f"{note}, added to the {answer.name} that was there before"
    return (
        np.where((expected == 0) & _agree_but_for_rounding(measured, expected), 0.0, measured),
        "nudged",
        f"{note}.",
    )


def _axes_of(answer: Answer, trial: Trial, right: np.ndarray) -> Axes:
    """Return the axis names of an answer in a trial; axes before those of its input are named by their sizes.

    Args:
        answer: the answer.
        trial: the trial.
        right: the right array, whose axes are named.
    """
    known = trial.axes(answer.wrt) if answer.kind != "value" and answer.wrt else None
    if known is None:
        return guess_axes(right.shape, trial.setting.sizes)
    leading = right.shape[: right.ndim - len(known)]
    return (*guess_axes(leading, trial.setting.sizes), *known)


def _agree_but_for_rounding(yours: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return a boolean array of the shape of both: whether their entries differ by no more than rounding."""
    with np.errstate(all="ignore"):
        largest = np.abs(right).max(initial=0.0)
        near: np.ndarray = np.abs(yours - right) <= (RTOL["float32"] * largest or ATOL_FOR_ZERO["float32"])
    return near


def _graph_of(judge: Judge, answers: Sequence[Answer]) -> Graph | None:
    """Return the forward pass with the places of the diagnoses marked; `None` if the exercise has no forward pass."""
    declaration, first = judge.exercise.function, judge.trials[0]
    if not isinstance(declaration, Exercise):
        return None
    wrong = _first_wrong_sample(judge, answers[0])
    drawn = first if wrong is None else wrong.trial
    program, named_in = (faithful_program_of(declaration, trial) for trial in (drawn, first))
    if program is None or named_in is None:
        return None
    if [node.key for node in program.nodes] != [
        node.key for node in named_in.nodes
    ]:  # places would be those of other nodes
        drawn, program = first, named_in
    named = {answer.name: _places_of(judge, answer) for answer in answers}
    return graph_of(program, drawn, {answer.wrt: answer.name for answer in answers if answer.wrt}, named)


def _places_of(judge: Judge, answer: Answer) -> tuple[Place, ...]:
    """Return the places in the forward pass of the mistake in an answer; none if the answer is right.

    A declared misconception has no places. It gets those of an edit of the forward pass that gives the same numbers and
    has the same code, if there is one.

    Args:
        judge: the judge of the result.
        answer: the answer.
    """
    mistake = judge.mistakes.get(answer.name)
    if mistake is None or mistake.at or not judge.exercise.function.misconceptions:
        return () if mistake is None else mistake.at
    declaration = replace(judge.exercise.function, misconceptions=())
    other = find_mistakes(declaration, {answer.name: judge.given[answer.name].to_explain})[answer.name]
    return other.at if other.code == mistake.code else ()


def graph_of(
    program: Program, trial: Trial, answers: Mapping[str, str], places: Mapping[str, Sequence[Place]]
) -> Graph:
    """Return the graph of all nodes that the output is computed from.

    Args:
        program: the forward pass of a trial with the sizes that are to be shown.
        trial: that trial.
        answers: names of the answers that are drawn, by the input or step that each is the gradient of.
        places: by answer, the places in the program that its diagnosis names.
    """
    out = program.forward.outputs[-1]
    read = {out}  # with the numbers that no gradient flows to, such as a slope that is an argument
    for node in reversed(program.nodes):
        read |= {operand for _, operand in node.operands} if node.id in read else set()
    shown = [node for node in program.nodes if node.id in read]
    names = {i: name for name, i in program.inputs.items()}
    keys = {node.id: names.get(node.id, f"%{node.id}") for node in shown}
    answered = {i: answers[name] for name, i in program.forward.targets.items() if name in answers}
    nodes = {
        keys[node.id]: GraphNode(
            keys[node.id],
            names.get(node.id) or operation_label(node),
            _shape(node, names.get(node.id, ""), trial),
            tuple(dict.fromkeys(keys[operand] for _, operand in node.operands)),
            answered.get(node.id, ""),
            tuple(answer for answer, own in places.items() if any(place[0] == node.id for place in own)),
            frozenset(
                keys[operand]
                for slot, operand in node.operands
                if any((node.id, slot) in own for own in places.values())
            ),
        )
        for node in shown
    }
    marked = {answer for node in nodes.values() for answer in node.marked}
    return Graph(nodes, keys[out], tuple(answer for answer in places if answer not in marked))


def _shape(node: Node, name: str, trial: Trial) -> str:
    """Return the shape of a node's value as text; the axes are named as those of the argument `name`, or guessed."""
    axes = trial.axes(name) if name else None
    return describe(node.value.shape, axes) if axes else describe_guessed(node.value.shape, trial.setting.sizes)


class RecordedMistakes:
    """A drawer of records' mistakes from the course alone, without learner code; it reuses trials between records."""

    def __init__(self) -> None:
        """Begin without any trial."""
        self._trials: dict[tuple[str, int], Trial] = {}

    def graph(self, exercise: CourseExercise, result: ExerciseResult, seed: int) -> Graph | None:
        """Return the forward pass with the places of a result's mistakes marked.

        Args:
            exercise: the exercise of the course.
            result: its result from a record.
            seed: the seed of the record; the graph has the sizes of the trial that the result speaks of.

        Returns:
            `None` where no mistake has a place, or the exercise has no forward pass to draw.
        """
        wrong = [answer for answer in result.answers if answer.mistake]
        if not wrong or exercise.is_quiz or not isinstance(exercise.function, Exercise):
            return None
        try:
            trial = self._first_trial(exercise, exercise.function, seed)
        except IMPOSSIBLE:
            return None
        program = faithful_program_of(exercise.function, trial)
        if program is None:
            return None
        named = {answer.name: _recorded_places(answer) for answer in wrong}
        marked = {name: places for name, places in named.items() if places}
        wrt = {answer.wrt: answer.name for answer in exercise.function.answers if answer.wrt and answer.name in marked}
        return graph_of(program, trial, wrt, marked) if marked else None

    def _first_trial(self, exercise: CourseExercise, declaration: Exercise, seed: int) -> Trial:
        """Return the first trial that an exercise has with this seed; it is drawn once."""
        key = exercise.id, seed
        if key not in self._trials:
            self._trials[key] = first_trial(declaration, random_numbers(seed, exercise.id))
        return self._trials[key]


def _recorded_places(answer: AnswerResult) -> tuple[Place, ...]:
    """Return the places of an answer's mistake from its record; empty for a record that has none."""
    places = (answer.mistake or {}).get("at", ())
    return tuple((place[0], place[1]) for place in places if len(place) == 2)
