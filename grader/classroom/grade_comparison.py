"""The grades that a results folder held before a run, and the changes of this run, which `changes.csv` lists."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from grader.results.points import total
from grader.results.records import StudentResults
from grader.safe_text import no_formula, one_line, plain

from .graded_exercise import csv_text, number
from .submissions import short_hash

HEADING = ("student", "exercise", "before", "after", "why")
GONE, NEW = "no longer in the class", "no record before"
SUBMISSION, WITHDRAWN = "the submission changed", "the submission was removed"
UNKNOWN = "the submission or the time limit changed"  # where a record of an older handgrad does not tell them apart
EXERCISES, POINTS = "the assignment's exercises changed", "the points of the exercise changed"
COURSE, ADJUSTED, LATE = "the course or handgrad changed", "an adjustment", "late work"
UNGRADED, FAILED = "could not be graded before", "could not be graded this time"
ENTERED, SEED, LIMIT, AGAIN = "0 was entered", "another seed", "another time limit or isolation", "graded again"
# In this order they are named where a change has several reasons.
REASONS = (
    WITHDRAWN, SUBMISSION, UNKNOWN, EXERCISES, POINTS, COURSE, UNGRADED, FAILED, ADJUSTED, LATE, ENTERED, SEED, LIMIT,
    AGAIN,
)  # fmt: skip
QUIZ = "quiz_"  # begins the id of a quiz
NO_SUBMISSION = {"": short_hash(None)}  # of who handed in nothing


class StoredGrades(NamedTuple):
    """Hold the grades of one student's record, and what tells whether another record may differ from it.

    Args:
        student: the name of the student.
        course_digest: a hash of the course and of the version of handgrad; `None` if the record has none.
        made_from: a hash of all that the results were made from; `None` if the record has none.
        seed: the seed of the trials; `None` if nothing was graded.
        score: the points that count; `None` if there is no score.
        points: the points of each exercise, with adjustments, that are not 0; `None` for those without.
        worth: the points of a right answer to each exercise that was asked.
        submission: the hashes of `StudentResults.submission` in one text, which takes a fifth of their memory.
        adjusted: the exercises whose points are from a person, with an empty id if something is added to the total; by
            each the points.
        late: when it was due and handed in, and the rule, if it was late; else empty.
    """

    student: str
    course_digest: str | None
    made_from: str | None
    seed: int | None
    score: float | None
    points: Mapping[str, float | None]
    worth: Mapping[str, float]
    submission: str
    adjusted: Mapping[str, float]
    late: str

    @classmethod
    def of(cls, results: StudentResults) -> StoredGrades:
        """Return the grades in a student's results: the score, and the points of each exercise with its adjustments.

        The points of an exercise that could not be graded are `None`; an exercise with 0 points is left out.
        """
        ungraded = {exercise.id for exercise in results.ungraded}
        points: dict[str, float | None] = {e.id: e.score for e in results.exercises if e.score or e.id in ungraded}
        points |= dict.fromkeys(ungraded)
        adjusted = dict[str, float]()
        for adjustment in results.adjustments:
            if adjustment.exercise:
                points[adjustment.exercise] = total((points.get(adjustment.exercise) or 0.0, adjustment.points))
                adjusted[adjustment.exercise] = points[adjustment.exercise] or 0.0
            else:
                adjusted[""] = total((adjusted.get("", 0.0), adjustment.points))
        late = results.late
        return cls(
            results.student, results.course_digest, results.made_from, results.seed, results.score, points,
            _shared_points(tuple((exercise.id, exercise.max_score) for exercise in results.exercises)),
            _hashes_as_text(results.submission), adjusted, f"{late.due} {late.handed_in} {late.reason}" if late else "",
        )  # fmt: skip

    def points_of(self, exercise: str) -> float | None:
        """Return the points of an exercise with its adjustments.

        `None` if the exercise was not graded, or not asked.
        """
        return self.points.get(exercise, 0.0 if exercise in self.worth else None)

    def has_same_submission(self, after: StoredGrades, exercise: str = "") -> bool | None:
        """Return whether these grades and `after` are of the same submission.

        `None` if one of the records does not tell. If other exercises were asked, whole submissions are the same if
        nothing else was handed in for an exercise that was asked twice: their hashes depend on what is graded.

        Args:
            after: the grades of the same student afterwards.
            exercise: the id of the exercise; empty to compare the whole submissions.
        """
        if not (self.submission and after.submission):
            return None
        is_asked_alike = self.worth.keys() == after.worth.keys() or self.seed is after.seed is None
        is_nothing = _hashes_as_text(NO_SUBMISSION) in (self.submission, after.submission)
        if exercise or is_asked_alike or is_nothing:
            return self._hash_of(exercise) == after._hash_of(exercise)
        return all(
            self._hash_of(each) == after._hash_of(each) or self._is_quiz_by_choice(after, each)
            for each in self.worth.keys() & after.worth.keys()
        )

    def _hash_of(self, exercise: str) -> str:
        """Return the hash of what was handed in for the exercise with this id, or in all for "".

        Empty if nothing was handed in, or the record does not say what was.
        """
        return self.submission.partition(f" {exercise}:")[2].partition(" ")[0]

    def why(self, after: StoredGrades, exercise: str) -> set[str]:
        """Return the reasons, members of `REASONS`, why the points of an exercise are others in the grades `after`.

        There is at least one; an exercise that a person has adjusted now has no other.

        Args:
            after: the grades of the same student afterwards.
            exercise: the id of the exercise.
        """
        if exercise in after.adjusted:
            return {ADJUSTED}
        reasons = {ADJUSTED} if exercise in self.adjusted else set[str]()
        worth, worth_now = self.worth.get(exercise), after.worth.get(exercise)
        if worth is None or worth_now is None:
            return reasons | {EXERCISES}
        is_same = self.has_same_submission(after, exercise)
        old, new = (grades.points.get(exercise, 0.0) for grades in (self, after))
        if is_same is False:
            reasons.add(EXERCISES if self._is_quiz_by_choice(after, exercise) else _new_submission(after))
        # What was not handed in has no points, whatever the course says.
        is_graded = is_same is None or bool(self._hash_of(exercise) and after._hash_of(exercise))
        if worth != worth_now and is_graded:
            reasons.add(POINTS)
        in_proportion = old is not None and new is not None and math.isclose(old * worth_now, new * worth)
        if self.course_digest != after.course_digest:
            reasons |= {COURSE} if is_graded and not in_proportion else set()
        elif is_same is None and self.made_from != after.made_from:
            reasons.add(UNKNOWN)
        reasons |= {UNGRADED} if old is None else set()
        reasons |= {FAILED} if new is None else set()
        return reasons or self._why_again(after)

    def _is_quiz_by_choice(self, after: StoredGrades, exercise: str) -> bool:
        """Return whether an exercise is a quiz whose sheet counts in one of two runs alone, which asks no other quiz.

        A `quiz.yaml` outside its unit's folder counts only in a run that asks one quiz.

        Args:
            after: the grades of the same student afterwards.
            exercise: the id of the exercise.
        """
        with_sheet = [grades for grades in (self, after) if grades._hash_of(exercise)]
        if len(with_sheet) != 1:
            return False
        (other,) = (grades for grades in (self, after) if grades is not with_sheet[0])
        return with_sheet[0]._quizzes == [exercise] and len(other._quizzes) > 1

    @property
    def _quizzes(self) -> list[str]:
        """Return the ids of the quizzes that were asked."""
        return [exercise for exercise in self.worth if exercise.startswith(QUIZ)]

    def why_total(self, after: StoredGrades, exercises: Iterable[str]) -> set[str]:
        """Return the reasons, members of `REASONS`, why the total is another in the grades `after`; at least one.

        Args:
            after: the grades of the same student afterwards.
            exercises: the ids of the exercises whose points differ.
        """
        reasons = set[str]().union(*(self.why(after, exercise) for exercise in exercises))
        if self.adjusted.get("") != after.adjusted.get(""):
            reasons.add(ADJUSTED)
        is_scored_twice = None not in (self.score, after.score)  # else lateness is not what gave or took the score
        if self.late != after.late and is_scored_twice:
            reasons.add(LATE)
        if not is_scored_twice and not reasons:
            if self.has_same_submission(after) is False:
                reasons.add(_new_submission(after))
            if self.adjusted.keys() != after.adjusted.keys():
                reasons.add(ADJUSTED)
            if after.score == 0 and after.seed is None and not reasons:
                reasons.add(ENTERED)
        if reasons:
            return reasons
        if self.worth != after.worth:
            return {EXERCISES}
        if self.course_digest != after.course_digest:
            return {COURSE}
        is_unknown = self.has_same_submission(after) is None and self.made_from != after.made_from
        return {UNKNOWN} if is_unknown else self._why_again(after)

    def _why_again(self, after: StoredGrades) -> set[str]:
        """Return the reason, a member of `REASONS`, why the same submission got other points: seed, limit, or chance.

        Args:
            after: the grades of the same student afterwards.
        """
        if self.seed != after.seed:
            return {SEED}
        return {LIMIT if self.made_from != after.made_from else AGAIN}


class GradeChange(NamedTuple):
    """Hold one line of `changes.csv`.

    Args:
        student: the name of the student.
        exercise: the id of the exercise; empty for the total.
        before: the points before the run; `None` if there were none.
        after: the points now; `None` if there are none.
        why: the reason, as a clause.
    """

    student: str
    exercise: str
    before: float | None
    after: float | None
    why: str


@dataclass(frozen=True)
class GradeComparison:
    """Collect the changes of the grades while a class is graded.

    Args:
        before: the grades before the run, by the name of the record's file; none before the first run of a class.
        keys: the key that a student has now, by the name of the file of a record under another name.
        changes: the changes of the students who were compared.
        compared: the names of the files that were compared.
    """

    before: Mapping[str, StoredGrades]
    keys: Mapping[str, str] = field(default_factory=dict)
    changes: dict[str, list[GradeChange]] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)

    def compare(self, file: str, results: StudentResults) -> None:
        """Enter in `self.changes`, under the record's file, how a student's grades differ from those before the run.

        Changes that an earlier call entered for the file are replaced, or removed if nothing differs. Nothing is
        entered if nobody had grades before.

        Args:
            file: the name of the record's file.
            results: the student's results now.
        """
        self.compared.add(file)
        if not self.before:
            return
        earlier, after = self.before.get(file), StoredGrades.of(results)
        if earlier is None:
            self.changes[file] = [GradeChange(after.student, "", None, after.score, NEW)]
        elif (earlier.score, earlier.points) != (after.score, after.points):
            self.changes[file] = list(_changes(earlier, after, [exercise.id for exercise in results.exercises]))
        else:
            self.changes.pop(file, None)

    @property
    def lines(self) -> list[GradeChange]:
        """Return all changes, with those of students who are no longer in the class, sorted by student."""
        gone = [
            GradeChange(grades.student, "", grades.score, None, self._why_gone(file))
            for file, grades in self.before.items()
            if file not in self.compared
        ]
        return sorted([*gone, *(line for lines in self.changes.values() for line in lines)], key=lambda line: line[0])

    def _why_gone(self, file: str) -> str:
        """Return why a record no longer counts, by the name of its file."""
        return f"counts as {one_line(plain(self.keys[file]))} now" if file in self.keys else GONE

    @property
    def gained(self) -> int:
        """Return how many students have more points than before, or points for the first time."""
        return sum(_gain(line) > 0 for line in self._totals())

    @property
    def lost(self) -> int:
        """Return how many students have fewer points than before, or none any more."""
        return sum(_gain(line) < 0 for line in self._totals())

    def text(self, earlier: str | None = None) -> str:
        """Return the text of `changes.csv`: for each change student, exercise, points before and after, and reason.

        The lines are sorted by student; after a run of some students alone, those of this run are at the end.

        Args:
            earlier: the text of the last run of the whole class, before the changes of a run of some students alone;
                `None` after a run of the whole class.
        """
        chosen = [line for file in sorted(self.changes) for line in self.changes[file]]
        rows = [
            [no_formula(plain(line.student)), no_formula(line.exercise), _points(line.before), _points(line.after),
             line.why]
            for line in (self.lines if earlier is None else chosen)
        ]  # fmt: skip
        text = "".join(f"{csv_text(row)}\r\n" for row in rows)
        return (earlier or f"{csv_text(HEADING)}\r\n") + text

    def _totals(self) -> Iterator[GradeChange]:
        """Yield the changes of totals of students who were in the class before."""
        yield from (line for lines in self.changes.values() for line in lines if not line.exercise and line.why != NEW)


@lru_cache(16)  # all students of a class have the same exercises
def _shared_points(points: tuple[tuple[str, float], ...]) -> Mapping[str, float]:
    """Return pairs of an exercise and its points as a dict; equal pairs get the same dict, to save memory."""
    return dict(points)


def _hashes_as_text(hashes: Mapping[str, str]) -> str:
    """Return hashes by the ids of their exercises as one text, such as " lin_grad:0f1e relu_grad:2d3c"."""
    return "".join(f" {exercise}:{digest}" for exercise, digest in hashes.items())


def _new_submission(after: StoredGrades) -> str:
    """Return `WITHDRAWN` if nothing is submitted any more in the grades `after`, and `SUBMISSION` otherwise."""
    return WITHDRAWN if after.submission == _hashes_as_text(NO_SUBMISSION) else SUBMISSION


def _changes(before: StoredGrades, after: StoredGrades, exercises: Sequence[str]) -> Iterator[GradeChange]:
    """Yield the changes between the grades of a student before the run and now.

    The changes of exercises come first, in teaching order, then that of the total, if it changed. An exercise that was
    asked in one of the runs alone is a change only if it had points there.
    """
    changed = list[GradeChange]()
    for exercise in dict.fromkeys((*exercises, *before.points)):
        old, new = before.points_of(exercise), after.points_of(exercise)
        is_asked_twice = exercise in before.worth and exercise in after.worth
        if old != new and (is_asked_twice or old or new):
            changed.append(GradeChange(after.student, exercise, old, new, _joined_reasons(before.why(after, exercise))))
    yield from changed
    if before.score != after.score:
        why = _joined_reasons(before.why_total(after, [line.exercise for line in changed]))
        yield GradeChange(after.student, "", before.score, after.score, why)


def _joined_reasons(reasons: Collection[str]) -> str:
    """Return reasons as one text, in the order of `REASONS`."""
    return "; ".join(reason for reason in REASONS if reason in reasons)


def _gain(line: GradeChange) -> float:
    """Return the points that a student gained, negative for a loss; no score counts as 0."""
    return (line.after or 0.0) - (line.before or 0.0)


def _points(points: float | None) -> str:
    """Return points as the text of a cell with all digits, such as "2.5" or "3"; empty for `None`."""
    return "" if points is None else number(points)


def grades_to_json(grades: Mapping[str, StoredGrades], files: Iterable[str] = ()) -> bytes:
    """Return the grades before a run as JSON, so that another run can continue this one if it is stopped.

    Args:
        grades: the grades, by the name of a student's record.
        files: the names of the records that the run makes; those without grades before are `null` in the JSON.
    """
    stored = {file: each._asdict() for file, each in grades.items()}
    return json.dumps({**dict.fromkeys(files), **stored}, ensure_ascii=True).encode()


def grades_from_json(content: bytes) -> dict[str, StoredGrades]:
    """Return grades by file from their JSON, without the files that are `null` in it.

    Raises:
        ValueError, TypeError, AttributeError: the content is no such JSON.
    """
    stored: dict[str, dict[str, Any] | None] = json.loads(content)
    return {file: StoredGrades(**grades) for file, grades in stored.items() if grades is not None}
