"""Which of the files of a hand-in is graded for each exercise: the newest of those that are named after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.authoring.build import placeholders
from grader.course import CourseExercise
from grader.results import Status

from .exercise_names import ExerciseNames
from .file_tree import UnreadableArchiveError
from .notebook_code import LARGEST as LARGEST_NOTEBOOK
from .notebook_code import answered, code_cells
from .walk import Found, naming

SIZE_LIMIT = 1 << 20
MOST_COMPARED, MOST_NOTEBOOKS = 8, 12
BESIDE_EXERCISES = frozenset({"solutions", "tests", "grader"})  # what a copy of a whole course has


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
    """

    found: Found
    exercise: CourseExercise
    above: tuple[str, ...]
    order: int
    copy: int = 0
    is_exact: bool = True
    content: Content | None = None

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
    return answers, others


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


def _of_notebook(names: ExerciseNames, found: Found, above: tuple[str, ...], notes: list[str]) -> Iterator[Candidate]:
    data = read_content(found, LARGEST_NOTEBOOK)
    try:
        if isinstance(data, UnreadFile):
            raise ValueError(data.why)
        cells = code_cells(data)
    except ValueError as error:
        notes.append(f"{found.path} was ignored: {error}")
        return
    own = answered(names.course, cells)
    for name in own:
        yield Candidate(found, names.course.find(name), above, 3, content=cells)
    if not own:
        notes.append(f"{found.path} was ignored: no cell of it defines a function of an exercise")


def choose(answers: Sequence[Candidate]) -> Mapping[str, Chosen]:
    """What is graded for each exercise, by id."""
    by_exercise: dict[str, list[Candidate]] = {}
    for each in answers:
        by_exercise.setdefault(each.exercise.id, []).append(each)
    return {name: _choice(sorted(own, key=lambda one: one.newest_first)) for name, own in by_exercise.items()}


def _choice(newest_first: Sequence[Candidate]) -> Chosen:
    compared = [(each, _read(each)) for each in newest_first[:MOST_COMPARED]]
    ranked = sorted(compared, key=lambda one: _worth(*one) if len(compared) > 1 else 0)
    chosen, content = ranked[0]
    notes = [] if chosen.is_exact else [f"{chosen.found.path} was taken for {chosen.exercise.name}"]
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
    """An answer comes before a stub that nobody touched, and that before a file that cannot be read."""
    return 2 if isinstance(content, UnreadFile) else 1 if _is_untouched(candidate.exercise, content) else 0


def _why(chosen: Candidate, content: Content, other: Content, each: Candidate) -> str:
    if _worth(each, other) > _worth(chosen, content):
        return "it could not be read" if isinstance(other, UnreadFile) else "it is a stub, and was left as it is"
    when = "is newer" if chosen.found.file.modified > each.found.file.modified else "was graded in its place"
    return f"{chosen.found.path} {when}"


def _is_untouched(exercise: CourseExercise, content: bytes | tuple[str, ...]) -> bool:
    """It still has every `...` of the stub, or every line that was to be mended."""
    if exercise.is_quiz:
        return False
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else _defining(exercise, content)
    return {line.strip() for line in placeholders(exercise)} <= {line.strip() for line in text.splitlines()}


def _defining(exercise: CourseExercise, cells: tuple[str, ...]) -> str:
    return "\n".join(cell for cell in cells if f"def {exercise.id}" in cell)
