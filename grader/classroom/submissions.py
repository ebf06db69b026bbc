"""The files of a submission that answer exercises: chosen among all its files, and read with nothing in them trusted.

One file is graded for each exercise; notes say which were ignored. The time of a file is never used, since it changes
when files are copied: two different answers of which neither the platform nor a clone says which counts are an error.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from grader.authoring.build import placeholders
from grader.child import ipython_cells
from grader.course.course import Course, CourseExercise
from grader.course.course_file import QUIZ_FILE
from grader.errors import ReadError
from grader.judging.grading_pool import Reading
from grader.judging.unanswered_stubs import is_untouched, replaced_definitions, without_copied_stubs
from grader.quiz.answer_sheet import decode_sheet, read_sheet
from grader.quiz.notebook_quiz import places_of_sheets, sheet_in
from grader.results.codes import TWO_ANSWERS
from grader.results.records import Status
from grader.sandbox.definitions import Definition, comparable_text, definitions, parse_cell
from grader.sandbox.source_text import Part, Source, UnreadableSource, decode

from .archives import LARGEST_ARCHIVE, MOST_UNPACKED, SubmissionWalk, is_unread_archive, path_added_to_errors
from .cluster_wire import pack_submission, unpack_submission
from .exercise_names import ExerciseNames
from .file_tree import File, Folder, UnreadableArchiveError, displayable_name, name_bytes
from .notebook_code import BROKEN, MOST_CELLS, UnreadableNotebook, exercises_defined, notebook_cells
from .notebook_code import LARGEST as LARGEST_NOTEBOOK
from .platform_names import KEEP_ONE, Submission, canvas_submission, composed_name, platform_of_several

SIZE_LIMIT = 1 << 20  # bytes of one file
MOST_COMPARED, MOST_NOTEBOOKS, MOST_EXPORTED = 8, 12, 50  # files for one exercise, and those that are parsed
# Marks a cell in a notebook that was exported by nbconvert or by VS Code, whatever the file is called.
EXPORTED = re.compile(r"^# (?:In ?\[[ \d*]*\]:|%%)", re.MULTILINE)
WHY_LESS_PREFERRED = {
    1: "it only imports the function",
    3: "it could not be read",
}
MOST_NOTES, MOST_HELPERS, MOST_SUGGESTED, MOST_NAMED = 20, 50, 20, 3
LARGEST_HELPERS = 8 << 20  # bytes of all files together that exercises may import
WORD = re.compile(rb"[\w\x80-\xff]+")  # in UTF-8, letters beyond ASCII as well
UNKNOWN = "it is no exercise that is graded here"
NOT_READ = "the file was not read"
NO_FUNCTION = "no cell of it defines a function of an exercise"
TEXT_CELL = "in a text cell, which is not graded: make it a code cell"
EMPTY = "it is empty"
NOT_REPORTED = frozenset(
    {"README.md", "timestamp.txt", "course.yaml", "pyproject.toml", "onlinetext.html", "text.html"}
)
BESIDE_EXERCISES = frozenset({"solutions", "tests", "handgrad", "grader"})  # folders in a copy of a whole course


class FileLost(Exception):
    """Report a file that may contain an answer but cannot be read, which is no fault of the student's."""


@dataclass(frozen=True)
class UnreadFile:
    """Describe a file that exists but was not read.

    Args:
        status: `failed` if that is the student's doing, `error` if it is not.
        why: the reason, as a clause.
        code: the public code of its answers; that of a file that Python cannot read if it is the student's doing.
    """

    status: Status
    why: str
    code: str = "error"

    @classmethod
    def by_student(cls, why: str) -> UnreadFile:
        """Return a file that was not read, through the student's doing; `why` is a clause with the next step."""
        return cls("failed", f"{NOT_READ}: {why}", "syntax-error")


FileContent = bytes | tuple[str, ...] | UnreadFile  # of a file, of the code cells of a notebook, or of neither


@dataclass(frozen=True)
class AnswerFile:
    """Describe a file that may be a student's answer to an exercise.

    Args:
        file: the file.
        exercise: the exercise.
        above: the folders above those of the course, or all of them if the file lies in none of the course's.
        order: how far the file is from where it belongs; 0 in its unit's folder.
        copy: the number of the copy, by its name; 0 for the original.
        is_exact: whether it has the name that the course gave it.
        content: its content, if it has been read already.
        is_by_content: whether it is an exported notebook that defines the function, under a name that does not match.
    """

    file: File
    exercise: CourseExercise
    above: tuple[str, ...]
    order: int
    copy: int = 0
    is_exact: bool = True
    content: FileContent | None = None
    is_by_content: bool = False

    def read(self) -> AnswerFile:
        """Return this answer file with its content, which is read now unless it was read before.

        An error in reading becomes an `UnreadFile` as content; any other exception gets the file's path as a note.
        """
        with path_added_to_errors(self.file):
            return replace(self, content=read_content(self.file)) if self.content is None else self

    @property
    def precedence(self) -> tuple[int, bool, bool]:
        """Return a sort key that is lowest for the file that counts.

        It has three parts: minus the number of the upload; false for a file in its unit's folder in a clone of a git
        repository, else true; and false for a file in no folder with a name that tools use, else true.
        """
        is_in_clone = self.file.is_in_clone and self.order == 0
        return -self.file.upload, not is_in_clone, self.file.is_in_tools_folder

    @property
    def reading_order(self) -> tuple[object, ...]:
        """Return a sort key in whose order files are read: by precedence, then by nearness to the exercise's folder."""
        return self.precedence, self.order, len(self.above), not self.is_exact, self.copy, self.file.path


def read_content(file: File, limit: int = SIZE_LIMIT) -> bytes | UnreadFile:
    """Return the bytes of a file, or why it was not read.

    Args:
        file: the file.
        limit: the size in bytes up to which it is read.
    """
    if file.why_unread:
        return UnreadFile.by_student(file.why_unread)
    try:
        content = file.read(limit)
    except UnreadableArchiveError as error:
        return UnreadFile.by_student(f"its archive {error}; ask for it again")
    except OSError as error:
        return UnreadFile("error", f"the file cannot be read ({error.strerror}): check its permissions")
    if len(content) > limit:
        step = "clear its outputs, and hand it in again" if file.is_notebook else "hand in the answers alone"
        return UnreadFile.by_student(f"it is larger than {limit >> 20} MiB; {step}")
    return content


def required_content(file: File, limit: int = SIZE_LIMIT) -> bytes | UnreadFile:
    """Return the bytes of a file whose use is not known before it is read, or why the student's file was not read.

    Args:
        file: the file.
        limit: the size in bytes up to which it is read.

    Raises:
        FileLost: the file cannot be read, which is no fault of the student's.
    """
    content = read_content(file, limit)
    if isinstance(content, UnreadFile) and content.status == "error":
        raise FileLost(f"{file.path}: {content.why}")
    return content


def find_answers(names: ExerciseNames, files: Sequence[File], notes: list[str]) -> tuple[list[AnswerFile], list[File]]:
    """Return the files that may be answers, and those with no exercise's name, which answers may import.

    A Python file that was exported from a notebook is among both. Notebooks that answer nothing, and what lies beside
    `exercises/` in a copy of a whole course, are among neither. Both come in the order of `files`, with exported
    notebooks behind all other answers.

    Args:
        names: finds the exercise or unit that a name means.
        files: all files of the submission.
        notes: the list to which a note on each ignored notebook is appended.

    Raises:
        FileLost: a file whose use is not known before it is read cannot be read.
    """
    roots = {
        folders[: folders.index("exercises")] for folders in (file.folders for file in files) if "exercises" in folders
    }
    answers, others, notebooks = list[AnswerFile](), list[File](), 0
    for file in files:
        notebooks += file.is_notebook
        if file.is_notebook and notebooks > MOST_NOTEBOOKS:
            notes.append(f"{file.path} was ignored: there are more than {MOST_NOTEBOOKS} notebooks")
            continue
        if any(
            file.folders[: len(folders)] == folders and _folder_below(file.folders, folders) in BESIDE_EXERCISES
            for folders in roots
        ):
            continue
        with path_added_to_errors(file):
            file_answers = list(_from_file(names, file, notes))
        answers += file_answers
        others += [] if file_answers or file.is_notebook else [file]
    return [*answers, *_from_exported_notebooks(names, others)], others


def _folder_below(path: tuple[str, ...], folder: tuple[str, ...]) -> str:
    """Return the name that follows `folder` in `path`: "b" for ("a", "b", "c") and ("a",); empty if none follows."""
    return path[len(folder)] if len(path) > len(folder) else ""


def _from_file(names: ExerciseNames, file: File, notes: list[str]) -> Iterator[AnswerFile]:
    """Yield the answers that a file may be: one by its name, or those that a notebook defines; none for another file.

    Args:
        names: finds the exercise or unit that a name means.
        file: the file.
        notes: the list to which a note is appended if the file is a notebook that is ignored.
    """
    unit = names.unit_of(file.folders[-1]) if file.folders else ""
    above = file.folders[:-1] if unit else file.folders
    above = above[:-1] if above and above[-1] == "exercises" else above
    if file.is_notebook:
        yield from _from_notebook(names, file, above, notes)
    elif (match := names.find(file.name, unit)) is not None:
        is_in_course_folder = unit == match.exercise.unit or len(above) < len(file.folders) or not above
        order = 0 if unit == match.exercise.unit else 1 if is_in_course_folder else 2
        yield AnswerFile(file, match.exercise, above, order, match.copy, match.is_exact)


def _from_exported_notebooks(names: ExerciseNames, others: Sequence[File]) -> Iterator[AnswerFile]:
    """Yield an answer file for each exercise that is defined in a Python file which was exported from a notebook.

    Only the first `MOST_EXPORTED` Python files are read; those that cannot be read are passed over.

    Args:
        names: the exercises of the course that are graded.
        others: the files that have no exercise's name; other answers may import them, too.
    """
    python = [file for file in others if file.name.lower().endswith(".py") and names.is_wanted(file.folders)]
    for file in python[:MOST_EXPORTED]:
        with path_added_to_errors(file):
            content = required_content(file)
            if isinstance(content, UnreadFile):
                continue
            try:
                text = decode(content)
            except UnreadableSource:
                continue
            for name in exercises_defined(names.course, [text]) if EXPORTED.search(text) else ():
                exercise = names.course.find(name)
                answer = _exported_cells(text) if exercise.is_quiz else content
                yield AnswerFile(file, exercise, file.folders, 4, 0, False, answer, is_by_content=True)


def _exported_cells(text: str) -> tuple[str, ...]:
    """Return the cells in the text of a file that was exported from a notebook; the first has all that is above it."""
    starts = [match.start() for match in EXPORTED.finditer(text)][1:MOST_CELLS]
    return tuple(text[start:end] for start, end in zip([0, *starts], [*starts, len(text)], strict=True))


def _from_notebook(names: ExerciseNames, file: File, above: tuple[str, ...], notes: list[str]) -> Iterator[AnswerFile]:
    """Yield the answers that the cells of a notebook define, or append to `notes` why the notebook was ignored.

    The answers come in the order of the course. Answers that a cell only writes to a file, or that stand in a cell for
    text, are noted as well.

    Args:
        names: the names of the course's exercises.
        file: the notebook.
        above: the names of the folders that it lies in.
        notes: notes on the submission.
    """
    data = required_content(file, LARGEST_NOTEBOOK)
    if isinstance(data, UnreadFile):
        notes.append(f"{file.path} was ignored: {data.why}")
        return
    try:
        cells, texts = notebook_cells(data)
    except UnreadableNotebook as error:
        notes.append(f"{file.path} was ignored: {error}")
        return
    ids = exercises_defined(names.course, cells)
    for name in ids:
        yield AnswerFile(file, names.course.find(name), above, 3, content=cells)
    notes += _written_file_notes(names, file, cells, ids)
    code_in_text = [text for text in texts if parse_cell(text) is not None]
    outside = [name for name in exercises_defined(names.course, code_in_text) if name in names.wanted_ids - {*ids}]
    if outside:
        notes.append(f"{file.path} defines {', '.join(outside)} {TEXT_CELL}")
    elif not ids:
        notes.append(f"{file.path} was ignored: {NO_FUNCTION}")


def _written_file_notes(names: ExerciseNames, file: File, cells: Sequence[str], ids: Collection[str]) -> Iterator[str]:
    """Yield a note on each cell that writes a file, by `%%writefile`, with an answer that no cell defines or imports.

    A cell that writes a file named after an exercise gets one, too, if the file lacks the function of that name.

    Args:
        names: the exercises of the course that are graded.
        file: the notebook.
        cells: the texts of its code cells.
        ids: the ids of the exercises that the notebook answers.
    """
    for number, cell in enumerate(cells):
        written = ipython_cells.written_file(cell)
        if written is None:
            continue
        where = f"{file.path}, {Source.cell_name(number)}, writes {written.stem}.py"
        defined = _wanted_exercises_defined(names, written.text.encode("utf-8", "replace"))
        if missing := [name for name in defined if name not in ids]:
            yield f"{where}, and no cell imports {', '.join(missing)} from it: hand in that file as {missing[0]}.py"
        elif written.stem in names.wanted_ids and written.stem not in ids:
            yield f"{where}, which was ignored: it has no function {written.stem}"


def choose_files(answers: Sequence[AnswerFile], notes: list[str]) -> dict[str, AnswerFile]:
    """Return the file that is graded for each exercise, with its content, by the exercise's id.

    An answer is chosen before a stub, and a file named after the exercise before one that is taken for an answer by its
    content. The exercises come in the order of the first file that may be chosen for each.

    Args:
        answers: the files that may be answers, to any exercises.
        notes: the list to which notes on the choice are appended.
    """
    by_exercise: dict[str, list[AnswerFile]] = {}
    ids_by_name = {answer.exercise.id for answer in answers if not answer.is_by_content}
    for answer in answers:
        if not answer.is_by_content or answer.exercise.id not in ids_by_name:
            by_exercise.setdefault(answer.exercise.id, []).append(answer)
    passed_over = dict[tuple[File, str], list[str]]()
    chosen = {
        name: _choose_file(sorted(exercise_answers, key=lambda answer: answer.reading_order), notes, passed_over)
        for name, exercise_answers in by_exercise.items()
    }
    graded = {id(answer.file) for answer in chosen.values()}
    for (file, why), ids in passed_over.items():
        which = f" for {', '.join(ids)}" if id(file) in graded else ""  # it is graded for other exercises
        notes.append(f"{_distinct_path(file, chosen[ids[0]].file)} was not graded{which}: {why}")
    return chosen


def _choose_file(
    answers: Sequence[AnswerFile], notes: list[str], passed_over: dict[tuple[File, str], list[str]]
) -> AnswerFile:
    """Return the file that is graded for an exercise, with its content, and note why the others are not.

    If two different answers have equal precedence, the content is an `UnreadFile` that names both.

    Args:
        answers: the files for the exercise, in the order in which they are read.
        notes: the list to which notes on the choice are appended.
        passed_over: receives the exercise's id for each other file, by the file and why it is not graded.
    """
    ranked = [answer.read() for answer in answers[:MOST_COMPARED]]
    if len(ranked) > 1:
        ranked.sort(key=_rank)
    chosen = ranked[0]
    if not chosen.is_exact:
        notes.append(f"{chosen.file.path} was taken for {chosen.exercise.name}")
    notes += _definition_notes(chosen)
    for other in ranked[1:]:
        if other.content != chosen.content:
            is_tie = _rank(chosen) == _rank(other) == 0 and chosen.precedence == other.precedence
            if is_tie and not _is_same_answer(chosen, other):
                why = f"{chosen.file.path} and {other.file.path} are different answers: {KEEP_ONE}"
                return replace(chosen, content=UnreadFile("error", why, TWO_ANSWERS))
            passed_over.setdefault((other.file, _why_not_graded(chosen, other)), []).append(other.exercise.id)
    if len(answers) > MOST_COMPARED:
        notes.append(f"{len(answers) - MOST_COMPARED} more files for {chosen.exercise.name} were not looked at")
    return chosen


def _rank(answer: AnswerFile) -> int:
    """Return the rank of a file among those for one exercise; the file with the lowest rank is graded.

    Returns:
        -1 for a file that is lost, since it may be the answer; 0 for an answer; 1 for a function that is only imported;
        2 for an untouched stub; 3 for a file that the student made unreadable.
    """
    exercise, content = answer.exercise, answer.content
    assert content is not None
    if isinstance(content, UnreadFile):
        return 3 if content.status == "failed" else -1  # which of them is the answer, nobody can know
    if _is_untouched(exercise, content):
        return 2
    return int(
        isinstance(content, tuple) and all(definition.is_import for definition in definitions(content, {exercise.id}))
    )


def _is_same_answer(one: AnswerFile, other: AnswerFile) -> bool:
    """Return whether two files answer an exercise by the same code, such as a notebook and a file of its cell."""
    code = _code(one)
    return bool(code) and code == _code(other)


def _code(answer: AnswerFile) -> tuple[str, ...]:
    """Return the statements that bind the exercise's name, and those that bind any name that these use, as texts.

    Empty if nobody can tell what they are: for a quiz, a file that cannot be parsed, or a definition in a block.
    """
    content, names, known = answer.content, {answer.exercise.id}, list[Definition]()
    if answer.exercise.is_quiz or not isinstance(content, bytes | tuple):
        return ()
    try:
        texts = (decode(content),) if isinstance(content, bytes) else content
    except UnreadableSource:
        return ()
    while len(new := definitions(texts, names, literals_count=True)) > len(known):
        if any(each.statement is None or each.is_in_block for each in new):
            return ()
        known = new
        names = names.union(*(_free_names(each.statement) for each in known if each.statement))
    code = tuple(comparable_text(each.statement) for each in known if each.statement)
    return code if all(code) else ()


def _free_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement uses and does not bind itself, such as those of its imports and helpers."""
    nodes = list(ast.walk(statement))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return {node.id for node in names} - own


def _why_not_graded(chosen: AnswerFile, other: AnswerFile) -> str:
    """Return a clause on why a file was not graded, as "a/lin_grad.py is newer".

    Args:
        chosen: the file that was graded in its place, with its content.
        other: the file, with its content.
    """
    if isinstance(chosen.content, UnreadFile) and chosen.content.status == "error":
        return f"{chosen.file.path} cannot be read"
    if _is_same_answer(chosen, other):
        return f"{_distinct_path(chosen.file, other.file)} holds the same answer"
    if _rank(other) > _rank(chosen):
        return WHY_LESS_PREFERRED.get(_rank(other)) or _why_untouched(other)
    when = "is newer" if chosen.file.upload > other.file.upload else "was graded in its place"
    return f"{_distinct_path(chosen.file, other.file)} {when}"


def _distinct_path(file: File, other: File) -> str:
    """Return the path of a file, with the platform's number of its upload if another file has the same path."""
    return f"{file.path} (upload {file.upload})" if file.path == other.path and file.upload else file.path


def _is_untouched(exercise: CourseExercise, content: bytes | tuple[str, ...]) -> bool:
    """Return whether a file answers nothing: it is the stub, a sheet without an answer, or lacks the function.

    False for a file that cannot be read.
    """
    try:
        if exercise.is_quiz:
            return not _has_answers(exercise, content)
        texts = (decode(content),) if isinstance(content, bytes) else content
    except (ReadError, UnreadableSource):
        return False
    if statements := definitions(texts, {exercise.id}):
        if any(definition.statement is None for definition in statements):
            lines = {line.strip() for text in texts for line in text.splitlines()}
            return {line.strip() for line in placeholders(exercise)} <= lines
        return is_untouched(exercise, texts)
    return all(parse_cell(text) is not None and "import *" not in text for text in texts)


def _why_untouched(answer: AnswerFile) -> str:
    """Return a clause on why an untouched file answers nothing: a blank sheet, no function, or the stub."""
    if answer.exercise.is_quiz:
        return "it answers no question"
    content = answer.content
    assert isinstance(content, bytes | tuple)
    is_stub = definitions((decode(content),) if isinstance(content, bytes) else content, {answer.exercise.id})
    return "it is a stub, and was left as it is" if is_stub else f"it has no function {answer.exercise.id}"


def _has_answers(exercise: CourseExercise, content: bytes | tuple[str, ...]) -> bool:
    """Return whether a quiz's sheet, or what the cells of a notebook assign, answers any question.

    Raises:
        ReadError: the sheet or the cells cannot be read.
    """
    if isinstance(content, bytes):
        return bool(read_sheet(decode_sheet(content), exercise.quiz).answers)
    sheet = sheet_in(exercise.id, exercise.quiz, content)
    return sheet is not None and bool(sheet.answers)


def _definition_notes(chosen: AnswerFile) -> tuple[str, ...]:
    """Return the notes on the chosen file: stubs below the answer and answers above it, or why it cannot be read."""
    content = chosen.content
    if isinstance(content, UnreadFile) and content.status == "failed":
        return (f"{chosen.file.path}: {content.why}",)
    if content is None or isinstance(content, UnreadFile):
        return ()
    try:
        if chosen.exercise.is_quiz:
            if isinstance(content, bytes):
                read_sheet(decode_sheet(content), chosen.exercise.quiz)
                return ()
            return _quiz_notes(chosen, content)
        source = Source.of(content, chosen.file.path)
        notes = (
            *without_copied_stubs(chosen.exercise, source).notes,
            *replaced_definitions(chosen.exercise, source),
        )
    except (ReadError, UnreadableSource) as error:
        return (f"{chosen.file.path} cannot be read: {_why_unreadable(error)}",)
    return notes if isinstance(content, bytes) else tuple(f"{chosen.file.path}: {note}" for note in notes)


def _why_unreadable(error: ReadError | UnreadableSource) -> str:
    """Return the error that reading a file's text, or an answer sheet, ended in as a clause with the next step."""
    step = "; it must be saved as UTF-8" if isinstance(error, UnreadableSource) else ""
    return f"{str(error).rstrip('.')}{step}"


def _quiz_notes(chosen: AnswerFile, cells: Sequence[str]) -> tuple[str, ...]:
    """Return notes on the answers to a quiz that later ones in the same cells replace: the last `MOST_NOTES` - 1.

    Args:
        chosen: the notebook, or the file that was exported from one.
        cells: the texts of its cells.

    Raises:
        ReadError: the cells cannot be read.
    """
    name, source = chosen.exercise.id, Source.of(tuple(cells), chosen.file.path)
    sheets = places_of_sheets(name, chosen.exercise.quiz, cells)
    places = [f"line {line} of {source.cell_name(cell)}" for cell, line in sheets]
    return tuple(
        f"{chosen.file.path}: {place} holds another {name}, and was passed over: the last one, in {places[0]}, counts"
        for place in reversed(places[1:MOST_NOTES])
    )


@dataclass(frozen=True)
class SubmissionContent:
    """Hold what was read of one student's submission.

    Args:
        files: the content of the file for each exercise that was submitted, by the exercise's id.
        notes: which file was taken for which exercise, which was ignored, and why.
        helpers: other Python files, by the path of the folder that they lie in, and their name.
        nothing: why there is nothing to grade; empty if there is something.
        chosen: the files that are graded, by the exercise's id.
        uploads_hash: a hash of the files that were handed in, if there is nothing to grade; else empty.
    """

    files: Mapping[str, FileContent]
    notes: tuple[str, ...] = ()
    helpers: Mapping[tuple[str, str], bytes] = field(default_factory=dict)
    nothing: str = ""
    chosen: Mapping[str, AnswerFile] = field(default_factory=dict, repr=False, compare=False)
    uploads_hash: str = field(default="", repr=False, compare=False)

    def parts(self, course: Course) -> Iterator[Part]:
        """Yield the answers to judge: one part for each file that was read, with the files that it may import."""
        for name, content in self.files.items():
            if not isinstance(content, UnreadFile):
                yield Part(name, content, self.importable_files(course.find(name)))

    def importable_files(self, exercise: CourseExercise) -> dict[str, bytes]:
        """Return the files that an exercise may import, by name: those of its unit, and those in its folder.

        Where both have a file of one name, that of the unit counts.
        """
        unit_files = {other.id: other.name for other in exercise.course.exercises if other.unit == exercise.unit}
        files = dict[str, bytes]()
        for folder in self._importable_folders(exercise):
            files |= {name: content for (place, name), content in self.helpers.items() if place == folder}
        for name, content in self.files.items():
            if name in unit_files and isinstance(content, bytes):
                files[unit_files[name]] = content
        return files

    def _importable_folders(self, exercise: CourseExercise) -> Iterator[str]:
        """Yield the folders whose files an exercise may import.

        If two folders have a file of the same name, the one in the later folder is imported. The folder of the
        submission itself is an empty text.

        Args:
            exercise: the exercise.
        """
        chosen = self.chosen.get(exercise.id)
        above = "".join(f"{folder}/" for folder in chosen.above) if chosen else ""
        for place in ("exercises", "", f"exercises/{exercise.unit}", exercise.unit):
            yield f"{above}{place}".rstrip("/")
        yield "/".join(chosen.file.folders) if chosen else ""

    def hashes(self, parts: Iterable[Part], notes: Sequence[str]) -> dict[str, str]:
        """Return a hash of what was submitted for each exercise, with what it imports, and under "" of all of it.

        Args:
            parts: the answers to judge, as `parts` yields them.
            notes: the notes that the submission had before it was read, which are no part of it.
        """
        digest = lru_cache(None)(short_hash)  # an exercise may import all others of its unit
        own = [note for note in self.notes if note not in notes]
        files = [(name, digest(content)) for name, content in sorted(self.files.items())]
        helpers = [(place, digest(content)) for place, content in sorted(self.helpers.items())]
        words = lru_cache(None)(lambda content: frozenset(_words(content)))
        imported = {
            part.exercise: [(name, digest(part.beside[name])) for name in _mentioned_files(part, words)]
            for part in parts
        }
        each = {name: short_hash((content_digest, imported.get(name))) for name, content_digest in files}
        return {"": short_hash((files, helpers, own, self.nothing + self.uploads_hash)), **each}

    def content_hash(self, digest: str) -> str:
        """Return a hash of everything that a result depends on, except the seed.

        Args:
            digest: the hash of everything about the course and this version of handgrad that a result depends on.
        """
        files = [*sorted(self.files.items()), *sorted(self.helpers.items())]
        unread = self.nothing + self.uploads_hash
        return hashlib.sha256(repr((digest, files, self.notes, unread)).encode()).hexdigest()


@dataclass(frozen=True)
class SubmissionFacts:
    """Hold what a record needs of a submission besides the verdicts; its only learner text is names of files.

    A process that reads submissions sends these facts as JSON to the one that writes records.

    Args:
        exercises: the ids of the exercises that were submitted.
        hashes: by the exercise's id a hash of what was submitted for it, and under "" of all of it.
        unread: by id, the exercises whose files were not read, and why.
        made_from: a hash of all that a result depends on, except the seed.
        notes: the notes on the files, to the student.
        nothing: why there is nothing to grade; empty if there is something.
        parts: the answers to judge, if the reader keeps them; see `cluster_wire.pack_submission`.
    """

    exercises: tuple[str, ...]
    hashes: Mapping[str, str]
    unread: Mapping[str, UnreadFile]
    made_from: str
    notes: tuple[str, ...] = ()
    nothing: str = ""
    parts: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> SubmissionFacts:
        """Return the facts from their JSON values, one for each field by its name, as another process sent them."""
        unread = {name: UnreadFile(**why) for name, why in facts["unread"].items()}
        exercises, notes = tuple(facts["exercises"]), tuple(facts["notes"])
        return cls(exercises, facts["hashes"], unread, facts["made_from"], notes, facts["nothing"], facts["parts"])

    @property
    def content(self) -> SubmissionContent:
        """Return the content of the submission, without helpers.

        Only for a reader that kept the answers that it read.
        """
        files: dict[str, FileContent] = dict(self.unread)
        parts = unpack_submission(self.parts or {"parts": [], "contents": []})
        files |= {part.exercise: part.content for part in parts}
        return SubmissionContent({name: files[name] for name in self.exercises}, self.notes, nothing=self.nothing)


@dataclass(frozen=True)
class SubmissionReader:
    """Read submissions in whichever process it is called; a `grading_pool.Read`.

    Args:
        wanted: the ids of the exercises that are graded.
        digest: a hash of everything about the course that a result depends on.
        keeps_parts: whether the answers to judge are included in the facts.
    """

    wanted: tuple[str, ...]
    digest: str
    keeps_parts: bool = False

    def __call__(self, course: Course, submission: Submission) -> Reading:
        """Read what one student submitted; return the answers to judge, and `SubmissionFacts` as JSON values."""
        content = read_submission(ExerciseNames(course, tuple(map(course.find, self.wanted))), submission)
        parts = tuple(content.parts(course))
        unread = {
            name: {"status": file.status, "why": file.why, "code": file.code}
            for name, file in content.files.items()
            if isinstance(file, UnreadFile)
        }
        facts = {
            "exercises": list(content.files),
            "hashes": content.hashes(parts, submission.notes),
            "unread": unread,
            "made_from": content.content_hash(self.digest),
            "notes": content.notes,
            "nothing": content.nothing,
            "parts": pack_submission(parts) if self.keeps_parts else None,
        }
        return Reading(parts, facts)


def short_hash(content: object) -> str:
    """Return the first 16 digits of a hash of a value, by its `repr`."""
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def read_submission(names: ExerciseNames, submission: Submission) -> SubmissionContent:
    """Return the content of what one student submitted; if any file cannot be read, every exercise counts as unread.

    An exercise is `<unit>/<id>.py`, in any folder, or `<id>.py` anywhere, or a name that is made of these; a quiz is
    `<unit>/quiz.yaml`, or `quiz_<unit>.yaml`; a notebook is what its cells define. Nothing is unpacked to disk, and no
    link is followed.
    """
    if submission.nothing:
        walk = SubmissionWalk()
        with suppress(Exception):  # what cannot be listed costs no reason why nothing is graded
            list(walk.files(submission.folders))
        return SubmissionContent(
            {}, submission.notes, nothing=submission.nothing, uploads_hash=_hash_of_files(walk.uploads)
        )
    if submission.conflict:
        code = TWO_ANSWERS if submission.is_of_several else "error"
        return _unread_content(names, submission, submission.conflict, code)
    try:
        return _read_chosen_files(names, submission)
    except OSError as error:
        name = f"{displayable_name(os.path.basename(error.filename))}: " if isinstance(error.filename, str) else ""
        why = f"the submission cannot be read ({name}{error.strerror or error}): check the permissions of its folder"
    except FileLost as error:
        why = f"the submission cannot be read ({error})"
    return _unread_content(names, submission, why)


def _unread_content(names: ExerciseNames, submission: Submission, why: str, code: str = "error") -> SubmissionContent:
    """Return the content of a submission of which no exercise could be read, with the reason and its public code."""
    unread = UnreadFile("error", why, code)
    return SubmissionContent({exercise.id: unread for exercise in names.wanted}, submission.notes)


def _read_chosen_files(names: ExerciseNames, submission: Submission) -> SubmissionContent:
    """Return the files of a submission that are graded or may be imported, with notes on all others.

    If the submission holds the work of several students, no file is returned, and `nothing` says why. Of more than
    `MOST_NOTES` notes only the first are kept, and one that says how many more there are.

    Raises:
        OSError: a folder cannot be listed, or a file cannot be read.
        FileLost: a file that may contain an answer cannot be read.
    """

    def may_answer(folder: str, name: str) -> bool:
        """Return whether a file of this name in this folder may be an exercise."""
        return names.find(name, names.unit_of(folder)) is not None

    walk, notes = SubmissionWalk(may_answer), list[str](submission.notes)
    files = list(walk.files(submission.folders))
    if platform := platform_of_several([(*file.folders, file.name) for file in files]):
        nothing = f"it holds the work of several students, as {platform} {_section_advice(submission)}"
        return SubmissionContent({}, tuple(notes), nothing=nothing, uploads_hash=_hash_of_files(walk.uploads))
    answers, others = find_answers(names, files, notes)
    chosen = choose_files([answer for answer in answers if answer.exercise.id in names.wanted_ids], notes)
    chosen = _with_unreadable_files(chosen)
    notes += walk.notes
    helpers = _helpers(names, [file for file in others if names.is_wanted(file.folders)], notes)
    contents = {name: answer.content for name, answer in chosen.items() if answer.content is not None}
    graded = {answer.file.path for answer in chosen.values()}
    notes += _unused_helper_notes(names, contents, helpers, graded, dict(_replaced_exports(answers, chosen)))
    own_notes, advice = notes[len(submission.notes) :], _section_advice(submission)
    nothing = _why_nothing(names, chosen, answers, files, own_notes, walk.skipped, advice)
    said = [nothing, nothing.replace(f": {NOT_READ}: ", ": ")]
    repeats = (" was ignored: ", " cannot be read: ")  # in notes that say the reason once more
    unknown = f" was ignored: {UNKNOWN}"  # of a file that is listed among those that no exercise is named like
    notes = [
        note
        for note in notes
        if not any(words in note and note.replace(words, ": ") in said for words in repeats)
        and not (note.endswith(unknown) and note.removesuffix(unknown) in nothing)
    ]
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"{len(notes) - MOST_NOTES} more files were ignored"]
    uploads_hash = _hash_of_files(walk.uploads) if nothing else ""
    return SubmissionContent(contents, tuple(notes), helpers, nothing, chosen, uploads_hash)


def _with_unreadable_files(chosen: dict[str, AnswerFile]) -> dict[str, AnswerFile]:
    """Return the chosen files with an `UnreadFile` as the content of each, if the text of none can be read.

    If the text of any file can be read, the chosen files are returned as they are: the others fail in judging.

    Args:
        chosen: the files that are graded, with their contents, by exercise id.
    """
    unread = dict[str, AnswerFile]()
    for name, answer in chosen.items():
        content = _unread_text(answer)
        if content is None:
            return chosen
        unread[name] = replace(answer, content=content)
    return unread


def _unread_text(answer: AnswerFile) -> UnreadFile | None:
    """Return what a file that is no text, or no answer sheet, becomes as the content; `None` if it can be read."""
    content = answer.content
    if not isinstance(content, bytes):
        return content if isinstance(content, UnreadFile) else None
    try:
        if answer.exercise.is_quiz:
            _has_answers(answer.exercise, content)
        else:
            decode(content)
    except (ReadError, UnreadableSource) as error:
        return UnreadFile.by_student(_why_unreadable(error))
    return None


def _section_advice(submission: Submission) -> str:
    """Return the end of a sentence on a submission that may be a section: that a platform "names files", and a step."""
    step = "put it beside the sections, as one of them" if submission.section else "name --layout sections"
    return f"names files: if it is a section, {step}"


def _hash_of_files(files: Iterable[File]) -> str:
    """Return a hash of the paths and the bytes of files, to tell two submissions apart of which nothing can be graded.

    Of a file that cannot be read, or that lies beyond the limits of archives, only the path counts. The order of the
    files counts. It has 16 hexadecimal digits.
    """
    digest, bytes_left = hashlib.sha256(), MOST_UNPACKED
    for file in files:
        data = b""
        if not file.why_unread and bytes_left > 0:
            with suppress(OSError, UnreadableArchiveError):
                data = file.read(min(LARGEST_ARCHIVE, bytes_left))
        bytes_left -= len(data)
        digest.update(repr((file.path, len(data))).encode())
        digest.update(data)
    return digest.hexdigest()[:16]


def _is_of_course(course: Course, file: File) -> bool:
    """Return whether a file has the place and the name of one that the course hands out, such as a lesson's picture."""
    return bool(file.folders) and (course.root / "exercises" / file.folders[-1] / file.name).is_file()


def _helpers(names: ExerciseNames, others: Sequence[File], notes: list[str]) -> dict[tuple[str, str], bytes]:
    """Return the contents of the Python files that exercises may import, by folder (`"a/b"`) and name.

    There are at most `MOST_HELPERS` files, of `LARGEST_HELPERS` bytes together.

    Args:
        names: the exercises that are graded, and their course, whose own files are not noted.
        others: the files of a submission that belong to no exercise.
        notes: the notes to the student; one is appended for each of the other files that the course or a platform has
            not added, and says why it was ignored.
    """
    helpers, bytes_left = dict[tuple[str, str], bytes](), LARGEST_HELPERS
    for file in others:
        with path_added_to_errors(file):
            is_python = file.name.endswith(".py") and not file.why_unread
            content = required_content(file) if is_python and len(helpers) < MOST_HELPERS and bytes_left > 0 else None
            if isinstance(content, bytes) and len(content) <= bytes_left:
                helpers["/".join(file.folders), composed_name(file.name)] = content  # as Python names a module
                bytes_left -= len(content)
            elif file.name not in NOT_REPORTED and not _is_of_course(names.course, file):
                why = content.why if isinstance(content, UnreadFile) else _why_ignored(file, names)
                notes.append(f"{file.path} was ignored: {why}")
    return helpers


def _why_ignored(file: File, names: ExerciseNames) -> str:
    """Return why a file that belongs to no exercise was ignored, as a clause of a note to the student.

    Args:
        file: the file.
        names: the exercises that are graded.
    """
    quizzes = [exercise for exercise in names.wanted if exercise.is_quiz]
    if len(quizzes) > 1 and file.name.casefold() == quizzes[0].name:
        return f"it does not say which quiz it answers: put it in its unit's folder, such as {quizzes[0].unit}"
    if not quizzes and file.name.casefold() == QUIZ_FILE:
        return "this run grades no quiz"
    if is_unread_archive(file.name):
        return "such archives are not read; ask for a .zip or a .tar.gz"
    return file.why_unread or UNKNOWN


def _unused_helper_notes(
    names: ExerciseNames,
    files: Mapping[str, FileContent],
    helpers: Mapping[tuple[str, str], bytes],
    graded: Collection[str],
    replaced: Mapping[str, str],
) -> Iterator[str]:
    """Yield a note on each file that no other file mentions: perhaps it is an exercise under a wrong name.

    Args:
        names: the exercises that are graded.
        files: the contents of the files that are graded, by exercise id.
        helpers: the files that may be imported, by folder and name.
        graded: the paths of the files that are graded.
        replaced: clauses by the paths of exported notebooks, each on why another file was graded for the notebook's
            exercise.
    """
    mentions = Counter(word for content in helpers.values() for word in set(WORD.findall(content)))
    for content in files.values() if helpers else ():
        mentions.update(set(_words(content)))
    for (place, file), content in helpers.items():
        word, path = name_bytes(file.removesuffix(".py")), displayable_name(f"{place}/{file}" if place else file)
        if path not in graded and mentions[word] <= (word in WORD.findall(content)):  # nobody but itself
            if path in replaced:
                yield f"{path} was not graded: {replaced[path]}"
            else:
                defined = _wanted_exercises_defined(names, content) if files else []  # else `_why_nothing` asks
                missing = [name for name in defined if name not in files]
                yield f"{path} was ignored: {_name_question(missing[0]) if missing else UNKNOWN}"


def _replaced_exports(answers: Iterable[AnswerFile], chosen: Mapping[str, AnswerFile]) -> Iterator[tuple[str, str]]:
    """Yield pairs: the path of an exported notebook that was not graded for an exercise that it defines, and why.

    The second is a clause on the file that was graded.

    Args:
        answers: the files that may be answers.
        chosen: the files that are graded, by the exercise's id.
    """
    for answer in answers:
        counted = chosen.get(answer.exercise.id)
        if counted and answer.is_by_content and not counted.is_by_content and counted.file is not answer.file:
            is_known = not isinstance(counted.content, UnreadFile)
            yield (
                answer.file.path,
                (_why_not_graded(counted, answer.read()) if is_known else f"{counted.file.path} goes before it"),
            )


def _words(content: FileContent) -> Iterator[bytes]:
    """Yield every word, as bytes, in the text of a file or in the cells of a notebook."""
    if isinstance(content, bytes):
        yield from WORD.findall(content)
    elif isinstance(content, tuple):
        yield from WORD.findall("\n".join(content).encode())


def _why_nothing(
    names: ExerciseNames,
    chosen: Mapping[str, AnswerFile],
    answers: Sequence[AnswerFile],
    files: Sequence[File],
    notes: Sequence[str],
    skipped: Sequence[Folder],
    section_advice: str,
) -> str:
    """Return why there is nothing to grade; empty if there is something, or if a file could not be read.

    Args:
        names: the course, and which of its exercises are graded.
        chosen: the files that are graded, by exercise id.
        answers: the files that may be answers to any exercise of the course.
        files: all files.
        notes: the notes on the files.
        skipped: the folders of the submission with names that tools use, in which nothing may be an answer.
        section_advice: the end of the sentence on files that Canvas named, with the next step.
    """
    for answer in chosen.values():
        if not isinstance(answer.content, UnreadFile) or answer.content.status == "error":
            return ""
    for answer in chosen.values():
        assert isinstance(answer.content, UnreadFile)
        return f"{answer.file.path}: {answer.content.why}"
    if answers:
        return f"it holds {_listed_files([answer.file for answer in answers])}, which this run does not grade"
    if not files:
        if skipped and not notes:
            shown = displayable_name(skipped[0].name)
            return (
                f"it holds nothing but {shown}, and tools use this name: ask for the answers outside of such a folder"
            )
        return notes[-1] if notes else EMPTY
    archive = next((file for file in files if is_unread_archive(file.name)), None)
    if archive is not None:
        return f"{archive.path}: {_why_ignored(archive, names)}"
    if broken := next((note for note in notes if BROKEN in note or NOT_READ in note), ""):
        return broken
    if lost := next((file for file in files if file.why_unread and names.find(file.name.rpartition("/")[2])), None):
        return f"{lost.path}: {lost.why_unread}"
    if len([file for file in files if canvas_submission(file)]) > len(files) / 2:
        return f"it holds {_listed_files(files)}, as Canvas {section_advice}"
    if without_code := next((note for why in (TEXT_CELL, NO_FUNCTION) for note in notes if why in note), ""):
        return without_code
    similar = next((question for file in files[:MOST_SUGGESTED] if (question := _suggested_name(names, file))), "")
    return f"it holds {_listed_files(files)}, and no file that is named after an exercise{similar}"


def _suggested_name(names: ExerciseNames, file: File) -> str:
    """Return " (should a.py be lin_grad.py?)" for a file whose name is similar to an exercise's, or that defines one.

    Empty for any other file.
    """
    content = read_content(file) if file.name.lower().endswith(".py") else b""
    defined = _wanted_exercises_defined(names, content) if isinstance(content, bytes) else []
    ids = defined or [exercise.id for exercise in names.wanted]
    if similar := difflib.get_close_matches(os.path.splitext(file.name)[0].casefold(), ids, 1, 0.8):
        if names.course.find(similar[0]).is_quiz:
            return f" ({file.path} is no answer sheet: the quiz is handed in as {similar[0]}.yaml)"
        return f" (should {file.path} be {similar[0]}.py?)"
    return f" ({file.path} {_name_question(defined[0]).removeprefix('it ')})" if defined else ""


def _name_question(name: str) -> str:
    """Return a clause about a file that defines a function, such as "it defines relu: should it be relu.py?"."""
    return f"it defines {name}: should it be {name}.py?"


def _wanted_exercises_defined(names: ExerciseNames, content: bytes) -> list[str]:
    """Return the ids of the exercises, of those that are graded, whose functions a Python file defines.

    They are in the course's order; empty if the file is not text in its encoding.
    """
    with suppress(UnreadableSource):
        return [name for name in exercises_defined(names.course, [decode(content)]) if name in names.wanted_ids]
    return []


def _mentioned_files(part: Part, words_of: Callable[[FileContent], frozenset[bytes]]) -> list[str]:
    """Return the names of the files beside an answer that the answer mentions, directly or through other such files.

    Only these can be imported, so that a file under a name that another set of exercises knows changes no answer. The
    names are sorted.

    Args:
        part: the answer to look at, with the files beside it.
        words_of: returns the words of a file's content.
    """
    stems = {name: name.removesuffix(".py") for name in part.beside}
    mentioned, pending = set[str](), list[FileContent]([part.content])
    while pending:
        words = words_of(pending.pop())
        new = {
            name
            for name, stem in stems.items()
            if name not in mentioned
            and stem.isidentifier()
            and (not stem.isascii() or stem.encode() in words)  # the words of bytes are ASCII
        }
        mentioned |= new
        pending += [part.beside[name] for name in new]
    return sorted(mentioned)


def _listed_files(files: Sequence[File]) -> str:
    """Return the paths of the first few files, and how many more there are: "a.py, b.py and 3 more files"."""
    paths = ", ".join(dict.fromkeys(file.path for file in files[:MOST_NAMED]))
    more = len(files) - MOST_NAMED
    return f"{paths} and {more} more {'file' if more == 1 else 'files'}" if more > 0 else paths
