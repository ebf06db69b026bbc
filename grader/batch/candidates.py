"""Which of the files of a hand-in is graded for each exercise: the newest of those that are named after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.authoring.build import placeholders
from grader.course import CourseExercise
from grader.errors import ReadError
from grader.judging.unanswered_stubs import is_untouched, without_copied_stubs
from grader.quiz.answer_sheet import decode_sheet, read_sheet
from grader.quiz.notebook_quiz import sheet_in
from grader.results import Status
from grader.source.definitions import definitions, parsed
from grader.source.text import Source, UnreadableSource, decode

from .exercise_names import ExerciseNames
from .file_tree import UnreadableArchiveError
from .notebook_code import LARGEST as LARGEST_NOTEBOOK
from .notebook_code import UnreadableNotebook, code_cells, defined
from .walk import Found, naming

SIZE_LIMIT = 1 << 20
MOST_COMPARED, MOST_NOTEBOOKS, MOST_OTHERS = 8, 12, 50
# What an exported notebook holds, by nbconvert or by VS Code, whatever the file is called.
EXPORTED = re.compile(r"^# (?:In ?\[[ \d*]*\]:|%%)", re.MULTILINE)
WORSE = {1: "it only imports the function", 2: "it is a stub, and was left as it is", 3: "it could not be read"}
BESIDE_EXERCISES = frozenset({"solutions", "tests", "grader"})  # what a copy of a whole course has


class FileLost(Exception):
    """A file that may hold an answer cannot be read, which is not the student's doing; says which, and why."""


@dataclass(frozen=True)
class UnreadFile:
    """A file that is there but was not read.

    Args:
        status: `failed` where that is the student's doing, `error` where it is not.
    """

    status: Status
    why: str


Content = bytes | tuple[str, ...] | UnreadFile  # of a file, of the code cells of a notebook, or of neither


@dataclass(frozen=True)
class Candidate:
    """A file that may be somebody's answer to an exercise.

    Args:
        above: the folders above the course's own, or all of them where it lies in none of these.
        order: how far it is from where it belongs; 0 in its unit's folder.
        copy: which copy its name says it is.
        is_exact: it has the name that the course gave it.
        content: what it holds, where that is known already.
        is_by_content: its name says nothing of the exercise; it is an exported notebook that defines the function.
    """

    found: Found
    exercise: CourseExercise
    above: tuple[str, ...]
    order: int
    copy: int = 0
    is_exact: bool = True
    content: Content | None = None
    is_by_content: bool = False

    def read(self) -> Content:
        """What it holds."""
        return read_content(self.found) if self.content is None else self.content

    @property
    def newest_first(self) -> tuple[object, ...]:
        """Sorts the newest to the front; of two as new, the one that lies where it belongs."""
        return -self.found.file.modified, -self.copy, self.order, len(self.above), not self.is_exact, self.found.path


@dataclass(frozen=True)
class Chosen:
    """What is graded for an exercise, and what is to be said of the choice."""

    candidate: Candidate
    content: Content
    notes: tuple[str, ...] = ()


def read_content(found: Found, limit: int = SIZE_LIMIT) -> bytes | UnreadFile:
    """The bytes of a file, if it can and may be read."""
    if found.file.why_unread:
        return UnreadFile("failed", f"the file was not read: {found.file.why_unread}")
    try:
        content = found.file.read(limit)
    except UnreadableArchiveError as error:
        return UnreadFile("failed", f"the file was not read: its archive {error}; ask for it again")
    except OSError as error:
        return UnreadFile("error", f"the file cannot be read ({error.strerror}): check its permissions")
    if len(content) > limit:
        return UnreadFile(
            "failed", f"the file was not read: it is larger than {limit >> 20} MiB; hand in the answers alone"
        )
    return content


def expected_content(found: Found, limit: int = SIZE_LIMIT) -> bytes | UnreadFile:
    """The bytes of a file that nobody can know the use of without reading it.

    Raises:
        FileLost: it cannot be read, which is not the student's doing.
    """
    content = read_content(found, limit)
    if isinstance(content, UnreadFile) and content.status == "error":
        raise FileLost(f"{found.path}: {content.why}")
    return content


def candidates(names: ExerciseNames, found: Iterable[Found], notes: list[str]) -> tuple[list[Candidate], list[Found]]:
    """The files that may be answers, and all others."""
    files = list(found)
    courses = {at[: at.index("exercises")] for at in (each.folders for each in files) if "exercises" in at}
    answers, others, notebooks = list[Candidate](), list[Found](), 0
    for each in files:
        notebooks += _is_notebook(each)
        if _is_notebook(each) and notebooks > MOST_NOTEBOOKS:
            notes.append(f"{each.path} was ignored: there are more than {MOST_NOTEBOOKS} notebooks")
            continue
        if any(each.folders[: len(at)] == at and _next(each.folders, at) in BESIDE_EXERCISES for at in courses):
            continue
        with naming(each):
            own = list(_of_file(names, each, notes))
        answers += own
        others += [] if own or _is_notebook(each) else [each]
    return [*answers, *_by_content(names, others)], others


def _is_notebook(found: Found) -> bool:
    return found.file.name.lower().endswith(".ipynb")


def _next(folders: tuple[str, ...], at: tuple[str, ...]) -> str:
    return folders[len(at)] if len(folders) > len(at) else ""


def _of_file(names: ExerciseNames, found: Found, notes: list[str]) -> Iterator[Candidate]:
    unit = names.unit_of(found.folders[-1]) if found.folders else ""
    above = found.folders[:-1] if unit else found.folders
    above = above[:-1] if above and above[-1] == "exercises" else above
    if _is_notebook(found):
        yield from _of_notebook(names, found, above, notes)
    elif (named := names.find(found.file.name, unit)) is not None:
        at_home = unit == named.exercise.unit or len(above) < len(found.folders) or not above
        order = 0 if unit == named.exercise.unit else 1 if at_home else 2
        yield Candidate(found, named.exercise, above, order, named.copy, named.is_exact)


def _by_content(names: ExerciseNames, others: Sequence[Found]) -> Iterator[Candidate]:
    """Yield the exercises that exported notebooks define; the same files may be imported."""
    python = [each for each in others if each.file.name.lower().endswith(".py") and names.is_wanted(each.folders)]
    for found in python[:MOST_OTHERS]:
        with naming(found):
            content = expected_content(found)
            if isinstance(content, UnreadFile):
                continue
            try:
                text = decode(content)
            except UnreadableSource:
                continue
            for name in defined(names.course, [text]) if EXPORTED.search(text) else ():
                exercise = names.course.find(name)
                yield Candidate(found, exercise, found.folders, 4, 0, False, content, is_by_content=True)


def _of_notebook(names: ExerciseNames, found: Found, above: tuple[str, ...], notes: list[str]) -> Iterator[Candidate]:
    data = expected_content(found, LARGEST_NOTEBOOK)
    if isinstance(data, UnreadFile):
        notes.append(f"{found.path} was ignored: {data.why}")
        return
    try:
        cells = code_cells(data)
    except UnreadableNotebook as error:
        notes.append(f"{found.path} was ignored: {error}")
        return
    own = defined(names.course, cells)
    for name in own:
        yield Candidate(found, names.course.find(name), above, 3, content=cells)
    if not own:
        notes.append(f"{found.path} was ignored: no cell of it defines a function of an exercise")


def choose(answers: Sequence[Candidate]) -> Mapping[str, Chosen]:
    """What is graded for each exercise, by id."""
    by_exercise: dict[str, list[Candidate]] = {}
    named = {each.exercise.id for each in answers if not each.is_by_content}
    for each in answers:
        if not each.is_by_content or each.exercise.id not in named:
            by_exercise.setdefault(each.exercise.id, []).append(each)
    return {name: _choice(sorted(own, key=lambda one: one.newest_first)) for name, own in by_exercise.items()}


def _choice(newest_first: Sequence[Candidate]) -> Chosen:
    compared = [(each, _read(each)) for each in newest_first[:MOST_COMPARED]]
    ranked = sorted(compared, key=lambda one: _worth(*one) if len(compared) > 1 else 0)
    chosen, content = ranked[0]
    notes = [] if chosen.is_exact else [f"{chosen.found.path} was taken for {chosen.exercise.name}"]
    notes += _copied_stubs(chosen, content)
    others = [(each, other) for each, other in ranked[1:] if other != content]
    for each, other in others:
        notes.append(f"{each.found.path} was not graded: {_why(chosen, content, other, each)}")
    if len(newest_first) > MOST_COMPARED:
        notes.append(f"{len(newest_first) - MOST_COMPARED} more files for {chosen.exercise.name} were not looked at")
    return Chosen(chosen, content, tuple(notes))


def _read(candidate: Candidate) -> Content:
    with naming(candidate.found):
        return candidate.read()


def _worth(candidate: Candidate, content: Content) -> int:
    """An answer comes before one that is imported, then a stub that nobody touched, then what cannot be read."""
    if isinstance(content, UnreadFile):
        return 3 if content.status == "failed" else -1  # which of them is the answer, nobody can know
    exercise = candidate.exercise
    if _is_untouched(exercise, content):
        return 2
    return int(isinstance(content, tuple) and all(each.is_import for each in definitions(content, {exercise.id})))


def _why(chosen: Candidate, content: Content, other: Content, each: Candidate) -> str:
    if isinstance(content, UnreadFile) and content.status == "error":
        return f"{chosen.found.path} cannot be read"
    if _worth(each, other) > _worth(chosen, content):
        return WORSE[_worth(each, other)]
    when = "is newer" if chosen.found.file.modified > each.found.file.modified else "was graded in its place"
    return f"{chosen.found.path} {when}"


def _is_untouched(exercise: CourseExercise, content: bytes | tuple[str, ...]) -> bool:
    """It answers nothing: as the stub gives it, a sheet without an answer, or a file without the function."""
    try:
        if exercise.is_quiz:
            return not _has_answers(exercise, content)
        texts = (decode(content),) if isinstance(content, bytes) else content
    except (ReadError, UnreadableSource):
        return False
    if found := definitions(texts, {exercise.id}):
        if any(each.statement is None for each in found):
            lines = {line.strip() for text in texts for line in text.splitlines()}
            return {line.strip() for line in placeholders(exercise)} <= lines
        return is_untouched(exercise, texts)
    return all(parsed(text) is not None and "import *" not in text for text in texts)


def _has_answers(exercise: CourseExercise, content: bytes | tuple[str, ...]) -> bool:
    """A sheet, or what the cells of a notebook assign, answers a question.

    Raises:
        ReadError: it cannot be read.
    """
    if isinstance(content, bytes):
        return bool(read_sheet(decode_sheet(content), exercise.quiz).answers)
    sheet = sheet_in(exercise.id, exercise.quiz, content)
    return sheet is not None and bool(sheet.answers)


def _copied_stubs(chosen: Candidate, content: Content) -> tuple[str, ...]:
    """What is said of stubs that stand below the answer."""
    if chosen.exercise.is_quiz or isinstance(content, UnreadFile):
        return ()
    try:
        notes = without_copied_stubs(chosen.exercise, Source.of(content, chosen.found.path)).notes
    except UnreadableSource:
        return ()
    return notes if isinstance(content, bytes) else tuple(f"{chosen.found.path}: {note}" for note in notes)
