"""Derives the stubs that learners fill in from worked solutions: `### BEGIN SOLUTION` ... becomes `inp.g = ...`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.course import BEGIN, END, Course, CourseExercise
from grader.errors import CourseError
from grader.files import keep_copy, write_atomically
from grader.quiz.answer_sheet import blank_sheet, solved_sheet, variant_of
from grader.quiz.computed_answers import compute_keys, keys_text

IMPORTS = (
    "# You may import Python's modules, torch, numpy, and the files in this folder. "
    "The grader ignores matplotlib and pandas."
)
PYTEST_OPTIONS = """\
[tool.pytest.ini_options]
testpaths = ["exercises"]
addopts = "-p no:anyio -p no:randomly"
"""  # anyio's plugin would import asyncio for every collection, the other one shuffle the teaching order


def derived_files(course: Course) -> dict[Path, str]:
    """Return the text of every file that is derived from one under `solutions/`, by path.

    These are stubs, answer sheets, and computed keys of quizzes.

    Raises:
        CourseError: a solution cannot be turned into a stub; names the file and the line.
        SpecError: a declaration cannot be used.
    """
    keys = {exercise.quiz_keys: computed_keys(exercise) for exercise in course.exercises if exercise.is_quiz}
    stubs = {exercise.path: stub(exercise) for exercise in course.exercises}
    return {**{path: text for path, text in keys.items() if text}, **stubs}


def stale_files(course: Course) -> list[Path]:
    """Return the derived files that are missing or not what `build` would write."""
    return [path for path, text in derived_files(course).items() if is_stale(path, text)]


def build(course: Course) -> list[Path]:
    """Write every stale derived file, keeping a copy of the old one, and return the files that were written.

    Raises:
        CourseError: a solution cannot be turned into a stub, or the course has no `solutions/` of its own, so that its
            stubs may be a learner's work.
        SpecError: a declaration cannot be used.
    """
    if not (course.root / "solutions").is_dir():
        raise CourseError(
            f"{course.root} has no solutions/ to build from, and its exercises may be a learner's work: "
            "get a single stub back with: handgrad reset ID"
        )
    texts = derived_files(course)
    outdated = [path for path, text in texts.items() if is_stale(path, text)]
    for path in outdated:
        keep_copy(path, course.root)
        write_atomically(path, texts[path].encode())
    return outdated


def worked_text(exercise: CourseExercise) -> str:
    """Return the text of the worked solution, without marks, as it is shown to a learner who has solved the exercise.

    For a quiz it is a sheet with the right answers, to the variant of the learner's own sheet.
    """
    if exercise.is_quiz:
        return solved_sheet(exercise.unit, exercise.quiz, variant_of(exercise.path)).rstrip()
    lines = exercise.solution.read_text(encoding="utf-8").rstrip().splitlines()
    return _with_note("\n".join(line for line in lines if line.strip() not in (BEGIN, END)))


def is_stale(path: Path, text: str) -> bool:
    """Return whether a file is missing, or differs from a text in more than its line ends.

    A file that is no UTF-8 text differs.
    """
    try:
        return path.read_text(encoding="utf-8") != text
    except (FileNotFoundError, UnicodeDecodeError):
        return True


@dataclass(frozen=True)
class WorkedSolution:
    """A worked solution with its marked regions.

    Args:
        file: the path of the file as messages name it.
        lines: the lines of the file.
        tree: the module that the file parses to.
        function: the function of the exercise.
        begin: the line of the first mark in the function, counted from 1.
        end: the line of the second mark.
        in_classes: the lines of both marks in each class that a learner writes as well.
    """

    file: str
    lines: Sequence[str]
    tree: ast.Module
    function: ast.FunctionDef
    begin: int
    end: int
    in_classes: Sequence[tuple[int, int]] = ()

    @property
    def regions(self) -> list[tuple[int, int]]:
        """Return the line numbers, from 1, of the two marks of every pair, in rising order."""
        return sorted([*self.in_classes, (self.begin, self.end)])


def solution_file(exercise: CourseExercise) -> str:
    """Return the path of the worked solution, relative to the course folder, for messages."""
    return f"solutions/{exercise.unit}/{exercise.name}"


def read_worked(exercise: CourseExercise) -> WorkedSolution:
    """Return the worked solution of an exercise, read from its file.

    Raises:
        CourseError: the file is missing, is not Python, lacks the function, or its marks are wrong.
    """
    file = solution_file(exercise)
    text = _read(exercise, file)
    tree = _tree(file, text)
    function = _function(exercise, file, tree)
    lines = text.split("\n")
    in_classes = _class_regions(lines, tree)
    begin, end = _region(file, lines, function, in_classes)
    return WorkedSolution(file, lines, tree, function, begin, end, in_classes)


def computed_keys(exercise: CourseExercise) -> str:
    """Return the text of a quiz's file of computed keys, the right answers that code computes; empty if there are none.

    Raises:
        SpecError: a listing cannot be run.
    """
    keys = compute_keys(exercise.quiz)
    return keys_text(keys) if keys else ""


def stub(exercise: CourseExercise, variant: int = 0) -> str:
    """Return the learner's file: the worked solution with one line for each answer in place of its marked region.

    The marked region of a class is replaced by `...`. The file of a quiz is a blank answer sheet.

    Args:
        exercise: the exercise.
        variant: the number of the variant of an answer sheet, which decides on the numbers in its questions.

    Raises:
        CourseError: the exercise has no solution, or what is left of the solution is not Python.
        SpecError: the declaration cannot be used.
    """
    if exercise.is_quiz:
        return blank_sheet(exercise.unit, exercise.quiz, variant)
    solution = read_worked(exercise)
    lines, todo = list(solution.lines), placeholders(exercise)
    for begin, end in reversed(solution.regions):
        indent = lines[begin - 1].partition(BEGIN)[0]
        lines[begin - 1 : end] = [indent + line for line in todo]
    text = "\n".join(lines)
    try:
        return _with_note(text)
    except SyntaxError as error:
        raise CourseError(
            f"{solution.file}, line {begin}: without the marked region this is not Python ({error.msg}): "
            "put the marks around whole statements."
        ) from error


def _with_note(text: str) -> str:
    """Return the text of a learner's file with a comment, below its docstring, on what it may import.

    Unchanged if it has no docstring.

    Raises:
        SyntaxError: the text is not Python.
    """
    first = ast.parse(text).body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return text
    lines = text.split("\n")
    return "\n".join([*lines[: first.end_lineno], "", IMPORTS, *lines[first.end_lineno :]])


def placeholders(exercise: CourseExercise) -> list[str]:
    """Return the lines that stand in a stub where the answers are to be written.

    Usually these are `w.g = ...` for each stored answer `w.g`, and `return ...` if any answer is returned. Where a
    learner is to correct a faulty body, these are its lines. For a test, or where a class is to be written as well,
    there is one line, `...`.

    Raises:
        CourseError: the worked solution cannot be read.
    """
    function, answers = exercise.function, exercise.function.answers
    if function.faulty or answers[0].kind == "verdict":
        return function.faulty.splitlines() or ["..."]
    if read_worked(exercise).in_classes:
        return ["..."]
    return list(dict.fromkeys(f"{answer.name} = ..." if answer.stored else "return ..." for answer in answers))


def _read(exercise: CourseExercise, file: str) -> str:
    """Return the text of a worked solution, which messages call `file`.

    Raises:
        CourseError: the worked solution cannot be read.
    """
    try:
        return exercise.solution.read_text(encoding="utf-8")
    except OSError as error:
        raise CourseError(
            f"{file} is missing or cannot be read: write the worked solution of {exercise.id} there."
        ) from error
    except UnicodeDecodeError as error:
        raise CourseError(f"{file} is not UTF-8 text: save it as UTF-8.") from error


def _tree(file: str, source: str) -> ast.Module:
    """Return the module that a source text parses to.

    Raises:
        CourseError: the text is not Python; names the file and the line.
    """
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        why = getattr(error, "msg", error)
        raise CourseError(f"{file}, line {line}: this is not Python ({why}): correct it.") from error


def _function(exercise: CourseExercise, file: str, tree: ast.Module) -> ast.FunctionDef:
    """Return the function of the exercise in its worked solution, which messages call `file`.

    Raises:
        CourseError: the solution has no function of this name.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == exercise.id:
            return node
    raise CourseError(f"{file}, line 1: there is no function {exercise.id} in it: give the solution that name.")


def _class_regions(lines: Sequence[str], tree: ast.Module) -> list[tuple[int, int]]:
    """Return the lines of both marks, counted from 1, in each class that has a pair of them."""
    ends = [node.lineno for node in tree.body[1:]] + [len(lines) + 1]
    regions = []
    for node, end in zip(tree.body, ends, strict=True):
        marks = [i for i in range(node.lineno, end) if lines[i - 1].strip() in (BEGIN, END)]
        if isinstance(node, ast.ClassDef) and [lines[i - 1].strip() for i in marks] == [BEGIN, END]:
            regions.append((marks[0], marks[1]))
    return regions


def _region(
    file: str, lines: Sequence[str], function: ast.FunctionDef, in_classes: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return the numbers, from 1, of the lines with the two marks of a function's answer.

    Args:
        file: the name of the worked solution, for messages.
        lines: the lines of the worked solution.
        function: the function.
        in_classes: the lines of both marks in each marked class, which are left out.

    Raises:
        CourseError: there is not exactly one marked region outside of classes, or that region is no part of the
            function.
    """
    others = {line for region in in_classes for line in region}
    begin, end = _marks(file, ["" if i in others else line for i, line in enumerate(lines, 1)], function)
    last = function.end_lineno or function.lineno
    if not function.lineno < begin <= last:
        raise CourseError(f"{file}, line {begin}: the mark is not inside {function.name}: move it into the function.")
    statement = next((i for i in range(last, end) if lines[i].strip() and not lines[i].strip().startswith("#")), None)
    if statement is not None:
        raise CourseError(
            f"{file}, line {statement + 1}: the marked region reaches beyond {function.name}: "
            f"move {END} to the end of the function."
        )
    return begin, end


def _marks(file: str, lines: Sequence[str], function: ast.FunctionDef) -> tuple[int, int]:
    """Return the line numbers, from 1, of the marks that begin and end the answer in a worked solution.

    Args:
        file: the name of the solution, for messages.
        lines: the lines of the solution.
        function: the function that must hold the marks.

    Raises:
        CourseError: the function has no pair of marks, or more than one.
    """
    marks = [(i, mark) for i, line in enumerate(lines, 1) for mark in (BEGIN, END) if mark in line]
    if not marks:
        raise CourseError(f"{file}, line {function.lineno}: put {BEGIN} and {END} around the answer.")
    expected = BEGIN
    for line, mark in marks[:2]:
        if mark != expected:
            raise CourseError(f"{file}, line {line}: {mark} stands where {expected} should: write one pair of marks.")
        expected = END
    if len(marks) == 1:
        raise CourseError(f"{file}, line {marks[0][0]}: this mark is never closed: put {END} behind the answer.")
    if len(marks) > 2:
        raise CourseError(f"{file}, line {marks[2][0]}: this is a second region: put all of it into one.")
    return marks[0][0], marks[1][0]
