"""Results in nbgrader's notebooks: points and reports as cell outputs, comments, and the top of a feedback page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape

from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_markdown_cell
from nbgrader.utils import is_grade, is_solution, is_task
from traitlets import Bool

from grader.course.course import CourseExercise
from grader.export.feedback import summary_html
from grader.export.graded_work import number
from grader.rendering.render_html import ResultDisplay
from grader.rendering.render_text import group_alike
from grader.results.points import total
from grader.results.records import AnswerResult, ExerciseResult
from grader.safe_text import as_markdown

from .gradebook_results import NOTE
from .source_notebook import LESSON_ID, answer_id, check_id, grade_id, solution_id

# In place of nbgrader's own list, in which every answer is a line that says "Test cell".
STYLE = (
    "<style>#toc { display: none; } .points .all { font-size: 1.4em; margin: 0; }"
    " .points th { font-weight: normal; text-align: left; } .points td { padding-left: 2em; text-align: right; }"
    "</style>"
)
FOLDED = '<details><summary style="display: list-item">The lesson</summary>\n\n{}\n\n</details>'


def write_outputs(exercise: CourseExercise, result: ExerciseResult, cells: Mapping[str, NotebookNode]) -> None:
    """Write the points of a result into the outputs of its answers' cells, and its report under the student's cell.

    An answer that could not be graded gets no output, so that its cell is left to manual grading.

    Args:
        exercise: the exercise.
        result: the result of the exercise.
        cells: the notebook's code cells by grade_id, which are changed.
    """
    for answer in result.answers:
        cell = cells.get(answer_id(exercise.id, answer.name))
        if cell is not None and answer.status != "error":  # an error is left to manual grading
            cell.outputs = [points_output(answer.score / answer.max_score, cell)]
    report_cell = cells.get(check_id(exercise.id), cells.get(solution_id(exercise.id)))
    if report_cell is not None:
        solution = cells.get(solution_id(exercise.id))
        code = () if solution is None else (solution.source,)
        report = ResultDisplay(exercise, replace(result, printed=""), code=code)
        shown = {"text/plain": repr(report), "text/html": report._repr_html_()}
        report_cell.outputs = [from_dict({"output_type": "display_data", "data": shown, "metadata": {}})]  # type: ignore[no-untyped-call]


def points_output(share: float, cell: NotebookNode) -> NotebookNode:
    """Return an output that nbgrader reads as this share, from 0 to 1, of a cell's points."""
    value = points_for_share(float(cell.metadata["nbgrader"]["points"]), share)
    output: NotebookNode = from_dict(  # type: ignore[no-untyped-call]
        {
            "output_type": "execute_result",
            "data": {"text/plain": repr(value)},
            "metadata": {},
            "execution_count": cell.execution_count,
        }
    )
    return output


def points_for_share(most: float, share: float) -> float:
    """Return the points for a share, from 0 to 1, of a cell worth `most`, as a plain float.

    0 if the share is not finite.
    """
    return min(max(most * share, 0.0), most) if math.isfinite(share) else 0.0


def comment(result: ExerciseResult, notes: Sequence[str] = ()) -> str | None:
    """Return nbgrader's comment on a result as Markdown, with a line for each mistake and each note.

    A line holds the names of the answers, the message, the code and the first hint; or a note behind `NOTE`.

    Args:
        result: the result.
        notes: sentences on the submission, as Markdown.

    Returns:
        The comment; `None` if everything is right and there is no note.
    """
    lines = [_comment_line(group) for group in group_alike(result) if group[0].status != "passed"]
    lines += [f"{NOTE}{note}" for note in notes]
    return "\n".join(lines) or None


def _comment_line(answers: Sequence[AnswerResult]) -> str:
    """Return the line of a comment on answers with the same result: names, message, code and first hint.

    Only failed answers get a hint.
    """
    first = answers[0]
    names = ", ".join(answer.name for answer in answers)
    hint = f"\n  Hint: {as_markdown(first.hints[0])}" if first.status == "failed" and first.hints else ""
    return f"- {names}: {as_markdown(first.message)} [{first.code}]{hint}"


class SummaryFirst(Preprocessor):
    """A preprocessor for `GenerateFeedback.preprocessors` that puts the points first; it stands behind `GetGrades`.

    It is none of nbgrader's own, which would warn of an option for pages of HTML that they hide.
    """

    enabled = Bool(True, help="Whether to put the points first.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Insert the points of each exercise, with links, before a student's graded notebook, and fold its lesson away.

        Args:
            nb: the notebook, which is changed.
            resources: nbgrader's resources, with the scores that `GetGrades` has put there.

        Returns:
            The notebook and the resources.
        """
        for cell in nb.cells:
            if grade_id(cell) == LESSON_ID and cell.cell_type == "markdown":
                cell.source = FOLDED.format(cell.source)
        grades = resources["nbgrader"]
        rows = [(_link(cell), f"{number(got)} of {number(most)}") for cell, got, most in exercise_points(nb)]
        if grades["late_penalty"]:
            rows.append(("late", f"\N{MINUS SIGN}{number(grades['late_penalty'])}"))
        summary = summary_html(number(grades["score"]), number(grades["max_score"]), rows)
        nb.cells.insert(0, new_markdown_cell("".join([STYLE, '<div class="points">', *summary, "</div>"])))  # type: ignore[no-untyped-call]
        return nb, resources


def exercise_points(nb: NotebookNode) -> Iterator[tuple[NotebookNode, float, float]]:
    """Yield the cell of each exercise, the points reached and the points possible, both summed over its graded cells.

    The cell is the exercise's solution cell; a graded cell that belongs to none stands for itself.
    """
    solutions = [cell for cell in nb.cells if is_solution(cell)]
    points: dict[str, tuple[list[float], list[float]]] = {}
    cells: dict[str, NotebookNode] = {}
    for cell in nb.cells:
        if is_grade(cell) or is_task(cell):
            exercise = _exercise_of(cell, solutions)
            cells.setdefault(grade_id(exercise), exercise)
            got, most = points.setdefault(grade_id(exercise), ([], []))
            got.append(cell.metadata.nbgrader.score)
            most.append(cell.metadata.nbgrader.points)
    yield from ((cells[name], total(points[name][0]), total(points[name][1])) for name in cells)


def _exercise_of(cell: NotebookNode, solutions: list[NotebookNode]) -> NotebookNode:
    """Return the solution cell whose name begins that of a graded cell, as `lin_grad` for `lin_grad-w-g`.

    Without such a solution cell, return the graded cell itself.
    """
    named = [solution for solution in solutions if grade_id(cell).startswith(f"{grade_id(solution)}-")]
    return max(named, key=lambda solution: len(grade_id(solution)), default=cell)


def _link(cell: NotebookNode) -> str:
    """Return an HTML link with a cell's name as its text.

    It leads to the comment on the cell, if that is a solution or a task, which have one; else to the cell itself.
    """
    name = escape(grade_id(cell))
    comment = "comment-" if is_solution(cell) or is_task(cell) else ""
    return f'<a href="#{comment}{name}">{name}</a>'
