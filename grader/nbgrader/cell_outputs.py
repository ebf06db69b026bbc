"""Writes a verdict as outputs of a notebook's cells: points for nbgrader, and feedback beside the answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from nbformat import NotebookNode, from_dict

from grader.course.course import CourseExercise
from grader.rendering.render_html import ResultDisplay
from grader.results.records import ExerciseResult

from .source_notebook import answer_id, check_id, solution_id


def write_outputs(exercise: CourseExercise, result: ExerciseResult, cells: Mapping[str, NotebookNode]) -> None:
    """Write the points into the outputs of their cells, and the report beside the answers.

    Args:
        cells: the notebook's code cells by grade_id.
    """
    for answer in result.answers:
        cell = cells.get(answer_id(exercise.id, answer.name))
        if cell is not None and answer.status != "error":  # whose cell is left to a person, as one of no known test is
            cell.outputs = [points_output(answer.score / answer.max_score, cell)]
    beside = cells.get(check_id(exercise.id), cells.get(solution_id(exercise.id)))
    if beside is not None:
        report = ResultDisplay(exercise, replace(result, printed=""))
        shown = {"text/plain": repr(report), "text/html": report._repr_html_()}
        beside.outputs = [from_dict({"output_type": "display_data", "data": shown, "metadata": {}})]  # type: ignore[no-untyped-call]


def points_output(share: float, cell: NotebookNode) -> NotebookNode:
    """An output that nbgrader reads as this share of the cell's points: a plain float, and never more than all."""
    value = share_of(float(cell.metadata["nbgrader"]["points"]), share)
    output: NotebookNode = from_dict(  # type: ignore[no-untyped-call]
        {
            "output_type": "execute_result",
            "data": {"text/plain": repr(value)},
            "metadata": {},
            "execution_count": cell.execution_count,
        }
    )
    return output


def share_of(most: float, share: float) -> float:
    """So much of the points that a cell is worth; nothing, where the share is no number."""
    return min(max(most * share, 0.0), most) if math.isfinite(share) else 0.0
