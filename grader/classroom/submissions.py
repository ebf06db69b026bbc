"""Reads what a student handed in, with nothing in it trusted: which file answers which exercise, and what does not."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.course.course import Course, CourseExercise
from grader.judging.grading_pool import Part, Reading

from .candidates import Candidate, Chosen, Content, FileLost, UnreadFile, candidates, choose, required_content
from .cluster_wire import pack_submission, unpack_submission
from .exercise_names import ExerciseNames
from .hand_in import HandIn
from .notebook_code import BROKEN
from .printable_names import displayable, encoded
from .walk import Found, Walk, is_unread_archive, naming

MOST_NOTES, MOST_HELPERS, MOST_COMPARED, NAMED = 20, 50, 20, 3
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
    near = next((suggestion for file in found[:MOST_COMPARED] if (suggestion := _suggested_name(names, file))), "")
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
