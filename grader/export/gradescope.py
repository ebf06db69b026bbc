"""Gradescope: `results.json`, the autograder's zip file, and grading as its container does it.

The zip file holds the course, the grader as it is installed here, and two scripts. Gradescope unpacks it to
/autograder/source; `setup.sh` runs once there, when the image is made, and `run_autograder` for each submission
(gradescope-autograders.readthedocs.io/en/latest/specs).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from grader.classroom.class_grading import Grading, grade_submission
from grader.classroom.student_results import read_record
from grader.course.course import COURSE_FILE, PACKAGE, Course, load_course
from grader.course.course_file import CourseFile
from grader.errors import UsageError
from grader.results.records import LARGEST_SEED, SCHEMA, PointsChange, StudentResults
from grader.sandbox.isolation import Isolation

from .graded_work import (
    ExportOptions,
    GradedAnswer,
    answers,
    as_json,
    changes,
    markdown,
    notes,
    points_reached,
    tagless,
)

COURSE_FOLDER, SECRET_FILE = "course", "secret"
PROJECT = "handgrad"
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that the same course gives the same bytes
KINDS = frozenset({".py", ".json", ".yaml", ".jinja", ".css"})
SETUP = """\
#!/usr/bin/env bash
# Makes the image: a Python of its own with what the grader needs, and nothing that it does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
newest() {
  for name in python3.13 python3.12 python3.11 python3; do
    if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}
if ! newest > /dev/null; then
  apt-get update
  apt-get install -y python3.11 python3.11-venv || apt-get install -y python3 python3-venv
fi
"$(newest)" -m venv ../venv
../venv/bin/pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.txt
"""
RUN = """\
#!/usr/bin/env bash
# Grades what was submitted. A failure of the grader ends with an exit code that is not 0, and gives no score.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
mkdir -p "$here/results"
cd "$here/source" || exit 3
exec "${HANDGRAD_PYTHON:-$here/venv/bin/python}" -m handgrad gradescope . \\
  --try "$here/submission" --out "$here/results/results.json"
"""


def results_json(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `results.json` with a test for each answer and for each change of the points.

    The score is that after lateness. Without a score, no test has one: Gradescope then shows the message and treats the
    run as failed, so that it can be run again.

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: not read.
    """
    is_scored = record.score is not None
    tests = [_test_entry(answer, number, is_scored) for number, answer in enumerate(answers(record), 1)]
    if is_scored:
        tests += [_change_entry(change, number) for number, change in enumerate(changes(record), len(tests) + 1)]
    is_total_told = not is_scored or record.score != record.raw_score
    output_lines = [*([points_reached(record)] if is_total_told else []), *notes(record)]
    document = {
        **({"score": record.score} if is_scored else {}),
        "output": tagless("\n".join(output_lines)),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"schema": SCHEMA, "course": record.course, "raw_score": record.raw_score},
    }
    return {"results.json": as_json(document)}


def _test_entry(answer: GradedAnswer, number: int, is_scored: bool) -> dict[str, Any]:
    """Return an answer as an entry of `tests` in Gradescope's `results.json`.

    Args:
        answer: the answer's result.
        number: the place of the answer among the tests, from 1.
        is_scored: whether the record has a score, so that points are shown.
    """
    points = {"score": answer.answer.score, "max_score": answer.answer.max_score}
    passed = answer.answer.status == "passed"
    return {
        **(points if is_scored and answer.is_graded else {}),
        **({"status": "passed" if passed else "failed"} if answer.is_graded else {}),
        "name": answer.name,
        "number": str(number),
        "output": "" if passed else "\n\n".join(markdown(line) for line in answer.sentences),
        "output_format": "md",
        "visibility": "visible",
        "tags": [tag for tag in (answer.exercise.unit, answer.code) if tag],
        "extra_data": {"status": answer.status, "code": answer.code or None},
    }


def _change_entry(change: PointsChange, number: int) -> dict[str, Any]:
    """Return the test entry of a change of the points, which may be negative and is out of 0.

    Args:
        change: the change.
        number: the place of the change among the tests, from 1.
    """
    return {
        "score": change.points,
        "max_score": 0,
        "name": change.name,
        "number": str(number),
        "output": markdown(change.reason),
        "output_format": "md",
        "visibility": "visible",
        "tags": [],
        "extra_data": {"status": "changed", "code": None},
    }


def open_source(source: Path) -> tuple[Course, bytes]:
    """Return the course and the secret of an unpacked autograder.

    Args:
        source: the folder that the zip file was unpacked to.

    Raises:
        UsageError: the folder holds no autograder.
    """
    if not (source / SECRET_FILE).is_file():
        raise UsageError(f"{source} is no autograder of handgrad: make one with: handgrad gradescope my-course.zip")
    return load_course(source / COURSE_FOLDER), (source / SECRET_FILE).read_bytes()


def graded_submission(course: Course, secret: bytes, submission: Path, isolation: Isolation) -> StudentResults:
    """Return the results of a submission, graded with seeds that depend on the secret and the submission's bytes alone.

    Args:
        course: the course to grade with.
        secret: the secret of the autograder.
        submission: a folder, or a single file.
        isolation: how student code is isolated.

    Raises:
        UsageError: the submission cannot be read.
        InfrastructureError: the submission could not be graded.
    """
    with tempfile.TemporaryDirectory(prefix="handgrad-") as folder:
        out = Path(folder, "record.json")
        grade_submission(course, submission, out, Grading(1, isolation, _seed(secret, submission)), yes=True)
        record = read_record(out)
    if not isinstance(record, StudentResults):
        raise UsageError(f"{submission} holds nothing that could be graded: {record.why}")
    return record


def _seed(secret: bytes, submission: Path) -> int:
    """Return the seed of a submission: a hash of the secret and all its files but links; no student can predict it."""
    digest, folder = hashlib.sha256(secret), submission if submission.is_dir() else submission.parent
    inside = folder.rglob("*") if submission.is_dir() else [submission]
    for path in sorted(path for path in inside if path.is_file() and not path.is_symlink()):
        name = os.fsencode(path.relative_to(folder))
        digest.update(b"%d %d " % (len(name), path.stat().st_size) + name)
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:8], "big") % (LARGEST_SEED + 1)


def autograder(course: Course, units: Collection[str], secret: str) -> bytes:
    """Return the content of the autograder's zip file; the same course and secret give the same bytes.

    Args:
        course: the course, whose solutions are packed as well.
        units: the ids of the assignment's units; empty for all units of the course.
        secret: what the seeds are made from.

    Raises:
        UsageError: the course has no such unit.
    """
    config = _restricted_config(course.config, units)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "setup.sh", SETUP.encode(), executable=True)
        _add(archive, "run_autograder", RUN.encode(), executable=True)
        _add(archive, "requirements.txt", "".join(f"{line}\n" for line in requirements()).encode())
        _add(archive, SECRET_FILE, secret.encode())
        listed = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        _add(archive, f"{COURSE_FOLDER}/{COURSE_FILE}", listed.encode())
        for unit in config.units:
            _add_folder(archive, course.solutions / unit.id, f"{COURSE_FOLDER}/solutions/{unit.id}")
        for package in (PACKAGE, PACKAGE.with_name("handgrad")):
            _add_folder(archive, package, package.name)
    return content.getvalue()


def _restricted_config(config: CourseFile, units: Collection[str]) -> CourseFile:
    """Return the course file with only the given units; unchanged if no unit is given.

    Raises:
        UsageError: the course has no such unit.
    """
    known, units = {unit.id for unit in config.units}, {config.unit_id(name) for name in units}
    if unknown := next((unit for unit in units if unit not in known), None):
        raise UsageError(f"There is no unit {unknown!r}. Units: {', '.join(sorted(known))}.")
    chosen = tuple(unit for unit in config.units if not units or unit.id in units)
    return config.model_copy(update={"units": chosen})


def requirements() -> list[str]:
    """Return pip requirements that pin the grader's dependencies to the versions that are installed here.

    They are sorted by name; those of extras are left out, and so are local versions, such as `+cpu`.
    """
    names = [re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0] for line in metadata.requires(PROJECT) or ()
             if "extra ==" not in line]  # fmt: skip
    return [f"{name}=={metadata.version(name).partition('+')[0]}" for name in sorted(names)]


def _add_folder(archive: zipfile.ZipFile, folder: Path, name: str) -> None:
    """Add the files of a folder that the grader reads to a zip file.

    Args:
        archive: the zip file.
        folder: the folder on disk.
        name: the folder's name in the zip file.
    """
    for path in _grader_files(folder):
        _add(archive, f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def _grader_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that the grader reads: those of `KINDS`, without a bundled course and caches."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if path.suffix in KINDS and path.is_file() and "__pycache__" not in inside and inside[0] != "bundled":
            yield path


def _add(archive: zipfile.ZipFile, name: str, content: bytes, executable: bool = False) -> None:
    """Add a file with this name and content, and a fixed date, to a zip file; `executable` sets its mode."""
    entry = zipfile.ZipInfo(name, FIRST_DAY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.create_system = 3
    archive.writestr(entry, content)
