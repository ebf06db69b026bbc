"""Which files of a submission answer which exercises, read with nothing in them trusted."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.authoring.build import placeholders
from grader.course.course import Course, CourseExercise
from grader.errors import ReadError
from grader.judging.grading_pool import Part, Reading
from grader.judging.unanswered_stubs import is_untouched, without_copied_stubs
from grader.quiz.answer_sheet import decode_sheet, read_sheet
from grader.quiz.notebook_quiz import sheet_in
from grader.results.records import Status
from grader.sandbox.definitions import definitions, parsed
from grader.sandbox.source_text import Source, UnreadableSource, decode

from .archives import Found, Walk, is_unread_archive, naming
from .class_folder import HandIn
from .cluster_wire import pack_submission, unpack_submission
from .exercise_names import ExerciseNames
from .file_tree import UnreadableArchiveError, displayable, encoded
from .notebook_code import BROKEN, UnreadableNotebook, code_cells, exercises_defined
from .notebook_code import LARGEST as LARGEST_NOTEBOOK

SIZE_LIMIT = 1 << 20
MOST_COMPARED, MOST_NOTEBOOKS, MOST_OTHERS = 8, 12, 50
# What an exported notebook holds, by nbconvert or by VS Code, whatever the file is called.
EXPORTED = re.compile(r"^# (?:In ?\[[ \d*]*\]:|%%)", re.MULTILINE)
WORSE = {1: "it only imports the function", 2: "it is a stub, and was left as it is", 3: "it could not be read"}
BESIDE_EXERCISES = frozenset({"solutions", "tests", "handgrad", "grader"})  # what a copy of a whole course has


class FileLost(Exception):
    """Report a file that may contain an answer but cannot be read, which is no fault of the student's."""


@dataclass(frozen=True)
class UnreadFile:
    """Describe a file that exists but was not read.

    Args:
        status: `failed` if that is the student's doing, `error` if it is not.
        why: the reason, as a clause.
    """

    status: Status
    why: str


Content = bytes | tuple[str, ...] | UnreadFile  # of a file, of the code cells of a notebook, or of neither


@dataclass(frozen=True)
class Candidate:
    """Describe a file that may be a student's answer to an exercise.

    Args:
        above: the folders above those of the course, or all of them if the file lies in none of the course's.
        order: how far the file is from where it belongs; 0 in its unit's folder.
        copy: the number of the copy, by its name; 0 for the original.
        is_exact: whether it has the name that the course gave it.
        content: its content, if it has been read already.
        is_by_content: whether it is an exported notebook that defines the function, under a name that does not match.
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
        """Return the content of the file, reading it unless that was done before."""
        return read_content(self.found) if self.content is None else self.content

    @property
    def newest_first(self) -> tuple[object, ...]:
        """Return a sort key that puts the newest file first, and of two as new the one nearer to where it belongs."""
        return -self.found.file.modified, -self.copy, self.order, len(self.above), not self.is_exact, self.found.path


@dataclass(frozen=True)
class Chosen:
    """Hold the file that is graded for an exercise, its content, and the notes on the choice."""

    candidate: Candidate
    content: Content
    notes: tuple[str, ...] = ()


def read_content(found: Found, limit: int = SIZE_LIMIT) -> bytes | UnreadFile:
    """Return the bytes of a file, or why it was not read.

    Args:
        limit: the size in bytes up to which it is read.
    """
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


def required_content(found: Found, limit: int = SIZE_LIMIT) -> bytes | UnreadFile:
    """Return the bytes of a file whose use cannot be told without reading it, or why the student's file was not read.

    Raises:
        FileLost: it cannot be read, which is no fault of the student's.
    """
    content = read_content(found, limit)
    if isinstance(content, UnreadFile) and content.status == "error":
        raise FileLost(f"{found.path}: {content.why}")
    return content


def candidates(names: ExerciseNames, found: Iterable[Found], notes: list[str]) -> tuple[list[Candidate], list[Found]]:
    """Return the files that may be answers, and all other files.

    Args:
        notes: the list to which a note on each ignored file is appended.

    Raises:
        FileLost: a file whose use cannot be told without reading it cannot be read.
    """
    files = list(found)
    roots = {
        folders[: folders.index("exercises")] for folders in (file.folders for file in files) if "exercises" in folders
    }
    answers, others, notebooks = list[Candidate](), list[Found](), 0
    for file in files:
        notebooks += _is_notebook(file)
        if _is_notebook(file) and notebooks > MOST_NOTEBOOKS:
            notes.append(f"{file.path} was ignored: there are more than {MOST_NOTEBOOKS} notebooks")
            continue
        if any(
            file.folders[: len(folders)] == folders and _folder_below(file.folders, folders) in BESIDE_EXERCISES
            for folders in roots
        ):
            continue
        with naming(file):
            file_answers = list(_from_file(names, file, notes))
        answers += file_answers
        others += [] if file_answers or _is_notebook(file) else [file]
    return [*answers, *_from_exported_notebooks(names, others)], others


def _is_notebook(found: Found) -> bool:
    """Return whether a file is a notebook, by its name."""
    return found.file.name.lower().endswith(".ipynb")


def _folder_below(path: tuple[str, ...], folder: tuple[str, ...]) -> str:
    """Return the part of a path that follows its beginning `folder`; empty if it goes no deeper."""
    return path[len(folder)] if len(path) > len(folder) else ""


def _from_file(names: ExerciseNames, found: Found, notes: list[str]) -> Iterator[Candidate]:
    """Yield the answers that a file may be: one by its name, or those that a notebook defines."""
    unit = names.unit_of(found.folders[-1]) if found.folders else ""
    above = found.folders[:-1] if unit else found.folders
    above = above[:-1] if above and above[-1] == "exercises" else above
    if _is_notebook(found):
        yield from _from_notebook(names, found, above, notes)
    elif (match := names.find(found.file.name, unit)) is not None:
        at_home = unit == match.exercise.unit or len(above) < len(found.folders) or not above
        order = 0 if unit == match.exercise.unit else 1 if at_home else 2
        yield Candidate(found, match.exercise, above, order, match.copy, match.is_exact)


def _from_exported_notebooks(names: ExerciseNames, others: Sequence[Found]) -> Iterator[Candidate]:
    """Yield the answers defined in Python files that were exported from a notebook.

    Such a file is also kept among those that other answers may import.
    """
    python = [file for file in others if file.file.name.lower().endswith(".py") and names.is_wanted(file.folders)]
    for found in python[:MOST_OTHERS]:
        with naming(found):
            content = required_content(found)
            if isinstance(content, UnreadFile):
                continue
            try:
                text = decode(content)
            except UnreadableSource:
                continue
            for name in exercises_defined(names.course, [text]) if EXPORTED.search(text) else ():
                exercise = names.course.find(name)
                yield Candidate(found, exercise, found.folders, 4, 0, False, content, is_by_content=True)


def _from_notebook(names: ExerciseNames, found: Found, above: tuple[str, ...], notes: list[str]) -> Iterator[Candidate]:
    """Yield the answers that the cells of a notebook define, or note why the notebook was ignored."""
    data = required_content(found, LARGEST_NOTEBOOK)
    if isinstance(data, UnreadFile):
        notes.append(f"{found.path} was ignored: {data.why}")
        return
    try:
        cells = code_cells(data)
    except UnreadableNotebook as error:
        notes.append(f"{found.path} was ignored: {error}")
        return
    ids = exercises_defined(names.course, cells)
    for name in ids:
        yield Candidate(found, names.course.find(name), above, 3, content=cells)
    if not ids:
        notes.append(f"{found.path} was ignored: no cell of it defines a function of an exercise")


def choose(answers: Sequence[Candidate]) -> Mapping[str, Chosen]:
    """Return the file that is graded for each exercise, by the exercise's id."""
    by_exercise: dict[str, list[Candidate]] = {}
    ids_by_name = {candidate.exercise.id for candidate in answers if not candidate.is_by_content}
    for candidate in answers:
        if not candidate.is_by_content or candidate.exercise.id not in ids_by_name:
            by_exercise.setdefault(candidate.exercise.id, []).append(candidate)
    return {
        name: _choose_newest(sorted(exercise_candidates, key=lambda candidate: candidate.newest_first))
        for name, exercise_candidates in by_exercise.items()
    }


def _choose_newest(newest_first: Sequence[Candidate]) -> Chosen:
    """Return the newest of the candidates for an exercise that are an answer, with notes on all others."""
    compared = [(candidate, _read(candidate)) for candidate in newest_first[:MOST_COMPARED]]
    ranked = sorted(compared, key=lambda pair: _rank(*pair) if len(compared) > 1 else 0)
    chosen, content = ranked[0]
    notes = [] if chosen.is_exact else [f"{chosen.found.path} was taken for {chosen.exercise.name}"]
    notes += _copied_stub_notes(chosen, content)
    others = [(candidate, other) for candidate, other in ranked[1:] if other != content]
    for candidate, other in others:
        notes.append(f"{candidate.found.path} was not graded: {_why_not_graded(chosen, content, other, candidate)}")
    if len(newest_first) > MOST_COMPARED:
        notes.append(f"{len(newest_first) - MOST_COMPARED} more files for {chosen.exercise.name} were not looked at")
    return Chosen(chosen, content, tuple(notes))


def _read(candidate: Candidate) -> Content:
    """Return the content of a candidate; an error names its file."""
    with naming(candidate.found):
        return candidate.read()


def _rank(candidate: Candidate, content: Content) -> int:
    """Return the order in which a file is preferred, the lowest first.

    Returns:
        -1 for a file that is lost, since it may be the answer; 0 for an answer; 1 for a function that is only imported;
        2 for an untouched stub; 3 for a file that the student made unreadable.
    """
    if isinstance(content, UnreadFile):
        return 3 if content.status == "failed" else -1  # which of them is the answer, nobody can know
    exercise = candidate.exercise
    if _is_untouched(exercise, content):
        return 2
    return int(
        isinstance(content, tuple) and all(definition.is_import for definition in definitions(content, {exercise.id}))
    )


def _why_not_graded(chosen: Candidate, content: Content, other: Content, other_candidate: Candidate) -> str:
    """Return why a candidate was not graded in place of the chosen one.

    Args:
        content: the content of the chosen file.
        other: the content of the candidate.
    """
    if isinstance(content, UnreadFile) and content.status == "error":
        return f"{chosen.found.path} cannot be read"
    if _rank(other_candidate, other) > _rank(chosen, content):
        return WORSE[_rank(other_candidate, other)]
    when = "is newer" if chosen.found.file.modified > other_candidate.found.file.modified else "was graded in its place"
    return f"{chosen.found.path} {when}"


def _is_untouched(exercise: CourseExercise, content: bytes | tuple[str, ...]) -> bool:
    """Return whether a file answers nothing: it is as the stub, a sheet without an answer, or without the function."""
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
    return all(parsed(text) is not None and "import *" not in text for text in texts)


def _has_answers(exercise: CourseExercise, content: bytes | tuple[str, ...]) -> bool:
    """Return whether a quiz's sheet, or what the cells of a notebook assign, answers any question.

    Raises:
        ReadError: it cannot be read.
    """
    if isinstance(content, bytes):
        return bool(read_sheet(decode_sheet(content), exercise.quiz).answers)
    sheet = sheet_in(exercise.id, exercise.quiz, content)
    return sheet is not None and bool(sheet.answers)


def _copied_stub_notes(chosen: Candidate, content: Content) -> tuple[str, ...]:
    """Return the notes on stubs that stand below the answer in the chosen file."""
    if chosen.exercise.is_quiz or isinstance(content, UnreadFile):
        return ()
    try:
        notes = without_copied_stubs(chosen.exercise, Source.of(content, chosen.found.path)).notes
    except UnreadableSource:
        return ()
    return notes if isinstance(content, bytes) else tuple(f"{chosen.found.path}: {note}" for note in notes)


MOST_NOTES, MOST_HELPERS, MOST_SUGGESTED, NAMED = 20, 50, 20, 3
LARGEST_HELPERS = 8 << 20  # bytes of all files together that exercises may import
WORD = re.compile(rb"\w+")
UNKNOWN = "this course has no exercise there"
NOT_REPORTED = frozenset({"README.md", "timestamp.txt", "course.yaml", "onlinetext.html"})


@dataclass(frozen=True)
class Submission:
    """Hold what was read of one student's hand-in.

    Args:
        name: the key of the hand-in.
        files: the content of the file for each exercise that was handed in, by id.
        notes: which file was taken for which exercise, which was ignored, and why.
        helpers: other Python files, by the folder that they lie in, and their name.
        nothing: why there is nothing to grade; empty if there is something.
        chosen: the files that are graded, by exercise id.
    """

    name: str
    files: Mapping[str, Content]
    notes: tuple[str, ...] = ()
    helpers: Mapping[tuple[str, str], bytes] = field(default_factory=dict)
    nothing: str = ""
    chosen: Mapping[str, Candidate] = field(default_factory=dict, repr=False, compare=False)

    def beside(self, exercise: CourseExercise) -> dict[str, bytes]:
        """Return the files that an exercise may import, by name: those of its unit, and those in its folder."""
        known = {other.id: other.name for other in exercise.course.exercises if other.unit == exercise.unit}
        files = dict[str, bytes]()
        for folder in self._places(exercise):  # the last one counts
            files |= {name: content for (place, name), content in self.helpers.items() if place == folder}
        answers = {known[key]: content for key, content in self.files.items() if key in known}
        return {**files, **{name: content for name, content in answers.items() if isinstance(content, bytes)}}

    def _places(self, exercise: CourseExercise) -> Iterator[str]:
        """Yield the folders whose files an exercise may import, with the folder of its own file last."""
        chosen = self.chosen.get(exercise.id)
        above = "".join(f"{folder}/" for folder in chosen.above) if chosen else ""
        for place in ("exercises", "", f"exercises/{exercise.unit}", exercise.unit):
            yield f"{above}{place}".rstrip("/")
        yield "/".join(chosen.found.folders) if chosen else ""


@dataclass(frozen=True)
class SubmissionFacts:
    """Hold what a record needs of a submission besides the verdicts; its only learner text is names of files.

    Args:
        exercises: the ids of the exercises that were handed in.
        unread: those of them whose files were not read, and why.
        made_from: a hash of everything that a result depends on, except the seed.
        notes: see `Submission`.
        nothing: see `Submission`.
        parts: the answers to judge, if the reader keeps them; see `wire.pack_submission`.
    """

    exercises: tuple[str, ...]
    unread: Mapping[str, UnreadFile]
    made_from: str
    notes: tuple[str, ...] = ()
    nothing: str = ""
    parts: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> SubmissionFacts:
        """Return the facts from their JSON values, as another process sent them."""
        unread = {name: UnreadFile(**why) for name, why in facts["unread"].items()}
        exercises, notes = tuple(facts["exercises"]), tuple(facts["notes"])
        return cls(exercises, unread, facts["made_from"], notes, facts["nothing"], facts["parts"])


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

    def __call__(self, course: Course, hand_in: HandIn) -> Reading:
        """Read what one student handed in; return its answers to judge, and its facts as JSON values."""
        submission = read_submission(ExerciseNames(course, tuple(map(course.find, self.wanted))), hand_in)
        parts = tuple(_parts(course, submission))
        unread = {
            name: {"status": content.status, "why": content.why}
            for name, content in submission.files.items()
            if isinstance(content, UnreadFile)
        }
        facts = {
            "exercises": list(submission.files),
            "unread": unread,
            "made_from": made_from(self.digest, submission),
            "notes": submission.notes,
            "nothing": submission.nothing,
            "parts": pack_submission(parts) if self.keeps_parts else None,
        }
        return Reading(parts, facts)


def submission_from_facts(hand_in: HandIn, facts: SubmissionFacts) -> Submission:
    """Return the submission that another process has read, from its facts; files to import are left in its parts."""
    files: dict[str, Content] = dict(facts.unread)
    files |= {part.exercise: part.content for part in unpack_submission(facts.parts or {"parts": [], "contents": []})}
    return Submission(hand_in.key, {name: files[name] for name in facts.exercises}, facts.notes, nothing=facts.nothing)


def _parts(course: Course, submission: Submission) -> Iterator[Part]:
    """Yield the answers to judge: one part for each file of the submission that was read."""
    for name, content in submission.files.items():
        if not isinstance(content, UnreadFile):
            yield Part(name, content, submission.beside(course.find(name)))


def made_from(digest: str, submission: Submission) -> str:
    """Return a hash of everything that a result depends on, except the seed.

    Args:
        digest: see `course_digest`.
    """
    files = [*sorted(submission.files.items()), *sorted(submission.helpers.items())]
    return hashlib.sha256(repr((digest, files, submission.notes)).encode()).hexdigest()


def read_submission(names: ExerciseNames, hand_in: HandIn) -> Submission:
    """Read what one student handed in; if a file cannot be read, no exercise is.

    An exercise is `<unit>/<id>.py`, in any folder, or `<id>.py` anywhere, or a name that is made of these; a quiz is
    `<unit>/quiz.yaml`, or `quiz_<unit>.yaml`; a notebook is what its cells define. Nothing is unpacked, and no link is
    followed.
    """
    try:
        return _choose_files(names, hand_in)
    except OSError as error:
        at = f"{displayable(os.path.basename(error.filename))}: " if isinstance(error.filename, str) else ""
        says = f"the submission cannot be read ({at}{error.strerror or error}): check the permissions of its folder"
    except FileLost as error:
        says = f"the submission cannot be read ({error})"
    unread = UnreadFile("error", says)
    return Submission(hand_in.key, {exercise.id: unread for exercise in names.wanted}, hand_in.notes)


def _choose_files(names: ExerciseNames, hand_in: HandIn) -> Submission:
    """Read what one student handed in.

    Raises:
        OSError: a folder cannot be listed, or a file cannot be read.
        FileLost: a file that may contain an answer cannot be read.
    """
    walk, notes = Walk(), list[str](hand_in.notes)
    found = list(walk.files(hand_in.folders))
    answers, others = candidates(names, found, notes)
    chosen = choose([answer for answer in answers if answer.exercise.id in names.wanted_ids])
    for choice in chosen.values():
        notes += choice.notes
    notes += walk.notes
    helpers = _helpers([file for file in others if names.is_wanted(file.folders)], notes)
    files = {name: choice.content for name, choice in chosen.items()}
    notes += _unused_helper_notes(files, helpers, {choice.candidate.found.path for choice in chosen.values()})
    nothing = _why_nothing(names, chosen, answers, found, notes)
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"{len(notes) - MOST_NOTES} more files were ignored"]
    picked = {name: choice.candidate for name, choice in chosen.items()}
    return Submission(hand_in.key, files, tuple(notes), helpers, nothing, picked)


def _helpers(others: Sequence[Found], notes: list[str]) -> dict[tuple[str, str], bytes]:
    """Return the files that an exercise may import, by folder and name; note of all others that they were ignored."""
    helpers, bytes_left = dict[tuple[str, str], bytes](), LARGEST_HELPERS
    for file in others:
        with naming(file):
            is_python = file.file.name.endswith(".py") and not file.file.why_unread
            content = required_content(file) if is_python and len(helpers) < MOST_HELPERS and bytes_left > 0 else None
            if isinstance(content, bytes) and len(content) <= bytes_left:
                helpers["/".join(file.folders), file.file.name] = content
                bytes_left -= len(content)
            elif file.file.name not in NOT_REPORTED:
                notes.append(f"{file.path} was ignored: {_why_ignored(file)}")
    return helpers


def _why_ignored(found: Found) -> str:
    """Return why a file was ignored."""
    if is_unread_archive(found.file.name):
        return "such archives are not read; ask for a .zip or a .tar.gz"
    return found.file.why_unread or UNKNOWN


def _unused_helper_notes(
    files: Mapping[str, Content], helpers: Mapping[tuple[str, str], bytes], graded: Collection[str]
) -> Iterator[str]:
    """Yield a note on each file that no other file mentions: perhaps it is an exercise under a wrong name.

    Args:
        graded: the paths of the files that are graded.
    """
    mentions = Counter(word for content in helpers.values() for word in set(WORD.findall(content)))
    for content in files.values() if helpers else ():
        mentions.update(set(_words(content)))
    for (place, name), content in helpers.items():
        word, path = encoded(name.removesuffix(".py")), displayable(f"{place}/{name}" if place else name)
        if path not in graded and mentions[word] <= (word in WORD.findall(content)):  # nobody but itself
            yield f"{path} was ignored: {UNKNOWN}"


def _words(content: Content) -> Iterator[bytes]:
    """Yield the words in a file or in the cells of a notebook."""
    if isinstance(content, bytes):
        yield from WORD.findall(content)
    elif isinstance(content, tuple):
        yield from WORD.findall("\n".join(content).encode())


def _why_nothing(
    names: ExerciseNames, chosen: Mapping[str, Chosen], answers: Sequence[Candidate], found: Sequence[Found],
    notes: Sequence[str],
) -> str:  # fmt: skip
    """Return why there is nothing to grade; empty if there is something, or if a file could not be read.

    Args:
        answers: the files that may be answers to any exercise of the course.
        found: all files.
    """
    unread = {choice.candidate.found.path: choice.content for choice in chosen.values()}
    if any(not isinstance(content, UnreadFile) or content.status == "error" for content in unread.values()):
        return ""
    if unread:
        path, content = next(iter(unread.items()))
        assert isinstance(content, UnreadFile)
        return f"{path}: {content.why}"
    if answers:
        return f"it holds {_listed_files([answer.found for answer in answers])}, which this run does not grade"
    if not found:
        return notes[-1] if notes else "it is empty"
    archive = next((file for file in found if is_unread_archive(file.file.name)), None)
    if archive is not None:
        return f"{archive.path}: {_why_ignored(archive)}"
    if broken := next((note for note in notes if BROKEN in note), ""):
        return broken
    near = next((suggestion for file in found[:MOST_SUGGESTED] if (suggestion := _suggested_name(names, file))), "")
    return f"it holds {_listed_files(found)}, and no file that is named after an exercise{near}"


def _suggested_name(names: ExerciseNames, found: Found) -> str:
    """Return the question whether a file was meant for the exercise with the most similar name, if one is similar."""
    known = [exercise.id for exercise in names.wanted]
    near = difflib.get_close_matches(os.path.splitext(found.file.name)[0].casefold(), known, 1, 0.8)
    return f" (should {found.path} be {near[0]}.py?)" if near else ""


def _listed_files(found: Sequence[Found]) -> str:
    """Return the paths of the first files, and how many more there are."""
    named = ", ".join(dict.fromkeys(file.path for file in found[:NAMED]))
    more = len(found) - NAMED
    return f"{named} and {more} more {'file' if more == 1 else 'files'}" if more > 0 else named
