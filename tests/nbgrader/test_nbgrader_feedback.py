"""nbgrader's feedback begins with points by exercise, whatever cells a notebook has, and folds the lesson away."""

from __future__ import annotations

from typing import Any

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.nbgrader.feedback import SummaryFirst, exercise_points

ATTACHED = {"x.png": {"image/png": "AAAA"}}
LESSON = "# Lines\n\n![a picture](attachment:x.png)\n\n```\n</details>\n```\n\n- one"


def about(name: str, **more: Any) -> dict[str, Any]:
    kinds = {"grade": False, "solution": False, "task": False, "locked": True, "schema_version": 3}
    return {"nbgrader": {**kinds, "grade_id": name, **more}}


def graded(name: str, score: float, points: float) -> NotebookNode:
    return new_code_cell("score()", metadata=about(name, grade=True, score=score, points=points))


def notebook() -> NotebookNode:
    return new_notebook(
        cells=[
            new_markdown_cell(LESSON, metadata=about("lesson")),
            new_markdown_cell("a note of nobody's"),
            new_code_cell("def lin_grad(): ...", metadata=about("lin_grad", solution=True, comment="x")),
            graded("lin_grad-w-g", 0.0, 1.5),
            graded("lin_grad-b-g", 1.5, 1.5),
            new_code_cell("def lin_grad_nd(): ...", metadata=about("lin_grad-nd", solution=True, comment=None)),
            graded("lin_grad-nd-w-g", 2.0, 2.0),
            graded("<b>mine</b>", 1.0, 3.0),
        ]
    )


def summarised(late: float = 0.0) -> list[NotebookNode]:
    known = {"nbgrader": {"score": 4.5 - late, "max_score": 8.0, "late_penalty": late}}
    found, _ = SummaryFirst().preprocess(notebook(), known)
    return found.cells


def test_the_points_of_an_exercise_are_those_of_its_answers() -> None:
    found = [(cell.metadata.nbgrader.grade_id, got, most) for cell, got, most in exercise_points(notebook())]
    assert found == [("lin_grad", 1.5, 3.0), ("lin_grad-nd", 2.0, 2.0), ("<b>mine</b>", 1.0, 3.0)]


def test_the_summary_comes_first_with_links_to_the_comments() -> None:
    first, *_ = summarised()
    assert "<b>4.5</b> of 8 points" in first.source
    assert '<th scope="row"><a href="#comment-lin_grad">lin_grad</a></th><td>1.5 of 3</td>' in first.source
    assert '<a href="#&lt;b&gt;mine&lt;/b&gt;">&lt;b&gt;mine&lt;/b&gt;</a>' in first.source
    assert "\n" not in first.source
    assert "late" not in first.source


def test_the_late_penalty_is_a_line_of_the_summary() -> None:
    assert '<th scope="row">late</th><td>\N{MINUS SIGN}1.25</td>' in summarised(1.25)[0].source


def test_the_lesson_is_folded_and_still_a_lesson() -> None:
    before, (_, lesson, note, *_) = notebook(), summarised()
    page = MarkdownWithMath(renderer=IPythonRenderer(escape=False, attachments=ATTACHED)).render(lesson.source)
    assert page.index("<details>") < page.index("Lines") < page.index("<li>one") < page.rindex("</details>")
    assert page.count("<details>") == page.count("</details>") == 1
    assert note.source == before.cells[1].source
