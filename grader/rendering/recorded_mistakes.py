"""The forward pass with the operations marked that a record names: drawn from the course, with no learner's code."""

from __future__ import annotations

from grader.course.course import CourseExercise
from grader.course.exercise import Exercise
from grader.diagnosis.diagnose import faithful_program_of
from grader.program.forward import Place
from grader.reference.references import first_trial, random_numbers
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.results.records import AnswerResult, ExerciseResult

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
    """Return where an answer's mistake was made, as its record says; of an older record nowhere."""
    places = (answer.mistake or {}).get("at", ())
    return tuple((place[0], place[1]) for place in places if len(place) == 2)
