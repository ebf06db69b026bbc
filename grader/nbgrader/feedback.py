"""Writes a verdict as outputs of a notebook's cells: points for nbgrader, and feedback beside the answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_markdown_cell
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution, is_task

from grader.course.course import CourseExercise
from grader.export.feedback import summary_html
from grader.export.graded_work import number
from grader.rendering.render_html import ResultDisplay
from grader.rendering.render_text import group_alike
from grader.results.points import total
from grader.results.records import AnswerResult, ExerciseResult
from grader.safe_text import as_markdown

from .source_notebook import LESSON_ID, answer_id, check_id, grade_id, solution_id

# In place of nbgrader's own list, in which every answer is a line that says "Test cell".
STYLE = (
    "<style>#toc { display: none; } .points .all { font-size: 1.4em; margin: 0; }"
    " .points th { font-weight: normal; text-align: left; } .points td { padding-left: 2em; text-align: right; }"
    "</style>"
)
FOLDED = '<details><summary style="display: list-item">The lesson</summary>\n\n{}\n\n</details>'


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


def comment(result: ExerciseResult) -> str | None:
    """A line for each mistake, with the answers that it is in, its code and the first hint; `None` if all passed."""
    lines = [_line(group) for group in group_alike(result) if group[0].status != "passed"]
    return "\n".join(lines) or None


def _line(answers: Sequence[AnswerResult]) -> str:
    first = answers[0]
    names = ", ".join(answer.name for answer in answers)
    hint = f"\n  Hint: {as_markdown(first.hints[0])}" if first.status == "failed" and first.hints else ""
    return f"- {names}: {as_markdown(first.message)} [{first.code}]{hint}"


class SummaryFirst(NbGraderPreprocessor):  # type: ignore[misc]
    """A preprocessor for `GenerateFeedback.preprocessors`, after `GetGrades`."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Put the summary first, with links to what is said of each exercise."""
        for cell in nb.cells:
            if grade_id(cell) == LESSON_ID and cell.cell_type == "markdown":
                cell.source = FOLDED.format(cell.source)
        known = resources["nbgrader"]
        rows = [(_link(cell), f"{number(got)} of {number(most)}") for cell, got, most in exercises(nb)]
        if known["late_penalty"]:
            rows.append(("late", f"\N{MINUS SIGN}{number(known['late_penalty'])}"))
        summary = summary_html(number(known["score"]), number(known["max_score"]), rows)
        nb.cells.insert(0, new_markdown_cell("".join([STYLE, '<div class="points">', *summary, "</div>"])))  # type: ignore[no-untyped-call]
        return nb, resources


def exercises(nb: NotebookNode) -> Iterator[tuple[NotebookNode, float, float]]:
    """Yield each exercise's cell, its points, and the points possible: the sums over the graded cells that name it."""
    solutions = [cell for cell in nb.cells if is_solution(cell)]
    points: dict[str, tuple[list[float], list[float]]] = {}
    cells: dict[str, NotebookNode] = {}
    for cell in nb.cells:
        if is_grade(cell) or is_task(cell):
            about = _exercise_of(cell, solutions)
            cells.setdefault(grade_id(about), about)
            got, most = points.setdefault(grade_id(about), ([], []))
            got.append(cell.metadata.nbgrader.score)
            most.append(cell.metadata.nbgrader.points)
    yield from ((cells[name], total(points[name][0]), total(points[name][1])) for name in cells)


def _exercise_of(cell: NotebookNode, solutions: list[NotebookNode]) -> NotebookNode:
    """The solution cell that a graded cell is of: `lin_grad-w-g` is of `lin_grad`; any other cell stands for itself."""
    named = [each for each in solutions if grade_id(cell).startswith(f"{grade_id(each)}-")]
    return max(named, key=lambda each: len(grade_id(each)), default=cell)


def _link(cell: NotebookNode) -> str:
    """A link to what was said of an exercise."""
    name = escape(grade_id(cell))
    comment = "comment-" if is_solution(cell) or is_task(cell) else ""
    return f'<a href="#{comment}{name}">{name}</a>'
