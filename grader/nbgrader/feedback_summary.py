"""nbgrader's feedback page, made to begin with the points of each exercise; the lesson is folded away."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution, is_task

from grader.export.feedback import summary_html
from grader.export.graded_work import number
from grader.results.points import total

from .source_notebook import LESSON_ID, grade_id

# In place of nbgrader's own list, in which every answer is a line that says "Test cell".
STYLE = (
    "<style>#toc { display: none; } .points .all { font-size: 1.4em; margin: 0; }"
    " .points th { font-weight: normal; text-align: left; } .points td { padding-left: 2em; text-align: right; }"
    "</style>"
)
FOLDED = '<details><summary style="display: list-item">The lesson</summary>\n\n{}\n\n</details>'


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
