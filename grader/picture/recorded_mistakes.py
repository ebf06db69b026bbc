"""The forward pass with the operations marked that a record names: drawn from the course, with no learner's code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from grader.course import CourseExercise
from grader.exercise import Exercise
from grader.reference.operation_recorder import trace_of
from grader.reference.operations import step_name
from grader.reference.references import first_trial, random_numbers
from grader.reference.trace import Place, Trace
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.results import AnswerResult, ExerciseResult

from .marked_graph import graph_of
from .picture_data import Graph


class RecordedMistakes:
    """Draws what records say; what several of them speak of is made once."""

    def __init__(self) -> None:
        self._trials: dict[tuple[str, int], Trial] = {}

    def graph(self, exercise: CourseExercise, result: ExerciseResult, seed: int) -> Graph | None:
        """The forward pass, if any operation in it is named as the place of a mistake.

        Args:
            seed: that of the record; the graph has the sizes that the record speaks of.
        """
        wrong = [answer for answer in result.answers if answer.mistake]
        if not wrong or exercise.is_quiz or not isinstance(exercise.function, Exercise):
            return None
        try:
            trial = self._first_trial(exercise, exercise.function, seed)
            trace = trace_of(exercise.function, trial)
        except IMPOSSIBLE:
            return None
        named = {answer.name: tuple(dict.fromkeys(_places(trace, answer))) for answer in wrong}
        marked = {name: places for name, places in named.items() if places}
        wrt = {answer.wrt: answer.name for answer in exercise.function.answers if answer.wrt and answer.name in marked}
        return graph_of(trace, trial, wrt, marked) if marked else None

    def _first_trial(self, exercise: CourseExercise, declaration: Exercise, seed: int) -> Trial:
        key = exercise.id, seed
        if key not in self._trials:
            self._trials[key] = first_trial(declaration, random_numbers(seed, exercise.id))
        return self._trials[key]


def _places(trace: Trace, answer: AnswerResult) -> Iterator[Place]:
    """The steps that an answer's mistake names; of a loop, in every turn."""
    edits = (answer.mistake or {}).get("edits", ())
    named = [edit["parameters"].get("step") for edit in edits]
    for step in trace.steps:
        if step_name(step) in named or step_name(replace(step, nth=0)) in named:
            yield step.index, None
