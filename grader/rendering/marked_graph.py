"""The graph of a forward pass, with the nodes marked that a diagnosis or a record names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.course.course import CourseExercise
from grader.course.exercise import Exercise
from grader.course.shapes import describe, describe_guessed
from grader.diagnosis.diagnose import faithful_program_of
from grader.diagnosis.operators.places import operation_label
from grader.program.forward import Node, Place
from grader.program.program import Program
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.reference.trials import first_trial, random_numbers
from grader.results.records import AnswerResult, ExerciseResult

from .picture_data import Graph, GraphNode


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
    shown = [node for node in program.nodes if node.id == out or program.forward.ancestors[out] >> node.id & 1]
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
    """Return the shape of a value with the names of its axes."""
    axes = trial.axes(name) if name else None
    return describe(node.value.shape, axes) if axes else describe_guessed(node.value.shape, trial.setting.sizes)


class RecordedMistakes:
    """A drawer of records' mistakes from the course alone, without learner code; it reuses trials between records."""

    def __init__(self) -> None:
        self._trials: dict[tuple[str, int], Trial] = {}

    def graph(self, exercise: CourseExercise, result: ExerciseResult, seed: int) -> Graph | None:
        """Return the forward pass with the places of a result's mistakes marked.

        Args:
            exercise: the exercise of the course.
            result: its result from a record.
            seed: the record's; the graph has the sizes of the trial that the result speaks of.

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
        named = {answer.name: _places(answer) for answer in wrong}
        marked = {name: places for name, places in named.items() if places}
        wrt = {answer.wrt: answer.name for answer in exercise.function.answers if answer.wrt and answer.name in marked}
        return graph_of(program, trial, wrt, marked) if marked else None

    def _first_trial(self, exercise: CourseExercise, declaration: Exercise, seed: int) -> Trial:
        key = exercise.id, seed
        if key not in self._trials:
            self._trials[key] = first_trial(declaration, random_numbers(seed, exercise.id))
        return self._trials[key]


def _places(answer: AnswerResult) -> tuple[Place, ...]:
    """Return the places of an answer's mistake from its record; empty for a record that has none."""
    places = (answer.mistake or {}).get("at", ())
    return tuple((place[0], place[1]) for place in places if len(place) == 2)
