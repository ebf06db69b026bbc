"""Writes every answer of a class as one line of a CSV file that any spreadsheet opens."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from grader.safe_text import no_formula, plain

from .class_statistics import StudentLine
from .graded_exercise import GradedExercise, csv_text, number

HEADER = ("student", "unit", "exercise", "answer", "status", "score", "max_score", "code", "message", "stuck")

Add = Callable[[StudentLine, Iterable[GradedExercise]], None]


@contextmanager
def answer_table(file: BinaryIO) -> Iterator[Add]:
    """Lines by RFC 4180, written student by student.

    The scores in a student's lines add up to the student's score, as far as it is known: what is not graded has none.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    text.write(f"{csv_text(HEADER)}\r\n")

    def add(line: StudentLine, exercises: Iterable[GradedExercise]) -> None:
        name, stuck = (csv_text([no_formula(cell), ""]) for cell in (plain(line.name), line.stuck))
        end = f",{stuck[:-1]}\r\n"
        text.write("".join(f"{name}{cells}{end}" for exercise in exercises for cells in exercise.table_cells))
        for unit, points in line.late:
            late = csv_text([no_formula(unit), "", "", "late", number(-points), "", "", ""])
            text.write(f"{name}{late}{end}")

    yield add
    text.flush()
    text.detach()
