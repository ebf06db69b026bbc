"""Enters units as assignments in nbgrader's gradebook, whether or not a notebook was ever released."""

from __future__ import annotations

import copy
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Comment, Grade, Gradebook, MissingEntry
from nbgrader.preprocessors import ComputeChecksums, LockCells, SaveCells

from grader.course.course import Course
from grader.course.course_file import Unit
from grader.errors import CourseError

from .lesson_notebook import Lesson, notebook_lesson
from .release import KeepStubs
from .source_notebook import answer_id, source_notebook


def prepare_assignment(gradebook: Gradebook, url: str, course: Course, unit: Unit) -> NotebookNode:
    """The unit's notebook as it is released; its assignment, cells and points are in the gradebook from now on.

    What is there already stays as it is; an answer that has no cell yet is added, for every student.
    """
    notebook = _released_notebook(course, unit)
    gradebook.update_or_create_assignment(unit.id)
    try:
        known = gradebook.find_notebook(unit.id, unit.id)
    except MissingEntry:
        place = {"notebook": unit.id, "assignment": unit.id, "db_url": url}
        SaveCells().preprocess(copy.deepcopy(notebook), ResourcesDict(nbgrader=place))
        gradebook.db.expire_all()
        known = gradebook.find_notebook(unit.id, unit.id)
    _add_missing(gradebook, course, unit, known)
    return notebook


def _released_notebook(course: Course, unit: Unit) -> NotebookNode:
    """What `nbgrader generate_assignment` makes of the unit's source notebook."""
    try:
        lesson = notebook_lesson(course, unit)
    except CourseError:
        lesson = Lesson("", ())
    notebook = source_notebook(course, unit, lesson)
    for step in (LockCells(), KeepStubs(), ComputeChecksums()):
        notebook, _ = step.preprocess(notebook, ResourcesDict())
    return notebook


def _add_missing(gradebook: Gradebook, course: Course, unit: Unit, notebook: Any) -> None:
    """Add the answers and exercises to the gradebook that a notebook released earlier did not have."""
    grades = {cell.name for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    for exercise in course.exercises:
        if exercise.unit != unit.id:
            continue
        if exercise.id not in solutions:
            added = gradebook.add_solution_cell(exercise.id, unit.id, unit.id)
            gradebook.db.add_all(Comment(cell_id=added.id, notebook=each) for each in notebook.submissions)
        for answer in exercise.declaration.answers:
            name = answer_id(exercise.id, answer.name)
            if name not in grades:
                most = exercise.points_of_answer
                cell = gradebook.add_grade_cell(name, unit.id, unit.id, max_score=most, cell_type="code")
                gradebook.db.add_all(Grade(cell_id=cell.id, notebook=each) for each in notebook.submissions)
    gradebook.db.commit()
