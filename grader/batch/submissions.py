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

from grader.cluster.wire import packed_submission, unpacked_submission
from grader.course import Course, CourseExercise
from grader.judging.grading_pool import Part, Reading

from .candidates import Candidate, Chosen, Content, FileLost, UnreadFile, candidates, choose, expected_content
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
    """One student's hand-in, read.

    Args:
        name: what tells the student apart.
        files: what was handed in, by exercise id.
        notes: what was taken for what, what was ignored, and why.
        helpers: other Python files, by the folder that they lie in, and their name.
        nothing: why there is nothing to grade; empty if there is.
    """

    name: str
    files: Mapping[str, Content]
    notes: tuple[str, ...] = ()
    helpers: Mapping[tuple[str, str], bytes] = field(default_factory=dict)
    nothing: str = ""
    chosen: Mapping[str, Candidate] = field(default_factory=dict, repr=False, compare=False)

    def beside(self, exercise: CourseExercise) -> dict[str, bytes]:
        """The files that an exercise may import: those of its unit, and those in its folder."""
        known = {each.id: each.name for each in exercise.course.exercises if each.unit == exercise.unit}
        found = dict[str, bytes]()
        for at in self._places(exercise):  # the last one counts
            found |= {name: content for (place, name), content in self.helpers.items() if place == at}
        answers = {known[key]: content for key, content in self.files.items() if key in known}
        return {**found, **{name: content for name, content in answers.items() if isinstance(content, bytes)}}

    def _places(self, exercise: CourseExercise) -> Iterator[str]:
        chosen = self.chosen.get(exercise.id)
        above = "".join(f"{folder}/" for folder in chosen.above) if chosen else ""
        for place in ("exercises", "", f"exercises/{exercise.unit}", exercise.unit):
            yield f"{above}{place}".rstrip("/")
        yield "/".join(chosen.found.folders) if chosen else ""


@dataclass(frozen=True)
class SubmissionFacts:
    """What a record says of a submission besides the verdicts; no learner text but the names of files.

    Args:
        exercises: the ids of those that were handed in.
        unread: those of them whose files were not read.
        made_from: a hash of everything that a result depends on, but for the seed.
        notes: see `Submission`.
        nothing: see `Submission`.
        parts: what there is to judge, where it was asked for; see `wire.packed_submission`.
    """

    exercises: tuple[str, ...]
    unread: Mapping[str, UnreadFile]
    made_from: str
    notes: tuple[str, ...] = ()
    nothing: str = ""
    parts: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> SubmissionFacts:
        """The facts that another process has read."""
        unread = {name: UnreadFile(**why) for name, why in facts["unread"].items()}
        exercises, notes = tuple(facts["exercises"]), tuple(facts["notes"])
        return cls(exercises, unread, facts["made_from"], notes, facts["nothing"], facts["parts"])


@dataclass(frozen=True)
class SubmissionReader:
    """Reads submissions in whichever process it is called; see `grading_pool.Read`.

    Args:
        wanted: the ids of the exercises that are graded.
        digest: a hash of the course as it grades.
        keeps_parts: what there is to judge is among the facts.
    """

    wanted: tuple[str, ...]
    digest: str
    keeps_parts: bool = False

    def __call__(self, course: Course, hand_in: HandIn) -> Reading:
        """Read what one student handed in."""
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
            "parts": packed_submission(parts) if self.keeps_parts else None,
        }
        return Reading(parts, facts)


def kept_submission(hand_in: HandIn, facts: SubmissionFacts) -> Submission:
    """The submission that another process has read, with what there is to judge; files to import are with its parts."""
    files: dict[str, Content] = dict(facts.unread)
    files |= {part.exercise: part.content for part in unpacked_submission(facts.parts or {"parts": [], "contents": []})}
    return Submission(hand_in.key, {name: files[name] for name in facts.exercises}, facts.notes, nothing=facts.nothing)


def _parts(course: Course, submission: Submission) -> Iterator[Part]:
    """What there is to judge: the files that were read."""
    for name, content in submission.files.items():
        if not isinstance(content, UnreadFile):
            yield Part(name, content, submission.beside(course.find(name)))


def made_from(digest: str, submission: Submission) -> str:
    """A hash of everything that a result depends on, but for the seed.

    Args:
        digest: see `course_digest`.
    """
    files = [*sorted(submission.files.items()), *sorted(submission.helpers.items())]
    return hashlib.sha256(repr((digest, files, submission.notes)).encode()).hexdigest()


def read_submission(names: ExerciseNames, hand_in: HandIn) -> Submission:
    """Read what one student handed in.

    An exercise is `<unit>/<id>.py`, in any folder, or `<id>.py` anywhere, or a name that is made of these; a quiz is
    `<unit>/quiz.yaml`, or `quiz_<unit>.yaml`; a notebook is what its cells define. Nothing is unpacked, and no link is
    followed.
    """
    try:
        return _read(names, hand_in)
    except OSError as error:
        at = f"{displayable(os.path.basename(error.filename))}: " if isinstance(error.filename, str) else ""
        says = f"the submission cannot be read ({at}{error.strerror or error}): check the permissions of its folder"
    except FileLost as error:
        says = f"the submission cannot be read ({error})"
    unread = UnreadFile("error", says)
    return Submission(hand_in.key, {exercise.id: unread for exercise in names.wanted}, hand_in.notes)


def _read(names: ExerciseNames, hand_in: HandIn) -> Submission:
    walk, notes = Walk(), list[str](hand_in.notes)
    found = list(walk.files(hand_in.folders))
    answers, others = candidates(names, found, notes)
    chosen = choose([each for each in answers if each.exercise.id in names.wanted_ids])
    for each in chosen.values():
        notes += each.notes
    notes += walk.notes
    helpers = _helpers([each for each in others if names.is_wanted(each.folders)], notes)
    files = {name: one.content for name, one in chosen.items()}
    notes += _not_imported(files, helpers, {one.candidate.found.path for one in chosen.values()})
    nothing = _why_nothing(names, chosen, answers, found, notes)
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"{len(notes) - MOST_NOTES} more files were ignored"]
    picked = {name: one.candidate for name, one in chosen.items()}
    return Submission(hand_in.key, files, tuple(notes), helpers, nothing, picked)


def _helpers(others: Sequence[Found], notes: list[str]) -> dict[tuple[str, str], bytes]:
    """What an exercise may import; everything else is noted."""
    helpers, left = dict[tuple[str, str], bytes](), LARGEST_HELPERS
    for each in others:
        with naming(each):
            is_python = each.file.name.endswith(".py") and not each.file.why_unread
            content = expected_content(each) if is_python and len(helpers) < MOST_HELPERS and left > 0 else None
            if isinstance(content, bytes) and len(content) <= left:
                helpers["/".join(each.folders), each.file.name] = content
                left -= len(content)
            elif each.file.name not in NOT_REPORTED:
                notes.append(f"{each.path} was ignored: {_why_ignored(each)}")
    return helpers


def _why_ignored(found: Found) -> str:
    if is_unread_archive(found.file.name):
        return "such archives are not read; ask for a .zip or a .tar.gz"
    return found.file.why_unread or UNKNOWN


def _not_imported(
    files: Mapping[str, Content], helpers: Mapping[tuple[str, str], bytes], graded: Collection[str]
) -> Iterator[str]:
    """Files that no other file of the submission speaks of: an exercise under a wrong name, perhaps.

    Args:
        graded: the paths of the files that are graded.
    """
    spoken_of = Counter(word for content in helpers.values() for word in set(WORD.findall(content)))
    for content in files.values() if helpers else ():
        spoken_of.update(set(_words(content)))
    for (place, name), content in helpers.items():
        word, path = encoded(name.removesuffix(".py")), displayable(f"{place}/{name}" if place else name)
        if path not in graded and spoken_of[word] <= (word in WORD.findall(content)):  # nobody but itself
            yield f"{path} was ignored: {UNKNOWN}"


def _words(content: Content) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield from WORD.findall(content)
    elif isinstance(content, tuple):
        yield from WORD.findall("\n".join(content).encode())


def _why_nothing(
    names: ExerciseNames, chosen: Mapping[str, Chosen], answers: Sequence[Candidate], found: Sequence[Found],
    notes: Sequence[str],
) -> str:  # fmt: skip
    """Why there is nothing to grade, in a few words; empty where there is something, or where that is not its fault."""
    unread = {each.candidate.found.path: each.content for each in chosen.values()}
    if any(not isinstance(content, UnreadFile) or content.status == "error" for content in unread.values()):
        return ""
    if unread:
        path, content = next(iter(unread.items()))
        assert isinstance(content, UnreadFile)
        return f"{path}: {content.why}"
    if answers:
        return f"it holds {_listed([each.found for each in answers])}, which this run does not grade"
    if not found:
        return notes[-1] if notes else "it is empty"
    archive = next((each for each in found if is_unread_archive(each.file.name)), None)
    if archive is not None:
        return f"{archive.path}: {_why_ignored(archive)}"
    if broken := next((note for note in notes if BROKEN in note), ""):
        return broken
    near = next((says for each in found[:MOST_COMPARED] if (says := _meant(names, each))), "")
    return f"it holds {_listed(found)}, and no file that is named after an exercise{near}"


def _meant(names: ExerciseNames, found: Found) -> str:
    known = [exercise.id for exercise in names.wanted]
    near = difflib.get_close_matches(os.path.splitext(found.file.name)[0].casefold(), known, 1, 0.8)
    return f" (should {found.path} be {near[0]}.py?)" if near else ""


def _listed(found: Sequence[Found]) -> str:
    named = ", ".join(dict.fromkeys(each.path for each in found[:NAMED]))
    more = len(found) - NAMED
    return f"{named} and {more} more {'file' if more == 1 else 'files'}" if more > 0 else named
