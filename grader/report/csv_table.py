"""Writes every answer of a class as one line of a CSV file that any spreadsheet opens."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from grader.results import AnswerResult, ExerciseResult
from grader.safe_text import no_formula, plain

from .class_statistics import StudentLine

HEADER = ("student", "unit", "exercise", "answer", "status", "score", "max_score", "code", "message", "stuck")

Add = Callable[[StudentLine, Iterable[ExerciseResult]], None]


@contextmanager
def answer_table(file: BinaryIO) -> Iterator[Add]:
    """Lines by RFC 4180, written student by student.

    The scores in a student's lines add up to the student's score, as far as it is known: what is not graded has none.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    writer = csv.writer(text)
    writer.writerow(HEADER)

    def add(line: StudentLine, exercises: Iterable[ExerciseResult]) -> None:
        name, stuck = no_formula(plain(line.name)), no_formula(line.stuck)
        for exercise in exercises:
            writer.writerows([name, *_row(exercise, answer), stuck] for answer in exercise.answers)
        for unit, points in line.late:
            writer.writerow([name, no_formula(unit), "", "", "late", _number(-points), "", "", "", stuck])

    yield add
    text.flush()
    text.detach()


def _row(exercise: ExerciseResult, answer: AnswerResult) -> list[str]:
    said = answer.message if answer.status in ("failed", "error") else ""
    place = [no_formula(cell) for cell in (exercise.unit, exercise.id, answer.name)]
    score = "" if answer.status == "error" else _number(answer.score)
    return [*place, answer.status, score, _number(answer.max_score), no_formula(answer.code or ""), no_formula(said)]


def _number(points: float) -> str:
    return f"{points:.10g}"
