"""The autograder that Gradescope takes: a zip file with the course, the grader as it is here, and two scripts.

It is unpacked to /autograder/source; there `setup.sh` runs once, when the image is made, and `run_autograder` for each
submission (gradescope-autograders.readthedocs.io/en/latest/specs).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path

import yaml

from grader.course.course import COURSE_FILE, PACKAGE, Course
from grader.course.course_file import CourseFile
from grader.errors import UsageError

COURSE_FOLDER, SECRET_FILE = "course", "secret"
PROJECT = "handgrad"
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # no time of its own: the same course makes the same bytes
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


def autograder(course: Course, units: Collection[str], secret: str) -> bytes:
    """The zip file.

    Args:
        units: the units of the assignment; all of the course, if none is named.
        secret: what the seeds are made from: with it, the same submission always meets the same trials.

    Raises:
        UsageError: the course has no such unit.
    """
    config = _of_units(course.config, units)
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


def _of_units(config: CourseFile, units: Collection[str]) -> CourseFile:
    known = {unit.id for unit in config.units}
    if unknown := next((unit for unit in units if unit not in known), None):
        raise UsageError(f"There is no unit {unknown!r}. Units: {', '.join(sorted(known))}.")
    chosen = tuple(unit for unit in config.units if not units or unit.id in units)
    return config.model_copy(update={"units": chosen})


def requirements() -> list[str]:
    """What the grader needs, in the versions that are installed here, so that it finds there what it finds here."""
    names = [re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0] for line in metadata.requires(PROJECT) or ()
             if "extra ==" not in line]  # fmt: skip
    return [f"{name}=={metadata.version(name).partition('+')[0]}" for name in sorted(names)]


def _add_folder(archive: zipfile.ZipFile, folder: Path, name: str) -> None:
    for path in _files(folder):
        _add(archive, f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def _files(folder: Path) -> Iterator[Path]:
    """What is read at work; not the course that comes with the package, nor what Python compiled."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if path.suffix in KINDS and path.is_file() and "__pycache__" not in inside and inside[0] != "bundled":
            yield path


def _add(archive: zipfile.ZipFile, name: str, content: bytes, executable: bool = False) -> None:
    entry = zipfile.ZipInfo(name, FIRST_DAY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.create_system = 3
    archive.writestr(entry, content)
