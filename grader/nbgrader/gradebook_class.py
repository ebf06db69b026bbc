"""Enters a class of plain files in nbgrader's gradebook, once it is graded: `handgrad grade --gradebook`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.batch.results_folder import result_file
from grader.batch.submissions import printable, read_submission, student_folders
from grader.course import Course
from grader.errors import InfrastructureError
from grader.learner.console import Spinner
from grader.safe_text import one_line

from .database import explain_errors, needs_nbgrader, refuse_in_memory, url_without_password

NAMED = 5


@contextmanager
def entering_in_gradebook(course: Course, url: str | None, submissions: Path, out: Path) -> Iterator[None]:
    """Open the gradebook before a class is graded, so that nothing is found out too late; enter the results after.

    Args:
        url: any SQLAlchemy URL that nbgrader accepts; `None` where nothing is to be entered.
        out: the results folder that is graded into.

    Raises:
        UsageError: nbgrader is not installed, or this is no gradebook that can be written.
        InfrastructureError: some students could not be entered; the others were.
    """
    if url is None:
        yield
        return
    with needs_nbgrader():
        from .gradebook_student import open_gradebook
    refuse_in_memory(url)
    with explain_errors(url, "written"), open_gradebook(course, url):
        pass
    yield
    try:
        with explain_errors(url, "written"):
            _write_class(course, url, submissions, out)
    except KeyboardInterrupt:
        print("handgrad: stopped. What was entered is kept; the same command goes on.", file=sys.stderr)
        raise


def _write_class(course: Course, url: str, submissions: Path, out: Path) -> None:
    from sqlalchemy.exc import DataError, IntegrityError, OperationalError

    from .gradebook_student import open_gradebook

    entered, failed = set[str](), {}
    folders = student_folders(course, submissions, out)[0]
    with open_gradebook(course, url) as writer, Spinner("entering") as say:
        for number, folder in enumerate(folders, 1):
            say(f"{number} of {len(folders)} in {url_without_password(url)}")
            student, path = printable(folder.name), result_file(out, folder.name)
            if not path.is_file():
                continue  # the run was ended before
            try:
                writer.write_student(student, folder, read_submission(course, folder), json.loads(path.read_bytes()))
                entered.add(student)
            except (DataError, IntegrityError, ValueError) as error:
                writer.undo_last_student()
                if isinstance(error.__context__, OperationalError):  # a full disk, say: no other could be entered
                    raise error.__context__ from None
                failed[student] = str(getattr(error, "orig", None) or error).splitlines()[0]
    units = ", ".join(writer.units) or "nothing was handed in"
    print(f"Entered in {url_without_password(url)}: {len(entered)} students ({units}).", file=sys.stderr)
    if writer.blank:
        print(f"Left as they were, where only blanks were handed in: {_listed(writer.blank)}.", file=sys.stderr)
    if failed:
        name, why = next(iter(failed.items()))
        says = f"{len(failed)} students could not be entered, {name} for one ({why}): put it right, and run it again."
        raise InfrastructureError(one_line(says))


def _listed(blank: Sequence[tuple[str, str]]) -> str:
    more = f" and {len(blank) - NAMED} more" if len(blank) > NAMED else ""
    return one_line(", ".join(f"{student} {unit}" for student, unit in blank[:NAMED])) + more
