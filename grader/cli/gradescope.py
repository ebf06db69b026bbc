"""The command `handgrad gradescope`: the course as an autograder of Gradescope, and what it will say."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.results.records import Isolation


def gradescope(
    autograder: Annotated[Path, typer.Argument(metavar="ZIP", help="The autograder, such as my-course.zip.")],
    unit: Annotated[list[str] | None, typer.Option(metavar="UNIT", help="Only this unit; may be repeated.")] = None,
    submission: Annotated[
        Path | None, typer.Option("--try", metavar="SUBMISSION", help="Grade a submission as Gradescope will.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the results of --try go; printed, if left out.")
    ] = None,
    isolation: Annotated[
        Literal["box", "kernel", "seccomp", "none"] | None,
        typer.Option(help="What learner code is kept in; the strongest that this machine offers, if left out."),
    ] = None,
) -> None:
    """For instructors: make the autograder that Gradescope takes; with --try, see what it says of a submission."""
    if submission is None:
        _make(autograder, unit or ())
        return
    if unit:
        raise UsageError("--unit chooses what an autograder is made with: name it without --try.")
    graded = _try if autograder.is_dir() else _try_zip
    raise typer.Exit(graded(autograder, submission, out, isolation))


def _make(autograder: Path, units: Sequence[str]) -> None:
    import secrets

    from grader.classroom.course_choice import class_course
    from grader.export.gradescope import autograder as made
    from grader.files import write_atomically

    course = class_course(Path.cwd())
    content = made(course, units, secrets.token_hex(16))
    try:
        write_atomically(autograder, content)
    except OSError as error:
        raise UsageError(f"{autograder} cannot be written ({error.strerror}): name another file.") from error
    print(f"{autograder} is the autograder of {course.config.title} ({len(content) / 1e6:.1f} MB). It holds the")
    print("solutions: keep it to yourself. What it will say of a submission:")
    print(f"  handgrad gradescope {autograder} --try SUBMISSION")


def _try(source: Path, submission: Path, out: Path | None, isolation: Isolation | None) -> int:
    """Grade by an unpacked autograder; the exit code is 3 where there is no score."""
    from grader.export.graded_work import ExportOptions, is_graded
    from grader.export.gradescope import graded_submission, open_source, results_json
    from grader.sandbox.isolation import choose, machine

    course, secret = open_source(source)
    record = graded_submission(course, secret, submission, choose(machine(), isolation))
    content = results_json(course, record, ExportOptions())["results.json"]
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        out.write_bytes(content)
    return 0 if is_graded(record) else 3


def _try_zip(autograder: Path, submission: Path, out: Path | None, isolation: Isolation | None) -> int:
    """The same by the zip file, with the grader that is in it."""
    with tempfile.TemporaryDirectory(prefix="handgrad-") as source:
        try:
            with zipfile.ZipFile(autograder) as archive:
                archive.extractall(source)
        except (OSError, zipfile.BadZipFile) as error:
            says = f"{autograder} is no autograder: make one with: handgrad gradescope {autograder}"
            raise UsageError(says) from error
        options = ["--try", str(submission.resolve())]
        options += ["--out", str(out.resolve())] if out is not None else []
        options += ["--isolation", isolation] if isolation is not None else []
        command = [sys.executable, "-m", "handgrad", "gradescope", ".", *options]
        return subprocess.run(command, cwd=source, env={**os.environ, "PYTHONPATH": source}, check=False).returncode
